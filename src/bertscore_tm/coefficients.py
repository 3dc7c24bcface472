"""Coefficients of agreement between two rows of numbers, under many weightings at once.

A bootstrap resample is a weighting: how often each sample was drawn. Each function gives what it
would give for the samples written out as often as their weight says, so that one call answers for
all resamples. Ties of a sample with its own copies never count as agreement.

Shapes: ``x`` and ``y`` are ``[n]`` or ``[resamples, n]``, weights ``w`` are ``[resamples, n]``,
results ``[resamples]``. What is undefined, as the correlation with a constant, is NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_CELLS = 1 << 22  # of a block of pairs
_PAIRS = 1 << 22  # from which a threshold is calibrated, at most


def pearson(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """Pearson's correlation."""
    dx, dy = _centred(x, w), _centred(y, w)
    covariance = (w * dx * dy).sum(-1)
    return covariance / (_spread(dx, x, w) * _spread(dy, y, w)).sqrt()


def spearman(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """Spearman's rank correlation; ties have their mean rank."""
    return pearson(_ranks(x, w), _ranks(y, w), w)


def kendall(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """Kendall's tau-b (1945): concordant less discordant pairs, corrected for ties."""

    def signs(values: Tensor, rows: Tensor) -> Tensor:
        return (values[..., rows, None] - values[..., None, :]).sign().float()

    agree = _over_pairs(w, lambda rows: signs(x, rows) * signs(y, rows))
    return agree / (_differing(x, w) * _differing(y, w)).sqrt()


def pairwise_accuracy(x: Tensor, y: Tensor, w: Tensor, threshold: float) -> Tensor:
    """Share of all pairs that metric ``x`` orders, or holds for equal, as people ``y`` do.

    Pairs of ``x`` that differ by no more than the threshold count as ties: acc_eq of Deutsch,
    Foster and Freitag (EMNLP 2023), equation 6.
    """

    def right(rows: Tensor) -> Tensor:
        dx = x[..., rows, None] - x[..., None, :]
        dy = y[..., rows, None] - y[..., None, :]
        same = rows[:, None] == torch.arange(x.shape[-1])
        return (judged_right(dx, dy, threshold) & ~same).float()

    return _over_pairs(w, right) / (w.sum(-1) ** 2 - (w * w).sum(-1))


def judged_right(dx: Tensor, dy: Tensor, threshold: float) -> Tensor:
    """Of each pair whether its difference by the metric says what that by people says."""
    tied = dx.abs() <= threshold
    return torch.where(tied, dy == 0, dx.sign() == dy.sign())


def calibrate(dx: Tensor, dy: Tensor, weight: Tensor) -> float:
    """The threshold below which a metric's difference is best called a tie.

    Args:
        dx: differences by the metric, ``[pairs]``.
        dy: differences by people.
        weight: how much each pair counts.

    Returns:
        The smallest of the differences, or 0, with the largest accuracy (the same paper, 5.1).
    """
    size, order = dx.abs().sort()
    tied = (dy == 0)[order].double()
    concordant = ((dx.sign() == dy.sign()) & (dy != 0))[order].double()
    gain = ((tied - concordant) * weight[order]).cumsum(0)
    last = torch.cat([size[1:] != size[:-1], torch.ones(1, dtype=torch.bool)])
    size, gain = size[last], gain[last]
    if size[0] > 0:  # no tie at all
        size, gain = torch.cat([size.new_zeros(1), size]), torch.cat([gain.new_zeros(1), gain])
    best = gain >= gain.max() - 1e-9 * weight.sum()  # rounding of the sums
    return float(size[best][0])


def all_pairs(rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The pairs of so many rows, or of some of the rows, where these are very many."""
    most = int((2 * _PAIRS) ** 0.5)
    i, j = torch.triu_indices(min(rows, most), min(rows, most), 1)
    if rows > most:
        chosen = torch.randperm(rows, generator=generator)[:most]
        i, j = chosen[i], chosen[j]
    return i, j


def _centred(x: Tensor, w: Tensor) -> Tensor:
    return x - ((w * x).sum(-1) / w.sum(-1))[..., None]


def _spread(centred: Tensor, x: Tensor, w: Tensor) -> Tensor:
    """Sum of squares; NaN if it is rounding only."""
    squares = (w * centred * centred).sum(-1)
    rounding = w.sum(-1) * (1e-12 * x.abs().amax(-1)) ** 2
    return squares.where(squares > rounding, torch.nan)


def _ranks(x: Tensor, w: Tensor) -> Tensor:
    """The mean of the places of each value among all, but for a constant: ``[resamples, n]``."""
    below, upto = _places(x, w)
    return (below + upto) / 2


def _differing(x: Tensor, w: Tensor) -> Tensor:
    """The weight of all ordered pairs that are no tie."""
    below, upto = _places(x, w)
    return w.sum(-1) ** 2 - (w * (upto - below)).sum(-1)


def _places(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """The weight of all that is below each value, and of all that is not above it."""
    ordered, order = x.contiguous().sort(-1)
    weight = torch.take_along_dim(w, order.expand_as(w), -1).cumsum(-1)
    weight = torch.cat([torch.zeros_like(weight[..., :1]), weight], -1)
    first = torch.searchsorted(ordered, x.contiguous()).expand_as(w)
    end = torch.searchsorted(ordered, x.contiguous(), right=True).expand_as(w)
    return torch.take_along_dim(weight, first, -1), torch.take_along_dim(weight, end, -1)


def _over_pairs(w: Tensor, form: Callable[[Tensor], Tensor]) -> Tensor:
    """The sum over ordered pairs of rows of their weights times what a function of rows gives.

    Args:
        w: weights, ``[resamples, n]``.
        form: from places ``[block]`` to ``[block, n]`` or ``[resamples, block, n]``, float32, which
            holds whole numbers up to 2**24 exactly.
    """
    n = w.shape[-1]
    single = w.float()
    total = torch.zeros(len(w), dtype=torch.float64)
    for rows in torch.arange(n).split(max(1, _CELLS // n)):
        block = form(rows)
        shared = block.dim() == 2
        seen = single @ block.mT if shared else (block @ single[..., None])[..., 0]
        total += (w[:, rows] * seen.double()).sum(-1)
    return total
