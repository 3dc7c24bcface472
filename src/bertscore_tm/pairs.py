"""From rows of texts to matches: tokens, embeddings, best match per token.

Before the matches things are large and stay here; after them there is one similarity and one id a
token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor

from . import diagnosis
from .engine import TokenizedText
from .guard import undisturbed
from .leases import Lease
from .machine import out_of_memory, trim_heap
from .matching import GREEDY, Matches, MatchingRule, Side, TokenVectors, match_pairs
from .rows import Rows

# Numbers of the vectors that are held at one time: 24 MB in float32, twice that for several
# layers, sixteen times on a GPU.
CHUNK_NUMBERS = 6_291_456

Pair: TypeAlias = tuple[int, int]  # places of prediction and reference among the distinct texts


@dataclass(frozen=True)
class Matched:
    """Rows after matching: all that is needed of them from then on.

    Attributes:
        matches: the best matches of all pairs, references of one prediction next to each other.
        references: number of pairs of each row, int32 ``[rows]``.
        counts: what `diagnosis.COUNTS` names, of each row, int32 ``[rows, counts]``.
    """

    matches: Matches
    references: Tensor
    counts: Tensor

    @classmethod
    def empty(cls, layers: int) -> Matched:
        """No rows."""
        nothing = torch.zeros(0, dtype=torch.int32, device="cpu")
        return cls(Matches.empty(layers), nothing, nothing.reshape(0, len(diagnosis.COUNTS)))

    def pack(self) -> dict[str, Tensor]:
        """The vectors by name, but for the counts."""
        return {**self.matches.pack(), "references": self.references}

    @classmethod
    def unpack(cls, packed: Mapping[str, Tensor], counts: Tensor) -> Matched:
        """What `pack` gave, and the counts."""
        return cls(Matches.unpack(packed), packed["references"], counts)


def chunk_tokens(lease: Lease, device: torch.device) -> int:
    """Tokens whose vectors are held at one time.

    Of an encoder that has not run yet the width is guessed.
    """
    layers = len(lease.layers_to_run())
    numbers = CHUNK_NUMBERS * min(2, layers) * (1 if device.type == "cpu" else 16)
    return numbers // (layers * (lease.engine.dim or 1024))


def match_rows(
    lease: Lease,
    rows: Rows,
    device: torch.device,
    rule: MatchingRule = GREEDY,
    verbose: bool = False,
) -> Matched:
    """Encode and match rows, in chunks of like length.

    Of a row there remain its token ids and similarities, never vectors.

    Args:
        lease: the encoder with its layers.
        rows: predictions and references.
        device: where to compute.
        rule: how tokens are matched.
        verbose: show a progress bar.
    """
    groups = list(zip(rows.preds, rows.groups))
    distinct = list(dict.fromkeys(text for pred, refs in groups for text in (pred, *refs)))
    texts = lease.tokenize(distinct)
    place = {text: i for i, text in enumerate(distinct)}
    pairs = [(place[pred], place[ref]) for pred, refs in groups for ref in refs]
    size = [len(text.tokens.ids) for text in texts]
    same = [i for i, (pred, ref) in enumerate(pairs) if pred == ref]
    others = [i for i, (pred, ref) in enumerate(pairs) if pred != ref]
    others.sort(key=lambda i: (sum(size[text] for text in pairs[i]), pairs[i]))
    parts = [_match_same([texts[pairs[i][0]] for i in same], len(lease.layers), device)]
    budget = lease.budget(device)
    with undisturbed(device), _bar(len(others), verbose) as advance:
        for chunk in _chunks(others, pairs, size, chunk_tokens(lease, device)):
            some = [pairs[i] for i in chunk]
            parts += _match_somehow(lease, texts, some, device, rule)
            advance(len(chunk))
            if len(parts) > 2:  # more than one chunk
                trim_heap()
        matches = _in_order(parts, same + others, device)
    if lease.budget(device) < budget:
        diagnosis.warn_of_memory(lease.budget(device), device)
    references = torch.tensor([len(refs) for _, refs in groups], dtype=torch.int32, device=device)
    counts = _count(texts, [(place[pred], [place[ref] for ref in refs]) for pred, refs in groups])
    return Matched(matches, references, counts.to(device))


def _in_order(parts: list[Matches], order: list[int], device: torch.device) -> Matches:
    """The matches of all parts, each pair at its place again."""
    back = torch.empty(len(order), dtype=torch.int64, device=device)
    back[torch.tensor(order, dtype=torch.int64, device=device)] = torch.arange(
        len(order), device=device
    )
    sides = zip(*((part.pred, part.ref) for part in parts))
    pred, ref = (Side.cat(list(side)).take(back) for side in sides)
    return Matches(pred, ref)


def _chunks(
    order: list[int], pairs: list[Pair], size: list[int], limit: int
) -> Iterator[list[int]]:
    """Cut pairs where the vectors of their distinct texts would be too many to hold."""
    chunk: list[int] = []
    held: set[int] = set()
    tokens = 0
    for i in order:
        more = sum(size[text] for text in {*pairs[i]} - held)
        if chunk and tokens + more > limit:
            yield chunk
            chunk, held, tokens = [], set(), 0
            more = sum(size[text] for text in {*pairs[i]})
        chunk.append(i)
        held |= {*pairs[i]}
        tokens += more
    if chunk:
        yield chunk


def _match_somehow(
    lease: Lease,
    texts: list[TokenizedText],
    pairs: list[Pair],
    device: torch.device,
    rule: MatchingRule,
) -> list[Matches]:
    """Match a chunk or, where memory runs out, its halves in smaller passes."""
    try:
        return [_match_chunk(lease, texts, pairs, device, rule)]
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        reason = str(error) or type(error).__name__
    # Out here nothing holds the tensors of the attempt any more.
    lease.give_way(device, len(pairs), reason)
    if not lease.cache_in_use():  # what has been dropped there must not be held here
        texts[:] = [replace(text, known=None) for text in texts]
    half = (len(pairs) + 1) // 2
    halves = [part for part in (pairs[:half], pairs[half:]) if part]
    return [m for part in halves for m in _match_somehow(lease, texts, part, device, rule)]


def _match_chunk(
    lease: Lease,
    texts: list[TokenizedText],
    pairs: list[Pair],
    device: torch.device,
    rule: MatchingRule,
) -> Matches:
    used = list(dict.fromkeys(text for pair in pairs for text in pair))
    tokens = [texts[i].tokens for i in used]
    mask = [counts for t in tokens for counts in t.token_mask]
    encoded = TokenVectors(
        lease.vectors([texts[i] for i in used], device),
        torch.tensor([i for t in tokens for i in t.ids], dtype=torch.int32, device=device),
        torch.tensor(mask, dtype=torch.bool, device=device),
        torch.tensor([len(t.ids) for t in tokens], dtype=torch.int64, device=device),
    )
    place = {text: i for i, text in enumerate(used)}
    index = [[place[pred], place[ref]] for pred, ref in pairs]
    sides = torch.tensor(index, dtype=torch.int64, device=device)
    return match_pairs(encoded, sides[:, 0], sides[:, 1], rule)


def _match_same(texts: list[TokenizedText], layers: int, device: torch.device) -> Matches:
    """Texts against themselves: every token is its own best match, with cosine 1.

    Nothing has to be encoded.
    """
    kept = [[i for i, counts in zip(t.tokens.ids, t.tokens.token_mask) if counts] for t in texts]
    token = torch.tensor([i for ids in kept for i in ids], dtype=torch.int32, device=device)
    length = torch.tensor([len(ids) for ids in kept], dtype=torch.int32, device=device)
    ones = torch.ones(len(token), layers, dtype=torch.float32, device=device)
    side = Side(ones, token, length)
    return Matches(side, side)


def _count(texts: list[TokenizedText], rows: list[tuple[int, list[int]]]) -> Tensor:
    """What `diagnosis.COUNTS` names of each row: a prediction and its references."""
    facts = [diagnosis.count_text(text.tokens) for text in texts]
    has = [any(text.tokens.token_mask) for text in texts]
    counts = [
        diagnosis.count_row(
            [facts[i] for i in (pred, *refs)],
            not has[pred],
            not any(has[i] for i in refs),
            any(_look_alike(texts[pred], texts[i]) for i in refs),
        )
        for pred, refs in rows
    ]
    found = torch.tensor(counts, dtype=torch.int32, device="cpu")
    return found.reshape(-1, len(diagnosis.COUNTS))


def _look_alike(pred: TokenizedText, target: TokenizedText) -> bool:
    """Whether two texts look the same but are other tokens."""
    return pred.tokens.ids != target.tokens.ids and diagnosis.look_alike(pred.text, target.text)


@contextmanager
def _bar(total: int, verbose: bool) -> Iterator[Callable[[int], object]]:
    if not verbose:
        yield lambda done: None
        return
    from tqdm.auto import tqdm  # comes with transformers

    with tqdm(total=total, unit="pair", desc="BERTScore") as bar:
        yield bar.update
