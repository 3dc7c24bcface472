"""Reading what users hand over: rows of texts, checked whole before any work begins."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

from .errors import InvalidTypeError, InvalidValueError

Texts: TypeAlias = str | Iterable[str]
References: TypeAlias = str | Iterable[str | Iterable[str]]


@dataclass(frozen=True)
class Rows:
    """The rows of one update.

    Attributes:
        preds: one prediction a row.
        groups: the references of each row, at least one.
        ids: one integer a row, or None.
    """

    preds: list[str]
    groups: list[list[str]]
    ids: list[int] | None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.preds)

    def digests(self) -> list[int]:
        """A number of 64 bits for the texts of each row: equal for equal rows, else hardly ever."""
        texts = ([pred, *group] for pred, group in zip(self.preds, self.groups))
        return [_digest(row) for row in texts]


def read_rows(
    preds: Texts, target: References, sample_ids: Iterable[int] | int | None = None
) -> Rows:
    """Read predictions and references; each iterator once.

    Args:
        preds: a string or an iterable of strings (list, tuple, generator, array, column, config
            list).
        target: the same, or for each prediction an iterable of references. One string with a list
            of strings is one prediction with several references.
        sample_ids: an integer for each prediction, or None.

    Raises:
        InvalidTypeError: if something is no text or no integer; the message names side, row and
            type.
        InvalidValueError: if the numbers of rows differ or a group of references is empty.
    """
    single = isinstance(preds, str)
    pred_items = [preds] if single else _items(preds, "preds", "a string or an iterable of strings")
    if isinstance(target, str):
        target_items: list[Any] = [target]
    else:
        target_items = _items(
            target,
            "target",
            "a string, an iterable of strings, or for each prediction its references",
        )
        if single and not (len(target_items) == 1 and not isinstance(target_items[0], str)):
            target_items = [target_items]
    for row, pred in enumerate(pred_items):
        if not isinstance(pred, str):
            raise InvalidTypeError(
                f"got {_kind(pred)} in row {row} of preds; wanted a string (an "
                "empty one if nothing was generated)"
            )
    if len(pred_items) != len(target_items):
        raise InvalidValueError(
            f"got {len(pred_items)} predictions and {len(target_items)} targets; wanted the same "
            "number "
            "(several references of one prediction go into a list of their own)"
        )
    groups = [_group(item, row) for row, item in enumerate(target_items)]
    return Rows(
        [str.__str__(pred) for pred in pred_items], groups, _ids(sample_ids, len(pred_items))
    )


def read_list(texts: Iterable[str], name: str = "texts") -> list[str]:
    """Read texts of which each stands for itself.

    Args:
        texts: an iterable of strings.
        name: what messages call it.

    Raises:
        InvalidTypeError: if something is no text; the message names row and type.
    """
    items = _items([texts] if isinstance(texts, str) else texts, name, "an iterable of strings")
    for row, text in enumerate(items):
        if not isinstance(text, str):
            raise InvalidTypeError(f"got {_kind(text)} in row {row} of {name}; wanted a string")
    return [str.__str__(text) for text in items]


def _items(value: Any, side: str, wanted: str) -> list[Any]:
    unordered = isinstance(value, (bytes, bytearray, Mapping, AbstractSet))
    if unordered or not isinstance(value, Iterable):
        raise InvalidTypeError(f"got {_kind(value)} as {side}; wanted {wanted}, in order")
    try:
        return list(value)
    except TypeError as error:  # an array without dimensions, for example
        raise InvalidTypeError(
            f"got {_kind(value)} as {side}, which cannot be iterated ({error}); wanted {wanted}"
        ) from error


def _group(item: Any, row: int) -> list[str]:
    if isinstance(item, str):
        return [str.__str__(item)]
    if isinstance(item, (bytes, bytearray, Mapping)) or not isinstance(item, Iterable):
        raise InvalidTypeError(
            f"got {_kind(item)} in row {row} of target; wanted a string or an iterable of strings"
        )
    try:
        group = list(item)
    except TypeError:  # a tensor without dimensions
        raise InvalidTypeError(
            f"got {_kind(item)} in row {row} of target; wanted a string or an iterable of strings"
        ) from None
    if not group:
        raise InvalidValueError(
            f"got no references in row {row} of target; wanted at least one "
            "(an empty string is one)"
        )
    for place, reference in enumerate(group):
        if not isinstance(reference, str):
            raise InvalidTypeError(
                f"got {_kind(reference)} as reference {place} in row {row} of "
                "target; wanted a string"
            )
    return [str.__str__(reference) for reference in group]


def _ids(sample_ids: Any, rows: int) -> list[int] | None:
    if sample_ids is None:
        return None
    if hasattr(sample_ids, "tolist"):  # tensors and arrays: their elements are then plain numbers
        sample_ids = sample_ids.tolist()
    if isinstance(sample_ids, (Mapping, AbstractSet)):
        raise InvalidTypeError(
            f"got {_kind(sample_ids)} as sample_ids; wanted integers in the order of the rows"
        )
    listed = sample_ids if isinstance(sample_ids, list) else None
    if listed is None:
        one = isinstance(sample_ids, (str, bytes)) or not isinstance(sample_ids, Iterable)
        listed = [sample_ids] if one else list(sample_ids)
    ids = []
    for row, value in enumerate(listed):
        try:
            number: Any = value.item() if hasattr(value, "item") else value
            if isinstance(number, bool):
                raise TypeError
            number = operator.index(number)
        except (
            TypeError,
            ValueError,
            RuntimeError,
        ):  # the last two of arrays and tensors of several numbers
            wanted = "wanted an integer, the row's place in the data set"
            raise InvalidTypeError(
                f"got {_kind(value)} in row {row} of sample_ids; {wanted}"
            ) from None
        if not -(2**63) <= number < 2**63:
            raise InvalidValueError(
                f"got {value} in row {row} of sample_ids; wanted an integer of 64 bits"
            )
        ids.append(number)
    if len(ids) != rows:
        raise InvalidValueError(
            f"got {len(ids)} sample_ids for {rows} predictions; wanted one for each"
        )
    return ids


def _kind(value: Any) -> str:
    return (
        "None"
        if value is None
        else f"{type(value).__name__} ({str(value)[:40]!r})"
        if not isinstance(value, str)
        else "str"
    )


def _digest(texts: list[str]) -> int:
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    whole = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return int.from_bytes(hashlib.blake2b(whole, digest_size=8).digest(), "little", signed=True)
