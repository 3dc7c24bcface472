"""Checks of single values, and how a message calls what it is about.

In Python a setting is called ``dtype='float16'``, on the command line ``--dtype float16``: within
`spelled_as_flags` messages say the latter, because each setting knows its flag.
"""

from __future__ import annotations

import argparse
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from numbers import Real
from typing import Any

from .byte_sizes import parse_bytes
from .errors import InvalidTypeError, InvalidValueError
from .languages import language_code

Check = Callable[[str, Any], None]

# The flag of each setting that has one; `settings` fills it in.
FLAGS: dict[str, str] = {}
_as_flags: ContextVar[bool] = ContextVar("_as_flags", default=False)
_NO_VALUE = object()


@contextmanager
def spelled_as_flags() -> Iterator[None]:
    """Within it, messages name settings as the command line does."""
    token = _as_flags.set(True)
    try:
        yield
    finally:
        _as_flags.reset(token)


def spelled_open(name: str) -> str:
    """A setting with the place for a value: ``dtype=`` or ``--dtype ``."""
    flag = FLAGS.get(name) if _as_flags.get() else None
    return f"{name}=" if flag is None else f"{flag} "


def spelled(name: str, value: Any = _NO_VALUE) -> str:
    """A setting as the reader of a message would write it.

    ``dtype='float16'`` or, within `spelled_as_flags`, ``--dtype float16``; without a value
    ``dtype`` or ``--dtype``.
    """
    flag = FLAGS.get(name) if _as_flags.get() else None
    if flag is None:
        return name if value is _NO_VALUE else f"{name}={value!r}"
    return flag if value is _NO_VALUE or isinstance(value, bool) else f"{flag} {value}"


def any_value(name: str, value: Any) -> None:
    """Nothing is checked yet: it is where the value becomes an object."""


def true_or_false(name: str, value: Any) -> None:
    """A bool, and nothing that merely counts as one."""
    if not isinstance(value, bool):
        raise InvalidTypeError(f"got {spelled(name, value)}; wanted True or False")


def as_index(value: Any) -> int | None:
    """A whole number as a plain one; None if it is none, or a bool."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:  # arrays of several numbers offer __index__, too
        return None


def one_of(*choices: str | None) -> Check:
    """One of some texts, or None where that is among them."""

    def check(name: str, value: Any) -> None:
        # An array compared with a text gives an array.
        if value not in choices if isinstance(value, str | None) else True:
            said = [repr(choice) if choice else "None" for choice in choices]
            wanted = f"{', '.join(said[:-1])} or {said[-1]}{_near(value, choices)}"
            raise InvalidValueError(f"got {spelled(name, value)}; wanted {wanted}")

    return check


def whole_number(least: int, what: str) -> Check:
    """None, or an integer that is not too small."""

    def check(name: str, value: Any) -> None:
        if value is None:
            return
        number = as_index(value)
        if number is None:
            raise InvalidTypeError(f"got {spelled(name, value)}; wanted {what} or None")
        if number < least:
            raise InvalidValueError(f"got {spelled(name, value)}; wanted {what}, or None")

    return check


def finite_number(positive: bool = False) -> Check:
    """A number that fits into an answer, which is float32."""

    def check(name: str, value: Any) -> None:
        largest = 3.4028234e38  # of float32
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not (is_number and -largest <= value <= largest and (value > 0 or not positive)):
            wanted = "a finite number" + (" above 0" if positive else "")
            raise InvalidValueError(f"got {spelled(name, value)}; wanted {wanted}")

    return check


def byte_size(name: str, value: Any) -> None:
    """A number of bytes, or a text such as "512MB"."""
    parse_bytes(value, spelled(name, value))


def language(name: str, value: Any) -> None:
    """None, or a language code."""
    if value is not None:
        language_code(value, spelled_open(name))


def text(name: str, value: Any) -> None:
    """None, or a text that is not empty."""
    if value is not None and not (isinstance(value, str) and value.strip()):
        kind = InvalidValueError if isinstance(value, str) else InvalidTypeError
        raise kind(f"got {spelled(name, value)}; wanted a text or None")


def parse_layers(text: str) -> int | list[int] | str:
    """Layers as the command line takes them: ``5``, ``3,6``, ``all``, or a file of ``tune``."""
    if text == "all" or text.endswith(".json"):
        return text
    try:
        layers = [int(part) for part in text.split(",")]
    except ValueError:
        wanted = "wanted a layer, several with commas between, or all"
        raise argparse.ArgumentTypeError(f"got {text!r}; {wanted}") from None
    return layers if len(layers) > 1 else layers[0]


def _near(value: Any, choices: Sequence[str | None]) -> str:
    known = [choice for choice in choices if choice is not None]
    near = get_close_matches(value, known, 1) if isinstance(value, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""
