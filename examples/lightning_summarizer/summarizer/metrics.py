"""The metrics beside `val_bertscore`, each with one number, as `self.log` wants it."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor
from torchmetrics import MetricCollection
from torchmetrics.text import BLEUScore, CHRFScore, ROUGEScore

from bertscore_tm import BERTScore, bert_score_collection

NAMES = ("bertscore", "precision", "recall", "f1", "rougeL", "bleu", "chrf")  # of what is logged


class Rouge(ROUGEScore):
    """F-measure of one kind of ROUGE ("rougeLsum" would need the data of nltk)."""

    def __init__(self, kind: str = "rougeL", **options: Any) -> None:
        super().__init__(rouge_keys=kind, **options)
        self.kind = kind

    def __hash__(self) -> int:
        """By identity: torchmetrics hashes the states, and two without samples were the same."""
        return id(self)

    def compute(self) -> Tensor:  # type: ignore[override]  # one number, not a dict
        """The mean over the samples."""
        return super().compute()[f"{self.kind}_fmeasure"]


def overlap_and_bertscore(metric: partial[BERTScore], prefix: str) -> MetricCollection:
    """P, R and F1 of BERTScore (one pass through the encoder), ROUGE-L, BLEU and chrF."""
    settings = {name: value for name, value in metric.keywords.items() if name != "score"}
    scores = bert_score_collection(*metric.args, **settings)
    for name in ("precision", "recall", "f1"):
        scores[name].warns = False  # the metric that is logged beside them says it
    others = {"rougeL": Rouge("rougeL"), "bleu": BLEUScore(), "chrf": CHRFScore()}
    return MetricCollection({**dict(scores.items()), **others}, prefix=prefix)
