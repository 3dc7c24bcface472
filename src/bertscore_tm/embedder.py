"""From texts to hidden states, through any encoder.

Distinct texts only, longest first, as many in one pass as a budget of padded tokens allows; each text gets its own vectors back
whatever the order. What was encoded before comes from the cache.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from .cache import Cache
from .encoder import Encoder, Tokens, Window


@dataclass(frozen=True)
class Embedding:
    """A text, its tokens and, if it was encoded before, its hidden states ``[layers, tokens, dim]`` in host memory."""

    text: str
    tokens: Tokens
    vectors: Tensor | None = None

    @property
    def passes(self) -> tuple[Window, ...]:
        """The passes through the encoder that this text needs."""
        return self.tokens.windows or (Window(self.tokens.ids, 0, len(self.tokens.ids)),)


_Pass = tuple[int, int, Window]  # key of the text, number of the window, the window


class Embedder:
    """An encoder with its layers, its token budget and its cache. Equal ones, copies and pickles are one object.

    Attributes:
        encoder: the encoder.
        layers: the hidden states that are read.
        cache: the vectors of texts that were encoded before.
        encoded_tokens: tokens that have gone through the encoder so far, padding not counted.
    """

    def __init__(self, encoder: Encoder, layers: tuple[int, ...], batch_tokens: int | None, cache_bytes: int) -> None:
        """Bind the parts; use `shared_embedder`, which gives one object for equal ones."""
        self.encoder, self.layers = encoder, layers
        frozen = getattr(encoder, "frozen", not isinstance(encoder, torch.nn.Module))
        self.cache: Cache[Embedding] = Cache(cache_bytes if frozen else 0)
        self.dim: int | None = None
        self.encoded_tokens = 0
        self._batch_tokens, self._cache_bytes = batch_tokens, self.cache.budget
        self._room = self._tried = 1 << 62  # padded tokens that fit into memory, and those of the largest pass of late
        self._key: tuple[object, ...] = ()

    def __deepcopy__(self, memo: dict[int, object]) -> Embedder:
        """Copies are the same object."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles carry the parts; where this object still lives, they lead back to it."""
        return shared_embedder, (self.encoder, self.layers, self._batch_tokens, self._cache_bytes, self._key)

    def budget(self, device: torch.device) -> int:
        """Padded tokens in one pass."""
        return min(self._room, self._batch_tokens or (2_048 if device.type == "cpu" else 32_768))

    def give_way(self, device: torch.device, pairs: int, reason: str) -> None:
        """Make do with less memory after it ran out: first the cache, where it is in the way, then half as much in one pass.

        Raises:
            MemoryError: if passes are at their smallest, and a single pair of texts is in hand.
        """
        if device.type == "cpu" and self.cache.used:
            self.cache.budget //= 2
            self.cache.clear()
        elif self.budget(device) > 1:
            self._room = max(1, min(self.budget(device), self._tried or 1 << 62) // 2)
        elif pairs == 1:
            self._room, self.cache.budget = 1 << 62, self._cache_bytes  # the next texts may be shorter
            said = (reason.strip().splitlines() or ["no reason given"])[0]
            raise MemoryError(
                f"ran out of memory on {device} with a single pair of texts in hand ({said}); wanted a smaller encoder, "
                "dtype='bfloat16', a lower max_length, or more room beside what else is there"
            )
        if device.type == "cuda":
            torch.cuda.empty_cache()

    def release(self) -> None:
        """Give back the memory of the cache and of the encoder's weights; the next text loads them again."""
        self.cache.clear()
        if hasattr(self.encoder, "release"):
            self.encoder.release()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def tokenize(self, texts: Sequence[str]) -> list[Embedding]:
        """Split distinct texts into tokens; those in the cache come with their vectors."""
        known = [self.cache.get(text) if self.cache.budget else None for text in texts]
        new = iter(self._tokens([text for text, found in zip(texts, known) if found is None]))
        return [Embedding(text, next(new)) if found is None else found for text, found in zip(texts, known)]

    def vectors(self, texts: Sequence[Embedding], device: torch.device) -> Tensor:
        """Hidden states of texts, one after the other, on the device: ``[layers, tokens, dim]``; the cache is read and fed."""
        known: dict[int, Tensor] = {}
        new: dict[int, Embedding] = {}
        for place, text in enumerate(texts):
            vectors = text.vectors
            if vectors is None and self.cache.budget and (found := self.cache.get(text.text)):
                vectors = found.vectors  # an earlier chunk of the same update has encoded it
            if vectors is not None:
                known[place] = vectors
            elif len(text.tokens.ids):
                new[place] = text
        parts = self._encode(new, device)
        self._keep(new, parts)
        parts |= _moved(known, device)
        ordered = [parts[place] for place in sorted(parts)]
        return torch.cat(ordered, 1) if ordered else torch.zeros(len(self.layers), 0, 1, device=device)

    forward = vectors  # what torchmetrics' FeatureShare looks for in something that is shared

    def _encode(self, texts: Mapping[int, Embedding], device: torch.device) -> dict[int, Tensor]:
        """Run texts in batches that suit the encoder: to each key its ``[layers, tokens, dim]``."""
        passes = [(key, i, window) for key, text in texts.items() for i, window in enumerate(text.passes)]
        parts: dict[int, dict[int, Tensor]] = {key: {} for key in texts}
        self._tried = 0
        for batch in self._batches(passes, device):
            for (key, i, window), hidden in zip(batch, self._run([window.ids for *_, window in batch], device)):
                parts[key][i] = hidden[:, window.start : window.stop]
        return {key: part[0] if len(part) == 1 else torch.cat([part[i] for i in sorted(part)], 1) for key, part in parts.items()}

    def _keep(self, texts: Mapping[int, Embedding], parts: Mapping[int, Tensor]) -> None:
        """Offer new vectors to the cache."""
        if not self.cache.budget:
            return
        host = _moved({key: parts[key] for key in texts}, torch.device("cpu"))
        for key, text in texts.items():
            keep = partial(_kept, text, host[key])
            self.cache.put(text.text, keep, host[key].numel() * host[key].element_size())

    def _batches(self, passes: list[_Pass], device: torch.device) -> Iterator[list[_Pass]]:
        """Cut the passes, longest first, where the next one would exceed the budget, or padding would cost more than a pass.

        Measured with MiniLM on a CPU: a pass more costs about as much as 64 tokens of padding, a 32nd of the budget.
        """
        budget = self.budget(device)
        batch: list[_Pass] = []
        padding = 0
        for item in sorted(passes, key=lambda item: -len(item[2].ids)):
            longest = len(batch[0][2].ids) if batch else 0
            padding += max(0, longest - len(item[2].ids))
            if batch and ((len(batch) + 1) * longest > budget or padding > budget // 32):
                yield batch
                batch, padding = [], 0
            batch.append(item)
        if batch:
            yield batch

    def _run(self, ids: Sequence[Sequence[int]], device: torch.device) -> Iterator[Tensor]:
        """One pass: the hidden states of each text without its padding, ``[layers, tokens, dim]``."""
        lengths = [len(row) for row in ids]
        mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        padded = torch.zeros(mask.shape, dtype=torch.int64)
        padded[mask] = torch.tensor([i for row in ids for i in row], dtype=torch.int64)
        self._tried = max(self._tried, mask.numel())
        hidden = self.encoder.hidden_states(_sent(padded, device), _sent(mask.long(), device), self.layers)
        if not isinstance(hidden, Tensor):
            raise TypeError(f"encoder {self.encoder.name!r} gave {type(hidden).__name__} as hidden states; wanted a tensor")
        if hidden.ndim != 4 or not hidden.shape[3] or hidden.shape[:3] != (len(self.layers), *mask.shape):
            raise ValueError(
                f"encoder {self.encoder.name!r} gave hidden states of shape {list(hidden.shape)}; wanted "
                f"[{len(self.layers)}, {mask.shape[0]}, {mask.shape[1]}, dim]: layers, texts, longest text"
            )
        self.dim = hidden.shape[3]
        self.encoded_tokens += sum(lengths)
        return (hidden[:, row, :length] for row, length in enumerate(lengths))

    def _tokens(self, texts: list[str]) -> list[Tokens]:
        """What the encoder makes of texts, checked: an own encoder may be new."""
        tokens = self.encoder.tokenize(texts) if texts else []
        if len(tokens) != len(texts):
            raise ValueError(
                f"encoder {self.encoder.name!r} gave tokens of {len(tokens)} texts for {len(texts)}; wanted one for each"
            )
        for text in tokens:
            if len(text.ids) != len(text.words):
                raise ValueError(f"encoder {self.encoder.name!r} gave {len(text.ids)} ids and {len(text.words)} words of a text")
            if len(text.ids) and not 0 <= min(text.ids) <= max(text.ids) < 2**31:
                raise ValueError(f"encoder {self.encoder.name!r} gave a token id outside of 0 to 2**31 - 1")
        return tokens


def _kept(text: Embedding, vectors: Tensor) -> Embedding:
    """A copy of its own: a part of a batch would hold the whole batch in memory."""
    return Embedding(text.text, text.tokens, vectors.clone())


def _moved(parts: Mapping[int, Tensor], device: torch.device) -> dict[int, Tensor]:
    """Bring vectors to a device, all in one transfer."""
    if all(part.device.type == device.type for part in parts.values()):
        return dict(parts)
    together = torch.cat(list(parts.values()), 1).to(device)
    return dict(zip(parts, together.split([part.shape[1] for part in parts.values()], 1)))


def _sent(tensor: Tensor, device: torch.device) -> Tensor:
    """Bring a tensor to a device without waiting for what that is doing."""
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


_embedders: weakref.WeakValueDictionary[tuple[object, ...], Embedder] = weakref.WeakValueDictionary()


def shared_embedder(
    encoder: Encoder,
    layers: tuple[int, ...],
    batch_tokens: int | None,
    cache_bytes: int,
    key: tuple[object, ...] | None = None,
) -> Embedder:
    """The one embedder of an encoder with these settings.

    Args:
        encoder: the encoder.
        layers: the hidden states to read.
        batch_tokens: padded tokens in one pass; None: 2,048 on a CPU, 32,768 elsewhere.
        cache_bytes: bytes that the cache may take; 0: no cache.
        key: of a pickled embedder.
    """
    if key is None:
        key = (*(getattr(encoder, "sharing_key", None) or (_name_of(encoder),)), layers, batch_tokens, cache_bytes)
    embedder = _embedders.get(key)
    if embedder is None:
        embedder = Embedder(encoder, layers, batch_tokens, cache_bytes)
        embedder._key = key
        _embedders[key] = embedder
    return embedder


_names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def _name_of(encoder: Encoder) -> str:
    """A name that no other object has or will have, here or in another process."""
    try:
        return _names.setdefault(encoder, uuid.uuid4().hex)
    except TypeError:  # cannot be referred to weakly, or not be hashed: it is then not shared
        return uuid.uuid4().hex
