"""Vectors of scores, and resamples of them: draws, intervals, p-values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from .checks import as_index, spelled
from .errors import InvalidTypeError, InvalidValueError

TIE = 1e-6  # float32 scores of equal texts differ by no more: docs/rules.md, "Repetition"
_CELLS = 1 << 21  # of resamples times samples at once: 16 MB


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


def portions(size: int, resamples: int) -> list[int]:
    """How many resamples are drawn at once."""
    most = max(1, _CELLS // size)
    return [min(most, resamples - begin) for begin in range(0, resamples, most)]


def draws(size: int, resamples: int, generator: torch.Generator) -> Iterator[Tensor]:
    """How often each of some things is drawn when as many are drawn, with replacement.

    Yields:
        float64 ``[some resamples, size]``, until there are enough; each row adds up to size.
    """
    for count in portions(size, resamples):
        drawn = torch.randint(size, (count, size), generator=generator)
        counts = torch.zeros(count, size, dtype=torch.float64)
        yield counts.scatter_add_(1, drawn, torch.ones(1, dtype=torch.float64).expand_as(counts))


def resampled_means(values: Tensor, resamples: int, generator: torch.Generator) -> Tensor:
    """Means ``[systems, resamples]`` of values ``[systems, samples]``, all from the same draws."""
    size = values.shape[1]
    return torch.cat([values @ counts.T for counts in draws(size, resamples, generator)], 1) / size


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
