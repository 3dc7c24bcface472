"""One line an epoch, on the screen and in ``scores.tsv``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from .tables import (
    SCORES,
    SIGNATURE,
    TEST,
    folder_of,
    judged_epoch,
    rows_before,
    with_row,
    without_twin,
    write_tsv,
)


class ScoreTable(Callback):
    """Keeps the validation scores of each epoch, and those of a test.

    Args:
        folder: where ``scores.tsv``, ``test_scores.tsv`` and ``signature.txt`` go; None: where the
            trainer logs.
        columns: names under which the module logs the scores of a validation; a test logs the same
            with "test_" in the place of "val_". None: all that begin so.
        metric: the module's attribute that has the signature; without it there is no file of it.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        columns: Sequence[str] | None = None,
        metric: str = "bertscore",
    ) -> None:
        self.folder, self.metric = folder, metric
        self.columns = None if columns is None else list(columns)
        self.rows: list[dict[str, Any]] = []

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A validation alone has a table of its own."""
        self.rows = rows_before(trainer, self.rows)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add a line."""
        if trainer.sanity_checking:
            return
        columns = self._columns(trainer, "val_")
        row = self._row(trainer, pl_module, columns)
        self.rows = with_row(self.rows, row)
        scores = {name.removeprefix("val_"): row[name] for name in columns if name in row}
        ((shown,), _) = without_twin([scores])
        line = ", ".join(f"{name} {float(score):.4f}" for name, score in shown.items())
        pl_module.print(f"epoch {row['epoch']}: {line}")
        self._write(trainer, pl_module, SCORES, self.rows, columns)

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the line of the test."""
        columns = self._columns(trainer, "test_")
        self._write(trainer, pl_module, TEST, [self._row(trainer, pl_module, columns)], columns)

    def _columns(self, trainer: Trainer, prefix: str) -> list[str]:
        if self.columns is None:
            return sorted(name for name in trainer.callback_metrics if name.startswith(prefix))
        return [name.replace("val_", prefix, 1) for name in self.columns]

    def _row(
        self, trainer: Trainer, pl_module: LightningModule, columns: Sequence[str]
    ) -> dict[str, Any]:
        logged = trainer.callback_metrics
        scores = {name: f"{float(logged[name]):.6f}" for name in columns if name in logged}
        return {"epoch": judged_epoch(trainer, pl_module), **scores}

    def _write(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        name: str,
        rows: list[dict[str, Any]],
        columns: Sequence[str],
    ) -> None:
        if not trainer.is_global_zero:
            return
        folder = folder_of(self.folder, trainer)
        write_tsv(folder / name, rows, ["epoch", *columns])
        metric = getattr(pl_module, self.metric, None)
        if metric is not None:
            (folder / SIGNATURE).write_text(f"{metric.signature}\n", encoding="utf-8")

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs to go on with the table."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with the table of a checkpoint."""
        self.rows = list(state_dict["rows"])
