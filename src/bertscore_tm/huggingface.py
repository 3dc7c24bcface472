"""`HuggingFaceEncoder`: an encoder of transformers, by name, from a folder, or a custom model."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from typing import Any, SupportsIndex

from torch import Tensor, nn

from .encoder import Encoder, Tokens
from .errors import InvalidTypeError, InvalidValueError
from .layers import choose_layers
from .loading import load_tokenizer
from .names import Source, tuned_layer
from .places import find_place
from .pretrained import CustomModel, NamedModel
from .settings import ABOUT
from .spans import Span
from .tokenizing import Tokenizer


class HuggingFaceEncoder(Encoder):
    """A transformers encoder, the encoder half of an encoder-decoder, or a decoder-only model.

    Configuration and tokenizer are read at once, so that a wrong name fails here; the weights with
    the first text. They are loaded once in a process and on each device, and shared by reference.
    Attributes as of `Encoder`.
    """

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str] | nn.Module,
        tokenizer: Any = None,
        num_layers: SupportsIndex | Sequence[int] | str | None = None,
        *,
        max_length: int | None = None,
        overflow: str = "truncate",
        dtype: str = "float32",
        compile: bool = False,  # noqa: A002 - named like the setting
        revision: str | None = None,
        safetensors_only: bool = True,
    ) -> None:
        """Find the encoder and read its configuration and tokenizer.

        Args:
            model_name_or_path: a hub name, alone or as ``name@revision``, a folder, the alias
                "minilm", or a custom transformers model, which keeps its mode, its device and its
                dtype.
            tokenizer: a custom tokenizer, or the name of one (``name@revision``); None:
                that of the model. A custom model needs one.
            num_layers: the hidden states to use, see `BERTScore`; None: the tuned layer, else two
                thirds of the depth.
            max_length: tokens that a text may have, special ones included; never above what the
                model allows.
            overflow: what happens to longer texts: "truncate", "window" (overlapping passes) or
                "error".
            dtype: of the weights: "float32", "bfloat16" or "float16".
            compile: run through `torch.compile`.
            revision: of the hub model: a branch, a tag or a commit.
            safetensors_only: refuse weights in PyTorch's old format, a pickle (``*.bin``); False:
                trust them.

        Raises:
            EncoderLoadError: if a hub model cannot be loaded.
            EncoderNotFoundError: if a folder was named that does not exist or holds no weights.
            InvalidTypeError: if an argument has the wrong type.
            InvalidValueError: if an option or a layer does not exist.
        """
        for name, value in (("dtype", dtype), ("overflow", overflow)):
            ABOUT[name].check(name, value)
        self._model: NamedModel | CustomModel
        if isinstance(model_name_or_path, nn.Module):
            if tokenizer is None:
                raise InvalidValueError(
                    "got a custom model without a tokenizer; wanted "
                    "HuggingFaceEncoder(model, tokenizer)"
                )
            self._model = CustomModel(model_name_or_path)
            if dtype != "float32" or compile or revision is not None:
                raise InvalidValueError(
                    "got dtype, compile or revision beside a custom model, which is run as it is; "
                    "wanted none of them"
                )
        else:
            source, revision = find_place(model_name_or_path, revision)
            self._model = NamedModel(source, revision, dtype, compile, safetensors_only)
        self.name, self.version = self._model.name, self._model.version
        self.dtype = self._model.dtype
        self.depth, self.overflow = self._model.depth, overflow
        tuned = tuned_layer(self.name)
        self._layers = choose_layers(num_layers, self.depth, tuned, self.name)
        self.layer_is_guessed = num_layers is None and tuned is None
        self._set_tokenizer(tokenizer, max_length)
        key = (self._model.identity, self.tokenizer_id, self.limit, overflow)
        self.sharing_key: tuple[object, ...] = key

    def _set_tokenizer(self, given: Any, max_length: int | None) -> None:
        self._limits = self._model.positions, max_length, self.overflow
        # A tokenizer of another repository has revisions of its own.
        revision = self._model.revision if given is None else None
        named = isinstance(given, (str, os.PathLike))
        place = self._model.source if given is None else None
        if named:
            place, revision = find_place(given, None)
        if place is None and not hasattr(given, "convert_ids_to_tokens"):
            raise InvalidTypeError(
                f"got {type(given).__name__} as tokenizer; wanted one of transformers, or its name"
            )
        self._tokenizer_place: tuple[Source | None, str | None] = (place, revision)
        raw, identity = (given, None) if place is None else load_tokenizer(place, revision)
        self._tokenizer: Tokenizer | None = Tokenizer(raw, *self._limits, identity)
        self.tokenizer_id, self.limit = self._tokenizer.identity, self._tokenizer.limit

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer with its limits; after unpickling it is loaded again.

        Raises:
            EncoderLoadError: if it cannot be loaded.
            InvalidValueError: if it is another one than before.
        """
        if self._tokenizer is None:
            place, revision = self._tokenizer_place
            assert place is not None  # a custom tokenizer is pickled
            raw, identity = load_tokenizer(place, revision)
            if identity != self.tokenizer_id:
                raise InvalidValueError(
                    f"encoder {self.name!r} was saved with tokenizer {self.tokenizer_id}, but "
                    f"{place.name!r} now has {identity}; wanted the same: make the encoder anew"
                )
            self._tokenizer = Tokenizer(raw, *self._limits, identity)
        return self._tokenizer

    @property
    def default_layers(self) -> tuple[int, ...]:
        """Those that were asked for; else the tuned one, or two thirds of the depth."""
        return self._layers

    @property
    def frozen(self) -> bool:
        """Whether a text always gets the same vectors; a custom model may be trained meanwhile."""
        return self._model.frozen

    @property
    def identity(self) -> str:
        """Name and version; of a folder the version alone: elsewhere it may be called otherwise."""
        source = self._model.source
        if source is None:  # its weights may change: `weights_digest` tells them
            return self.name
        return self.version if source.folder else super().identity

    def weights_digest(self) -> int:
        """A number for the weights of a custom model as they are now; 0 for one that was loaded."""
        return self._model.weights_digest()

    @property
    def location(self) -> str:
        """What ``from_pretrained`` of transformers takes: a hub name or the path of a folder.

        Raises:
            InvalidValueError: if the model was given as an object.
        """
        if self._model.source is None:
            raise InvalidValueError(
                "got an encoder that was made of a model, which has no place; wanted one of a name "
                "or a folder"
            )
        return self._model.source.location

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into tokens, in order.

        Raises:
            InvalidValueError: if a text is too long and ``overflow="error"``.
        """
        return self.tokenizer(texts)

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        """Hidden states ``[layers, texts, longest, dim]``; see `Encoder.hidden_states`."""
        return self._model.hidden_states(input_ids, attention_mask, layers)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What the vocabulary calls tokens, with its own marks such as ``##`` or ``Ġ``."""
        return self.tokenizer.pieces(ids)

    def spans(self, text: str) -> Sequence[Span | None]:
        """Where each token of a text stands in it; see `Encoder.spans`."""
        found = self.tokenizer.spans(text)
        return super().spans(text) if found is None else found

    def release(self) -> None:
        """Give back the weights, unless others use them; the next text loads them again."""
        self._model.release()

    def __deepcopy__(self, memo: dict[int, Any]) -> HuggingFaceEncoder:
        """Copies share the encoder."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Pickles carry names, not weights and vocabularies, unless these were given as objects."""
        named = self._tokenizer_place[0] is not None
        return {**self.__dict__, "_tokenizer": None if named else self._tokenizer}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A pickled custom model is a snapshot: nobody else's, least of all the live model's."""
        self.__dict__.update(state)
        if not self.frozen:
            self.sharing_key = (uuid.uuid4().hex, *self.sharing_key[1:])
