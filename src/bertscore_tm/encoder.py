"""What an encoder is: the base class of all, and how it sees a text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

from torch import Tensor, nn

from .errors import InvalidTypeError, InvalidValueError
from .spans import Span, spans_by_letters


class Window(NamedTuple):
    """One pass over a part of a long text.

    Attributes:
        ids: token ids of the part, special tokens included.
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
        ids: token ids, special ones such as ``[CLS]`` included, padding not.
        token_mask: for each of these, True if it counts and False if it is a special token, whose
            weight is 0.
        windows: the passes that together give a vector to each id, in order; empty: one pass over
            ``ids``.
        lost: tokens that were cut off because the text is longer than the encoder allows.
        unknown: tokens among ``ids`` that the vocabulary does not have.
        literal: whether the text itself spells out a special token.
    """

    ids: Sequence[int]
    token_mask: Sequence[bool]
    windows: tuple[Window, ...] = ()
    lost: int = 0
    unknown: int = 0
    literal: bool = False

    @property
    def words(self) -> Sequence[bool]:
        """An older name of ``token_mask``."""
        return self.token_mask


class Encoder(ABC):
    """Anything that turns texts into hidden states. `HuggingFaceEncoder` is one.

    A subclass sets ``name``, ``version``, ``tokenizer_id`` and ``depth`` and has the two methods
    `tokenize` (`Tokenizer` has the rules of BERTScore for it) and `hidden_states`. All else has a
    default. ``examples/encoders`` shows one that is written out.

    Attributes:
        name: what the signature calls it.
        version: what tells two encoders of one name apart, not empty: a revision, a hash of the
            weights, "1".
        tokenizer_id: what tells two tokenizers apart.
        depth: the highest hidden state; there are ``depth + 1``, 0 being the embedding output.
        default_layers: the hidden states that are used if nobody asks for others.
        layer_is_guessed: whether nobody has measured that these agree well with people.
        frozen: whether a text always gets the same vectors, so that they may be kept for later.
        limit: tokens that a text may have, special ones included; None: any number.
        overflow: what happens to longer texts, for the signature.
        dtype: of the weights, for the signature.
        sharing_key: equal for encoders that give equal vectors: they share one pass and one cache.
            None: shared with nobody else.
    """

    name: str
    version: str
    tokenizer_id: str
    depth: int
    layer_is_guessed: bool = False
    limit: int | None = None
    overflow: str = "own"
    dtype: str = "own"
    sharing_key: tuple[object, ...] | None = None

    @property
    def default_layers(self) -> tuple[int, ...]:
        """Two thirds of the depth, where most encoders agree best with people."""
        return (round(self.depth * 2 / 3),)

    @property
    def frozen(self) -> bool:
        """True, unless the encoder is a module, which may be trained meanwhile."""
        return not isinstance(self, nn.Module)

    @property
    def identity(self) -> str:
        """What must be equal for states to be mixed: across processes, merged and saved metrics."""
        return f"{self.name}@{self.version}"

    def weights_digest(self) -> int:
        """A number that changes with the weights, where these may change; 0: they do not.

        What scored first since the last reset must be the same on all ranks, and is the version in
        the signature.
        """
        return 0

    @abstractmethod
    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into tokens, in order."""

    @abstractmethod
    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        """Encode a padded batch on the device of its arguments, without dropout.

        Args:
            input_ids: int64 ``[texts, longest]``; padding stands on the right and has the id 0.
            attention_mask: 1 for tokens, 0 for padding, int64 ``[texts, longest]``.
            layers: the hidden states wanted, in rising order.

        Returns:
            Hidden states, ``[layers, texts, longest, dim]``.
        """

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What the vocabulary calls tokens; where an encoder cannot say, their numbers."""
        return [str(i) for i in ids]

    def spans(self, text: str) -> Sequence[Span | None]:
        """Where each token of a text stands in it: start and end, in characters.

        None for tokens that stand nowhere, such as ``[CLS]``, or of which that is not known. By
        default they are looked for by their `pieces`.
        """
        (tokens,) = self.tokenize([text])
        pieces = self.pieces(tokens.ids)
        if pieces == [str(i) for i in tokens.ids]:  # these are no letters
            return [None] * len(pieces)
        counted = [i for i, counts in enumerate(tokens.token_mask) if counts]
        found = dict(zip(counted, spans_by_letters(text, [pieces[i] for i in counted])))
        return [found.get(i) for i in range(len(pieces))]

    def release(self) -> None:  # noqa: B027 - not every encoder holds something
        """Give back memory that the next text can take again."""


_WANTED = {str: "a text", Integral: "an integer", Iterable: "integers"}
_REQUIRED = ("name", "version", "tokenizer_id", "depth", "tokenize", "hidden_states")
_OPTIONAL: tuple[str, ...] = ("default_layers", "layer_is_guessed", "frozen", "identity", "limit")
_OPTIONAL += ("overflow", "dtype", "sharing_key", "pieces", "spans", "release", "weights_digest")


class _Adapted(Encoder):
    """An object with the members of `Encoder` that is no subclass; it gets the defaults."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __getattribute__(self, name: str) -> Any:
        if name in _REQUIRED or name in _OPTIONAL:
            given = object.__getattribute__(self, "given")
            if hasattr(given, name):
                return getattr(given, name)
            if name == "frozen":
                return not isinstance(given, nn.Module)
        return object.__getattribute__(self, name)

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        raise NotImplementedError

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        raise NotImplementedError


def is_encoder(thing: object) -> bool:
    """Whether something is an encoder, or has at least what one must have."""
    if isinstance(thing, (str, type)):
        return False
    return isinstance(thing, Encoder) or all(hasattr(thing, name) for name in _REQUIRED)


def as_encoder(thing: Any) -> Encoder:
    """An encoder object, checked; one that is no subclass of `Encoder` gets its defaults.

    Raises:
        InvalidTypeError: if a member is of the wrong type.
        InvalidValueError: if it has no version.
    """
    encoder = thing if isinstance(thing, Encoder) else _Adapted(thing)
    for kind, names in {
        str: ("name", "version", "tokenizer_id"),
        Integral: ("depth",),
        Iterable: ("default_layers",),
    }.items():
        for name in names:
            value = getattr(encoder, name, None)
            if not isinstance(value, kind):
                raise InvalidTypeError(
                    f"encoder {type(thing).__name__} has {name}={value!r}; wanted {_WANTED[kind]}"
                )
    if not encoder.version:
        raise InvalidValueError(
            f"encoder {encoder.name!r} has an empty version; wanted one that tells it from others "
            "of this name, such as '1'"
        )
    return encoder
