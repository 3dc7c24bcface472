"""Your own files: one JSON object a line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .text import TextData


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
        for place, row in read_jsonl(name):
            targets = wanted(row, self.target, place)
            yield (
                wanted(row, self.source, place),
                [targets] if isinstance(targets, str) else list(targets),
            )


def read_jsonl(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects of a file, each with its place for messages ("train.jsonl, line 7").

    Raises:
        ValueError: if a line is no JSON object.
    """
    with (
        gzip.open(name, "rt", encoding="utf-8")
        if name.endswith(".gz")
        else open(name, encoding="utf-8") as lines
    ):
        for number, line in enumerate(lines, 1):
            if line.strip():
                place = f"{name}, line {number}"
                try:
                    row = json.loads(line)
                except json.JSONDecodeError as error:
                    raise ValueError(f"{place} is not JSON: {error}") from error
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
