"""The score of every layer of the encoder, epoch by epoch, from one pass."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer

from bertscore_tm import BERTScore

from ..pictures import heatmap


class Layers(Callback):
    """Writes ``layers.tsv`` and ``layers.png``: a line an epoch, a column a layer.

    Args:
        metric: makes a `BERTScore`.
        folder: where the files go.
        layers: "all", or numbers of hidden states.
    """

    def __init__(self, metric: partial[BERTScore], folder: str, layers: Any = "all") -> None:
        self.metric, self.folder, self.layers = metric, Path(folder), layers
        self.rows: dict[str, list[float]] = {}
        self.scores: BERTScore | None = None

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin anew; texts of earlier epochs stay in the cache."""
        if self.scores is None:
            self.scores = self.metric(num_layers=self.layers, score="f1", reduction="mean")
            self.scores.warns = False  # the module's metric has said it
        self.scores.to(pl_module.device).reset()

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Mapping[str, Any],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Score the texts of a batch with all layers."""
        assert self.scores is not None
        self.scores.update(outputs, batch["targets"], sample_ids=batch["ids"])

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the files."""
        assert self.scores is not None
        values = self.scores.compute()  # "layer_5" and so on, over all processes
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        self.rows[f"epoch {trainer.current_epoch}"] = [float(value) for value in values.values()]
        names = [name.removeprefix("layer_") for name in values]
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = ["\t".join(("epoch", *values))]
        lines += ["\t".join((row.split()[1], *(f"{v:.6f}" for v in line))) for row, line in self.rows.items()]
        (self.folder / "layers.tsv").write_text("\n".join([*lines, ""]))
        heatmap(self.folder / "layers.png", list(self.rows), names, list(self.rows.values()), "layer", "BERTScore F1")

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Print the table."""
        if trainer.is_global_zero and self.rows:
            print(f"\nF1 of each layer:\n{(self.folder / 'layers.tsv').read_text().expandtabs(12)}", flush=True)
