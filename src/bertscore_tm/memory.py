"""Giving memory back."""

from __future__ import annotations

from .leases import clear_vectors
from .machine import trim_heap


def release_memory() -> None:
    """Give back all memory that is only kept for later.

    The vectors of texts that were seen, and the weights of the last two encoders, which stay for
    whoever comes next even when their metrics are gone. Metrics that live keep their weights
    (`BERTScore.release` gives these back) and go on as before.
    """
    from .pretrained import drop_kept_models  # transformers is heavy

    clear_vectors()
    drop_kept_models()
    trim_heap()
