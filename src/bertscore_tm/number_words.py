"""English number words: from "zero" to "nine hundred ninety-nine trillion", ordinals and years."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SMALL = {word: i for i, word in enumerate(_ONES)} | {w: 20 + 10 * i for i, w in enumerate(_TENS)}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALES["milliard"] = 10**9
ORDINALS = {
    **{"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12},
    **{f"{w}th": i for i, w in enumerate(_ONES) if i in (4, 6, 7, 10, 11) or i > 12},
    **{f"{w[:-1]}ieth": 20 + 10 * i for i, w in enumerate(_TENS)},
}
_WORD = re.compile(r"[A-Za-z]+")
# A number after these is no exact number.
_VAGUE = {"few", "several", "many", "couple", "some"}
# "one" after or before these counts nothing.
_ONE_AFTER = set(
    "no any every some each this that the which another only not or a an last next good bad "
    "big little new old right wrong first her his my your their our such loved".split()
)
_ONE_BEFORE = set(
    "of another day should can could must may might has is was would will who by thing time way "
    "and or in on at to that s more reason side such just never hand could does cannot".split()
)
# "second" and "third" after these are a moment and a part.
_NO_ORDINAL_AFTER = set("a an one two three split per every each at".split())


class Word(NamedTuple):
    """A number in words: what it is, its kind ("plain", "ordinal", "year"), and its place."""

    value: Decimal
    kind: str
    start: int
    end: int


class _Token(NamedTuple):
    word: str
    start: int
    end: int
    joined: bool  # whether nothing but a space or a hyphen stands between it and the one before


def is_vague(text: str, start: int) -> bool:
    """Whether a number that begins there is no exact one: "several 100"."""
    before = _WORD.findall(text[max(0, start - 12) : start].lower())
    return bool(before) and before[-1] in {"few", "several"} and text[start - 1 : start] == " "


def word_numbers(text: str) -> Iterator[Word]:
    """The numbers in English words, in order."""
    tokens = []
    end = 0
    for match in _WORD.finditer(text):
        joined = bool(re.fullmatch(r"\s+|-|\s?[-‐‑]\s?", text[end : match.start()]))
        tokens.append(_Token(match.group().lower(), match.start(), match.end(), joined))
        end = match.end()
    place = 0
    while place < len(tokens):
        found, after = _read(tokens, place)
        if found is not None and _counts(tokens, place, after, found):
            yield found
        place = max(after, place + 1)


def _word(tokens: list[_Token], place: int, joined: bool = True) -> str:
    """The word at a place, empty where there is none or it stands apart."""
    if not 0 <= place < len(tokens) or (joined and not tokens[place].joined):
        return ""
    return tokens[place].word


def _read(tokens: list[_Token], place: int) -> tuple[Word | None, int]:
    """The number that begins at a place, and the place after it."""
    start = place
    total, current, kind, seen = Decimal(0), Decimal(0), "plain", False
    ceiling, room = 10**15, 100  # the next scale, and the next small number, must be below
    while place < len(tokens) and (place == start or tokens[place].joined):
        word = tokens[place].word
        follower = _word(tokens, place + 1)
        if word in SMALL and SMALL[word] < room and (SMALL[word] or not seen):
            current += SMALL[word]
            room = 10 if SMALL[word] >= 20 else 1
        elif word in ORDINALS and ORDINALS[word] < room:
            current, kind = current + ORDINALS[word], "ordinal"
            seen, place = True, place + 1
            break
        elif word in SMALL and SMALL[word] >= 10 and 10 <= current < 100 and not total and seen:
            rest, after = _read(tokens, place)  # nineteen ninety-nine
            if rest is not None and rest.value < 100 and kind == "plain":
                current, kind, place = current * 100 + rest.value, "year", after
            break
        elif word == "hundred" and current < 100 and room != 100:
            current, room = current * 100, 100
        elif word in _SCALES and _SCALES[word] < ceiling and seen:
            total, ceiling = total + current * _SCALES[word], _SCALES[word]
            current, room = Decimal(0), 100
        elif word == "hundred" and not seen:
            current, room = Decimal(100), 100
        elif word in _SCALES and not seen:
            total, ceiling = Decimal(_SCALES[word]), _SCALES[word]
        elif word == "dozen" and (current or not seen):
            current, seen, place = max(current, Decimal(1)) * 12, True, place + 1
            break
        elif word == "and" and seen and follower == "a" and _word(tokens, place + 2) == "half":
            current, place = current + Decimal("0.5"), place + 2  # two and a half
        elif word == "and" and seen and room == 100 and follower in SMALL:
            pass  # a hundred and five
        elif word == "half" and follower == "a" and _word(tokens, place + 2) in _SCALES:
            current, place = Decimal("0.5"), place + 1
        else:
            break
        seen, place = True, place + 1
    if not seen:
        return None, start + 1
    return Word(total + current, kind, tokens[start].start, tokens[place - 1].end), place


def _counts(tokens: list[_Token], first: int, after: int, found: Word) -> bool:
    """Whether it says how many or which, and is no figure of speech."""
    word, before, behind = tokens[first].word, _word(tokens, first - 1, False), _word(tokens, after)
    if not tokens[first].joined:
        before = ""
    if before == "of" and _word(tokens, first - 2, False) in _VAGUE:
        return False
    if before in _VAGUE or behind in ("thirds", "quarters", "fifths", "half", "third", "quarter"):
        return False
    if after - first > 1:
        return True
    if word == "one":
        return before not in _ONE_AFTER and behind != "" and behind not in _ONE_BEFORE
    if found.kind == "ordinal":
        if word == "first":
            return before in ("the", "his", "her", "its", "their", "my", "our") and behind not in (
                "of",
                "time",
            )
        return before not in _NO_ORDINAL_AFTER and not (before.isdigit() or behind == "of")
    return True
