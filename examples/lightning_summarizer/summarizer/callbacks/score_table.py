"""One line an epoch, on the screen and in ``scores.tsv``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer

from ..reports import SCORES, SIGNATURE, write_tsv


class ScoreTable(Callback):
    """Keeps the validation scores of each epoch.

    Args:
        folder: where ``scores.tsv`` and ``signature.txt`` go.
        columns: names under which the module logs them.
    """

    def __init__(self, folder: str, columns: Sequence[str]) -> None:
        self.folder, self.columns = Path(folder), list(columns)
        self.rows: list[dict[str, Any]] = []

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add a line."""
        if trainer.sanity_checking:
            return
        logged = trainer.callback_metrics
        scores = {name: f"{float(logged[name]):.6f}" for name in self.columns if name in logged}
        self.rows.append({"epoch": trainer.current_epoch, **scores})
        line = ", ".join(
            f"{name.removeprefix('val_')} {float(score):.4f}" for name, score in scores.items()
        )
        pl_module.print(f"epoch {trainer.current_epoch}: {line}")
        if trainer.is_global_zero:
            write_tsv(self.folder / SCORES, self.rows, ["epoch", *self.columns])
            (self.folder / SIGNATURE).write_text(
                f"{pl_module.bertscore.signature}\n", encoding="utf-8"
            )

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs to go on with the table."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with the table of a checkpoint."""
        self.rows = list(state_dict["rows"])
