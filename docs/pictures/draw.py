"""Draws the pictures of the pages, with the package itself: ``python docs/pictures/draw.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib

from bertscore_tm import explain

FOLDER = Path(__file__).parent


def main(folder: Path = FOLDER) -> None:
    """Write the pictures; the same bytes each time."""
    matplotlib.rcParams["svg.hashsalt"] = "bertscore_tm"
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
    figure, _ = explain("a dog ran home", "the dog went home", "minilm").plot()
    figure.savefig(folder / "alignment.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
