"""Tables over a resumed run, a checkpoint that is validated or tested, stopping, warnings."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
from commands import TINY, places
from composing import composed
from evaluate import evaluate
from summarizer.reports import read_tsv
from train import run

from bertscore_tm import BERTScoreWarning
from bertscore_tm.lightning.tables import with_row

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

LAYERS = ["callbacks=with_layers", "callbacks.layers.layers=[2,6]", "logger=none"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two epochs, and in ``resumed`` the same run with a third."""
    folder = tmp_path_factory.mktemp("epochs")
    run(composed(*TINY, *LAYERS, "trainer.max_epochs=2", *places(folder / "first", folder)))
    on = [f"checkpoint={folder}/first/checkpoints/last.ckpt", "trainer.max_epochs=3"]
    run(composed(*TINY, *LAYERS, *on, *places(folder / "resumed", folder)))
    return folder


@pytest.mark.parametrize("table", ["scores.tsv", "layers.tsv"])
def test_a_resumed_run_goes_on_with_its_tables(table: str, folder: Path) -> None:
    before, after = (read_tsv(folder / run / table) for run in ("first", "resumed"))
    assert [row["epoch"] for row in before] == ["0", "1"]
    assert [row["epoch"] for row in after] == ["0", "1", "2"]
    assert after[:2] == before


def test_a_checkpoint_is_validated_as_the_epoch_that_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = f"checkpoint={folder}/resumed/checkpoints/last.ckpt"
    new = folder / "validated"
    run(composed(*TINY, *LAYERS, "task=validate", checkpoint, *places(new, folder)))
    for table in ("scores.tsv", "layers.tsv"):
        rows, trained = read_tsv(new / table), read_tsv(folder / "resumed" / table)
        assert rows == trained[-1:]  # the same weights, the same scores, and no other epoch's
    printed = capsys.readouterr().out
    assert "\nOnly epoch: 2 (bertscore " in printed
    (line,) = re.findall("^epoch 2: .*", printed, re.M)
    assert (
        re.findall(r"(\w+) -?\d", line)
        == "epoch bertscore precision recall rougeL bleu chrf".split()
    )
    texts = [path.name for path in (new / "predictions").iterdir()]
    assert texts == ["epoch_002.jsonl"]


def test_a_test_keeps_its_texts_and_scores(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = f"checkpoint={folder}/first/checkpoints/last.ckpt"
    new = folder / "tested"
    value = run(composed(*TINY, "logger=none", "task=test", checkpoint, *places(new, folder)))
    file = new / "predictions" / "test.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["id"] for row in rows] == list(range(5))
    assert sum(row["f1"] for row in rows) / 5 == pytest.approx(value, abs=1e-5)
    settings = [f"predictions={file}", f"paths.output_dir={new}/again"]
    assert evaluate(composed(*settings, config="evaluate")) == pytest.approx(value, abs=1e-5)
    samples = read_tsv(new / "samples" / "test.tsv")
    assert {row["kind"] for row in samples} == {"best", "worst"}
    (scores,) = read_tsv(new / "test_scores.tsv")
    assert scores["epoch"] == "1"
    assert float(scores["test_bertscore"]) == pytest.approx(value, abs=1e-6)
    printed = capsys.readouterr().out
    assert "Test:\nepoch  bertscore" in printed
    assert "predictions/test.jsonl" in printed


def test_an_early_end_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    never = ["callbacks.early_stopping.patience=1", "callbacks.early_stopping.min_delta=1"]
    new = folder / "stopped"
    settings = [*TINY, "logger=none", *never, "trainer.max_epochs=5", *places(new, folder)]
    run(composed(*settings))
    rows = read_tsv(new / "scores.tsv")
    assert [row["epoch"] for row in rows] == ["0", "1"]
    first = float(rows[0]["val_bertscore"])
    printed = capsys.readouterr().out
    line = f"Stopped early after epoch 1: val_bertscore got no better than {first:.4f} for 1 valid"
    assert line in printed
    assert "(patience=1)" in printed

    run(composed(*TINY, "logger=none", *places(folder / "not_stopped", folder)))
    assert "Stopped early" not in capsys.readouterr().out


def test_a_warning_comes_once_an_epoch(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [{"source": f"the cat number {i}", "target": ""} for i in range(3)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tiny = [setting for setting in TINY if not setting.startswith("data.")]
    data = ["data=files", *(f"data.{split}={file}" for split in ("train", "val", "test"))]
    new = places(tmp_path / "run", folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(composed(*tiny, *LAYERS, *data, "trainer.max_epochs=3", "test=true", *new))
    said = [str(one.message) for one in caught if issubclass(one.category, BERTScoreWarning)]
    assert len(said) == 4  # three epochs and the test
    assert all("3 of 3 samples have nothing to score" in message for message in said)


def test_a_line_for_the_same_epoch_takes_its_place() -> None:
    rows = [{"epoch": 0, "a": "1"}, {"epoch": 10, "a": "2"}]
    assert with_row(rows, {"epoch": 10, "a": "3"}) == [rows[0], {"epoch": 10, "a": "3"}]
    assert [row["epoch"] for row in with_row(rows, {"epoch": 9, "a": "3"})] == [0, 9, 10]
