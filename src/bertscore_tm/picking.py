"""Which samples are worth a look: the worst, the best, the most different, random ones."""

from __future__ import annotations

import random
from collections.abc import Sequence


def worst_first(column: Sequence[float]) -> list[int]:
    """The places of some scores, the lowest first; of equals the earlier one."""
    return sorted(range(len(column)), key=column.__getitem__)


def best_first(column: Sequence[float]) -> list[int]:
    """The places of some scores, the highest first; of equals the earlier one."""
    return worst_first([-score for score in column])


def most_different_first(columns: Sequence[Sequence[float]]) -> list[int]:
    """The rows of several columns, those with the widest range of scores first."""
    return worst_first([min(values) - max(values) for values in zip(*columns)])


def in_random_order(number: int, seed: int) -> list[int]:
    """So many places, in an order that the seed decides."""
    places = list(range(number))
    random.Random(seed).shuffle(places)
    return places


def in_turns(orders: Sequence[Sequence[int]], number: int) -> list[int]:
    """From each order in turn the first place that was not taken yet, until there are enough."""
    taken: dict[int, None] = {}
    waiting = [iter(order) for order in orders]
    while waiting and len(taken) < number:
        for order in list(waiting):
            place = next((place for place in order if place not in taken), None)
            if place is None:
                waiting.remove(order)
            elif len(taken) < number:
                taken[place] = None
    return list(taken)
