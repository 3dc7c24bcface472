"""Your own files: tables and JSON, read as the command line of bertscore_tm reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bertscore_tm.textfiles import read_records

from .text import TextData, read_row


class Files(TextData):
    """Rows from .jsonl, .json, .csv and .tsv files (also ``.gz``).

    Args:
        train, val, test: the files; one that is not needed may be None.
        source: key, or column, of the text that goes in.
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
            raise ValueError(f"there is no file for {split!r}; wanted data.{split}=FILE")
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
        ValueError: if the file is not what its name says, a row lacks a key, or a value is no text;
            the message names file, line and key.
    """
    for place, record in read_records(name):
        yield read_row(record, text, targets, place)
