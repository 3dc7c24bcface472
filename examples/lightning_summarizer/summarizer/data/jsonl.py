"""Your own files: one JSON object a line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .text import TextData, read_targets, read_text


class Jsonl(TextData):
    """Rows from JSON lines (also ``.gz``).

    Args:
        train, val, test: the files; one that is not needed may be None.
        source: key of the text that goes in.
        target: key of the text that is wanted, or of a list of several such texts.
        options: those of `TextData`.
    """

    def __init__(
        self,
        collate: Any,
        train: str | None = None,
        val: str | None = None,
        test: str | None = None,
        source: str = "source",
        target: str = "target",
        **options: Any,
    ) -> None:
        super().__init__(collate, **options)
        self.files = {"train": train, "val": val, "test": test}
        self.source, self.target = source, target

    def load(self, split: str) -> Iterator[tuple[str, list[str]]]:
        """Sources and targets of a file."""
        name = self.files[split]
        if name is None:
            raise ValueError(f"there is no file for {split!r}; wanted data.{split}=FILE.jsonl")
        if not Path(name).is_file():
            raise FileNotFoundError(
                f"data.{split}={name} is no file (relative paths start at {Path.cwd()})"
            )
        yield from read_pairs(name, self.source, self.target)


def read_pairs(name: str, text: str, targets: str) -> Iterator[tuple[str, list[str]]]:
    """A text and the targets beside it for each row of a file.

    Args:
        name: of the file.
        text: key of the text.
        targets: key of the target, or of a list of several.

    Raises:
        KeyError: if a row lacks a key; file, line and key are named.
        TypeError: if a value is no text; file, line and key are named.
        ValueError: if a line is no JSON object.
    """
    for place, row in read_jsonl(name):
        found = read_text(wanted(row, text, place), f"{place}, key {text!r}")
        yield found, read_targets(wanted(row, targets, place), f"{place}, key {targets!r}")


def read_jsonl(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects of a file, each with its place for messages ("train.jsonl, line 7").

    A byte order mark and empty lines do no harm.

    Raises:
        ValueError: if a line is no JSON object.
    """
    for number, line in enumerate(_lines(name), 1):
        place = f"{name}, line {number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            row = json.loads(text) if text else None
        except UnicodeDecodeError as error:
            raise ValueError(f"{place} is not UTF-8: {error}; wanted a file in UTF-8") from error
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place} is not JSON: {error}") from error
        if not text:
            continue
        if not isinstance(row, dict):
            raise ValueError(f"{place} is no JSON object but {type(row).__name__}")
        yield place, row


def wanted(row: dict[str, Any], key: str, place: str) -> Any:
    """The value of a key.

    Raises:
        KeyError: if there is none; the keys that exist are named.
    """
    if key not in row:
        raise KeyError(f"{place} has no key {key!r}; it has {', '.join(map(repr, row))}")
    return row[key]


def _lines(name: str) -> Iterator[bytes]:
    try:
        with gzip.open(name) if name.endswith(".gz") else open(name, "rb") as file:
            yield from file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name} is no whole gzip file: {error}") from error
