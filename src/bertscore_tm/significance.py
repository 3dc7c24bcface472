"""`compare`: whether one system is better than another, from the scores of the same samples.

Everything is paired: what counts is the difference of two systems on a sample. The interval is
the paired bootstrap's (Koehn, EMNLP 2004; percentiles), the p-values are the bootstrap's as
sacrebleu has it and that of paired approximate randomisation (Riezler and Maxwell, 2005), corrected
for the number of pairs by Holm (1979).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import torch
from torch import Tensor

from .checks import spelled
from .decoding import printable
from .errors import InvalidValueError
from .resampling import (
    TIE,
    bootstrap_p,
    check_resampling,
    holm,
    interval,
    portions,
    read_vectors,
    resampled_means,
)

POWER = 0.8


@dataclass(frozen=True)
class SystemMean:
    """A system by itself.

    Attributes:
        name: of the system.
        mean: of its scores.
        low: where the bootstrap interval of the mean begins.
        high: where it ends.
    """

    name: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """Two systems on the same samples.

    Attributes:
        first: a system.
        second: another one.
        difference: mean of the first less mean of the second.
        low: where the paired bootstrap interval of the difference begins.
        high: where it ends.
        bootstrap_p: two-sided p-value of the paired bootstrap.
        randomisation_p: two-sided p-value of paired approximate randomisation; exact where all
            exchanges are no more than the resamples.
        adjusted_p: the latter after Holm's correction for all pairs that are compared.
        wins: samples on which the first is better.
        ties: samples on which they differ by no more than 1e-6, float32's rounding.
        losses: samples on which the second is better.
        detectable: the smallest true difference that as many samples, differing as much, show
            with a power of 80%.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    bootstrap_p: float
    randomisation_p: float
    adjusted_p: float
    wins: int
    ties: int
    losses: int
    detectable: float


@dataclass(frozen=True)
class Comparison:
    """What `compare` finds.

    Attributes:
        samples: how many each system has.
        systems: means, in the order in which the systems were given.
        differences: of each pair of systems, or of each with the one it is compared against.
        resamples: of bootstrap and randomisation.
        confidence: of the intervals.
        seed: of the resamples.
    """

    samples: int
    systems: tuple[SystemMean, ...]
    differences: tuple[Difference, ...]
    resamples: int
    confidence: float
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def to_text(self) -> str:
        """A line for each system, and two for each pair."""
        width = max(len(printable(system.name)) for system in self.systems)
        lines = [
            f"{printable(each.name):<{width}}  {each.mean:.6f}  [{each.low:.6f}, {each.high:.6f}]"
            for each in self.systems
        ]
        for each in self.differences:
            sure = each.adjusted_p <= 1 - self.confidence
            higher = each.first if each.difference > 0 else each.second
            verdict = f"{printable(higher)} is better" if sure else "they cannot be told apart"
            lines += [
                "",
                f"{printable(each.first)} - {printable(each.second)}: {verdict}",
                f"  difference {each.difference:+.6f}  [{each.low:+.6f}, {each.high:+.6f}]  "
                f"smallest that would show {each.detectable:.6f}",
                f"  p {each.randomisation_p:.4f} randomisation, {each.adjusted_p:.4f} after Holm, "
                f"{each.bootstrap_p:.4f} bootstrap",
                f"  wins {each.wins}  ties {each.ties}  losses {each.losses}",
            ]
        lines += ["", f"{self.samples} samples, {self.resamples} resamples, seed {self.seed}, "
                  f"intervals of {self.confidence:.0%}"]  # fmt: skip
        return "\n".join(lines) + "\n"


def compare(
    scores: Mapping[str, Any],
    *,
    against: str | None = None,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare systems by their scores of the same samples.

    Args:
        scores: for each system its name and a score a sample, ``[samples]``, in the same order of
            samples: a tensor, an array or a list, as ``bert_score(...)["f1"]``.
        against: a system with which each other one is compared; None: all pairs.
        resamples: of bootstrap and randomisation.
        confidence: of the intervals; 1 less this is the level at which systems differ.
        seed: of the resamples.

    Raises:
        InvalidTypeError: if scores are no numbers.
        InvalidValueError: if there are fewer than two systems or two samples, the numbers of
            samples differ, a score is not finite, or an argument is out of its range.

    Examples:
        >>> from bertscore_tm import compare
        >>> found = compare({"a": [0.9, 0.8, 0.7, 0.9], "b": [0.7, 0.7, 0.7, 0.8]}).differences[0]
        >>> round(found.difference, 3), found.wins, found.ties, found.randomisation_p
        (0.1, 3, 1, 0.25)
    """
    names, values = read_vectors(scores, "scores")
    check_comparison(names, values.shape[1], against, resamples, confidence, seed)
    pairs = [
        (i, j)
        for i, j in combinations(range(len(names)), 2)
        if against is None or against in (names[i], names[j])
    ]
    pairs = [(j, i) if names[i] == against else (i, j) for i, j in pairs]
    generator = torch.Generator().manual_seed(seed)
    means = resampled_means(values, resamples, generator)
    gaps = torch.stack([values[i] - values[j] for i, j in pairs])
    randomised = randomisation_p(gaps, resamples, generator)
    adjusted = holm(randomised)
    systems = [
        SystemMean(name, float(row.mean()), *interval(drawn, confidence))
        for name, row, drawn in zip(names, values, means)
    ]
    differences = [
        _difference(names[i], names[j], gap, means[i] - means[j], p, q, confidence)
        for (i, j), gap, p, q in zip(pairs, gaps, randomised, adjusted)
    ]
    return Comparison(
        values.shape[1], tuple(systems), tuple(differences), resamples, confidence, seed
    )


def check_comparison(
    names: Sequence[str],
    samples: int,
    against: str | None,
    resamples: int,
    confidence: float,
    seed: int,
) -> None:
    """Raise InvalidValueError for what `compare` cannot compare, before there are scores."""
    if len(names) < 2:
        raise InvalidValueError(f"got {len(names)} system; wanted at least two to compare")
    if samples < 2:
        raise InvalidValueError(f"got {samples} sample a system; wanted at least two")
    check_resampling(resamples, confidence, seed)
    if against is not None and against not in names:
        raise InvalidValueError(
            f"got {spelled('against', against)}; wanted one of {', '.join(names)}"
        )


def randomisation_p(gaps: Tensor, resamples: int, generator: torch.Generator) -> list[float]:
    """Two-sided p-values of differences ``[pairs, samples]`` under random exchanges.

    If two systems were alike, each difference might as well have the other sign. The p-value is the
    share of signings whose sum is as far from 0 as the observed one, which is one of them.
    """
    size = gaps.shape[1]
    wanted = gaps.sum(1).abs() * (1 - 1e-12) - 1e-12 * gaps.abs().sum(1)  # rounding of sums
    found = torch.zeros(len(gaps), dtype=torch.float64)
    exact = size < 64 and 2**size <= resamples
    for signs in _all_signs(size) if exact else _signs(size, resamples, generator):
        found += ((gaps @ (2 * signs - 1).double().T).abs() >= wanted[:, None]).sum(1)
    p_values: list[float] = (found / 2**size if exact else (found + 1) / (resamples + 1)).tolist()
    return p_values


def _all_signs(size: int) -> Iterator[Tensor]:
    yield torch.arange(2**size)[:, None] >> torch.arange(size) & 1


def _signs(size: int, resamples: int, generator: torch.Generator) -> Iterator[Tensor]:
    for count in portions(size, resamples):
        yield torch.randint(2, (count, size), generator=generator)


def _difference(
    first: str,
    second: str,
    gap: Tensor,
    drawn: Tensor,
    p: float,
    adjusted: float,
    confidence: float,
) -> Difference:
    normal = NormalDist()
    units = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(POWER)
    mean = float(gap.mean())
    return Difference(
        first,
        second,
        mean,
        *interval(drawn, confidence),
        bootstrap_p(mean, drawn),
        p,
        adjusted,
        int((gap > TIE).sum()),
        int((gap.abs() <= TIE).sum()),
        int((gap < -TIE).sum()),
        units * float(gap.std()) / len(gap) ** 0.5,
    )
