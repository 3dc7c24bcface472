"""How fast: against the two other packages, and against itself with one thing changed."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from contestants import (
    alternate,
    bert_score_package,
    flops,
    matmul_rate,
    ours,
    ratio,
    torchmetrics_package,
)
from rows import Numbers, Row, Setting, at_least, at_most, row
from texts import changed

from bertscore_tm import BERTScore, bert_score, bert_score_collection

ROWS: dict[str, Row] = {}


@row(
    ROWS,
    "first pass, float32",
    "{times_bert_score:.2f} times as fast as bert-score, {times_torchmetrics:.2f} times as "
    "torchmetrics; {times_floor:.2f} times what {gflop:.0f} GFLOP take at the "
    "{matmul_gflop_s:.0f} GFLOP/s of plain matrix products; worst difference to bert-score "
    "{worst_difference:.1e}; mean F1 {mean_f1:.4f} (bert-score {mean_f1_bert_score:.4f}, "
    "torchmetrics {mean_f1_torchmetrics:.4f})",
    at_least("times_bert_score", 1.5, "x bert-score"),
    at_most("times_floor", 1.15, "x operations / matmul rate"),
    at_most("worst_difference", 1e-5, "from bert-score"),
)
def first_pass(s: Setting) -> Numbers:
    """float32 against the two other packages and against the machine's own matrix products."""
    contest = {
        "ours": ours(*s.given),
        "bert_score": bert_score_package(*s.given),
        "torchmetrics": torchmetrics_package(*s.given),
    }
    rates: list[float] = []
    floor = flops([*s.pairs[0], *s.pairs[1]], s.model, s.layer)
    results: dict[str, Any] = {}
    seconds = alternate(
        {**contest, "matmul": lambda: rates.append(matmul_rate(s.model))}, s, results
    )
    got, wanted, theirs = (results[name] for name in contest)
    return {
        "seconds": seconds,
        "times_bert_score": ratio(seconds, "bert_score", "ours"),
        "times_torchmetrics": ratio(seconds, "torchmetrics", "ours"),
        "gflop": floor / 1e9,
        "matmul_gflop_s": median(rates) / 1e9,
        "times_floor": median(t * rate / floor for t, rate in zip(seconds["ours"], rates)),
        "mean_f1": float(got["f1"].mean()),
        "mean_f1_bert_score": float(wanted["f1"].mean()),
        "mean_f1_torchmetrics": float(theirs["f1"].mean()),
        "worst_difference": max(float((got[name] - wanted[name]).abs().max()) for name in wanted),
    }


@row(
    ROWS,
    "later epochs, same references",
    "{times_first:.2f} times as fast as the first",
    at_least("times_first", 1.9, "x the first"),
)
def later_epochs(s: Setting) -> Numbers:
    """New predictions, the same references: these come from the cache."""
    preds, refs = s.pairs
    seconds: dict[str, list[float]] = {"first": [], "later": []}
    for turn in s.turns():
        metric = None  # with the last metric its vectors go; the weights stay
        gc.collect()
        metric = BERTScore(s.model, s.layer)
        for epoch, name in enumerate(seconds):
            texts = [changed(text, 1_000 * turn + epoch) for text in preds]
            metric.reset()
            start = time.perf_counter()
            metric.update(texts, refs)
            metric.compute()
            seconds[name].append(time.perf_counter() - start)
    return {"seconds": seconds, "times_first": ratio(seconds, "first", "later")}


@row(
    ROWS,
    "all layers",
    "{all_by_top:.2f} times the time of the top layer",
    at_most("all_by_top", 1.15, "x the top layer alone"),
)
def layers(s: Setting) -> Numbers:
    """All hidden states in one pass against the top one."""
    top = BERTScore(s.model).depth
    runs = {"all": ours(*s.pairs, s.model, "all"), "top": ours(*s.pairs, s.model, top)}
    seconds = alternate(runs, s)
    return {"seconds": seconds, "all_by_top": ratio(seconds, "all", "top")}


def _in_batches(s: Setting, metric: Any) -> Callable[[], None]:
    """Updates of 64 rows, as a trainer makes them, and a compute."""

    def once() -> None:
        metric.reset()
        for i in range(0, len(s.pairs[0]), 64):
            metric.update(s.pairs[0][i : i + 64], s.pairs[1][i : i + 64])
        metric.compute()

    once()  # the first update finds the compute group
    return once


@row(
    ROWS,
    "P, R, F1 as three metrics",
    "{three_by_one:.2f} times the time of one",
    at_most("three_by_one", 1.03, "x one"),
)
def three_scores(s: Setting) -> Numbers:
    """Precision, recall and F1 as a collection of three metrics against one."""
    one = BERTScore(s.model, s.layer, embedding_cache=0)
    three = bert_score_collection(s.model, s.layer, embedding_cache=0)
    seconds = alternate({"three": _in_batches(s, three), "one": _in_batches(s, one)}, s)
    return {"seconds": seconds, "three_by_one": ratio(seconds, "three", "one")}


@row(
    ROWS,
    "idf=True",
    "{idf_by_plain:.2f} times the time without",
    at_most("idf_by_plain", 1.05, "x without"),
)
def idf(s: Setting) -> Numbers:
    """Weights from the epoch's references against none."""
    seconds = alternate({"idf": ours(*s.given, idf=True), "plain": ours(*s.given)}, s)
    return {"seconds": seconds, "idf_by_plain": ratio(seconds, "idf", "plain")}


@row(
    ROWS,
    "updates of 8 rows",
    "{eight_by_whole:.2f} times the time of one update; {times_bert_score:.2f} times as fast as "
    "bert-score so",
)
def small_updates(s: Setting) -> Numbers:
    """Updates of 8 rows against one update, and against bert-score called so."""
    some = s.some(100)
    runs = {
        "eight": ours(*some, rows=8),
        "whole": ours(*some),
        "bert_score_eight": bert_score_package(*some, rows=8),
    }
    seconds = alternate(runs, s)
    return {
        "seconds": seconds,
        "eight_by_whole": ratio(seconds, "eight", "whole"),
        "times_bert_score": ratio(seconds, "bert_score_eight", "eight"),
    }


@row(
    ROWS,
    "`bert_score`, a call a row",
    "{function_by_metric:.2f} times the time of a metric that is kept",
    at_most("function_by_metric", 1.3, "x a metric that is kept"),
)
def call_a_row(s: Setting) -> Numbers:
    """The function in a loop against updates of one row."""
    preds, refs, model, layer = s.some(50)
    kept = BERTScore(model, layer, embedding_cache=0)

    def function() -> None:
        for pred, ref in zip(preds, refs):
            bert_score([pred], [ref], model, layer, embedding_cache=0)

    def metric() -> None:
        for pred, ref in zip(preds, refs):
            kept.reset()
            kept.update([pred], [ref])
            kept.compute()

    seconds = alternate({"function": function, "metric": metric}, s)
    return {"seconds": seconds, "function_by_metric": ratio(seconds, "function", "metric")}


@row(
    ROWS,
    "three metrics of three layers",
    "{passes:.2f} passes a text",
    at_most("passes", 1.05, "passes a text"),
)
def three_layers(s: Setting) -> Numbers:
    """How often a text goes through the encoder for metrics of three layers, with the cache."""
    top = BERTScore(s.model).depth
    metrics = [BERTScore(s.model, layer) for layer in sorted({top, top - 1, top // 2})]
    preds, refs, *_ = s.some(100)
    counts = [_encoded(metrics[0])]
    for metric in metrics:
        metric.update(preds, refs)
    counts.append(_encoded(metrics[0]))
    BERTScore(s.model, top, embedding_cache=0).update(preds, refs)
    counts.append(_encoded(metrics[0]))
    return {"passes": (counts[1] - counts[0]) / (counts[2] - counts[1])}


def _encoded(metric: BERTScore) -> int:
    """Tokens that its encoder has had, whoever asked."""
    return int(metric.diagnostics()["encoded_tokens"])


@row(
    ROWS,
    "all but the encoder's pass",
    "{share:.1%} of the pass",
    at_most("share", 0.06, "of the pass"),
)
def overhead(s: Setting) -> Numbers:
    """What is not the encoder's forward pass: tokenize, pair, match, state."""
    run = ours(*s.given)
    encoder = run.metric.encoder  # type: ignore[attr-defined]
    forward, inside, shares = encoder.hidden_states, 0.0, []

    def timed(*args: Any) -> Any:
        nonlocal inside
        start = time.perf_counter()
        try:
            return forward(*args)
        finally:
            inside += time.perf_counter() - start

    encoder.hidden_states = timed
    for _ in s.turns():
        inside, start = 0.0, time.perf_counter()
        run()
        shares.append(1 - inside / (time.perf_counter() - start))
    del encoder.hidden_states
    return {"share": median(shares)}
