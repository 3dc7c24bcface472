"""What several references of one sample make of it: one function a rule, one table of rules.

A rule gets the scores of samples that have equally many references, ``[samples, references,
layers, 3]`` with precision, recall and F1 last, and returns ``[samples, layers, 3]``. The scores of
an empty pair are `EMPTY`: it is left out, and a sample whose pairs are all empty must stay so. A
rule is made of torch operations with slopes, by which `explain` finds out which references counted.
Nothing is imported here: the command line reads the names before PyTorch is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

SCORE_NAMES = ("precision", "recall", "f1")
# Stands for "nothing to score" in all three values of a row. It cannot be confused with a score,
# equals itself, and is below all scores.
EMPTY = float("-inf")


def largest_of_each(scores: Tensor) -> Tensor:
    """The largest precision, the largest recall, the largest F1 (the paper's package)."""
    return scores.amax(1)


def best_f1(scores: Tensor) -> Tensor:
    """The first reference with the largest F1 gives all three."""
    f1 = scores[..., 2]  # [samples, references, layers]
    falling = f1.new_ones(f1.shape).cumsum(1).neg()  # -1, -2, ... over the references
    first = falling.masked_fill(f1 != f1.amax(1, keepdim=True), EMPTY).argmax(1, keepdim=True)
    return scores.gather(1, first[..., None].expand(-1, -1, -1, 3)).squeeze(1)


def mean_of_each(scores: Tensor) -> Tensor:
    """The mean over the references that are not empty."""
    empty = scores == EMPTY
    number = (~empty).sum(1)
    mean = scores.masked_fill(empty, 0.0).sum(1) / number.clamp_min(1)
    return mean.masked_fill(number == 0, EMPTY)


RULES: dict[str, Callable[[Tensor], Tensor]] = {
    "max": largest_of_each,
    "best_f1": best_f1,
    "mean": mean_of_each,
}


def over_references(scores: Tensor, references: Tensor, rule: str = "max") -> Tensor:
    """Join the pairs of one prediction with several references.

    Args:
        scores: scores of the pairs, one prediction after the other, ``[pairs, layers, 3]``.
        references: how many pairs belong to each prediction, at least one, ``[samples]``.
        rule: its name in `RULES`.

    Returns:
        Scores of the samples, ``[samples, layers, 3]``, `EMPTY` where all pairs are.
    """
    count = references.long()
    if bool((count == 1).all()):
        return scores
    start = count.cumsum(0) - count
    joined = scores.new_empty(len(count), *scores.shape[1:])
    for number in count.unique().tolist():  # samples with equally many references at a time
        samples = (count == number).nonzero().flatten()
        place = count.new_ones(number).cumsum(0) - 1  # 0, 1, ..., number - 1
        joined[samples] = RULES[rule](scores[start[samples][:, None] + place])
    return joined
