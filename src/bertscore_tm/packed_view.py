"""An alignment as little JSON, for a page that holds many: what a reader sees, no matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .levels import floor_of, level_of
from .segments import Segment, segments_of

if TYPE_CHECKING:
    from .alignment import AlignedPair, AlignedText, AlignedToken, Alignment


def packed(alignment: Alignment) -> list[dict[str, Any]]:
    """The pairs that gave a score; the first, where none did.

    Returns:
        Of each pair the place of its ``reference``, the names of the scores that it ``gives``, its
        own "precision", "recall" and "f1" before rescaling, the ``floor`` of its colours, and
        "pred" and "target": ``lost`` tokens and ``parts``. A part is a stretch of the text,
        ``[text]``; with what was beyond the encoder's limit ``[text, "cut"]``; with tokens
        ``[text, level, added, token, ...]`` (`levels.level_of` or None; 1 if it is not of the
        text). A token is ``[place, match, cosine, weight, contribution]``, or ``[place, special]``
        where it has no match.
    """
    gives = {
        place: [name for name, places in alignment.taken.items() if place in places]
        for place in range(len(alignment.pairs))
    }
    shown = [place for place, names in gives.items() if names] or [0]
    return [
        {"reference": place, "gives": gives[place], **_pair(alignment.pairs[place])}
        for place in shown
    ]


def _pair(pair: AlignedPair) -> dict[str, Any]:
    floor = floor_of(pair)
    scores = {name: _short(getattr(pair, name)) for name in ("precision", "recall", "f1")}
    sides = {name: _side(getattr(pair, name), floor) for name in ("pred", "target")}
    return {**scores, "floor": _short(floor), **sides}


def _side(side: AlignedText, floor: float) -> dict[str, Any]:
    return {"lost": side.lost, "parts": [_part(each, side, floor) for each in segments_of(side)]}


def _part(segment: Segment, side: AlignedText, floor: float) -> list[Any]:
    if not segment.tokens:
        return [segment.text, "cut"] if segment.cut else [segment.text]
    tokens = [_token(place, side.tokens[place]) for place in segment.tokens]
    return [segment.text, level_of(side, segment.tokens, floor), int(segment.added), *tokens]


def _token(place: int, token: AlignedToken) -> list[Any]:
    if token.match is None:
        return [place, int(token.special)]
    weight = float(f"{token.weight:.4g}")
    return [place, token.match, _short(token.similarity), weight, _short(token.contribution)]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
