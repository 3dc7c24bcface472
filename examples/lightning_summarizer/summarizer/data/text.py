"""What all data sets share: three lists of rows and their loaders."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, TypedDict

from lightning import LightningDataModule
from torch.utils.data import DataLoader

from bertscore_tm.textfiles import texts_at


class Row(TypedDict):
    """One example.

    ``id`` is its place in the data set: with it the metric knows which rows a sampler has repeated.
    """

    id: int
    source: str
    targets: list[str]


class TextData(LightningDataModule):
    """Rows of texts. A subclass says where they come from: `load`.

    Args:
        collate: makes a batch of rows (`Batches.collate`); needed before the first batch, so that
            rows can be read, and checked, before there is a model.
        batch_size: rows in a training step, on each process.
        eval_batch_size: rows in a validation or test step, on each process.
        num_workers: processes that load; 0: the main one.
        max_train, max_val, max_test: rows at most; None: all.
    """

    def __init__(
        self,
        collate: Callable[[list[Row]], dict[str, Any]] | None,
        batch_size: int = 16,
        eval_batch_size: int = 32,
        num_workers: int = 0,
        max_train: int | None = None,
        max_val: int | None = None,
        max_test: int | None = None,
    ) -> None:
        super().__init__()
        self.collate = collate
        self.batch_size, self.eval_batch_size, self.num_workers = (
            batch_size,
            eval_batch_size,
            num_workers,
        )
        self.most = {"train": max_train, "val": max_val, "test": max_test}
        self.rows: dict[str, list[Row]] = {}

    @abstractmethod
    def load(self, split: str) -> Iterable[tuple[str, list[str]]]:
        """Sources and targets of a split: "train", "val" or "test"."""

    def setup(self, stage: str) -> None:
        """Load the splits that a stage of the trainer needs, once."""
        for split in {"fit": ("train", "val"), "validate": ("val",), "test": ("test",)}.get(
            stage, ()
        ):
            if split not in self.rows:
                pairs = list(islice(self.load(split), self.most[split]))
                if not pairs:
                    raise ValueError(
                        f"{type(self).__name__} has no rows for {split!r}; wanted at least one"
                    )
                self.rows[split] = [
                    {"id": i, "source": source, "targets": targets}
                    for i, (source, targets) in enumerate(pairs)
                ]

    def _loader(self, split: str) -> DataLoader[Row]:
        training = split == "train"
        return DataLoader(
            self.rows[split],  # type: ignore[arg-type]  # a list is a data set
            batch_size=self.batch_size if training else self.eval_batch_size,
            shuffle=training,
            collate_fn=self.collate,
            num_workers=self.num_workers,
            persistent_workers=self.num_workers > 0,
        )

    def train_dataloader(self) -> DataLoader[Row]:
        """Shuffled."""
        return self._loader("train")

    def val_dataloader(self) -> DataLoader[Row]:
        """In order."""
        return self._loader("val")

    def test_dataloader(self) -> DataLoader[Row]:
        """In order."""
        return self._loader("test")


def read_row(record: dict[str, Any], source: str, target: str, place: str) -> tuple[str, list[str]]:
    """The source and the targets of a record.

    Half a surrogate pair, which no encoding can carry, becomes U+FFFD.

    Args:
        record: values by their keys.
        source: key of a text.
        target: key of a text, or of a list of texts.
        place: where the record stands, for the message.

    Raises:
        ValueError: if a key is not there, or something else stands at it.
    """
    targets = texts_at(record, target, place)
    texts = [targets] if isinstance(targets, str) else targets
    return _whole(texts_at(record, source, place, several=False)), [_whole(text) for text in texts]


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
