"""Agreement of metrics with people: segments, systems and relative ranks, with intervals.

Vectors in, plain values out; the texts are elsewhere. Intervals come from a cluster bootstrap:
whole segments (or documents) are drawn, for all metrics the same, so that differences between
metrics are paired. Systems are not drawn: the intervals hold for these systems on other segments
(BOOT-INPUTS of Deutsch, Dror and Roth, TACL 2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .checks import one_of
from .clusters import Labels, codes, crosses, row_weights
from .errors import InvalidValueError, warn
from .judged import LEAST, PAIRS, levels_of, split, tie_thresholds
from .resampling import (
    TIE,
    bootstrap_p,
    check_resampling,
    holm,
    interval,
    read_vector,
    read_vectors,
)


@dataclass(frozen=True)
class Agreement:
    """How well one metric agrees with people, by one statistic.

    Attributes:
        level: "segment", "system" or "rank".
        statistic: "pearson", "spearman", "kendall" (tau-b), "accuracy" (of pairs, ties calibrated)
            or, of relative ranks, "darr" (WMT's: better less worse or equal, over all).
        metric: its name.
        value: the mean of the groups; None where it is not defined.
        low: where the interval of the value begins.
        high: where it ends.
        difference: value of the first metric less this one, where both are defined; None: it is
            the first.
        difference_low: where the interval of the difference begins.
        difference_high: where it ends.
        p_value: of the difference, two-sided, from the bootstrap.
        adjusted_p: the same after Holm's correction for all metrics that the first is compared to.
        groups: the value in each group.
        thresholds: in each group the largest difference that counts as a tie; of "accuracy" only.
    """

    level: str
    statistic: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    p_value: float | None
    adjusted_p: float | None
    groups: dict[str, float | None]
    thresholds: dict[str, float] | None = None


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are drawn.

    Attributes:
        resamples: how many.
        confidence: of the intervals.
        seed: of the draws.
    """

    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise InvalidValueError for what is out of range."""
        check_resampling(self.resamples, self.confidence, self.seed)


def agree(
    scores: Mapping[str, Any],
    human: Any,
    *,
    segments: Labels | None = None,
    clusters: Labels | None = None,
    groups: Labels | None = None,
    systems: Labels | None = None,
    pairs: str = "auto",
    bootstrap: Bootstrap | None = None,
) -> tuple[Agreement, ...]:
    """Agreement of metrics with human scores, on segments and on systems.

    Args:
        scores: for each metric its name and a score a row; differences are those to the first.
        human: a score a row; higher is better.
        segments: what was translated, summarised, ...: rows with the same label are systems on the
            same input; None: each row is its own.
        clusters: what is drawn together, as documents; None: segments.
        groups: statistics are made in each and averaged, as WMT's over languages; None: one group.
        systems: which made the text; with three or more in a group there is a level of systems.
        pairs: which pairs of rows the accuracy asks for: those of a "segment" (averaged over
            segments), "all" of a group, or "auto": of a segment, if half of the rows have another
            one of their segment.
        bootstrap: how intervals are drawn.

    Returns:
        For each level and statistic the metrics in the order in which they were given.

    Raises:
        InvalidTypeError: if scores are no numbers.
        InvalidValueError: if lengths differ, something is not finite, or there are too few rows.
    """
    names, values = read_vectors(scores, "scores")
    people = read_vector(human, "human")
    one_of(*PAIRS)("pairs", pairs)
    if len(people) != values.shape[1] or len(people) < LEAST:
        raise InvalidValueError(
            f"got {len(people)} human scores for {values.shape[1]} rows; wanted one a row, and at "
            f"least {LEAST} rows"
        )
    bootstrap = bootstrap or Bootstrap()
    count = len(people)
    segment, _ = codes(segments, count, "segments", each=True)
    group, group_names = codes(groups, count, "groups")
    cluster = segment if clusters is None else codes(clusters, count, "clusters")[0]
    system = _system_codes(systems, count)
    generator = torch.Generator().manual_seed(bootstrap.seed)
    parts = split(group, segment, system, pairs)
    if any(part.items for part in parts) and crosses(segment, cluster):
        raise InvalidValueError(
            "got clusters that cut segments; wanted all rows of a segment in one cluster"
        )
    thresholds = tie_thresholds(values, people, parts, generator)
    found: dict[tuple[str, str], list[Tensor]] = {}
    for weights in row_weights(cluster, group, bootstrap.resamples, generator):
        for key, drawn in levels_of(values, people, parts, thresholds, weights).items():
            found.setdefault(key, []).append(drawn)
    answer: list[Agreement] = []
    for key, chunks in found.items():
        ties = thresholds if key == ("segment", "accuracy") else None
        drawn = torch.cat(chunks, -1)
        answer += summarise(*key, names, group_names, drawn, bootstrap.confidence, ties)
    _warn_of_undefined(answer, len(group_names))
    return tuple(answer)


def agree_on_ranks(
    better: Mapping[str, Any],
    worse: Mapping[str, Any],
    *,
    clusters: Labels | None = None,
    groups: Labels | None = None,
    bootstrap: Bootstrap | None = None,
) -> tuple[Agreement, ...]:
    """Agreement with relative ranks: WMT's Kendall-like tau for DARR (Ma et al., WMT 2019).

    Args:
        better: for each metric its scores of the texts that people held for better.
        worse: the same of those that they held for worse, in the same order of rows.
        clusters: what is drawn together, as segments; None: each row is its own.
        groups: as in `agree`.
        bootstrap: how intervals are drawn.

    Returns:
        The metrics in the order in which they were given. A metric that holds both texts for
        equal is wrong, as in WMT since 2017.

    Raises:
        InvalidTypeError: if scores are no numbers.
        InvalidValueError: if lengths or names differ, or something is not finite.
    """
    names, values = read_vectors(better, "better")
    others, lower = read_vectors(worse, "worse")
    if names != others or values.shape != lower.shape:
        raise InvalidValueError(
            f"got better of {', '.join(names)} ({values.shape[1]} rows) and worse of "
            f"{', '.join(others)} ({lower.shape[1]} rows); wanted the same metrics and rows"
        )
    bootstrap = bootstrap or Bootstrap()
    right = torch.where(values - lower > TIE, 1.0, -1.0).double()
    group, group_names = codes(groups, right.shape[1], "groups")
    cluster, _ = codes(clusters, right.shape[1], "clusters", each=True)
    members = [(group == g).double() for g in range(len(group_names))]
    generator = torch.Generator().manual_seed(bootstrap.seed)
    drawn = [
        torch.stack([(right * member) @ weights.T / (weights @ member) for member in members])
        for weights in row_weights(cluster, group, bootstrap.resamples, generator)
    ]
    return tuple(
        summarise("rank", "darr", names, group_names, torch.cat(drawn, -1), bootstrap.confidence)
    )


def summarise(
    level: str,
    statistic: str,
    metrics: Sequence[str],
    groups: Sequence[str],
    drawn: Tensor,
    confidence: float,
    thresholds: Tensor | None = None,
) -> list[Agreement]:
    """Values, intervals, and differences to the first metric.

    Args:
        level: as in `Agreement`.
        statistic: as in `Agreement`.
        metrics: their names.
        groups: their names.
        drawn: ``[groups, metrics, 1 + resamples]``, NaN where undefined; the first is the value.
        confidence: of the intervals.
        thresholds: of ties, ``[groups, metrics]``.
    """
    means = drawn.nanmean(0)
    gaps = (drawn[:, :1] - drawn).nanmean(0)
    p_values = [bootstrap_p(float(gap[0]), gap[1:]) for gap in gaps[1:]]
    tests: list[tuple[float, float]] = [*zip(p_values, holm(p_values))]
    found = []
    for k, metric in enumerate(metrics):
        value, low, high = _with_interval(means[k], confidence)
        gap, gap_low, gap_high = _with_interval(gaps[k], confidence) if k else (None, None, None)
        p_value, adjusted = (None, None) if gap is None else tests[k - 1]
        each = {group: _or_none(drawn[g, k, 0]) for g, group in enumerate(groups)}
        ties = None if thresholds is None else dict(zip(groups, thresholds[:, k].tolist()))
        found.append(
            Agreement(
                level, statistic, metric, value, low, high,
                gap, gap_low, gap_high, p_value, adjusted, each, ties,
            )
        )  # fmt: skip
    return found


def _with_interval(
    drawn: Tensor, confidence: float
) -> tuple[float, float, float] | tuple[None, None, None]:
    value = _or_none(drawn[0])
    return (None, None, None) if value is None else (value, *interval(drawn[1:], confidence))


def _or_none(value: Tensor) -> float | None:
    return None if value.isnan() else float(value)


def _system_codes(systems: Labels | None, count: int) -> Tensor:
    """A number for each system, -1 for a row that names none, of which a warning tells."""
    system, _ = codes(systems, count, "systems")
    if systems is None:
        return system
    lacking = torch.tensor([label is None or not str(label).strip() for label in systems])
    if bool(lacking.any()):
        warn(f"{int(lacking.sum())} of {count} rows name no system and are left out of that level")
    return system.masked_fill(lacking, -1)


def _warn_of_undefined(found: Sequence[Agreement], groups: int) -> None:
    undefined = {group for one in found for group, value in one.groups.items() if value is None}
    if undefined:
        warn(
            f"in {len(undefined)} of {groups} groups some agreement is not defined (fewer than "
            "three rows or systems, or all scores equal); they are left out of its mean"
        )
