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
    *,
    shaded: bool = False,
) -> None:
    """Save a table as a picture, large enough for its labels and numbers.

    Colours never cross columns: numbers of different layers do not compare.

    Args:
        path: of the picture.
        rows, columns: their names.
        values: ``[rows][columns]``; NaN is left empty.
        xlabel: what the columns are.
        title: what the values are.
        note: a sentence below.
        shaded: whether each column has colours, from its lowest (dark) to its highest value.
    """
    from matplotlib.figure import Figure

    by_column = [_shades(column, shaded) for column in zip(*values, strict=True)]
    shades = list(zip(*by_column, strict=True))
    cell = max(_CELL[0], _LETTER * max(map(len, columns)) + 0.2)
    labels = _LETTER * max(map(len, rows)) + 0.4
    width = max(labels + cell * len(columns) + 0.3, _LETTER * len(title) + labels, 3.6)
    lines = textwrap.wrap(note, max(20, int((width - 0.4) / (_LETTER * 0.85))))
    height = 1.2 + _CELL[1] * len(rows) + 0.18 * len(lines)

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.imshow(shades, aspect="auto", cmap="viridis", vmin=0, vmax=1)
    for place in range(1, len(columns)):
        axes.axvline(place - 0.5, color="lightgrey", linewidth=0.8)
    for place in range(1, len(rows)):
        axes.axhline(place - 0.5, color="lightgrey", linewidth=0.8)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel(xlabel)
    axes.set_title(title)
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            if not math.isnan(value):
                color = "white" if shades[y][x] <= 0.4 else "black"
                axes.text(x, y, f"{value:.3f}", ha="center", va="center", color=color)
    if lines:
        figure.supxlabel("\n".join(lines), fontsize="small")
    figure.savefig(path)


def _shades(column: Sequence[float], shaded: bool) -> list[float]:
    """From 0, the lowest, to 1, the highest; NaN, no colour, where there is nothing to compare."""
    known = [value for value in column if not math.isnan(value)]
    lowest, highest = min(known, default=0.0), max(known, default=0.0)
    if not shaded or lowest == highest:
        return [math.nan] * len(column)
    return [(value - lowest) / (highest - lowest) for value in column]
