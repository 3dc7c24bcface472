"""The way from two lists of texts to scores. Holds no results.

    texts -> pairs -> tokens -> embeddings -> best match per token -> weights -> P, R, F1 -> answer

`Pipeline.match` goes as far as the best matches and needs the encoder; what comes after is
arithmetic on packed vectors.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from . import diagnosis
from .checks import spelled
from .idf import DocumentFrequencies
from .machine import widest_float
from .pairs import Matched, match_rows
from .plan import Plan
from .references import EMPTY, SCORE_NAMES, over_references
from .rows import Rows
from .scoring import Weigh, score_pairs
from .weighting import checked_weights


class Pipeline(Plan):
    """The settings at work: each method is a stretch of the way."""

    _layer_noted = False

    def warn(self, facts: Mapping[str, int | float]) -> None:
        """One warning if data, or a guessed layer, make the scores mean less than they seem to."""
        note = None
        if self.layer_is_default and not self._layer_noted:
            self._layer_noted = True
            note = (
                f"nobody has measured which layer of {self.encoder_name!r} agrees best with "
                f"people; layer {self.layers[0]}, two thirds of its depth, is used: set "
                f"{spelled('num_layers')} to choose"
            )
        diagnosis.warn_of_data(facts, float(self.settings.empty_score), self.encoder.limit, note)

    def match(self, rows: Rows, device: torch.device) -> Matched:
        """Encode and match rows; what comes after is arithmetic on packed vectors."""
        return match_rows(self.lease, rows, device, self.rule, self.settings.verbose)

    forward = match  # what torchmetrics' FeatureShare looks for in something that is shared

    def weigh(self, frequencies: DocumentFrequencies | None = None) -> Weigh:
        """The weights of tokens; ``frequencies`` as in `score`."""
        if self.weights is None:
            return checked_weights(self.weighting, self.encoder, frequencies)
        return self.weights

    def score(
        self, matched: Matched, frequencies: DocumentFrequencies | None = None
    ) -> tuple[Tensor, Tensor]:
        """Scores of the rows before rescaling.

        Args:
            matched: the rows.
            frequencies: those of the epoch, for a weighting that needs them.

        Returns:
            float32 ``[rows, layers, 3]``, and the counts of the rows with what is weightless.
        """
        weigh, beta = self.weigh(frequencies), float(self.settings.beta)
        scores, weightless = score_pairs(matched.matches, weigh, beta)
        joined = over_references(scores, matched.references, self.settings.multi_reference)
        row = torch.arange(len(joined), device=joined.device)
        pair_row = row.repeat_interleave(matched.references.long())
        counts = matched.counts.clone()
        place = diagnosis.COUNTS.index("weightless")
        counts[:, place].index_add_(0, pair_row, weightless.to(counts.dtype))
        return joined.float(), counts

    def finish(self, scores: Tensor) -> Tensor:
        """Rescale and fill empty rows: ``[samples, layers, 3]``."""
        exact = scores.to(widest_float(scores.device))
        if self.baseline is not None:
            exact = self.baseline.rescale(exact, self.layers)
        return exact.masked_fill(scores == EMPTY, float(self.settings.empty_score))

    def answer(
        self, scores: Tensor, score: str | None, reduction: str
    ) -> Tensor | dict[str, Tensor]:
        """What the user sees.

        Args:
            scores: finished scores, ``[samples, layers, 3]``.
            score: "f1", "precision", "recall" or None for all.
            reduction: "mean" or "none".

        Returns:
            One scalar or vector, or a flat dict of them: "f1", "layer_5", "layer_5_f1".
        """
        mean = reduction == "mean"
        values = (scores.mean(0, keepdim=True) if mean else scores).float()  # NaN of no samples
        answer = {}
        for i, layer in enumerate(self.layers):
            for j, name in enumerate(SCORE_NAMES):
                if score in (None, name):
                    parts = [f"layer_{layer}"] if len(self.layers) > 1 else []
                    parts += [name] if score is None else []
                    column = values[:, i, j]
                    answer["_".join(parts)] = column[0] if mean else column
        return answer[""] if list(answer) == [""] else answer
