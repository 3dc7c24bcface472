"""Which epoch is judged, and tables with a line for each."""

from __future__ import annotations

from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn


def judged_epoch(trainer: Trainer, pl_module: LightningModule) -> int:
    """The epoch that made the weights: of this training, or that of the checkpoint.

    Without a training the trainer counts from 0, whatever was loaded.
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
