"""From matches to scores: weighted means, F, empty pairs.

    precision   P = sum_j w(y_j) max_i x_i . y_j / sum_j w(y_j)      over the prediction's tokens
    recall      R = sum_i w(x_i) max_j x_i . y_j / sum_i w(x_i)      over the reference's tokens
    F           (1 + b^2) P R / (b^2 P + R)                          of positive P, R; else 0

(Zhang et al., ICLR 2020, equations 1 to 3; there b is 1.) Everything here is arithmetic on packed
vectors, in float64. What several references make of it stands in `references`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .machine import widest_float
from .matching import Matches, Side
from .references import EMPTY

# Token ids to their weights: ``[tokens]`` to float ``[tokens]``.
Weigh = Callable[[Tensor], Tensor]


def equal_weights(token: Tensor) -> Tensor:
    """The weight 1 for every token: no idf. ``[tokens]`` to ``[tokens]``."""
    return torch.ones(token.shape, dtype=widest_float(token.device), device=token.device)


def token_weights(
    side: Side, weigh: Weigh = equal_weights
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The weight of each token, and what is needed to make shares of them.

    Returns:
        The weights, ``[tokens]``; the pair of each token, ``[tokens]``; what the weights of each
        pair add up to, positive, ``[pairs]``; and which pairs had tokens whose weights are all
        zero, bool ``[pairs]``: these are weighted equally.
    """
    length = side.length.long()
    pair = torch.repeat_interleave(torch.arange(len(length), device=length.device), length)
    weight = weigh(side.token)
    total = weight.new_zeros(len(length)).index_add_(0, pair, weight)
    tiny = torch.finfo(total.dtype).tiny  # below it numbers lose their digits
    weightless = (total < tiny) & (length > 0)
    weight = weight.masked_fill(weightless[pair], 1.0)
    total = torch.where(weightless, length.to(total.dtype), total).clamp_min(tiny)
    return weight, pair, total, weightless


def weighted_mean(side: Side, weigh: Weigh = equal_weights) -> tuple[Tensor, Tensor]:
    """Mean of the best similarities of each pair.

    Args:
        side: one side of the pairs.
        weigh: gives each token id its weight.

    Returns:
        The means, ``[pairs, layers]``, undefined where a pair has no tokens; and which pairs had
        tokens whose weights are all zero, bool ``[pairs]``: these were weighted equally.
    """
    weight, pair, total, weightless = token_weights(side, weigh)
    summed = weight.new_zeros(len(side.length), side.similarity.shape[1])
    summed.index_add_(0, pair, side.similarity.to(weight.dtype) * weight[:, None])
    return summed / total[:, None], weightless


def f_beta(precision: Tensor, recall: Tensor, beta: float = 1.0) -> Tensor:
    """F, elementwise; 0 where P or R is not positive, because there it has no meaning.

    The paper's package applies the formula there too and gives values outside of the two, even
    infinite ones.

    Args:
        precision: any shape.
        recall: the same shape.
        beta: how many times as much recall counts (van Rijsbergen, 1979); 1: the harmonic mean.
    """
    positive = (precision > 0) & (recall > 0)
    square = beta * beta
    both = (square * precision + recall).masked_fill(~positive, 1.0)
    return torch.where(positive, (1 + square) * precision * recall / both, 0.0)


def score_pairs(
    matches: Matches, weigh: Weigh = equal_weights, beta: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Precision, recall and F of every pair.

    Returns:
        Scores, ``[pairs, layers, 3]``, `EMPTY` where a side has no tokens; and the pairs in which
        a side was weighted equally because all its weights are zero, bool ``[pairs]``.
    """
    precision, p_equal = weighted_mean(matches.pred, weigh)
    recall, r_equal = weighted_mean(matches.ref, weigh)
    scores = torch.stack([precision, recall, f_beta(precision, recall, beta)], -1)
    empty = (matches.pred.length == 0) | (matches.ref.length == 0)
    return scores.masked_fill(empty[:, None, None], EMPTY), (p_equal | r_equal) & ~empty
