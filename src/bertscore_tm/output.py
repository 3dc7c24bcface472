"""Where the results of a command go."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from .decoding import kind_of
from .errors import InvalidValueError, TextFileError, file_errors

_ENDINGS = {"htm": "html"}


def add_output_flag(group: Any) -> None:
    """Add the flag that names the file."""
    group.add_argument(
        "-o", "--output", metavar="FILE", help="write there instead of standard output"
    )


def format_of(name: str | None, given: str | None, formats: Iterable[str]) -> str:
    """The format of what is written: the one that was asked for, or what the file's name says.

    Args:
        name: of the file; None: standard output.
        given: one of the formats, or None.
        formats: those of the command; "text" is one.

    Raises:
        InvalidValueError: if the name is that of a file that the command does not write.
    """
    if given is not None or name is None:
        return given or "text"
    ending = name.lower().rpartition(".")[2] if "." in name else ""
    kind = _ENDINGS.get(ending, ending)
    if kind in formats:
        return kind
    try:
        if ending == "gz":
            raise InvalidValueError("nothing is packed")
        kind = kind_of(name)
        if kind != "lines" and kind not in formats:
            raise InvalidValueError("that is a table of texts")
    except InvalidValueError as error:
        known = ", ".join(f".{each}" for each in formats if each != "text")
        raise InvalidValueError(
            f"got {name!r} as --output, which cannot be written as .{ending}; "
            f"wanted a name in {known}, any other for plain text, or --format"
        ) from error
    return "text" if kind == "lines" else kind


def write_output(text: str, name: str | None) -> None:
    """Write a text to a file, or to standard output."""
    if name is None:
        sys.stdout.write(text)
    else:
        with file_errors(name), open(name, "w", encoding="utf-8") as stream:
            stream.write(text)


def check_output(options: argparse.Namespace, name: str = "output") -> None:
    """Notice before the work what would fail after it.

    Args:
        options: the flags of a command.
        name: of the one that names the file.
    """
    output, flag = getattr(options, name), f"--{name.replace('_', '-')}"
    if output is None:
        if sys.stdout is None:  # the shell's >&-
            raise TextFileError("standard output is closed; wanted an open one, or --output")
        return
    given = vars(options)
    single = [given.get(name) for name in ("idf", "baseline_path", "num_layers", "table", "source")]
    read: list[Any] = [name for name in single if isinstance(name, str)]
    for name in ("candidates", "references", "texts", "data"):
        files = given.get(name)
        read += files if isinstance(files, list) else []
    model = given.get("model_name_or_path")
    if isinstance(model, str) and os.path.isdir(model):
        read += [entry.path for entry in os.scandir(model)]
    if "-" in read and sys.stdin is not None:
        with suppress(OSError, ValueError):  # a stream without a file
            read.append(sys.stdin.fileno())
    if os.path.isfile(output) and any(
        _same(output, each) for each in read if isinstance(each, (str, int)) and each is not True
    ):
        raise InvalidValueError(f"got {output!r} as {flag}, which is read; wanted another file")
    if os.path.exists(output) and not os.path.isfile(output) and not os.path.isdir(output):
        return  # a pipe must not be opened twice
    try:
        with file_errors(output):
            open(output, "a", encoding="utf-8").close()
    except ValueError as error:  # a NUL
        raise InvalidValueError(
            f"got {output!r} as {flag} ({error}); wanted the name of a file"
        ) from error


def _same(output: str, name: str | int) -> bool:
    return os.path.exists(name) and os.path.samestat(os.stat(output), os.stat(name))
