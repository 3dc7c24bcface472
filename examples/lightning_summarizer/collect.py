"""Collect the jobs of a sweep: ``python collect.py multirun/NAME/DATE``.

Writes ``runs.csv``, a row a job with the best one first, and ``heatmap.png``: a column a layer, a
line for each encoder and what else was swept.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from summarizer.errors import EXPECTED, one_line
from summarizer.reports import aligned
from summarizer.sweeps import read_jobs, shown, summary, swept_keys, unfinished

from bertscore_tm.lightning import without_twin
from bertscore_tm.plotting import score_table

UNLIKE_CELLS = (
    "Scores of different layers, encoders or rules do not compare: each has a scale of its own."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    text = "of a sweep: the one that has a folder for each job"
    parser.add_argument("folder", type=Path, help=text)
    folder: Path = parser.parse_args(arguments).folder
    try:
        rows = read_jobs(folder)
        if not rows:
            why = "holds no finished runs" if folder.is_dir() else "is no folder"
            wanted = "wanted the folder of a sweep, such as multirun/NAME/DATE"
            print(f"collect.py: {folder} {why}; {wanted}", file=sys.stderr)
            return 1
        _write(folder, rows)
    except EXPECTED as error:
        print(f"collect.py: {one_line(error)}", file=sys.stderr)
        return 1
    print(aligned(without_twin(shown(rows))[0], swept_keys(rows[0])))
    print(f"\n{summary(rows)}")
    if lacking := unfinished(folder):
        print(f"Without scores, because they failed or go on: job {', '.join(lacking)}")
    several = len({(row["layer"], row["signature"]) for row in rows}) > 1
    note = f" ({UNLIKE_CELLS})" if several else ""
    print(f"\n{folder / 'runs.csv'}\n{folder / 'heatmap.png'}{note}")
    return 0


def _write(folder: Path, rows: Sequence[dict[str, str]]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with (folder / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, restval="")
        table.writeheader()
        table.writerows(rows)
    _draw(folder / "heatmap.png", rows)


def _draw(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """A line for each encoder and what else was swept, a column a layer."""
    layers = sorted({row["layer"] for row in rows}, key=_number)
    several = len({row["encoder"] for row in rows}) > 1
    keys = [key for key in swept_keys(rows[0]) if _tells_apart(key, rows)]
    cells: dict[str, dict[str, float]] = {}
    for row in rows:  # the best ones first
        shared = [row["encoder"]] if several or not keys else []
        name = " ".join([*shared, *(f"{key}={row[key]}" for key in keys)])
        value = float(row.get("f1") or "nan")
        cells.setdefault(name, {}).setdefault(row["layer"], value)
    values = [[line.get(layer, math.nan) for layer in layers] for line in cells.values()]
    rules = {(row["layer"], row["signature"]) for row in rows}
    note = UNLIKE_CELLS if len(rules) > 1 else ""
    alike = len(rules) == len(layers)  # the jobs of a layer compare
    figure, _ = score_table(list(cells), layers, values, note=note, shaded=alike)
    figure.savefig(path)


def _tells_apart(key: str, rows: Sequence[dict[str, str]]) -> bool:
    """Whether there are jobs of the same encoder and layer that differ in a key."""
    places = {(row["encoder"], row["layer"]) for row in rows}
    return len({(row["encoder"], row["layer"], row[key]) for row in rows}) > len(places)


def _number(layer: str) -> tuple[int, str]:
    return (int(layer) if layer.isdigit() else sys.maxsize, layer)


if __name__ == "__main__":
    sys.exit(main())
