"""Pictures, without pyplot: nothing is shown, nothing is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path


def heatmap(
    path: Path,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    xlabel: str,
    title: str,
) -> None:
    """Save a table as a picture.

    Args:
        path: of the picture.
        rows, columns: their names.
        values: ``[rows][columns]``; NaN is left empty.
        xlabel: what the columns are.
        title: what the values are.
    """
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(2.5 + 0.7 * len(columns), 1.5 + 0.45 * len(rows)), layout="constrained"
    )
    axes = figure.subplots()
    image = axes.imshow(values, aspect="auto", cmap="viridis")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel(xlabel)
    axes.set_title(title)
    known = [value for line in values for value in line if not math.isnan(value)]
    middle = (min(known) + max(known)) / 2 if known else 0.0
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            if not math.isnan(value):
                axes.text(
                    x,
                    y,
                    f"{value:.3f}",
                    ha="center",
                    va="center",
                    color="white" if value < middle else "black",
                )
    figure.colorbar(image)
    figure.savefig(path, dpi=120)
