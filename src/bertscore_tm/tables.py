"""CSV and TSV: cells that may stand in quotes, below a header."""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import islice
from typing import NamedTuple

from .checks import spelled
from .decoding import printable, split_lines
from .errors import InvalidValueError, warn

QUOTING = ("auto", "csv", "none")
# Half surrogate pairs: decoded text has none, so they stand in for what the csv module refuses.
_NUL, _CR = "\ud801", "\ud800"
_LONE_CR = re.compile(r"\r(?!\n)")
_HEADER = re.compile(r'(?:"[^"]*"|[^"\r\n]+)*')
_QUOTED = re.compile(r'(?:^|[\t\r\n])"')
_LIMIT = threading.Lock()

Rows = list[tuple[int, list[str]]]  # where each begins, and its cells; a blank line has none


class Table(NamedTuple):
    """Rows below a header, each with the line that it begins in."""

    header: list[str]
    rows: Rows


def read_table(name: str, text: str, kind: str, quoting: str) -> Table:
    """Read CSV or TSV.

    Args:
        name: of the file, for messages.
        text: what it holds.
        kind: "csv" or "tsv".
        quoting: as in `textfiles.read_texts`.

    Raises:
        InvalidValueError: if the quotes, or the cells of a row, do not fit; the message names the
            line.
    """
    if kind == "tsv":
        return _tsv(name, text, quoting)
    delimiter = delimiter_of(text)
    return _table(name, (_plain if quoting == "none" else _quoted)(name, text, delimiter), "csv")


def listed(names: Iterable[str]) -> str:
    """Names for a message, cut off where they are many."""
    said = printable(", ".join(name or "''" for name in islice(names, 50)))
    return (said if len(said) <= 300 else f"{said[:300]}...") or "none"


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint at the name that may be meant, or nothing."""
    known = {n[:100].strip().lower(): n for n in reversed([*islice(names, 200)])}
    found = get_close_matches(name[:100].strip().lower(), known, 1)
    return f"; did you mean {known[found[0]][:100]!r}?" if found else ""


def delimiter_of(text: str) -> str:
    r"""The comma, unless the header has none and either ``;`` or ``\t`` in its place.

    A cell in quotes does not count, and a header with both of them is left to the comma.
    """
    header = re.sub('"[^"]*"', "", _header(text))
    found = [delimiter for delimiter in ",;\t" if delimiter in header]
    return found[0] if len(found) == 1 else ","


def _header(text: str) -> str:
    found = _HEADER.match(text, 0, 1 << 20)
    return found.group() if found else ""


def _table(name: str, rows: Rows, kind: str) -> Table:
    if not rows:
        raise InvalidValueError(
            f"{name!r} is empty; wanted a header line with the names of the columns"
        )
    (_, header), *rows = rows
    if not header:
        raise InvalidValueError(
            f"{name!r} begins with a blank line; wanted a header line with the columns"
        )
    if len(header) == 1 and kind == "tsv":  # as in plain lines
        rows = [(line, cells or [""]) for line, cells in rows]
    while rows and not rows[-1][1]:
        rows.pop()
    for line, cells in rows:
        if len(cells) != len(header):
            raise InvalidValueError(
                f"{name!r}, line {line}: {_misfit(len(cells), len(header), kind)}"
            )
    return Table(header, rows)


def _misfit(got: int, wanted: int, kind: str) -> str:
    hint = ""
    if kind == "csv" and got > wanted:
        hint = "; a text that holds the delimiter stands in quotes"
    elif not got and wanted == 1:
        hint = '; an empty text is written ""'
    said = f"{got} columns" if got else "a blank line"
    return f"got {said}; wanted {wanted}, as in the header{hint}"


def _plain(name: str, text: str, delimiter: str) -> Rows:
    """Rows whose quotes are part of the texts."""
    lines = enumerate(split_lines(text), 1)
    return [(number, line.split(delimiter) if line else []) for number, line in lines]


def _quoted(name: str, text: str, delimiter: str) -> Rows:
    r"""Rows whose cells may stand in quotes, where a quote is doubled and lines may end.

    Where the header ends in ``\r`` alone, so do the rows; elsewhere it is part of a text.
    """
    hidden = text.replace("\0", _NUL)
    old_mac = bool(_LONE_CR.match(text, len(_header(text))))
    if not old_mac:
        hidden = _LONE_CR.sub(_CR, hidden)
    stream = io.StringIO(hidden, newline="" if old_mac else "\n")
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    rows: Rows = []
    line = 1
    with _LIMIT:
        limit = csv.field_size_limit(2**31 - 1)  # it is the process's; the most that Windows takes
        try:
            for cells in reader:
                rows.append((line, cells))
                line = reader.line_num + 1
        except csv.Error as error:
            raise InvalidValueError(
                f"{name!r}, line {line}: the row that begins here is no CSV "
                f"({printable(str(error))}); wanted a cell in quotes to end in one, "
                'and "" for each quote in it'
            ) from error
        finally:
            csv.field_size_limit(limit)
    if hidden == text:
        return rows
    return [(n, [c.replace(_NUL, "\0").replace(_CR, "\r") for c in row]) for n, row in rows]


def _tsv(name: str, text: str, quoting: str) -> Table:
    if quoting == "csv":
        return _table(name, _quoted(name, text, "\t"), "tsv")
    if quoting == "none" or not _QUOTED.search(text):
        return _table(name, _plain(name, text, "\t"), "tsv")
    quoted, plain = _tried(name, text, _quoted), _tried(name, text, _plain)
    if isinstance(plain, Table):
        _say_what_is_doubtful(name, plain, quoted)
        return plain if isinstance(quoted, ValueError) else quoted
    if isinstance(quoted, Table):
        return quoted
    raise InvalidValueError(f"{plain}; nor are its quotes those of CSV: {quoted}")


def _tried(name: str, text: str, read: Callable[[str, str, str], Rows]) -> Table | ValueError:
    try:
        return _table(name, read(name, text, "\t"), "tsv")
    except ValueError as error:
        return error


def _say_what_is_doubtful(name: str, plain: Table, quoted: Table | ValueError) -> None:
    """Say what was made of quotes where it cannot be seen: rows fit the header either way.

    A quoted header, or a doubled quote in a quoted cell, comes from a writer of CSV.
    """
    cells = [(line, cell) for line, row in [(1, plain.header), *plain.rows] for cell in row]
    cells = [(line, cell) for line, cell in cells if cell.startswith('"') and cell != '""']
    lines = [line for line, _ in cells]
    if isinstance(quoted, ValueError):  # of some cells that look quoted, one is not
        lines = [line for line, c in cells if '""' in c[1:-1] and c.endswith('"')]
        taken = f"left in the texts, since not all are those of CSV: {quoted}"
    else:
        if any('""' in c[1:] for _, c in cells) or all(c.startswith('"') for c in plain.header):
            return
        taken = "taken off, as in CSV"
        if len(quoted.rows) != len(plain.rows):
            taken += f", which makes {len(quoted.rows)} rows of {len(plain.rows)} lines"
    if lines:
        warn(
            f"{name!r} has cells that begin with a quote ({len(lines)}, the first in line "
            f"{lines[0]}); quotes were {taken}; {spelled('quoting', 'csv')} or 'none' decides"
        )
