"""Data sets of the Hugging Face hub, by name and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from .text import TextData, read_row


class Hub(TextData):
    """Rows of a data set that `datasets.load_dataset` finds.

    Args:
        name: of the data set on the hub.
        subset: its configuration; None: the only one.
        splits: names of the data set's splits for "train", "val" and "test".
        source: column of the text that goes in; a dot leads into nested columns ("translation.de").
        target: column of the text that is wanted, or of a list of such texts.
        options: those of `TextData`.
    """

    def __init__(
        self,
        collate: Any,
        name: str,
        source: str,
        target: str,
        splits: Mapping[str, str],
        subset: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(collate, **options)
        self.name, self.subset, self.splits = name, subset, dict(splits)
        self.source, self.target = source, target

    def prepare_data(self) -> None:
        """Download, on one process."""
        self._data("train")

    def load(self, split: str) -> Iterator[tuple[str, list[str]]]:
        """Sources and targets of a split."""
        data = self._data(split)
        rows = data.select(range(min(len(data), self.most[split] or len(data))))
        for number, row in enumerate(rows):
            record = {name: column(row, name) for name in (self.source, self.target)}
            place = f"{self.name}, {self.splits[split]}, row {number}"
            yield read_row(record, self.source, self.target, place)

    def _data(self, split: str) -> Any:
        try:
            import datasets  # type: ignore[import-not-found]  # not needed offline
        except ImportError as error:
            raise ImportError(
                "data from the hub needs the package datasets: pip install datasets"
            ) from error
        return datasets.load_dataset(self.name, self.subset, split=self.splits[split])


def column(row: Mapping[str, Any], name: str) -> Any:
    """The value of a column, nested ones by a dotted name.

    Raises:
        KeyError: if there is none; the columns that exist are named.
    """
    try:
        return reduce(lambda value, key: value[key], name.split("."), row)
    except (LookupError, TypeError) as error:
        raise KeyError(
            f"there is no column {name!r}; the data set has {', '.join(map(repr, row))}"
        ) from error
