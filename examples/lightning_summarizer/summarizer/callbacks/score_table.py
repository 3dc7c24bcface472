"""One line an epoch, on the screen and in ``scores.tsv``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from ..reports import SCORES, SIGNATURE, TEST, without_twin, write_tsv
from .epochs import judged_epoch, rows_before, with_row


class ScoreTable(Callback):
    """Keeps the validation scores of each epoch, and those of a test.

    Args:
        folder: where ``scores.tsv``, ``test_scores.tsv`` and ``signature.txt`` go.
        columns: names under which the module logs the scores of a validation.
    """

    def __init__(self, folder: str, columns: Sequence[str]) -> None:
        self.folder, self.columns = Path(folder), list(columns)
        self.rows: list[dict[str, Any]] = []

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A validation alone has a table of its own."""
        self.rows = rows_before(trainer, self.rows)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add a line."""
        if trainer.sanity_checking:
            return
        row = self._row(trainer, pl_module, self.columns)
        self.rows = with_row(self.rows, row)
        scores = {name.removeprefix("val_"): row[name] for name in self.columns if name in row}
        ((shown,), _) = without_twin([scores])
        line = ", ".join(f"{name} {float(score):.4f}" for name, score in shown.items())
        pl_module.print(f"epoch {row['epoch']}: {line}")
        self._write(trainer, pl_module, SCORES, self.rows, self.columns)

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the line of the test."""
        columns = [name.replace("val_", "test_", 1) for name in self.columns]
        self._write(trainer, pl_module, TEST, [self._row(trainer, pl_module, columns)], columns)

    def _row(
        self, trainer: Trainer, pl_module: LightningModule, columns: Sequence[str]
    ) -> dict[str, Any]:
        logged = trainer.callback_metrics
        scores = {name: f"{float(logged[name]):.6f}" for name in columns if name in logged}
        return {"epoch": judged_epoch(trainer, pl_module), **scores}

    def _write(
        self,
        trainer: Trainer,
        pl_module: Any,  # the module of the example
        name: str,
        rows: list[dict[str, Any]],
        columns: Sequence[str],
    ) -> None:
        if trainer.is_global_zero:
            write_tsv(self.folder / name, rows, ["epoch", *columns])
            signature = f"{pl_module.bertscore.signature}\n"
            (self.folder / SIGNATURE).write_text(signature, encoding="utf-8")

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs to go on with the table."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with the table of a checkpoint."""
        self.rows = list(state_dict["rows"])
