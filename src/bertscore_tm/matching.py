"""Matching: each token of one text looks for its most similar token in the other.

This is the part of the paper between encoder and score (Zhang et al., ICLR 2020, section 3):

    similarity   x_i . y_j                for unit vectors x_i, y_j: the cosine, in [-1, 1]
    best match   max_j x_i . y_j          for every token i of a side, over all j of the other

What leaves this module is small: one similarity and one token id for each token that has a weight.
It is packed: the tokens of all texts one after the other in a flat vector, and a vector of lengths
that says where each text ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from .errors import NonFiniteError

# Elements of one padded block of similarities or vectors; 4 million float32 are 16 MB.
BLOCK = 4_000_000


@dataclass(frozen=True)
class MatchingRule:
    """How tokens are matched.

    Attributes:
        special_tokens: whether special tokens may be the best match of another (they never have a
            weight themselves).
        floor: None: greedily, each token by itself, as in the paper. Else "mutual": a token whose
            best match has a better one gets only half of its cosine above this, the cosine of
            unrelated texts: of each layer for tokens of the prediction and of the reference,
            ``[layers, 2]``.
    """

    special_tokens: bool = True
    floor: Tensor | None = None


GREEDY = MatchingRule()
# Cosines that differ by less are equal: a word that stands twice has two best matches.
_EQUAL = 1e-5


@dataclass(frozen=True)
class TokenVectors:
    """Encoded texts, packed.

    Attributes:
        vectors: hidden states, any float dtype, ``[layers, tokens, dim]``.
        token: token ids, int32, ``[tokens]``.
        counts: True where a token has a weight, False for special ones, bool ``[tokens]``.
        length: tokens of each text, int64, ``[texts]``.
    """

    vectors: Tensor
    token: Tensor
    counts: Tensor
    length: Tensor


@dataclass(frozen=True)
class Side:
    """One side of a number of pairs after matching, packed; special tokens are gone.

    Attributes:
        similarity: cosine with the best match, float32 in [-1, 1], ``[tokens, layers]``.
        token: token ids, int32, ``[tokens]``.
        length: tokens of each pair, int32, ``[pairs]``.
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
        first = kept.cumsum(0) - kept  # of each pair, among the tokens that are kept
        inside = torch.arange(int(kept.sum()), device=kept.device) - first.repeat_interleave(kept)
        tokens = start.repeat_interleave(kept) + inside
        return Side(self.similarity[tokens], self.token[tokens], self.length[pairs])


@dataclass(frozen=True)
class Matches:
    """Both sides of the same pairs: what precision is made of, and what recall is made of."""

    pred: Side
    ref: Side

    @classmethod
    def empty(cls, layers: int) -> Matches:
        """No pairs."""
        nothing = torch.zeros(0, dtype=torch.int32, device="cpu")
        similarity = torch.zeros(0, layers, dtype=torch.float32, device="cpu")
        side = Side(similarity, nothing, nothing)
        return cls(side, side)

    def pack(self) -> dict[str, Tensor]:
        """The vectors by name: "pred_similarity", "pred_token", ..., "ref_length"."""
        sides = (("pred", self.pred), ("ref", self.ref))
        return {f"{name}_{key}": value for name, side in sides for key, value in vars(side).items()}

    @classmethod
    def unpack(cls, packed: Mapping[str, Tensor]) -> Matches:
        """The matches whose vectors `pack` gave; other entries play no part."""
        names = [part.name for part in fields(Side)]
        return cls(*(Side(*(packed[f"{side}_{key}"] for key in names)) for side in ("pred", "ref")))


def unit_vectors(vectors: Tensor) -> Tensor:
    """Scale vectors to length one, in float32; a zero vector stays zero.

    Args:
        vectors: ``[..., dim]``, any float dtype.

    Raises:
        NonFiniteError: if the encoder gave an infinite or undefined number.
    """
    vectors = vectors.float()
    norm: Tensor = vectors.norm(dim=-1, keepdim=True)
    if not bool(torch.isfinite(norm).all()):
        raise NonFiniteError(
            "the encoder gave hidden states that are infinite or not a number; wanted finite ones: "
            "float16 overflows in some encoders, so use dtype bfloat16 or float32, or check the "
            "weights"
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
        The best cosine of each token of ``a`` over the open tokens of ``b``, ``[pairs, n]``, and of
        each token of ``b`` over ``a``, ``[pairs, m]``, in [-1, 1]; -1 where nothing is open.
    """
    best_a, best_b = [], torch.full(b.shape[:2], -1.0, device=b.device)
    # Long pairs go block by block: memory stays bounded.
    step = max(1, BLOCK // max(1, b.shape[0] * b.shape[1]))
    for block, block_open in zip(a.split(step, dim=1), a_open.split(step, dim=1)):
        cosine = torch.bmm(block, b.transpose(1, 2)).clamp_(-1.0, 1.0)  # [pairs, block, m]
        best_b = torch.maximum(best_b, cosine.masked_fill(~block_open[:, :, None], -1.0).amax(1))
        best_a.append(cosine.masked_fill_(~b_open[:, None, :], -1.0).amax(2))
    return torch.cat(best_a, dim=1), best_b


def mutual_credit(
    a: Tensor, b: Tensor, a_open: Tensor, b_open: Tensor, floor: Tensor
) -> tuple[Tensor, Tensor]:
    """What `best_similarity` gives, halved above a floor where the choice is not mutual.

    A token and its best match have chosen each other if their cosine is the best of both.

    Args:
        a: as for `best_similarity`.
        b: the same.
        a_open: the same.
        b_open: the same.
        floor: of the tokens of ``a`` and of ``b``, ``[2]``.
    """
    best_a, best_b = best_similarity(a, b, a_open, b_open)
    mutual_a, mutual_b = [], torch.zeros_like(b_open)
    step = max(1, BLOCK // max(1, b.shape[0] * b.shape[1]))
    blocks = (part.split(step, dim=1) for part in (a, a_open, best_a))
    for block, block_open, best in zip(*blocks):
        cosine = torch.bmm(block, b.transpose(1, 2)).clamp_(-1.0, 1.0)  # [pairs, block, m]
        chosen = cosine >= torch.maximum(best[:, :, None], best_b[:, None, :]) - _EQUAL
        mutual_b |= (chosen & block_open[:, :, None]).any(1)
        mutual_a.append((chosen & b_open[:, None, :]).any(2))
    sides = ((best_a, torch.cat(mutual_a, dim=1)), (best_b, mutual_b))
    half_a, half_b = (
        best.where(mutual, torch.minimum(best, (best + low) / 2))
        for (best, mutual), low in zip(sides, floor.to(best_a))
    )
    return half_a, half_b


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """All that `best_similarity` looks through, of one pair.

    Args:
        a: hidden states of one side, any float dtype, ``[n, dim]``.
        b: hidden states of the other side, ``[m, dim]``.

    Returns:
        float32 ``[n, m]`` in [-1, 1].
    """
    return (unit_vectors(a) @ unit_vectors(b).T).clamp_(-1.0, 1.0)


def first_best(cosine: Tensor, is_open: Tensor) -> Tensor:
    """The first open column with the largest value of each row, -1 where none is open.

    Args:
        cosine: ``[n, m]``.
        is_open: bool ``[m]``.
    """
    if not bool(is_open.any()):
        return torch.full(cosine.shape[:1], -1, dtype=torch.int64, device=cosine.device)
    return cosine.masked_fill(~is_open, -2.0).argmax(1)


def match_pairs(
    texts: TokenVectors, preds: Tensor, refs: Tensor, rule: MatchingRule = GREEDY
) -> Matches:
    """Match pairs of encoded texts. Pairs of like length should be neighbours: padded together.

    Args:
        texts: the encoded texts.
        preds: index into ``texts`` of each pair's prediction, int64 ``[pairs]``.
        refs: index into ``texts`` of each pair's reference, int64 ``[pairs]``.
        rule: how tokens are matched.

    Returns:
        The matches of the tokens with a weight of both sides, in the order of the pairs.
    """
    vectors = unit_vectors(texts.vectors)
    open_tokens = torch.ones_like(texts.counts) if rule.special_tokens else texts.counts
    start = texts.length.cumsum(0) - texts.length
    done: tuple[list[Side], list[Side]] = ([], [])
    lengths = texts.length[preds].tolist(), texts.length[refs].tolist()
    for part in _blocks(*lengths, vectors.shape[-1]):
        sides = [_pad(start[side[part]], texts.length[side[part]]) for side in (preds, refs)]
        (a, a_real), (b, b_real) = sides
        a_open, b_open = open_tokens[a] & a_real, open_tokens[b] & b_real
        if rule.floor is None:
            best = [best_similarity(layer[a], layer[b], a_open, b_open) for layer in vectors]
        else:
            best = [
                mutual_credit(layer[a], layer[b], a_open, b_open, floor)
                for layer, floor in zip(vectors, rule.floor)
            ]
        for (index, real), similarity, out in zip(sides, zip(*best), done):
            kept = texts.counts[index] & real  # [pairs, longest]
            length = kept.sum(1, dtype=torch.int32)
            out.append(Side(torch.stack(similarity, -1)[kept], texts.token[index][kept], length))
    return Matches(Side.cat(done[0]), Side.cat(done[1]))


def _pad(start: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    """Where the tokens of texts stand in the packed vectors, and which are no padding.

    Both are ``[texts, longest]``.
    """
    column = torch.arange(max(1, int(length.max())), device=length.device)
    real = column < length[:, None]
    return (start[:, None] + column).where(real, torch.zeros_like(column)), real


def _blocks(n: list[int], m: list[int], dim: int) -> Iterator[slice]:
    """Cut pairs into slices whose padded vectors and similarities stay below `BLOCK` elements."""
    first, longest_n, longest_m = 0, 0, 0
    for i, (x, y) in enumerate(zip(n, m)):
        longest_n, longest_m = max(longest_n, x), max(longest_m, y)
        pairs = i + 1 - first
        largest = max((longest_n + longest_m) * dim, longest_n * longest_m)
        if pairs > 1 and pairs * largest > BLOCK:
            yield slice(first, i)
            first, longest_n, longest_m = i, x, y
    if n:
        yield slice(first, len(n))
