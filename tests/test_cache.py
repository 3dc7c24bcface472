"""What the cache keeps, and sizes that people write."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable
from typing import Any

import pytest

from bertscore_tm.byte_sizes import parse_bytes
from bertscore_tm.cache import Cache


def read(cache: Cache[str], keys: Iterable[object], size: int = 1) -> list[bool]:
    """What the encoder does: ask for each key, and offer the value where it is not there. True for
    a hit."""
    hits = []
    for key in keys:
        value = cache.get(key)
        hits.append(value is not None)
        assert value in (None, f"value of {key}")
        if value is None:
            cache.put(key, lambda: f"value of {key}", size)  # noqa: B023 - called at once
    return hits


# ---------------------------------------------------------------- policy


def test_all_is_kept_while_there_is_room() -> None:
    cache: Cache[str] = Cache(10)
    assert read(cache, range(10)) == [False] * 10
    assert read(cache, range(10)) == [True] * 10
    assert (cache.hits, cache.used, len(cache)) == (10, 10, 10)


@pytest.mark.parametrize("keys", [11, 20, 100])
def test_a_cycle_larger_than_the_budget_hits_what_fits(keys: int) -> None:
    """Dropping what was used least recently would never hit."""
    cache: Cache[str] = Cache(10)
    read(cache, range(keys))
    for _ in range(6):
        assert sum(read(cache, range(keys))) >= 9


def test_what_returns_pushes_out_what_never_did() -> None:
    """References that came too late for the budget, because the first epoch's predictions had
    filled it."""
    cache: Cache[str] = Cache(10)
    for epoch in range(5):
        predictions = [f"prediction {i} of epoch {epoch}" for i in range(10)]
        hits = read(cache, [*predictions, *range(10)])
        assert not any(hits[:10])
        if epoch >= 2:
            assert all(hits[10:]), epoch
    assert len(cache) == 10


def test_what_returns_does_not_push_out_its_like() -> None:
    """More references than fit, and predictions that took some of the room first: ten of fifteen
    can be kept, and are."""
    cache: Cache[str] = Cache(10)
    hits = [
        sum(read(cache, [*(f"prediction {i} of {epoch}" for i in range(5)), *range(15)]))
        for epoch in range(8)
    ]
    assert hits[:2] == [0, 5]
    assert all(count >= 9 for count in hits[3:]), hits


def test_what_comes_once_pushes_nothing_out() -> None:
    cache: Cache[str] = Cache(10)
    read(cache, range(10))
    read(cache, range(10))
    read(cache, [f"once {i}" for i in range(1_000)])
    assert read(cache, range(10)) == [True] * 10


def test_what_never_hit_stays_until_something_returns() -> None:
    cache: Cache[str] = Cache(3)
    read(cache, ["a", "b", "c"])
    read(cache, ["d"])  # once: no reason to drop anything
    assert read(cache, ["d"]) == [False]  # it came back, but only now it is kept
    assert read(cache, ["d"]) == [True]
    assert sum(read(cache, ["b", "c"])) == 2  # "a", the oldest, had to go
    assert cache.get("a") is None


def test_stale_entries_give_way() -> None:
    """Another data set, after the first was read for epochs."""
    cache: Cache[str] = Cache(10)
    for _ in range(5):
        read(cache, [f"old {i}" for i in range(10)])
    hits = [sum(read(cache, [f"new {i}" for i in range(10)])) for _ in range(12)]
    assert hits[0] == 0
    assert hits[-1] == 10, hits
    assert hits == sorted(hits)


def test_entries_in_use_do_not_give_way() -> None:
    """Two data sets in turn, together larger than the budget: the first one stays."""
    cache: Cache[str] = Cache(10)
    old, new = [f"old {i}" for i in range(10)], [f"new {i}" for i in range(10)]
    read(cache, old)
    for epoch in range(10):
        assert read(cache, old) == [True] * 10, epoch
        read(cache, new)


@pytest.mark.parametrize("seed", range(10))
def test_the_budget_holds(seed: int) -> None:
    draw = random.Random(seed)
    cache: Cache[int] = Cache(50)
    sizes = {key: draw.randrange(1, 30) for key in range(40)}
    hits = 0
    for _ in range(3_000):
        key = int(draw.triangular(0, 40, 0))
        found = cache.get(key)
        hits += found is not None
        assert found in (None, key)
        if found is None:
            cache.put(key, lambda: key, sizes[key])  # noqa: B023
        kept = [k for k in sizes if k in cache._entries or k in cache._once]
        assert cache.used == sum(sizes[k] for k in kept) <= 50
        assert len(cache) == len(kept)
    assert cache.hits == hits > 300


def test_too_large_to_keep() -> None:
    cache: Cache[str] = Cache(10)
    for _ in range(5):
        assert read(cache, ["huge"], size=11) == [False]
    assert len(cache) == 0
    read(cache, ["all"], size=10)
    assert read(cache, ["all"]) == [True]
    nothing: Cache[str] = Cache(0)
    for _ in range(3):
        assert read(nothing, ["a"]) == [False]


def test_room_for_a_large_one_is_made_of_several_small_ones() -> None:
    cache: Cache[str] = Cache(10)
    read(cache, range(10))
    read(cache, ["large"], size=7)
    read(cache, ["large"], size=7)
    assert read(cache, ["large"]) == [True]
    assert cache.used == 10
    assert len(cache) == 4


def test_a_second_offer_changes_nothing() -> None:
    cache: Cache[str] = Cache(10)
    cache.put("a", lambda: "first", 4)
    cache.put("a", lambda: "second", 5)
    assert (cache.used, cache.get("a")) == (4, "first")
    cache.put("a", lambda: "third", 5)
    assert (cache.used, cache.get("a")) == (4, "first")


def test_clear() -> None:
    cache: Cache[str] = Cache(5)
    read(cache, [*range(8), *range(8)])
    cache.clear()
    assert (len(cache), cache.used) == (0, 0)
    assert read(cache, range(5)) == [False] * 5
    assert read(cache, range(5)) == [True] * 5


def test_keys_that_were_missed_are_forgotten_in_time() -> None:
    """Only predictions, for ever: what is remembered of them stays bounded."""
    cache: Cache[str] = Cache(1)
    read(cache, range(120_000))
    assert len(cache._missed) <= 100_004


def test_many_threads() -> None:
    cache: Cache[str] = Cache(50)

    def work(seed: int) -> None:
        draw = random.Random(seed)
        read(cache, [draw.randrange(100) for _ in range(2_000)])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.used == len(cache) == 50


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    "size, wanted",
    [
        (0, 0),
        (1234, 1234),
        ("0", 0),
        ("1234", 1234),
        ("10B", 10),
        ("1kB", 1_000),
        ("1KiB", 1_024),
        ("512MB", 512_000_000),
        ("512mb", 512_000_000),
        ("2 GiB", 2 * 2**30),
        (" 1.5 GB ", 1_500_000_000),
        ("0.5MiB", 2**19),
    ],
)
def test_sizes(size: int | str, wanted: int) -> None:
    assert parse_bytes(size) == wanted


@pytest.mark.parametrize(
    "size", ["", "MB", "-1", "-5MB", "1TB", "1,5GB", "12 34", "1e9", "512 M B", "nan", "inf", -1]
)
def test_sizes_that_cannot_be_read(size: Any) -> None:
    with pytest.raises(
        ValueError, match=r"got .*; wanted a number of bytes or a text such as '512MB'"
    ):
        parse_bytes(size)


@pytest.mark.parametrize("size", [None, 1.5, True, b"1", ["1"]])
def test_what_is_no_size(size: Any) -> None:
    with pytest.raises(
        TypeError, match=r"got .*; wanted a number of bytes or a text such as '512MB'"
    ):
        parse_bytes(size)
