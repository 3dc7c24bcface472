"""From matches to scores: weighted means, F1, several references, empty rows.

    precision   P = sum_j w(y_j) max_i x_i . y_j / sum_j w(y_j)      over the words of the prediction
    recall      R = sum_i w(x_i) max_j x_i . y_j / sum_i w(x_i)      over the words of the reference
    F1          2 P R / (P + R)                                       of two positive numbers, else 0

(Zhang et al., ICLR 2020, equations 1 to 3.) Everything here is arithmetic on packed vectors, in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .matching import Matches, Side

NAMES = ("precision", "recall", "f1")
# Stands for "nothing to score" in all three values of a row. It cannot be confused with a score, and equals itself.
EMPTY = float("-inf")

Weigh = Callable[[Tensor], Tensor]


def equal_weights(token: Tensor) -> Tensor:
    """The weight 1 for every word: no idf. ``[words]`` to ``[words]``, float64."""
    return torch.ones(token.shape, dtype=exact(token.device), device=token.device)


def exact(device: torch.device) -> torch.dtype:
    """The widest float that a device offers: Apple's GPUs have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def weighted_mean(side: Side, weigh: Weigh = equal_weights) -> tuple[Tensor, Tensor]:
    """Mean of the best similarities of each pair.

    Args:
        side: one side of the pairs.
        weigh: gives each token id its weight.

    Returns:
        The means, ``[pairs, layers]``, undefined where a pair has no words; and which pairs had words whose weights
        are all zero, bool ``[pairs]``: these were weighted equally.
    """
    length = side.length.long()
    pair = torch.repeat_interleave(torch.arange(len(length), device=length.device), length)
    weight = weigh(side.token)
    total = weight.new_zeros(len(length)).index_add_(0, pair, weight)
    weightless = (total < torch.finfo(total.dtype).tiny) & (length > 0)  # below it numbers lose their digits
    weight = weight.masked_fill(weightless[pair], 1.0)
    total = torch.where(weightless, length.to(total.dtype), total)
    summed = weight.new_zeros(len(length), side.similarity.shape[1])
    summed.index_add_(0, pair, side.similarity.to(weight.dtype) * weight[:, None])
    return summed / total[:, None].clamp_min(torch.finfo(weight.dtype).tiny), weightless


def f1(precision: Tensor, recall: Tensor) -> Tensor:
    """Harmonic mean, elementwise; 0 where one of the two is not positive, because there it has no meaning.

    The paper's package applies the formula there too and gives values outside of the two, even infinite ones.
    """
    positive = (precision > 0) & (recall > 0)
    return torch.where(positive, 2 * precision * recall / (precision + recall).masked_fill(~positive, 1.0), 0.0)


def pair_scores(matches: Matches, weigh: Weigh = equal_weights) -> tuple[Tensor, Tensor]:
    """Precision, recall and F1 of every pair.

    Returns:
        Scores, ``[pairs, layers, 3]``, `EMPTY` where a side has no words; and the pairs in which a side was weighted
        equally because all its weights are zero, bool ``[pairs]``.
    """
    precision, p_equal = weighted_mean(matches.pred, weigh)
    recall, r_equal = weighted_mean(matches.ref, weigh)
    scores = torch.stack([precision, recall, f1(precision, recall)], -1)
    empty = (matches.pred.length == 0) | (matches.ref.length == 0)
    return scores.masked_fill(empty[:, None, None], EMPTY), (p_equal | r_equal) & ~empty


def over_references(scores: Tensor, references: Tensor, rule: str = "max") -> Tensor:
    """Join the pairs of one prediction with several references. Empty pairs are left out.

    Args:
        scores: scores of the pairs, one prediction after the other, ``[pairs, layers, 3]``.
        references: how many pairs belong to each prediction, at least one, ``[samples]``.
        rule: "max" (of P, R and F1 each), "best_f1" (the reference with the best F1 gives all three) or "mean".

    Returns:
        Scores of the samples, ``[samples, layers, 3]``, `EMPTY` where all pairs are.
    """
    count = references.long()
    if bool((count == 1).all()):
        return scores
    sample = torch.repeat_interleave(torch.arange(len(count), device=count.device), count)
    place = sample[:, None, None].expand_as(scores)
    largest = scores.new_full((len(count), *scores.shape[1:]), EMPTY).scatter_reduce_(0, place, scores, "amax")
    if rule == "max":
        return largest
    if rule == "best_f1":
        pair = torch.arange(len(scores), device=count.device)[:, None].expand(scores.shape[:2])  # [pairs, layers]
        candidate = pair.where(scores[..., 2] == largest[sample][..., 2], len(scores))
        first = torch.full_like(largest[..., 2], len(scores), dtype=torch.int64)
        first.scatter_reduce_(0, place[..., 2], candidate, "amin")
        return scores.gather(0, first[..., None].expand_as(largest))
    full = (scores != EMPTY).to(scores.dtype)
    total, number = (torch.zeros_like(largest).index_add_(0, sample, part) for part in (scores.where(full > 0, 0.0), full))
    return (total / number.clamp_min(1)).masked_fill(number == 0, EMPTY)
