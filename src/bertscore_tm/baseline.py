"""Rescaling: the score of unrelated texts becomes 0, that of identical ones stays 1.

    rescaled = (score - b) / (1 - b)      b: the mean of random pairs, by encoder, layer, language

The tables in ``baselines/`` are those of the paper's own package (Tiiiger/bert_score, MIT licence),
and one of our own for all-MiniLM-L6-v2 (its file ``PROVENANCE.md``).
A rescaled score may be negative: the pair is then less alike than two random sentences.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .checks import spelled, spelled_open
from .errors import InvalidTypeError, InvalidValueError, file_errors
from .names import table_name
from .references import EMPTY

_TABLES = Path(__file__).parent / "baselines"
_HEADER = ["LAYER", "P", "R", "F"]


class Baseline:
    """Baseline values of one encoder and language.

    Attributes:
        values: precision, recall and F1 of every layer from 0, float64 ``[depth + 1, 3]``.
        name: what the signature calls it.
    """

    def __init__(self, values: Sequence[Sequence[float]] | Tensor, name: str | None = None) -> None:
        """Take values as they are.

        Args:
            values: for every layer from 0 (the embedding output) precision, recall and F1 of
                unrelated texts.
            name: what the signature calls it; None: "own", with a digest of the values.

        Raises:
            InvalidTypeError: if they are no numbers.
            InvalidValueError: if there are not three values a layer, or one is not finite or not
                below 1.
        """
        try:
            self.values = (
                torch.as_tensor(values, dtype=torch.float64, device="cpu").detach().clone()
            )
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            kind = InvalidTypeError if isinstance(error, TypeError) else InvalidValueError
            reason = str(error).partition("\n")[0]
            raise kind(
                f"got {type(values).__name__} as baseline ({reason}); wanted numbers, [layers, 3] "
                "for P, R and F"
            ) from error
        if self.values.ndim != 2 or self.values.shape[0] < 1 or self.values.shape[1] != 3:
            raise InvalidValueError(
                f"got a baseline of shape {list(self.values.shape)}; wanted "
                "[layers, 3] for P, R and F"
            )
        if not bool((torch.isfinite(self.values) & (self.values < 1)).all()):
            raise InvalidValueError(
                "got a baseline with a value that is not finite or not below 1; wanted mean scores"
            )
        self.name = f"own@{self.digest}" if name is None else name

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """Read a table in the format of the paper's package.

        Args:
            path: a text file: the header ``LAYER,P,R,F``, then a line for each layer from 0,
                separated by commas.

        Raises:
            TextFileError: if the file cannot be read.
            InvalidTypeError: if ``path`` is no path.
            InvalidValueError: if it has another format; the message names the line.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidTypeError(
                f"got {type(path).__name__} as the file of a baseline; wanted its path"
            )
        try:
            with file_errors(path):
                text = Path(path).read_bytes().decode("utf-8-sig")
        except ValueError as error:  # of a path, too: one with a NUL
            raise InvalidValueError(
                f"baseline {str(path)!r} is not UTF-8 text ({error}); wanted lines of LAYER,P,R,F"
            ) from error
        rows = [
            [cell.strip().strip('"') for cell in line.split(",")]
            for line in text.splitlines()
            if line
        ]
        if not rows or [cell.upper() for cell in rows[0]] != _HEADER:
            got = ",".join(rows[0])[:80] if rows else "an empty file"
            raise InvalidValueError(
                f"baseline {str(path)!r} begins with {got!r}; wanted the header LAYER,P,R,F"
            )
        values = [_row(str(path), layer, row) for layer, row in enumerate(rows[1:])]
        if not values:
            raise InvalidValueError(
                f"baseline {str(path)!r} has no lines after its header; wanted "
                "one for each layer from 0"
            )
        table = cls(values)
        table.name = f"{Path(path).name}@{table.digest}"
        return table

    def save(self, path: str | Path) -> None:
        """Write the table in the format that `load` reads."""
        with file_errors(path):
            Path(path).write_text(self.to_csv(), encoding="utf-8")

    def to_csv(self) -> str:
        """The text of the table: the header ``LAYER,P,R,F``, then a line for each layer."""
        rows = [[layer, *row] for layer, row in enumerate(self.values.tolist())]
        return "".join(",".join(map(str, row)) + "\n" for row in [_HEADER, *rows])

    @property
    def digest(self) -> str:
        """Eight hex digits that change with any value."""
        return hashlib.sha256(repr(self.values.tolist()).encode()).hexdigest()[:8]

    @classmethod
    def packaged(cls, model: str, lang: str) -> Baseline | None:
        """The packaged table for an encoder (hub name) and a language code, or None."""
        path = _TABLES / lang / f"{model}.tsv"
        inside = (
            not any(part in ("", ".", "..") for part in f"{lang}/{model}".split("/"))
            and "\\" not in model
        )
        known = inside and os.path.isfile(path)  # pathlib raises where a name is too long
        return cls(cls.load(path).values, f"{lang}/{model}") if known else None

    def rescale(self, scores: Tensor, layers: Sequence[int]) -> Tensor:
        """Rescale scores; empty rows stay empty.

        Args:
            scores: precision, recall and F1, ``[samples, layers, 3]``.
            layers: which layers these are.

        Raises:
            InvalidValueError: if the table lacks a layer.
        """
        self.check(layers)
        b = self.values[list(layers)].to(scores.device, scores.dtype)  # [layers, 3]
        return torch.where(scores == EMPTY, scores, (scores - b) / (1 - b))

    def check(self, layers: Sequence[int]) -> None:
        """Raise InvalidValueError if the table lacks one of the layers."""
        top = len(self.values) - 1
        for layer in layers:
            if layer > top:
                raise InvalidValueError(
                    f"baseline {self.name!r} has no layer {layer}; it holds layers 0 to {top}"
                )


def _row(path: str, layer: int, row: list[str]) -> list[float]:
    try:
        if len(row) != 4 or float(row[0]) != layer:
            raise ValueError
        values = [float(cell) for cell in row[1:]]
        if not all(math.isfinite(value) and value < 1 for value in values):
            raise ValueError
    except ValueError:
        got = ",".join(row)[:80]
        raise InvalidValueError(
            f"baseline {path!r}, line {layer + 2}: got {got!r}; wanted layer {layer} and three "
            "finite numbers below 1"
        ) from None
    return values


def choose_baseline(rescale: Any, path: Any, encoder: str, lang: str | None) -> Baseline | None:
    """The baseline that the settings mean: given, read from a file, packaged, or none.

    Args:
        rescale: the setting ``rescale_with_baseline``.
        path: the setting ``baseline_path``.
        encoder: name of the encoder.
        lang: the language, as the tables spell it.

    Raises:
        InvalidTypeError: if it is none.
        InvalidValueError: if the two settings do not fit, or there is no packaged one.
        TextFileError: if the file cannot be read.
    """
    if isinstance(rescale, Baseline):
        if path is not None:
            raise InvalidValueError("got a Baseline and a baseline_path; wanted one of them")
        return rescale
    if not isinstance(rescale, bool):
        said = spelled("rescale_with_baseline", rescale)
        raise InvalidTypeError(f"got {said}; wanted True, False or a Baseline")
    if not rescale:
        if path is not None:
            raise InvalidValueError(
                f"got {spelled('baseline_path')} without {spelled('rescale_with_baseline', True)}; "
                "wanted both, or neither for raw scores"
            )
        return None
    if path is not None:
        return path if isinstance(path, Baseline) else Baseline.load(path)
    found = Baseline.packaged(table_name(encoder), lang) if lang is not None else None
    if found is None:
        given, file = spelled_open("lang").strip(), spelled_open("baseline_path").strip()
        table = spelled_open("rescale_with_baseline").strip()
        language = f"language {lang!r}" if lang is not None else "no language (lang is not given)"
        raise InvalidValueError(
            f"there is no packaged baseline for encoder {encoder!r} and {language}; wanted {given} "
            f"and an encoder with a table, {file} a file with the header LAYER,P,R,F and a line "
            f"for each layer, or {table} a Baseline (compute one from unrelated texts: "
            "Baseline.fit(texts, encoder), or bertscore-tm baseline)"
        )
    return found
