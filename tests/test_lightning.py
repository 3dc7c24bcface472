"""The metric in a Lightning trainer: logged as an object, under every precision, on one process and
two, in no checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from bertscore_tm import BERTScore, bert_score_collection
from reference import bertscore

lightning = pytest.importorskip("lightning")
from lightning.pytorch import Callback, LightningModule, Trainer  # noqa: E402

LAYER = 2
ROWS = [
    {"id": 0, "pred": "the cat sat on the mat", "target": "the cat sat on the mat"},
    {"id": 1, "pred": "the dog ran home", "target": "a dog ran"},
    {"id": 2, "pred": "rain", "target": "rain fell on the old town"},
    {"id": 3, "pred": "two cats sleep", "target": "two cats sleep quietly"},
    {"id": 4, "pred": "hello world", "target": "nobody knows why"},
]
PRECISIONS = ("32-true", "bf16-mixed", "bf16-true")


class Scored(LightningModule):
    """A linear layer that learns, and texts that are scored; `scored=False` leaves the metrics
    out."""

    def __init__(self, path: str, idf: bool = False, scored: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 1)
        self.scored = scored
        if scored:
            self.val = BERTScore(path, LAYER, idf=idf)
            self.all = bert_score_collection(path, LAYER, idf=idf, prefix="all_")
            self.step = BERTScore(path, LAYER)

    def training_step(self, batch: dict[str, Any], index: int) -> Tensor:
        if self.scored:
            self.step(batch["pred"], batch["target"])
            self.log("step", self.step, on_step=True, on_epoch=True, batch_size=len(batch["pred"]))
        loss: Tensor = (
            self.linear(torch.ones(1, 2, device=self.device, dtype=self.linear.weight.dtype))
            .square()
            .mean()
        )
        return loss

    def validation_step(self, batch: dict[str, Any], index: int) -> None:
        if self.scored:
            for metric in (self.val, self.all):
                metric.update(batch["pred"], batch["target"], sample_ids=batch["id"])
            self.log("val", self.val, batch_size=len(batch["pred"]))
            self.log_dict(self.all, batch_size=len(batch["pred"]))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=0.01)

    def train_dataloader(self) -> DataLoader[Any]:
        return DataLoader(ROWS, batch_size=2)  # type: ignore[arg-type]

    val_dataloader = train_dataloader


class Notes(Callback):
    """What was logged in each epoch, by every rank, on disk: a spawned trainer hands back what the
    first one saw only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_validation_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        self._note(trainer, "val")

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        self._note(trainer, "train")

    def _note(self, trainer: Trainer, stage: str) -> None:
        metrics = {name: value.item() for name, value in trainer.callback_metrics.items()}
        with (self.folder / f"{stage}-{trainer.global_rank}.jsonl").open(
            "a", encoding="utf-8"
        ) as file:
            file.write(json.dumps(metrics) + "\n")

    def __call__(self, stage: str, rank: int = 0) -> list[dict[str, float]]:
        lines = (self.folder / f"{stage}-{rank}.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def trainer(folder: Path, **options: Any) -> Trainer:
    quiet = {
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": False,
    }
    usual = {
        "accelerator": "cpu",
        "devices": 1,
        "max_epochs": 2,
        "num_sanity_val_steps": 0,
        "log_every_n_steps": 1,
    }
    return Trainer(**{**usual, **quiet, "default_root_dir": folder, **options})


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    dtype = torch.get_default_dtype()
    yield
    assert torch.get_default_dtype() == dtype


@pytest.fixture(scope="module")
def path(tiny: Callable[[str], str]) -> str:
    return tiny("bert-dropout")  # with dropout 0.5: whoever leaves it on will notice


@pytest.fixture(scope="module")
def wanted(path: str) -> Callable[[bool], dict[str, float]]:
    def values(idf: bool) -> dict[str, float]:
        rows = bertscore(
            [row["pred"] for row in ROWS], [row["target"] for row in ROWS], path, LAYER, idf=idf
        )
        mean = {name: sum(column) / len(column) for name, column in rows.items()}
        return {"val": mean["f1"], **{f"all_{name}": value for name, value in mean.items()}}

    return values


def parts(logged: dict[str, float], names: Any) -> dict[str, float]:
    return {name: logged[name] for name in names}


@pytest.mark.parametrize("idf", [False, True], ids=["plain", "idf"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_one_process(path: str, wanted: Any, notes: Notes, precision: str, idf: bool) -> None:
    module = Scored(path, idf)
    run = trainer(notes.folder, precision=precision, callbacks=[notes])
    run.fit(module)
    assert len(notes("val")) == 2
    for logged in notes("val"):
        assert parts(logged, wanted(idf)) == pytest.approx(wanted(idf), abs=1e-4)
    assert notes("train")[-1]["step_epoch"] == pytest.approx(wanted(False)["val"], abs=1e-4)
    assert notes("train")[-1]["step_step"] == pytest.approx(
        bertscore([ROWS[4]["pred"]], [ROWS[4]["target"]], path, LAYER)["f1"][0], abs=1e-4
    )
    assert all(state.dtype != torch.bfloat16 for state in module.val._packed.values())
    assert module.val.packed("scores").dtype == torch.float32
    (validated,) = run.validate(module, verbose=False)
    assert parts(validated, wanted(idf)) == pytest.approx(wanted(idf), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
def test_two_processes(path: str, wanted: Any, notes: Notes, precision: str) -> None:
    """Five rows: the sampler deals one of them twice. No search for unused parameters is needed."""
    idf = precision == "32-true"
    run = trainer(
        notes.folder, precision=precision, callbacks=[notes], devices=2, strategy="ddp_spawn"
    )
    run.fit(Scored(path, idf))
    for rank in range(2):
        assert len(notes("val", rank)) == 2
        for logged in notes("val", rank):
            assert parts(logged, wanted(idf)) == pytest.approx(wanted(idf), abs=1e-4)


def test_checkpoints_have_no_new_keys_and_load_both_ways(
    path: str, wanted: Any, notes: Notes
) -> None:
    saved = {}
    for scored in (True, False):
        module = Scored(path, scored=scored)
        run = trainer(notes.folder, max_epochs=1)
        run.fit(module)
        run.save_checkpoint(saved.setdefault(scored, notes.folder / f"{scored}.ckpt"))
    states = {
        scored: torch.load(file, weights_only=True)["state_dict"] for scored, file in saved.items()
    }
    assert states[True].keys() == states[False].keys() == {"linear.weight", "linear.bias"}
    for scored in (True, False):
        module = Scored(path, scored=scored)
        module.load_state_dict(states[not scored], strict=True)
        run = trainer(notes.folder, max_epochs=2)
        run.fit(module, ckpt_path=str(saved[not scored]))
        if scored:
            assert parts(dict(run.callback_metrics), wanted(False)) == pytest.approx(
                wanted(False), abs=1e-4
            )


def test_the_optimizer_sees_no_parameter_of_the_scorer(path: str, notes: Notes) -> None:
    module = Scored(path)
    run = trainer(notes.folder, max_epochs=1)
    run.fit(module)
    (optimizer,) = run.optimizers
    held = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
    assert held == {id(module.linear.weight), id(module.linear.bias)}
    assert sum(weight.numel() for weight in module.parameters()) == 3
    assert not list(module.val.buffers())


def test_training_mode_switches_no_dropout_on(path: str, wanted: Any) -> None:
    module = Scored(path).train()
    module.val.update([row["pred"] for row in ROWS], [row["target"] for row in ROWS])
    assert module.val.training
    assert module.val.compute().item() == pytest.approx(wanted(False)["val"], abs=1e-5)
