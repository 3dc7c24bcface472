"""A text in the pieces in which it can be shown: tokens where a reader would see borders."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from .spans import belongs_to_last

if TYPE_CHECKING:
    from .alignment import AlignedText


class Segment(NamedTuple):
    """A stretch of a text.

    Attributes:
        text: its characters.
        tokens: the places of its tokens; none: what stands between tokens.
        cut: whether it lies beyond what the encoder was given.
        added: whether it is a token that the text does not hold, such as ``[CLS]``.
    """

    text: str
    tokens: tuple[int, ...] = ()
    cut: bool = False
    added: bool = False


def segments_of(side: AlignedText) -> list[Segment]:
    """Cut a text at the borders of its tokens, without changing its order or losing a character.

    Tokens that no reader could tell apart share a segment: those of one character, and those that
    would tear an accent, a vowel sign or an emoji from what it belongs to. Tokens that the
    tokenizer adds come before and after. Where the place of a token is not known, the tokens follow
    each other with spaces.
    """
    tokens = list(enumerate(side.tokens))
    placed = [(t.start, t.end, i) for i, t in tokens if t.start is not None and t.end is not None]
    first = placed[0][2] if placed else len(tokens)
    within = tokens[first : placed[-1][2]] if placed else tokens
    if any(t.start is None and not (t.special and not placed) for _, t in within):
        return [part for i, token in tokens for part in (Segment(token.text, (i,)), Segment(" "))]
    added = [Segment(token.text, (i,), added=True) for i, token in tokens if token.start is None]
    before = [segment for segment in added if segment.tokens[0] < first]
    return [*before, *_covered(side, _clusters(side.text, placed)), *added[len(before) :]]


def _clusters(text: str, placed: list[tuple[int, int, int]]) -> list[tuple[int, int, list[int]]]:
    """Start, end and tokens of what is shown as one."""
    clusters: list[tuple[int, int, list[int]]] = []
    for start, end, token in sorted(placed):
        if clusters:
            first, last, tokens = clusters[-1]
            joined = start < last or first == last == start
            joined |= start == last and (start == end or belongs_to_last(text, start))
            if joined or (first == last and start == last):
                clusters[-1] = first, max(last, end), [*tokens, token]
                continue
        clusters.append((start, end, [token]))
    return clusters


def _covered(side: AlignedText, clusters: list[tuple[int, int, list[int]]]) -> list[Segment]:
    """All of the text, in order."""
    found: list[Segment] = []
    place = 0
    for start, end, tokens in clusters:
        if start > place:
            rest = side.text[place:start]
            found.append(Segment(rest, cut=not found and _is_cut(side, rest)))
        found.append(Segment(side.text[start:end], tuple(sorted(tokens))))
        place = end
    rest = side.text[place:]
    return [*found, Segment(rest, cut=_is_cut(side, rest))] if rest else found


def _is_cut(side: AlignedText, rest: str) -> bool:
    return side.lost > 0 and bool(rest.strip())


def runs_right_to_left(text: str) -> bool:
    """Whether some of a text is written from right to left."""
    return any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)


def isolated(text: str) -> str:
    """A text whose direction leaves what stands around it alone, where that could change it."""
    return f"\u2068{text}\u2069" if runs_right_to_left(text) else text
