"""Pictures, without pyplot: nothing is shown, nothing is kept."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

_LETTER = 0.085  # inches, of a label
_CELL = 0.75, 0.42  # inches, wide and high enough for "-0.123"


def heatmap(
    path: Path,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    xlabel: str,
    title: str,
    note: str = "",
) -> None:
    """Save a table as a picture, large enough for its labels and numbers.

    Args:
        path: of the picture.
        rows, columns: their names.
        values: ``[rows][columns]``; NaN is left empty.
        xlabel: what the columns are.
        title: what the values are.
        note: a sentence below.
    """
    from matplotlib.figure import Figure

    cells = [value for line in values for value in line if not math.isnan(value)]
    lowest, highest = min(cells, default=0.0), max(cells, default=1.0)
    cell = max(_CELL[0], _LETTER * max(map(len, columns)) + 0.2)
    labels = _LETTER * max(map(len, rows)) + 0.4
    width = max(labels + cell * len(columns) + 0.3, _LETTER * len(title) + labels, 3.6)
    lines = textwrap.wrap(note, max(20, int((width - 0.4) / (_LETTER * 0.85))))
    height = 1.2 + _CELL[1] * len(rows) + 0.18 * len(lines)

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.imshow(values, aspect="auto", cmap="viridis", vmin=lowest, vmax=highest)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel(xlabel)
    axes.set_title(title)
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            if not math.isnan(value):
                light = highest > lowest and value > 0.6 * lowest + 0.4 * highest
                color = "black" if light else "white"
                axes.text(x, y, f"{value:.3f}", ha="center", va="center", color=color)
    if lines:
        figure.supxlabel("\n".join(lines), fontsize="small")
    figure.savefig(path)
