"""The example runs: experiments with tiny limits, resume, test, evaluation, sweeps."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import collect
import pytest
from commands import TINY, command, places
from composing import composed, names
from evaluate import evaluate
from summarizer.errors import SettingError
from summarizer.reports import read_tsv
from train import run

from bertscore_tm import BERTScoreWarning

# Lightning has advice for runs of this size.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.filterwarnings(f"error::{BERTScoreWarning.__module__}.BERTScoreWarning"),
]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in names("experiment") if name != "two_processes"])
def test_experiment(name: str, tmp_path: Path, data_dir: Path) -> None:
    value = run(composed(f"experiment={name}", *TINY, *places(tmp_path, data_dir)))
    (row,) = read_tsv(tmp_path / "scores.tsv")
    assert float(row["val_bertscore"]) == float(row["val_f1"]) == pytest.approx(value, abs=1e-6)
    assert len((tmp_path / "predictions" / "epoch_000.jsonl").read_text().splitlines()) == 5
    if name == "layer_sweep":
        (layers,) = read_tsv(tmp_path / "layers.tsv")
        assert list(layers) == ["epoch", *(f"layer_{i}" for i in range(7))]
        assert float(layers["layer_6"]) == pytest.approx(value, abs=1e-5)
        assert (tmp_path / "layers.png").stat().st_size > 1000


@pytest.mark.slow
def test_experiment_two_processes(tmp_path: Path, data_dir: Path) -> None:
    run(composed(*TINY, "task=validate", *places(tmp_path / "one", data_dir)))
    two = [
        "experiment=two_processes",
        "task=validate",
        *places(tmp_path / "two", data_dir),
        f"hydra.run.dir={tmp_path}/two",
    ]
    command("train.py", *TINY, *two)
    (one,), (two,) = (read_tsv(tmp_path / folder / "scores.tsv") for folder in ("one", "two"))
    for score in ("val_bertscore", "val_precision", "val_recall"):
        assert float(two[score]) == pytest.approx(float(one[score]), abs=2e-6)


@pytest.mark.slow
def test_texts_drawn_by_chance_on_two_processes(tmp_path: Path, data_dir: Path) -> None:
    """A row that came twice would have two different texts: rows must divide."""
    drawn = ["experiment=two_processes", "generation=mbr", f"hydra.run.dir={tmp_path}"]
    settings = [*TINY, *drawn, "data.max_test=2", *places(tmp_path, data_dir)]
    command("train.py", *settings, "data.max_val=4")
    lines = (tmp_path / "predictions" / "epoch_000.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(4))
    with pytest.raises(SettingError, match=r"got 5 rows of val for 2 .*such as data\.max_val=4$"):
        run(composed(*settings))
    with pytest.raises(SettingError, match=r"got 1 rows of val .*such as 2 rows at least$"):
        run(composed(*settings, "data.max_val=1"))


@pytest.mark.slow
def test_resume_test_and_logs(tmp_path: Path, data_dir: Path) -> None:
    run(composed(*TINY, *places(tmp_path / "first", data_dir)))
    checkpoint = tmp_path / "first" / "checkpoints" / "last.ckpt"
    cfg = composed(
        *TINY,
        f"checkpoint={checkpoint}",
        "trainer.max_epochs=2",
        "test=true",
        *places(tmp_path / "second", data_dir),
    )
    run(cfg)
    before, after = (read_tsv(tmp_path / folder / "scores.tsv") for folder in ("first", "second"))
    assert [row["epoch"] for row in after] == ["0", "1"]
    assert after[0] == before[0]

    lines = list(csv.DictReader((tmp_path / "second" / "csv" / "metrics.csv").open()))
    assert {
        "val_bertscore",
        "val_rougeL",
        "val_bleu",
        "val_chrf",
        "test_bertscore",
        "test_recall",
        "train_loss",
    } <= set(lines[0])
    events = [
        file.read_bytes() for file in (tmp_path / "second" / "tensorboard").glob("events*")
    ]  # fit and test write one each
    assert any(b"validation samples" in event for event in events)
    samples = read_tsv(tmp_path / "second" / "samples" / "epoch_001.tsv")
    assert samples[0]["kind"] == "best"
    assert float(samples[0]["f1"]) >= float(samples[-1]["f1"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in names("debug") if name != "overfit"]
)  # that one takes its time
def test_debug(name: str, tmp_path: Path, data_dir: Path) -> None:
    run(composed(*TINY, f"debug={name}", *places(tmp_path, data_dir)))
    assert read_tsv(tmp_path / "scores.tsv")


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true"])
def test_precision_does_not_reach_the_metric(
    precision: str, tmp_path: Path, data_dir: Path
) -> None:
    run(composed(*TINY, f"trainer.precision={precision}", *places(tmp_path, data_dir)))
    (row,) = read_tsv(tmp_path / "scores.tsv")
    file = tmp_path / "predictions" / "epoch_000.jsonl"
    again = evaluate(
        composed(f"predictions={file}", f"paths.output_dir={tmp_path}/again", config="evaluate")
    )
    assert float(row["val_bertscore"]) == pytest.approx(again, abs=1e-5)


@pytest.mark.slow
def test_sanity_check_and_limits_leave_no_trace(tmp_path: Path, data_dir: Path) -> None:
    limits = [
        "trainer.num_sanity_val_steps=2",
        "trainer.limit_val_batches=1",
        "data.eval_batch_size=2",
        "trainer.limit_train_batches=1",
    ]
    run(composed(*TINY, *limits, *places(tmp_path, data_dir)))
    assert len(read_tsv(tmp_path / "scores.tsv")) == 1
    assert len((tmp_path / "predictions" / "epoch_000.jsonl").read_text().splitlines()) == 2


@pytest.mark.slow
def test_sweep_and_collection(tmp_path: Path, data_dir: Path) -> None:
    sweep = tmp_path / "sweep"
    said = command(
        "train.py",
        "-m",
        "metric.num_layers=2,6",
        *TINY,
        f"hydra.sweep.dir={sweep}",
        f"paths.data_dir={data_dir}",
    )
    printed = command("collect.py", str(sweep))
    lines = list(csv.DictReader((sweep / "runs.csv").open()))
    layers = {(line["layer"], line["metric.num_layers"]) for line in lines}
    assert layers == {("2", "2"), ("6", "6")}
    scores = [float(line["bertscore"]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] != scores[1]
    assert (sweep / "heatmap.png").stat().st_size > 1000
    assert "all-MiniLM-L6-v2" in printed
    which = f"{lines[0]['job']} (metric.num_layers={lines[0]['layer']})"
    best = f"Highest value: job {which}: bertscore "
    assert f"{best}{scores[0]:.4f} in epoch 0\nLayer, encoder or rule of the metric differ" in said
    assert best in printed


@pytest.mark.slow
def test_sweep_over_scorers_of_one_file(tmp_path: Path) -> None:
    file, sweep = tmp_path / "predictions.jsonl", tmp_path / "sweep"
    file.write_text(json.dumps({"prediction": "a cat sat", "target": "the cat sat"}))
    said = command(
        "evaluate.py",
        "-m",
        "metric.num_layers=[1,2],all",
        f"predictions={file}",
        f"hydra.sweep.dir={sweep}",
    )
    command("collect.py", str(sweep))
    lines = list(csv.DictReader((sweep / "runs.csv").open()))
    assert sorted(line["layer"] for line in lines) == sorted([*"12", *"0123456"])
    assert "Highest value: job " in said


def test_evaluation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"prediction": "a cat sat", "target": "the cat sat"},
        {"prediction": "rain", "target": ["snow", "rain"]},
    ]
    file = tmp_path / "predictions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    cfg = composed(
        f"predictions={file}",
        "metric.num_layers=all",
        f"paths.output_dir={tmp_path}/all",
        config="evaluate",
    )
    best = evaluate(cfg)
    table = read_tsv(tmp_path / "all" / "layers.tsv")
    assert [row["layer"] for row in table] == [str(i) for i in range(7)]
    assert best == max(float(row["f1"]) for row in table)
    assert (tmp_path / "all" / "layers.png").exists()
    assert "layers:0,1,2,3,4,5,6" in capsys.readouterr().out

    evaluate(
        composed(
            f"predictions={file}",
            "metric.num_layers=4",
            f"paths.output_dir={tmp_path}/4",
            config="evaluate",
        )
    )
    (row,) = read_tsv(tmp_path / "4" / "layers.tsv")
    assert row == table[4]
    samples = read_tsv(tmp_path / "4" / "samples.tsv")
    assert float(samples[1]["f1"]) == pytest.approx(1, abs=1e-5)


def test_evaluation_of_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"predictions=nowhere\.jsonl is no file"):
        evaluate(
            composed("predictions=nowhere.jsonl", f"paths.output_dir={tmp_path}", config="evaluate")
        )


def test_collection_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert collect.main([str(tmp_path)]) == 1
    assert "holds no finished runs" in capsys.readouterr().err
