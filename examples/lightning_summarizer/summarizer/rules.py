"""Rules that a setting can be held against, and the words for what they want."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from .errors import SettingError, nearest


class Rule(NamedTuple):
    """What a setting must be.

    Attributes:
        wanted: that in words.
        holds: whether a value is.
        names: the values that there are, if they have names.
    """

    wanted: str
    holds: Callable[[Any], bool]
    names: tuple[str, ...] = ()

    def check(self, key: str, value: Any) -> None:
        """Refuse a value that the rule does not allow.

        Raises:
            SettingError: names key, value, what is wanted, and the nearest name.
        """
        if not self.holds(value):
            hint = nearest(value, self.names) if isinstance(value, str) else ""
            raise SettingError(f"got {key}={shown(value)}; wanted {self.wanted}{hint}")


def shown(value: Any) -> str:
    """A value as it is written on the command line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return f"[{','.join(map(shown, value))}]"
    return str(value) if value != "" else "''"


def is_whole(value: Any, least: int | None = None, most: int | None = None) -> bool:
    """Whether a value is an integer within bounds; true and false are none."""
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and (least is None or value >= least)
        and (most is None or value <= most)
    )


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def one_of(*names: str, why: str = "") -> Rule:
    """One of some names."""
    wanted = " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return Rule(f"{wanted}{why}", lambda value: value in names, names)


def each_of(*names: str) -> Rule:
    """A list of some names, the first of them among them."""
    return Rule(
        f"a list of {', '.join(names)}, and the first of these in it",
        lambda value: isinstance(value, list) and names[0] in value and set(value) <= set(names),
    )


def whole(least: int | None = None, most: int | None = None) -> Rule:
    """An integer within bounds."""
    bounds = "" if least is None else f" from {least}"
    bounds += "" if most is None else f" to {most}"
    return Rule(f"a whole number{bounds}", lambda value: is_whole(value, least, most))


def number(words: str, holds: Callable[[float], bool]) -> Rule:
    """A number of some kind."""
    return Rule(f"a number {words}", lambda value: is_number(value) and holds(value))


def optional(rule: Rule) -> Rule:
    """What a rule allows, or null."""
    return Rule(
        f"{rule.wanted}, or null", lambda value: value is None or rule.holds(value), rule.names
    )


SWITCH = Rule("true or false", lambda value: isinstance(value, bool), ("true", "false"))
TEXT = Rule("a text", lambda value: isinstance(value, str))
NAME = Rule("a name", lambda value: isinstance(value, str) and bool(value.strip()))
NAMES = Rule(
    "a list of names, such as [torch]",
    lambda value: isinstance(value, list) and bool(value) and all(map(NAME.holds, value)),
)
FILE = Rule(
    "a file that exists",
    lambda value: isinstance(value, str) and Path(value).is_file(),
)
