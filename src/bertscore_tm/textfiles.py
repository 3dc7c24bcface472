"""Reading predictions and references from files: plain lines, TSV, JSON lines, gzip, standard input."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from .errors import InvalidValueError, TextFileError, file_errors

_COLUMNS = " (--candidate-column, --reference-column)"
_KINDS = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def read_texts(name: str, column: str | None = None) -> list[str | list[str]]:
    """Read one text, or one list of references, a line.

    Args:
        name: a file, or "-" for standard input. ``.tsv`` has a header line, ``.jsonl`` an object, a text or a list a line,
            anything else a text a line; each may end in ``.gz``.
        column: of a TSV file, or key of a JSON object; None: the only one.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not UTF-8, or a line is not what it should be; the message names it.
    """
    text = _decode(name)
    kind = next(
        (k for ending, k in _KINDS.items() if name.lower().removesuffix(".gz").endswith(ending)),
        "text",
    )
    # Only "\n" ends a line: a text may hold other characters that Python counts as line ends.
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    if kind == "jsonl":
        return [_json(name, number, line, column) for number, line in enumerate(lines, 1)]
    if kind == "tsv":
        return _tsv(name, lines, column)
    if column is not None:
        raise InvalidValueError(
            f"{name!r} has no columns; wanted a .tsv or .jsonl file, or no column name"
        )
    return list(lines)


def join_references(
    files: Sequence[list[str | list[str]]], names: Sequence[str]
) -> list[list[str]]:
    """Put the lines of several reference files next to each other.

    Raises:
        ValueError: if the files have different numbers of lines.
    """
    counts = [len(lines) for lines in files]
    if len(set(counts)) > 1:
        said = ", ".join(f"{name!r} has {count}" for name, count in zip(names, counts))
        raise InvalidValueError(
            f"got reference files of different lengths ({said}); wanted a line for each prediction in all of them"
        )
    return [
        [text for item in row for text in ([item] if isinstance(item, str) else item)]
        for row in zip(*files)
    ]


def printable(text: str) -> str:
    """A text in which escape sequences stand for all that is not to be seen: it could command a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _listed(names: Iterable[str]) -> str:
    said = printable(", ".join(islice(names, 50)))
    return said if len(said) <= 300 else f"{said[:300]}..."


def _decode(name: str) -> str:
    if name == "-" and sys.stdin is None:  # the shell's <&-
        raise TextFileError("got - where standard input is closed; wanted an open one, or a file")
    try:
        with file_errors(name):
            data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        if name.lower().endswith(".gz"):
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read()
        return data.decode("utf-8-sig")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidValueError(
            f"{name!r} is no whole gzip file ({error}); wanted one, or a name without .gz"
        ) from error
    except ValueError as error:  # of the name, too: one with a NUL
        raise InvalidValueError(
            f"{name!r} is not UTF-8 text ({error}); wanted one text a line, in UTF-8"
        ) from error


def _tsv(name: str, lines: list[str], column: str | None) -> list[str | list[str]]:
    if not lines:
        raise InvalidValueError(
            f"{name!r} is empty; wanted a header line with the names of the columns"
        )
    header, *rows = (line.split("\t") for line in lines)
    if column is None and len(header) != 1:
        raise InvalidValueError(
            f"{name!r} has the columns {_listed(header)}; wanted the name of one of them{_COLUMNS}"
        )
    if column is not None and column not in header:
        raise InvalidValueError(f"{name!r} has no column {column!r}; it has {_listed(header)}")
    place = header.index(column) if column is not None else 0
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise InvalidValueError(
                f"{name!r}, line {number}: got {len(row)} columns; wanted {len(header)}, as in the header"
            )
    return [row[place] for row in rows]


def _json(name: str, number: int, line: str, key: str | None) -> str | list[str]:
    where = f"{name!r}, line {number}"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(
            f"{where}: got {line[:60]!r}, which is no JSON ({error}); wanted an object, a text or a list"
        ) from error
    if isinstance(value, dict):
        if key is None and len(value) != 1:
            raise InvalidValueError(
                f"{where} has the keys {_listed(value)}; wanted the name of one of them{_COLUMNS}"
            )
        if key is not None and key not in value:
            raise InvalidValueError(f"{where} has no key {key!r}; it has {_listed(value)}")
        value = value[key] if key is not None else next(iter(value.values()))
    if isinstance(value, str) or (
        isinstance(value, list) and value and all(isinstance(text, str) for text in value)
    ):
        return value
    raise InvalidValueError(f"{where}: got {str(value)[:60]!r}; wanted a text or a list of texts")
