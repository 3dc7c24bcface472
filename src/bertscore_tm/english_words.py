"""English words of a text, and what they come from."""

from __future__ import annotations

import re
from typing import NamedTuple

from .english import FOREIGN, FUNCTION, IRREGULAR, TELLING

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ENDINGS = ("ingly", "edly", "ies", "ied", "ing", "ed", "ly", "es", "s", "d", "e", "y")


class Word(NamedTuple):
    """A word as it stands, in small letters with a plain apostrophe, and its place."""

    text: str
    low: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """The words of a text; a word with an apostrophe is one, one with a hyphen is two."""
    return [
        Word(m.group(), m.group().lower().replace("’", "'"), m.start(), m.end())
        for m in _WORD.finditer(text)
    ]


def is_english(text: str) -> bool:
    """Whether a text has function words of English, and fewer of other languages."""
    low = [word.low for word in words_of(text)]
    telling = sum(word in TELLING or word.endswith("n't") for word in low)
    foreign = sum(word in FOREIGN for word in low)
    return telling > foreign or (not foreign and any(word in FUNCTION for word in low))


def stem(word: str) -> str:
    """What the forms of a word share: "went" and "going" give "go", "tried" and "try" "tr"."""
    word = IRREGULAR.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2 + (len(ending) < 2):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def is_content(word: str) -> bool:
    """Whether a word in small letters says something by itself."""
    return len(word) > 1 and word.split("'")[0] not in FUNCTION
