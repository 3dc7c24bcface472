"""Rows with what people said of them, checked and numbered."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from .errors import InvalidTypeError, InvalidValueError
from .rows import Rows

LEAST = 10  # sets of rows: two for each fold of a held-out check


class Judged:
    """Rows with what people said of them.

    Attributes:
        rows: predictions and references.
        human: float64 ``[rows]``.
        group: number of the group of each row, int64 ``[rows]``.
        cluster: number of the set of each row, int64 ``[rows]``; no set is in two groups.
    """

    def __init__(
        self,
        rows: Rows,
        human: Iterable[float],
        groups: Iterable[Hashable] | None = None,
        clusters: Iterable[Hashable] | None = None,
    ) -> None:
        """Check and number; arguments as in `tune`."""
        self.rows = rows
        self.human = torch.tensor(_numbers(human, len(rows)), dtype=torch.float64, device="cpu")
        named = _labels("groups", groups, len(rows)) or [None] * len(rows)
        of = _labels("clusters", clusters, len(rows)) or [tuple(each) for each in rows.groups]
        self.group, self.cluster = _numbered(named), _numbered(list(zip(named, of)))
        sets = dict.fromkeys(zip(self.group.tolist(), self.cluster.tolist()))
        if len(sets) < LEAST:
            raise InvalidValueError(
                f"got {len(sets)} sets of rows with references of their own; wanted at least "
                f"{LEAST} to choose a layer by"
            )
        alone = [group for group, number in Counter(g for g, _ in sets).items() if number == 1]
        if alone:
            raise InvalidValueError(
                f"got {len(alone)} groups whose rows all have the same references, such as "
                f"{named[self.group.tolist().index(alone[0])]!r}; wanted at least two sets of rows "
                "in each group, or clusters that say which rows belong together"
            )


def _numbers(human: Any, rows: int) -> list[float]:
    values = human.tolist() if hasattr(human, "tolist") else human
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidTypeError(f"got {type(human).__name__} as human; wanted a number for each row")
    found = []
    for row, value in enumerate(values):
        if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
            raise InvalidTypeError(
                f"got {type(value).__name__} in row {row} of human; wanted a number"
            )
        found.append(float(value))
        if not math.isfinite(found[-1]):
            raise InvalidValueError(f"got {value} in row {row} of human; wanted a finite number")
    if len(found) != rows:
        raise InvalidValueError(f"got {len(found)} human scores for {rows} rows; wanted as many")
    return found


def _labels(name: str, labels: Iterable[Hashable] | None, rows: int) -> list[Hashable]:
    if labels is None:
        return []
    found: list[Hashable] = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(found) != rows:
        raise InvalidValueError(f"got {len(found)} {name} for {rows} rows; wanted as many")
    return found


def _numbered(labels: Sequence[Hashable]) -> Tensor:
    """A number for each label, in order of appearance, int64 ``[labels]``."""
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return torch.tensor([number[label] for label in labels], dtype=torch.int64, device="cpu")
