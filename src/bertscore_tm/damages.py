"""Damages: from a text to one that says something else, or says it badly.

Each is a function of a text and a source of chance; it returns None where it does not apply. What
knows English says so in `ENGLISH`; the others take any language whose words stand apart, and
numbers in the digits of any script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from random import Random
from typing import TypeAlias

from .english import CITIES, DAYS, MEN, MONTHS, PLACES, SURNAMES, WOMEN
from .english_words import words_of
from .gender import swap_gender
from .mismatches import numbers_differ
from .negation import find_negations
from .number_words import SMALL
from .numerals import Number, find_numbers
from .proper_names import Name, find_names

Damage: TypeAlias = Callable[[str, Random], str | None]

_END = re.compile(r"(?<=[.!?؟۔।])\s+|(?<=[。！？])")  # of a sentence
_TRIM = re.compile(r"^(\W*)(.*?)(\W*)$", re.S)
_AFFIRMED = {
    **{"nobody": "somebody", "nothing": "something", "none": "some", "without": "with"},
    **{"nowhere": "somewhere", "cannot": "can", "can't": "can", "won't": "will", "shan't": "shall"},
}
_AUXILIARY = re.compile(
    r"(?<=\w\s)(is|are|was|were|will|would|can|could|should|must|may|might|does|did)"
    r"(?=\s+(?!not\b|n't|never\b|no\b)[a-z])"
)
_POOLS = {"day": DAYS, "month": MONTHS, "city": CITIES}


def swap_words(text: str, chance: Random) -> str | None:
    """Two words take each other's place; what stands around them stays. At least four words."""
    parts = re.split(r"(\s+)", text)
    places = [i for i, part in enumerate(parts) if any(c.isalnum() for c in part)]
    if len(places) < 4:
        return None
    pairs = [(i, j) for i in places for j in places if i < j]
    chance.shuffle(pairs)
    for i, j in pairs:
        (a, one, b), (c, two, d) = (_trimmed(parts[k]) for k in (i, j))
        if one.lower() != two.lower():
            parts[i], parts[j] = a + two + b, c + one + d
            return "".join(parts)
    return None


def _trimmed(part: str) -> tuple[str, str, str]:
    """What stands before a word, the word, and what stands after it."""
    match = _TRIM.match(part)
    assert match is not None
    return match[1], match[2], match[3]


def change_negation(text: str, chance: Random) -> str | None:
    """Drop a negation or, where there is none, add "not" to an auxiliary verb. English."""
    found = [n for n in find_negations(text) if n.word not in ("neither", "nor")]
    if found:
        negation = chance.choice(found)
        word = negation.word
        new = _AFFIRMED.get(word, word.removesuffix("n't") if word.endswith("n't") else "")
        after = text[negation.end :]
        if not new:
            after = after.removeprefix(" ")
        elif text[negation.start].isupper():
            new = new.capitalize()
        rest = text[: negation.start] + new + after
        return _capital(rest) if negation.start == 0 else rest
    places = list(_AUXILIARY.finditer(text))
    if not places:
        return None
    place = chance.choice(places)
    new = "cannot" if place[1] == "can" else f"{place[1]} not"
    return text[: place.start()] + new + text[place.end() :]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def change_number(text: str, chance: Random) -> str | None:
    """Another number in place of one of a text, in digits of the same script or in words."""
    numbers = find_numbers(text)
    chance.shuffle(numbers)
    for number in numbers:
        part = text[number.start : number.end]
        new = _other_digits(part, number, chance) if number.digits else _other_word(part, chance)
        damaged = text[: number.start] + new + text[number.end :]
        if new != part and numbers_differ(damaged, text):
            return damaged
    return None


def _other_digits(part: str, number: Number, chance: Random) -> str:
    """Another first digit; of a year the third, so that it stays one."""
    places = [i for i, c in enumerate(part) if c.isdecimal()]
    place = places[2] if "year" in number.kinds and len(places) == 4 else places[0]
    if "time" in number.kinds:
        place = places[-1]
    old = unicodedata.decimal(part[place])
    new = chance.choice([digit for digit in range(1, 10) if digit != old])
    return part[:place] + chr(ord(part[place]) - old + new) + part[place + 1 :]


def _other_word(part: str, chance: Random) -> str:
    """Another small number in place of the last one among number words."""
    for word in reversed(words_of(part)):
        if word.low in SMALL and SMALL[word.low] > 1:
            pool = [w for w, n in SMALL.items() if _size(n) == _size(SMALL[word.low]) and n > 1]
            new = chance.choice([each for each in pool if each != word.low])
            new = new.capitalize() if word.text[0].isupper() else new
            return part[: word.start] + new + part[word.end :]
    return part


def _size(number: int) -> int:
    return (number > 9) + (number > 19)


def change_name(text: str, chance: Random) -> str | None:
    """Another name of the same kind in place of one of a text, wherever it stands. English."""
    names = find_names(text)
    return (
        replace_words(text, {name.text: _other_name(name, chance)})
        if (names and (name := chance.choice(names)))
        else None
    )


def name_swap(texts: tuple[str, str], chance: Random) -> dict[str, str]:
    """A name that two texts share, and the one to take its place; nothing if there is none."""
    found = [find_names(text) or [] for text in texts]
    second = {name.text for name in found[1]}
    shared = [name for name in found[0] if name.text in second]
    return (
        {name.text: _other_name(name, chance)} if shared and (name := chance.choice(shared)) else {}
    )


def replace_words(text: str, new: Mapping[str, str]) -> str:
    """Other words in place of some, wherever they stand."""
    rule = r"(?<!\w)(?:" + "|".join(map(re.escape, new)) + r")(?!\w)"
    return re.sub(rule, lambda match: new[match.group()], text)


def _other_name(name: Name, chance: Random) -> str:
    pool = _POOLS.get(name.kind) or _pool(name)
    return chance.choice([each for each in pool if each.lower() != name.text.lower()])


def _pool(name: Name) -> tuple[str, ...]:
    if name.kind == "person":
        return WOMEN if name.text.capitalize() in WOMEN else MEN
    if name.kind != "place":
        return SURNAMES
    if name.text in PLACES:
        return tuple(PLACES)
    return tuple(min(adjectives) for p, adjectives in PLACES.items() if name.text not in adjectives)


def change_gender(text: str, chance: Random) -> str | None:
    """Words of women for those of men, and the other way round. English."""
    return swap_gender(text)


def truncate(text: str, chance: Random) -> str | None:
    """The first half of the words; of the letters, where no white space tells words."""
    words = list(re.finditer(r"\S+", text))
    if len(words) >= 4:
        return text[: words[(len(words) + 1) // 2 - 1].end()]
    plain = text.strip()
    return plain[: len(plain) // 2] if len(words) < 3 and len(plain) >= 16 else None


def repeat_phrase(text: str, chance: Random) -> str | None:
    """Three words come two times more, as models do that got stuck. At least four words."""
    words = list(re.finditer(r"\S+", text))
    if len(words) < 4:
        return None
    first = chance.randrange(len(words) - 2)
    phrase = text[words[first].start() : words[first + 2].end()]
    end = words[first + 2].end()
    return f"{text[:end]} {phrase} {phrase}{text[end:]}"


def shuffle_sentences(text: str, chance: Random) -> str | None:
    """The sentences in another order; at least two different ones."""
    sentences = [part for part in _END.split(text.strip()) if part]
    if len(set(sentences)) < 2:
        return None
    order = sentences[:]
    while order == sentences:
        chance.shuffle(order)
    return ("" if _END.search(text.strip()) and not re.search(r"\s", text) else " ").join(order)


DAMAGES: dict[str, Damage] = {
    "swapped words": swap_words,
    "negation": change_negation,
    "number": change_number,
    "name": change_name,
    "gender": change_gender,
    "truncated half": truncate,
    "repeated phrase": repeat_phrase,
    "shuffled sentences": shuffle_sentences,
}
ENGLISH = frozenset(["negation", "name", "gender"])


def damage(text: str, kind: str, seed: object = 0, english: bool = True) -> str | None:
    """A text with a damage, or None where it does not apply.

    Args:
        text: any text.
        kind: its name in `DAMAGES`.
        seed: of chance; one seed, text and kind give one result.
        english: whether the text is English; if not, what knows English does not apply.
    """
    if kind in ENGLISH and not english:
        return None
    damaged = DAMAGES[kind](text, Random(f"{seed}|{kind}"))
    return None if damaged is None or damaged.strip() in ("", text.strip()) else damaged
