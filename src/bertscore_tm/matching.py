"""Greedy matching: each token of one text looks for its most similar token in the other.

This is the part of the paper between the encoder and the score (Zhang et al., ICLR 2020, section 3):

    similarity   x_i . y_j                for unit vectors x_i, y_j: the cosine, in [-1, 1]
    best match   max_j x_i . y_j          for every token i of one side, over all tokens j of the other

What leaves this module is small: one similarity and one token id for each word. It is packed: the words of all texts one
after the other in a flat vector, and a vector of lengths that says where each text ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# Elements of one padded block of similarities or vectors; 4 million float32 are 16 MB.
BLOCK = 4_000_000


@dataclass(frozen=True)
class Embedded:
    """Encoded texts, packed.

    Attributes:
        vectors: hidden states, any float dtype, ``[layers, tokens, dim]``.
        token: token ids, int32, ``[tokens]``.
        word: True where a token has a weight, False for markers such as ``[CLS]``, ``[tokens]``.
        length: tokens of each text, int64, ``[texts]``.
    """

    vectors: Tensor
    token: Tensor
    word: Tensor
    length: Tensor


@dataclass(frozen=True)
class Side:
    """One side of a number of pairs after matching, packed: only words, markers are gone.

    Attributes:
        similarity: cosine with the best match, float32 in [-1, 1], ``[words, layers]``.
        token: token ids, int32, ``[words]``.
        length: words of each pair, int32, ``[pairs]``.
    """

    similarity: Tensor
    token: Tensor
    length: Tensor

    @classmethod
    def cat(cls, sides: Sequence[Side]) -> Side:
        """Join packed sides, one after the other."""
        return cls(
            torch.cat([s.similarity for s in sides]),
            torch.cat([s.token for s in sides]),
            torch.cat([s.length for s in sides]),
        )

    def take(self, pairs: Tensor) -> Side:
        """Keep the given pairs (indices, ``[n]``), in the given order."""
        length = self.length.long()
        start = (length.cumsum(0) - length)[pairs]
        kept = length[pairs]
        inside = torch.arange(int(kept.sum()), device=kept.device) - torch.repeat_interleave(kept.cumsum(0) - kept, kept)
        words = torch.repeat_interleave(start, kept) + inside
        return Side(self.similarity[words], self.token[words], self.length[pairs])


@dataclass(frozen=True)
class Matches:
    """Both sides of the same pairs: what precision is made of, and what recall is made of."""

    pred: Side
    ref: Side


def unit(vectors: Tensor) -> Tensor:
    """Scale vectors to length one, in float32; a zero vector stays zero.

    Args:
        vectors: ``[..., dim]``, any float dtype.

    Raises:
        FloatingPointError: if the encoder gave an infinite or undefined number.
    """
    vectors = vectors.float()
    norm: Tensor = vectors.norm(dim=-1, keepdim=True)
    if not bool(torch.isfinite(norm).all()):
        raise FloatingPointError(
            "the encoder gave hidden states that are infinite or not a number; wanted finite ones: "
            "float16 overflows in some encoders, so use dtype='bfloat16' or 'float32', or check the weights"
        )
    return vectors / norm.clamp_min(torch.finfo(torch.float32).tiny)


def best_similarity(a: Tensor, b: Tensor, a_open: Tensor, b_open: Tensor) -> tuple[Tensor, Tensor]:
    """Greedy matching of padded texts in both directions.

    Args:
        a: unit vectors of one side, ``[pairs, n, dim]``.
        b: unit vectors of the other side, ``[pairs, m, dim]``.
        a_open: which tokens of ``a`` may be matched (no padding), bool ``[pairs, n]``.
        b_open: the same for ``b``, bool ``[pairs, m]``.

    Returns:
        The best cosine of each token of ``a`` over the open tokens of ``b``, ``[pairs, n]``, and of each token of ``b``
        over ``a``, ``[pairs, m]``, in [-1, 1]; -1 where nothing is open.
    """
    best_a, best_b = [], torch.full(b.shape[:2], -1.0, device=b.device)
    step = max(1, BLOCK // max(1, b.shape[0] * b.shape[1]))  # long pairs go block by block: memory stays bounded
    for block, block_open in zip(a.split(step, dim=1), a_open.split(step, dim=1)):
        cosine = torch.bmm(block, b.transpose(1, 2)).clamp_(-1.0, 1.0)  # [pairs, block, m]
        best_b = torch.maximum(best_b, cosine.masked_fill(~block_open[:, :, None], -1.0).amax(1))
        best_a.append(cosine.masked_fill_(~b_open[:, None, :], -1.0).amax(2))
    return torch.cat(best_a, dim=1), best_b


def match(texts: Embedded, preds: Tensor, refs: Tensor, match_special_tokens: bool = True) -> Matches:
    """Match pairs of encoded texts. Pairs of like length should be neighbours: they are padded together.

    Args:
        texts: the encoded texts.
        preds: index into ``texts`` of each pair's prediction, int64 ``[pairs]``.
        refs: index into ``texts`` of each pair's reference, int64 ``[pairs]``.
        match_special_tokens: whether markers may be the best match of a word (they never have a weight themselves).

    Returns:
        The matches of the words of both sides, in the order of the pairs.
    """
    vectors = unit(texts.vectors)
    open_tokens = torch.ones_like(texts.word) if match_special_tokens else texts.word
    start = texts.length.cumsum(0) - texts.length
    done: tuple[list[Side], list[Side]] = ([], [])
    for part in _blocks(texts.length[preds].tolist(), texts.length[refs].tolist(), vectors.shape[-1]):
        sides = [_pad(start[side[part]], texts.length[side[part]]) for side in (preds, refs)]
        (a, a_real), (b, b_real) = sides
        best = [best_similarity(layer[a], layer[b], open_tokens[a] & a_real, open_tokens[b] & b_real) for layer in vectors]
        for (index, real), similarity, out in zip(sides, zip(*best), done):
            word = texts.word[index] & real  # [pairs, longest]
            out.append(Side(torch.stack(similarity, -1)[word], texts.token[index][word], word.sum(1, dtype=torch.int32)))
    return Matches(Side.cat(done[0]), Side.cat(done[1]))


def _pad(start: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of the tokens of texts in the packed vectors, and which of them are real: both ``[texts, longest]``."""
    column = torch.arange(max(1, int(length.max())), device=length.device)
    real = column < length[:, None]
    return (start[:, None] + column).where(real, torch.zeros_like(column)), real


def _blocks(n: list[int], m: list[int], dim: int) -> Iterator[slice]:
    """Cut a run of pairs into slices whose padded vectors and similarities stay below `BLOCK` elements."""
    first, longest_n, longest_m = 0, 0, 0
    for i, (x, y) in enumerate(zip(n, m)):
        longest_n, longest_m = max(longest_n, x), max(longest_m, y)
        pairs = i + 1 - first
        if pairs > 1 and pairs * max((longest_n + longest_m) * dim, longest_n * longest_m) > BLOCK:
            yield slice(first, i)
            first, longest_n, longest_m = i, x, y
    if n:
        yield slice(first, len(n))
