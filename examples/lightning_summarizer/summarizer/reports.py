"""Tables of a run, as files and as text."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from bertscore_tm.lightning import LAYERS, NOTE, SCORES, SIGNATURE, TEST, without_twin

from .errors import SettingError

Row = dict[str, str]


def read_tsv(path: Path) -> list[Row]:
    """Lines of a table as mappings; none if there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def numbers(rows: Iterable[Row], column: str, path: Path) -> list[float]:
    """A column as numbers.

    Raises:
        SettingError: if it is not there, or holds something else; the file is named.
    """
    found = []
    for row in rows:
        if column not in row:
            names = ", ".join(name for name in row if name)
            raise SettingError(f"{path} has no column {column}; it has {names}")
        try:
            found.append(float(row[column]))
        except (TypeError, ValueError):
            raise SettingError(
                f"{path}: got {column}={row[column]}; wanted a number in every line"
            ) from None
    return found


def best_of(rows: Sequence[Row], column: str, path: Path) -> Row | None:
    """The row with the highest number in a column; None if there is none."""
    scored = zip(numbers(rows, column, path), rows, strict=True)
    known = [(value, row) for value, row in scored if not math.isnan(value)]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def aligned(rows: Sequence[dict[str, Any]], as_given: Collection[str] = ()) -> str:
    """A table as text: numbers with four digits behind the point, columns to the right.

    Args:
        rows: with the same keys.
        as_given: columns whose numbers keep their digits.
    """
    cells = [
        list(rows[0]),
        *([str(v) if name in as_given else _number(v) for name, v in row.items()] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def run_report(folder: str | Path, since: float = 0.0) -> str:
    """What a run has written, as text.

    Args:
        folder: of the run.
        since: files that are older (seconds since 1970) are not of this run.
    """
    folder = Path(folder)
    parts = []
    texts = "test"
    if scores := read_tsv(folder / SCORES):
        parts.append(_scores_as_text(scores, "val_"))
        if best := best_of(scores, "val_bertscore", folder / SCORES):
            epoch = int(best["epoch"])
            which = "Best" if len(scores) > 1 else "Only"
            line = f"{which} epoch: {epoch} (bertscore {float(best['val_bertscore']):.4f})"
            parts.append("\n".join([line, *_moved(scores[0], best)]))
            texts = f"epoch_{epoch:03d}"
    if test := read_tsv(folder / TEST):
        parts.append(f"Test:\n{_scores_as_text(test, 'test_')}")
    if layers := read_tsv(folder / LAYERS):
        parts.append(f"F1 of each layer (layers.png). {NOTE}\n{aligned(layers)}")
    if sample := _sample(folder / "predictions" / f"{texts}.jsonl"):
        parts.append(sample)
    if (folder / SIGNATURE).is_file():
        parts.append((folder / SIGNATURE).read_text(encoding="utf-8").strip())
    return "\n\n".join([*parts, written(folder, since)])


def written(folder: Path, since: float = 0.0) -> str:
    """The files and the folder of a run, as text; arguments as for `run_report`."""
    files = _files(folder, since)
    return (f"Files:\n{files}\n\n" if files else "") + f"Folder of the run: {folder}"


def _scores_as_text(rows: Sequence[Row], prefix: str) -> str:
    short = [{name.removeprefix(prefix): value for name, value in row.items()} for row in rows]
    table, twin = without_twin(short)
    return aligned(table) + (f"\n(bertscore is {twin})" if twin else "")


def _moved(first: Row, best: Row) -> list[str]:
    """In words, what rose and what fell up to the best epoch; nothing if that is the first."""
    if first["epoch"] == best["epoch"]:
        return []
    moves: dict[str, list[str]] = {"rose": [], "fell": [], "did not move": []}
    for name in without_twin([_short_names(best)])[0][0]:
        before, after = (float(row.get(f"val_{name}") or "nan") for row in (first, best))
        if name != "epoch" and not math.isnan(before - after):
            word = "did not move" if before == after else "rose" if after > before else "fell"
            moves[word].append(name)
    said = [f"{', '.join(names)} {word}" for word, names in moves.items() if names]
    return [f"From epoch {first['epoch']} to it: {'; '.join(said)}."]


def _short_names(row: Row) -> dict[str, Any]:
    return {name.removeprefix("val_"): value for name, value in row.items()}


def _sample(path: Path) -> str:
    """One row of a file of predictions, that with the median score; empty if there is none."""
    if not path.is_file():
        return ""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    if not rows:
        return ""
    row = sorted(rows, key=lambda row: row["f1"])[len(rows) // 2]
    texts = {
        "source": row["source"],
        "reference": " ||| ".join(row["target"]),
        "prediction": row["prediction"],
    }
    lines = [f"  {name + ':':12}{_short(text)}" for name, text in texts.items()]
    head = f"A text of middling score ({path.parent.name}/{path.name}, id {row['id']}):"
    return "\n".join([head, *lines, f"  {'score:':12}f1 {row['f1']:.4f}"])


def _short(text: str, most: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 4]} ..."


def _files(folder: Path, since: float) -> str:
    """The files of a run, a line a folder."""
    lines = []
    for place in sorted([folder, *(path for path in folder.glob("*") if path.is_dir())]):
        found = sorted(
            path
            for path in (place.glob("*") if place == folder else place.rglob("*"))
            if path.is_file() and path.stat().st_mtime >= since
        )
        names = [str(path.relative_to(folder)) for path in found]
        if len(names) > 4 and place != folder:
            names = [names[0], f"... {len(names) - 2} more ...", names[-1]]
        if names:
            lines.append("  " + "  ".join(names))
    return "\n".join(lines)


def _number(value: Any) -> str:
    try:
        return f"{float(value):.4f}" if "." in str(value) or "nan" in str(value) else str(value)
    except ValueError:
        return str(value)
