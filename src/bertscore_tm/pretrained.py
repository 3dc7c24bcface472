"""Models that give hidden states: one that is loaded by name, and one that the user made.

A loaded model is shared by all who name it, on each device, and stays for whoever comes next: the
last two are kept until `drop_kept_models`. A custom model is run as it is.
"""

from __future__ import annotations

import re
import uuid
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from . import diagnosis, weights
from .checks import spelled
from .errors import EncoderLoadError, InvalidTypeError, InvalidValueError
from .guard import has_products_in, undisturbed
from .halves import device_of, encoder_half, table_of_positions
from .layers import config_depth
from .loading import (
    blank_model,
    hub_files,
    load_config,
    load_model,
    loaded_commit,
    loading_lock,
)
from .machine import lacks_units
from .names import Source
from .padding import Mixing
from .places import check_folder, check_repository, encoder_folder
from .reading import LayerReader
from .tokenizing import position_limit

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

# Weights that are in use are shared by all who name them; the last two stay for whoever comes next.
_loaded: weakref.WeakValueDictionary[tuple[str, ...], LayerReader] = weakref.WeakValueDictionary()
_kept: deque[LayerReader] = deque(maxlen=2)


def drop_kept_models() -> None:
    """Forget the weights that nobody uses any more."""
    with loading_lock:
        _kept.clear()


class NamedModel:
    """A model of the hub or of a folder; its weights are loaded with the first text.

    Attributes:
        name: what the signature calls it.
        config: its configuration.
        depth: the highest hidden state.
        positions: tokens that it has positions for; None: any number.
        dtype: of the weights.
        version: the commit on the hub, or a hash of the weights in the folder.
        source: where it comes from; None: from the user.
        revision: the one that was asked for.
        identity: equal for models with the same weights that are run alike.
    """

    frozen = True

    def __init__(
        self,
        source: Source,
        revision: str | None,
        dtype: str,
        compile: bool,  # noqa: A002 - named like the setting
        safetensors_only: bool,
    ) -> None:
        """Read the configuration, so that a wrong name fails here.

        Raises:
            EncoderLoadError: if there is none, or no weights that may be loaded.
            InvalidValueError: if a revision is given for a folder.
        """
        if revision is not None and source.folder:
            raise InvalidValueError(
                f"got {spelled('revision', revision)} for {source.name!r}, which is read from the "
                f"folder {source.location!r} and has no revisions; wanted none, or another model"
            )
        if source.folder:
            source = encoder_folder(source)
        self.source, self.name, self.dtype = source, source.name, dtype
        self.revision, self._compile, self._safetensors_only = revision, compile, safetensors_only
        self._pinned = revision
        self.config = load_config(source, revision)
        self.depth, self.positions = self._depth_and_positions()
        self.version = self._find_version()
        # With the revision and the trust in pickles: given once, it holds for nobody else.
        how = str(revision), dtype, str(compile), str(safetensors_only)
        self.identity = (source.location, self.version, *how)
        self._reader: LayerReader | None = None
        self._key: tuple[str, ...] = ()

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        """See `Encoder.hidden_states`."""
        with undisturbed(input_ids.device):
            return self._weights(input_ids.device)(input_ids, attention_mask, layers)

    def weights_digest(self) -> int:
        """They never change."""
        return 0

    def release(self) -> None:
        """Give back the memory of the weights, unless others use them."""
        with loading_lock:
            if self._reader is not None and self._reader in _kept:
                _kept.remove(self._reader)
            self._reader, self._key = None, ()

    def __getstate__(self) -> dict[str, Any]:
        """Pickles carry the name, not the weights."""
        return {**self.__dict__, "_reader": None, "_key": (), "config": None}

    def _weights(self, device: torch.device) -> LayerReader:
        """The loaded model on a device, from whoever has it or from disk."""
        key = (*self.identity, str(device))
        with loading_lock:
            if self._reader is not None and self._key == key:
                return self._reader
            reader = _loaded.get(key)
            if reader is None:
                reader = self._load(device)
                _loaded[key] = reader
            if reader not in _kept:
                _kept.append(reader)
            self._reader, self._key = reader, key
            return reader

    def _load(self, device: torch.device) -> LayerReader:
        if device.type == "cpu" and lacks_units(self.dtype):
            diagnosis.warn_of_units(self.dtype)
        whole, missing = load_model(self.source, self._pinned, self._safetensors_only)
        if self.source.folder and self._find_version() != self.version:
            raise EncoderLoadError(
                f"the weights in the encoder folder {self.name!r} are not those that were there "
                f"when the encoder was made (version {self.version}); wanted a new metric or "
                "encoder for them"
            )
        half = encoder_half(whole)
        weights.check_complete(whole, half, missing, self.name)
        reader = self._lowered(half.eval().requires_grad_(False), device)
        reader.drop_pooler()
        reader.check_depth(self.depth, reader.depth())
        return reader

    def _lowered(self, model: nn.Module, device: torch.device) -> LayerReader:
        """The model in its dtype, in place; of 16 bits in its linear layers only, if that runs."""
        dtype = _DTYPES[self.dtype]
        made = partial(LayerReader, name=self.name, compiled=self._compile)
        if dtype != torch.float32 and has_products_in(dtype, device):
            for module in model.to(torch.float32).modules():
                if isinstance(module, nn.Linear):
                    module.to(dtype)
            reader = made(model.to(device), products=dtype)
            # DeBERTa masks with the least float32, which is none of 16 bits.
            with suppress(InvalidValueError):
                reader.depth()
                return reader
        return made(model.to(device=device, dtype=dtype))

    def _depth_and_positions(self) -> tuple[int, int | None]:
        """As the configuration says; where it does not, a model without numbers is made of it."""
        positions = position_limit(self.config)
        try:
            depth = config_depth(self.config, self.name)
            if positions is not None or hasattr(self.config, "relative_attention_num_buckets"):
                return depth, positions
            blank = blank_model(self.config)
        except InvalidValueError:
            blank = blank_model(self.config)
            if blank is None:
                raise
            depth = config_depth(self.config, self.name, encoder_half(blank))
        if positions is None and blank is not None:
            positions = table_of_positions(encoder_half(blank))
        return depth, positions

    def _find_version(self) -> str:
        if self.source.folder:
            check_folder(self.source, self._safetensors_only)
            return str(weights.folder_digest(Path(self.source.location)))
        commit = loaded_commit(self.source, self.revision, self.config)
        files = hub_files(self.source, self.revision, commit)
        if files is not None:
            check_repository(self.name, files, self._safetensors_only)
            if commit is not None and re.fullmatch("[0-9a-f]{40}", commit):
                # The branch may move before the weights are loaded; the version shall not lie.
                self._pinned = commit
        return str(commit or self.revision or "unknown")[:12]


class CustomModel:
    """A transformers model that the user made; it keeps its mode, its device and its dtype.

    Attributes: as of `NamedModel`.
    """

    source = revision = None
    frozen = False  # it may be trained or changed meanwhile

    def __init__(self, model: nn.Module) -> None:
        """Take a model.

        Raises:
            InvalidTypeError: if it is none of transformers.
            InvalidValueError: if it holds no numbers, or does not say how deep it is.
        """
        model = getattr(model, "_orig_mod", model)  # of torch.compile
        if not hasattr(model, "config") or not hasattr(model, "get_input_embeddings"):
            raise InvalidTypeError(
                f"got {type(model).__name__} as custom model; wanted a model of transformers"
            )
        tensor = next(chain(model.parameters(), model.buffers()), None)
        if tensor is not None and tensor.is_meta:
            raise InvalidValueError(
                f"got a {type(model).__name__} on the meta device, which holds no numbers, as "
                "custom model; wanted one with its weights: make the encoder after they are loaded"
            )
        self._model, self.config = model, model.config
        self.name = f"custom:{type(model).__name__}"
        half = encoder_half(model)
        self.depth = config_depth(self.config, self.name, half)
        self.positions = position_limit(self.config) or table_of_positions(half)
        self.dtype = "own" if tensor is None else str(tensor.dtype).removeprefix("torch.")
        self.version = self._current_version()
        self.identity = (uuid.uuid4().hex,)
        self._mixing: Mixing | None = None

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        """See `Encoder.hidden_states`."""
        device = device_of(self._model)
        # Another thread must not take our eval mode for the model's own.
        with loading_lock, _left_alone(self._model), undisturbed(device):
            half = encoder_half(self._model)
            reader = LayerReader(half, self.name, trim=False, mixing=self._mixing)
            states = reader(input_ids.to(device), attention_mask.to(device), layers)
            self._mixing = reader.mixing
            return states.to(input_ids.device)

    def weights_digest(self) -> int:
        """As they are now."""
        return 1 + int(self._current_version(), 16)

    def _current_version(self) -> str:
        # A head plays no part.
        model = getattr(self._model, "base_model", self._model)
        return weights.model_digest(encoder_half(model))

    def release(self) -> None:
        """Nothing is ours."""


@contextmanager
def _left_alone(model: nn.Module) -> Iterator[None]:
    """Eval mode within; afterwards the modes of before, and none of the hooks of transformers.

    transformers puts hooks on a model when it is first asked for hidden states. They cannot be
    pickled, and nor can the model with them. Of a compiled model they stay: it knows them.
    """
    mark = "_output_capturing_hooks_installed"
    modules = list(model.modules())
    modes = [module.training for module in modules]
    compiled = any(module._compiled_call_impl is not None for module in modules)
    hooked = [] if compiled else [m for m in modules if not getattr(m, mark, False)]
    hooks = [dict(module._forward_hooks) for module in hooked]
    model.eval()
    try:
        yield
    finally:
        for module, mode in zip(modules, modes):
            module.training = mode
        for module, before in zip(hooked, hooks):
            if len(module._forward_hooks) != len(before):
                module._forward_hooks.clear()
                module._forward_hooks.update(before)
            module.__dict__.pop(mark, None)
