"""Measures speed and memory beside bert-score and torchmetrics, in turns, and writes
benchmarks/RESULTS.md. Within its minutes every row is measured, or marked as not run.

    python benchmarks/bench.py                       # on docstrings, which every reader has
    python benchmarks/bench.py --candidates a.txt --references b.txt --name own
    python benchmarks/bench.py --only first_pass later_epochs
    python benchmarks/bench.py --device cuda --pairs 3000    # large encoders of the hub on a GPU
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

import costs
import engines
import gpu
import machine
import report
import speed
import transformers
from rows import NotRun, Numbers, Row, Setting
from texts import Pairs, from_docstrings, from_files

CPU = {**speed.ROWS, **engines.ROWS, **costs.ROWS}


def main() -> None:
    options = _options()
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    on_gpu = gpu.rows(options.device, gpu.MODELS)
    rows = CPU if options.device == "cpu" else on_gpu
    setting = Setting(
        _pairs(options), options.model, options.layer, options.rounds, options.seconds
    )
    kind = machine.kind(options.device)
    folder = options.out / "results" / kind
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [rows[name] for name in options.only or rows]
    about = {
        "command": " ".join(["python", *sys.argv]),
        "data": options.name,
        "pairs": len(setting.pairs[0]),
        "model": setting.model,
        "layer": setting.layer,
        "machine": machine.facts(options.device),
    }
    file = folder / f"{options.name}.json"
    measure_all(chosen, setting, about, file, 60 * options.minutes)
    saved = json.loads(file.read_text())
    if "grown" in saved.get("growth", {}):
        report.draw(saved["growth"]["grown"], folder / "growth.svg")
    report.write([CPU, on_gpu], options.out / "results", options.out / "RESULTS.md")


def measure_all(
    rows: Iterable[Row], setting: Setting, about: Numbers, file: Path, seconds: float
) -> None:
    """Measure rows until the time is used up; what is left is marked so. Saved after each."""
    saved = json.loads(file.read_text()) if file.exists() else {}
    begun = time.perf_counter()
    for row in rows:
        print(f"{row.name} ...", end=" ", flush=True)
        load, start = machine.load(), time.perf_counter()
        try:
            if start - begun > seconds:
                raise NotRun(f"the {seconds / 60:g} minutes were over")
            numbers = row.measure(setting)
        except NotRun as why:
            numbers = {"not_run": str(why)}
        saved[row.name] = {**about, "load": load, **numbers}
        file.write_text(json.dumps(saved, indent=1) + "\n")
        taken = time.perf_counter() - start
        print(f"({taken:.0f} s): {report.line(row, saved[row.name])}", flush=True)


def _pairs(options: argparse.Namespace) -> Pairs:
    given = options.candidates and from_files(options.candidates, options.references)
    preds, refs = given or from_docstrings(options.pairs)
    return preds[: options.pairs], refs[: options.pairs]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--candidates", type=Path, help="one text a line; without it docstrings are used")
    add("--references", type=Path, help="one text a line, in the order of the candidates")
    add("--name", default="docstrings", help="of the data, for the results")
    add("--pairs", type=int, default=200, help="how many of them (200); below a hundred is noise")
    add("--model", default="minilm")
    add("--layer", type=int, default=5, help="hidden state (5)")
    add("--device", default="cpu", help="cpu, or cuda for the rows of a GPU")
    add("--rounds", type=int, default=3, help="times that everything is repeated, at most (3)")
    add("--seconds", type=float, default=60, help="for the rounds of a row (60)")
    add("--minutes", type=float, default=13, help="after which no row is begun (13)")
    add("--out", type=Path, default=Path(__file__).parent, help="folder of RESULTS.md, results/")
    add("--only", nargs="+", metavar="ROW", help=f"some rows: {', '.join(CPU)}")
    options = parser.parse_args()
    if (options.candidates is None) != (options.references is None):
        parser.error("got one of --candidates and --references; wanted both or neither")
    if options.device == "cpu" and not set(options.only or ()) <= set(CPU):
        unknown = ", ".join(sorted({*options.only} - {*CPU}))
        parser.error(f"got --only {unknown}; wanted of {', '.join(CPU)}")
    return options


if __name__ == "__main__":
    main()
