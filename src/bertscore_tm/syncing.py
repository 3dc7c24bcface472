"""Which rows count, and what the ranks tell each other. Plain functions of vectors.

``gather`` does the talking: it takes a tensor and returns one tensor a rank, like
`torchmetrics.utilities.distributed.gather_all_tensors`. On one process it is `alone`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from .errors import InvalidValueError
from .idf import DocumentFrequencies
from .matching import Side

Gather = Callable[[Tensor], list[Tensor]]


def alone(tensor: Tensor) -> list[Tensor]:
    """The gather of a single process."""
    return [tensor]


def own_rank(group: Any) -> int:
    """The rank of this process among those that are synced; 0 without `torch.distributed`.

    Raises:
        InvalidValueError: if it does not belong to the group.
    """
    rank = dist.get_rank(group) if dist.is_available() and dist.is_initialized() else 0
    if rank < 0:
        raise InvalidValueError(
            f"got a process_group that this process (rank {dist.get_rank()} of "
            f"{dist.get_world_size()}) does not belong to; wanted one of its own groups, or "
            "sync_on_compute=False for the samples of this process alone"
        )
    return rank


def first_of_each(ids: Tensor) -> Tensor:
    """Where each id stands for the first time, in rising order: ``[rows]`` to ``[distinct]``."""
    order = torch.argsort(ids, stable=True)
    ordered = ids[order]
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return order[new]


def each_once(sample_ids: Tensor) -> Tensor:
    """Which rows are left, in the order of the ids, when repeated ones are dropped.

    Args:
        sample_ids: id and digest of the texts of each row, int64 ``[rows, 2]``.

    Returns:
        Places of rows, ``[samples]``.

    Raises:
        InvalidValueError: if an id comes with different texts: it does not name a row of the data.
    """
    ids, digests = sample_ids.T.contiguous()
    first = first_of_each(ids)
    wanted = digests[first][torch.searchsorted(ids[first], ids)]  # of the first row with each id
    other = (digests != wanted).nonzero().flatten()
    if len(other):
        raise InvalidValueError(
            f"got the sample id {int(ids[other[0]])} twice with different texts; wanted ids that "
            "name a row of the whole data set. Causes: ids of a batch or of a rank (let the "
            "dataset return its index); no reset() since the last epoch; one metric for two data "
            "sets or loaders (give each its own)"
        )
    return first


def refuse_mixed_ids(rows: int, ids: int) -> None:
    """Raise InvalidValueError if some rows have ids and some have not."""
    if ids not in (0, rows):
        raise InvalidValueError(
            f"got sample_ids for {ids} of {rows} samples; wanted them in all updates of all ranks, "
            "or in none"
        )


def owned_rows(sample_ids: list[Tensor], rank: int, rows: int) -> Tensor:
    """Which rows of a rank count: no earlier row, and none of a lower rank, has the same id.

    Args:
        sample_ids: of all ranks, int64 ``[rows, 2]`` each; all empty: every row counts.
        rank: that of this process.
        rows: its number of rows.

    Returns:
        bool ``[rows]``.
    """
    everything = torch.cat(sample_ids)[:, 0]
    if not len(everything):
        return torch.ones(rows, dtype=torch.bool, device=everything.device)
    counts = torch.zeros(len(everything), dtype=torch.bool, device=everything.device)
    counts[first_of_each(everything)] = True
    mine: Tensor = counts.split([len(part) for part in sample_ids])[rank]
    return mine


def epoch_frequencies(
    references: Side, count: Tensor, owned: Tensor, gather: Gather
) -> DocumentFrequencies:
    """In how many references of all ranks each token occurs.

    Args:
        references: the references of this rank, packed, row by row.
        count: references of each row, ``[rows]``.
        owned: which rows count, bool ``[rows]``.
        gather: what it carries is one pair of integers a distinct token.
    """
    pairs = torch.repeat_interleave(owned, count.long()).nonzero().flatten()
    own = references.take(pairs)
    mine = DocumentFrequencies.of(own.token, own.length)
    total = torch.tensor([[-1, mine.documents]], dtype=torch.int32, device=own.token.device)
    each = torch.stack([mine.token, mine.count], 1).to(torch.int32)
    # Token -1 stands for "any": it comes first.
    everything = torch.cat(gather(torch.cat([total, each]))).long()
    distinct, inverse = torch.unique(everything[:, 0], return_inverse=True)
    summed = torch.zeros_like(distinct).index_add_(0, inverse, everything[:, 1])
    return DocumentFrequencies(distinct[1:], summed[1:], int(summed[0]))
