"""The command line: files in, a table and a signature out, one clear line on standard error if
something is wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import bertscore_tm
from bertscore_tm import BERTScore, HuggingFaceEncoder, IdfTable, __version__
from bertscore_tm.cli import main
from bertscore_tm.pipeline import Pipeline
from bertscore_tm.textfiles import read_texts
from bertscore_tm.weighting import WEIGHTINGS
from reference import bertscore

Tiny = Callable[[str], str]
Run = Callable[..., tuple[int, str, str]]
NAMES = ("precision", "recall", "f1")
PREDS = ["two cats sleep", "rain fell", "the dog ran home"]
OTHER = ["hello world", "rain fell on the town", "the cat"]
TARGET = ["two cats sleep quietly", "rain fell on the old town", "the dog ran home"]
SECOND = ["two cats", "rain", "a small dog"]


@pytest.fixture
def run(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """`bertscore-tm score` with the tiny encoder, in a directory of its own: exit code, standard
    output, standard error."""
    monkeypatch.chdir(tmp_path)

    def call(
        *arguments: str, model: Sequence[str] = ("-m", tiny("bert"), "-n", "2")
    ) -> tuple[int, str, str]:
        code = main(["score", *arguments, *model])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The directory of the command, with predictions and references as plain lines."""
    for name, texts in (("preds", PREDS), ("other", OTHER), ("target", TARGET), ("second", SECOND)):
        (tmp_path / f"{name}.txt").write_text(
            "".join(f"{text}\n" for text in texts), encoding="utf-8"
        )
    return tmp_path


@pytest.fixture
def wanted(tiny: Tiny) -> Callable[..., dict[str, list[float]]]:
    return lambda preds=PREDS, target=TARGET, **options: bertscore(
        preds, target, tiny("bert"), 2, **options
    )


def means(scores: dict[str, list[float]]) -> list[float]:
    return [sum(scores[name]) / len(scores[name]) for name in NAMES]


def near(got: Any, want: Sequence[float], tolerance: float = 1e-5) -> None:
    assert [float(value) for value in got] == pytest.approx(list(want), rel=0, abs=tolerance)


def read_text(out: str) -> tuple[list[float], str]:
    """The last line of scores, and the signature."""
    *_, scores, signature = out.splitlines()
    found = re.fullmatch(r"(?:\S+  )?P (\S+)  R (\S+)  F1 (\S+)", scores)
    assert found, scores
    return [float(value) for value in found.groups()], signature


# ---------------------------------------------------------------- what comes out


def test_text(run: Run, files: Path, wanted: Any, tiny: Tiny) -> None:
    code, out, err = run("-c", "preds.txt", "-r", "target.txt")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == 2
    scores, signature = read_text(out)
    near(scores, means(wanted()))
    assert signature == BERTScore(tiny("bert"), 2).signature


def test_text_per_sample(run: Run, files: Path, wanted: Any) -> None:
    """A row is told by its number, which is that of its line."""
    _, out, _ = run("-c", "preds.txt", "-r", "target.txt", "--per-sample")
    lines = out.splitlines()
    assert len(lines) == len(PREDS) + 2
    for number, line, row in zip("123", lines, zip(*(wanted()[name] for name in NAMES))):
        found = re.fullmatch(r" +(\d+)  P (\S+)  R (\S+)  F1 (\S+)", line)
        assert found is not None
        assert found[1] == number
        near(found.groups()[1:], row)
    near(read_text(out)[0], means(wanted()))


def test_samples_with_their_texts_worst_first(run: Run, files: Path, wanted: Any) -> None:
    options = ("--texts", "--worst-first")
    _, out, _ = run("-c", "other.txt", "-r", "target.txt", "second.txt", *options)
    values = wanted(OTHER, target=[list(group) for group in zip(TARGET, SECOND)])["f1"]
    order = sorted(range(3), key=values.__getitem__)
    assert order != [0, 1, 2]
    lines = out.splitlines()
    assert [int(line.split()[0]) - 1 for line in lines[:12:4]] == order
    near([line.split()[-1] for line in lines[:12:4]], sorted(values))
    for place, row in enumerate(order):
        assert [line.strip() for line in lines[4 * place + 1 : 4 * place + 4]] == [
            f"prediction  {OTHER[row]}", f"reference   {TARGET[row]}", f"reference   {SECOND[row]}"
        ]  # fmt: skip


def test_several_systems_and_layers(run: Run, files: Path, tiny: Tiny) -> None:
    model = ("-m", tiny("bert"), "-n", "1,2")
    code, out, _ = run("-c", "preds.txt", "other.txt", "-r", "target.txt", model=model)
    *lines, _ = out.splitlines()
    assert code == 0
    assert [line.split("  ")[0] for line in lines] == [
        f"{f}.txt layer_{k}" for f in ("preds", "other") for k in (1, 2)
    ]
    for line, (texts, layer) in zip(
        lines, [(texts, layer) for texts in (PREDS, OTHER) for layer in (1, 2)]
    ):
        near(
            line.split("  ")[1:][2].split()[1:],
            [means(bertscore(texts, TARGET, tiny("bert"), layer))[2]],
        )


def test_all_layers(run: Run, files: Path, tiny: Tiny) -> None:
    code, out, _ = run(
        "-c", "preds.txt", "-r", "target.txt", model=("-m", tiny("bert"), "-n", "all")
    )
    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()[:-1]] == [
        "layer_0",
        "layer_1",
        "layer_2",
        "layer_3",
    ]


@pytest.mark.parametrize("per_sample", [False, True])
def test_json(per_sample: bool, run: Run, files: Path, wanted: Any, tiny: Tiny) -> None:
    extra = ["--per-sample"] if per_sample else []
    code, out, err = run(
        "-c", "preds.txt", "other.txt", "-r", "target.txt", "--format", "json", *extra
    )
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["signature"] == BERTScore(tiny("bert"), 2).signature
    assert [system["system"] for system in data["systems"]] == ["preds.txt", "other.txt"]
    for system, texts in zip(data["systems"], (PREDS, OTHER)):
        near([system[name] for name in NAMES], means(wanted(texts)))
        assert ("samples" in system) == per_sample
        for name in NAMES if per_sample else ():
            near(system["samples"][name], wanted(texts)[name])


def read_table(text: str, form: str) -> list[dict[str, str]]:
    if form == "jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text), delimiter="\t" if form == "tsv" else ","))


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_tables(
    form: str, per_sample: bool, run: Run, files: Path, wanted: Any, tiny: Tiny
) -> None:
    extra = ["--per-sample"] if per_sample else []
    code, out, err = run(
        "-c", "preds.txt", "other.txt", "-r", "target.txt", "--format", form, *extra
    )
    assert (code, err) == (0, "")
    rows = read_table(out, form)
    assert list(rows[0]) == ["system", *(["row"] if per_sample else []), *NAMES, "signature"]
    assert {row["signature"] for row in rows} == {BERTScore(tiny("bert"), 2).signature}
    if not per_sample:
        assert [row["system"] for row in rows] == ["preds.txt", "other.txt"]
        for row, texts in zip(rows, (PREDS, OTHER)):
            near([row[name] for name in NAMES], means(wanted(texts)))
        return
    assert [(row["system"], str(row["row"])) for row in rows] == [
        (f"{name}.txt", number) for name in ("preds", "other") for number in "123"
    ]
    for name in NAMES:
        near([row[name] for row in rows], [v for t in (PREDS, OTHER) for v in wanted(t)[name]])


HARD = ['a "dog", barked', "tab\there", "ہم\u200cجا رہے ہیں"]
MORE = [["x"], ["x", 'y "z"'], ["x"]]


@pytest.mark.filterwarnings("ignore:.*unknown to the encoder")
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json"])
def test_texts_in_tables_are_the_texts(form: str, run: Run, files: Path) -> None:
    """What is written can be read, by others and by us: quotes, tabs, joiners, other numbers of
    references."""
    write(files / "hard.jsonl", "\n".join(map(json.dumps, HARD)))
    write(files / "more.jsonl", "\n".join(map(json.dumps, MORE)))
    name = f"out.{form}"
    assert run("-c", "hard.jsonl", "-r", "more.jsonl", "--texts", "-o", name)[0] == 0
    if form == "json":
        samples = json.loads((files / name).read_text())["systems"][0]["samples"]
        assert (samples["prediction"], samples["references"]) == (HARD, MORE)
        return
    rows = read_table((files / name).read_text(encoding="utf-8"), form)
    assert [row["prediction"] for row in rows] == HARD == read_texts(name, "prediction")
    assert [[row["reference_1"], row["reference_2"]] for row in rows] == [
        ["x", ""], ["x", 'y "z"'], ["x", ""],
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["a.csv", "a.TSV", "a.tab", "a.json", "a.ndjson", "a.txt", "a"])
def test_what_is_written_follows_the_name(name: str, run: Run, files: Path) -> None:
    form = {"tab": "tsv", "ndjson": "jsonl", "txt": "text", "a": "text"}
    ending = name.lower().rpartition(".")[2]
    data = ("-c", "preds.txt", "-r", "target.txt")
    wanted = run(*data, "--format", form.get(ending, ending))[1]
    assert run(*data, "-o", name)[0] == 0
    assert (files / name).read_text(encoding="utf-8") == wanted
    assert run(*data, "-o", name, "--format", "json")[0] == 0
    assert json.loads((files / name).read_text())["signature"]


@pytest.mark.parametrize("name", ["a.xlsx", "a.parquet", "a.csv.gz", "a.html"])
def test_what_cannot_be_written(name: str, run: Run, files: Path) -> None:
    code, out, err = run("-c", "preds.txt", "-r", "target.txt", "-o", name)
    ending = name.rpartition(".")[2]
    assert (code, out) == (2, "")
    assert (
        f"got '{name}' as --output, which cannot be written as .{ending}; wanted a name in" in err
    )
    assert not (files / name).exists()


def test_output_into_a_file(run: Run, files: Path) -> None:
    _, out, _ = run("-c", "preds.txt", "-r", "target.txt")
    assert run("-c", "preds.txt", "-r", "target.txt", "-o", "scores.txt") == (0, "", "")
    assert (files / "scores.txt").read_text(encoding="utf-8") == out


def test_settings_reach_the_metric(run: Run, files: Path, wanted: Any, tiny: Tiny) -> None:
    (files / "flat.tsv").write_text(
        "LAYER,P,R,F\n" + "".join(f"{layer},0.1,0.2,0.3\n" for layer in range(4))
    )
    settings = [
        "--idf",
        "--no-match-special-tokens",
        "--multi-reference",
        "mean",
        "--max-length",
        "20",
        "--overflow",
        "window",
    ]
    settings += [
        "--rescale-with-baseline",
        "--baseline-path",
        "flat.tsv",
        "--lang",
        "en",
        "--batch-tokens",
        "50",
    ]
    code, out, _ = run(
        "-c", "preds.txt", "-r", "target.txt", "second.txt", *settings, "--device", "cpu", "--quiet"
    )
    assert code == 0
    scores, signature = read_text(out)
    groups = [list(group) for group in zip(TARGET, SECOND)]
    options = {
        "idf": True,
        "match_special_tokens": False,
        "multi_reference": "mean",
        "baseline": (0.1, 0.2, 0.3),
    }
    near(scores, means(wanted(target=groups, **options)))
    for part in (
        "idf:epoch",
        "special_tokens:unmatched",
        "references:mean",
        "max_length:20",
        "overflow:window",
    ):
        assert f"|{part}|" in signature
    assert "|baseline:flat.tsv@" in signature
    assert (
        "|dtype:bfloat16|" in run("-c", "preds.txt", "-r", "target.txt", "--dtype", "bfloat16")[1]
    )


def test_no_progress_bar_where_nobody_looks(run: Run, files: Path) -> None:
    assert run("-c", "preds.txt", "-r", "target.txt")[2] == ""


def test_nothing_to_score(run: Run, files: Path) -> None:
    """A mistake in a pipeline does not pass for a score."""
    for name in ("a.txt", "b.txt"):
        (files / name).write_text("")
    code, out, err = run("-c", "a.txt", "-r", "b.txt", "--format", "json")
    assert (code, out) == (2, "")
    assert "got no texts in 'b.txt'; wanted one a line" in err


# ---------------------------------------------------------------- what goes in


def write(path: Path, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize(
    "name, content, column",
    [
        ("target.txt", "\n".join(TARGET), None),
        ("target.txt", "\r\n".join([*TARGET, ""]), None),
        ("target.txt", b"\xef\xbb\xbf" + "\n".join(TARGET).encode(), None),
        ("target.ref", "\n".join(TARGET), None),  # any other name: plain lines
        ("target.tsv", "\n".join(["text", *TARGET]), None),
        (
            "target.tsv",
            "\n".join(["id\ttext\tmore", *(f"{i}\t{t}\tx" for i, t in enumerate(TARGET))]),
            "text",
        ),
        (
            "target.jsonl",
            "\n".join(json.dumps({"id": i, "ref": t}) for i, t in enumerate(TARGET)),
            "ref",
        ),
        ("target.jsonl", "\n".join(json.dumps({"ref": t}) for t in TARGET), None),
        ("target.jsonl", "\n".join(json.dumps(t) for t in TARGET), None),
        ("target.ndjson", "\n".join(json.dumps([t]) for t in TARGET), None),
    ],
)
def test_files(
    name: str,
    content: str | bytes,
    column: str | None,
    packed: str,
    run: Run,
    files: Path,
    wanted: Any,
) -> None:
    write(files / f"{name}{packed}", content)
    code, out, err = run(
        "-c",
        "preds.txt",
        "-r",
        f"{name}{packed}",
        *(["--reference-column", column] if column else []),
    )
    assert (code, err) == (0, "")
    near(read_text(out)[0], means(wanted()))


def test_predictions_from_columns(run: Run, files: Path, wanted: Any) -> None:
    write(files / "all.tsv", "\n".join(["out\tref", *(f"{p}\t{t}" for p, t in zip(PREDS, TARGET))]))
    write(
        files / "all.jsonl",
        "\n".join(json.dumps({"out": p, "ref": t}) for p, t in zip(PREDS, TARGET)),
    )
    for name in ("all.tsv", "all.jsonl"):
        code, out, _ = run(
            "-c", name, "-r", name, "--candidate-column", "out", "--reference-column", "ref"
        )
        assert code == 0
        near(read_text(out)[0], means(wanted()))


def test_several_references(run: Run, files: Path, wanted: Any) -> None:
    """In several files, or as lists in one, with as many a line as there are."""
    groups = [list(group) for group in zip(TARGET, SECOND)]
    near(
        read_text(run("-c", "preds.txt", "-r", "target.txt", "second.txt")[1])[0],
        means(wanted(target=groups)),
    )
    groups[1] = groups[1][:1]
    write(files / "groups.jsonl", "\n".join(json.dumps({"refs": group}) for group in groups))
    near(
        read_text(run("-c", "preds.txt", "-r", "groups.jsonl")[1])[0], means(wanted(target=groups))
    )
    more = [[*group, text] for group, text in zip(groups, OTHER)]
    near(
        read_text(run("-c", "preds.txt", "-r", "groups.jsonl", "other.txt")[1])[0],
        means(wanted(target=more)),
    )


@pytest.mark.parametrize("side", ["-c", "-r"])
def test_standard_input(
    side: str, run: Run, files: Path, wanted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(PREDS if side == "-c" else TARGET).encode()
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(text)))
    code, out, _ = run(
        "-c", "-" if side == "-c" else "preds.txt", "-r", "-" if side == "-r" else "target.txt"
    )
    assert code == 0
    near(read_text(out)[0], means(wanted()))


def test_only_a_newline_ends_a_line(run: Run, files: Path, wanted: Any) -> None:
    """Python's own notion of lines has eight more ends."""
    odd = ["two\u2028cats", "rain\x0bfell", "the dog\x85ran\x0cfar"]
    write(files / "odd.txt", "\n".join(odd) + "\n")
    code, out, _ = run("-c", "odd.txt", "-r", "target.txt", "--per-sample")
    assert code == 0
    assert len(out.split("\n")) == 3 + 2 + 1
    near(read_text(out)[0], means(wanted(odd)))


@pytest.mark.filterwarnings("always")
def test_an_empty_line_is_an_empty_prediction(run: Run, files: Path) -> None:
    write(files / "gap.txt", "two cats sleep\n\nthe dog ran home\n")
    code, out, err = run("-c", "gap.txt", "-r", "target.txt", "--per-sample")
    assert code == 0
    assert err == (
        "bertscore-tm: warning: 1 of 3 samples have nothing to score and count as 0 "
        "(1 without a prediction, 0 without a reference).\n"
    )
    assert out.splitlines()[1] == "    2  P 0.000000  R 0.000000  F1 0.000000"


def test_a_saved_idf_table(run: Run, files: Path, tiny: Tiny, wanted: Any) -> None:
    table = IdfTable.fit(TARGET, HuggingFaceEncoder(tiny("bert"), num_layers=2))
    table.save(files / "idf.json")
    code, out, _ = run("-c", "preds.txt", "-r", "target.txt", "--idf", "idf.json")
    assert code == 0
    scores, signature = read_text(out)
    near(scores, means(wanted(idf=True)))
    assert f"|idf:table@{table.digest}|" in signature


# ---------------------------------------------------------------- what is wrong


def failed(result: tuple[int, str, str]) -> str:
    """The message of an error that is the user's to mend: exit code 2, nothing on standard output,
    one line."""
    code, out, err = result
    assert (code, out) == (2, "")
    assert err.startswith("bertscore-tm: error: ")
    assert err.count("\n") == 1
    return err.removeprefix("bertscore-tm: error: ")


@pytest.mark.parametrize("side", ["-c", "-r"])
def test_no_file(side: str, run: Run, files: Path) -> None:
    names = {"-c": "preds.txt", "-r": "target.txt", side: "nowhere.txt"}
    assert "nowhere.txt" in failed(run("-c", names["-c"], "-r", names["-r"]))
    (files / "folder").mkdir()
    names[side] = "folder"
    assert "folder" in failed(run("-c", names["-c"], "-r", names["-r"]))


@pytest.mark.parametrize(
    "name, content, arguments, message",
    [
        (
            "bad.txt",
            "one line\n",
            [],
            "'preds.txt' has 3 predictions for 1 lines of references; wanted the same number",
        ),
        ("bad.txt", b"caf\xe9\nrain\ndog\n", [], "'bad.txt' is not UTF-8 text ("),
        ("bad.txt.gz", b"raw: no gzip", [], "'bad.txt.gz' is no whole gzip file ("),
        (
            "bad.txt.gz",
            b"raw:" + gzip.compress(b"rain\n" * 99)[:-9],
            [],
            "'bad.txt.gz' is no whole gzip file (",
        ),
        (
            "bad.txt",
            "a\nb\nc\n",
            ["--reference-column", "x"],
            "'bad.txt' has no columns; wanted a .tsv or .jsonl file, or no",
        ),
        (
            "bad.tsv",
            "",
            [],
            "'bad.tsv' is empty; wanted a header line with the names of the columns",
        ),
        (
            "bad.tsv",
            "a\tb\n1\t2\n",
            [],
            "'bad.tsv' has the columns a, b; wanted the name of one of them",
        ),
        (
            "bad.tsv",
            "a\tb\n1\t2\n",
            ["--reference-column", "x"],
            "'bad.tsv' has no column 'x'; it has a, b",
        ),
        ("bad.tsv", "a\n1\n", ["--reference-column", "x"], "'bad.tsv' has no column 'x'; it has a"),
        (
            "bad.tsv",
            "a\tb\n1\t2\n3\n",
            ["--reference-column", "a"],
            "'bad.tsv', line 3: got 1 columns; wanted 2, as in the header",
        ),
        ("bad.tsv", "a\n1\n2\t3\n", [], "'bad.tsv', line 3: got 2 columns; wanted 1"),
        (
            "bad.jsonl",
            '"a"\n{"x": \n',
            [],
            "'bad.jsonl', line 2: got '{\"x\": ', which is no JSON (",
        ),
        ("bad.jsonl", "a\n", [], "'bad.jsonl', line 1: got 'a', which is no JSON ("),
        ("bad.jsonl", '"a"\n\n"b"\n', [], "'bad.jsonl', line 2: got '', which is no JSON ("),
        ("bad.jsonl", "[" * 100_000 + "\n", [], "'bad.jsonl', line 1: got '[[[["),
        (
            "bad.jsonl",
            '{"x": "a", "y": "b"}\n',
            [],
            "'bad.jsonl', line 1 has the keys x, y; wanted the name of one of them",
        ),
        (
            "bad.jsonl",
            '{"x": "a"}\n',
            ["--reference-column", "r"],
            "'bad.jsonl', line 1 has no key 'r'; it has x",
        ),
        (
            "bad.jsonl",
            '{"x": 3}\n',
            [],
            "'bad.jsonl', line 1: got '3'; wanted a text or a list of texts",
        ),
        (
            "bad.jsonl",
            "null\n",
            [],
            "'bad.jsonl', line 1: got 'None'; wanted a text or a list of texts",
        ),
        (
            "bad.jsonl",
            '"a"\n[]\n',
            [],
            "'bad.jsonl', line 2: got '[]'; wanted a text or a list of texts",
        ),
        ("bad.jsonl", '["a", null]\n', [], "wanted a text or a list of texts"),
        (
            "bad.jsonl",
            "{}\n",
            [],
            "'bad.jsonl', line 1 has the keys none; wanted the name of one of them",
        ),
    ],
)
def test_bad_files(
    name: str, content: str | bytes, arguments: list[str], message: str, run: Run, files: Path
) -> None:
    if isinstance(content, bytes) and content.startswith(b"raw:"):
        (files / name).write_bytes(content.removeprefix(b"raw:"))
    else:
        write(files / name, content)
    assert message in failed(run("-c", "preds.txt", "-r", name, *arguments))


def test_different_lengths(run: Run, files: Path) -> None:
    write(files / "long.txt", "a\nb\nc\nd\n")
    message = failed(run("-c", "preds.txt", "-r", "target.txt", "long.txt"))
    assert (
        "got reference files of different lengths ('target.txt' has 3, 'long.txt' has 4)" in message
    )
    message = failed(run("-c", "preds.txt", "long.txt", "-r", "target.txt"))
    assert "'long.txt' has 4 predictions for 3 lines of references" in message


def test_predictions_are_single_texts(run: Run, files: Path) -> None:
    write(files / "lists.jsonl", '"a"\n["b", "c"]\n"d"\n')
    assert "'lists.jsonl', row 2: got a list; wanted one prediction a line" in failed(
        run("-c", "lists.jsonl", "-r", "target.txt")
    )


def test_standard_input_once(run: Run, files: Path) -> None:
    assert "got - more than once; wanted standard input for one file only" in failed(
        run("-c", "-", "-r", "-")
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["-m", "./nowhere"], "the encoder folder './nowhere' was not found"),
        (["-m", "nobody/nothing"], "could not load the configuration of encoder 'nobody/nothing'"),
        ([], "got neither an encoder nor a language"),
        (
            ["-l", "xx-nowhere", "-m", "minilm"],
            "got --lang 'xx-nowhere', which is no language code",
        ),
    ],
)
def test_bad_encoders(arguments: list[str], message: str, run: Run, files: Path) -> None:
    assert message in failed(run("-c", "preds.txt", "-r", "target.txt", model=arguments))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["-n", "99"], "got layer 99; encoder"),
        (["--max-length", "2"], "got --max-length 2; wanted at least 3"),
        (["--max-length", "4", "--overflow", "error"], "tokens; the limit is 4"),
        (["--batch-tokens", "0"], "got --batch-tokens 0; wanted a positive number"),
        (["--idf", "preds.txt"], "'preds.txt' is no idf table ("),
        (
            ["--idf", "nowhere.json"],
            f"got --idf nowhere.json, which is no file; wanted it alone, with a name "
            f"({', '.join(WEIGHTINGS)}), or with a file that IdfTable.save wrote",
        ),
        (["--idf", "epoc"], "a file that IdfTable.save wrote; did you mean 'epoch'?"),
        (["--baseline-path", "preds.txt"], "got --baseline-path without --rescale-with-baseline;"),
        (["--rescale-with-baseline"], "there is no packaged baseline for encoder"),
        (
            ["--rescale-with-baseline", "--baseline-path", "preds.txt"],
            "wanted the header LAYER,P,R,F",
        ),
        (["--device", "cuda:99"], "got --device cuda:99, which cannot be used here ("),
        (
            ["--device", "meta"],
            "got --device meta, which cannot be used here (it holds no numbers)",
        ),
        (["--device", "nonsense"], "got --device nonsense, which cannot be used here ("),
        (["-o", "no/such/folder/scores.txt"], "no/such/folder/scores.txt"),
    ],
)
def test_bad_settings(
    arguments: list[str], message: str, run: Run, files: Path, tiny: Tiny
) -> None:
    model = ["-m", tiny("bert"), "-n", "2", *arguments]
    assert message in failed(run("-c", "preds.txt", "-r", "target.txt", model=model))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "the following arguments are required: COMMAND"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["score"], "the following arguments are required: -c/--candidates, -r/--references"),
        (
            ["score", "-c", "a", "-r", "b", "-n", "x"],
            "got 'x'; wanted a layer, several with commas between, or all",
        ),
        (["score", "-c", "a", "-r", "b", "-n", "1,,2"], "got '1,,2'; wanted a layer"),
        (["score", "-c", "a", "-r", "b", "--format", "xml"], "invalid choice: 'xml'"),
        (["score", "-c", "a", "-r", "b", "--dtype", "int8"], "invalid choice: 'int8'"),
    ],
)
def test_bad_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--version"], ["--help"], ["score", "--help"]):
        with pytest.raises(SystemExit) as error:
            main(arguments)
        assert error.value.code == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"bertscore-tm {__version__}\n")
    assert err == ""
    for option in ("--candidates", "--references", "--idf", "--per-sample", "--multi-reference"):
        assert option in out


def test_errors_of_the_program_are_not_hidden(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not the user's to mend comes with its traceback."""

    def broken(*_: Any) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr(Pipeline, "match", broken)
    with pytest.raises(KeyError, match="a fault"):
        run("-c", "preds.txt", "-r", "target.txt")


# ---------------------------------------------------------------- as a process


class ClosedPipe(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_reader_that_has_seen_enough(
    tiny: Tiny, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    monkeypatch.setattr(sys, "stdout", ClosedPipe())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert (
        main(["score", "-c", "preds.txt", "-r", "target.txt", "-m", tiny("bert"), "-n", "2"]) == 0
    )


PROGRAM = "import sys; from bertscore_tm.cli import main; sys.exit(main(sys.argv[1:]))"


def started(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """A Python process that finds the package under test."""
    places = [str(Path(bertscore_tm.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    environment.pop("PYTHONUNBUFFERED", None)  # the buffer is then written at the very end
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, *arguments], text=True, env=environment, **pipes, **options
    )


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_of_a_process(tiny: Tiny, files: Path) -> None:
    """`bertscore-tm score ... | head -0`: no traceback, whenever the buffer is written."""
    command = [
        "-c",
        PROGRAM,
        "score",
        "-c",
        "preds.txt",
        "-r",
        "target.txt",
        "-m",
        tiny("bert"),
        "-n",
        "2",
    ]
    with started(*command, cwd=files) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(300)) == ("", 0)


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("bertscore_tm.__main__") is None, reason="there is no bertscore_tm.__main__"
)
def test_as_a_module(tiny: Tiny, files: Path, wanted: Any) -> None:
    command = [
        "-m",
        "bertscore_tm",
        "score",
        "-c",
        "preds.txt",
        "-m",
        tiny("bert"),
        "-n",
        "2",
        "-r",
    ]
    with started(*command, "target.txt", cwd=files) as process:
        out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    near(read_text(out)[0], means(wanted()))
    with started(*command, "nowhere.txt", cwd=files) as process:
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (2, "")
    assert "nowhere.txt" in err


def test_scoring_imports_no_metrics(files: Path, tiny: Tiny) -> None:
    """torchmetrics takes as long to import as transformers; ten lines should not wait for it."""
    given = ["score", "-m", tiny("bert"), "-n", "2", "-c", "preds.txt", "-r", "target.txt"]
    code = (
        "import sys; from bertscore_tm.cli import main; "
        f"assert main({given!r}) == 0; assert 'torchmetrics' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=files, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
