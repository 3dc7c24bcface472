"""The score of every layer of the encoder, epoch by epoch, from one pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from ..metric import BERTScore
from ..plotting import score_table
from .steps import Maker, make_like, texts_of
from .tables import LAYERS, folder_of, judged_epoch, rows_before, with_row, write_tsv

NOTE = "Scores of different layers do not compare: each layer has a scale of its own."


class Layers(Callback):
    """Writes ``layers.tsv`` and ``layers.png``: a line an epoch, a column a layer.

    Args:
        metric: a `BERTScore` whose settings are taken, or what makes one.
        folder: where the files go; None: where the trainer logs.
        layers: "all", or the number of a hidden state, or several.

    Raises:
        InvalidTypeError: if ``metric`` makes no `BERTScore`.
        InvalidValueError: if the encoder has no such layers.
    """

    def __init__(
        self,
        metric: Maker,
        folder: str | Path | None = None,
        layers: str | int | Sequence[int] = "all",
    ) -> None:
        self.metric, self.folder, self.layers = metric, folder, layers
        self.rows: list[dict[str, Any]] = []
        self._new()  # a wrong layer is noticed now, not after an epoch

    def _new(self) -> BERTScore:
        return make_like(self.metric, num_layers=self.layers, score="f1", reduction="mean")

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin anew; texts of earlier epochs come from the cache."""
        self.rows = rows_before(trainer, self.rows)
        self.scores = self._new().to(pl_module.device)
        self.scores.warns = False  # the module's metric has said it

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Score the texts of a batch with all layers."""
        texts = texts_of(outputs, batch)
        self.scores.update(texts.preds, texts.targets, sample_ids=texts.ids)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the files."""
        scores = self.scores.compute()  # over all processes: "layer_5", or a number if it is one
        if not isinstance(scores, dict):
            scores = {f"layer_{self.scores.layers[0]}": scores}
        values = {name: float(value) for name, value in scores.items()}
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        row = {name: f"{value:.6f}" for name, value in values.items()}
        self.rows = with_row(self.rows, {"epoch": judged_epoch(trainer, pl_module), **row})
        folder = folder_of(self.folder, trainer)
        write_tsv(folder / LAYERS, self.rows, ["epoch", *values])
        figure, _ = score_table(
            [f"epoch {row['epoch']}" for row in self.rows],
            [name.removeprefix("layer_") for name in values],
            [[float(row.get(name, "nan")) for name in values] for row in self.rows],
            note=NOTE,
            shaded=True,  # epochs of one layer do compare
        )
        figure.savefig(folder / "layers.png")

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs to go on with the table."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with the table of a checkpoint."""
        self.rows = list(state_dict["rows"])
