"""What users hand over, as flat lists: predictions, groups of references, ids. Checked whole before any work begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

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


def read_rows(preds: Texts, target: References, sample_ids: Iterable[int] | int | None = None) -> Rows:
    """Read predictions and references; each iterator once.

    Args:
        preds: a string or an iterable of strings (list, tuple, generator, array, column, config list).
        target: the same, or for each prediction an iterable of references. One string with a list of strings is one prediction
            with several references.
        sample_ids: an integer for each prediction, or None.

    Raises:
        TypeError: if something is no text or no integer; the message names side, row and type.
        ValueError: if the numbers of rows differ or a group of references is empty.
    """
    single = isinstance(preds, str)
    pred_items = [preds] if single else _items(preds, "preds", "a string or an iterable of strings")
    if isinstance(target, str):
        target_items: list[Any] = [target]
    else:
        target_items = _items(target, "target", "a string, an iterable of strings, or for each prediction its references")
        if single and not (len(target_items) == 1 and not isinstance(target_items[0], str)):
            target_items = [target_items]
    for row, pred in enumerate(pred_items):
        if not isinstance(pred, str):
            raise TypeError(f"got {_kind(pred)} in row {row} of preds; wanted a string (an empty one if nothing was generated)")
    if len(pred_items) != len(target_items):
        raise ValueError(
            f"got {len(pred_items)} predictions and {len(target_items)} targets; wanted the same number "
            "(several references of one prediction go into a list of their own)"
        )
    groups = [_group(item, row) for row, item in enumerate(target_items)]
    return Rows([str(pred) for pred in pred_items], groups, _ids(sample_ids, len(pred_items)))


def _items(value: Any, side: str, wanted: str) -> list[Any]:
    unordered = isinstance(value, (bytes, bytearray, Mapping)) or (isinstance(value, AbstractSet))
    if unordered or not isinstance(value, Iterable):
        raise TypeError(f"got {_kind(value)} as {side}; wanted {wanted}, in order")
    try:
        return list(value)
    except TypeError as error:  # an array without dimensions, for example
        raise TypeError(f"got {_kind(value)} as {side}, which cannot be iterated ({error}); wanted {wanted}") from error


def _group(item: Any, row: int) -> list[str]:
    if isinstance(item, str):
        return [str(item)]
    if isinstance(item, (bytes, bytearray, Mapping)) or not isinstance(item, Iterable):
        raise TypeError(f"got {_kind(item)} in row {row} of target; wanted a string or an iterable of strings")
    try:
        group = list(item)
    except TypeError:  # a tensor without dimensions
        raise TypeError(f"got {_kind(item)} in row {row} of target; wanted a string or an iterable of strings") from None
    if not group:
        raise ValueError(f"got no references in row {row} of target; wanted at least one (an empty string is one)")
    for place, reference in enumerate(group):
        if not isinstance(reference, str):
            raise TypeError(f"got {_kind(reference)} as reference {place} in row {row} of target; wanted a string")
    return [str(reference) for reference in group]


def _ids(sample_ids: Any, rows: int) -> list[int] | None:
    if sample_ids is None:
        return None
    if hasattr(sample_ids, "tolist"):  # tensors and arrays: their elements are then plain numbers
        sample_ids = sample_ids.tolist()
    listed = sample_ids if isinstance(sample_ids, list) else None
    if listed is None:
        one = isinstance(sample_ids, (str, bytes)) or not isinstance(sample_ids, Iterable)
        listed = [sample_ids] if one else list(sample_ids)
    ids = []
    for row, value in enumerate(listed):
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"got {_kind(value)} in row {row} of sample_ids; wanted an integer, the row's place in the data set")
        if not -(2**63) <= int(value) < 2**63:
            raise ValueError(f"got {value} in row {row} of sample_ids; wanted an integer of 64 bits")
        ids.append(int(value))
    if len(ids) != rows:
        raise ValueError(f"got {len(ids)} sample_ids for {rows} predictions; wanted one for each")
    return ids


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} ({str(value)[:40]!r})" if not isinstance(value, str) else "str"
