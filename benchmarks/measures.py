"""The measurements, one function each, which returns plain numbers.

`bench.py` runs them and `report.py` writes them down.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
from contestants import (
    alternate,
    bert_score_package,
    flops,
    matmul_rate,
    ours,
    ratio,
    torchmetrics_package,
)
from texts import Pairs, changed

from bertscore_tm import BERTScore, bert_score_collection

Numbers = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """What is measured on.

    Attributes:
        pairs: candidates and references.
        model: encoder.
        layer: hidden state.
        rounds: times that everything is repeated.
    """

    pairs: Pairs
    model: str
    layer: int
    rounds: int

    @property
    def given(self) -> tuple[list[str], list[str], str, int]:
        return *self.pairs, self.model, self.layer


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
        {**contest, "matmul": lambda: rates.append(matmul_rate(s.model))}, s.rounds, results
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


def reduced(s: Setting) -> Numbers:
    """bfloat16: its speed, its error, and whether this CPU has units for it."""
    some = (
        s.pairs[0][:100],
        s.pairs[1][:100],
        s.model,
        s.layer,
    )  # without such units it takes long
    runs = {
        "float32": ours(*some),
        "bfloat16": ours(*some, dtype="bfloat16"),
        "bert_score": bert_score_package(*some),
    }
    results: dict[str, Any] = {}
    seconds = alternate(runs, s.rounds, results)
    exact, rough = results["float32"]["f1"], results["bfloat16"]["f1"]
    return {
        "seconds": seconds,
        "times_bert_score": ratio(seconds, "bert_score", "bfloat16"),
        "times_float32": ratio(seconds, "float32", "bfloat16"),
        "matmul_gflop_s": matmul_rate(s.model, torch.bfloat16) / 1e9,
        "mean_error": abs(float(exact.mean() - rough.mean())),
        "worst_error": float((exact - rough).abs().max()),
    }


def compiled(s: Setting) -> Numbers:
    """`compile=True`, after its start-up."""
    runs = {
        "plain": ours(*s.given),
        "compiled": ours(*s.given, compile=True),
        "bert_score": bert_score_package(*s.given),
    }
    start = time.perf_counter()
    runs["compiled"]()
    first = time.perf_counter() - start
    seconds = alternate(runs, s.rounds)
    return {
        "seconds": seconds,
        "times_plain": ratio(seconds, "plain", "compiled"),
        "times_bert_score": ratio(seconds, "bert_score", "compiled"),
        "start_up_s": first - median(seconds["compiled"]),
    }


def later_epochs(s: Setting) -> Numbers:
    """New predictions, the same references: these come from the cache."""
    preds, refs = s.pairs
    seconds: dict[str, list[float]] = {"first": [], "later": []}
    for turn in range(s.rounds):
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


def layers(s: Setting) -> Numbers:
    """All hidden states in one pass against the top one."""
    top = BERTScore(s.model).depth
    runs = {"all": ours(*s.pairs, s.model, "all"), "top": ours(*s.pairs, s.model, top)}
    seconds = alternate(runs, s.rounds)
    return {"seconds": seconds, "all_by_top": ratio(seconds, "all", "top")}


def three_scores(s: Setting) -> Numbers:
    """Precision, recall and F1 as a collection of three metrics against one."""
    one = BERTScore(s.model, s.layer, embedding_cache=0)
    three = bert_score_collection(s.model, s.layer, embedding_cache=0)

    def run(metric: Any) -> Callable[[], None]:
        def once() -> None:
            metric.reset()
            for i in range(0, len(s.pairs[0]), 64):
                metric.update(s.pairs[0][i : i + 64], s.pairs[1][i : i + 64])
            metric.compute()

        return once

    run(one)(), run(three)()  # the first update finds the compute group
    seconds = alternate({"three": run(three), "one": run(one)}, s.rounds)
    return {"seconds": seconds, "three_by_one": ratio(seconds, "three", "one")}


def idf(s: Setting) -> Numbers:
    """Weights from the epoch's references against none."""
    seconds = alternate({"idf": ours(*s.given, idf=True), "plain": ours(*s.given)}, s.rounds)
    return {"seconds": seconds, "idf_by_plain": ratio(seconds, "idf", "plain")}


def small_updates(s: Setting) -> Numbers:
    """Updates of 8 rows against one update, and against bert-score called so."""
    preds, refs, model, layer = s.given
    some = (preds[:200], refs[:200], model, layer)
    runs = {
        "eight": ours(*some, rows=8),
        "whole": ours(*some),
        "bert_score_eight": bert_score_package(*some, rows=8),
    }
    seconds = alternate(runs, s.rounds)
    return {
        "seconds": seconds,
        "eight_by_whole": ratio(seconds, "eight", "whole"),
        "times_bert_score": ratio(seconds, "bert_score_eight", "eight"),
    }


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
    for _ in range(s.rounds):
        inside, start = 0.0, time.perf_counter()
        run()
        shares.append(1 - inside / (time.perf_counter() - start))
    del encoder.hidden_states
    return {"share": median(shares)}


def checkpoint(s: Setting) -> Numbers:
    """What a module gains in its checkpoint and its parameters by holding the metric."""
    module = torch.nn.Module()
    module.bertscore = BERTScore(s.model, s.layer)
    module.bertscore.update(s.pairs[0][:8], s.pairs[1][:8])
    return {
        "keys": len(module.state_dict()),
        "parameters": sum(p.numel() for p in module.parameters()),
    }


def start(s: Setting) -> Numbers:
    """Seconds until the first score, in fresh processes."""
    code = (
        "import time; import torch, torchmetrics; a = time.perf_counter(); import bertscore_tm; b "
        "= time.perf_counter(); "
        f"m = bertscore_tm.BERTScore({s.model!r}, {s.layer}); c = time.perf_counter(); "
        "m.update(['a dog'], ['a cat']); m.compute(); "
        "print(b - a, c - b, time.perf_counter() - c)"
    )
    runs = [[float(x) for x in _python("-c", code).split()] for _ in range(3)]
    return dict(zip(("import_s", "construct_s", "first_score_s"), map(median, zip(*runs))))


def memory(s: Setting) -> Numbers:
    """Peak of a process for each package, beyond its imports; texts of up to eight words."""
    return {
        name: run_child("memory", name, str(n), s.model, str(s.layer))
        for name, n in _MEMORY.items()
    }


_MEMORY = {
    "ours-3000": 3_000,
    "ours-30000": 30_000,
    "bert_score-3000": 3_000,
    "torchmetrics-3000": 3_000,
}


def processes(s: Setting) -> Numbers:
    """Two processes of one thread against one, on the same rows; and matrix products so."""
    seconds: dict[str, list[float]] = {"1": [], "2": []}
    rates: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(s.rounds):
        for ranks, times in seconds.items():
            numbers = run_child("ranks", ranks, str(len(s.pairs[0])), s.model, str(s.layer))
            times.append(numbers["seconds"])
            rates[ranks].append(numbers["matmul_gflop_s"])
    return {
        "seconds": seconds,
        "times_one": ratio(seconds, "1", "2"),
        "matmul_times_one": ratio(rates, "2", "1"),
    }


def run_child(*args: str) -> Numbers:
    """Run `child.py` in a fresh process."""
    numbers: Numbers = json.loads(_python(str(Path(__file__).with_name("child.py")), *args))
    return numbers


def _python(*args: str) -> str:
    threads = {"OMP_NUM_THREADS": "1"} if "ranks" in args else {}
    environment = {
        **os.environ,
        **threads,
        "TRANSFORMERS_VERBOSITY": "error",
        "TOKENIZERS_PARALLELISM": "false",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *args],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip().splitlines()[-1]


ALL: dict[str, Callable[[Setting], Numbers]] = {
    f.__name__: f
    for f in (
        start, checkpoint, first_pass, reduced, later_epochs, layers, three_scores, idf,
        small_updates, overhead, processes, memory, compiled,
    )
}  # fmt: skip
