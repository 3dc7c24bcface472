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
    from .audit_results import Audit
    from .auditing import audit
    from .baseline_fitting import Baseline
    from .collection import bert_score_collection
    from .columns import ScoreColumns
    from .correlating import Correlation, correlate
    from .encoder import Encoder, Tokens, Window
    from .errors import BERTScoreError, BERTScoreWarning
    from .explaining import explain
    from .functional import bert_score
    from .huggingface import HuggingFaceEncoder
    from .idf import DocumentFrequencies, IdfTable
    from .matrix import score_matrix
    from .memory import release_memory
    from .metric import BERTScore
    from .mismatches import find_mismatches
    from .reporting import Report, report
    from .settings import Settings
    from .significance import Comparison, compare
    from .tokenizing import Tokenizer
    from .tuned import TunedLayer
    from .tuning import tune
    from .weighting import Weighting

# Where each name comes from. PyTorch and transformers take seconds to import: they come with the
# first name that needs them, and the command line shows its help without them.
_HOMES = {
    "Alignment": "alignment",
    "Audit": "audit_results",
    "BERTScore": "metric",
    "BERTScoreError": "errors",
    "BERTScoreWarning": "errors",
    "Baseline": "baseline_fitting",
    "Comparison": "significance",
    "Correlation": "correlating",
    "DocumentFrequencies": "idf",
    "Encoder": "encoder",
    "HuggingFaceEncoder": "huggingface",
    "IdfTable": "idf",
    "Report": "reporting",
    "ScoreColumns": "columns",
    "Settings": "settings",
    "Tokenizer": "tokenizing",
    "Tokens": "encoder",
    "TunedLayer": "tuned",
    "Weighting": "weighting",
    "Window": "encoder",
    "audit": "auditing",
    "bert_score": "functional",
    "bert_score_collection": "collection",
    "compare": "significance",
    "correlate": "correlating",
    "explain": "explaining",
    "find_mismatches": "mismatches",
    "release_memory": "memory",
    "report": "reporting",
    "score_matrix": "matrix",
    "tune": "tuning",
}

__all__ = [
    "Alignment",
    "Audit",
    "BERTScore",
    "BERTScoreError",
    "BERTScoreWarning",
    "Baseline",
    "Comparison",
    "Correlation",
    "DocumentFrequencies",
    "Encoder",
    "HuggingFaceEncoder",
    "IdfTable",
    "Report",
    "ScoreColumns",
    "Settings",
    "Tokenizer",
    "Tokens",
    "TunedLayer",
    "Weighting",
    "Window",
    "__version__",
    "audit",
    "bert_score",
    "bert_score_collection",
    "compare",
    "correlate",
    "explain",
    "find_mismatches",
    "release_memory",
    "report",
    "score_matrix",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
