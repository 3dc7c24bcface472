"""A cache in host memory, within a number of bytes, for what comes back every epoch."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Keeps what comes back, not what came last.

    Validation reads the same references in the same order every epoch, while predictions change.
    The usual rule, to drop what was used least recently, then never hits once the references
    outgrow the budget. Here a new entry is kept while there is room. Afterwards a key must have
    been missed before (so it does come back) to push out an entry that never did, or that was not
    asked for during two rounds over all keys known.

    Attributes:
        budget: bytes that the values may take; 0: nothing is kept.
        used: bytes that they take.
        hits: how often a key was found.
    """

    def __init__(self, budget: int) -> None:
        """Make an empty cache of ``budget`` bytes."""
        self.budget, self.used, self.hits = budget, 0, 0
        # Value, bytes, clock of last use; and the same of entries that were never asked for.
        self._entries: OrderedDict[Hashable, tuple[Value, int, int]] = OrderedDict()
        self._once: OrderedDict[Hashable, tuple[Value, int, int]] = OrderedDict()
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

    def discard(self, key: Hashable) -> None:
        """Forget a key that is known to come back."""
        with self._lock:
            for entries in (self._once, self._entries):
                if key in entries:
                    self.used -= entries.pop(key)[1]
                    self._missed[key] = None

    def discard_all(self, which: Callable[[Any], bool]) -> None:
        """Forget the keys that a function chooses."""
        with self._lock:
            for entries in (self._once, self._entries):
                for key in [key for key in entries if which(key)]:
                    self.used -= entries.pop(key)[1]

    def revise(self, change: Callable[[Hashable, Value], tuple[Value, int] | None]) -> bool:
        """Exchange values for smaller ones, with their bytes, or for None: forgotten.

        Returns:
            False, and nothing is done, if the cache is in use at this moment: the garbage collector
            may call this from within.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            for entries in (self._once, self._entries):
                for key, (value, size, last) in list(entries.items()):
                    new = change(key, value)
                    self.used -= size
                    if new is None:
                        del entries[key]
                    else:
                        entries[key] = (*new, last)
                        self.used += new[1]
            while self.used > self.budget:
                some = self._once or self._entries
                self.used -= some.popitem(last=False)[1][1]
            return True
        finally:
            self._lock.release()

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
