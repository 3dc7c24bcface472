"""Gender in English: words of men and women, whether two texts differ in it, and the other word."""

from __future__ import annotations

from collections import Counter

from .english import FUNCTION, GENDER, WEAK_GENDER
from .english_words import Word, words_of

_MALE = {male: slot for male, _, slot in GENDER}
_FEMALE = {female: slot for _, female, slot in GENDER}
_TO_FEMALE = dict(reversed([(male, female) for male, female, _ in GENDER]))
_TO_MALE = dict(reversed([(female, male) for male, female, _ in GENDER]))
_CAPITAL_ONLY = {"miss", "ms", "mr", "mrs"}


def _plain(word: Word) -> str:
    """A word without the ``'s`` of whatever belongs to it; nothing for the verb "miss"."""
    low = word.low.split("'")[0]
    return "" if low in _CAPITAL_ONLY and not word.text[0].isupper() else low


def gendered(text: str) -> tuple[Counter[str], Counter[str]]:
    """How often a text has a word of men, and one of women, in each slot of `english.GENDER`."""
    low = [word for word in map(_plain, words_of(text)) if word not in WEAK_GENDER]
    male = Counter(_MALE[word] for word in low if word in _MALE)
    return male, Counter(_FEMALE[word] for word in low if word in _FEMALE)


def gender_differs(candidate: str, reference: str) -> bool:
    """Whether a text speaks of a woman where the other one speaks of a man.

    It does if one has words of women only and the other of men only; or if, in one slot such as
    the pronouns, it has more of one and fewer of the other gender.
    """
    male, female = gendered(candidate)
    other_male, other_female = gendered(reference)
    if _only(male, female) and _only(other_female, other_male):
        return True
    if _only(female, male) and _only(other_male, other_female):
        return True
    slots = {*male, *female} & {*other_male, *other_female}
    return any(
        (male[slot] - other_male[slot]) * (female[slot] - other_female[slot]) < 0 for slot in slots
    )


def _only(one: Counter[str], other: Counter[str]) -> bool:
    return bool(one) and not other


def swap_gender(text: str) -> str | None:
    """A text with every word of men for women and the other way round; None where there is none."""
    words = words_of(text)
    parts, place = [], 0
    for i, word in enumerate(words):
        low = _plain(word)
        new = _TO_FEMALE.get(low) or _TO_MALE.get(low)
        if new is None:
            continue
        if low == "her":
            new = "his" if _is_before_noun(text, words, i) else "him"
        elif low == "his" and not _is_before_noun(text, words, i):
            new = "hers"
        parts += [text[place : word.start], _as(word.text, new)]
        place = word.start + len(low)
    return "".join([*parts, text[place:]]) if parts else None


def _is_before_noun(text: str, words: list[Word], place: int) -> bool:
    """Whether what follows "her" or "his" belongs to it: a word of meaning right after it."""
    if place + 1 == len(words):
        return False
    word = words[place + 1]
    return text[words[place].end : word.start].isspace() and word.low not in FUNCTION - {"own"}


def _as(model: str, word: str) -> str:
    """A word with the capitals of another one."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[0].upper() + word[1:] if model[0].isupper() else word
