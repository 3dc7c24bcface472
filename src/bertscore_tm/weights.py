"""What tells two sets of weights of one name apart: a short hash, made without reading all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .errors import EncoderLoadError
from .places import ADAPTER, weight_files

_SAMPLE = 64  # bytes that are read at the beginning and the end of each tensor
_ORIGIN = {"_name_or_path", "transformers_version", "torch_dtype", "dtype"}
_SAMPLES = 1024  # places that are read of a file whose tensors cannot be told apart


def folder_digest(folder: Path) -> str | None:
    """Eight hex digits for the weights in a folder, or None if it holds none.

    The hash covers names, shapes and the first and last bytes of every tensor. Training changes all
    numbers of a tensor, so this finds other weights in the time that it takes to open a file. The
    configuration says how they are used and counts, too.
    """
    files = weight_files(folder)
    if not files:
        return None
    digest = hashlib.sha256()
    for file in files:
        _add_file(digest, file)
    digest.update(repr(_configuration(folder / "config.json")).encode())
    if (folder / ADAPTER).is_file():
        _add_adapter(digest, folder)
    return digest.hexdigest()[:8]


def check_complete(model: nn.Module, half: nn.Module, missing: Iterable[str], name: str) -> None:
    """Refuse weights that lack tensors that are used: random ones, in each process others.

    Args:
        model: what was loaded.
        half: the part of it that is run.
        missing: names of the tensors of ``model`` that were not in the file.
        name: what the message calls the encoder.

    Raises:
        EncoderLoadError: if there are such tensors.
    """
    used = {id(tensor) for key, tensor in half.named_parameters() if "pooler" not in key.split(".")}
    absent = set(missing)
    lacking = sorted(
        key for key, tensor in model.named_parameters() if key in absent and id(tensor) in used
    )
    if lacking:
        raise EncoderLoadError(
            f"the weights of encoder {name!r} lack {len(lacking)} of the tensors that its "
            "configuration asks for "
            f"({', '.join(lacking[:3])}{', ...' if len(lacking) > 3 else ''}), which would be "
            "random; wanted all: save the model "
            "again, or mend its config.json"
        )


def _configuration(file: Path) -> object:
    """What a configuration says, without what only tells of its origin."""
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        return sorted((key, repr(value)) for key, value in said.items() if key not in _ORIGIN)
    except (OSError, ValueError, AttributeError, RecursionError):
        return None  # loading will say what is wrong with it


def model_digest(model: nn.Module) -> str:
    """Eight hex digits for the weights of a model in memory.

    They cover names, shapes and the outer numbers of every tensor.

    A pooler, which no hidden state passes through, is left out: it is random, on each rank,
    where the checkpoint has none.
    """
    digest = hashlib.sha256()
    for name, value in model.state_dict().items():
        if "pooler" not in name.split("."):
            _add_value(digest, name, value)
    return digest.hexdigest()[:8]


def _add_value(digest: hashlib._Hash, name: str, value: Any) -> None:
    """A tensor, or what quantized and other modules keep beside: several, or no tensor at all."""
    if isinstance(value, (tuple, list)):
        for place, part in enumerate(value):
            _add_value(digest, f"{name}.{place}", part)
    elif not isinstance(value, torch.Tensor):
        digest.update(f"{name}{value!r}".encode())
    else:
        digest.update(f"{name}{tuple(value.shape)}".encode())
        plain = value.detach().dequantize() if value.is_quantized else value.detach()
        flat = (plain.to_dense() if plain.layout != torch.strided else plain).reshape(-1)
        outer = torch.cat([flat[:8], flat[-8:]]).to("cpu", torch.float32)
        digest.update(repr(outer.tolist()).encode())


def _add_adapter(digest: hashlib._Hash, folder: Path) -> None:
    """An adapter changes what the weights give; those it names are loaded instead of these."""
    said = _configuration(folder / ADAPTER)
    digest.update(repr(said).encode())
    for file in sorted([*folder.glob("adapter_*.safetensors"), *folder.glob("adapter_*.bin")]):
        _add_file(digest, file)
    base = str(json.loads((folder / ADAPTER).read_text()).get("base_model_name_or_path") or "")
    if base and os.path.isdir(base) and not (Path(base) / ADAPTER).is_file():
        digest.update(str(folder_digest(Path(base))).encode())


def _add_file(digest: hashlib._Hash, file: Path) -> None:
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        spans = [(size * i // _SAMPLES, size * (i + 1) // _SAMPLES) for i in range(_SAMPLES)]
        if file.suffix == ".safetensors" and 0 < length < min(size, 100_000_000):
            header = stream.read(length)
            digest.update(header)
            try:
                entries = json.loads(header)
                entries.pop("__metadata__", None)
                base = 8 + length
                offsets = (entry["data_offsets"] for entry in entries.values())
                found = [(base + int(start), base + int(stop)) for start, stop in offsets]
                fits = all(base <= start <= stop <= size for start, stop in found)
                spans = found if fits else spans
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                pass  # not our business here: loading will say what is wrong with it
        for start, stop in spans:
            for place in (start, max(start, stop - _SAMPLE)):
                stream.seek(place)
                digest.update(stream.read(min(_SAMPLE, stop - start)))
    digest.update(str(size).encode())
