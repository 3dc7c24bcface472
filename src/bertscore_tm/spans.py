"""Where the tokens of a text stand in it: start and end, in characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]

# How vocabularies mark what begins, continues or ends a word, and white space.
_BEFORE = ("##", "▁", "Ġ", "Ċ")
_AFTER = ("</w>", "@@", "▁")
_BLANK = "▁ĠĊĉč "


def plain_piece(piece: str) -> str:
    """What a vocabulary calls a token, without its marks."""
    for mark in _BEFORE:
        piece = piece.removeprefix(mark)
    for mark in _AFTER:
        piece = piece.removesuffix(mark)
    return piece


def settled_spans(text: str, spans: Sequence[Span], pieces: Sequence[str]) -> list[Span]:
    """The spans of all tokens of a text, as a reader would draw them.

    White space at their ends, which many tokenizers count as part of a token, is left out. A piece
    that is nothing but the mark of a space, for which tokenizers name the next letter, is empty.
    Marks that the tokenizer drops (accents, joiners) belong to the letter before them.
    """
    found = []
    for span, piece in zip(spans, pieces):
        start, end = _trimmed(text, *span)
        found.append((start, end if piece.strip(_BLANK) else start))
    covered = {place for span in found for place in range(*span)}
    return [(a, _past_marks(text, b, covered)) if a < b else (a, b) for a, b in found]


def spans_by_decoding(texts: Sequence[str]) -> list[Span]:
    """Spans of tokens from what the first 1, 2, ... of them decode to.

    Tokens of the same character, as of byte-level tokenizers, share its span.
    """
    ends = [0, *map(len, texts)]
    spans: list[Span] = []
    for start, end in reversed(list(pairwise(ends))):
        spans.append(spans[-1] if start >= end and spans else (min(start, end), end))
    return spans[::-1]


def spans_by_letters(text: str, pieces: Sequence[str]) -> list[Span | None]:
    """Spans of pieces that follow each other in a text, found by their letters.

    For tokenizers that cannot say it. A piece that is not there as it is written, in lower or upper
    case, gets None; one that is white space only is empty.
    """
    folded = text.lower() if len(text.lower()) == len(text) else text
    spans: list[Span | None] = []
    place = 0
    for piece in map(plain_piece, pieces):
        if not piece.strip():  # white space only
            at = place + len(text[place:]) - len(text[place:].lstrip())
            spans.append((at, at))
            continue
        places = [each.find(piece, place) for each in (text, folded)]
        found = min((where for where in places if where >= 0), default=-1)
        # What is far away is another occurrence: the text between would have had tokens.
        if found < 0 or len(text[place:found].split()) > 1:
            spans.append(None)
            continue
        place = found + len(piece)
        spans.append((found, place))
    return spans


def belongs_to_last(text: str, place: int) -> bool:
    """Whether no reader would cut a text before this character: a mark, or part of a cluster.

    After the rules of Unicode's annex 29, as far as they concern accents, vowel signs, conjuncts
    (which a virama, of combining class 9, makes) and emoji with joiners, skin tones or as flags.
    """
    if not 0 < place < len(text):
        return False
    last, this = text[place - 1], text[place]
    return (
        _is_mark(this)
        or "\U0001f3fb" <= this <= "\U0001f3ff"
        or last == "\u200d"
        or unicodedata.combining(last) == 9
        or all("\U0001f1e6" <= c <= "\U0001f1ff" for c in (last, this))
    )


def _is_mark(character: str) -> bool:
    """Accents and vowel signs; joiners and other characters that only shape their neighbours."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf")


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _past_marks(text: str, end: int, covered: set[int]) -> int:
    while end < len(text) and end not in covered and _is_mark(text[end]):
        end += 1
    return end
