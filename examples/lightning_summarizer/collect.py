"""Collect the runs of a sweep: ``python collect.py multirun/NAME/DATE`` writes runs.csv and heatmap.png there."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from summarizer.pictures import heatmap
from summarizer.reports import LAYERS, SCORES, SIGNATURE, aligned, read_tsv


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="of a sweep: the one that has a folder for each job"
    )
    folder: Path = parser.parse_args(arguments).folder
    runs = [
        row
        for path in sorted(folder.glob("*/.hydra/config.yaml"), key=_number)
        for row in read_run(path.parents[1])
    ]
    if not runs:
        print(
            f"{folder} holds no finished runs; wanted the folder of a sweep, such as multirun/NAME/DATE",
            file=sys.stderr,
        )
        return 1
    columns = list(dict.fromkeys(name for row in runs for name in row))
    with (folder / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, restval="")
        table.writeheader()
        table.writerows(runs)
    _picture(folder / "heatmap.png", runs)
    print(
        aligned(
            [{name: row.get(name, "") for name in columns if name != "signature"} for row in runs]
        )
    )
    print(f"\n{folder / 'runs.csv'}\n{folder / 'heatmap.png'}")
    return 0


def read_run(folder: Path) -> list[dict[str, Any]]:
    """Lines for a run: its overrides, encoder and layer, and scores: of the best epoch, or of each layer that was evaluated."""
    if not (folder / SIGNATURE).is_file():  # it has failed, or goes on
        return []
    signature = (folder / SIGNATURE).read_text(encoding="utf-8").strip()
    facts = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    overrides = OmegaConf.to_container(OmegaConf.load(folder / ".hydra" / "overrides.yaml"))
    head = {
        "job": folder.name,
        "overrides": " ".join(overrides),
        "encoder": facts["encoder"].split("@")[0],
    }
    if scores := read_tsv(folder / SCORES):
        best = max(scores, key=lambda row: float(row["val_bertscore"]))
        layer = facts["layers"].removesuffix("(default)")
        values = {
            name.removeprefix("val_"): value for name, value in best.items() if name != "val_f1"
        }
        lines = [{"layer": layer, "f1": best["val_f1"], **values}]
    else:
        lines = [dict(row) for row in read_tsv(folder / LAYERS) if "f1" in row]
    return [{**head, **line, "signature": signature} for line in lines]


def _picture(path: Path, runs: list[dict[str, Any]]) -> None:
    """F1 by encoder and layer; the best one where there are several."""
    encoders = list(dict.fromkeys(row["encoder"] for row in runs))
    layers = sorted({row["layer"] for row in runs}, key=int)
    values = [
        [
            max(
                (float(r["f1"]) for r in runs if (r["encoder"], r["layer"]) == (encoder, layer)),
                default=math.nan,
            )
            for layer in layers
        ]
        for encoder in encoders
    ]
    heatmap(path, encoders, layers, values, "layer", "BERTScore F1")


def _number(path: Path) -> tuple[int, str]:
    name = path.parents[1].name
    return (int(name) if name.isdigit() else sys.maxsize, name)


if __name__ == "__main__":
    sys.exit(main())
