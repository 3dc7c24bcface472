"""Several validation loaders, by the lines that the README of the example gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from composing import EXAMPLE
from torch.utils.data import DataLoader

import bertscore_tm
from bertscore_tm import BERTScore, BERTScoreError

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning has advice for runs of this size

NEWS = [("two cats sleep", "two cats"), ("rain fell", "rain fell on the town"), ("a dog", "dogs")]
MAIL = [("see you at noon", "the cat"), ("hello world", "hello")]
MAKE, STEP = (
    compile(block, "README.md", "exec")
    for block in re.findall(
        r"```python\n(.*?)```", (EXAMPLE / "README.md").read_text(encoding="utf-8"), re.S
    )
    if "bertscores" in block
)


class Reader(lightning.LightningModule):
    """Its texts are in the batches; with one epoch after the other there is something to reset."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        exec(MAKE, {"torch": torch, "BERTScore": BERTScore, "self": self})
        self.logged: list[dict[str, float]] = []

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        return self.layer(torch.ones(1, 1)).sum()  # type: ignore[no-any-return]

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.layer.parameters(), lr=0.1)

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        known = {"batch": batch, "preds": batch["preds"], "dataloader_idx": dataloader_idx}
        exec(STEP, {"self": self, **known})

    def on_validation_end(self) -> None:
        values = self.trainer.callback_metrics
        self.logged.append({name: float(value) for name, value in values.items()})


def loader(rows: list[tuple[str, str]]) -> DataLoader[Any]:
    records = [
        {"ids": i, "preds": pred, "targets": target} for i, (pred, target) in enumerate(rows)
    ]
    return DataLoader(records, batch_size=2)  # type: ignore[arg-type]


@pytest.fixture
def trainer(tmp_path: Path) -> lightning.Trainer:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    usual: dict[str, Any] = {"accelerator": "cpu", "max_epochs": 2, "default_root_dir": tmp_path}
    return lightning.Trainer(**usual, **quiet, num_sanity_val_steps=1)


def test_each_loader_has_its_own_number(
    trainer: lightning.Trainer, minilm: str, bert_score_package: Callable[..., Any]
) -> None:
    module = Reader()
    trainer.fit(module, DataLoader(range(2)), [loader(NEWS), loader(MAIL)])  # type: ignore[arg-type]
    _, *epochs = module.logged  # the first is the sanity check
    assert len(epochs) == 2
    (layer,) = module.bertscores[0].layers
    for name, rows in (("val_news", NEWS), ("val_mail", MAIL)):
        preds, targets = map(list, zip(*rows, strict=True))
        ours = float(bertscore_tm.bert_score(preds, targets, "minilm")["f1"].mean())
        papers = bert_score_package(preds, targets, minilm, layer)["f1"]
        assert ours == pytest.approx(sum(papers) / len(papers), abs=1e-5)
        assert [epoch[name] for epoch in epochs] == pytest.approx([ours] * 2, abs=1e-6)


def test_one_metric_for_both_is_an_error_that_says_so(trainer: lightning.Trainer) -> None:
    module = Reader()
    module.bertscores[1] = module.bertscores[0]
    with pytest.raises(BERTScoreError, match="one metric for two data sets or loaders"):
        trainer.validate(module, [loader(NEWS), loader(MAIL)], verbose=False)
