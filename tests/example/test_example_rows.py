"""Rows of files: what can be scored is scored, what is wrong is named by file, line and key."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from commands import TINY, places
from composing import composed
from evaluate import evaluate
from summarizer.data import Files, Hub
from summarizer.errors import SettingError
from train import run

GOOD = [{"source": f"the cat number {i} sat on the mat", "target": f"cat {i}"} for i in range(4)]
LIST = r"wanted a text or a list of texts at 'target', not"
WRONG = [
    ({"source": "a", "target": None}, rf"line 3: got 'None'; {LIST} null"),
    ({"source": "a", "target": 7}, rf"line 3: got '7'; {LIST} a number"),
    ({"source": "a", "target": True}, rf"line 3: got 'True'; {LIST} true or false"),
    ({"source": "a", "target": []}, rf"line 3: got '\[\]'; {LIST} an empty list"),
    ({"source": "a", "target": {}}, rf"line 3: got '\{{\}}'; {LIST} an object"),
    (
        {"source": "a", "target": ["b", None]},
        rf"line 3: got .*; {LIST} a list whose item 2 is null",
    ),
    ({"source": "a", "target": [["b"]]}, rf"line 3: got .*; {LIST} a list whose item 1 is a list"),
    ({"source": None, "target": "b"}, r"line 3: got 'None'; wanted a text at 'source', not null"),
    ({"source": ["a"], "target": "b"}, r"line 3: got .*; wanted a text at 'source', not a list"),
    ({"source": 1.5, "target": "b"}, r"line 3: got '1.5'; wanted a text at 'source', not a number"),
    ({"target": "b"}, r"line 3 has no key 'source'; it has target"),
    ("text", r"line 3: got a text; wanted an object"),
    (None, r"line 3: got null; wanted an object"),
]


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def loaded(path: Path) -> list[list[str]]:
    data = Files(None, val=str(path))
    data.setup("validate")
    return [row["targets"] for row in data.rows["val"]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row, message", WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_row_is_named_before_the_model_is_made(
    row: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("summarizer.models.tiny", lambda **settings: pytest.fail("made the model"))
    train, val = write(tmp_path / "t.jsonl", *GOOD), write(tmp_path / "v.jsonl", *GOOD[:2], row)
    files = ["data=files", f"data.train={train}", f"data.val={val}", "logger=none"]
    with pytest.raises(SettingError, match=rf"data: .*v\.jsonl', {message}"):
        run(composed(*files, *places(tmp_path, tmp_path)))


def test_what_can_be_scored_is_read(tmp_path: Path) -> None:
    lines = [
        b'\xef\xbb\xbf{"source": "a", "target": "first"}\r\n',
        b'{"source": "", "target": ""}\n',
        b'  {"source": "a", "target": ["", "x"]}  \n',
        b'{"source": "a\\ud800", "target": "half \\ud83d and whole \\ud83d\\ude00"}\n',
        b"   \n",
        b"\n",
    ]
    wanted = [["first"], [""], ["", "x"], ["half \ufffd and whole \U0001f600"]]
    path = tmp_path / "val.jsonl"
    path.write_bytes(b"".join(lines))
    assert loaded(path) == wanted
    packed = tmp_path / "val.jsonl.gz"
    packed.write_bytes(gzip.compress(b"".join(lines)))
    assert loaded(packed) == wanted


@pytest.mark.parametrize(
    "content, message",
    [
        (b'{"source": "a", "target": "\xff"}', r"val\.jsonl' is not UTF-8 text .*line 1"),
        (b"{}\n{,}", r"line 1 has no key 'target'; it has none"),
        (b"[" * 100_000, r"line 1: got '\[\[.*, which is no JSON"),
        (b'{"source": ' + b"9" * 5000 + b"}", r"line 1: got .*, which is no JSON"),
        (
            b'{"source": "a", "target": "b"}\n\n{}',
            r"line 2: got '', which is no JSON .*blank lines are only at",
        ),
        (b"\n\n", r"Files has no rows for 'val'"),
    ],
)
def test_odd_files_say_where(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "val.jsonl"
    path.write_bytes(content)
    with pytest.raises((ValueError, KeyError), match=message):
        loaded(path)


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b'{"source": ' * 99)[:20]])
def test_a_damaged_gzip_file_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "val.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"val\.jsonl\.gz' is no whole gzip file"):
        loaded(path)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("form", ["csv", "tsv", "json", "jsonl"])
def test_every_kind_of_file(form: str, packed: str, tmp_path: Path) -> None:
    """As the command line of the package reads it."""
    rows = [("a, b", 'the "b"'), ("two\nlines", "x"), ("", "y")]
    records = [{"id": i, "source": s, "target": t} for i, (s, t) in enumerate(rows)]
    stream = io.StringIO()
    if form in ("csv", "tsv"):
        table = csv.DictWriter(stream, records[0], delimiter="\t" if form == "tsv" else ",")
        table.writeheader()
        table.writerows(records)
    elif form == "json":
        json.dump(records, stream)
    else:
        stream.write("\n".join(map(json.dumps, records)))
    content = stream.getvalue().encode()
    path = tmp_path / f"val.{form}{packed}"
    path.write_bytes(gzip.compress(content) if packed else content)
    data = Files(None, val=str(path))
    data.setup("validate")
    assert [(row["source"], row["targets"]) for row in data.rows["val"]] == [
        (source, [target]) for source, target in rows
    ]


def test_rows_beyond_the_limit_are_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "val.jsonl", *GOOD, None)
    data = Files(None, val=str(path), max_val=4)
    data.setup("validate")
    assert len(data.rows["val"]) == 4


def test_rows_of_the_hub_are_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Table(list[Any]):
        def select(self, places: range) -> list[Any]:
            return [self[place] for place in places]

    data = Hub(None, "some/set", "text", "label", {"val": "validation"})
    table = Table([{"text": "a", "label": "b"}, {"text": "a", "label": 3}])
    monkeypatch.setattr(data, "_data", lambda split: table)
    message = r"some/set, validation, row 1: got '3'; wanted a text or .* at 'label', not a number"
    with pytest.raises(ValueError, match=message):
        data.setup("validate")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_odd_texts_are_trained_on_scored_and_written(tmp_path: Path) -> None:
    odd = [
        {"source": "", "target": ""},
        {"source": "half \ud800 of it", "target": ["half \udfff", "of it"]},
        {"source": "\x00 \u200b", "target": "\x00"},
    ]
    file = write(tmp_path / "odd.jsonl", *GOOD, *odd)
    files = [f"data.{split}={file}" for split in ("train", "val", "test")]
    tiny = [setting for setting in TINY if not setting.startswith("data.")]
    settings = [*tiny, "data=files", *files, "test=true", *places(tmp_path / "run", tmp_path)]
    run(composed(*settings))
    lines = (tmp_path / "run" / "predictions" / "epoch_000.jsonl").read_text().splitlines()
    assert [json.loads(line)["target"] for line in lines[4:]] == [
        [""],
        ["half \ufffd", "of it"],
        ["\x00"],
    ]


@pytest.mark.parametrize(
    "row, message",
    [
        (
            {"prediction": None, "target": "b"},
            r"p\.jsonl', line 1: got 'None'; wanted a text at 'prediction'",
        ),
        (
            {"prediction": "a", "target": []},
            r"p\.jsonl', line 1: got .*'target', not an empty list",
        ),
        ({"prediction": "a", "target": 5}, r"p\.jsonl', line 1: got '5'; .*'target', not a number"),
        ({"pred": "a", "target": "b"}, r"line 1 has no key 'prediction'; it has pred, target"),
    ],
)
def test_a_wrong_row_of_an_evaluation_is_named(row: Any, message: str, tmp_path: Path) -> None:
    file = write(tmp_path / "p.jsonl", row)
    with pytest.raises(SettingError, match=message):
        evaluate(composed(f"predictions={file}", config="evaluate"))


def test_an_evaluation_of_nothing(tmp_path: Path) -> None:
    file = write(tmp_path / "p.jsonl")
    with pytest.raises(SettingError, match=r"p\.jsonl, a file without rows; wanted one at least"):
        evaluate(composed(f"predictions={file}", config="evaluate"))
