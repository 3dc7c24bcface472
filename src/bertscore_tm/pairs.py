"""From what users hand over to matches: rows of texts, checked whole before any work begins, then encoded and matched.

    texts -> pairs -> tokens -> embeddings -> best match per token

Before the matches things are large and stay here; after them there is one similarity and one id a word.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch
from torch import Tensor

from . import diagnosis
from .embedder import Embedder, Embedding
from .guard import out_of_memory, trim, undisturbed
from .matching import Embedded, Matches, Side, match

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
    return Rows([str.__str__(pred) for pred in pred_items], groups, _ids(sample_ids, len(pred_items)))


def _items(value: Any, side: str, wanted: str) -> list[Any]:
    unordered = isinstance(value, (bytes, bytearray, Mapping, AbstractSet))
    if unordered or not isinstance(value, Iterable):
        raise TypeError(f"got {_kind(value)} as {side}; wanted {wanted}, in order")
    try:
        return list(value)
    except TypeError as error:  # an array without dimensions, for example
        raise TypeError(f"got {_kind(value)} as {side}, which cannot be iterated ({error}); wanted {wanted}") from error


def _group(item: Any, row: int) -> list[str]:
    if isinstance(item, str):
        return [str.__str__(item)]
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
    return [str.__str__(reference) for reference in group]


def _ids(sample_ids: Any, rows: int) -> list[int] | None:
    if sample_ids is None:
        return None
    if hasattr(sample_ids, "tolist"):  # tensors and arrays: their elements are then plain numbers
        sample_ids = sample_ids.tolist()
    if isinstance(sample_ids, (Mapping, AbstractSet)):
        raise TypeError(f"got {_kind(sample_ids)} as sample_ids; wanted integers in the order of the rows")
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
        except (TypeError, ValueError, RuntimeError):  # the last two of arrays and tensors of several numbers
            wanted = "wanted an integer, the row's place in the data set"
            raise TypeError(f"got {_kind(value)} in row {row} of sample_ids; {wanted}") from None
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"got {value} in row {row} of sample_ids; wanted an integer of 64 bits")
        ids.append(number)
    if len(ids) != rows:
        raise ValueError(f"got {len(ids)} sample_ids for {rows} predictions; wanted one for each")
    return ids


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} ({str(value)[:40]!r})" if not isinstance(value, str) else "str"


# Numbers of the vectors that are held at one time: 24 MB in float32, twice that for several layers, sixteen times on a GPU.
CHUNK_NUMBERS = 6_291_456


@dataclass(frozen=True)
class Matched:
    """Rows after matching: all that is needed of them from then on.

    Attributes:
        matches: the best matches of all pairs, references of one prediction next to each other.
        references: number of pairs of each row, int32 ``[rows]``.
        counts: what `diagnosis.COUNTS` names, int64.
    """

    matches: Matches
    references: Tensor
    counts: Tensor


def chunk_tokens(embedder: Embedder, device: torch.device) -> int:
    """Tokens whose vectors are held at one time; of an encoder that has not run yet the width is guessed."""
    layers = len(embedder.layers)
    return CHUNK_NUMBERS * min(2, layers) * (1 if device.type == "cpu" else 16) // (layers * (embedder.dim or 1024))


def match_rows(
    embedder: Embedder, rows: Rows, device: torch.device, match_special_tokens: bool = True, verbose: bool = False
) -> Matched:
    """Encode and match rows, in chunks of like length: of a row there remain its token ids and similarities, never vectors.

    Args:
        embedder: the encoder with its layers.
        rows: predictions and references.
        device: where to compute.
        match_special_tokens: whether markers may be the best match of a word.
        verbose: show a progress bar.
    """
    texts = list(dict.fromkeys(text for pred, group in zip(rows.preds, rows.groups) for text in (pred, *group)))
    embeddings = embedder.tokenize(texts)
    place = {text: i for i, text in enumerate(texts)}
    pairs = [(place[pred], place[reference]) for pred, group in zip(rows.preds, rows.groups) for reference in group]
    size = [len(e.tokens.ids) for e in embeddings]
    same = [i for i, (pred, ref) in enumerate(pairs) if pred == ref]
    others = [i for i, (pred, ref) in enumerate(pairs) if pred != ref]
    others.sort(key=lambda i: (sum(size[text] for text in pairs[i]), pairs[i]))
    order = same + others
    parts = [_match_same([embeddings[pairs[i][0]] for i in same], len(embedder.layers), device)]
    budget = embedder.budget(device)
    with undisturbed(device), _bar(len(others), verbose) as advance:
        for chunk in _chunks(others, pairs, size, chunk_tokens(embedder, device)):
            parts += _match_somehow(embedder, embeddings, [pairs[i] for i in chunk], device, match_special_tokens)
            advance(len(chunk))
            if len(parts) > 2:  # more than one chunk
                trim()
        back = torch.empty(len(order), dtype=torch.int64, device=device)
        back[torch.tensor(order, dtype=torch.int64, device=device)] = torch.arange(len(order), device=device)
        pred, ref = (Side.cat(sides).take(back) for sides in zip(*((part.pred, part.ref) for part in parts)))
    if embedder.budget(device) < budget:
        diagnosis.warn_of_memory(embedder.budget(device), device)
    references = torch.tensor([len(group) for group in rows.groups], dtype=torch.int32, device=device)
    counts = _count(embeddings, [place[pred] for pred in rows.preds] + [ref for _, ref in pairs])
    return Matched(Matches(pred, ref), references, counts.to(device))


def _chunks(order: list[int], pairs: list[tuple[int, int]], size: list[int], limit: int) -> Iterator[list[int]]:
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
    embedder: Embedder, embeddings: list[Embedding], pairs: list[tuple[int, int]], device: torch.device, special: bool
) -> list[Matches]:
    """Match a chunk or, where that takes more memory than there is, its halves in smaller passes."""
    try:
        return [_match_chunk(embedder, embeddings, pairs, device, special)]
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        reason = str(error) or type(error).__name__
    embedder.give_way(device, len(pairs), reason)  # out here nothing holds the tensors of the attempt any more
    if not embedder.cache.used:  # what has been dropped there must not be held here
        embeddings[:] = [replace(e, vectors=None) for e in embeddings]
    half = (len(pairs) + 1) // 2
    halves = [part for part in (pairs[:half], pairs[half:]) if part]
    return [match for part in halves for match in _match_somehow(embedder, embeddings, part, device, special)]


def _match_chunk(
    embedder: Embedder, embeddings: list[Embedding], pairs: list[tuple[int, int]], device: torch.device, special: bool
) -> Matches:
    used = list(dict.fromkeys(text for pair in pairs for text in pair))
    tokens = [embeddings[i].tokens for i in used]
    embedded = Embedded(
        embedder.vectors([embeddings[i] for i in used], device),
        torch.tensor([i for t in tokens for i in t.ids], dtype=torch.int32, device=device),
        torch.tensor([word for t in tokens for word in t.words], dtype=torch.bool, device=device),
        torch.tensor([len(t.ids) for t in tokens], dtype=torch.int64, device=device),
    )
    place = {text: i for i, text in enumerate(used)}
    index = torch.tensor([[place[pred], place[ref]] for pred, ref in pairs], dtype=torch.int64, device=device)
    return match(embedded, index[:, 0], index[:, 1], special)


def _match_same(embeddings: list[Embedding], layers: int, device: torch.device) -> Matches:
    """Texts against themselves: every word is its own best match, with cosine 1. Nothing has to be encoded."""
    words = [[i for i, word in zip(e.tokens.ids, e.tokens.words) if word] for e in embeddings]
    token = torch.tensor([i for text in words for i in text], dtype=torch.int32, device=device)
    length = torch.tensor([len(text) for text in words], dtype=torch.int32, device=device)
    side = Side(torch.ones(len(token), layers, dtype=torch.float32, device=device), token, length)
    return Matches(side, side)


def _count(embeddings: list[Embedding], texts: list[int]) -> Tensor:
    """What `diagnosis.COUNTS` names, over all occurrences of the texts."""
    tokens = [embeddings[i].tokens for i in texts]
    return torch.tensor(
        [
            len(tokens),
            sum(sum(t.words) for t in tokens),
            sum(t.unknown for t in tokens),
            sum(t.lost > 0 for t in tokens),
            sum(t.lost for t in tokens),
            sum(t.literal for t in tokens),
            0,
        ],
        dtype=torch.int64,
    )


@contextmanager
def _bar(total: int, verbose: bool) -> Iterator[Callable[[int], object]]:
    if not verbose:
        yield lambda done: None
        return
    from tqdm.auto import tqdm  # comes with transformers

    with tqdm(total=total, unit="pair", desc="BERTScore") as bar:
        yield bar.update
