"""The way from two lists of texts to scores, and the settings that shape it. Holds no results.

    texts -> pairs -> tokens -> embeddings -> best match per token -> weights -> P, R, F1 per sample -> answer

`Scorer.match` goes as far as the best matches and needs the encoder; what comes after is arithmetic on packed vectors.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from . import diagnosis, languages, scoring, signature
from ._version import __version__
from .arguments import choose_baseline, choose_encoder, choose_table, finite
from .baseline import Baseline
from .cache import parse_bytes
from .diagnosis import COUNTS
from .embedder import shared_embedder
from .encoder import Encoder
from .idf import IdfTable
from .pairs import Matched, Rows, match_rows


class Scorer:
    """Settings and encoder. Copies are the same object."""

    def __init__(
        self,
        model_name_or_path: Any = None,
        num_layers: int | Sequence[int] | str | None = None,
        *,
        lang: str | None = None,
        idf: bool | IdfTable | Mapping[int, float] = False,
        rescale_with_baseline: bool | Baseline = False,
        baseline_path: str | os.PathLike[str] | None = None,
        match_special_tokens: bool = True,
        multi_reference: str = "max",
        overflow: str = "truncate",
        max_length: int | None = None,
        empty_score: float = 0.0,
        dtype: str = "float32",
        batch_tokens: int | None = None,
        compile: bool = False,  # noqa: A002 - the name that the design of the interface gives
        embedding_cache: int | str = "512MB",
        verbose: bool = False,
    ) -> None:
        """Check all settings and find the encoder; arguments as in `BERTScore`."""
        self.lang = None if lang is None else languages.language_code(lang)
        for name, value in (("match_special_tokens", match_special_tokens), ("compile", compile), ("verbose", verbose)):
            if not isinstance(value, bool):
                raise TypeError(f"got {name}={value!r}; wanted True or False")
        if not isinstance(multi_reference, str) or multi_reference not in ("max", "best_f1", "mean"):
            raise ValueError(f"got multi_reference={multi_reference!r}; wanted 'max', 'best_f1' or 'mean'")
        self.match_special_tokens, self.multi_reference, self.verbose = match_special_tokens, multi_reference, verbose
        self.empty_score = finite("empty_score", empty_score)
        if batch_tokens is not None and (
            isinstance(batch_tokens, bool) or not isinstance(batch_tokens, Integral) or batch_tokens < 1
        ):
            raise ValueError(f"got batch_tokens={batch_tokens!r}; wanted a positive number of tokens or None")
        cache_bytes = parse_bytes(embedding_cache)
        encoder, layers = choose_encoder(model_name_or_path, num_layers, self.lang, max_length, overflow, dtype, compile)
        self.epoch_idf = idf is True  # weights come from the references of the epoch, once all are known
        self.table = choose_table(idf, encoder)
        self.baseline = choose_baseline(rescale_with_baseline, baseline_path, encoder, self.lang)
        if self.baseline is not None:
            self.baseline.check(layers)
        # Of equal encoders the first is used by all; its name may be another (a folder instead of an alias).
        self.encoder_name = encoder.name
        self.embedder = shared_embedder(encoder, layers, batch_tokens, cache_bytes)
        self.layers = layers
        self.layer_is_default = num_layers is None and getattr(encoder, "layer_is_guessed", False)
        self._layer_noted = False

    @property
    def encoder(self) -> Encoder:
        """The encoder in use."""
        return self.embedder.encoder

    def __deepcopy__(self, memo: dict[int, Any]) -> Scorer:
        """Copies are the same object: no setting ever changes."""
        return self

    @property
    def tolerance(self) -> float:
        """By how much two encodings of one text may differ: its neighbours in the batch leave their trace in the last digits."""
        return 1e-4 if getattr(self.encoder, "dtype", None) == "float32" else 5e-2

    def _shape(self) -> dict[str, object]:
        """The settings that shape similarities and scores before rescaling, by name."""
        encoder = self.encoder
        return {
            "layers": ",".join(map(str, self.layers)) + ("(default)" if self.layer_is_default else ""),
            "tokenizer": encoder.tokenizer_id,
            "max_length": getattr(encoder, "limit", "own") or "any",
            "overflow": getattr(encoder, "overflow", "own"),
            "dtype": getattr(encoder, "dtype", "own"),
            "special_tokens": "matched" if self.match_special_tokens else "unmatched",
            "idf": "epoch" if self.epoch_idf else f"table@{self.table.digest}" if self.table else "no",
            "references": self.multi_reference,
        }

    def signature(self) -> str:
        """One line that identifies the run."""
        import transformers

        encoder = self.encoder
        return signature.line(
            {
                "encoder": "@".join(filter(None, [self.encoder_name, encoder.version])),
                **self._shape(),
                "baseline": "no" if self.baseline is None else self.baseline.name,
                "empty": f"{self.empty_score:g}",
                "bertscore_tm": __version__,
                "torch": torch.__version__,
                "transformers": transformers.__version__,
            }
        )

    def fingerprint(self) -> Tensor:
        """Integers that differ where states must not be mixed. The folder of the same weights may have another name elsewhere."""
        encoder = self.encoder
        shape = {**self._shape(), "layers": self.layers, "encoder": encoder.version or self.encoder_name}
        if self.epoch_idf:
            del shape["references"]  # these states are joined over references only in the end
        return signature.fingerprint(shape)

    def warn(self, facts: Mapping[str, int | float]) -> None:
        """One warning if something in the data, or a guessed layer, makes the scores mean less than they seem to."""
        note = None
        if self.layer_is_default and not self._layer_noted:
            self._layer_noted = True
            note = (
                f"nobody has measured which layer of {self.encoder_name!r} agrees best with people; layer {self.layers[0]}, "
                "two thirds of its depth, is used: set num_layers to choose"
            )
        diagnosis.warn(facts, self.empty_score, getattr(self.encoder, "limit", None), note)

    def match(self, rows: Rows, device: torch.device) -> Matched:
        """Encode and match rows; what comes after is arithmetic on packed vectors."""
        return match_rows(self.embedder, rows, device, self.match_special_tokens, self.verbose)

    def scores(self, matched: Matched, table: IdfTable | None) -> tuple[Tensor, Tensor]:
        """Scores of the rows before rescaling.

        Args:
            matched: the rows.
            table: weights of the words; None: all equal.

        Returns:
            float32 ``[rows, layers, 3]``, and what this adds to the counts.
        """
        scores, weightless = scoring.pair_scores(matched.matches, table or scoring.equal_weights)
        counts = torch.zeros_like(matched.counts)
        counts[COUNTS.index("weightless")] = weightless.sum()
        return scoring.over_references(scores, matched.references, self.multi_reference).float(), counts

    def finish(self, scores: Tensor) -> Tensor:
        """Rescale and fill empty rows: float32 ``[samples, layers, 3]``."""
        exact = scores.to(scoring.exact(scores.device))
        if self.baseline is not None:
            exact = self.baseline.rescale(exact, self.layers)
        return exact.masked_fill(scores == scoring.EMPTY, self.empty_score)

    def answer(self, scores: Tensor, score: str | None, reduction: str) -> Tensor | dict[str, Tensor]:
        """What the user sees.

        Args:
            scores: finished scores, ``[samples, layers, 3]``.
            score: "f1", "precision", "recall" or None for all.
            reduction: "mean" or "none".

        Returns:
            One scalar or vector, or a flat dict of them: "f1", "layer_5", "layer_5_f1".
        """
        values = (scores.mean(0, keepdim=True) if reduction == "mean" else scores).float()  # the mean of no samples is NaN
        answer = {}
        for i, layer in enumerate(self.layers):
            for j, name in enumerate(scoring.NAMES):
                if score in (None, name):
                    parts = ([f"layer_{layer}"] if len(self.layers) > 1 else []) + ([name] if score is None else [])
                    column = values[:, i, j]
                    answer["_".join(parts)] = column[0] if reduction == "mean" else column
        return answer[""] if list(answer) == [""] else answer
