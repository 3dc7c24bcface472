"""Collect the jobs of a sweep: ``python collect.py multirun/NAME/DATE``.

Writes ``runs.csv``, a row a job with the best one first, and ``heatmap.png``: encoder by layer, or
the jobs if they share both.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from summarizer.errors import EXPECTED, one_line
from summarizer.pictures import heatmap
from summarizer.reports import aligned, without_twin
from summarizer.sweeps import read_jobs, shown, summary, swept, swept_keys, unfinished

UNLIKE_CELLS = "Scores of different layers or encoders do not compare: each has a scale of its own."


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
    several = len({(row["encoder"], row["layer"]) for row in rows}) > 1
    note = f" ({UNLIKE_CELLS})" if several else ""
    print(f"\n{folder / 'runs.csv'}\n{folder / 'heatmap.png'}{note}")
    return 0


def _write(folder: Path, rows: Sequence[dict[str, str]]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with (folder / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, restval="")
        table.writeheader()
        table.writerows(rows)
    path = folder / "heatmap.png"
    encoders = list(dict.fromkeys(row["encoder"] for row in rows))
    layers = sorted({row["layer"] for row in rows}, key=_number)
    if len(encoders) == len(layers) == 1:
        compare = len({row["signature"] for row in rows}) == 1
        values = [[float(row.get("f1") or "nan")] for row in rows]
        names = [swept(row) or f"job {row['job']}" for row in rows]
        heatmap(path, names, layers, values, "layer", "BERTScore F1", shaded=compare)
    else:
        values = [[_best(rows, encoder, layer) for layer in layers] for encoder in encoders]
        heatmap(path, encoders, layers, values, "layer", "BERTScore F1", UNLIKE_CELLS)


def _best(rows: Sequence[dict[str, str]], encoder: str, layer: str) -> float:
    """F1 of an encoder and a layer; of the best job where there are several."""
    scores = [
        float(row["f1"])
        for row in rows
        if (row["encoder"], row["layer"]) == (encoder, layer) and row.get("f1")
    ]
    return max(scores, default=math.nan)


def _number(layer: str) -> tuple[int, str]:
    return (int(layer) if layer.isdigit() else sys.maxsize, layer)


if __name__ == "__main__":
    sys.exit(main())
