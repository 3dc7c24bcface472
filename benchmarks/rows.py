"""What a row of the benchmark is: a measurement, in words, with the numbers it is to reach."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from texts import Pairs

Numbers = dict[str, Any]


class NotRun(Exception):
    """Why a row cannot be measured here."""


@dataclass(frozen=True)
class Target:
    """A number to reach.

    Attributes:
        key: which of the row's numbers.
        bound: at least or at most this much.
        at_least: which of both.
        of: what it is compared with, in words.
    """

    key: str
    bound: float
    at_least: bool
    of: str

    def met(self, numbers: Numbers) -> bool:
        value = numbers[self.key]
        return bool(value >= self.bound if self.at_least else value <= self.bound)

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g} {self.of}"


@dataclass(frozen=True)
class Setting:
    """What is measured on.

    Attributes:
        pairs: candidates and references.
        model: encoder.
        layer: hidden state.
        rounds: times that everything is repeated, where there is time.
        seconds: how long the rounds of a row may take; the first is always finished.
    """

    pairs: Pairs
    model: str
    layer: int
    rounds: int
    seconds: float

    def some(self, pairs: int) -> tuple[list[str], list[str], str, int]:
        """The first pairs, the encoder, the layer."""
        return self.pairs[0][:pairs], self.pairs[1][:pairs], self.model, self.layer

    @property
    def given(self) -> tuple[list[str], list[str], str, int]:
        return self.some(len(self.pairs[0]))

    def turns(self) -> Iterator[int]:
        """The rounds, from 0: the first, and others as long as one more like those done fits."""
        begun = time.perf_counter()
        for done in range(self.rounds):
            spent = time.perf_counter() - begun
            if done and spent * (done + 1) / done > self.seconds:
                return
            yield done


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes:
        name: of the measurement, as `--only` takes it.
        what: it measures, in words.
        says: the numbers in words, a format of them.
        targets: what is to be reached.
        measure: does it.
    """

    name: str
    what: str
    says: str
    targets: tuple[Target, ...]
    measure: Callable[[Setting], Numbers]


def at_least(key: str, bound: float, of: str = "") -> Target:
    return Target(key, bound, True, of)


def at_most(key: str, bound: float, of: str = "") -> Target:
    return Target(key, bound, False, of)


def row(
    rows: dict[str, Row], what: str, says: str, *targets: Target
) -> Callable[[Callable[[Setting], Numbers]], Callable[[Setting], Numbers]]:
    """Put a measurement into the table under the name of its function."""

    def put(measure: Callable[[Setting], Numbers]) -> Callable[[Setting], Numbers]:
        rows[measure.__name__] = Row(measure.__name__, what, says, targets, measure)
        return measure

    return put
