"""An alignment for the terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from .decoding import shown
from .levels import LEVELS, floor_of, level_of
from .segments import isolated, segments_of

if TYPE_CHECKING:
    from .alignment import AlignedPair, AlignedText, Alignment

# Of the 256 colours of terminals, from orange (least alike) over grey to blue, behind black text.
_COLORS = (208, 214, 215, 222, 223, 254, 195, 153, 117, 75, 69)
_BARS = " ▏▎▍▌▋▊▉█"
_BAR = 6  # characters


def as_text(alignment: Alignment, color: bool | None = None) -> str:
    """See `Alignment.to_text`."""
    color = _wants_color() if color is None else color
    scores = (alignment.precision, alignment.recall, alignment.f1)
    lines = ["  ".join(f"{n} {v:.6f}" for n, v in zip(("P", "R", "F1"), scores))]
    for number, pair in enumerate(alignment.pairs):
        lines.append("")
        if len(alignment.pairs) > 1:
            names = [name for name, places in alignment.taken.items() if number in places]
            lines.append(f"reference {number + 1}: {_taken(names)}")
        floor = floor_of(pair)
        lines += _side(pair, pair.pred, "prediction", "precision", floor, color)
        lines += _side(pair, pair.target, "reference", "recall", floor, color)
    return "\n".join([*lines, alignment.signature]) + "\n"


def _taken(names: list[str]) -> str:
    return f"gives {', '.join(names)}" if names else "gives no score"


def _side(
    pair: AlignedPair, side: AlignedText, name: str, score: str, floor: float, color: bool
) -> list[str]:
    """The text, and a line for each of its tokens that counts."""
    value: float | None = getattr(pair, score)
    other = pair.target if side is pair.pred else pair.pred
    said = "nothing to score" if value is None else f"{score} {value:.4f}"
    cut = f", tokens cut off: {side.lost}" if side.lost else ""
    lines = [f"{name} ({said}{cut})", f"  {_running(side, floor, color)}"]
    if value is None:
        return [*lines, ""]
    total = sum(token.weight for token in side.tokens) or 1.0
    lines.append("  cosine  weight    adds")
    for place, token in enumerate(side.tokens):
        if token.match is None or token.similarity is None:
            continue
        bar = _bar(level_of(side, (place,), floor) or 0)
        words = f"{_word(token.text)} → {_word(other.tokens[token.match].text)}"
        values = f"{token.similarity:>8.4f} {token.weight / total:>6.1%} {token.contribution:>8.4f}"
        lines.append(f"{values}  {bar}  {words}")
    return [*lines, ""]


def _running(side: AlignedText, floor: float, color: bool) -> str:
    """The text, its tokens in colour, without those that were added; what was cut off is dim."""
    parts = []
    for segment in segments_of(side):
        text = shown(segment.text)
        level = level_of(side, segment.tokens, floor)
        if segment.added:
            continue
        if color and segment.cut:
            text = f"\x1b[2;9m{text}\x1b[0m"
        elif segment.cut:
            text = f" [cut off: {text.strip()}]"
        elif color and level is not None and text:
            text = f"\x1b[30;48;5;{_COLORS[level]}m{text}\x1b[0m"
        parts.append(text)
    return isolated("".join(parts))


def _word(text: str) -> str:
    return isolated(shown(text)) if text else "␣"


def _bar(level: int) -> str:
    whole, part = divmod(level * _BAR * 8 // LEVELS, 8)
    return ("█" * whole + _BARS[part].strip()).ljust(_BAR)


def _wants_color() -> bool:
    """After https://no-color.org, which any value that is not empty obeys."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()
