"""Large jobs: streamed, sharded, killed and gone on with; and scores as columns of batches."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertscore_tm import IdfTable, ScoreColumns, bert_score
from bertscore_tm.cli import main
from bertscore_tm.errors import InvalidTypeError, InvalidValueError
from bertscore_tm.streaming import Source, stream_rows

# Warnings are lines of standard error, as for users.
pytestmark = pytest.mark.filterwarnings("always:BERTScore")
WORDS = "the a cat dog ran home rain fell all day night sun moon tree house".split()
Run = Callable[..., tuple[int, str, str]]


def rows(number: int, seed: int = 0) -> list[tuple[str, list[str]]]:
    dice = random.Random(seed)
    found = []
    for i in range(number):
        target = " ".join(dice.choices(WORDS, k=8))
        pred = " ".join(dice.choices(target.split(), k=5)) if i % 17 else ""
        found.append((pred, [target] + ([pred or "x"] if i % 5 == 0 else [])))
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps({"p": p, "r": r}) + "\n" for p, r in rows(90)))
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["score", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def files(data: Path, model: str) -> list[str]:
    named = ["--candidate-column", "p", "--reference-column", "r"]
    return ["-c", str(data), "-r", str(data), *named, "-m", model, "-n", "2"]


# ---------------------------------------------------------------- the same as at once


def records(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as stream:
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in stream]
        delimiter = "\t" if path.suffix == ".tsv" else ","
        return list(csv.DictReader(stream, delimiter=delimiter))


def same(got: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """But for rounding: other texts in a batch are added up in another order."""
    assert [list(row) for row in got] == [list(row) for row in wanted]
    for one, other in zip(got, wanted):
        for name, value in one.items():
            if name in ("precision", "recall", "f1"):
                assert float(value) == pytest.approx(float(other[name]), abs=2e-6)
            else:
                assert value == other[name]


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl"])
@pytest.mark.parametrize(
    "more", [[], ["--idf"], ["--texts"], ["--mismatches", "--lang", "en"]], ids=str
)
def test_a_streamed_job_writes_what_score_writes(
    form: str, more: list[str], data: Path, run: Run, tiny: Callable[[str], str], tmp_path: Path
) -> None:
    given = [*files(data, tiny("bert")), *more]
    whole, parts = tmp_path / f"whole.{form}", tmp_path / f"parts.{form}"
    # Blocks are scored by themselves; so is the whole in one block, without vectors from before.
    assert run(*given, "--per-sample", "--embedding-cache", "0", "-o", str(whole))[0] == 0
    for rows_of_block in ("7", "30", "1000"):
        status, out, err = run(*given, "--stream", "--block-rows", rows_of_block, "-o", str(parts))
        assert status == 0
        same(records(parts), records(whole))
        assert "6 of 90 samples have nothing to score" in err
        assert err.count("warning") == 1
        assert not (tmp_path / f"parts.{form}.parts").exists()
    assert parts.read_text() == whole.read_text()  # one block is the whole
    means = bert_score(*zip(*rows(90)), tiny("bert"), 2, idf="--idf" in more)
    wanted = [float(means[key].double().mean()) for key in ("precision", "recall", "f1")]
    said = re.fullmatch(r"P (\S+)  R (\S+)  F1 (\S+)", out.splitlines()[0])
    assert said
    assert [float(value) for value in said.groups()] == pytest.approx(wanted, abs=2e-6)
    assert out.splitlines()[1].startswith("encoder:")


def test_parquet_in_and_out(run: Run, tiny: Callable[[str], str], tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = rows(40)
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = {"p": [p for p, _ in texts], "r": [r for _, r in texts], "n": [0] * 40}
    parquet.write_table(arrow.table(table), source)
    assert (
        run(*files(source, tiny("bert")), "--stream", "--block-rows", "9", "-o", str(out))[0] == 0
    )
    got = parquet.read_table(out).to_pylist()
    wanted = bert_score([p for p, _ in texts], [r for _, r in texts], tiny("bert"), 2)
    assert [row["row"] for row in got] == list(range(1, 41))
    assert [row["f1"] for row in got] == pytest.approx(wanted["f1"].tolist(), abs=1e-6)


def test_plain_lines_and_gzip(run: Run, tiny: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a dog\r\nrain\n")
    with gzip.open(tmp_path / "b.txt.gz", "wt") as stream:
        stream.write("a cat\nit rained")
    out = tmp_path / "o.tsv"
    given = ["-c", str(tmp_path / "a.txt"), "-r", str(tmp_path / "b.txt.gz"), "-m", tiny("bert")]
    assert run(*given, "-n", "2", "--stream", "-o", str(out))[0] == 0
    got = [float(row["f1"]) for row in records(out)]
    wanted = bert_score(["a dog", "rain"], ["a cat", "it rained"], tiny("bert"), 2)["f1"]
    assert got == pytest.approx(wanted.tolist(), abs=1e-6)


# ---------------------------------------------------------------- files, row by row


def texts_of(path: Path, content: str | bytes, **more: Any) -> list[str]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [pred for pred, _ in stream_rows(Source(str(path), **more), [Source(str(path), **more)])]


@pytest.mark.parametrize(
    "name, content, more, wanted",
    [
        ("a.txt", "\ufeffone\n\ntwo\r\n", {}, ["one", "", "two"]),
        ("a.csv", 'x,y\n"a, b","c\nd"\n', {"column": "y"}, ["c\nd"]),
        ("a.csv", 'x;y\n"a; b";c\n', {"column": "x"}, ["a; b"]),
        ("a.tsv", 'x\ty\n"a\tb\n', {"column": "x", "quoting": "none"}, ['"a']),
        ("a.tsv", 'x\ty\n"a\tb"\tc\n', {"column": "x", "quoting": "csv"}, ["a\tb"]),
        ("a.jsonl", '"one"\n{"t": "two"}\n\n\n', {}, ["one", "two"]),
        ("a.csv", "x\n" + "y" * 200_000 + "\n", {}, ["y" * 200_000]),
    ],
)
def test_what_is_read(
    name: str, content: str, more: dict[str, Any], wanted: list[str], tmp_path: Path
) -> None:
    csv.field_size_limit(2**31 - 1)  # as a job does
    assert texts_of(tmp_path / name, content, **more) == wanted


@pytest.mark.parametrize(
    "name, content, more, message",
    [
        ("a.json", "[]", {}, "is one JSON value, which is read whole; wanted .jsonl to stream it"),
        ("a.tsv", "x\n", {}, "wanted --quoting none (quotes are part of the texts) or csv"),
        ("a.txt", "x\n", {"column": "y"}, "has no columns; wanted a table, or no column name"),
        ("a.csv", "x,y\n1\n", {"column": "x"}, "row 2: got 1 columns; wanted 2, as in the header"),
        ("a.csv", "x,y\n", {"column": "z"}, "has no column 'z'; it has"),
        ("a.csv", "", {}, "is empty; wanted a header line with the columns"),
        ("a.csv", 'x\n"a', {}, "this is no CSV ("),
        ("a.jsonl", "{\n", {}, "line 1: got '{\\n', which is no JSON"),
        ("a.jsonl", '"a"\n\n"b"\n', {}, "line 2: got '', which is no JSON"),
        ("a.jsonl", '{"t": 1}\n', {}, "wanted a text or a list of texts at 't', not a number"),
        ("a.jsonl", "3\n", {"column": "t"}, "got a number; wanted an object with the key 't'"),
        ("a.txt", b"\xff\xfea\0", {}, "is not UTF-8 text (invalid start byte); wanted UTF-8 to"),
        ("a.txt.gz", b"plain", {}, "is no whole gzip file"),
        ("a.parquet", b"plain", {}, "is no Parquet file ("),
        ("a.jsonl", '["a", "b"]\n', {}, "row 1: got a list; wanted one prediction"),
        ("a.xlsx", "x", {}, "cannot be read as .xlsx"),
    ],
)
def test_what_cannot_be_read(
    name: str, content: str | bytes, more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(InvalidValueError) as error:
        texts_of(tmp_path / name, content, **more)
    assert message in str(error.value)


def test_files_of_different_lengths(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    (tmp_path / "b.txt").write_text("1\n2\n")
    with pytest.raises(
        InvalidValueError, match=r"b\.txt' has 2 rows, another file more; wanted as"
    ):
        list(stream_rows(Source(str(tmp_path / "a.txt")), [Source(str(tmp_path / "b.txt"))]))


# ---------------------------------------------------------------- flags that do not go together


@pytest.mark.parametrize(
    "more, message",
    [
        (["--stream"], "got --stream without --output; wanted a file that ends in .csv, .tsv, "),
        (["--stream", "-o", "x.txt"], "as --output of a streamed job; wanted a name that ends in"),
        (["--stream", "-o", "x.tsv", "--worst-first"], "got --worst-first with --stream"),
        (["--stream", "-o", "x.tsv", "--block-rows", "0"], "got --block-rows 0; wanted 1 or more"),
        (["--block-rows", "5"], "got --block-rows without --stream; wanted both, or neither"),
        (["--stream", "-o", "x.tsv", "--embedding-cache", "1GB"], "which keeps no vectors; wanted"),
    ],
)
def test_flags(
    more: list[str],
    message: str,
    data: Path,
    run: Run,
    tiny: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run(*files(data, tiny("bert")), *more)
    assert status == 2
    assert message in err
    assert not list(tmp_path.glob("x.*"))


def test_several_systems_and_standard_input(
    data: Path, run: Run, tiny: Callable[[str], str], tmp_path: Path
) -> None:
    out = ["--stream", "-o", str(tmp_path / "x.tsv")]
    given = files(data, tiny("bert"))
    assert "got 2 files of predictions to stream" in run("-c", "a", "b", *given[2:], *out)[2]
    assert (
        "got - to be streamed, which can be read once only" in run("-c", "-", *given[2:], *out)[2]
    )


def test_several_processes_want_stream(
    data: Path, run: Run, tiny: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    status, _, err = run(*files(data, tiny("bert")))
    assert status == 2
    assert "got several processes without --stream; wanted both, or neither" in err


def test_a_wrong_row_at_the_end_is_found_before_the_work(
    data: Path, run: Run, tiny: Callable[[str], str], tmp_path: Path
) -> None:
    with data.open("a") as stream:
        stream.write('{"p": 3, "r": "a"}\n')
    status, _, err = run(*files(data, tiny("bert")), "--stream", "-o", str(tmp_path / "x.tsv"))
    assert status == 2
    assert "line 91: got '3'; wanted a text or a list of texts at 'p'" in err
    assert not list(tmp_path.glob("x.*"))


# ---------------------------------------------------------------- killed, and gone on with


def test_going_on_scores_only_what_is_missing(
    data: Path,
    run: Run,
    tiny: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bertscore_tm import jobs

    out = tmp_path / "x.tsv"
    given = [*files(data, tiny("bert")), "--stream", "--block-rows", "20", "-o", str(out)]
    assert run(*given)[0] == 0
    wanted = out.read_bytes()
    out.unlink()
    score, done = jobs.score_block, []

    def dies(*arguments: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return score(*arguments)

    monkeypatch.setattr(jobs, "score_block", dies)
    assert run(*given)[0] == 130
    assert not out.exists()
    assert "wanted --resume to go on with it, or another --output" in run(*given)[2]
    monkeypatch.setattr(jobs, "score_block", lambda *a: done.append(1) or score(*a))
    assert run(*given, "--resume")[0] == 0
    assert out.read_bytes() == wanted
    assert len(done) == 5  # 90 rows are five blocks: none was scored twice
    status, said, _ = run(*given, "--resume")
    assert (status, out.read_bytes()) == (0, wanted)
    assert "x.tsv is finished: there is nothing to go on with." in said


def test_parts_without_a_job_are_nobody_s(
    data: Path, run: Run, tiny: Callable[[str], str], tmp_path: Path
) -> None:
    """What a kill has left of a folder that was being removed, or of another job."""
    out, folder = tmp_path / "x.tsv", tmp_path / "x.tsv.parts"
    given = [*files(data, tiny("bert")), "--block-rows", "20", "-o", str(out)]
    assert run(*given, "--stream")[0] == 0
    wanted = out.read_bytes()
    for resume in ("--stream", "--resume"):
        folder.mkdir()
        (folder / "00000001.rows").write_text("of another job\n")
        (folder / "00000001.json").write_text("{}")
        assert run(*given, resume)[0] == 0
        assert out.read_bytes() == wanted
        assert not folder.exists()


@pytest.mark.parametrize(
    "change, message",
    [
        (["--block-rows", "30"], "got --resume for a job with another block_rows: now 30, before"),
        (["--beta", "2"], "got --resume for a job with another signature: now '"),
        (["--texts"], "got --resume for a job with another texts: now True, before False"),
    ],
)
def test_another_job_is_no_resumption(
    change: list[str],
    message: str,
    data: Path,
    run: Run,
    tiny: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bertscore_tm import jobs

    def dies(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    out = tmp_path / "x.tsv"
    given = [*files(data, tiny("bert")), "--stream", "-o", str(out)]
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "score_block", dies)
        assert run(*given)[0] == 130
    status, _, err = run(*given, "--resume", *change)
    assert status == 2
    assert message in err
    with data.open("a") as stream:
        stream.write('{"p": "a", "r": "a"}\n')
    assert "got --resume for a job with another inputs: now [" in run(*given, "--resume")[2]


def launch(arguments: list[str], ranks: int) -> subprocess.Popen[bytes]:
    how = ["-m", "bertscore_tm"]
    if ranks > 1:
        how = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", *how]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, *how, "score", *arguments]
    return subprocess.Popen(command, env=variables, start_new_session=True, **quiet)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("idf", [False, True])
def test_sigkill_at_random_points(
    ranks: int, idf: bool, tiny: Callable[[str], str], tmp_path: Path
) -> None:
    data, out = tmp_path / "data.jsonl", tmp_path / "x.tsv"
    data.write_text("".join(json.dumps({"p": p, "r": r}) + "\n" for p, r in rows(4000)))
    given = [*files(data, tiny("bert")), "--block-rows", "25", "-o", str(out)]
    given += ["--idf"] if idf else []
    assert launch([*given, "--stream"], 1).wait(300) == 0
    wanted = out.read_bytes()
    out.unlink()
    folder, dice = tmp_path / "x.tsv.parts", random.Random(ranks)
    for _ in range(3):
        process = launch([*given, "--resume"], ranks)
        while not folder.exists() and process.poll() is None:
            time.sleep(0.02)
        time.sleep(dice.uniform(0.0, 1.5))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.2)
    assert launch([*given, "--resume"], ranks).wait(300) == 0
    assert out.read_bytes() == wanted
    assert not folder.exists()


@pytest.mark.slow
def test_blocks_are_the_same_whoever_scores_them_first(minilm: str, tmp_path: Path) -> None:
    """Of blocks that are cut into chunks: the first one of a process, too."""
    dice, data = random.Random(3), tmp_path / "data.jsonl"
    texts = [" ".join(dice.choices(WORDS, k=dice.randint(5, 90))) for _ in range(300)]
    data.write_text("".join(json.dumps({"p": t[7:], "r": t}) + "\n" for t in texts))
    given = [*files(data, minilm), "--block-rows", "150", "--stream", "-o"]
    assert launch([*given, str(tmp_path / "one.jsonl")], 1).wait(300) == 0
    assert launch([*given, str(tmp_path / "two.jsonl")], 2).wait(300) == 0
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


# ---------------------------------------------------------------- columns


BATCH = {"output": ["a dog", "rain"], "target": ["a cat", ["rain fell", "it rained"]], "n": [1, 2]}


def scored(minilm: str) -> dict[str, Any]:
    return bert_score(BATCH["output"], BATCH["target"], minilm, 6)


def test_columns_are_added(minilm: str) -> None:
    add = ScoreColumns(minilm, 6, candidate="output", reference="target", prefix="bs_")
    got = add(BATCH)
    assert list(got) == ["output", "target", "n", "bs_precision", "bs_recall", "bs_f1"]
    assert got["n"] == [1, 2]
    for name, values in scored(minilm).items():
        assert got[f"bs_{name}"].dtype == np.float32
        assert got[f"bs_{name}"].tolist() == pytest.approx(values.tolist(), abs=1e-6)
    arrays = {"output": np.array(["a dog"], dtype=object), "target": np.array(["a cat"])}
    assert float(add(arrays)["bs_f1"][0]) == pytest.approx(float(scored(minilm)["f1"][0]), abs=1e-6)


def test_a_pickle_is_small_and_does_the_same(minilm: str) -> None:
    add = ScoreColumns(minilm, 6, candidate="output", reference="target")
    wanted = add(BATCH)["f1"].tolist()
    packed = pickle.dumps(add)
    assert len(packed) < 5_000
    assert pickle.loads(packed)(BATCH)["f1"].tolist() == pytest.approx(wanted, abs=1e-6)


def test_what_columns_cannot_be(minilm: str) -> None:
    with pytest.raises(
        InvalidValueError, match=r"got idf=True for batches, .*; wanted idf=IdfTable\.fit"
    ):
        ScoreColumns(minilm, idf=True)
    add = ScoreColumns(minilm, 6, candidate="outputs", reference="target")
    with pytest.raises(
        InvalidValueError, match=r"without 'outputs'; it has .*did you mean 'output'"
    ):
        add(BATCH)
    with pytest.raises(
        InvalidTypeError, match="got list as a batch; wanted a mapping from names to"
    ):
        add([1])  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match=r"got score= for ScoreColumns"):
        ScoreColumns(minilm, score="f1")  # type: ignore[call-arg]


def test_a_fixed_table_will_do(minilm: str) -> None:
    from bertscore_tm import HuggingFaceEncoder

    table = IdfTable.fit(["a cat", "rain fell", "it rained"], HuggingFaceEncoder(minilm))
    add = ScoreColumns(minilm, 6, candidate="output", reference="target", idf=table)
    wanted = bert_score(BATCH["output"], BATCH["target"], minilm, 6, idf=table)["f1"]
    assert add(BATCH)["f1"].tolist() == pytest.approx(wanted.tolist(), abs=1e-6)


def test_datasets_takes_it(minilm: str) -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict(
        {"prediction": BATCH["output"], "reference": ["a cat", "rain"]}
    )
    got = rows.map(ScoreColumns(minilm, 6), batched=True, batch_size=1)
    wanted = bert_score(BATCH["output"], ["a cat", "rain"], minilm, 6)["f1"].tolist()
    assert got["f1"][:] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_takes_it(minilm: str) -> None:
    ray = pytest.importorskip("ray")
    rows = [{"prediction": p, "reference": r} for p, r in zip(BATCH["output"], ["a cat", "rain"])]
    data = ray.data.from_items(rows)
    options = {"fn_constructor_args": [minilm, 6], "batch_size": 1, "concurrency": 1}
    got = data.map_batches(ScoreColumns, **options).take_all()
    wanted = bert_score(BATCH["output"], ["a cat", "rain"], minilm, 6)["f1"].tolist()
    assert sorted(row["f1"] for row in got) == pytest.approx(sorted(wanted), abs=1e-6)
    ray.shutdown()
