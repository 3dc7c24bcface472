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

from .checks import as_index, spelled
from .errors import InvalidTypeError, InvalidValueError

TIE = 1e-6  # float32 scores of equal texts differ by no more: docs/rules.md, "Repetition"
POWER = 0.8
_CELLS = 1 << 21  # of resamples times samples at once: 16 MB


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
        width = max(len(system.name) for system in self.systems)
        lines = [
            f"{each.name:<{width}}  {each.mean:.6f}  [{each.low:.6f}, {each.high:.6f}]"
            for each in self.systems
        ]
        for each in self.differences:
            verdict = "differ" if each.adjusted_p <= 1 - self.confidence else "cannot be told apart"
            lines += [
                "",
                f"{each.first} - {each.second}: they {verdict}",
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

    Example:
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


def read_vectors(scores: Mapping[str, Any], what: str) -> tuple[list[str], Tensor]:
    """Names, and one row of numbers each, float64 ``[names, samples]``.

    Args:
        scores: vectors by name.
        what: the argument they come from, for messages.

    Raises:
        InvalidTypeError: if they are no vectors of numbers by name.
        InvalidValueError: if they are of different lengths, none, or not finite.
    """
    if not isinstance(scores, Mapping) or not all(isinstance(name, str) for name in scores):
        got = type(scores).__name__
        raise InvalidTypeError(f"got {got} as {what}; wanted a mapping of names to their values")
    vectors = {name: read_vector(value, f"{what}[{name!r}]") for name, value in scores.items()}
    lengths = {name: len(vector) for name, vector in vectors.items()}
    if len({*lengths.values()}) > 1:
        said = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InvalidValueError(
            f"got {what} of different lengths ({said}); wanted a value for each sample"
        )
    if not lengths or not min(lengths.values()):
        raise InvalidValueError(f"got an empty {what}; wanted a value for each sample")
    return [*vectors], torch.stack([*vectors.values()])


def read_vector(value: Any, what: str) -> Tensor:
    """Numbers in one row, float64; see `read_vectors`."""
    try:
        vector = torch.as_tensor(value, dtype=torch.float64, device="cpu").detach()
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InvalidTypeError(
            f"got {type(value).__name__} as {what} ({reason}); wanted a number for each sample"
        ) from error
    if vector.dim() != 1:
        raise InvalidValueError(
            f"got the shape {[*vector.shape]} as {what}; wanted one number for each sample"
        )
    if not vector.isfinite().all():
        row = int((~vector.isfinite()).nonzero()[0])
        raise InvalidValueError(
            f"got {vector[row].item()} in sample {row} of {what}; wanted finite numbers"
        )
    return vector


def check_resampling(resamples: int, confidence: float, seed: int) -> None:
    """Raise InvalidValueError for what is out of range."""
    for name, value, least in (("resamples", resamples, 100), ("seed", seed, 0)):
        number = as_index(value)
        if number is None or not least <= number < 2**63:
            raise InvalidValueError(
                f"got {spelled(name, value)}; wanted a whole number, at least {least}"
            )
    if isinstance(confidence, bool) or not (
        isinstance(confidence, int | float) and 0 < confidence < 1
    ):
        raise InvalidValueError(
            f"got {spelled('confidence', confidence)}; wanted a number between 0 and 1, as 0.95"
        )


def draws(size: int, resamples: int, generator: torch.Generator) -> Iterator[Tensor]:
    """How often each of some things is drawn when as many are drawn, with replacement.

    Yields:
        float64 ``[some resamples, size]``, until there are enough; each row adds up to size.
    """
    for count in _portions(size, resamples):
        drawn = torch.randint(size, (count, size), generator=generator)
        counts = torch.zeros(count, size, dtype=torch.float64)
        yield counts.scatter_add_(1, drawn, torch.ones(1, dtype=torch.float64).expand_as(counts))


def resampled_means(values: Tensor, resamples: int, generator: torch.Generator) -> Tensor:
    """Means ``[systems, resamples]`` of values ``[systems, samples]``, all from the same draws."""
    size = values.shape[1]
    return torch.cat([values @ counts.T for counts in draws(size, resamples, generator)], 1) / size


def randomisation_p(gaps: Tensor, resamples: int, generator: torch.Generator) -> list[float]:
    """Two-sided p-values of differences ``[pairs, samples]`` under random exchanges.

    If two systems were alike, each difference might as well have the other sign. The p-value is the
    share of signings whose sum is as far from 0 as the observed one, which is one of them.
    """
    size = gaps.shape[1]
    wanted = gaps.sum(1).abs() * (1 - 1e-12) - 1e-12 * gaps.abs().sum(1)  # rounding of sums
    exact = 2**size <= resamples if size < 64 else False
    if exact:
        bits = torch.arange(2**size)[:, None] >> torch.arange(size) & 1
        signings = [bits]
    else:
        sizes = _portions(size, resamples)
        signings = (torch.randint(2, (n, size), generator=generator) for n in sizes)
    found = torch.zeros(len(gaps), dtype=torch.int64)
    for signs in signings:
        found += ((gaps @ (2 * signs - 1).double().T).abs() >= wanted[:, None]).sum(1)
    if exact:
        return (found / 2**size).tolist()
    return ((found + 1) / (resamples + 1)).tolist()


def interval(drawn: Tensor, confidence: float) -> tuple[float, float]:
    """Percentiles of a bootstrap's values; undefined ones are left out."""
    outside = (1 - confidence) / 2
    ends = torch.tensor([outside, 1 - outside], dtype=drawn.dtype)
    low, high = drawn.nanquantile(ends).tolist()
    return low, high


def bootstrap_p(observed: float, drawn: Tensor) -> float:
    """Two-sided p-value: how often a draw is as far from the draws' mean as the observed from 0."""
    drawn = drawn[~drawn.isnan()]
    far = (drawn - drawn.mean()).abs() >= abs(observed) * (1 - 1e-12)
    return (int(far.sum()) + 1) / (len(drawn) + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values after Holm's correction, in the order in which they came."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [0.0] * len(p_values), 0.0
    for done, place in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - done) * p_values[place]))
        adjusted[place] = largest
    return adjusted


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


def _portions(size: int, resamples: int) -> list[int]:
    """How many resamples are drawn at once."""
    most = max(1, _CELLS // size)
    return [min(most, resamples - begin) for begin in range(0, resamples, most)]
