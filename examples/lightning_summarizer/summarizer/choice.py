"""Choosing one of several generated candidates with the metric itself."""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor

from bertscore_tm import BERTScore

Groups = list[list[str]]  # the candidates, or the references, of each source


def first(candidates: Groups, targets: Groups, scorer: BERTScore) -> list[str]:
    """The first one, which is the only one with greedy and beam search."""
    return [group[0] for group in candidates]


def minimum_bayes_risk(candidates: Groups, targets: Groups, scorer: BERTScore) -> list[str]:
    """The one that is most like all the others: the least to lose if any of them is what was wanted.

    F1 is the same both ways, so half of the pairs are enough; the scorer encodes each text once.
    """
    pairs = [
        (i, a, b)
        for i, group in enumerate(candidates)
        for a, b in combinations(range(len(group)), 2)
    ]
    scores = _f1(
        scorer, [candidates[i][a] for i, a, _ in pairs], [[candidates[i][b]] for i, _, b in pairs]
    )
    gains = [torch.zeros(len(group)) for group in candidates]
    for (i, a, b), score in zip(pairs, scores, strict=True):
        gains[i][a] += score
        gains[i][b] += score
    return [group[int(gain.argmax())] for group, gain in zip(candidates, gains, strict=True)]


def best_of_n(candidates: Groups, targets: Groups, scorer: BERTScore) -> list[str]:
    """The one that is most like the reference: an oracle, which says what a perfect choice would reach."""
    preds = [text for group in candidates for text in group]
    scores = _f1(
        scorer,
        preds,
        [refs for group, refs in zip(candidates, targets, strict=True) for _ in group],
    )
    parts = scores.split([len(group) for group in candidates])
    return [group[int(part.argmax())] for group, part in zip(candidates, parts, strict=True)]


CHOICES = {"first": first, "mbr": minimum_bayes_risk, "best_of_n": best_of_n}


def _f1(scorer: BERTScore, preds: list[str], targets: Groups) -> Tensor:
    """One value a pair. What is odd about candidates is no news: the texts that are chosen are judged by the module's metric."""
    scorer.reset()
    scorer.update(preds, targets)
    scorer.warns = False
    scores = scorer.compute().cpu()
    scorer.reset()
    return scores
