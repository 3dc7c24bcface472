"""Tables with a line for each epoch, and which epoch that is."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn

# The files of a run.
SCORES, TEST, LAYERS = "scores.tsv", "test_scores.tsv", "layers.tsv"
SIGNATURE = "signature.txt"


def write_tsv(path: Path, rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """Write a table with a head; what a row lacks is "nan"."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(
            file,
            columns,
            delimiter="\t",
            restval="nan",
            extrasaction="ignore",  # a resumed table may have had others
            lineterminator="\n",
        )
        table.writeheader()
        table.writerows(rows)


def without_twin(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """Rows without the score that "bertscore" repeats in all of them, and its name or nothing."""
    for name in ("f1", "precision", "recall"):
        if rows and all(row.get("bertscore", "") == row.get(name) for row in rows):
            return [{k: v for k, v in row.items() if k != name} for row in rows], name
    return list(rows), ""


def folder_of(given: str | Path | None, trainer: Trainer) -> Path:
    """Where files go: where it was said, or where the trainer logs."""
    return Path(given or trainer.log_dir or trainer.default_root_dir)


def judged_epoch(trainer: Trainer, pl_module: LightningModule) -> int:
    """The epoch that made the weights: of this training, or that of the checkpoint.

    Without a training the trainer counts from 0, whatever was loaded: a module may say it in its
    attribute ``loaded_epoch``.
    """
    if trainer.state.fn == TrainerFn.FITTING:
        return trainer.current_epoch
    return int(getattr(pl_module, "loaded_epoch", 0))


def with_row(rows: list[dict[str, Any]], row: dict[str, Any]) -> list[dict[str, Any]]:
    """A table with a further line, in the place of one for the same epoch if there is one."""
    others = [other for other in rows if other["epoch"] != row["epoch"]]
    return sorted([*others, row], key=lambda line: int(line["epoch"]))


def rows_before(trainer: Trainer, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines that a table goes on with: none outside of a training.

    A checkpoint brings the lines of its training along, which a validation has not made.
    """
    return rows if trainer.state.fn == TrainerFn.FITTING else []
