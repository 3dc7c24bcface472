"""An alignment as a picture. matplotlib is imported with the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import MissingPackageError

if TYPE_CHECKING:
    from .alignment import AlignedText, Alignment

_INCH = 0.32  # of a token


def heatmap(alignment: Alignment, ax: Any = None) -> tuple[Any, Any]:
    """See `Alignment.plot`: prediction downwards, reference to the right.

    A circle marks the match of a token of the prediction, a cross that of one of the reference.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError(
            "plot needs matplotlib, which is not installed; wanted: pip install matplotlib"
        ) from error
    pair = alignment.best
    height, width = len(pair.pred.tokens), len(pair.target.tokens)
    if ax is None:
        inches = [min(24.0, 1.8 + _INCH * max(4, n)) for n in (width, height)]
        ax = Figure(figsize=(inches[0], inches[1]), layout="constrained").subplots()
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
