"""Which rows count, and what the ranks tell each other. Plain functions of vectors; ``gather`` does the talking.

``gather`` takes a tensor and returns one tensor a rank, like `torchmetrics.utilities.distributed.gather_all_tensors`. On one
process it is ``lambda x: [x]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from .idf import IdfTable, document_frequencies
from .matching import Side

Gather = Callable[[Tensor], list[Tensor]]


def alone(tensor: Tensor) -> list[Tensor]:
    """The gather of a single process."""
    return [tensor]


def own_rank(group: Any) -> int:
    """The rank of this process among those that are synced; 0 without `torch.distributed`.

    Raises:
        ValueError: if it does not belong to the group.
    """
    rank = dist.get_rank(group) if dist.is_available() and dist.is_initialized() else 0
    if rank < 0:
        raise ValueError(
            f"got a process_group that this process (rank {dist.get_rank()} of {dist.get_world_size()}) does not belong to; "
            "wanted one of its own groups, or sync_on_compute=False for the samples of this process alone"
        )
    return rank


def first_of_each(ids: Tensor) -> Tensor:
    """Where each id stands for the first time, in rising order of the ids: ``[rows]`` to ``[distinct]``."""
    order = torch.argsort(ids, stable=True)
    ordered = ids[order]
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return order[new]


def each_once(scores: Tensor, ids: Tensor, tolerance: float) -> Tensor:
    """Drop repeated rows and put the rest in the order of the ids; without ids nothing changes.

    Args:
        scores: ``[rows, scores]``.
        ids: ``[rows]``, or empty.
        tolerance: by how much two encodings of one text may differ.

    Raises:
        ValueError: if an id comes with two scores: then it does not name a row of the data set.
    """
    if not len(ids):
        return scores
    first = first_of_each(ids)
    of_row = scores[first][torch.searchsorted(ids[first], ids)]  # the first score of each row's id
    same = (scores == of_row) | ((scores - of_row).abs() <= tolerance)
    if not bool(same.all()):
        row = int((~same).any(1).nonzero()[0])
        raise ValueError(
            f"got the sample id {int(ids[row])} twice with different scores; wanted ids that name a row of the whole data set, "
            "not of a batch or of a rank: let the dataset return its index"
        )
    return scores[first]


def check_ids(rows: int, ids: int) -> None:
    """Raise ValueError if some rows have ids and some have not."""
    if ids not in (0, rows):
        raise ValueError(f"got sample_ids for {ids} of {rows} samples; wanted them in all updates of all ranks, or in none")


def owned(ids: list[Tensor], rank: int, rows: int) -> Tensor:
    """Which rows of a rank count: no earlier row, and none of a lower rank, has the same id. bool ``[rows]``."""
    if not sum(map(len, ids)):
        return torch.ones(rows, dtype=torch.bool, device=ids[rank].device)
    everything = torch.cat(ids)
    counts = torch.zeros(len(everything), dtype=torch.bool, device=everything.device)
    counts[first_of_each(everything)] = True
    mine: Tensor = counts.split([len(part) for part in ids])[rank]
    return mine


def epoch_idf(references: Side, count: Tensor, owned_rows: Tensor, gather: Gather) -> IdfTable:
    """The idf table of the references of all ranks.

    Args:
        references: the references of this rank, packed, row by row.
        count: references of each row, ``[rows]``.
        owned_rows: which rows count, bool ``[rows]``.
        gather: talks to the other ranks; what it carries is one pair of integers a distinct token.
    """
    pairs = torch.repeat_interleave(owned_rows, count.long()).nonzero().flatten()
    mine = references.take(pairs)
    token, documents = document_frequencies(mine.token, mine.length)
    total = torch.tensor([[-1, len(pairs)]], dtype=torch.int32, device=token.device)  # token -1 stands for "any"
    message = torch.cat([total, torch.stack([token, documents], 1).to(torch.int32)])
    everything = torch.cat(gather(message)).long()
    distinct, inverse = torch.unique(everything[:, 0], return_inverse=True)
    summed = torch.zeros_like(distinct).index_add_(0, inverse, everything[:, 1])
    return IdfTable.from_frequencies(distinct[1:], summed[1:], int(summed[0]))
