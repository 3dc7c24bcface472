"""Mismatch flags: does a text contradict its reference in a number, a negation, a name, a gender?

They stand beside a score, never inside it. They come from tables and rules, not from a model, and
are made so that a flag is seldom wrong; what is not flagged may still be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from .english_words import is_english
from .errors import InvalidTypeError, InvalidValueError
from .gender import gender_differs
from .languages import language_code
from .negation import negation_differs
from .numerals import Number, find_numbers
from .proper_names import names_differ

KINDS = ("number", "negation", "name", "gender")
Flags: TypeAlias = dict[str, bool | None]


@dataclass(frozen=True)
class Rules:
    """The rules of a language: each says whether a candidate and one reference differ.

    None: it cannot be told from these texts.
    """

    negation: Callable[[str, str], bool | None]
    name: Callable[[str, str], bool | None]
    gender: Callable[[str, str], bool | None]


RULES = {"en": Rules(negation_differs, names_differ, gender_differs)}


def find_mismatches(
    candidate: str, references: str | Iterable[str], lang: str | None = None
) -> Flags:
    """In what a candidate contradicts its references.

    Args:
        candidate: a text.
        references: its reference or references. It contradicts them if it contradicts each.
        lang: a language code. There are rules for English; numbers in digits are read in every
            language. None: English, where a text has an English function word.

    Returns:
        "number", "negation", "name" and "gender": True, False, or None where nothing can be said:
        the language has no rules, capitals do not tell names, or a text says the same over and
        over.

    Raises:
        InvalidTypeError: if something is no text.
        InvalidValueError: if there are no references, or no such language.

    Examples:
        >>> from bertscore_tm import find_mismatches
        >>> find_mismatches("She did not sell 1,200 cars.", "He did not sell twelve hundred cars.")
        {'number': False, 'negation': False, 'name': False, 'gender': True}
    """
    if not isinstance(references, Iterable):
        raise InvalidTypeError(f"got {type(references).__name__} to compare; wanted texts")
    group = [references] if isinstance(references, str) else list(references)
    for text in (candidate, *group):
        if not isinstance(text, str):
            raise InvalidTypeError(f"got {type(text).__name__} to compare; wanted texts")
    if not group:
        raise InvalidValueError("got no references; wanted at least one")
    code = None if lang is None else language_code(lang)
    each = [_flags(candidate, reference, code) for reference in group]
    return {kind: _of_all([flags[kind] for flags in each]) for kind in KINDS}


def _of_all(flags: list[bool | None]) -> bool | None:
    """True if each reference is contradicted; None if that cannot be told of any."""
    known = [flag for flag in flags if flag is not None]
    return all(known) if known else None


def _flags(candidate: str, reference: str, code: str | None) -> Flags:
    if _is_looping(candidate) or _is_looping(reference):
        return dict.fromkeys(KINDS)
    words = code in (None, "en", "en-sci")  # what looks like one is one in most languages
    if code is None and (is_english(candidate) or is_english(reference)):
        code = "en"
    rules = RULES.get("en" if code == "en-sci" else code or "")
    flags: Flags = {"number": numbers_differ(candidate, reference, words)}
    for kind in KINDS[1:]:
        flags[kind] = None if rules is None else getattr(rules, kind)(candidate, reference)
    return flags


def _is_looping(text: str) -> bool:
    """Whether a long text has few different words, as a generator writes that does not stop."""
    words = text.split()
    return len(words) > 200 and len(words) > 8 * len({*words})


def numbers_differ(candidate: str, reference: str, words: bool = True) -> bool:
    """Whether both texts have a number of one kind that the other one lacks.

    Args:
        candidate: a text.
        reference: another one.
        words: whether English number words count.
    """
    mine, theirs = find_numbers(candidate, words), find_numbers(reference, words)
    ours, others = _lacking(mine, theirs), _lacking(theirs, mine)
    return any(_compare(one, other) for one in ours for other in others)


def _compare(one: Number, other: Number) -> bool:
    """Whether two numbers can contradict each other: two inches and five centimetres cannot."""
    units = {one.unit, other.unit} - {""}
    return bool(one.kinds & other.kinds) and len(units) < 2


def _lacking(numbers: list[Number], others: list[Number]) -> list[Number]:
    return [n for n in numbers if not any(n.agrees(other) for other in others)]
