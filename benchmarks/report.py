"""Writes the numbers of benchmarks/results/*.json into benchmarks/RESULTS.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Numbers = dict[str, Any]

# For each measurement: what it is, the number to reach, and what was measured.
ROWS: dict[str, tuple[str, str, Callable[[Numbers], str]]] = {
    "first_pass": (
        "first pass, float32",
        "≥ 1.5x bert-score; ≤ 1.15x of operations / matmul rate",
        lambda n: (
            f"{n['times_bert_score']:.2f} times as fast as bert-score, "
            f"{n['times_torchmetrics']:.2f} times as torchmetrics; "
            f"{n['times_floor']:.2f} times what {n['gflop']:.0f} GFLOP take at the "
            f"{n['matmul_gflop_s']:.0f} GFLOP/s of plain "
            f"matrix products; "
            f"worst difference to bert-score {n['worst_difference']:.1e}; mean F1 "
            f"{n['mean_f1']:.4f} "
            f"(bert-score {n['mean_f1_bert_score']:.4f}, torchmetrics "
            f"{n['mean_f1_torchmetrics']:.4f})"
        ),
    ),
    "reduced": (
        "first pass, bfloat16",
        "≥ 2.7x bert-score where the CPU has units for it; mean within 5e-4, each within 5e-3",
        lambda n: (
            f"{n['times_bert_score']:.2f} times as fast as bert-score, {n['times_float32']:.2f} "
            "times as fast as float32 "
            f"(plain matrix products {n['matmul_gflop_s']:.0f} "
            f"GFLOP/s); error of the mean {n['mean_error']:.1e}, worst {n['worst_error']:.1e}"
        ),
    ),
    "compiled": (
        "`compile=True`, after its start-up",
        "≥ 1.75x bert-score",
        lambda n: (
            f"{n['times_bert_score']:.2f} times as fast as bert-score, {n['times_plain']:.2f} "
            "times as fast as not compiled; "
            f"start-up {n['start_up_s']:.0f} s"
        ),
    ),
    "later_epochs": ("later epochs, same "
                     "references", "≥ 1.9x the "
                                   "first", lambda n: f"{n['times_first']:.2f} times as fast"),
    "layers": ("all layers", "≤ 1.15x the top layer "
                             "alone", lambda n: f"{n['all_by_top']:.2f} times the time of the top "
                                                "layer"),
    "three_scores": ("P, R, F1 as three "
                     "metrics", "≤ 1.03x "
                                "one", lambda n: f"{n['three_by_one']:.2f} times the time of one"),
    "processes": (
        "2 processes x 1 thread",
        "≥ 1.85x one",
        lambda n: f"{n['times_one']:.2f} times as fast (plain matrix products "
                  f"{n.get('matmul_times_one', float('nan')):.2f})",
    ),
    "idf": ("idf=True", "≤ 1.05x "
                        "without", lambda n: f"{n['idf_by_plain']:.2f} times the time without"),
    "memory": (
        "peak memory over imports and weights, no cache",
        "≤ 250 MB at 3,000 and 30,000 pairs",
        lambda n: "; ".join(
            f"{name}: {part['over_imports_mb'] - part['weights_mb']:.0f} "
            "MB" for name, part in n.items() if isinstance(part, dict)
            and "weights_mb" in part
        ),
    ),
    "overhead": ("all but the encoder's pass", "≤ 6%", lambda n: f"{n['share']:.1%} of the pass"),
    "small_updates": (
        "updates of 8 rows",
        "-",
        lambda n: (
            f"{n['eight_by_whole']:.2f} times the time of one update; {n['times_bert_score']:.2f} "
            "times as fast as bert-score so"
        ),
    ),
    "start": (
        "start",
        "import ≤ 0.2 s over torch and torchmetrics",
        lambda n: f"import {n['import_s']:.2f} s, construction {n['construct_s']:.2f} s, first "
                  f"score {n['first_score_s']:.2f} s",
    ),
    "checkpoint": ("checkpoint", "0 keys, 0 "
                                 "parameters", lambda n: f"{n['keys']} keys, {n['parameters']} "
                                                         "parameters"),
}  # fmt: skip


def line(name: str, numbers: Numbers) -> str:
    """One measurement in words."""
    return ROWS[name][2](numbers)


def write(results: Path, target: Path) -> None:
    """Render all result files, one table a data set."""
    lines = [
        "# Results",
        "",
        "Made by `make bench` (`benchmarks/bench.py`); the raw numbers are "
        "in `benchmarks/results`.",
        "",
    ]
    files = (path for path in results.glob("*.json") if path.stem != "scaling")
    for file in sorted(files, key=lambda path: (path.stem != "docstrings", path.stem)):
        saved = json.loads(file.read_text())
        rows = {name: saved[name] for name in ROWS if name in saved}
        if not rows:
            continue
        some = next(iter(rows.values()))
        machine = ", ".join(
            f"{key} {value}" if key != "cpu" else value for key, value in some["machine"].items()
        )
        lines += [f"## {file.stem}", "", f"{machine}.", ""]
        lines += ["| | to reach | measured | pairs, encoder, layer |", "|---|---|---|---|"]
        for name, n in rows.items():
            lines.append(
                f"| {ROWS[name][0]} | {ROWS[name][1]} | {line(name, n)} | {n['pairs']:,}, "
                f"{n['model']}, {n['layer']} |"
            )
        commands = sorted({n["command"] for n in rows.values()})
        lines += ["", *(f"    {command}" for command in commands), ""]
    target.write_text("\n".join(lines), encoding="utf-8")
