"""Choosing one of several generated candidates with the metric itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations

import torch
from torch import Tensor

from bertscore_tm import BERTScore

Groups = list[list[str]]  # the candidates, or the references, of each source
Choice = Callable[[Groups, Groups, BERTScore | None], list[str]]


def first(candidates: Groups, targets: Groups, scorer: BERTScore | None) -> list[str]:
    """The first one, which is the only one with greedy and beam search."""
    return [group[0] if group else "" for group in candidates]


def minimum_bayes_risk(candidates: Groups, targets: Groups, scorer: BERTScore | None) -> list[str]:
    """The one with the highest mean score as prediction, all others of its group as references.

    It is the least to lose if any of them is what was wanted. Texts that come several times are
    references as often. Both directions of a pair count, since only F1 is the same both ways;
    each distinct pair is scored once, each text encoded once. Of equals the first is taken, of a
    group without candidates the empty text.
    """
    pairs = [pair for group in candidates for pair in permutations(group, 2)]
    distinct = list(dict.fromkeys(pairs))
    scores = _scores(scorer, [pred for pred, _ in distinct], [[ref] for _, ref in distinct])
    score = dict(zip(distinct, scores.tolist(), strict=True))

    def gain(group: list[str], place: int) -> float:
        others = group[:place] + group[place + 1 :]
        return math.fsum(score[group[place], other] for other in others)

    return [_best(group, [gain(group, i) for i in range(len(group))]) for group in candidates]


def best_of_n(candidates: Groups, targets: Groups, scorer: BERTScore | None) -> list[str]:
    """The one that is most like the reference: an oracle, what a perfect choice would reach."""
    preds = [text for group in candidates for text in group]
    refs = [refs for group, refs in zip(candidates, targets, strict=True) for _ in group]
    parts = _scores(scorer, preds, refs).split([len(group) for group in candidates])
    return [_best(group, part.tolist()) for group, part in zip(candidates, parts, strict=True)]


CHOICES: dict[str, Choice] = {
    "first": first,
    "mbr": minimum_bayes_risk,
    "best_of_n": best_of_n,
}


def _best(group: list[str], gains: list[float]) -> str:
    """The first one with the highest gain; the empty text if nothing was generated."""
    return group[max(range(len(group)), key=gains.__getitem__)] if group else ""


def _scores(scorer: BERTScore | None, preds: list[str], targets: Groups) -> Tensor:
    """One value a pair.

    What is odd about candidates is no news: the texts that are chosen are judged by the module's
    metric.
    """
    if scorer is None:
        raise ValueError("got no scorer to choose with; wanted a BERTScore with reduction='none'")
    if not preds:
        return torch.zeros(0)
    scorer.reset()
    scorer.update(preds, targets)
    scorer.warns = False
    scores = scorer.compute()
    scorer.reset()
    if isinstance(scores, dict):
        raise ValueError(
            f"got a scorer with {', '.join(scores)}; wanted one score of one layer to choose by"
        )
    return scores.cpu()
