"""Whether the vectors of a text depend on what else is in its batch, found with a few tokens.

Most encoders keep padding out by their attention mask. Some do not: FNet mixes all places, ConvBERT
convolves over them; weights that are quantized on the fly scale with the whole batch. Such encoders
get rows of one length, or single rows, so that a score does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import TypeAlias

import torch
from torch import Tensor

from .machine import out_of_memory

# Hidden states of a batch, each ``[texts, tokens, dim]``, of its ids and its attention mask.
Run: TypeAlias = Callable[[Tensor, Tensor], Sequence[Tensor]]

PROBE = 8  # tokens
# Largest distance of two vectors, as a share of their length, that is still rounding. What stands
# in the padding is not seen at all by most encoders, in batches of one shape not even in the last
# bit; padding of another length changes the order of sums.
_SEEN = 1e-6
_ROUNDED: dict[torch.dtype | None, float] = {torch.bfloat16: 0.05, torch.float16: 0.01}
_ROUNDED_ELSE = 1e-4


class Mixing(Enum):
    """What the vectors of a text depend on, beside the text."""

    NOTHING = "nothing"
    PADDING = "padding"
    NEIGHBOURS = "neighbours"
    CHANCE = "chance"


def find_mixing(
    run: Run, words: int, device: torch.device, products: torch.dtype | None = None
) -> Mixing:
    """Run a few tokens alone, and with padding and neighbours of two kinds.

    Args:
        run: the encoder.
        words: token ids that it knows.
        device: where it is.
        products: dtype of its products, where that is another than that of its vectors.
    """

    def row(start: int) -> Tensor:
        return torch.arange(start, start + PROBE, device=device) % words

    text, other, padding = row(4), row(12), torch.zeros_like(row(0))
    alone = _alone(run, text)
    if not _equal(alone, _alone(run, text), _SEEN):
        return Mixing.CHANCE
    full = torch.ones(2, 2 * PROBE, dtype=torch.int64, device=device)
    full[0, PROBE:] = 0
    try:
        first = run(_rows(text, padding, other, text), full)
        second = run(_rows(text, row(20), row(3), other), full)
        kept_out = _equal(first, second, _SEEN) and _close(alone, first, products)
        if kept_out:
            return Mixing.NOTHING
        whole = torch.ones(2, PROBE, dtype=torch.int64, device=device)
        first, second = (run(torch.stack([text, more]), whole) for more in (other, row(20)))
        apart = _equal(first, second, _SEEN) and _close(alone, first, products)
    except Exception as error:
        if out_of_memory(error):
            raise
        apart = False
    return Mixing.PADDING if apart else Mixing.NEIGHBOURS


def split_rows(lengths: Sequence[int], mixing: Mixing) -> Iterator[tuple[list[int], int]]:
    """The rows of a batch that may go through the encoder together, and their length."""
    groups: dict[object, list[int]] = {}
    for row, length in enumerate(lengths):
        groups.setdefault((length, row if mixing == Mixing.NEIGHBOURS else None), []).append(row)
    for rows in groups.values():
        if lengths[rows[0]]:
            yield rows, lengths[rows[0]]


def _alone(run: Run, text: Tensor) -> Sequence[Tensor]:
    return run(text[None], torch.ones_like(text)[None])


def _rows(*parts: Tensor) -> Tensor:
    """Two rows of two parts each."""
    return torch.cat(parts).view(2, 2 * PROBE)


def _close(one: Sequence[Tensor], two: Sequence[Tensor], products: torch.dtype | None) -> bool:
    """Whether the vectors of the probe in the first row are equal up to rounding, at each layer."""
    dtypes = {products, *(state.dtype for state in one)}
    return _equal(one, two, max(_ROUNDED.get(dtype, _ROUNDED_ELSE) for dtype in dtypes))


def _equal(one: Sequence[Tensor], two: Sequence[Tensor], tolerance: float) -> bool:
    """Whether those vectors differ by no more than a share of their length, at each layer."""
    for a, b in zip(one, two):
        left, right = (state[0, :PROBE].to(torch.float32) for state in (a, b))
        # Not a number is no length, and so not within it.
        if not bool(((left - right).norm(dim=-1) <= tolerance * left.norm(dim=-1)).all()):
            return False
    return True
