"""Embeddings of texts that were seen before, in host memory, within a number of bytes."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from fractions import Fraction
from numbers import Integral
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def parse_bytes(size: Any) -> int:
    """A number of bytes: an integer, or a text such as "512MB" or "2 GiB".

    Raises:
        TypeError: if it is neither.
        ValueError: if it is negative or cannot be read.
    """
    if isinstance(size, bool) or not isinstance(size, (Integral, str)):
        raise TypeError(f"got embedding_cache={size!r}; wanted a number of bytes or a text such as '512MB' (0: no cache)")
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", str(size).lower())
    if not found or found[2] not in _UNITS:
        raise ValueError(f"got embedding_cache={size!r}; wanted a number of bytes or a text such as '512MB' (0: no cache)")
    return int(Fraction(found[1]) * _UNITS[found[2]])


class Cache(Generic[Value]):
    """Keeps what comes back, not what came last.

    Validation reads the same references in the same order every epoch, while predictions change. The usual rule, to drop
    what was used least recently, then never hits once the references outgrow the budget. Here a new entry is kept while there
    is room. Afterwards a key must have been missed before (so it does come back) to push out an entry that never did, or that
    was not asked for during two rounds over all keys known.
    """

    def __init__(self, budget: int) -> None:
        """Make an empty cache of ``budget`` bytes."""
        self.budget, self.used, self.hits = budget, 0, 0
        self._entries: OrderedDict[Hashable, tuple[Value, int, int]] = OrderedDict()  # value, bytes, clock of last use
        self._once: OrderedDict[Hashable, tuple[Value, int, int]] = OrderedDict()  # the same, of entries never asked for
        self._missed: OrderedDict[Hashable, None] = OrderedDict()
        self._clock = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """The value of a key, or None."""
        with self._lock:
            self._clock += 1
            found = self._once.pop(key, None) or self._entries.get(key)
            if found is None:
                return None
            self.hits += 1
            self._entries[key] = (found[0], found[1], self._clock)
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, make: Callable[[], Value], size: int) -> None:
        """Offer a value of ``size`` bytes; it is made only if it is kept."""
        with self._lock:
            if size > self.budget or key in self._entries or key in self._once:
                return
            returns = key in self._missed
            if self.used + size > self.budget and returns:
                self._make_room(size)
            if self.used + size <= self.budget:
                self._missed.pop(key, None)
                (self._entries if returns else self._once)[key] = (make(), size, self._clock)
                self.used += size
                return
            self._missed[key] = None
            while len(self._missed) > 100_000 + 4 * len(self):
                self._missed.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._once.clear()
            self._missed.clear()
            self.used = 0

    def __len__(self) -> int:
        """Number of entries."""
        return len(self._entries) + len(self._once)

    def _make_room(self, size: int) -> None:
        round_ = len(self) + len(self._missed)
        while self.used + size > self.budget:
            if self._once:
                _, (_, freed, _) = self._once.popitem(last=False)
            else:
                key, (_, freed, last) = next(iter(self._entries.items()))
                if self._clock - last <= 2 * round_:
                    return
                del self._entries[key]
            self.used -= freed
