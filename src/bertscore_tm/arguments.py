"""From the arguments that users give to the objects that are worked with; each is checked here, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from inspect import signature
from numbers import Integral, Real
from typing import Any

import torch

from . import languages, names
from .baseline import Baseline
from .encoder import Encoder
from .idf import IdfTable
from .layers import choose_layers

# Arguments of torchmetrics' own BERTScore that have another name here, or no use.
_RENAMED = {
    "all_layers": "num_layers='all'",
    "model": "BERTScore(HuggingFaceEncoder(model, tokenizer))",
    "user_tokenizer": "BERTScore(HuggingFaceEncoder(model, tokenizer))",
    "user_forward_fn": "an object with the methods of bertscore_tm.Encoder",
    "batch_size": "batch_tokens, padded tokens in one pass",
    "device": "metric.to(device)",
    "return_hash": "metric.signature",
    "num_threads": "nothing: there are no worker processes",
    "truncation": "overflow='truncate'",
    "baseline_url": "baseline_path, a file",
    "model_type": "model_name_or_path",
    "nthreads": "nothing: there are no worker processes",
    "idf_sents": "idf=IdfTable.fit(texts, encoder)",
    "use_fast_tokenizer": "HuggingFaceEncoder(name, tokenizer)",
}
_MEMBERS = {str: "a text", Integral: "an integer", Iterable: "integers"}


def refuse_unknown(arguments: Mapping[str, object], taker: type, more: tuple[str, ...] = ()) -> None:
    """Raise TypeError for an argument that a class does not take, naming what takes its place or what was probably meant."""
    known = [name for name in signature(taker).parameters if name != "kwargs"] + list(more)
    for name in arguments:
        if name in _RENAMED:
            raise TypeError(f"got the argument {name!r} of another BERTScore; here this is {_RENAMED[name]}")
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"wanted some of {', '.join(known)}"
            raise TypeError(f"got the unknown argument {name!r}; {hint}")


def choose_encoder(
    model: Any, num_layers: Any, lang: str | None, max_length: int | None, overflow: str, dtype: str, compiled: bool
) -> tuple[Encoder, tuple[int, ...]]:
    """The encoder and the hidden states that are read; options of an encoder object are its own."""
    from .huggingface import HuggingFaceEncoder  # imports transformers: only when an encoder is needed

    if model is None:
        if lang is None:
            raise ValueError(
                "got neither an encoder nor a language; wanted model_name_or_path (a hub name, a folder, 'minilm') or lang "
                f"('en' chooses {languages.default_encoder('en')})"
            )
        model = languages.default_encoder(lang)
    if isinstance(model, torch.nn.Module) and not isinstance(model, Encoder):
        raise TypeError(
            f"got {type(model).__name__} as encoder; wanted HuggingFaceEncoder(model, tokenizer): it needs its tokenizer"
        )
    if isinstance(model, Encoder) and not isinstance(model, (str, type)):
        given = {"max_length": max_length is not None, "overflow": not _is(overflow, "truncate")}
        for option, is_given in {**given, "dtype": not _is(dtype, "float32"), "compile": compiled}.items():
            if is_given:
                raise ValueError(f"got {option} beside an encoder object; wanted it there: HuggingFaceEncoder(..., {option}=...)")
        _check_members(model)
        if num_layers is None:
            num_layers = tuple(model.default_layers)
        return model, choose_layers(num_layers, model.depth, None, model.name)
    encoder = HuggingFaceEncoder(model, None, num_layers, max_length=max_length, overflow=overflow, dtype=dtype, compile=compiled)
    return encoder, encoder.default_layers


def _is(value: object, default: str) -> bool:
    return isinstance(value, str) and value == default  # of an array == gives an array


def _check_members(encoder: Encoder) -> None:
    """Raise TypeError or ValueError if an own encoder does not say what it is."""
    for name, kind in (("name", str), ("version", str), ("tokenizer_id", str), ("depth", Integral), ("default_layers", Iterable)):
        value = getattr(encoder, name)
        if not isinstance(value, kind):
            raise TypeError(f"encoder {type(encoder).__name__} has {name}={value!r}; wanted {_MEMBERS[kind]}")
    if not encoder.version:
        raise ValueError(
            f"encoder {encoder.name!r} has an empty version; wanted one that tells it from others of this name, such as '1'"
        )


def choose_table(idf: Any, encoder: Encoder) -> IdfTable | None:
    """Token weights that are known beforehand, if there are any."""
    if isinstance(idf, bool):
        return None
    table = idf if isinstance(idf, IdfTable) else IdfTable(idf) if isinstance(idf, Mapping) else None
    if table is None:
        raise TypeError(f"got {type(idf).__name__} as idf; wanted True, False, an IdfTable or a mapping from token id to weight")
    if table.tokenizer not in (None, encoder.tokenizer_id):
        raise ValueError(
            f"got an idf table of tokenizer {table.tokenizer}, but encoder {encoder.name!r} has {encoder.tokenizer_id}; "
            "wanted a table fitted with the same tokenizer: IdfTable.fit(texts, encoder)"
        )
    return table


def choose_baseline(rescale: Any, path: Any, encoder: Encoder, lang: str | None) -> Baseline | None:
    """The baseline to rescale with, if that is wanted: given, read from a file, or packaged."""
    if isinstance(rescale, Baseline):
        if path is not None:
            raise ValueError("got a Baseline and a baseline_path; wanted one of them")
        return rescale
    if not isinstance(rescale, bool):
        raise TypeError(f"got rescale_with_baseline={rescale!r}; wanted True, False or a Baseline")
    if not rescale:
        if path is not None:
            raise ValueError("got baseline_path without rescale_with_baseline=True; wanted both, or neither for raw scores")
        return None
    if path is not None:
        return path if isinstance(path, Baseline) else Baseline.load(path)
    found = Baseline.packaged(names.table_name(encoder.name), lang) if lang is not None else None
    if found is None:
        language = f"language {lang!r}" if lang is not None else "no language (lang is not given)"
        raise ValueError(
            f"there is no packaged baseline for encoder {encoder.name!r} and {language}; wanted lang= and an encoder with a "
            "table, baseline_path= a file with the header LAYER,P,R,F and a line for each layer, or rescale_with_baseline= a "
            "Baseline (compute one: the mean scores of random, unrelated pairs with num_layers='all')"
        )
    return found


def finite(name: str, value: Any) -> float:
    """Check a number that is part of an answer, which is float32."""
    limit, is_number = torch.finfo(torch.float32).max, isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and -limit <= value <= limit):
        raise ValueError(f"got {name}={value!r}; wanted a finite number")
    return float(value)
