"""Names in English texts: where they stand, which are the same, whether two texts differ in one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from difflib import SequenceMatcher
from functools import cache
from typing import NamedTuple

from .english import (
    ACRONYMS,
    BODIES,
    CITIES,
    DAYS,
    MEN,
    MONTHS,
    OPENERS,
    PLACES,
    SHORT_DATES,
    TITLES,
    WOMEN,
)
from .english_words import Word, words_of

_KINDS = {
    **{day.lower(): "day" for day in DAYS},
    **{month.lower(): "month" for month in MONTHS},
    **{place.lower(): "place" for place in PLACES},
    **{each.lower(): "place" for adjectives in PLACES.values() for each in adjectives},
    **{city.lower(): "city" for city in CITIES},
    **{name.lower(): "person" for name in (*WOMEN, *MEN)},
}
_PLACE_OF = {each.lower(): p.lower() for p, adjectives in PLACES.items() for each in adjectives}
_BREAK = re.compile(r"[.!?:;\n\"“”‘•*|]|(?<!\w)'|\d[.)]\s|(?:^|\s)[-–—]\s")
# Of the letters, in names that are written differently; and where they begin alike.
_ALIKE, _ALIKE_BEGUN = 0.66, 0.5


class Name(NamedTuple):
    """A word of a name: as it stands, its kind, its place, and its place among the words.

    Kinds: "day", "month", "place" (a country, and what is of it), "city", "person" (a first name
    that is known), "other".
    """

    text: str
    kind: str
    start: int
    end: int
    word: int


def find_names(text: str, known: Collection[str] = ()) -> list[Name] | None:
    """The words of names in a text: those with a capital within a sentence.

    At its beginning count first names, days, months and places that are known, what is followed by
    another name, and what has a capital elsewhere.

    Args:
        text: any text.
        known: words in small letters that are names in another text.

    Returns:
        None where capitals do not tell: no word, or almost every word, has one.
    """
    words = words_of(text)
    capital = [word.text[0].isupper() for word in words]
    if not any(capital) or (len(words) > 4 and sum(capital) > 0.7 * len(words)):
        return None
    inner = {w.low for i, w in enumerate(words) if capital[i] and not _opens(text, words, i)}
    inner |= {*known}
    found = []
    for i, word in enumerate(words):
        low = _bare(word.low)
        if not capital[i] or low in TITLES | BODIES | OPENERS or len(low) < 2:
            continue
        if word.text.isupper() and len(low) > 1 and low not in ACRONYMS | {*_KINDS}:
            continue
        if _describes(text, words, capital, i) and low not in _KINDS:
            continue
        if _opens(text, words, i) and not (
            low in _KINDS or word.low in inner or low in inner or _goes_on(text, words, capital, i)
        ):
            continue
        length = len(low)
        end = word.start + length
        found.append(Name(text[word.start : end], _kind(low), word.start, end, i))
    return found


def _bare(low: str) -> str:
    return low.split("'")[0] if low.endswith(("'s", "'")) else low


def _kind(low: str) -> str:
    return _KINDS.get(SHORT_DATES.get(low, low), "other")


def _opens(text: str, words: list[Word], i: int) -> bool:
    """Whether a sentence, a quotation or an item begins with the word."""
    return i == 0 or bool(_BREAK.search(text[words[i - 1].end : words[i].start]))


def _goes_on(text: str, words: list[Word], capital: list[bool], i: int) -> bool:
    """Whether the next word has a capital, too, and nothing stands between."""
    if words[i].text.isupper() and len(words[i].text) > 1:
        return True
    return (
        i + 1 < len(words)
        and capital[i + 1]
        and (text[words[i].end : words[i + 1].start] == " " and words[i + 1].low not in OPENERS)
    )


def _describes(text: str, words: list[Word], capital: list[bool], i: int) -> bool:
    """Whether the word is part of the description of a body: "Joint Force Headquarters"."""
    for step in (-1, 1):
        place = i
        while 0 <= place < len(words) and (
            capital[place] or words[place].low in ("of", "and", "for")
        ):
            if words[place].low in BODIES and capital[place]:
                return True
            following = place + step
            if not 0 <= following < len(words):
                break
            first, second = sorted((place, following))
            if not text[words[first].end : words[second].start].isspace():
                break
            place = following
    return False


@cache
def same_name(one: str, other: str) -> bool:
    """Whether two words may stand for one name: "France" and "French", "Kiev" and "Kyiv"."""
    one, other = (_PLACE_OF.get(w, w) for w in (SHORT_DATES.get(n, n) for n in (one, other)))
    one, other = _plain(one), _plain(other)
    if one == other or one.rstrip("s") == other.rstrip("s"):
        return True
    if one in _KINDS and other in _KINDS:
        return False
    shorter = min(len(one), len(other))
    if shorter >= 4 and one[:4] == other[:4]:
        return True
    least = _ALIKE_BEGUN if one[0] == other[0] else _ALIKE
    return shorter > 2 and SequenceMatcher(None, one, other).ratio() >= least


def names_differ(candidate: str, reference: str) -> bool | None:
    """Whether a text has another name where the reference has one.

    It has if both have names of one kind that the other one lacks, and these take each other's
    place among the words of the two texts; of days and months, if each has one.

    Returns:
        None where capitals do not tell names, in either text.
    """
    inner = [_inner(text) for text in (candidate, reference)]
    names = find_names(candidate, inner[1]), find_names(reference, inner[0])
    if names[0] is None or names[1] is None:
        return None
    words = [words_of(text) for text in (candidate, reference)]
    low = [[word.low for word in side] for side in words]
    mine = _lacking(names[0], words[1])
    theirs = _lacking(names[1], words[0])
    if not (mine and theirs):
        return False
    for kind in ("day", "month"):
        ours, others = ([n for n in side if n.kind == kind] for side in (mine, theirs))
        if len(ours) == len(others) == 1:
            return True
    return _take_places(low, mine, theirs)


def _plain(word: str) -> str:
    """Without accents: names lose them in translation."""
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def _inner(text: str) -> set[str]:
    return {_bare(name.text.lower()) for name in find_names(text) or ()}


def _lacking(names: list[Name], words: list[Word]) -> list[Name]:
    """The names that no word of another text may stand for; in small letters only the same."""
    low = {_bare(word.low) for word in words}
    capital = {_bare(word.low) for word in words if word.text[0].isupper()}
    initials = "".join(word.low[0] for word in words)
    return [
        name
        for name in names
        if name.text.lower() not in low
        and not any(same_name(name.text.lower(), other) for other in capital)
        and not (name.text.isupper() and name.text.lower() in initials)
    ]


def _take_places(low: list[list[str]], mine: list[Name], theirs: list[Name]) -> bool:
    """Whether names of one kind stand in stretches that take each other's place."""
    matcher = SequenceMatcher(None, [_bare(w) for w in low[0]], [_bare(w) for w in low[1]], False)
    for operation, a, b, c, d in matcher.get_opcodes():
        if operation != "replace" or max(b - a, d - c) > 3:
            continue
        ours = {n.kind for n in mine if a <= n.word < b}
        others = {n.kind for n in theirs if c <= n.word < d}
        if ours & others - {"other"} or (
            b - a == d - c and (ours and others and {*ours, *others} <= {"other", "person", "city"})
        ):
            return True
    return False
