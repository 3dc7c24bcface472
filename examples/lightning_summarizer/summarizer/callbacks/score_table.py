"""One line an epoch: in ``scores.tsv`` while training, and printed at its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer


class ScoreTable(Callback):
    """Keeps the validation scores of each epoch.

    Args:
        folder: where ``scores.tsv`` and ``signature.txt`` go.
        columns: names under which the module logs them.
    """

    def __init__(self, folder: str, columns: Sequence[str]) -> None:
        self.folder, self.columns = Path(folder), list(columns)
        self.rows: list[dict[str, float]] = []

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add a line."""
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        logged = trainer.callback_metrics
        self.rows.append(
            {"epoch": trainer.current_epoch, **{name: float(logged[name]) for name in self.columns if name in logged}}
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = ["\t".join(f"{row.get(name, float('nan')):.6g}" for name in ("epoch", *self.columns)) for row in self.rows]
        (self.folder / "scores.tsv").write_text("\n".join(["\t".join(("epoch", *self.columns)), *lines, ""]))
        (self.folder / "signature.txt").write_text(f"{pl_module.bertscore.signature}\n")

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Print the table."""
        if trainer.is_global_zero and self.rows:
            print(f"\n{self.text()}\n\n{pl_module.bertscore.signature}\n\nResults: {self.folder}", flush=True)

    def text(self) -> str:
        """The table as text."""
        names = ["epoch", *(name for name in self.columns if any(name in row for row in self.rows))]
        head = [name.removeprefix("val_") for name in names]
        lines = [[f"{row['epoch']:.0f}", *(f"{row.get(name, float('nan')):.4f}" for name in names[1:])] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in (head, *lines)
        )

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs to go on with the table."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with the table of a checkpoint."""
        self.rows = list(state_dict["rows"])
