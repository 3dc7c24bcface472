"""Negation in English: where it stands, what it denies, and whether two texts differ in it."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from .english import AUXILIARIES, DENIAL_WORDS, DENIALS, NEGATIONS, NO_NEGATIONS
from .english_words import Word, is_content, stem, words_of

_NONE = re.compile(rf"\b(?:{NO_NEGATIONS})\b|\bno\.?\s?\d|\bnot\s(?:\w+\s)?un|\bn't\s\w+,", re.I)
_TAG = re.compile(r",\s\w+n['’]t\s\w+\?", re.I)  # isn't it?
_STOP = re.compile(
    r"[.;:!?()—]|\s[-–]\s|,|\b(?:but|because|although|though|while|whereas)\b", re.IGNORECASE
)
# "unbeaten" and "unhappy", but not "under" or "united".
_UN = re.compile(r"un(?!der|til|less|i(?:on|t|que|form|v|f)|cle)[a-z]{4,}")
_ANSWER = re.compile(r"\W*(yes|no)\b\s?[,.!;]", re.I)
# As some data sets have it: "did n't", "didn &apos;t".
_APART = re.compile(r"(?<=\w)(?:n\s?|\sn)(?:['’]|&apos;|&amp;\s?apos\s?;)\s?t\b", re.I)
_YET = re.compile(r"\byet to\b", re.I)
_ALIKE = 0.4  # of the words of meaning of the shorter sentence, before two are compared
_SENTENCE = re.compile(r"[.!?;]\s")


class Negation(NamedTuple):
    """A negation: its place, and the stems of what it denies, the nearest first."""

    start: int
    end: int
    word: str
    denied: tuple[str, ...]


def find_negations(text: str) -> list[Negation]:
    """The negations of a text, without those that deny nothing ("not only", "no doubt")."""
    void = [(m.start(), m.end()) for rule in (_NONE, _TAG) for m in rule.finditer(text)]
    words = words_of(text)
    found = []
    for place, word in enumerate(words):
        if not (word.low in NEGATIONS or word.low.endswith("n't")):
            continue
        if any(start <= word.start < end for start, end in void) or _is_answer(text, word):
            continue
        found.append(Negation(word.start, word.end, word.low, _denied(text, words, place)))
    return found


def _is_answer(text: str, word: Word) -> bool:
    return word.low == "no" and text[word.end : word.end + 1] in (",", ".", "!", "")


def _denied(text: str, words: list[Word], place: int) -> tuple[str, ...]:
    """Stems of the first words of meaning after a negation; where there are none, before it."""
    end = words[place].end
    stop = _STOP.search(text, end)
    last = stop.start() if stop else len(text)
    after = [w.low for w in words[place + 1 :] if w.start < last and _says(w.low)]
    if after:
        return tuple(stem(word) for word in after[:2])
    before = [w.low for w in words[:place] if _says(w.low)]
    return tuple(stem(word) for word in before[-1:])


def _says(word: str) -> bool:
    return is_content(word) and word not in AUXILIARIES and word not in NEGATIONS


def negation_differs(candidate: str, reference: str) -> bool:
    """Whether one of two texts denies what the other says.

    It does if it has more negations, and the other one has the denied word in a sentence without
    any negation or other denial ("fails", "hardly", "unhappy"). Whether an antonym takes the place
    of a negation is not known.
    """
    candidate, reference = (_APART.sub("n't", text) for text in (candidate, reference))
    answers = [_ANSWER.match(text) for text in (candidate, reference)]
    if answers[0] and answers[1] and answers[0][1].lower() != answers[1][1].lower():
        return True
    found = find_negations(candidate), find_negations(reference)
    if len(found[0]) == len(found[1]):
        return False
    more, less = (0, 1) if len(found[0]) > len(found[1]) else (1, 0)
    denying, affirming = (candidate, reference)[more], (candidate, reference)[less]
    stems = Counter(stem(word.low) for word in words_of(denying))
    return any(
        stems[negation.denied[0]] == 1  # else the text may well say it, too
        and not _is_double(negation, found[more])
        and _is_affirmed(negation, _around(denying, negation), affirming, found[less])
        for negation in found[more]
        if negation.denied
    )


def _is_double(negation: Negation, others: list[Negation]) -> bool:
    """Whether another negation takes it back: "nothing that I don't like"."""
    return any(0 < abs(other.start - negation.start) < 20 for other in others)


def _around(text: str, negation: Negation) -> set[str]:
    """Stems of the words of meaning of the sentence that holds a negation."""
    spans = (text[a:b] for a, b in _sentences(text) if a <= negation.start < b)
    return {stem(word.low) for span in spans for word in words_of(span) if _says(word.low)}


def _is_affirmed(negation: Negation, around: set[str], text: str, others: list[Negation]) -> bool:
    """Whether a sentence of a text is like that of a negation, and says what it denies."""
    for start, end in _sentences(text):
        sentence = text[start:end]
        if _YET.search(sentence) or any(start <= other.start < end for other in others):
            continue
        words = [word.low for word in words_of(sentence)]
        stems = {stem(word) for word in words if _says(word)}
        if negation.denied[0] not in stems:
            continue
        if len(stems & around) < _ALIKE * min(len(stems), len(around)):
            continue
        opposite = {f"{p}{d}" for p in ("un", "in", "im", "dis", "non") for d in negation.denied}
        if not (stems & opposite or any(_denies(word) for word in words)):
            return True
    return False


def _denies(word: str) -> bool:
    return (
        word in DENIAL_WORDS
        or word in NEGATIONS
        or word.endswith("n't")
        or word.startswith(DENIALS)
        or bool(_UN.fullmatch(word))
    )


def _sentences(text: str) -> list[tuple[int, int]]:
    ends = [match.end() for match in _SENTENCE.finditer(text)]
    return list(zip([0, *ends], [*ends, len(text)]))
