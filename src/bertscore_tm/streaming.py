"""Rows of files of any size, one after the other: for what does not fit into memory."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, zip_longest
from typing import IO, Any, NamedTuple

from .decoding import kind_of
from .errors import InvalidValueError, MissingPackageError, file_errors
from .tables import delimiter_of, listed
from .textfiles import key_of, kind_of_value, place_of_column, texts_at, texts_of, value_of_line

Row = tuple[str, list[str]]


class Source(NamedTuple):
    """A file of texts.

    Attributes:
        name: of the file.
        column: of its texts, where it is a table; None: the only one.
        kind: what it is read as; None: what the name says.
        quoting: whether a .tsv quotes cells, "csv" or "none".
    """

    name: str
    column: str | None = None
    kind: str | None = None
    quoting: str = "auto"

    @property
    def form(self) -> str:
        """What it is read as: "lines", "csv", "tsv", "jsonl" or "parquet".

        Raises:
            InvalidValueError: if it cannot be read row by row.
        """
        if self.name == "-":
            raise InvalidValueError(
                "got - to be streamed, which can be read once only; wanted the name of a file"
            )
        if self.kind is None and self.name.lower().endswith(".parquet"):
            return "parquet"
        kind = kind_of(self.name, self.kind)
        if kind == "json":
            raise InvalidValueError(
                f"{self.name!r} is one JSON value, which is read whole; wanted .jsonl to stream it"
            )
        if kind == "tsv" and self.quoting == "auto":
            raise InvalidValueError(
                f"got {self.name!r} to be streamed, where the whole file cannot tell whether its "
                "cells are quoted; wanted --quoting none (quotes are part of the texts) or csv"
            )
        return kind


def stream_rows(candidates: Source, references: Sequence[Source]) -> Iterator[Row]:
    """Each prediction with its references.

    Raises:
        TextFileError: if a file cannot be read.
        InvalidValueError: if one is not what it should be, or has more rows than another.
    """
    missing = object()
    streams = [stream_texts(source) for source in (candidates, *references)]
    names = [source.name for source in (candidates, *references)]
    for number, items in enumerate(zip_longest(*streams, fillvalue=missing), 1):
        short = [name for name, item in zip(names, items) if item is missing]
        if short:
            raise InvalidValueError(
                f"{short[0]!r} has {number - 1} rows, another file more; wanted as many in all of "
                f"{', '.join(map(repr, dict.fromkeys(names)))}"
            )
        pred, *rest = items
        if not isinstance(pred, str):
            raise InvalidValueError(
                f"{candidates.name!r}, row {number}: got a list; wanted one prediction"
            )
        yield pred, [t for item in rest for t in ([item] if isinstance(item, str) else item)]


def stream_texts(source: Source) -> Iterator[Any]:
    r"""The texts of a file, or lists of texts.

    As `read_texts` has them, but: UTF-8 only; lines end in ``\n`` or ``\r\n``; blank lines at the
    end of a table count as rows.
    """
    form = source.form
    if form == "parquet":
        yield from _parquet(source)
        return
    with ExitStack() as stack:
        stream = _opened(source, stack)
        if form == "lines":
            if source.column is not None:
                raise InvalidValueError(
                    f"{source.name!r} has no columns; wanted a table, or no column name"
                )
            yield from (line.rstrip("\n").removesuffix("\r") for line in stream)
        elif form == "jsonl":
            yield from _jsonl(source, stream)
        else:
            yield from _table(source, stream, form)


def _opened(source: Source, stack: ExitStack) -> IO[str]:
    with file_errors(source.name):
        raw: Any = open(source.name, "rb")  # noqa: SIM115 - the stack closes it
    stack.enter_context(raw)
    if source.name.lower().endswith(".gz"):
        raw = stack.enter_context(gzip.GzipFile(fileobj=raw))
    stack.enter_context(_readable(source.name))
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="\n")


class _readable:
    """Errors of reading as the package's own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, UnicodeDecodeError):
            raise InvalidValueError(
                f"{self._name!r} is not UTF-8 text ({error.reason}); wanted UTF-8 to stream it"
            ) from error
        if isinstance(error, EOFError | gzip.BadGzipFile):
            raise InvalidValueError(
                f"{self._name!r} is no whole gzip file ({error}); wanted one, or a name without .gz"
            ) from error


def _jsonl(source: Source, stream: IO[str]) -> Iterator[Any]:
    only, blank = None, 0
    for number, line in enumerate(stream, 1):
        if not line.strip():
            blank = blank or number
            continue
        if blank:
            value_of_line(f"{source.name!r}, line {blank}", "")  # says so
        where = f"{source.name!r}, line {number}"
        value = value_of_line(where, line)
        if isinstance(value, dict):
            key = key_of(where, value, source.column, only)
            only = key if source.column is None else only
            yield texts_at(value, key, where)
        elif source.column is not None:
            raise InvalidValueError(
                f"{where}: got {kind_of_value(value)}; wanted an object with the key "
                f"{source.column!r}"
            )
        else:
            yield texts_of(value, where, "", True)


def _table(source: Source, stream: IO[str], form: str) -> Iterator[str]:
    if form == "tsv" and source.quoting == "none":
        rows: Iterator[list[str]] = (
            line.rstrip("\n").removesuffix("\r").split("\t") for line in stream
        )
    else:
        first = stream.readline()
        delimiter = "\t" if form == "tsv" else delimiter_of(first)
        rows = csv.reader(chain([first], stream), delimiter=delimiter, strict=True)
    header = next(rows, [])
    if not header:
        raise InvalidValueError(f"{source.name!r} is empty; wanted a header line with the columns")
    place = place_of_column(source.name, header, source.column)
    number = 1
    try:
        for number, cells in enumerate(rows, 2):
            if len(cells) != len(header):
                raise InvalidValueError(
                    f"{source.name!r}, row {number}: got {len(cells)} columns; wanted "
                    f"{len(header)}, as in the header"
                )
            yield cells[place]
    except csv.Error as error:
        raise InvalidValueError(
            f"{source.name!r}, after row {number}: this is no CSV ({error}); wanted a cell in "
            'quotes to end in one, and "" for each quote in it'
        ) from error


def _parquet(source: Source) -> Iterator[Any]:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise MissingPackageError(
            "Parquet needs pyarrow, which is not installed; wanted: pip install pyarrow"
        ) from error
    with file_errors(source.name):
        open(source.name, "rb").close()
    try:
        file = parquet.ParquetFile(source.name)
    except (ValueError, OSError) as error:
        raise InvalidValueError(f"{source.name!r} is no Parquet file ({error})") from error
    with file:
        names = file.schema_arrow.names
        if source.column is None and len(names) != 1:
            raise InvalidValueError(
                f"{source.name!r} has the columns {listed(names)}; wanted the name of one of them"
            )
        column = names[place_of_column(source.name, names, source.column)]
        number = 0
        for batch in file.iter_batches(batch_size=1024, columns=[column]):
            for value in batch.column(0).to_pylist():
                number += 1
                yield texts_of(value, f"{source.name!r}, row {number}", f" at {column!r}", True)
