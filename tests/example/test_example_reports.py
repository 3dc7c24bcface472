"""What a run and a sweep say at their end: tables, the best epoch and job, pictures, files."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path
from typing import Any

import collect
import pytest
from commands import EXAMPLE, TINY, command, outcome
from composing import CONFIGS, names
from matplotlib.figure import Figure
from summarizer.groups import choices, find_configs, groups
from summarizer.reports import aligned, run_report
from summarizer.sweeps import read_jobs, summary

from bertscore_tm.lightning import without_twin, write_tsv

SIGNATURE = "encoder:some/encoder@abc|layers:5|idf:no"


def scores(folder: Path, *rows: dict[str, Any]) -> None:
    logged = [{k if k == "epoch" else f"val_{k}": v for k, v in row.items()} for row in rows]
    write_tsv(folder / "scores.tsv", logged, list(logged[0]))
    (folder / "signature.txt").write_text(f"{SIGNATURE}\n")


def test_the_report_names_best_epoch_a_text_and_the_files(tmp_path: Path) -> None:
    rows = [
        {"epoch": 0, "bertscore": "0.100000", "f1": "0.100000", "rougeL": "0.2"},
        {"epoch": 1, "bertscore": "0.300000", "f1": "0.300000", "rougeL": "0.1"},
        {"epoch": 2, "bertscore": "nan", "f1": "nan", "rougeL": "0.1"},
    ]
    scores(tmp_path, *rows)
    row = {"source": "a source", "target": ["one", "two"], "prediction": "a text"}
    texts = [{"id": i, **row, "f1": f1} for i, f1 in enumerate([0.9, 0.5, 0.1])]
    (tmp_path / "predictions").mkdir()
    for epoch in range(6):
        file = tmp_path / "predictions" / f"epoch_{epoch:03d}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in texts))
    old = tmp_path / "old.txt"
    old.write_text("of another run")
    os.utime(old, (1, 1))
    report = run_report(tmp_path, since=2)
    assert report.startswith("epoch  bertscore  rougeL\n    0     0.1000  0.2000\n")
    assert "\n(bertscore is f1)\n" in report
    moved = "bertscore rose; rougeL fell."
    assert f"\nBest epoch: 1 (bertscore 0.3000)\nFrom epoch 0 to it: {moved}\n" in report
    sample = [
        "A text of middling score (predictions/epoch_001.jsonl, id 1):",
        "  source:     a source",
        "  reference:  one ||| two",
        "  prediction: a text",
        "  score:      f1 0.5000",
    ]
    assert "\n".join(sample) in report
    assert "  scores.tsv  signature.txt\n" in report
    assert "  predictions/epoch_000.jsonl  ... 4 more ...  predictions/epoch_005.jsonl\n" in report
    assert "old.txt" not in report
    assert report.endswith(f"\n\nFolder of the run: {tmp_path}")


def test_scores_that_differ_are_both_shown() -> None:
    same = [{"bertscore": "0.1", "f1": "0.2", "recall": "0.1"}]
    assert without_twin(same) == ([{"bertscore": "0.1", "f1": "0.2"}], "recall")
    differ = [*same, {"bertscore": "0.1", "f1": "0.1", "recall": "0.3"}]
    assert without_twin(differ) == (differ, "")
    assert without_twin([]) == ([], "")


def test_swept_numbers_keep_their_digits() -> None:
    table = aligned([{"lr": "0.00005", "f1": "0.123456"}], ["lr"])
    assert table == "     lr      f1\n0.00005  0.1235"


def sweep(folder: Path, jobs: list[tuple[list[str], str]]) -> None:
    """Jobs with overrides and a score each; a job without a score has failed."""
    for number, (overrides, score) in enumerate(jobs):
        job = folder / str(number)
        (job / ".hydra").mkdir(parents=True)
        (job / ".hydra" / "overrides.yaml").write_text("".join(f"- {o}\n" for o in overrides))
        if score:
            row = {"bertscore": score, "precision": score, "recall": score, "f1": score}
            scores(job, {"epoch": 0, **row}, {"epoch": 1, **dict.fromkeys(row, "0.0")})


def test_jobs_come_best_first_with_what_was_swept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["seed=3", "hydra.sweep.dir=x"]
    lrs = [("0.00001", "0.2"), ("0.00002", "0.4"), ("0.00003", ""), ("0.00004", "0.3")]
    sweep(tmp_path, [([f"optimizer.lr={lr}", "+a=b=c", *common], score) for lr, score in lrs])
    assert collect.main([str(tmp_path)]) == 0
    lines = list(csv.DictReader((tmp_path / "runs.csv").read_text().splitlines()))
    assert [line["job"] for line in lines] == ["1", "3", "0"]
    assert [line["optimizer.lr"] for line in lines] == ["0.00002", "0.00004", "0.00001"]
    assert "seed" not in lines[0]  # it was the same everywhere
    assert lines[0]["overrides"] == "optimizer.lr=0.00002 a=b=c seed=3"
    assert lines[0]["epoch"] == "0"
    assert lines[0]["encoder"] == "some/encoder"
    printed = capsys.readouterr().out
    assert "  1       0.00002  some/encoder      5      0     0.4000" in printed
    assert "\nBest job: 1 (optimizer.lr=0.00002): bertscore 0.4000 in epoch 0\n" in printed
    assert "\nWithout scores, because they failed or go on: job 2\n" in printed


def sign(folder: Path, *signatures: str) -> None:
    for job, signature in enumerate(signatures):
        (folder / str(job) / "signature.txt").write_text(signature)


def labels(figure: Figure) -> tuple[list[str], list[str], list[str]]:
    """Of the lines, of the columns, and the numbers."""
    (axes,) = figure.axes
    parts = axes.get_yticklabels(), axes.get_xticklabels(), axes.texts
    lines, columns, numbers = ([text.get_text() for text in part] for part in parts)
    return lines, columns, numbers


def test_the_picture_of_a_sweep_shows_what_was_swept(tmp_path: Path, drawn: list[Figure]) -> None:
    sweep(tmp_path, [([f"a={i}", "b=1"], f"0.{i}") for i in (1, 3, 2)])
    assert collect.main([str(tmp_path)]) == 0
    lines, columns, numbers = labels(drawn[0])
    assert (lines, columns) == (["a=3", "a=2", "a=1"], ["5"])
    assert numbers == ["0.300", "0.200", "0.100"]
    (image,) = drawn[0].axes[0].images
    assert image.get_array()[:, 0].tolist() == pytest.approx([1, 0.5, 0])
    assert drawn[0]._supxlabel is None


def test_the_picture_of_a_sweep_over_layers_has_no_colours(
    tmp_path: Path, drawn: list[Figure], capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(tmp_path, [([f"metric.num_layers={i}"], f"0.{i}") for i in (5, 7, 6)])
    sign(tmp_path, *(SIGNATURE.replace("layers:5", f"layers:{i}") for i in (5, 7, 6)))
    assert collect.main([str(tmp_path)]) == 0
    assert labels(drawn[0]) == (["some/encoder"], ["5", "6", "7"], ["0.500", "0.600", "0.700"])
    assert drawn[0].axes[0].images[0].get_array().mask.all()
    assert " ".join(drawn[0]._supxlabel.get_text().split()) == collect.UNLIKE_CELLS
    assert f"heatmap.png ({collect.UNLIKE_CELLS})" in capsys.readouterr().out


def test_the_picture_of_a_sweep_keeps_rules_apart(tmp_path: Path, drawn: list[Figure]) -> None:
    """The best of a layer would be that of one rule here, of another there."""
    jobs = [(i, idf) for i in (5, 6) for idf in ("true", "false")]
    scores = ["0.1", "0.2", "0.4", "0.3"]
    overrides = [[f"metric.num_layers={i}", f"metric.idf={idf}"] for i, idf in jobs]
    sweep(tmp_path, list(zip(overrides, scores, strict=True)))
    sign(tmp_path, *(f"encoder:some/encoder|layers:{i}|idf:{idf}" for i, idf in jobs))
    assert collect.main([str(tmp_path)]) == 0
    lines, columns, numbers = labels(drawn[0])
    assert (lines, columns) == (["metric.idf=true", "metric.idf=false"], ["5", "6"])
    assert numbers == ["0.100", "0.400", "0.200", "0.300"]
    assert drawn[0].axes[0].images[0].get_array().mask.all()


def test_jobs_that_do_not_compare_are_said_to(tmp_path: Path) -> None:
    sweep(tmp_path, [(["metric.idf=true"], "0.2"), (["metric.idf=false"], "0.3")])
    assert "do not compare" not in summary(read_jobs(tmp_path))
    (tmp_path / "0" / "signature.txt").write_text(SIGNATURE.replace("idf:no", "idf:epoch"))
    line, note = summary(read_jobs(tmp_path)).splitlines()
    assert line == "Highest value: job 1 (metric.idf=false): bertscore 0.3000 in epoch 0"
    assert "they do not compare" in note


def test_a_sweep_without_scores(tmp_path: Path) -> None:
    sweep(tmp_path, [(["a=1"], ""), (["a=2"], "")])
    assert summary(read_jobs(tmp_path)) == "No job has written scores."


@pytest.mark.parametrize(
    "file, content, message",
    [
        (
            "scores.tsv",
            "epoch\tval_f1\n0\t0.1\n",
            "no column val_bertscore; it has epoch, val_f1",
        ),
        ("scores.tsv", "epoch\tval_bertscore\n0\tx\n", r"got val_bertscore=x; wanted a number"),
        ("scores.tsv", "epoch\tval_bertscore\n0\n", r"got val_bertscore=None; wanted a number"),
        (".hydra/overrides.yaml", "- [\n", r"overrides.yaml is no list of overrides"),
    ],
)
def test_a_wrong_file_of_a_sweep_is_named(
    file: str, content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(tmp_path, [(["a=1"], "0.1")])
    (tmp_path / "0" / file).write_text(content)
    assert collect.main([str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("collect.py: ")
    assert message in error
    assert error.count("\n") == 1


def test_folders_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert collect.main([str(tmp_path / "nowhere")]) == 1
    assert "nowhere is no folder; wanted the folder of a sweep" in capsys.readouterr().err
    assert collect.main([str(tmp_path)]) == 1
    assert "holds no finished runs; wanted the folder of a sweep" in capsys.readouterr().err


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are saved."""
    figures: list[Figure] = []
    save = Figure.savefig

    def savefig(self: Figure, *arguments: Any, **options: Any) -> None:
        figures.append(self)
        save(self, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return figures


def test_groups_are_those_of_the_folder_and_the_package() -> None:
    assert groups() == sorted(["metric", *(p.name for p in CONFIGS.iterdir() if p.is_dir())])
    assert choices("model") == names("model")
    assert {"base", "minilm"} <= set(choices("metric"))


def test_configurations_are_looked_for_upwards(tmp_path: Path) -> None:
    (tmp_path / "a" / "configs").mkdir(parents=True)
    file = tmp_path / "a" / "b" / "c" / "train.py"
    with pytest.raises(SystemExit, match=r"found no configs/train\.yaml beside .*train\.py or in"):
        find_configs(str(file))
    (tmp_path / "a" / "configs" / "train.yaml").touch()
    assert find_configs(str(file)) == str(tmp_path.resolve() / "a" / "configs")


@pytest.mark.slow
def test_help_lists_all_groups() -> None:
    listed = command("train.py", "--help").split("== Config ==")[0]
    for group in groups():
        if group != "hydra":
            assert f"\n{group}: {', '.join(choices(group))}\n" in listed


@pytest.mark.slow
@pytest.mark.parametrize("place", ["", "a/b/c"])
def test_a_copy_works_from_any_depth(place: str, tmp_path: Path) -> None:
    """The folder and the configurations, alone in another project."""
    shutil.copytree(CONFIGS, tmp_path / "configs")
    copy = tmp_path / place / "my_example"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    said = command(copy / "train.py", *TINY, "name=mine", "debug=limit", folder=tmp_path)
    first, *_, last = [line for line in said.splitlines() if line.startswith("Folder of the run")]
    assert first == last
    run = Path(first.removeprefix("Folder of the run: "))
    assert run.parent == tmp_path / "outputs" / "mine"
    file = run / "predictions" / "epoch_000.jsonl"
    assert "Folder of the run" in command(copy / "evaluate.py", f"predictions={file}", folder=run)


@pytest.mark.slow
def test_a_copy_without_configurations_says_so(tmp_path: Path) -> None:
    copy = tmp_path / "example"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    done = outcome(copy / "train.py", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("found no configs/train.yaml beside ")
    assert done.stderr.count("\n") == 1
