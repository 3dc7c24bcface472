"""Rows that people judged, in groups, and the statistics of each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from .coefficients import (
    all_pairs,
    calibrate,
    judged_right,
    kendall,
    pairwise_accuracy,
    pearson,
    spearman,
)

Statistic = Callable[[Tensor, Tensor, Tensor], Tensor]  # see `coefficients`
PAIRS = ("auto", "segment", "all")
LEAST = 3  # rows or systems of a group: of two any correlation is 1 or -1
_CORRELATIONS: dict[str, Statistic] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


@dataclass(frozen=True)
class Group:
    """Rows of one group.

    Attributes:
        rows: their places.
        items: places of rows with the same segment, two or more each; none: all pairs count.
        systems: one row of zeros and ones for each system, float64 ``[systems, rows]``.
    """

    rows: Tensor
    items: list[Tensor]
    systems: Tensor


def split(group: Tensor, segment: Tensor, system: Tensor, pairs: str) -> list[Group]:
    """The groups; in all of them the same pairs count."""
    parts = []
    for number in range(int(group.max()) + 1):
        rows = (group == number).nonzero()[:, 0]
        _, code, counts = segment[rows].unique(return_inverse=True, return_counts=True)
        order = code.argsort(stable=True)
        items = [item for item in order.split(counts.tolist()) if len(item) > 1]
        present = system[rows].unique()
        present = present[present >= 0]  # a row without one plays no part on that level
        member = (system[rows] == present[:, None]).double()
        parts.append(Group(rows, items, member))
    together = sum(len(item) for part in parts for item in part.items)
    if pairs == "all" or (pairs == "auto" and 2 * together < len(group)):
        return [Group(part.rows, [], part.systems) for part in parts]
    return parts


def tie_thresholds(
    values: Tensor, human: Tensor, parts: list[Group], generator: torch.Generator
) -> Tensor:
    """What counts as a tie: ``[groups, metrics]``.

    It is calibrated on all rows once, also for the resamples: at its best the accuracy does not
    change with it, to the first order.
    """
    found = torch.zeros(len(parts), len(values), dtype=torch.float64)
    for g, part in enumerate(parts):
        if len(part.rows) < 2:
            continue
        y = human[part.rows]
        if part.items:
            i, j, item = _item_pairs(part)
            weight = 1 / item.bincount()[item].double()
        else:
            i, j = all_pairs(len(y), generator)
            weight = torch.ones(len(i), dtype=torch.float64)
        for k, x in enumerate(values[:, part.rows]):
            found[g, k] = calibrate(x[i] - x[j], y[i] - y[j], weight)
    return found


def levels_of(
    values: Tensor, human: Tensor, parts: list[Group], thresholds: Tensor, weights: Tensor
) -> dict[tuple[str, str], Tensor]:
    """Of each level and statistic ``[groups, metrics, draws]``."""
    found: dict[tuple[str, str], list[Tensor]] = {}
    with_systems = any(len(part.systems) >= LEAST for part in parts)
    for part, ties in zip(parts, thresholds):
        w, y = weights[:, part.rows], human[part.rows]
        many = [(x, *_systems(part, x, y, w)) for x in values[:, part.rows]]
        for name, one in _CORRELATIONS.items():
            found.setdefault(("segment", name), []).append(
                _each([partial(one, x, y, w) for x, *_ in many], len(y), w)
            )
        accuracies = [partial(_accuracy, part, x, y, w, float(t)) for (x, *_), t in zip(many, ties)]
        found.setdefault(("segment", "accuracy"), []).append(_each(accuracies, len(y), w))
        accuracy: Statistic = partial(pairwise_accuracy, threshold=0.0)
        for name, one in {**_CORRELATIONS, "accuracy": accuracy}.items() if with_systems else ():
            ranked = name != "pearson"  # by order, in which equal means are ties
            calls = [
                partial(one, *((_rounded(x), _rounded(y)) if ranked else (x, y)), w_of_systems)
                for _, x, y, w_of_systems in many
            ]
            found.setdefault(("system", name), []).append(_each(calls, len(part.systems), w))
    return {key: torch.stack(drawn) for key, drawn in found.items()}


def _item_pairs(part: Group) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of rows with the same segment, and the place of that segment."""
    triangles = [(item, torch.triu_indices(len(item), len(item), 1)) for item in part.items]
    ends = torch.cat([item[triangle] for item, triangle in triangles], 1)
    sizes = torch.tensor([triangle.shape[1] for _, triangle in triangles])
    return ends[0], ends[1], torch.arange(len(sizes)).repeat_interleave(sizes)


def _each(calls: Sequence[Callable[[], Tensor]], count: int, w: Tensor) -> Tensor:
    """A statistic of each metric, ``[metrics, draws]``; undefined for too few rows or systems."""
    if count < LEAST:
        return w.new_full((len(calls), len(w)), torch.nan)
    return torch.stack([call() for call in calls])


def _accuracy(part: Group, x: Tensor, y: Tensor, w: Tensor, threshold: float) -> Tensor:
    """The accuracy of pairs of a group, or the mean of those of its segments, ``[draws]``."""
    if not part.items:
        return pairwise_accuracy(x, y, w, threshold)
    i, j, item = _item_pairs(part)
    right = judged_right(x[i] - x[j], y[i] - y[j], threshold).double()
    each = torch.zeros(len(part.items), dtype=torch.float64).index_add_(0, item, right)
    each /= item.bincount()
    counts = w[:, [int(rows[0]) for rows in part.items]]
    return counts @ each / counts.sum(1)


def _systems(part: Group, x: Tensor, y: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Means of the systems by metric and by people, ``[draws, systems]``, and their weights.

    A system of which a draw has no row has no part in it; a draw with too few systems is undefined.
    """
    totals = w @ part.systems.T
    here = (totals > 0).double()
    means = [(w * v) @ part.systems.T / totals.clamp_min(1e-300) for v in (x, y)]
    enough = here.sum(1, keepdim=True) >= LEAST
    return means[0], means[1], here.where(enough, torch.full_like(here, torch.nan))


def _rounded(means: Tensor) -> Tensor:
    """Means without the last digits, in which equal ones may differ."""
    scale = means.abs().amax().clamp_min(1e-300)
    return (means / scale).round(decimals=12) * scale
