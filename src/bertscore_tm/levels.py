"""How alike a token and its match are, as one of few levels, for colours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .alignment import AlignedPair, AlignedText


LEVELS = 10  # the highest; 0 is the lowest


def floor_of(pair: AlignedPair) -> float:
    """Where the scale begins: the cosine of the two tokens of a pair that are least alike.

    Raw cosines crowd together, of some encoders above 0.8: a scale from 0 would show one colour.
    """
    return min((min(row) for row in pair.rows if len(row)), default=0.0)


def level_of(side: AlignedText, tokens: Iterable[int], floor: float) -> int | None:
    """The level of some tokens, from the mean of their cosines; None: none of them has a match."""
    found = [s for i in tokens if (s := side.tokens[i].similarity) is not None]
    if not found:
        return None
    share = (sum(found) / len(found) - floor) / max(1.0 - floor, 1e-6)
    return round(LEVELS * min(1.0, max(0.0, share)))
