"""From texts to hidden states: what an encoder must offer, and how it is run.

Anything with the methods of `Encoder` can be scored with. `Embedder` runs it: distinct texts only, longest first, as many in
one pass as a budget of padded tokens allows, undisturbed by what the trainer has switched on, and each text gets its own
vectors back whatever the order.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from .cache import Cache


class Window(NamedTuple):
    """One pass over a part of a long text.

    Attributes:
        ids: token ids of the part, markers included.
        start: first of these whose vector is kept.
        stop: end of those whose vectors are kept.
    """

    ids: Sequence[int]
    start: int
    stop: int


@dataclass(frozen=True)
class Tokens:
    """A text as the encoder sees it.

    Attributes:
        ids: token ids, markers such as ``[CLS]`` included, padding not.
        words: for each of these, True if it counts and False if it is a marker (weight 0).
        windows: the passes that together give a vector to each id, in order; empty: one pass over ``ids``.
        lost: tokens that were cut off because the text is longer than the encoder allows.
        unknown: words among ``ids`` that the vocabulary does not have.
        literal: whether the text itself spells out a marker.
    """

    ids: Sequence[int]
    words: Sequence[bool]
    windows: tuple[Window, ...] = ()
    lost: int = 0
    unknown: int = 0
    literal: bool = False


@runtime_checkable
class Encoder(Protocol):
    """What BERTScore needs of an encoder. `HuggingFaceEncoder` is one; an own object with these members is another.

    Attributes:
        name: what the signature calls it.
        version: what tells two encoders of one name apart, not empty: a revision, a hash of the weights, "1".
        tokenizer_id: what tells two tokenizers apart.
        depth: the highest hidden state; there are ``depth + 1``, 0 being the embedding output.
        default_layers: the hidden states that are used if nobody asks for others.

    Further members are used where an encoder has them: ``frozen``, whether a text always gets the same vectors, so that they may
    be kept for later updates (without it: True, unless the object is a `torch.nn.Module`); ``dtype``, ``limit`` and ``overflow``,
    as those of `HuggingFaceEncoder`, for signature and warnings; ``sharing_key``, equal for encoders that give equal vectors.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def version(self) -> str: ...  # noqa: D102

    @property
    def tokenizer_id(self) -> str: ...  # noqa: D102

    @property
    def depth(self) -> int: ...  # noqa: D102

    @property
    def default_layers(self) -> tuple[int, ...]: ...  # noqa: D102

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into tokens, in order."""
        ...

    def hidden_states(self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]) -> Tensor:
        """Encode a padded batch on the device of its arguments, without dropout.

        Args:
            input_ids: int64 ``[texts, longest]``; padding stands on the right and has the id 0.
            attention_mask: 1 for tokens, 0 for padding, int64 ``[texts, longest]``.
            layers: the hidden states wanted.

        Returns:
            Hidden states, ``[layers, texts, longest, dim]``.
        """
        ...


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


_Pass = tuple[int, int, Window]  # text, window, ids


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
        self._batch_tokens = batch_tokens
        self._key: tuple[object, ...] = ()

    def __deepcopy__(self, memo: dict[int, object]) -> Embedder:
        """Copies are the same object."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles carry the parts; where this object still lives, they lead back to it."""
        return shared_embedder, (self.encoder, self.layers, self._batch_tokens, self.cache.budget, self._key)

    def tokenize(self, texts: Sequence[str]) -> list[Embedding]:
        """Split distinct texts into tokens; those in the cache come with their vectors."""
        known = [self.cache.get(text) if self.cache.budget else None for text in texts]
        new = iter(self._tokens([text for text, found in zip(texts, known) if found is None]))
        return [Embedding(text, next(new)) if found is None else found for text, found in zip(texts, known)]

    def vectors(self, texts: Sequence[Embedding], device: torch.device) -> Iterator[tuple[Embedding, Tensor]]:
        """Encode texts, in an order that suits the encoder.

        Yields:
            Each text that has tokens, and its hidden states on the device, ``[layers, tokens, dim]``.
        """
        todo = []
        for text in texts:
            vectors = text.vectors
            if vectors is None and self.cache.budget and (found := self.cache.get(text.text)):
                vectors = found.vectors  # an earlier chunk of the same update has encoded it
            if vectors is not None:
                yield text, vectors.to(device)
            elif len(text.tokens.ids):
                todo.append(text)
        passes = [(i, j, window) for i, text in enumerate(todo) for j, window in enumerate(text.passes)]
        parts: list[dict[int, Tensor]] = [{} for _ in todo]
        for batch in self._batches(passes, device):
            for (i, j, window), hidden in zip(batch, self._run([window.ids for *_, window in batch], device)):
                parts[i][j] = hidden[:, window.start : window.stop]
                if len(parts[i]) == len(todo[i].passes):
                    yield todo[i], self._keep(todo[i], [part for _, part in sorted(parts[i].items())])
                    parts[i] = {}

    def forward(self, texts: Sequence[Embedding], device: torch.device) -> list[tuple[Embedding, Tensor]]:
        """`vectors` as a list: what torchmetrics' FeatureShare looks for in something that is shared."""
        return list(self.vectors(texts, device))

    def _batches(self, passes: list[_Pass], device: torch.device) -> Iterator[list[_Pass]]:
        """Cut the passes, longest first, where the next one would exceed the budget, or padding would cost more than a pass.

        Measured with MiniLM on a CPU: a pass more costs about as much as 64 tokens of padding, a 32nd of the budget.
        """
        budget = self._batch_tokens or (2_048 if device.type == "cpu" else 32_768)
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
        hidden = self.encoder.hidden_states(padded.to(device), mask.long().to(device), self.layers)
        if hidden.ndim != 4 or hidden.shape[:3] != (len(self.layers), *mask.shape):
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

    def _keep(self, text: Embedding, parts: list[Tensor]) -> Tensor:
        vectors = parts[0] if len(parts) == 1 else torch.cat(parts, 1)
        size = vectors.numel() * vectors.element_size()
        if size <= self.cache.budget:
            self.cache.put(text.text, Embedding(text.text, text.tokens, vectors.to("cpu", copy=True)), size)
        return vectors


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
