"""What it costs beside time in the encoder: start, memory, checkpoints, growth, processes."""

from __future__ import annotations

import json
import os
import pickle
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import torch
from contestants import ratio
from rows import Numbers, Row, Setting, at_least, at_most, row

from bertscore_tm import BERTScore

ROWS: dict[str, Row] = {}
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)


@row(
    ROWS,
    "start",
    "import {import_s:.2f} s over torch and torchmetrics, construction {construct_s:.2f} s, "
    "first score {first_score_s:.2f} s",
    at_most("import_s", 0.2, "s for the import"),
)
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


@row(
    ROWS,
    "`bertscore-tm --help`",
    "{cpu_s:.2f} s of CPU",
    at_most("cpu_s", 1.0, "s of CPU"),
)
def help_of_commands(s: Setting) -> Numbers:
    """CPU seconds of the command's help, in a fresh process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _python("-m", "bertscore_tm", "--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


@row(
    ROWS,
    "checkpoint",
    "{keys} keys, {parameters} parameters, a pickle of {pickle_kb:.1f} kB",
    at_most("keys", 0, "keys"),
    at_most("parameters", 0, "parameters"),
    at_most("pickle_kb", 20, "kB"),
)
def checkpoint(s: Setting) -> Numbers:
    """What a module gains in its checkpoint and its parameters by holding the metric."""
    module = torch.nn.Module()
    module.bertscore = BERTScore(s.model, s.layer)
    size = len(pickle.dumps(module.bertscore)) / 1e3
    module.bertscore.update(s.pairs[0][:8], s.pairs[1][:8])
    return {
        "keys": len(module.state_dict()),
        "parameters": sum(p.numel() for p in module.parameters()),
        "pickle_kb": size,
    }


@row(
    ROWS,
    "an update after 10,000 updates",
    "{late_by_early:.2f} times the first",
    at_most("late_by_early", 1.2, "x the first"),
)
def late_updates(s: Setting) -> Numbers:
    """Updates with ids of one row each; the encoder is spared by the cache."""
    metric = BERTScore(s.model, s.layer)
    seconds = []
    for number in range(10_200):
        begun = time.perf_counter()
        metric.update(["a dog ran"], ["a cat ran"], sample_ids=[number])
        seconds.append(time.perf_counter() - begun)
    early, late = median(seconds[100:300]), median(seconds[-200:])
    return {"early_ms": early * 1e3, "late_ms": late * 1e3, "late_by_early": late / early}


@row(
    ROWS,
    "peak memory over imports and weights, no cache",
    "{ours_3000_mb:.0f} MB at 3,000 pairs and {ours_30000_mb:.0f} MB at 30,000 of eight words; "
    "at 3,000 bert-score {bert_score_3000_mb:.0f} MB, torchmetrics {torchmetrics_3000_mb:.0f} MB",
    at_most("ours_3000_mb", 250, "MB at 3,000"),
    at_most("ours_30000_mb", 250, "MB at 30,000"),
)
def memory(s: Setting) -> Numbers:
    """Peak of a process for each package, beyond its imports; layer 1, which needs as much."""
    found = {}
    for name, pairs in (
        ("ours", 3_000), ("ours", 30_000), ("bert_score", 3_000), ("torchmetrics", 3_000),
    ):  # fmt: skip
        part = run_child("memory", name, str(pairs), s.model, "1")
        found[f"{name}_{pairs}_mb"] = part["over_imports_mb"] - part["weights_mb"]
    return found


@row(
    ROWS,
    "100,000 pairs against 1,000 (growth.svg)",
    "{seconds_growth:.2f} times the time a pair, {bytes_a_pair:.0f} bytes more a pair, all but "
    "the encoder (a tiny one takes its place)",
    at_most("seconds_growth", 1.2, "x the time a pair"),
)
def growth(s: Setting) -> Numbers:
    """Time and memory from 1,000 to 100,000 pairs, each in a fresh process."""
    found = [run_child("memory", "tiny", str(pairs), s.model, "1") for pairs in SIZES]
    pairs, seconds, peak = (
        [n[key] for n in found] for key in ("pairs", "seconds", "over_imports_mb")
    )
    return {
        "grown": {"pairs": pairs, "seconds": seconds, "over_imports_mb": peak},
        "seconds_growth": (seconds[-1] / pairs[-1]) / (seconds[0] / pairs[0]),
        "bytes_a_pair": (peak[-1] - peak[0]) * 1e6 / (pairs[-1] - pairs[0]),
    }


@row(
    ROWS,
    "2 processes x 1 thread",
    "{times_one:.2f} times as fast as one (plain matrix products {matmul_times_one:.2f})",
    at_least("times_one", 1.85, "x one"),
)
def processes(s: Setting) -> Numbers:
    """Two processes of one thread against one, on the same rows; and matrix products so."""
    seconds: dict[str, list[float]] = {"1": [], "2": []}
    rates: dict[str, list[float]] = {"1": [], "2": []}
    for _ in s.turns():
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
