"""The reader of files: what others write comes back, and what is wrong is said with its place."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import sys
import threading
import types
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertscore_tm import textfiles
from bertscore_tm.errors import InvalidValueError
from bertscore_tm.textfiles import join_references, read_records, read_texts, texts_at

NUL = "\0" if sys.version_info >= (3, 11) else "."  # before that, the csv module writes none
AWKWARD = [
    "a dog barked",
    'a dog "barked"',
    '"No," she said.',
    '"Stop!"',
    '""',
    '"',
    'she said "no"',
    "",
    " ",
    " led and trailed ",
    "one, two; three",
    "tab\tin it",
    "two\nlines",
    "two\r\nlines",
    "old\rmac",
    "\nleading and trailing\n",
    'quote"\n"at the lines',
    "🙂 👩‍👩‍👧 é",
    "שלום עולם",
    "\u202eright to left",
    "\u2028 \u2029 \x85 \x0b \x0c \x1c",
    f"nul{NUL}nul",
    "\ufeffmark",
    "null",
    "NaN",
    "3.0",
    "=1+1",
    "\\n \\t \\",
    "#comment",
    "東京",
]

check = settings(
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
letters = st.characters(codec="utf-8", exclude_characters="" if NUL == "\0" else "\0")
alphabet = st.sampled_from([*'ab """\',;\t\n\r\\é🙂ש\u2028\x85\ufeff', NUL]) | letters
texts = st.lists(st.text(alphabet, max_size=9) | st.sampled_from(AWKWARD), min_size=1, max_size=6)
flat = st.lists(
    st.text(st.sampled_from(list('ab ""\',;\r\0é🙂\u2028')), max_size=6), min_size=1, max_size=6
)
QUOTING = {"minimal": csv.QUOTE_MINIMAL, "all": csv.QUOTE_ALL, "texts": csv.QUOTE_NONNUMERIC}


def put(folder: Path, name: str, content: str | bytes) -> str:
    data = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(folder / name)


def refused(*given: Any, **options: Any) -> str:
    """The message of an error of ours, which is in one printable line."""
    with pytest.raises(ValueError, match=r"wanted|it has") as error:
        list(read_texts(*given, **options))
    said = str(error.value)
    assert type(error.value) is InvalidValueError
    assert said.isprintable()
    assert len(said) < 1000
    return said


# ---------------------------------------------------------------- what others write


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("quoting", QUOTING)
@pytest.mark.parametrize(
    "name, sep", [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.tsv", "\t")]
)
def test_tables_of_pandas(
    name: str, sep: str, quoting: str, ends: str, encoding: str, packed: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame(
        {"id": range(len(AWKWARD)), "text": AWKWARD, "more": 1.5, "twin": AWKWARD[::-1]}
    )
    path = tmp_path / f"{name}{packed}"
    frame.to_csv(
        path, sep=sep, index=False, encoding=encoding, quoting=QUOTING[quoting], lineterminator=ends
    )
    assert read_texts(str(path), "text") == AWKWARD
    assert read_texts(str(path), "twin") == AWKWARD[::-1]
    rows = [row for _, row in read_records(str(path))]
    assert rows == frame.astype(str).to_dict("records")


@check
@given(
    texts=texts,
    sep=st.sampled_from(",;\t"),
    quoting=st.sampled_from([*QUOTING]),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_any_table_of_pandas(
    texts: list[str], sep: str, quoting: str, ends: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"a": texts, "text": texts[::-1], "z": 0})
    for name in ("a.csv", "a.tsv") if sep == "\t" else ("a.csv",):
        frame.to_csv(
            tmp_path / name, sep=sep, index=False, quoting=QUOTING[quoting], lineterminator=ends
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert read_texts(str(tmp_path / name), "a") == texts
            assert read_texts(str(tmp_path / name), "text") == texts[::-1]
        assert read_texts(str(tmp_path / name), "text", quoting="csv") == texts[::-1]


@check
@given(texts=texts, quoting=st.sampled_from([*QUOTING]))
def test_any_only_column_of_pandas(texts: list[str], quoting: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": texts})
    for name, sep in (("a.csv", ","), ("a.tsv", "\t")):
        frame.to_csv(
            tmp_path / name, sep=sep, index=False, quoting=QUOTING[quoting], lineterminator="\r\n"
        )
        assert read_texts(str(tmp_path / name), quoting="csv") == texts
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert read_texts(str(tmp_path / name)) == texts


@check
@given(texts=texts)
def test_any_table_of_the_csv_module(texts: list[str], tmp_path: Path) -> None:
    """As Excel has it, and as its Macintosh kind had it: each line ends in a carriage return."""
    for ends in ("\r\n", "\r"):
        stream = io.StringIO(newline="")
        writer = csv.writer(stream, lineterminator=ends, quoting=csv.QUOTE_ALL)
        writer.writerows([["id", "text"], *([str(i), text] for i, text in enumerate(texts))])
        assert read_texts(put(tmp_path, "a.csv", stream.getvalue()), "text") == texts


@check
@given(texts=flat)
def test_tables_without_quoting(texts: list[str], tmp_path: Path) -> None:
    content = "".join(f"{i}\t{text}\tx\n" for i, text in enumerate(texts))
    path = put(tmp_path, "a.tsv", f"id\ttext\tmore\n{content}")
    assert read_texts(path, "text", quoting="none") == texts
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        read = read_texts(path, "text")
    # As they are; or it is in doubt, and said; or it looks like CSV in all.
    assert (
        read == texts
        or said
        or any(text == '""' or (text[:1] == '"' and '""' in text[1:]) for text in texts)
    )
    assert len(said) <= 1


def test_our_tables_are_those_of_pandas(tmp_path: Path) -> None:
    for content in (
        'a,b\n"x ""y"" z",1\n,2\n"",3\n',
        'a,b\r\n"x\r\ny",1\r\n',
        '"a";"b"\n"x;y";1,5\n',
        'a,b\n in, 1\nx "y" z,2\n',
        "a,b\n1,2\n\n",
        "\ufeffa,b\n1,2",
        'a,"b\nc"\n1,2\n',
        ",a\n0,x\n",
    ):
        path = put(tmp_path, "a.csv", content)
        frame = pd.read_csv(
            path,
            sep=None if ";" in content else ",",
            engine="python",
            dtype=str,
            keep_default_na=False,
        )
        frame = frame.rename(columns={"Unnamed: 0": ""})
        assert [row for _, row in read_records(path)] == frame.to_dict("records"), content


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_json_of_pandas(ascii_only: bool, packed: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": range(len(AWKWARD)), "text": AWKWARD})
    for name, lines in (("a.json", False), ("a.jsonl", True), ("a.ndjson", True)):
        path = str(tmp_path / f"{name}{packed}")
        frame.to_json(path, orient="records", lines=lines, force_ascii=ascii_only)
        assert read_texts(path, "text") == AWKWARD
        assert [row for _, row in read_records(path)] == frame.to_dict("records")


@check
@given(
    values=st.lists(
        st.text(alphabet) | st.lists(st.text(alphabet), min_size=1, max_size=3), max_size=5
    ),
    plain=st.booleans(),
)
def test_any_json(values: list[Any], plain: bool, tmp_path: Path) -> None:
    for column, rows in (
        (None, values),
        (None, [{"r": v} for v in values]),
        ("r", [{"r": v, "x": 1} for v in values]),
    ):
        parts = [json.dumps(row, ensure_ascii=plain) for row in rows]
        whole = json.dumps(rows, ensure_ascii=plain, indent=None if plain else 1)
        assert read_texts(put(tmp_path, "a.json", whole), column) == values
        for content in (
            "\n".join(parts),
            "\r\n".join([*parts, ""]),
            "\r".join(parts),
            "\n".join([*parts, "", " \t", ""]),
        ):
            assert read_texts(put(tmp_path, "a.jsonl", content), column) == values


@check
@given(
    texts=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\n\r\ufeff"), max_size=9),
        max_size=5,
    )
)
def test_any_lines(texts: list[str], tmp_path: Path) -> None:
    for end in ("\n", "\r\n", "\r"):
        content = "".join(text + end for text in texts)
        # A NUL at the beginning of UTF-16 makes its mark that of UTF-32.
        for encoding in ("utf-8-sig", "utf-32", *(["utf-16"] if content[:1] != "\0" else [])):
            assert read_texts(put(tmp_path, "a.txt", content.encode(encoding))) == texts


@check
@given(
    data=st.binary(max_size=40) | texts.map(lambda t: "\n".join(t).encode()),
    quoting=st.sampled_from(textfiles.QUOTING),
)
@pytest.mark.parametrize("kind", textfiles.KINDS)
def test_anything_is_read_or_refused(kind: str, data: bytes, quoting: str, tmp_path: Path) -> None:
    path = put(tmp_path, "a", data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for column in (None, "a"):
            try:
                found = read_texts(path, column, kind=kind, quoting=quoting)
            except ValueError:
                refused(path, column, kind=kind, quoting=quoting)
            else:
                lists = [[text] if isinstance(text, str) else text for text in found]
                assert all(one and {*map(type, one)} == {str} for one in lists)


# ---------------------------------------------------------------- lines


@pytest.mark.parametrize(
    "content, wanted",
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\nb", ["a", "b"]),
        ("a\n\nb\n\n", ["a", "", "b", ""]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\r\nb\n", ["a", "b"]),
        ("a\rb\rc", ["a", "b", "c"]),  # old Mac: there is no \n at all
        ("a\r\rb\r", ["a", "", "b"]),
        ("a\rb\nc\n", ["a\rb", "c"]),  # there is: \r is part of a text
        ("a\r\r\nb\n", ["a\r", "b"]),
        ("a\u2028b\x85c\x0bd\x0ce\x1cf\n", ["a\u2028b\x85c\x0bd\x0ce\x1cf"]),
        ('"a"\n{"b": 1}\n', ['"a"', '{"b": 1}']),
        ("\ufeffa\n\ufeffb\n", ["a", "\ufeffb"]),
        ("a\0b\n", ["a\0b"]),
    ],
)
def test_lines(content: str, wanted: list[str], tmp_path: Path) -> None:
    for name in ("a.txt", "a", "a.ref", "a.txt.gz", "v1.2"):
        assert read_texts(put(tmp_path, name, content)) == wanted
    assert read_texts(put(tmp_path, "a.csv", content), kind="lines") == wanted


def test_carriage_returns_in_tables(tmp_path: Path) -> None:
    """The header decides: where it ends in one, so do the rows; else it is part of a text."""
    for name, d in (("a.csv", ","), ("a.tsv", "\t")):
        assert read_texts(put(tmp_path, name, f"a{d}b\r1{d}x\r2{d}y\r"), "b") == ["x", "y"]
        assert read_texts(put(tmp_path, name, f'a{d}b\r1{d}"x""\n"\r2{d}y\r'), "b") == ['x"\n', "y"]
        assert read_texts(put(tmp_path, name, f"a{d}b\n1{d}x\ry\n2{d}z\n"), "b") == ["x\ry", "z"]
        assert read_texts(put(tmp_path, name, f'a{d}b\n1{d}"x\r""y\r\n"\n2{d}z\n'), "b") == [
            'x\r"y\r\n',
            "z",
        ]


def test_nuls_in_tables(tmp_path: Path) -> None:
    for content in ("a,b\n\0,x\0\0y\n", 'a,b\n"\0","x\0\0y"\n', 'a,b\r\0,"x\0\0y"\r'):
        assert read_texts(put(tmp_path, "a.csv", content), "a") == ["\0"]
        assert read_texts(put(tmp_path, "a.csv", content), "b") == ["x\0\0y"]


# ---------------------------------------------------------------- encodings


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.txt", "é\n🙂\n"),
        ("a.csv", "x\né\n🙂\n"),
        ("a.tsv", "x\né\n🙂\n"),
        ("a.jsonl", '"é"\n"🙂"\n'),
        ("a.json", '["é", "🙂"]'),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_byte_order_marks(encoding: str, name: str, content: str, tmp_path: Path) -> None:
    assert read_texts(put(tmp_path, name, ("\ufeff" + content).encode(encoding))) == ["é", "🙂"]


@pytest.mark.parametrize(
    "data, message",
    [
        ("one\ncafé\n".encode("latin-1"), "is not UTF-8 text (byte 0xe9 at offset 7, line 2: "),
        (b"\xef\xbb\xbfone\ncaf\xe9\n", "is not UTF-8 text (byte 0xe9 at offset 10, line 2: "),
        ("a\nb".encode("utf-16") + b"\0", "is not UTF-16-LE text (byte 0x00 at offset 8, line 2: "),
        (
            "a\n".encode("utf-16") + b"\x0a\xd8",
            "is not UTF-16-LE text (byte 0x0a at offset 6, line 2: ",
        ),
        (b"a\n\xed\xa0\x80", "is not UTF-8 text (byte 0xed at offset 2, line 2: "),
        (
            "one\ntwo\n".encode("utf-16-le"),
            "(every other byte is zero, as in UTF-16); wanted UTF-8, or UTF-16 with a byte",
        ),
        (
            "one\ntwo\n".encode("utf-16-be"),
            "(every other byte is zero, as in UTF-16); wanted UTF-8, or UTF-16 with a byte",
        ),
        (gzip.compress(b"a"), "(it begins with gzip's bytes; wanted a name that ends in .gz)"),
        (
            b"PK\x03\x04",
            "(it begins with the bytes of a zip archive (.xlsx and .docx are some); wanted text)",
        ),
        (b"PAR1\x15\0", "the bytes of a Parquet file"),
        (b"%PDF-1.7\n", "the bytes of a PDF"),
    ],
)
def test_other_encodings(data: bytes, message: str, tmp_path: Path) -> None:
    for kind in textfiles.KINDS:
        path = put(tmp_path, "a", data)
        assert refused(path, kind=kind).startswith(f"{path!r} is not UTF-")
        assert message in refused(path, kind=kind)


# ---------------------------------------------------------------- names and kinds


@pytest.mark.parametrize(
    "endings, advice",
    [
        ("xlsx xls ods", "wanted text: save the sheet as .csv (UTF-8)"),
        (
            "parquet arrow feather pkl npy npz pt h5",
            "wanted text: export its texts as .jsonl or .csv (pandas: to_json(name, ",
        ),
        ("docx pdf odt rtf html", "wanted text: save its texts as plain lines (.txt)"),
        (
            "xml sgm yaml yml",
            "wanted text: export its texts as plain lines or .jsonl, or say kind='lines'",
        ),
        ("zip tar 7z bz2 xz zst", "wanted text: unpack it; only .gz is read as it is"),
    ],
)
def test_other_files_are_refused_by_name(endings: str, advice: str, tmp_path: Path) -> None:
    for ending in endings.split():
        for name in (f"a.{ending}", f"A.{ending.upper()}", f"a.{ending}.gz", f"a.txt.{ending}"):
            path = put(tmp_path, name, "one\n")
            said = f"{path!r} cannot be read as .{ending}; {advice}"
            assert refused(path).startswith(said)
            with pytest.raises(ValueError, match="cannot be read as"):
                read_records(path)
            assert read_texts(path, kind="lines") == ["one"]  # what is said counts, not the name


def test_a_folder_has_no_ending(tmp_path: Path) -> None:
    (tmp_path / "out.zip").mkdir()
    assert read_texts(put(tmp_path / "out.zip", "preds", "a\n")) == ["a"]


KIND = [
    ("lines", "a\nb\n"),
    ("csv", 'x\n"a"\nb\n'),
    ("tsv", "x\na\nb\n"),
    ("json", '["a", "b"]'),
    ("jsonl", '"a"\n"b"\n'),
]


@pytest.mark.parametrize("kind, content", KIND)
def test_a_kind_can_be_said(
    kind: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "a.csv.gz", "a.json", "a"):
        assert read_texts(put(tmp_path, name, content), kind=kind) == ["a", "b"]
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(content.encode())))
    assert read_texts("-", kind=kind) == ["a", "b"]
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(content.encode())))
    assert read_texts("-") == content.splitlines()


def test_wrong_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "a.txt", "a\n")
    assert (
        refused(path, kind="xml")
        == "got kind='xml'; wanted one of lines, tsv, csv, json, jsonl, or None"
    )
    assert refused(path, quoting="all") == "got quoting='all'; wanted one of auto, csv, none"
    said = refused(path, "text")
    assert said.startswith(
        f"{path!r} has no columns; wanted a .tsv or .jsonl file, or no column name"
    )
    with pytest.raises(
        ValueError, match=r"has no columns; wanted a \.csv, \.tsv, \.json or \.jsonl file"
    ):
        read_records(path)
    assert refused("no\0where").endswith("; wanted the name of a file")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(OSError, match="got - where standard input is closed; wanted an open one"):
        read_texts("-")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
        read_texts("nowhere.csv")


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize(
    "header, wanted",
    [
        ("id,text", ","),
        ("id;text", ";"),
        ("id\ttext", "\t"),
        ("text", ","),
        ('"id;x",text', ","),
        ('"id,x";text', ";"),
        ('"id ""a"", b";text', ";"),
        ("id;a,text", ","),  # several: the comma
        ("id;a\ttext", ","),
    ],
)
def test_the_delimiter_is_that_of_the_header(header: str, wanted: str, tmp_path: Path) -> None:
    names = next(csv.reader([header], delimiter=wanted))
    row = wanted.join(["1,5;6\t7".replace(wanted, "")] * len(names))
    records = list(read_records(put(tmp_path, "a.csv", f"{header}\n{row}\n")))
    assert [[*record] for _, record in records] == [names]


def test_blank_lines(tmp_path: Path) -> None:
    for name, d in (("a.csv", ","), ("a.tsv", "\t")):
        assert read_texts(put(tmp_path, name, f"a{d}b\n1{d}\n\n\r\n"), "b") == [""]
        path = put(tmp_path, name, f"a{d}b\n1{d}2\n\n3{d}4\n")
        assert (
            refused(path, "b") == f"{path!r}, line 3: got a blank line; wanted 2, as in the header"
        )
    path = put(tmp_path, "a.csv", "a\nx\n\ny\n")
    assert refused(path).endswith(
        ', line 3: got a blank line; wanted 1, as in the header; an empty text is written ""'
    )
    assert read_texts(put(tmp_path, "a.csv", 'a\nx\n""\ny\n')) == ["x", "", "y"]
    assert read_texts(put(tmp_path, "a.csv", "a\nx\n\n\n")) == ["x"]
    assert read_texts(put(tmp_path, "a.tsv", "a\nx\n\ny\n\n")) == [
        "x",
        "",
        "y",
        "",
    ]  # as in plain lines
    assert read_texts(put(tmp_path, "a.tsv", 'a\n"x\ty"\n\n""\n\n')) == ["x\ty", "", "", ""]


@pytest.mark.parametrize(
    "name, content, column, message",
    [
        ("a.csv", "", None, " is empty; wanted a header line with the names of the columns"),
        (
            "a.csv",
            "\na\n",
            None,
            " begins with a blank line; wanted a header line with the columns",
        ),
        (
            "a.csv",
            "a,b\n1,2\n",
            None,
            " has the columns a, b; wanted the name of one of them (column)",
        ),
        ("a.csv", ",text\n0,x\n", None, " has the columns '', text; wanted the name of one"),
        (
            "a.csv",
            "id,Reference\n1,2\n",
            "reference",
            " has no column 'reference'; it has id, Reference; did you mean 'Reference'?",
        ),
        (
            "a.csv",
            "id, text\n1,2\n",
            "text",
            " has no column 'text'; it has id,  text; did you mean ' text'?",
        ),
        ("a.csv", "id,xyz\n1,2\n", "text", " has no column 'text'; it has id, xyz"),
        ("a.csv", "t,t\n1,2\n", "t", " has 2 columns 't'; wanted one of that name"),
        (
            "a.csv",
            "t\nHello, world\n",
            None,
            ", line 2: got 2 columns; wanted 1, as in the header; a text that holds the delim",
        ),
        (
            "a.csv",
            'a,b\n"x\n\ny",1\n2\n',
            "a",
            ", line 5: got 1 columns; wanted 2, as in the header",
        ),
        (
            "a.csv",
            'a,b\n1,2\n"No," she said.,1\n',
            "a",
            ", line 3: the row that begins here is no CSV (',' expected after '\"'); ",
        ),
        (
            "a.csv",
            'a,b\n1,2\n3,"open\n4,5\n',
            "a",
            ", line 3: the row that begins here is no CSV (unexpected end of data); want",
        ),
        (
            "a.tsv",
            'a\tb\n"x\ty"\n1\t2\t3\n',
            "a",
            ", line 3: got 3 columns; wanted 2, as in the header; nor are its quotes th",
        ),
        (
            "a.tsv",
            'a\tb\n"x\ny"\t1\n"no" z\t2\n',
            "b",
            ", line 2: got 1 columns; wanted 2, as in the header; nor are its quotes",
        ),
    ],
)
def test_bad_tables(
    name: str, content: str, column: str | None, message: str, tmp_path: Path
) -> None:
    for packed in ("", ".gz"):
        path = put(tmp_path, name + packed, content)
        assert refused(path, column).startswith(f"{path!r}{message}")


def test_a_cell_may_be_long(tmp_path: Path) -> None:
    """The csv module's own limit is 131,072 characters; it is left as it was."""
    before = csv.field_size_limit(54_321)
    long = "x " * 200_000
    path = put(tmp_path, "a.csv", f'a,b\n1,"{long}"\n')
    errors: list[Exception] = []

    def read() -> None:
        try:
            assert read_texts(path, "b") == [long]
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert refused(put(tmp_path, "a.csv", 'a\n"'))
    assert csv.field_size_limit(before) == 54_321


# ---------------------------------------------------------------- quotes in TSV


@pytest.mark.parametrize(
    "content, wanted",
    [
        # no cell begins with a quote
        ('a\tb\nx "y"\t5"\n', ['x "y"', '5"']),
        # doubled quotes: from a writer of CSV
        ('a\tb\n"x ""y"""\t"z"\n', ['x "y"', "z"]),
        ('a\tb\n"x ""y""\nz"\t1\n', ['x "y"\nz', "1"]),
        # a header in quotes, too
        ('"a"\t"b"\n"x"\t1\n', ["x", "1"]),
        # rows that fit only so
        ('a\tb\n"x\ty"\tz\n', ["x\ty", "z"]),
        ('a\tb\n"x\ny"\tz\n', ["x\ny", "z"]),
        # quotes that do not close as those of CSV do, somewhere
        ('a\tb\n"No," she said.\t"x"\n', ['"No," she said.', '"x"']),
        ('a\tb\n"open\tx\n', ['"open', "x"]),
        # an empty text, rather than two quotes
        ('a\tb\n""\tx\n', ["", "x"]),
    ],
)
def test_quotes_that_can_be_seen(content: str, wanted: list[str], tmp_path: Path) -> None:
    path = put(tmp_path, "a.tsv", content)  # a warning would be an error
    assert [read_texts(path, column)[0] for column in ("a", "b")] == wanted


@pytest.mark.parametrize(
    "content, auto, plain, message",
    [
        (
            'id\ttext\n1\tx\n2\t"Stop!"\n3\t"Go!"\n',
            ["x", "Stop!", "Go!"],
            ["x", '"Stop!"', '"Go!"'],
            " has cells that begin with a quote (2, the first in line 3); "
            "quotes were taken off, as in CSV; quoting='csv' or 'none' decides",
        ),
        (
            'text\nx\n"one\ntwo"\n',
            ["x", "one\ntwo"],
            ["x", '"one', 'two"'],
            " has cells that begin with a quote (1, the first in line 3); quotes were "
            "taken off, as in CSV, which makes 2 rows of 3 lines; quoting='csv' or 'none' decides",
        ),
    ],
)
def test_quotes_in_doubt(
    content: str, auto: list[str], plain: list[str], message: str, tmp_path: Path
) -> None:
    path = put(tmp_path, "a.tsv", content)
    with pytest.warns(UserWarning, match="cells that begin with a quote") as said:
        assert read_texts(path, "text") == auto
    assert len(said) == 1
    assert repr(path) in str(said[0].message)
    assert message in str(said[0].message)
    assert read_texts(path, "text", quoting="csv") == auto
    assert read_texts(path, "text", quoting="none") == plain


def test_quotes_of_both_kinds(tmp_path: Path) -> None:
    """Most look like CSV, one does not: they are left as they are, which is said."""
    path = put(tmp_path, "a.tsv", 'a\tb\n1\t"x ""y"""\n2\t"No," she said.\n')
    with pytest.warns(
        UserWarning, match="quotes were left in the texts, since not all are those of CSV: .*line 3"
    ) as said:
        assert read_texts(path, "b") == ['"x ""y"""', '"No," she said.']
    assert "(1, the first in line 2)" in str(said[0].message)
    assert (
        ", line 3: the row that begins here is no CSV ('\\t' expected after '\"'); wanted"
        in refused(path, "b", quoting="csv")
    )
    assert read_texts(path, "b", quoting="none") == ['"x ""y"""', '"No," she said.']


def test_csv_without_quoting(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", 'a;b\n1;"No," she said.\n')
    assert refused(path, "b")
    assert read_texts(path, "b", quoting="none") == ['"No," she said.']


# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    "name, content, column, message",
    [
        (
            "a.json",
            "",
            None,
            " is no JSON (Expecting value: line 1 column 1 (char 0)); wanted an array",
        ),
        (
            "a.json",
            '{"a": "x"}\n{"a": "y"}\n',
            None,
            " is no JSON (Extra data: line 2 column 1 (char 11)); wanted an array; of JSON ",
        ),
        ("a.json", "[" * 100_000, None, " is no JSON (maximum recursion depth exceeded"),
        ("a.json", f"[{'9' * 5000}]", None, " is no JSON (Exceeds the limit"),
        (
            "a.json",
            '{"a": {"0": "x"}}',
            None,
            " holds an object; wanted an array of texts, of lists of texts or of objects (pandas: ",
        ),
        ("a.json", '"x"', None, " holds a text; wanted an array"),
        ("a.json", "null", None, " holds null; wanted an array"),
        (
            "a.json",
            '["x", 3]',
            None,
            ", row 2: got '3'; wanted a text or a list of texts, not a number",
        ),
        (
            "a.json",
            '["x", null]',
            None,
            ", row 2: got 'None'; wanted a text or a list of texts, not null",
        ),
        (
            "a.json",
            '["x", []]',
            None,
            ", row 2: got '[]'; wanted a text or a list of texts, not an empty list",
        ),
        (
            "a.json",
            '[{"a": "x"}, {"a": true}]',
            "a",
            ", row 2: got 'True'; wanted a text or a list of texts at 'a', not true or f",
        ),
        (
            "a.json",
            '[{"a": ["x", null]}]',
            "a",
            ", row 1: got \"['x', None]\"; wanted a text or a list of texts at 'a', not a list "
            "whose item 2 is null",
        ),
        (
            "a.json",
            '[{"a": NaN}]',
            "a",
            ", row 1: got 'nan'; wanted a text or a list of texts at 'a', not a number",
        ),
        ("a.json", '["x"]', "a", ", row 1: got a text; wanted an object with the key 'a'"),
        (
            "a.json",
            '[{"ref": "x"}, {"refs": "x"}]',
            "ref",
            ", row 2 has no key 'ref'; it has refs; did you mean 'refs'?",
        ),
        ("a.json", '[{"a": "x"}, {"b": "x"}]', None, ", row 2 has no key 'a'; it has b"),
        (
            "a.json",
            '[{"a": "x", "b": "x"}]',
            None,
            ", row 1 has the keys a, b; wanted the name of one of them",
        ),
        (
            "a.jsonl",
            '{"a": "x"}\n\n{"a": "y"}\n',
            None,
            ", line 2: got '', which is no JSON (Expecting value, column 1); wanted an "
            "object, a text or a list (blank lines are only at the end)",
        ),
        ("a.jsonl", '\n"x"\n', None, ", line 1: got '', which is no JSON"),
        (
            "a.jsonl",
            '[\n "x",\n "y"\n]\n',
            None,
            ", line 1: got '[', which is no JSON (Expecting value, column 2); wanted an object, a "
            "text or a list (JSON over several lines is .json)",
        ),
        (
            "a.jsonl",
            '"x"\n"\ufeffy',
            None,
            ", line 2: got '\"\\ufeffy', which is no JSON (Unterminated string starting at, col",
        ),
        ("a.jsonl", '"x"\n' + "[" * 100_000, None, ", line 2: got '[[[["),
        (
            "a.jsonl",
            '{"a": 1.5}',
            None,
            ", line 1: got '1.5'; wanted a text or a list of texts at 'a', not a number",
        ),
        (
            "a.jsonl",
            '{"a": {"b": "x"}}',
            None,
            ", line 1: got \"{'b': 'x'}\"; wanted a text or a list of texts at 'a', not an object",
        ),
        ("a.jsonl", '{"a": "x"}\n{"b": "y"}', None, ", line 2 has no key 'a'; it has b"),
        ("a.jsonl", '"x"', "a", ", line 1: got a text; wanted an object with the key 'a'"),
    ],
)
def test_bad_json(
    name: str, content: str, column: str | None, message: str, tmp_path: Path
) -> None:
    path = put(tmp_path, name, content)
    assert refused(path, column).startswith(f"{path!r}{message}")


@pytest.mark.parametrize("depth", range(900, 1010, 7))
def test_nesting_at_the_edge(depth: int, tmp_path: Path) -> None:
    """Just so deep that it can be read, and then shown."""
    refused(put(tmp_path, "a.json", "[" * depth + "]" * depth))
    refused(put(tmp_path, "a.jsonl", '{"a":' * depth + "1" + "}" * depth))


def test_empty_files(tmp_path: Path) -> None:
    assert read_texts(put(tmp_path, "a.json", "[]")) == []
    assert read_texts(put(tmp_path, "a.jsonl", "")) == []
    assert read_texts(put(tmp_path, "a.jsonl", "\n \n")) == []
    assert read_texts(put(tmp_path, "a.csv", "a\n")) == []
    assert read_texts(put(tmp_path, "a.json", '["", [""]]')) == ["", [""]]


def test_hints_at_names_take_no_time(tmp_path: Path) -> None:
    names = [f"{'column ' * 40}{i}" for i in range(20_000)]
    assert "; did you mean 'column" in refused(
        put(tmp_path, "a.csv", ",".join(names) + "\n"), "column " * 20
    )


# ---------------------------------------------------------------- records

ROWS = [{"source": "a", "targets": "x"}, {"source": "b", "targets": "y"}]


@pytest.mark.parametrize(
    "name, content, places",
    [
        ("a.csv", 'source,targets\na,x\nb,"y"\n', "line 2, line 3"),
        ("a.tsv", "source\ttargets\na\tx\nb\ty\n", "line 2, line 3"),
        ("a.json", json.dumps(ROWS), "row 1, row 2"),
        ("a.jsonl", "\n".join(map(json.dumps, ROWS)), "line 1, line 2"),
        ("a.jsonl.gz", "\n".join(map(json.dumps, ROWS)), "line 1, line 2"),
    ],
)
def test_records(name: str, content: str, places: str, tmp_path: Path) -> None:
    path = put(tmp_path, name, content)
    records = list(read_records(path))
    assert records == [(f"{path!r}, {place}", row) for place, row in zip(places.split(", "), ROWS)]
    assert [texts_at(row, "source", place, several=False) for place, row in records] == ["a", "b"]


def test_the_place_of_a_row_is_its_first_line(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", 'a,b\n"x\n\ny",1\nz,2\n')
    assert [place for place, _ in read_records(path)] == [f"{path!r}, line 2", f"{path!r}, line 5"]


def test_bad_records(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", '{"a": "x"}\n["x"]\n')
    records = read_records(path)
    assert next(records)[1] == {"a": "x"}
    with pytest.raises(ValueError, match=r"a\.jsonl', line 2: got a list; wanted an object"):
        next(records)
    with pytest.raises(ValueError, match=r"has 2 columns 'a'; wanted one of that name"):
        read_records(put(tmp_path, "a.csv", "a,b,a\n1,2,3\n"))
    with pytest.raises(ValueError, match="wanted one of lines"):
        read_records(path, kind="x")


@pytest.mark.parametrize(
    "record, several, message",
    [
        ({"sourc": "a"}, True, "here has no key 'source'; it has sourc; did you mean 'sourc'?"),
        ({}, True, "here has no key 'source'; it has "),
        (
            {"source": None},
            True,
            "here: got 'None'; wanted a text or a list of texts at 'source', not null",
        ),
        ({"source": ["a"]}, False, "here: got \"['a']\"; wanted a text at 'source', not a list"),
        ({"source": [""] * 9 + [3]}, True, "not a list whose item 10 is a number"),
    ],
)
def test_bad_values(record: dict[str, Any], several: bool, message: str) -> None:
    with pytest.raises(ValueError, match=r"wanted|it has") as error:
        texts_at(record, "source", "here", several=several)
    assert message in str(error.value)


def test_good_values() -> None:
    assert texts_at({"a": "", "b": ["x", ""]}, "a", "here") == ""
    assert texts_at({"a": "", "b": ["x", ""]}, "b", "here") == ["x", ""]


def test_references_side_by_side() -> None:
    assert join_references([["a", ["b", "c"]], ["x", "y"]], ["1", "2"]) == [
        ["a", "x"],
        ["b", "c", "y"],
    ]
    with pytest.raises(
        ValueError, match=r"different lengths \('1' has 1, '2' has 0\); wanted a line for each"
    ):
        join_references([["a"], []], ["1", "2"])


# ---------------------------------------------------------------- how it is built


@pytest.mark.parametrize("module", ["textfiles", "tables", "decoding"])
def test_the_reader_needs_the_standard_library_only(module: str) -> None:
    tree = ast.parse(Path(textfiles.__file__).with_name(f"{module}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= sys.stdlib_module_names
        if isinstance(node, ast.ImportFrom):
            top = str(node.module).partition(".")[0]
            light = ("tables", "decoding", "checks", "errors")
            assert top in (light if node.level else sys.stdlib_module_names)
