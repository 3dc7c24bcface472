"""Precision, recall and F1 side by side."""

from __future__ import annotations

from typing import Any

from torchmetrics import MetricCollection

from .metric import BERTScore
from .scoring import NAMES


def bert_score_collection(*args: Any, prefix: str | None = None, postfix: str | None = None, **options: Any) -> MetricCollection:
    """Precision, recall and F1 as three metrics in one compute group: one pass through the encoder.

    Args:
        args: as in `BERTScore`.
        prefix: put before the keys "precision", "recall" and "f1".
        postfix: put after them.
        options: as in `BERTScore`, but for ``score``.

    Raises:
        TypeError: if ``score`` is given.
    """
    if "score" in options:
        raise TypeError("got score= for a collection; wanted none: it holds precision, recall and F1 (BERTScore takes score=)")
    metrics = {name: BERTScore(*args, score=name, **options) for name in NAMES}
    for name in NAMES[:2]:
        metrics[name].warns = False  # f1 speaks for all three
    return MetricCollection(dict(metrics), prefix=prefix, postfix=postfix)
