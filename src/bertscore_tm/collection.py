"""Precision, recall and F1 side by side."""

from __future__ import annotations

from typing import Any

from torchmetrics import MetricCollection

from .errors import InvalidTypeError
from .metric import BERTScore
from .references import SCORE_NAMES


def bert_score_collection(
    *args: Any, prefix: str | None = None, postfix: str | None = None, **options: Any
) -> MetricCollection:
    """Precision, recall and F1 as three metrics in one compute group: one pass of the encoder.

    Args:
        args: as in `BERTScore`.
        prefix: put before the keys "precision", "recall" and "f1".
        postfix: put after them.
        options: as in `BERTScore`, but for ``score``.

    Raises:
        InvalidTypeError: if ``score`` is given.
    """
    if "score" in options:
        raise InvalidTypeError(
            "got score= for a collection; wanted none: it holds precision, recall and F1 "
            "(BERTScore takes score=)"
        )
    metrics = {name: BERTScore(*args, **{**options, "score": name}) for name in SCORE_NAMES}
    for name in SCORE_NAMES[:2]:
        metrics[name].warns = False  # f1 speaks for all three
    return MetricCollection(dict(metrics), prefix=prefix, postfix=postfix)
