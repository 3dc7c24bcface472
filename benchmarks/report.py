"""Writes the numbers of benchmarks/results into benchmarks/RESULTS.md, and draws the growth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rows import Numbers, Row

HEAD = """\
# Results

Made by `make bench` (`benchmarks/bench.py`), for each kind of machine and each data set apart; the
raw numbers are in `benchmarks/results`. A **miss** is a number that was not reached; what was not
run is said, with the reason. Two things that are compared ran in turns in one process, and the
median of the ratios stands here. The load is the number of processes that wanted a core in the
minute before a row: above the number of threads, the machine had other work.
"""


def line(row: Row, numbers: Numbers) -> str:
    """One measurement in words."""
    if "not_run" in numbers:
        return f"not run: {numbers['not_run']}"
    missed = [str(target) for target in row.targets if not target.met(numbers)]
    said = row.says.format_map(numbers)
    return f"**miss** ({'; '.join(missed)}): {said}" if missed else said


def write(tables: list[dict[str, Row]], results: Path, target: Path) -> None:
    """Render all result files, each as the table that has its rows."""
    lines = [HEAD]
    for file in sorted(results.glob("*/*.json")):
        saved = json.loads(file.read_text())
        rows = next(table for table in tables if not table.keys().isdisjoint(saved))
        lines += [f"## {file.parent.name}, {file.stem}", "", _machines(saved), ""]
        lines += [
            "| | to reach | measured | pairs, encoder, layer | load |",
            "|---|---|---|---|---|",
        ]
        for row in rows.values():
            numbers = saved.get(row.name)
            if numbers is None:
                lines.append(f"| {row.what} | {_wanted(row)} | not run | | |")
                continue
            lines.append(
                f"| {row.what} | {_wanted(row)} | {line(row, numbers)} | {numbers['pairs']:,}, "
                f"{numbers['model']}, {numbers['layer']} | {numbers['load']:.1f} |"
            )
        if (file.parent / "growth.svg").exists():
            lines += ["", f"![growth](results/{file.parent.name}/growth.svg)"]
        commands = sorted({numbers["command"] for numbers in saved.values()})
        lines += ["", *(f"    {command}" for command in commands), ""]
    target.write_text("\n".join(lines), encoding="utf-8")


def _wanted(row: Row) -> str:
    return "; ".join(map(str, row.targets)) or "-"


def _machines(saved: dict[str, Numbers]) -> str:
    """The machine and versions of the rows; where a row was measured on others, all of them."""
    found = {
        ", ".join(v if k in ("cpu", "gpu") else f"{k} {v}" for k, v in n["machine"].items())
        for n in saved.values()
    }
    return "; and ".join(sorted(found)) + "."


def draw(grown: dict[str, list[float]], picture: Path) -> None:
    """Time and memory against the number of pairs."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"  # the same file from the same numbers
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3), constrained_layout=True)
    labels: dict[str, Any] = {"seconds": "seconds", "over_imports_mb": "MB over imports"}
    for axis, (key, label) in zip(axes, labels.items()):
        axis.plot(grown["pairs"], grown[key], marker="o")
        axis.set(xlabel="pairs of eight words", ylabel=label, xscale="log")
        axis.grid(alpha=0.3)
    axes[0].set_yscale("log")
    axes[1].set_ylim(bottom=0)
    figure.savefig(picture, metadata={"Date": None})
    plt.close(figure)
