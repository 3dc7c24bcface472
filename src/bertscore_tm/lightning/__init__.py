"""Callbacks for Lightning's Trainer: the scores of each epoch, its texts, its layers, a report.

Nothing else of the package imports them: they need `lightning` (``bertscore_tm[lightning]``). They
read the texts of a step from what it returns, and what is not there from its batch, under the names
"preds", "targets", "sources" (need not be) and "ids" (need not be; with them rows that a sampler
repeats count once):

    def validation_step(self, batch, batch_idx):
        preds = self.generate(batch)
        self.bertscore.update(preds, batch["targets"])
        self.log("val_bertscore", self.bertscore)
        return {"preds": preds, "targets": batch["targets"]}
"""

from .best_report import BestReport
from .layers import NOTE, Layers
from .samples import Samples
from .score_table import ScoreTable
from .tables import LAYERS, SCORES, SIGNATURE, TEST, without_twin, write_tsv

__all__ = [
    "LAYERS",
    "NOTE",
    "SCORES",
    "SIGNATURE",
    "TEST",
    "BestReport",
    "Layers",
    "Samples",
    "ScoreTable",
    "without_twin",
    "write_tsv",
]
