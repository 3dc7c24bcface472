"""Where an encoder lies: a name with its revision, and what folders and repositories hold.

What is almost an encoder is refused with what is missing and the way that works.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .checks import spelled
from .errors import EncoderLoadError, EncoderNotFoundError, InvalidValueError
from .names import Source, find_source

ADAPTER = "adapter_config.json"
_WANTED = "wanted a folder that save_pretrained wrote"
_SAVE_AGAIN = "load it there once with from_tf=True or from_flax=True of transformers 4 and save it"
# Weights that are not PyTorch's, and how they become so.
_FOREIGN = {
    "*.h5": f"TensorFlow's: {_SAVE_AGAIN}",
    "*.msgpack": f"Flax's: {_SAVE_AGAIN}",
    "*.gguf": "of llama.cpp: load it with AutoModel.from_pretrained(folder, gguf_file=...) and "
    "save it, or take the model that it was made of",
    "*.onnx": "of ONNX: take the model that it was made of",
    "global_step*": "shards of DeepSpeed: run the zero_to_fp32.py beside them",
    "*_fsdp_*": "shards of FSDP: run 'accelerate merge-weights'",
}


def find_place(name: Any, revision: str | None) -> tuple[Source, str | None]:
    """What a name means, and the revision, which may stand behind the name of a hub model.

    Args:
        name: an alias, a folder, a hub name or ``name@revision``.
        revision: the one that is given beside it, or None.

    Raises:
        EncoderNotFoundError: if it can only be a folder and there is none.
        InvalidTypeError: if it is no name at all.
        InvalidValueError: if it is empty, or two revisions are given.
    """
    if isinstance(name, str) and re.match(r"[\w-][\w.-]*(/[\w.-]+)?@", name):
        base, _, said = name.partition("@")
        if not os.path.isdir(name):
            if not said.strip():
                raise InvalidValueError(
                    f"got the encoder {name!r} without a revision behind its @; wanted a branch, a "
                    "tag or a commit there, or no @"
                )
            if revision not in (None, said):
                raise InvalidValueError(
                    f"got {spelled('revision', revision)} beside {name!r}; wanted one revision"
                )
            return find_source(base), said
    return find_source(name), revision


def encoder_folder(source: Source) -> Source:
    """The folder that holds the configuration: sentence-transformers keeps it in one below.

    Raises:
        EncoderLoadError: if there is none, and it can be seen what the folder is instead.
    """
    folder = Path(source.location)
    if (folder / "config.json").is_file():
        return source
    below = [path for path in folder.iterdir() if (path / "config.json").is_file()]
    for path in below:
        if path.name in (_first_module(folder), "0_Transformer"):
            return replace(source, location=str(path))
    said = f"the encoder folder {source.name!r} has no config.json"
    if below:
        # Of a trainer's checkpoints the last.
        last = max(below, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])
        raise EncoderLoadError(f"{said}, but {last.name!r} in it has; wanted that: {str(last)!r}")
    if (folder / ADAPTER).is_file():
        raise EncoderLoadError(
            f"{said}: it holds an adapter of peft ({ADAPTER}), which only changes another model; "
            "wanted the whole: AutoPeftModel.from_pretrained(folder).merge_and_unload(), and its "
            "save_pretrained together with that of the tokenizer, or HuggingFaceEncoder(model, "
            "tokenizer) with that model"
        )
    if foreign := _foreign(path.name for path in folder.iterdir()):
        raise EncoderLoadError(f"{said}, and weights that are {foreign}; {_WANTED}")
    raise EncoderLoadError(f"{said}; {_WANTED}")


def weight_files(folder: Path) -> list[Path]:
    """Files of weights, without those of adapters and of a trainer's own state."""
    found = [path for path in folder.glob("*.safetensors") if not path.name.startswith("adapter_")]
    return sorted(found) or sorted(folder.glob("pytorch_model*.bin"))


def check_folder(source: Source, safetensors_only: bool) -> None:
    """Refuse a folder whose weights cannot be loaded, before that is tried.

    Raises:
        EncoderLoadError: if they are pickles that nobody trusts, or an adapter lacks peft.
        EncoderNotFoundError: if there are none, or some are missing.
    """
    folder, said = Path(source.location), f"the encoder folder {source.name!r}"
    names = {path.name for path in folder.iterdir()}
    files = weight_files(folder)
    if not files:
        if ADAPTER in names:
            advice = f"; its adapter ({ADAPTER}) only changes weights: save the merged model"
        else:
            foreign = _foreign(names)
            advice = f"; those that it holds are {foreign}" if foreign else ""
        raise EncoderNotFoundError(
            f"{said} holds a configuration but no weights (no *.safetensors, no "
            f"pytorch_model*.bin); {_WANTED}{advice}"
        )
    for index in sorted(folder.glob("*.index.json")):
        absent = sorted(_shards(index) - names)
        if absent and (files[0].suffix in index.suffixes or not safetensors_only):
            raise EncoderNotFoundError(
                f"{said} lacks {len(absent)} of the files that {index.name} names "
                f"({', '.join(absent[:3])}{', ...' if len(absent) > 3 else ''}); wanted all: copy "
                "or download the folder again"
            )
    if safetensors_only and files[0].suffix == ".bin":
        raise EncoderLoadError(
            f"{said} holds its weights as a pickle (*.bin), which can run code when it is loaded; "
            "wanted *.safetensors: save the model again with a newer transformers, or, if you "
            f"trust the file, say {spelled('safetensors_only', False)}, of an encoder object "
            "HuggingFaceEncoder(folder, safetensors_only=False)"
        )
    _check_adapter(said, names)


def check_repository(name: str, files: frozenset[str], safetensors_only: bool) -> None:
    """As `check_folder`, of a model of the hub and the names of its files, or of those here.

    Raises:
        EncoderLoadError: if its weights are pickles that nobody trusts, or an adapter lacks peft.
        EncoderNotFoundError: if it has no weights.
    """
    said = f"encoder {name!r}"
    _check_adapter(said, files)
    if any(fnmatch(file, "*.safetensors") and not file.startswith("adapter_") for file in files):
        return
    if not any(fnmatch(file, "pytorch_model*.bin*") for file in files):
        foreign = _foreign(files)
        raise EncoderNotFoundError(
            f"{said} has a configuration but no weights of PyTorch on the model hub, or in its "
            "cache here where the hub is out of reach"
            + (f"; those that it has are {foreign}" if foreign else "")
            + "; wanted *.safetensors: download it while the network is there, or name another"
        )
    if safetensors_only:
        raise EncoderLoadError(
            f"{said} has its weights as a pickle only (pytorch_model*.bin), which can run code "
            "when it is loaded; wanted *.safetensors: a revision that has them (often "
            f"{spelled('revision', 'refs/pr/1')} or another pull request), or, if you trust the "
            f"file, {spelled('safetensors_only', False)}"
        )


def _check_adapter(said: str, names: Iterable[str]) -> None:
    if ADAPTER in names and find_spec("peft") is None:
        raise EncoderLoadError(
            f"{said} holds an adapter beside its weights ({ADAPTER}), and peft, which applies it, "
            "is not installed: without it the numbers would be others; wanted 'pip install peft', "
            "or a copy of the folder without adapter_*, or the merged model"
        )


def _first_module(folder: Path) -> str:
    """The folder of the transformer, as sentence-transformers notes it."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        return str(modules[0]["path"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""


def _shards(index: Path) -> set[str]:
    try:
        return {
            str(v) for v in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return set()  # loading will say what is wrong with it


def _foreign(names: Iterable[str]) -> str:
    found = sorted(names)
    said = (f"{n} ({what})" for pattern, what in _FOREIGN.items() for n in found
            if fnmatch(n, pattern))  # fmt: skip
    return next(said, "")
