"""Tables of a run, as files and as text."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SCORES, SIGNATURE, LAYERS = "scores.tsv", "signature.txt", "layers.tsv"


def write_tsv(path: Path, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """Write a table with a head."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, delimiter="\t", restval="nan", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def read_tsv(path: Path) -> list[dict[str, str]]:
    """Lines of a table as mappings; none if there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def aligned(rows: Sequence[dict[str, Any]]) -> str:
    """A table as text: numbers with four digits behind the point, columns to the right."""
    cells = [list(rows[0]), *([_number(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def run_report(folder: str | Path) -> str:
    """What a training run has written about its scores, as text."""
    folder = Path(folder)
    parts = []
    if scores := read_tsv(folder / SCORES):
        rows = [{name.removeprefix("val_"): value for name, value in row.items()} for row in scores]
        parts += [aligned(rows), (folder / SIGNATURE).read_text(encoding="utf-8").strip()]
    if layers := read_tsv(folder / LAYERS):
        parts.append(f"F1 of each layer (picture: {folder / 'layers.png'}):\n{aligned(layers)}")
    return "\n\n".join([*parts, f"Folder of the run: {folder}"])


def _number(value: Any) -> str:
    try:
        return f"{float(value):.4f}" if "." in str(value) or "nan" in str(value) else str(value)
    except ValueError:
        return str(value)
