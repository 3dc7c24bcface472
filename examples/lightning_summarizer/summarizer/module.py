"""The LightningModule: trains a generator and validates what it writes with BERTScore."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from lightning import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler

from bertscore_tm import BERTScore

from .choice import CHOICES
from .metrics import overlap_and_bertscore
from .models import Generator, positions


class Summarizer(LightningModule):
    """Sequence to sequence: summaries, translations or replies.

    Args:
        generator: the model and its tokenizer.
        metric: makes a `BERTScore`: ``partial(BERTScore, model_name_or_path="minilm")``.
        optimizer: makes an optimizer of the parameters that are trained.
        scheduler: makes what changes the learning rate after each step, of the optimizer and
            ``num_training_steps``.
        generation: arguments of the model's ``generate``.
        choice: which of several candidates counts: "first", "mbr" or "best_of_n", see `choice`.
    """

    def __init__(
        self,
        generator: Generator,
        metric: partial[BERTScore],
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
        scheduler: Callable[..., LRScheduler],
        generation: Mapping[str, Any],
        choice: str = "first",
    ) -> None:
        super().__init__()
        if choice not in CHOICES:
            raise ValueError(f"got choice={choice!r}; wanted one of {', '.join(CHOICES)}")
        self.loaded_epoch = 0
        self.model, self.batches = generator
        self.model.train()  # loading switches dropout off, and Lightning leaves modes as they are
        _, longest = positions(self.model)
        if (most := generation.get("max_new_tokens", 1)) > longest:
            raise ValueError(
                f"got max_new_tokens={most}; wanted at most {longest}, the positions of the model"
            )
        self.optimizer, self.scheduler, self.generation = optimizer, scheduler, dict(generation)
        self.choose = CHOICES[choice]
        # Scores candidates of one batch, on this process alone.
        self.scorer = (
            metric(reduction="none", idf=False, sync_on_compute=False)
            if choice != "first"
            else None
        )

        self.bertscore = metric()
        if len(self.bertscore.layers) > 1 or self.bertscore.score is None:
            raise ValueError(
                "got a metric of several layers or scores for validation, which logs one number; "
                "wanted one layer and one score (experiment=layer_sweep compares all layers of the "
                "generated texts)"
            )
        self.scores = overlap_and_bertscore(metric, prefix="val_")
        self.test_bertscore = self.bertscore.clone()
        self.test_scores = self.scores.clone(prefix="test_")

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Remember whose weights these are: outside of a training the trainer does not."""
        self.loaded_epoch = int(checkpoint["epoch"])

    def training_step(self, batch: Mapping[str, Any], batch_idx: int) -> Tensor:
        """Cross-entropy of the labels."""
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}
        loss: Tensor = self.model(**inputs).loss
        self.log("train_loss", loss, prog_bar=True, batch_size=len(batch["ids"]))
        return loss

    def validation_step(self, batch: Mapping[str, Any], batch_idx: int) -> dict[str, Any]:
        """Write texts and score them.

        The ids make repeated rows, which even out the processes, count once.
        """
        preds, refs, ids = self.write(batch), batch["targets"], batch["ids"]
        self.bertscore.update(preds, refs, sample_ids=ids)
        self.log("val_bertscore", self.bertscore, batch_size=len(preds), prog_bar=True)
        self.scores.update(preds, refs, sample_ids=ids)
        self.log_dict(self.scores, batch_size=len(preds))
        return {"preds": preds}

    def test_step(self, batch: Mapping[str, Any], batch_idx: int) -> dict[str, Any]:
        """As in validation."""
        preds, refs, ids = self.write(batch), batch["targets"], batch["ids"]
        self.test_bertscore.update(preds, refs, sample_ids=ids)
        self.log("test_bertscore", self.test_bertscore, batch_size=len(preds))
        self.test_scores.update(preds, refs, sample_ids=ids)
        self.log_dict(self.test_scores, batch_size=len(preds))
        return {"preds": preds}

    def write(self, batch: Mapping[str, Any]) -> list[str]:
        """The text for each row of a batch."""
        model: Any = self.model  # the annotations of generate are those of a tensor
        tokens = model.generate(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], **self.generation
        )
        texts = self.batches.decode(tokens)
        each = self.generation.get("num_return_sequences", 1)
        candidates = [texts[i : i + each] for i in range(0, len(texts), each)]
        return self.choose(candidates, batch["targets"], self.scorer)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """The optimizer, for the parameters that are not frozen, and its schedule."""
        optimizer = self.optimizer(
            parameter for parameter in self.parameters() if parameter.requires_grad
        )
        steps = int(self.trainer.estimated_stepping_batches)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {
                "scheduler": self.scheduler(optimizer=optimizer, num_training_steps=steps),
                "interval": "step",
            },
        }
