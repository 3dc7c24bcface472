"""Labels of rows, and what is drawn together when rows are drawn."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import torch
from torch import Tensor

from .errors import InvalidValueError
from .resampling import draws

Labels = Sequence[Hashable]
_CELLS = 1 << 22  # of resamples times rows at once


def codes(
    labels: Labels | None, count: int, what: str, *, each: bool = False
) -> tuple[Tensor, list[str]]:
    """Labels as numbers from 0 in the order of their first row, and their names.

    Args:
        labels: one a row, or None.
        count: number of rows.
        what: the argument, for messages.
        each: without labels each row has its own; else all have the same.
    """
    if labels is None:
        return (
            (torch.arange(count), []) if each else (torch.zeros(count, dtype=torch.long), ["all"])
        )
    if len(labels) != count:
        raise InvalidValueError(f"got {len(labels)} {what} for {count} rows; wanted one a row")
    known: dict[Hashable, int] = {}
    numbers = [known.setdefault(label, len(known)) for label in labels]
    return torch.tensor(numbers, dtype=torch.long), [str(label) for label in known]


def crosses(inner: Tensor, outer: Tensor) -> bool:
    """Whether rows of one inner code have several outer ones."""
    return len(torch.stack([inner, outer]).unique(dim=1)[0]) > len(inner.unique())


def row_weights(
    cluster: Tensor, group: Tensor, resamples: int, generator: torch.Generator
) -> Iterator[Tensor]:
    """How often each row counts, ``[some draws, rows]``; the first draw is the data themselves.

    Where no cluster has rows in several groups, each group keeps its number of clusters.
    """
    number = int(cluster.max()) + 1
    stratum = torch.zeros(number, dtype=torch.long)
    if not crosses(cluster, group):
        stratum[cluster] = group
    strata = [(stratum == s).nonzero()[:, 0] for s in stratum.unique()]
    yield torch.ones(1, len(cluster), dtype=torch.float64)
    most = max(1, _CELLS // len(cluster))
    for begin in range(0, resamples, most):
        count = min(most, resamples - begin)
        drawn = torch.empty(count, number, dtype=torch.float64)
        for members in strata:
            drawn[:, members] = torch.cat([*draws(len(members), count, generator)])
        yield drawn[:, cluster]
