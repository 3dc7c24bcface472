"""What runs an encoder for all metrics of a process that use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from .batching import cut_batches, encode_batch, join_windows
from .encoder import Encoder, Tokens, Window

UNLIMITED = 1 << 62  # tokens or bytes
Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class KnownText:
    """What is kept of a text: its tokens, and some layers of its hidden states, in host memory."""

    tokens: Tokens
    layers: tuple[int, ...]
    vectors: Tensor  # [layers, tokens, dim]

    def select(self, layers: Sequence[int]) -> Tensor:
        """The vectors of some of its layers, ``[layers, tokens, dim]``."""
        return select_layers(self.vectors, self.layers, layers)


def select_layers(vectors: Tensor, has: Sequence[int], wanted: Sequence[int]) -> Tensor:
    """Layers of ``[layers, tokens, dim]``, without a copy where all or one is wanted."""
    if tuple(has) == tuple(wanted):
        return vectors
    places = [list(has).index(layer) for layer in wanted]
    return vectors[places[0] : places[0] + 1] if len(places) == 1 else vectors[places]


@dataclass(frozen=True)
class TokenizedText:
    """A text, its tokens and, if it was encoded before, what is kept of it."""

    text: str
    tokens: Tokens
    known: KnownText | None = None

    @property
    def passes(self) -> tuple[Window, ...]:
        """The passes through the encoder that this text needs."""
        return self.tokens.windows or (Window(self.tokens.ids, 0, len(self.tokens.ids)),)


class Engine:
    """What runs an encoder for all metrics that lease it.

    Attributes:
        encoder: the encoder.
        key: what tells it from the engines of other encoders.
        dim: width of the hidden states, once it has run.
        encoded_tokens: tokens that have gone through the encoder so far, padding not counted.
        cache_hits: texts that came from the cache.
    """

    def __init__(self, encoder: Encoder, key: Key) -> None:
        """Bind the parts; `leases.lease_encoder` gives one for equal encoders."""
        self.encoder, self.key = encoder, key
        self.dim: int | None = None
        self.encoded_tokens = self.cache_hits = 0
        # Padded tokens that fit into memory, and those of the largest pass of late.
        self.room = self.tried = UNLIMITED

    def encode(
        self,
        texts: Mapping[int, TokenizedText],
        layers: tuple[int, ...],
        device: torch.device,
        budget: int,
    ) -> dict[int, Tensor]:
        """Run texts in batches: to each key its hidden states, ``[layers, tokens, dim]``."""
        passes = [(key, i, w) for key, text in texts.items() for i, w in enumerate(text.passes)]
        parts: dict[tuple[int, int], Tensor] = {}
        self.tried = 0
        for batch in cut_batches(passes, budget):
            ids = [window.ids for *_, window in batch]
            self.tried = max(self.tried, len(ids) * max(map(len, ids)))
            hidden = encode_batch(self.encoder, ids, layers, device)
            for (key, i, window), vectors in zip(batch, hidden):
                parts[key, i] = vectors[:, window.start : window.stop]
                self.dim = vectors.shape[2]
            self.encoded_tokens += sum(map(len, ids))
        return join_windows(texts, parts)
