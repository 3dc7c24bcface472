"""BERTScore for PyTorch Lightning: a `torchmetrics.Metric`, a function and a command line.

self.bertscore = BERTScore("minilm")                 # in __init__
self.bertscore.update(generated, references)         # in validation_step
self.log("val_bertscore", self.bertscore, batch_size=len(generated))
"""

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .baseline import Baseline
from .collection import bert_score_collection
from .diagnosis import BERTScoreWarning
from .encoder import Encoder, Tokens, Window
from .functional import bert_score
from .idf import IdfTable
from .metric import BERTScore

if TYPE_CHECKING:
    from .huggingface import HuggingFaceEncoder

__all__ = [
    "BERTScore",
    "BERTScoreWarning",
    "Baseline",
    "Encoder",
    "HuggingFaceEncoder",
    "IdfTable",
    "Tokens",
    "Window",
    "__version__",
    "bert_score",
    "bert_score_collection",
]


def __getattr__(name: str) -> Any:
    # transformers takes a while to import and is not needed before the first encoder.
    if name == "HuggingFaceEncoder":
        from .huggingface import HuggingFaceEncoder

        return HuggingFaceEncoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
