"""What the model wrote, with the score of each text."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import torch.distributed as dist
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from ..errors import InvalidValueError
from ..explaining import explain
from ..idf import IdfTable
from ..metric import BERTScore
from ..plotting import histogram
from .steps import Maker, make_like, settings_of, texts_of
from .tables import folder_of, judged_epoch

_SCORES = ("f1", "precision", "recall")


class Samples(Callback):
    """Keeps the texts of each validation and of the test, and of these the best and the worst.

    After each epoch there are ``predictions/epoch_003.jsonl`` (all rows, in the order of the data
    set) and ``samples/epoch_003.tsv`` (the best and the worst); after a test
    ``predictions/test.jsonl`` and ``samples/test.tsv``. TensorBoard has the same table, the spread
    of the scores, and how the worst text got its score. Rank zero writes.

    Args:
        metric: a `BERTScore` whose settings are taken, or what makes one. What it encodes the
            module's metric has encoded already: it comes from the cache.
        folder: where the files go; None: where the trainer logs.
        most: texts of each kind.

    Raises:
        InvalidTypeError: if ``metric`` makes no `BERTScore`.
        InvalidValueError: if it has several layers.
    """

    def __init__(self, metric: Maker, folder: str | Path | None = None, most: int = 8) -> None:
        self.metric, self.folder, self.most = metric, folder, most
        self.rows: list[dict[str, Any]] = []
        layers = self._new().layers  # what makes no metric is noticed now
        if len(layers) != 1:
            raise InvalidValueError(
                f"got a metric of {len(layers)} layers for Samples; wanted one of one layer, whose "
                "score ranks the texts"
            )

    def _new(self) -> BERTScore:
        return make_like(self.metric, score=None, reduction="none")

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin anew."""
        self.scores = self._new().to(pl_module.device)
        self.scores.warns = False  # the module's metric has said it
        self.rows = []

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Score the texts of a batch."""
        texts = texts_of(outputs, batch)
        self.scores.update(texts.preds, texts.targets, sample_ids=texts.ids)
        for i, (pred, target) in enumerate(zip(texts.preds, texts.targets)):
            row: dict[str, Any] = {} if texts.ids is None else {"id": texts.ids[i]}
            row |= {} if texts.sources is None else {"source": texts.sources[i]}
            targets = [target] if isinstance(target, str) else list(target)
            self.rows.append({**row, "target": targets, "prediction": pred})

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
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """As in validation."""
        self.on_validation_batch_end(trainer, pl_module, outputs, batch, batch_idx)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the files."""
        self._write(trainer, "test", "test samples")

    def _write(self, trainer: Trainer, name: str, title: str) -> None:
        scores: Any = self.scores.compute()  # over all processes, in the order of the ids
        rows = _of_all_ranks(self.rows)
        if trainer.sanity_checking or not trainer.is_global_zero or not rows:
            return
        columns = {score: scores[score].tolist() for score in _SCORES}
        scored = [
            {"id": i, **row, **{score: round(columns[score][i], 6) for score in _SCORES}}
            for i, row in enumerate(rows)
        ]
        folder = folder_of(self.folder, trainer)
        lines = [json.dumps(row, ensure_ascii=False) for row in scored]
        _write(folder / "predictions" / f"{name}.jsonl", "\n".join(lines))
        ranked = sorted(scored, key=lambda row: -row["f1"])
        table = _extremes(ranked, self.most)
        _write(folder / "samples" / f"{name}.tsv", "\n".join(map("\t".join, table)))
        for logger in trainer.loggers:
            experiment: Any = getattr(logger, "experiment", None)
            if hasattr(experiment, "add_figure"):  # TensorBoard
                experiment.add_text(title, _markdown(table), trainer.global_step)
                self._draw(experiment, title, ranked, trainer.global_step)

    def _draw(self, experiment: Any, title: str, ranked: list[dict[str, Any]], step: int) -> None:
        """The spread of the scores, and how the worst of them came about."""
        settings = settings_of(self.scores)
        if settings.get("idf") is True:  # the weights are those of all references
            references = [text for row in ranked for text in row["target"]]
            settings["idf"] = IdfTable.fit(references, self.scores.encoder)
        worst = ranked[-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fonts that lack a script; trouble that is known
            alignment = explain(worst["prediction"], worst["target"], **settings)
            figure, _ = histogram([row["f1"] for row in ranked])
            experiment.add_figure(f"{title}: spread of F1", figure, step)
            experiment.add_figure(f"{title}: the worst", alignment.plot()[0], step)


def _of_all_ranks(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of all ranks in the order in which the metric returns them."""
    if dist.is_available() and dist.is_initialized():
        parts: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(parts, rows)
        rows = [row for part in parts for row in part]
    if rows and "id" in rows[0]:
        by_id = {row["id"]: row for row in rows}
        return [by_id[place] for place in sorted(by_id)]
    return rows


def _extremes(ranked: list[dict[str, Any]], most: int) -> list[tuple[str, ...]]:
    """A table of the best and the worst rows, with its head."""
    texts = [name for name in ("prediction", "target", "source") if name in ranked[0]]
    head = ("kind", "id", *_SCORES, *texts)
    extremes = [("best", row) for row in ranked[:most]]
    extremes += [("worst", row) for row in ranked[::-1][:most]]
    return [head, *((kind, *(_cell(row[name]) for name in head[1:])) for kind, row in extremes)]


def _cell(value: Any) -> str:
    """Text without the characters that part columns and lines."""
    return " ".join((" ||| ".join(value) if isinstance(value, list) else str(value)).split())


def _markdown(table: list[tuple[str, ...]]) -> str:
    lines = [" | ".join(cell.replace("|", "\\|")[:300] for cell in row) for row in table]
    return "\n".join([lines[0], " | ".join("---" for _ in table[0]), *lines[1:]])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")
