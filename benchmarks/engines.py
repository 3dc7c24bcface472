"""bfloat16 and `torch.compile`: what they gain, and what the error is."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import torch
from contestants import alternate, bert_score_package, matmul_rate, ours, ratio
from machine import has_bfloat16
from rows import NotRun, Numbers, Row, Setting, at_least, at_most, row

ROWS: dict[str, Row] = {}


@row(
    ROWS,
    "error of bfloat16",
    "of the mean {mean_error:.1e}, worst {worst_error:.1e}",
    at_most("mean_error", 5e-4, "of the mean"),
    at_most("worst_error", 5e-3, "of a sample"),
)
def bfloat16_error(s: Setting) -> Numbers:
    """F1 in bfloat16 against float32; few pairs, where the CPU has no units it takes long."""
    some = s.some(100 if has_bfloat16() else 40)
    exact, rough = (ours(*some, dtype=dtype)()["f1"] for dtype in ("float32", "bfloat16"))
    return {
        "mean_error": abs(float(exact.mean() - rough.mean())),
        "worst_error": float((exact - rough).abs().max()),
    }


@row(
    ROWS,
    "first pass, bfloat16",
    "{times_bert_score:.2f} times as fast as bert-score, {times_float32:.2f} times as float32 "
    "(plain matrix products {matmul_gflop_s:.0f} GFLOP/s)",
    at_least("times_bert_score", 2.7, "x bert-score"),
)
def bfloat16(s: Setting) -> Numbers:
    """Its speed, where the CPU has units for it."""
    _want_units()
    runs = {
        "float32": ours(*s.given),
        "bfloat16": ours(*s.given, dtype="bfloat16"),
        "bert_score": bert_score_package(*s.given),
    }
    seconds = alternate(runs, s)
    return {
        "seconds": seconds,
        "times_bert_score": ratio(seconds, "bert_score", "bfloat16"),
        "times_float32": ratio(seconds, "float32", "bfloat16"),
        "matmul_gflop_s": matmul_rate(s.model, torch.bfloat16) / 1e9,
    }


def _compiled(s: Setting, **options: Any) -> Numbers:
    """A compiled run against a plain one in float32 and bert-score, and its start-up."""
    runs = {"plain": ours(*s.given), "bert_score": bert_score_package(*s.given)}
    start = time.perf_counter()
    runs["compiled"] = ours(*s.given, compile=True, **options)
    runs["compiled"]()
    first = time.perf_counter() - start
    seconds = alternate(runs, s)
    return {
        "seconds": seconds,
        "times_plain": ratio(seconds, "plain", "compiled"),
        "times_bert_score": ratio(seconds, "bert_score", "compiled"),
        "start_up_s": first - median(seconds["compiled"]),
    }


_SAYS = (
    "{times_bert_score:.2f} times as fast as bert-score, {times_plain:.2f} times as plain "
    "float32; start-up {start_up_s:.0f} s"
)


@row(
    ROWS,
    "`compile=True`, after its start-up",
    _SAYS,
    at_least("times_bert_score", 1.75, "x bert-score"),
)
def compiled(s: Setting) -> Numbers:
    """float32, frozen."""
    return _compiled(s)


@row(
    ROWS,
    "`compile=True` in bfloat16, after its start-up",
    _SAYS,
    at_least("times_plain", 3.5, "x plain float32"),
    at_least("times_bert_score", 3.3, "x bert-score"),
)
def compiled_bfloat16(s: Setting) -> Numbers:
    """bfloat16, frozen, where the CPU has units for it."""
    _want_units()
    return _compiled(s, dtype="bfloat16")


def _want_units() -> None:
    if not has_bfloat16():
        raise NotRun("this CPU has no units for bfloat16 (AMX, AVX512-BF16)")
