"""Reading texts from files: plain lines, TSV, CSV, JSON, JSON lines; gzip; standard input."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, overload

from .checks import spelled
from .decoding import KINDS, decoded, kind_of, printable, split_lines
from .errors import InvalidValueError
from .tables import QUOTING, listed, nearest, read_table

__all__ = [
    "KINDS",
    "QUOTING",
    "join_references",
    "printable",
    "read_records",
    "read_texts",
    "texts_at",
]

_WANTED = {True: "a text or a list of texts", False: "a text"}


def read_texts(
    name: str, column: str | None = None, *, kind: str | None = None, quoting: str = "auto"
) -> list[str | list[str]]:
    r"""Read one text, or one list of references, a row.

    =====  ========================================================================================
    kind   what the file holds
    =====  ========================================================================================
    lines  A text a line. ``\n`` and ``\r\n`` end a line; ``\r`` does where there is no ``\n`` at
           all (old Mac), else it is part of a text, as are all other characters.
    csv    A header, then rows. Cells in quotes may hold line ends, the delimiter, and quotes,
           doubled. The delimiter is the comma, or what the header has in its place: ``;`` or a
           tab. Blank lines at the end do not count; an empty text in an only column is ``""``.
    tsv    The same with tabs, but many such files know no quoting: see ``quoting``. In an only
           column, a blank line is an empty text.
    json   An array of texts, of lists of texts (references), or of objects.
    jsonl  One of these a line. Blank lines at the end do not count.
    =====  ========================================================================================

    Files are in UTF-8, or in UTF-16 (Excel's "Unicode text") or UTF-32 with a byte order mark.
    Names of other formats (``.xlsx``, ``.parquet``, ...) are refused.

    Args:
        name: a file, or "-" for standard input. It may end in ``.gz``.
        column: of a table, or key of the objects; None: the only one.
        kind: one of `KINDS`; None: as the name ends (``.csv``, ``.tsv``, ``.tab``, ``.json``,
            ``.jsonl``, ``.ndjson``, ``.jsonlines``), else, and for standard input, "lines".
        quoting: "csv": a cell that begins with a quote stands in quotes. "none": quotes are part
            of the texts. "auto": for .csv, "csv"; for .tsv, "csv" if the whole file fits, which
            one with a cell such as ``"No," she said.`` does not, else "none". A warning says what
            was done where both fit and no quoted header or doubled quote decides.

    Raises:
        TextFileError: if the file cannot be read.
        InvalidValueError: if it is not what it should be; the message names file, line or row, and
            column.
    """
    kind = _checked(name, kind, quoting)
    text = decoded(name)
    if kind in ("csv", "tsv"):
        header, rows = read_table(name, text, kind, quoting)
        place = place_of_column(name, header, column)
        return [cells[place] for _, cells in rows]
    if kind == "lines":
        if column is not None:
            raise InvalidValueError(
                f"{name!r} has no columns; wanted a .tsv or .jsonl file, or no column name "
                "(.csv and .json have columns, too)"
            )
        return list(split_lines(text))
    texts: list[str | list[str]] = []
    only = None
    for where, value in _values(name, text, kind):
        if isinstance(value, dict):
            key = key_of(where, value, column, only)
            only = key if column is None else only
            texts.append(texts_at(value, key, where))
        elif column is not None:
            raise InvalidValueError(
                f"{where}: got {kind_of_value(value)}; wanted an object with the key {column!r}"
            )
        else:
            texts.append(texts_of(value, where, "", True))
    return texts


def read_records(
    name: str, *, kind: str | None = None, quoting: str = "auto"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the rows of a table, or JSON objects, each with its place for messages.

    Args:
        name: a file, or "-" for standard input.
        kind: as in `read_texts`.
        quoting: as in `read_texts`.

    Returns:
        Places such as ``'train.csv', line 7``, and rows. Of a table, the values are texts.

    Raises:
        TextFileError: if the file cannot be read.
        InvalidValueError: if it is not what it should be, or has no columns; the message names it.
            Of JSON lines, each is read, and may raise, when its turn comes.
    """
    kind = _checked(name, kind, quoting)
    if kind == "lines":
        raise InvalidValueError(
            f"{name!r} has no columns; wanted a .csv, .tsv, .json or .jsonl file"
        )
    text = decoded(name)
    if kind in ("csv", "tsv"):
        header, rows = read_table(name, text, kind, quoting)
        place_of_column(name, header, Counter(header).most_common(1)[0][0])  # once
        return ((f"{name!r}, line {line}", dict(zip(header, cells))) for line, cells in rows)
    return _objects(_values(name, text, kind))


@overload
def texts_at(record: dict[str, Any], key: str, place: str, *, several: Literal[False]) -> str: ...
@overload
def texts_at(
    record: dict[str, Any], key: str, place: str, *, several: bool = True
) -> str | list[str]: ...
def texts_at(
    record: dict[str, Any], key: str, place: str, *, several: bool = True
) -> str | list[str]:
    """The text of a record, or the list of texts, at a key.

    Args:
        record: a row, as `read_records` gives it.
        key: or column.
        place: of the record, for messages.
        several: whether a list of texts will do; else a single text is wanted.

    Raises:
        InvalidValueError: if there is no such key, or something else at it.
    """
    if key not in record:
        raise InvalidValueError(
            f"{place} has no key {key!r}; it has {listed(record)}{nearest(key, record)}"
        )
    return texts_of(record[key], place, f" at {key!r}", several)


def join_references(
    files: Sequence[list[str | list[str]]], names: Sequence[str]
) -> list[list[str]]:
    """Put the rows of several reference files next to each other.

    Raises:
        InvalidValueError: if the files have different numbers of rows.
    """
    counts = [len(lines) for lines in files]
    if len(set(counts)) > 1:
        said = ", ".join(f"{name!r} has {count}" for name, count in zip(names, counts))
        raise InvalidValueError(
            f"got reference files of different lengths ({said}); "
            "wanted a line for each prediction in all of them"
        )
    rows = ([[item] if isinstance(item, str) else item for item in row] for row in zip(*files))
    return [[text for item in row for text in item] for row in rows]


def _checked(name: str, kind: str | None, quoting: str) -> str:
    if quoting not in QUOTING:
        raise InvalidValueError(
            f"got {spelled('quoting', quoting)}; wanted one of {', '.join(QUOTING)}"
        )
    return kind_of(name, kind)


def place_of_column(name: str, header: list[str], column: str | None) -> int:
    """The place of a column."""
    if column is None:
        if len(header) != 1:
            raise InvalidValueError(
                f"{name!r} has the columns {listed(header)}; "
                f"wanted the name of one of them ({spelled('column')})"
            )
        return 0
    if column not in header:
        raise InvalidValueError(
            f"{name!r} has no column {column!r}; it has {listed(header)}{nearest(column, header)}"
        )
    if header.count(column) > 1:
        raise InvalidValueError(
            f"{name!r} has {header.count(column)} columns {column[:100]!r}; wanted one of that name"
        )
    return header.index(column)


def key_of(place: str, record: dict[str, Any], key: str | None, only: str | None) -> str:
    """The key to read: the one that was named, or the only one, the same in all records."""
    if key is not None:
        return key
    if len(record) != 1:
        raise InvalidValueError(
            f"{place} has the keys {listed(record)}; wanted the name of one of them "
            f"({spelled('column')})"
        )
    return only if only is not None else next(iter(record))


def _values(name: str, text: str, kind: str) -> Iterator[tuple[str, Any]]:
    """What a JSON file holds, each with its place."""
    if kind == "jsonl":
        lines = split_lines(text)
        while lines and not lines[-1].strip():
            lines.pop()
        for number, line in enumerate(lines, 1):
            yield f"{name!r}, line {number}", value_of_line(f"{name!r}, line {number}", line)
        return
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "; of JSON lines, the name ends in .jsonl" if "Extra data" in str(error) else ""
        raise InvalidValueError(f"{name!r} is no JSON ({error}); wanted an array{hint}") from error
    if not isinstance(values, list):
        hint = " (pandas: to_json(name, orient='records'))" if isinstance(values, dict) else ""
        raise InvalidValueError(
            f"{name!r} holds {kind_of_value(values)}; "
            f"wanted an array of texts, of lists of texts or of objects{hint}"
        )
    for number, value in enumerate(values, 1):
        yield f"{name!r}, row {number}", value


def value_of_line(place: str, line: str) -> Any:
    """What a line of JSON lines holds."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        said = (
            f"{error.msg}, column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else error
        )
        hint = " (JSON over several lines is .json)" if line.strip() in ("[", "{") else ""
        if not line.strip():
            hint = " (blank lines are only at the end)"
        raise InvalidValueError(
            f"{place}: got {line[:60]!r}, which is no JSON ({said}); "
            f"wanted an object, a text or a list{hint}"
        ) from error


def _objects(values: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, value in values:
        if not isinstance(value, dict):
            raise InvalidValueError(f"{place}: got {kind_of_value(value)}; wanted an object")
        yield place, value


def texts_of(value: Any, place: str, at: str, several: bool) -> str | list[str]:
    """A text or a list of texts, as it is."""
    if isinstance(value, str):
        return value
    got = kind_of_value(value)
    if isinstance(value, list) and several:
        wrong = next((i for i, text in enumerate(value) if not isinstance(text, str)), None)
        if value and wrong is None:
            return value
        got = (
            "an empty list"
            if wrong is None
            else f"a list whose item {wrong + 1} is {kind_of_value(value[wrong])}"
        )
    raise InvalidValueError(
        f"{place}: got {reprlib.repr(value)[:60]!r}; wanted {_WANTED[several]}{at}, not {got}"
    )


def kind_of_value(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true or false"
    names: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")
