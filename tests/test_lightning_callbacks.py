"""`bertscore_tm.lightning`: what its callbacks write, for a module that only returns its texts."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import TensorBoardLogger

from bertscore_tm import BERTScore, IdfTable, bert_score
from bertscore_tm.errors import InvalidTypeError, InvalidValueError
from bertscore_tm.lightning import BestReport, Layers, Samples, ScoreTable
from bertscore_tm.lightning.steps import make_like, texts_of

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's advice

PREDS = ["a dog ran", "rain", "it was a | cold night", "the sun"]
TARGETS = ["a cat ran", "it rained all day", ["a cold night", "it was cold"], "the sun"]
GOOD = ["a cat ran", "it rained", "a cold night", "the sun"]


class Parrot(lightning.LightningModule):
    """Says in each epoch what it was told to."""

    def __init__(self, metric: BERTScore, epochs: list[list[str]], returns: Any = None) -> None:
        super().__init__()
        self.bertscore, self.epochs, self.returns = metric, epochs, returns
        self.weight = torch.nn.Linear(1, 1)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        return self.weight(torch.zeros(1, 1)).sum()

    def validation_step(self, batch: Any, batch_idx: int) -> Any:
        preds = [self.epochs[self.current_epoch][i] for i in batch]
        targets = [TARGETS[i] for i in batch]
        self.bertscore.update(preds, targets)
        self.log("val_bertscore", self.bertscore, batch_size=len(preds))
        return {"preds": preds, "targets": targets, **(self.returns or (lambda _: {}))(batch)}

    test_step = validation_step

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.1)

    def loader(self) -> Any:
        return torch.utils.data.DataLoader(range(4), 3, collate_fn=list)

    train_dataloader = val_dataloader = test_dataloader = loader


def trainer(folder: Path, *callbacks: Any, epochs: int = 2, **options: Any) -> Any:
    settings: dict[str, Any] = {"logger": False, "enable_checkpointing": False, **options}
    return lightning.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        callbacks=list(callbacks),
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
        **settings,
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(newline=""), delimiter="\t"))


@pytest.fixture
def metric(minilm: str) -> BERTScore:
    return BERTScore(minilm, 6)


def with_ids(batch: Any) -> dict[str, Any]:
    return {"ids": torch.tensor(batch), "sources": [f"source {i}" for i in batch]}


def test_all_that_they_write(metric: BERTScore, tmp_path: Path, minilm: str) -> None:
    module = Parrot(metric, [PREDS, GOOD], with_ids)
    parts = ScoreTable(tmp_path), Samples(metric, tmp_path, most=1), Layers(metric, tmp_path)
    trainer(tmp_path, *parts).fit(module)

    scores = [bert_score(texts, TARGETS, minilm, 6) for texts in (PREDS, GOOD)]
    assert [row["epoch"] for row in table(tmp_path / "scores.tsv")] == ["0", "1"]
    for row, wanted in zip(table(tmp_path / "scores.tsv"), scores):
        assert float(row["val_bertscore"]) == pytest.approx(float(wanted["f1"].mean()), abs=1e-5)
    assert (tmp_path / "signature.txt").read_text() == f"{metric.signature}\n"

    rows = lines(tmp_path / "predictions" / "epoch_000.jsonl")
    assert [row["prediction"] for row in rows] == PREDS
    assert rows[2]["target"] == TARGETS[2]
    assert [row["source"] for row in rows] == [f"source {i}" for i in range(4)]
    for name, values in scores[0].items():
        assert [row[name] for row in rows] == pytest.approx(values.tolist(), abs=1e-6)
    best, worst = table(tmp_path / "samples" / "epoch_000.tsv")
    assert (best["kind"], best["prediction"]) == ("best", "the sun")
    assert (worst["kind"], int(worst["id"])) == ("worst", int(scores[0]["f1"].argmin()))

    layers = bert_score(GOOD, TARGETS, minilm, "all")
    row = table(tmp_path / "layers.tsv")[1]
    assert list(row) == ["epoch", *(f"layer_{i}" for i in range(7))]
    for layer in range(7):
        wanted = float(layers[f"layer_{layer}_f1"].mean())
        assert float(row[f"layer_{layer}"]) == pytest.approx(wanted, abs=1e-5)
    assert (tmp_path / "layers.png").read_bytes().startswith(b"\x89PNG")


def test_without_ids_and_sources_rows_are_counted(metric: BERTScore, tmp_path: Path) -> None:
    trainer(tmp_path, Samples(partial(BERTScore, metric.model_name_or_path, 6))).fit(
        Parrot(metric, [PREDS, GOOD])
    )
    rows = lines(tmp_path / "predictions" / "epoch_001.jsonl")  # where the trainer logs
    assert [row["id"] for row in rows] == [0, 1, 2, 3]
    assert "source" not in rows[0]
    assert "source" not in table(tmp_path / "samples" / "epoch_001.tsv")[0]


def test_a_test_has_files_of_its_own(metric: BERTScore, tmp_path: Path) -> None:
    module = Parrot(metric, [PREDS])
    module.test_step = partial(_tested, module)
    trainer(tmp_path, ScoreTable(), Samples(metric)).test(module, verbose=False)
    assert [row["prediction"] for row in lines(tmp_path / "predictions" / "test.jsonl")] == PREDS
    (row,) = table(tmp_path / "test_scores.tsv")
    assert set(row) == {"epoch", "test_bertscore"}
    assert not (tmp_path / "scores.tsv").exists()


def _tested(module: Parrot, batch: Any, batch_idx: int) -> Any:
    preds, targets = [PREDS[i] for i in batch], [TARGETS[i] for i in batch]
    module.bertscore.update(preds, targets)
    module.log("test_bertscore", module.bertscore, batch_size=len(preds))
    return {"preds": preds, "targets": targets}


def test_tables_go_on_in_a_resumed_run(metric: BERTScore, tmp_path: Path) -> None:
    def parts(folder: Path) -> list[Any]:
        kept = ModelCheckpoint(tmp_path / "kept", save_last=True)
        return [ScoreTable(folder), Layers(metric, folder, layers=[2, 6]), kept]

    options = {"enable_checkpointing": True}
    trainer(tmp_path, *parts(tmp_path / "a"), epochs=1, **options).fit(Parrot(metric, [PREDS]))
    again = Parrot(metric, [PREDS, GOOD])
    last = tmp_path / "kept" / "last.ckpt"
    trainer(tmp_path, *parts(tmp_path / "b"), **options).fit(again, ckpt_path=last)
    for name in ("scores.tsv", "layers.tsv"):
        first, second = table(tmp_path / "a" / name), table(tmp_path / "b" / name)
        assert second[:1] == first
        assert [row["epoch"] for row in second] == ["0", "1"]


class Board:
    """What TensorBoard gets."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.figures: dict[str, Any] = {}

    def add_text(self, name: str, text: str, step: int) -> None:
        self.texts[name] = text

    def add_figure(self, name: str, figure: Any, step: int) -> None:
        self.figures[name] = figure


@pytest.mark.parametrize("idf", [False, True])
def test_pictures_for_tensorboard(
    idf: bool, minilm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = Board()
    monkeypatch.setattr(TensorBoardLogger, "experiment", board)
    metric = BERTScore(minilm, 6, idf=idf)
    logger = TensorBoardLogger(tmp_path)
    monkeypatch.setattr(logger, "log_metrics", lambda **_: None)
    monkeypatch.setattr(logger, "log_graph", lambda *_: None)
    monkeypatch.setattr(logger, "save", lambda: None)
    run = trainer(tmp_path, Samples(metric, tmp_path), epochs=1, logger=logger)
    run.fit(Parrot(metric, [PREDS]))
    assert set(board.figures) == {f"validation samples: {x}" for x in ("spread of F1", "the worst")}
    flat = [t for one in TARGETS for t in ([one] if isinstance(one, str) else one)]
    idf_of = IdfTable.fit(flat, metric.encoder) if idf else False
    wanted = bert_score(PREDS, TARGETS, minilm, 6, idf=idf_of)
    worst = int(wanted["f1"].argmin())
    title = board.figures["validation samples: the worst"].axes[0].get_title()
    values = "  ".join(
        f"{name} {float(wanted[score][worst]):.4f}"
        for name, score in (("P", "precision"), ("R", "recall"), ("F1", "f1"))
    )
    assert title == values
    spread = board.figures["validation samples: spread of F1"].axes[0]
    mean = spread.get_lines()[0].get_xdata()[0]
    assert mean == pytest.approx(float(wanted["f1"].mean()), abs=1e-5)
    assert r"it was a \| cold night" in board.texts["validation samples"]


def test_a_real_board_takes_them(metric: BERTScore, tmp_path: Path) -> None:
    logger = TensorBoardLogger(tmp_path, name="tb", version="0")
    trainer(tmp_path, Samples(metric), epochs=1, logger=logger).fit(Parrot(metric, [PREDS]))
    assert any((tmp_path / "tb" / "0").glob("events.*"))
    assert (tmp_path / "tb" / "0" / "predictions" / "epoch_000.jsonl").is_file()


def test_texts_are_what_was_returned_and_else_what_the_batch_has() -> None:
    batch = {"targets": ["b"], "preds": ["x"], "ids": torch.tensor([3]), "other": 1}
    assert texts_of({"preds": ["a"]}, batch) == (["a"], ["b"], None, [3])
    assert texts_of(None, {**batch, "sources": ["s"]}) == (["x"], ["b"], ["s"], [3])


@pytest.mark.parametrize(
    "outputs, batch, message",
    [
        (None, [1], "got no 'preds' from a step, which returned NoneType for list; wanted a step"),
        (
            {"loss": 1, "preds": []},
            {"x": 1},
            "got no 'targets' from a step, which returned dict with loss, preds for dict with x;",
        ),
        ({}, (), "which returned dict with nothing for tuple"),
    ],
)
def test_steps_without_texts(outputs: Any, batch: Any, message: str) -> None:
    with pytest.raises(InvalidValueError) as error:
        texts_of(outputs, batch)
    assert message in str(error.value)
    assert 'that returns {"preds": [texts], "targets": [references]}' in str(error.value)


def test_a_metric_is_a_pattern_or_made(minilm: str) -> None:
    pattern = BERTScore(minilm, 5, idf=True, beta=2.0)
    new = make_like(pattern, score=None)
    assert (new.num_layers, new.idf, new.beta, new.score) == (5, True, 2.0, None)
    assert new is not pattern
    assert make_like(partial(BERTScore, minilm), num_layers=3).layers == (3,)
    for wrong in ("minilm", None, partial(dict, a=1)):
        with pytest.raises(InvalidTypeError, match=r"wanted a BERTScore, or what makes one, such"):
            Samples(wrong)


def test_what_will_not_do_is_said_at_once(minilm: str) -> None:
    with pytest.raises(InvalidValueError, match="got a metric of 2 layers for Samples; wanted one"):
        Samples(BERTScore(minilm, [2, 3]))
    with pytest.raises(InvalidValueError, match="7"):
        Layers(BERTScore(minilm), layers=7)


@pytest.mark.parametrize("epochs, best", [([PREDS, GOOD], 1), ([GOOD, PREDS], 0)])
def test_the_report_is_that_of_the_best_epoch(
    epochs: Any, best: int, metric: BERTScore, tmp_path: Path, minilm: str
) -> None:
    parts = Samples(metric, tmp_path), BestReport()
    trainer(tmp_path, *parts).fit(Parrot(metric, epochs, with_ids))
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"epoch 00{best}" in html
    wanted = float(bert_score(GOOD, TARGETS, minilm, 6)["f1"].mean())
    assert f"val_bertscore {wanted:.4f}" in html
    assert "source 3" in html


def test_the_lowest_may_be_the_best(metric: BERTScore, tmp_path: Path) -> None:
    parts = Samples(metric, tmp_path), BestReport(mode="min", alignments=2)
    trainer(tmp_path, *parts).fit(Parrot(metric, [PREDS, GOOD]))
    assert "epoch 000" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_report_over_a_resumed_run(metric: BERTScore, tmp_path: Path, capsys: Any) -> None:
    def parts(folder: Path) -> list[Any]:
        kept = ModelCheckpoint(tmp_path / "kept", save_last=True)
        return [Samples(metric, folder), BestReport(), kept]

    options = {"enable_checkpointing": True}
    trainer(tmp_path, *parts(tmp_path / "a"), epochs=1, **options).fit(Parrot(metric, [GOOD]))
    last = tmp_path / "kept" / "last.ckpt"
    again = parts(tmp_path / "b")
    trainer(tmp_path, *again, **options).fit(Parrot(metric, [GOOD, PREDS]), ckpt_path=last)
    assert "epoch 000" in (tmp_path / "b" / "report.html").read_text(encoding="utf-8")
    (tmp_path / "a" / "predictions" / "epoch_000.jsonl").unlink()
    gone = parts(tmp_path / "c")
    trainer(tmp_path, *gone, **options).fit(Parrot(metric, [GOOD, PREDS]), ckpt_path=last)
    assert not (tmp_path / "c" / "report.html").exists()
    assert "with the texts of the best epoch, is not there." in capsys.readouterr().out


def test_reports_that_cannot_be(metric: BERTScore, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="got BestReport without Samples, whose texts it"):
        trainer(tmp_path, BestReport()).fit(Parrot(metric, [PREDS]))
    parts = Samples(metric, tmp_path), BestReport("val_loss")
    with pytest.raises(InvalidValueError, match="got no 'val_loss' from the module, which logs"):
        trainer(tmp_path, *parts, epochs=1).fit(Parrot(metric, [PREDS]))
