"""BERTScore for PyTorch Lightning: a `torchmetrics.Metric`, a function and a command line.

self.bertscore = BERTScore("minilm")                 # in __init__
self.bertscore.update(generated, references)         # in validation_step
self.log("val_bertscore", self.bertscore, batch_size=len(generated))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .alignment import Alignment
    from .baseline_fitting import Baseline
    from .collection import bert_score_collection
    from .encoder import Encoder, Tokens, Window
    from .errors import BERTScoreError, BERTScoreWarning
    from .explaining import explain
    from .functional import bert_score
    from .huggingface import HuggingFaceEncoder
    from .idf import DocumentFrequencies, IdfTable
    from .memory import release_memory
    from .metric import BERTScore
    from .settings import Settings
    from .tokenizing import Tokenizer
    from .tuned import TunedLayer
    from .tuning import tune
    from .weighting import Weighting

# Where each name comes from. PyTorch and transformers take seconds to import: they come with the
# first name that needs them, and the command line shows its help without them.
_HOMES = {
    "Alignment": "alignment",
    "BERTScore": "metric",
    "BERTScoreError": "errors",
    "BERTScoreWarning": "errors",
    "Baseline": "baseline_fitting",
    "DocumentFrequencies": "idf",
    "Encoder": "encoder",
    "HuggingFaceEncoder": "huggingface",
    "IdfTable": "idf",
    "Settings": "settings",
    "Tokenizer": "tokenizing",
    "Tokens": "encoder",
    "TunedLayer": "tuned",
    "Weighting": "weighting",
    "Window": "encoder",
    "bert_score": "functional",
    "bert_score_collection": "collection",
    "explain": "explaining",
    "release_memory": "memory",
    "tune": "tuning",
}

__all__ = [
    "Alignment",
    "BERTScore",
    "BERTScoreError",
    "BERTScoreWarning",
    "Baseline",
    "DocumentFrequencies",
    "Encoder",
    "HuggingFaceEncoder",
    "IdfTable",
    "Settings",
    "Tokenizer",
    "Tokens",
    "TunedLayer",
    "Weighting",
    "Window",
    "__version__",
    "bert_score",
    "bert_score_collection",
    "explain",
    "release_memory",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
