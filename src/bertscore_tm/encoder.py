"""What an encoder must offer: anything with the methods of `Encoder` can be scored with. `Embedder` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor


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
    as those of `HuggingFaceEncoder`, for signature and warnings; ``sharing_key``, equal for encoders that give equal vectors;
    ``release``, a method that gives back memory.
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
