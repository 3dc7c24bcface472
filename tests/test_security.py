"""Files of others run nothing, write nothing and command no terminal: weights, models, tables,
names, texts."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import bertscore_tm
from bertscore_tm import Baseline, BERTScore, IdfTable
from bertscore_tm.cli import main
from bertscore_tm.textfiles import printable, read_texts
from bertscore_tm.weights import folder_digest
from hostile import ours

Tiny = Callable[[str], str]
ESCAPE = "\x1b[31mred\x9b0m\u202e"  # colour, colour in one byte, and text from right to left
PACKAGE = Path(bertscore_tm.__file__).parent

# ---------------------------------------------------------------- nothing is run


class Payload:
    """Pickled, it makes a folder when it is loaded."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


@pytest.fixture
def pickled(tiny: Tiny, tmp_path: Path) -> Path:
    """A folder of an encoder with pickled weights."""
    folder = tmp_path / "pickled"
    shutil.copytree(tiny("bert"), folder)
    weights = transformers.AutoModel.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


def test_pickled_weights_are_refused(pickled: Path) -> None:
    with pytest.raises(OSError, match=r"as a pickle .*wanted \*\.safetensors"):
        BERTScore(str(pickled), 2)


def test_pickled_weights_beside_others_are_refused(pickled: Path, tiny: Tiny) -> None:
    """A safetensors file that the loader does not look for is no way around."""
    shutil.copy(Path(tiny("bert")) / "model.safetensors", pickled / "decoy.safetensors")
    metric = BERTScore(str(pickled), 2)
    with pytest.raises(OSError, match="safetensors"):
        metric.update(["two cats"], ["a cat"])


@pytest.mark.parametrize("beside", [False, True])
def test_a_pickle_never_runs(beside: bool, pickled: Path, tiny: Tiny, tmp_path: Path) -> None:
    torch.save(Payload(tmp_path / "trace"), pickled / "pytorch_model.bin")
    if beside:
        shutil.copy(Path(tiny("bert")) / "model.safetensors", pickled / "decoy.safetensors")
    with pytest.raises(OSError, match="wanted"):
        BERTScore(str(pickled), 2).update(["a"], ["b"])
    assert not (tmp_path / "trace").exists()
    torch.load(pickled / "pytorch_model.bin", weights_only=False)
    assert (tmp_path / "trace").exists()  # else this would prove nothing


@pytest.mark.parametrize("part", ["config.json", "tokenizer_config.json"])
def test_code_of_a_model_never_runs(part: str, tiny: Tiny, tmp_path: Path) -> None:
    folder, trace = tmp_path / "model", tmp_path / "trace"
    shutil.copytree(tiny("bert"), folder)
    (folder / "own.py").write_text(f"import os\nos.mkdir({str(trace)!r})\nclass Own: pass\n")
    settings = json.loads((folder / part).read_text())
    classes = {"AutoConfig": "own.Own", "AutoModel": "own.Own", "AutoTokenizer": ["own.Own", None]}
    changed = {"auto_map": classes, "tokenizer_class": "OwnTokenizer", "model_type": "own"}
    (folder / part).write_text(json.dumps({**settings, **changed}))
    with contextlib.suppress(OSError):  # or the part that is known is used
        BERTScore(str(folder), 2).update(["a"], ["b"])
    assert not trace.exists()


def test_no_source_unpickles_evaluates_or_starts_anything() -> None:
    banned = {
        "pickle",
        "cPickle",
        "dill",
        "joblib",
        "marshal",
        "shelve",
        "subprocess",
        "yaml",
        "tarfile",
        "zipfile",
        "urllib",
        "requests",
    }
    calls = re.compile(
        r"(torch|np|numpy)\.load|eval|exec|compile|__import__|os\.(system|popen|exec\w*)|torch\.hub\.\w+"
    )
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = (
                    [node.module or ""]
                    if isinstance(node, ast.ImportFrom)
                    else [alias.name for alias in node.names]
                )
                assert not {name.partition(".")[0] for name in names} & banned, path
            if isinstance(node, ast.Call):
                assert not calls.fullmatch(ast.unparse(node.func)), f"{path}: {ast.unparse(node)}"
            if isinstance(node, ast.keyword):
                assert node.arg not in ("allow_pickle", "weights_only"), path
                assert node.arg != "trust_remote_code" or ast.unparse(node.value) == "False", path


# ---------------------------------------------------------------- weights that lie


def safetensors(header: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + bytes(600)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        safetensors(b"{}", 2**63),
        safetensors(b"no json"),
        safetensors(b"[" * 100_000),
        *(
            safetensors(
                json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": offsets}}).encode()
            )
            for offsets in (
                [-900, 4],
                [0, -5],
                [8, 4],
                [0, 10**30],
                [0.5, 4],
                ["a", "b"],
                [0, 1, 2],
                [None, 4],
                3,
                {},
                [0, float("inf")],
            )
        ),
    ],
)
def test_headers_that_lie(content: bytes, tmp_path: Path) -> None:
    """They lead to no place outside of the file and to no more than a few bytes of each tensor;
    loading refuses them."""
    (tmp_path / "model.safetensors").write_bytes(content)
    assert re.fullmatch("[0-9a-f]{8}", str(folder_digest(tmp_path)))


def test_a_broken_file_of_weights(tiny: Tiny, tmp_path: Path) -> None:
    shutil.copytree(tiny("bert"), tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(
        safetensors(b'{"a": {"data_offsets": [-900, 4]}}')
    )
    metric = BERTScore(str(tmp_path / "model"), 2)
    with pytest.raises(OSError, match="could not load the weights of the encoder in folder"):
        metric.update(["a"], ["b"])
    assert metric.update_count == 0


@pytest.mark.parametrize(
    "part, change",
    [
        ("tokenizer_config.json", {"model_max_length": -3}),
        ("tokenizer_config.json", {"model_max_length": 1}),
        ("config.json", {"max_position_embeddings": 2}),
        ("config.json", {"max_position_embeddings": "many"}),
        ("config.json", {"num_hidden_layers": "many"}),
        ("config.json", {"num_hidden_layers": -1}),
        ("config.json", {"pad_token_id": "x", "model_type": "roberta"}),
    ],
)
def test_settings_that_lie(part: str, change: dict[str, Any], tiny: Tiny, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny("bert"), folder)
    (folder / part).write_text(json.dumps({**json.loads((folder / part).read_text()), **change}))
    with ours():
        BERTScore(str(folder), 0).update(["a cat"], ["the cat"])


# ---------------------------------------------------------------- nothing is written that was not
# asked for


def test_the_output_is_no_input(
    tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-o refs.txt` by mistake does not cost the references."""
    for name in ("preds.txt", "refs.txt"):
        (tmp_path / name).write_text("a cat\n")
    (tmp_path / "link.txt").symlink_to("refs.txt")
    files = ["-c", str(tmp_path / "preds.txt"), "-r", str(tmp_path / "refs.txt")]
    for name in ("preds.txt", "refs.txt", "link.txt"):
        assert (
            main(["score", *files, "-m", tiny("bert"), "-n", "2", "-o", str(tmp_path / name)]) == 2
        )
        assert "as --output, which is read; wanted another file" in capsys.readouterr().err
    assert {path.read_text() for path in tmp_path.iterdir()} == {"a cat\n"}


def test_a_folder_of_texts_only_gains_the_output(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("preds.txt").write_text("a cat\n")
    assert (
        main(
            [
                "score",
                "-c",
                "preds.txt",
                "-r",
                "preds.txt",
                "-m",
                tiny("bert"),
                "-n",
                "2",
                "-o",
                "scores.txt",
            ]
        )
        == 0
    )
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["preds.txt", "scores.txt"]


@pytest.mark.parametrize("lang", ["..", "../baselines/en", "/etc", "", "en/.."])
def test_languages_lead_nowhere_else(lang: str) -> None:
    assert Baseline.packaged("roberta-large", lang) is None


# ---------------------------------------------------------------- no commands to the terminal


def seen(text: str) -> bool:
    return all(line.isprintable() for line in text.replace("\t", " ").split("\n"))


def test_printable() -> None:
    assert printable("café 東京 🙂 a\tb\n") == "café 東京 🙂 a\\tb\\n"
    assert printable(ESCAPE + "\ud800\0\xa0") == "\\x1b[31mred\\x9b0m\\u202e\\ud800\\x00\\xa0"


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.tsv", f"{ESCAPE}\tx\n1\t2\n"),
        ("a.jsonl", json.dumps({ESCAPE: "a", "x": "b"}, ensure_ascii=False)),
        ("a.jsonl", ESCAPE),
        ("a.jsonl", json.dumps([[ESCAPE]], ensure_ascii=False)),
        (f"{ESCAPE}.txt.gz", ESCAPE),
    ],
)
@pytest.mark.parametrize("column", [None, ESCAPE + "?"])
def test_messages_of_files(name: str, content: str, column: str | None, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"wanted|it has") as error:
        read_texts(str(tmp_path / name), column)
    assert seen(str(error.value))
    assert len(str(error.value)) < 1000


def test_messages_are_short(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("\t".join("x" * 99 for _ in range(10_000)))
    with pytest.raises(ValueError, match="has the columns x") as error:
        read_texts(str(tmp_path / "a.tsv"))
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("load", [Baseline.load, IdfTable.load])
def test_messages_of_tables(load: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / f"{ESCAPE}.json"
    data = {
        "format": "bertscore_tm idf 1",
        "documents": 3,
        "tokenizer": None,
        "unseen": 1.5,
        "weights": {},
    }
    for content in (
        ESCAPE,
        json.dumps({"format": ESCAPE}),
        *(json.dumps({**data, name: ESCAPE}) for name in data),
    ):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=r"wanted|it has") as error:
            load(path)
        assert seen(str(error.value))


@pytest.mark.parametrize(
    "arguments",
    [
        ["-r", f"{ESCAPE}.none"],
        ["-r", f"{ESCAPE}.txt", f"{ESCAPE}.txt", "--format", ESCAPE],
        ["-r", f"{ESCAPE}.txt", f"--{ESCAPE}"],
        ["-r", f"{ESCAPE}.txt", "-n", ESCAPE],
        ["-r", f"{ESCAPE}.txt", "-m", ESCAPE],
        ["-r", f"{ESCAPE}.txt", "-l", ESCAPE],
        ["-r", f"{ESCAPE}.txt", "--device", ESCAPE],
        ["-r", f"{ESCAPE}.txt", "--idf", f"{ESCAPE}.txt"],
        ["-r", f"{ESCAPE}.txt", "-o", f"{ESCAPE}/none"],
        *(
            ["-r", f"{ESCAPE}.txt", "--format", form, *more]
            for form in ("text", "tsv", "csv", "json", "jsonl")
            for more in ([], ["--per-sample"])
        ),
    ],
)
def test_the_command_line(
    arguments: list[str],
    tiny: Tiny,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (f"{ESCAPE}.txt", f"{ESCAPE}2.txt"):
        Path(name).write_text("a cat\n")
    with contextlib.suppress(SystemExit):
        main(
            [
                "score",
                "-m",
                tiny("bert"),
                "-n",
                "2",
                "-c",
                f"{ESCAPE}.txt",
                f"{ESCAPE}2.txt",
                *arguments,
            ]
        )
    out, err = capsys.readouterr()
    assert out + err
    assert seen(out + err)


def test_json_keeps_names_whole(
    tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(
        os.fsencode(tmp_path) + b"/caf\xe9\n\x9b.txt"
    )  # no UTF-8: a lone surrogate stands for the byte
    Path(name).write_text("a cat\n")
    assert (
        main(["score", "-m", tiny("bert"), "-n", "2", "-c", name, "-r", name, "--format", "json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["systems"][0]["system"] == name


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_closed_streams(
    stream: str, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bertscore-tm ... <&-` and `>&-`, as some schedulers start programs."""
    (tmp_path / "a.txt").write_text("a cat\n")
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, stream, None)
    files = [
        "-c",
        "-" if stream == "stdin" else str(tmp_path / "a.txt"),
        "-r",
        str(tmp_path / "a.txt"),
    ]
    assert main(["score", "-m", tiny("bert"), "-n", "2", *files]) == 2
    assert re.search(r"closed; wanted an open one, or", err.getvalue())
