"""Pictures: of scores, of epochs, of sweeps, of an alignment.

Each function draws on the axes that it is given, or on those of a new figure that belongs to nobody
else: ``figure.savefig(...)`` writes it, nothing shows it. matplotlib is imported with the first
picture.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import InvalidValueError, MissingPackageError

if TYPE_CHECKING:
    from torch import Tensor

    from .alignment import AlignedText, Alignment

    Numbers = Tensor | Sequence[float]

_INCH = 0.32  # of a token
_LETTER = 0.085  # inches, of a label
_CELL = 0.75, 0.42  # inches, wide and high enough for "-0.123"


def histogram(
    scores: Numbers | Mapping[str, Numbers], ax: Any = None, bins: int = 30
) -> tuple[Any, Any]:
    """How the scores of samples are spread; a line stands at their mean.

    Args:
        scores: a value for each sample, or several such lists by name.
        ax: the axes of matplotlib to draw on; None: those of a new figure.
        bins: bars, over the range of all scores.

    Returns:
        The figure and its axes.

    Raises:
        MissingPackageError: if matplotlib is not installed.
    """
    named = scores if isinstance(scores, Mapping) else {"": scores}
    columns = {name: _finite(values) for name, values in named.items()}
    ax = _axes(ax)
    known = [value for values in columns.values() for value in values]
    extent = (min(known), max(known)) if known else (0.0, 1.0)
    for place, (name, values) in enumerate(columns.items()):
        color = f"C{place}"
        label = f"{name}: " if name else ""
        ax.hist(values, bins, range=extent, histtype="stepfilled", alpha=0.4, color=color)
        if values:
            mean = sum(values) / len(values)
            ax.axvline(mean, color=color, label=f"{label}mean {mean:.4f}")
    ax.set(xlabel="score", ylabel="samples")
    ax.legend() if known else None
    return ax.figure, ax


def score_against_length(
    scores: Numbers, lengths: Sequence[int], ax: Any = None
) -> tuple[Any, Any]:
    """A point for each sample: how long its text is, and its score.

    Args:
        scores: a value for each sample.
        lengths: of their texts, in any unit, such as words.
        ax: the axes of matplotlib to draw on; None: those of a new figure.

    Returns:
        The figure and its axes.

    Raises:
        InvalidValueError: if there are not as many lengths as scores.
        MissingPackageError: if matplotlib is not installed.
    """
    values = [float(value) for value in scores]
    if len(values) != len(lengths):
        raise InvalidValueError(
            f"got {len(values)} scores and {len(lengths)} lengths; wanted one length a score"
        )
    ax = _axes(ax)
    ax.scatter(lengths, values, s=9, alpha=0.5)
    ax.set(xlabel="length", ylabel="score")
    return ax.figure, ax


def curve(
    epochs: Sequence[int],
    scores: Mapping[str, Sequence[float]],
    intervals: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    ax: Any = None,
) -> tuple[Any, Any]:
    """How scores moved over epochs.

    Args:
        epochs: their numbers.
        scores: by name, a value for each epoch.
        intervals: of some of them, the lowest and the highest value for each epoch.
        ax: the axes of matplotlib to draw on; None: those of a new figure.

    Returns:
        The figure and its axes.

    Raises:
        InvalidValueError: if a list has not as many values as there are epochs.
        MissingPackageError: if matplotlib is not installed.
    """
    for name, values in [*scores.items(), *(intervals or {}).items()]:
        if len(values) != len(epochs):
            raise InvalidValueError(
                f"got {len(values)} values of {name!r} for {len(epochs)} epochs; wanted one an "
                "epoch"
            )
    ax = _axes(ax)
    for name, values in scores.items():
        (line,) = ax.plot(epochs, values, marker="o", label=name)
        if intervals and name in intervals:
            low, high = zip(*intervals[name])
            ax.fill_between(epochs, low, high, color=line.get_color(), alpha=0.2)
    ax.set(xlabel="epoch", ylabel="score")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend() if scores else None
    return ax.figure, ax


def score_table(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    xlabel: str = "layer",
    title: str = "BERTScore F1",
    note: str = "",
    shaded: bool = False,
    ax: Any = None,
) -> tuple[Any, Any]:
    """A table of scores, encoders by layers for example, large enough for its labels and numbers.

    Colours never cross columns: numbers of different layers do not compare.

    Args:
        rows: their names.
        columns: their names.
        values: ``[rows][columns]``; NaN is left empty.
        xlabel: what the columns are.
        title: what the values are.
        note: a sentence below.
        shaded: whether each column has colours, from its lowest (dark) to its highest value.
        ax: the axes of matplotlib to draw on; None: those of a new figure, as large as it must be.

    Returns:
        The figure and its axes.

    Raises:
        MissingPackageError: if matplotlib is not installed.
    """
    by_column = [_shades(column, shaded) for column in zip(*values, strict=True)]
    shades = list(zip(*by_column, strict=True))
    cell = max(_CELL[0], _LETTER * max(map(len, columns)) + 0.2)
    labels = _LETTER * max(map(len, rows)) + 0.4
    width = max(labels + cell * len(columns) + 0.3, _LETTER * len(title) + labels, 3.6)
    lines = textwrap.wrap(note, max(20, int((width - 0.4) / (_LETTER * 0.85))))
    ax = _axes(ax, (width, 1.2 + _CELL[1] * len(rows) + 0.18 * len(lines)))
    ax.imshow(shades, aspect="auto", cmap="viridis", vmin=0, vmax=1)
    for place in range(1, len(columns)):
        ax.axvline(place - 0.5, color="lightgrey", linewidth=0.8)
    for place in range(1, len(rows)):
        ax.axhline(place - 0.5, color="lightgrey", linewidth=0.8)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlabel=xlabel, title=title)
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            if not math.isnan(value):
                color = "white" if shades[y][x] <= 0.4 else "black"
                ax.text(x, y, f"{value:.3f}", ha="center", va="center", color=color)
    if lines:
        ax.figure.supxlabel("\n".join(lines), fontsize="small")
    return ax.figure, ax


def heatmap(alignment: Alignment, ax: Any = None) -> tuple[Any, Any]:
    """See `Alignment.plot`: prediction downwards, reference to the right.

    A circle marks the match of a token of the prediction, a cross that of one of the reference.
    """
    pair = alignment.best
    height, width = len(pair.pred.tokens), len(pair.target.tokens)
    across, down = (min(24.0, 1.8 + _INCH * max(4, n)) for n in (width, height))
    ax = _axes(ax, (across, down))
    if height and width:
        image = ax.imshow(pair.similarity, cmap="viridis", aspect="auto")
        ax.figure.colorbar(image, ax=ax, label="cosine")
    for side, axis in ((pair.target, ax.xaxis), (pair.pred, ax.yaxis)):
        axis.set_ticks(range(len(side.tokens)), labels=_labels(side))
    ax.tick_params(axis="x", rotation=90)
    style = {"linestyle": "none", "color": "white", "markeredgecolor": "black"}
    matches = [(t.match, i) for i, t in enumerate(pair.pred.tokens) if t.match is not None]
    ax.plot(*zip(*matches), marker="o", label="of the prediction", **style) if matches else None
    matches = [(i, t.match) for i, t in enumerate(pair.target.tokens) if t.match is not None]
    ax.plot(*zip(*matches), marker="X", label="of the reference", **style) if matches else None
    ax.set_xlabel("reference")
    ax.set_ylabel("prediction")
    scores = (alignment.precision, alignment.recall, alignment.f1)
    ax.set_title("  ".join(f"{n} {v:.4f}" for n, v in zip(("P", "R", "F1"), scores)))
    return ax.figure, ax


def _labels(side: AlignedText) -> list[str]:
    """The tokens as labels, in which a dollar sign begins no formula."""
    return [token.text.replace("$", r"\$") or "␣" for token in side.tokens]


def _axes(given: Any, inches: tuple[float, float] | None = None) -> Any:
    """The axes that were given, or those of a new figure."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError(
            "plot needs matplotlib, which is not installed; wanted: pip install matplotlib"
        ) from error
    if given is not None:
        return given
    return Figure(figsize=inches, dpi=120, layout="constrained").subplots()


def _finite(values: Numbers) -> list[float]:
    """Numbers that can be drawn, in the order given."""
    return [number for number in map(float, values) if math.isfinite(number)]


def _shades(column: Sequence[float], shaded: bool) -> list[float]:
    """From 0, the lowest, to 1, the highest; NaN, no colour, where there is nothing to compare."""
    known = [value for value in column if not math.isnan(value)]
    lowest, highest = min(known, default=0.0), max(known, default=0.0)
    if not shaded or lowest == highest:
        return [math.nan] * len(column)
    return [(value - lowest) / (highest - lowest) for value in column]
