"""What the model wrote, with the score of each text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from bertscore_tm import BERTScore

from .epochs import judged_epoch

_SCORES = ("f1", "precision", "recall")


class Samples(Callback):
    """Keeps the texts of each validation and of the test, and of these the best and the worst.

    After each epoch there are ``predictions/epoch_003.jsonl`` (all rows, in the order of the data
    set; `evaluate.py` reads it), ``samples/epoch_003.tsv`` (the best and the worst), and the same
    in TensorBoard; after a test ``predictions/test.jsonl`` and ``samples/test.tsv``. Rank zero
    writes.

    Args:
        metric: makes a `BERTScore`. What it encodes the module has encoded already: it comes from
            the cache.
        folder: where the files go.
        most: texts of each kind.
    """

    def __init__(self, metric: partial[BERTScore], folder: str, most: int = 8) -> None:
        self.metric, self.folder, self.most = metric, Path(folder), most
        self.rows: dict[int, dict[str, Any]] = {}

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin anew."""
        self.scores = self.metric(score=None, reduction="none").to(pl_module.device)
        self.scores.warns = False  # the module's metric has said it
        self.rows = {}

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Mapping[str, Any],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Score the texts of a batch."""
        preds = outputs["preds"]
        self.scores.update(preds, batch["targets"], sample_ids=batch["ids"])
        for place, source, targets, text in zip(
            batch["ids"].tolist(), batch["sources"], batch["targets"], preds, strict=True
        ):
            row = {"id": place, "source": source, "target": targets, "prediction": text}
            self.rows[place] = row

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the files."""
        name = f"epoch_{judged_epoch(trainer, pl_module):03d}"
        self._write(trainer, name, "validation samples")

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """As in validation."""
        self.on_validation_start(trainer, pl_module)

    def on_test_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Mapping[str, Any],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """As in validation."""
        self.on_validation_batch_end(trainer, pl_module, outputs, batch, batch_idx)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the files."""
        self._write(trainer, "test", "test samples")

    def _write(self, trainer: Trainer, name: str, title: str) -> None:
        scores = self.scores.compute()  # over all processes, in the order of the ids
        assert isinstance(scores, dict)
        rows = _of_all_ranks(self.rows)
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        scored = [
            {**rows[place], **{name: round(float(scores[name][i]), 6) for name in _SCORES}}
            for i, place in enumerate(sorted(rows))
        ]
        lines = [json.dumps(row, ensure_ascii=False) for row in scored]
        _write(self.folder / "predictions" / f"{name}.jsonl", "\n".join(lines))
        ranked = sorted(scored, key=lambda row: -row["f1"])
        extremes = [("best", row) for row in ranked[: self.most]]
        extremes += [("worst", row) for row in ranked[::-1][: self.most]]
        head = ("kind", "id", *_SCORES, "prediction", "target", "source")
        table: list[tuple[str, ...]] = [head]
        table += [(kind, *(_cell(row[name]) for name in head[1:])) for kind, row in extremes]
        _write(self.folder / "samples" / f"{name}.tsv", "\n".join(map("\t".join, table)))
        for logger in trainer.loggers:
            experiment: Any = getattr(logger, "experiment", None)
            if hasattr(experiment, "add_text"):  # TensorBoard
                experiment.add_text(title, _markdown(table), trainer.global_step)


def _of_all_ranks(rows: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    if not (dist.is_available() and dist.is_initialized()):
        return rows
    parts: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(parts, rows)
    return {place: row for part in parts for place, row in part.items()}


def _cell(value: Any) -> str:
    """Text without the characters that part columns and lines."""
    return " ".join((" ||| ".join(value) if isinstance(value, list) else str(value)).split())


def _markdown(table: list[tuple[str, ...]]) -> str:
    lines = [" | ".join(cell.replace("|", "\\|")[:300] for cell in row) for row in table]
    return "\n".join([lines[0], " | ".join("---" for _ in table[0]), *lines[1:]])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")
