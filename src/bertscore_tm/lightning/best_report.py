"""The page of the best epoch, at the end of a training."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, Literal

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.trainer.states import TrainerFn

from ..errors import BERTScoreWarning, InvalidValueError
from ..reporting import report
from .samples import Samples
from .steps import settings_of
from .tables import folder_of, judged_epoch


class BestReport(Callback):
    """Writes ``report.html`` at the end of a training: `bertscore_tm.report` of its best epoch.

    The texts are those that `Samples` wrote, into the same folder; so are the settings.

    Args:
        monitor: what says which epoch is the best, as the module logs it.
        mode: whether "max" or "min" is better.
        alignments: rows of which the page shows which token matches which.

    Raises:
        InvalidValueError: when the training starts, if there is no `Samples` among the callbacks.
    """

    def __init__(
        self,
        monitor: str = "val_bertscore",
        mode: Literal["max", "min"] = "max",
        alignments: int = 100,
    ) -> None:
        self.monitor, self.mode, self.alignments = monitor, mode, alignments
        self.best: float | None = None
        self.file = ""

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Look for `Samples`."""
        self._samples(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remember the best epoch."""
        if trainer.sanity_checking or trainer.state.fn != TrainerFn.FITTING:
            return
        logged = trainer.callback_metrics
        if self.monitor not in logged:
            raise InvalidValueError(
                f"got no {self.monitor!r} from the module, which logs {', '.join(logged) or '-'}; "
                f"wanted BestReport(monitor=NAME) with one of these, or self.log({self.monitor!r}, "
                "...)"
            )
        value = float(logged[self.monitor])
        better = self.best is None or (
            value > self.best if self.mode == "max" else value < self.best
        )
        if better and value == value:
            name = f"epoch_{judged_epoch(trainer, pl_module):03d}.jsonl"
            folder = folder_of(self._samples(trainer).folder, trainer)
            self.best, self.file = value, str(folder / "predictions" / name)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the page, on rank zero."""
        if not trainer.is_global_zero or not self.file:
            return
        samples, file = self._samples(trainer), Path(self.file)
        if not file.is_file():  # of the run that this one resumes, and gone since
            pl_module.print(f"No report: {file}, with the texts of the best epoch, is not there.")
            return
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        name = file.stem.replace("_", " ")  # "epoch 003"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BERTScoreWarning)  # the module's metric has said it
            page = report(
                {name: [row["prediction"] for row in rows]},
                [row["target"] for row in rows],
                sources=[row["source"] for row in rows] if "source" in rows[0] else None,
                title=f"{name}: {self.monitor} {self.best:.4f}",
                alignments=self.alignments,
                device=str(pl_module.device),
                **settings_of(samples.scores),
            )
        page.save(folder_of(samples.folder, trainer) / "report.html")

    def _samples(self, trainer: Trainer) -> Samples:
        found = [part for part in trainer.callbacks if isinstance(part, Samples)]  # type: ignore[attr-defined]
        if not found:
            raise InvalidValueError(
                "got BestReport without Samples, whose texts it reads; wanted both among the "
                "callbacks of the trainer"
            )
        return found[0]

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs to know of the best epoch so far."""
        return {"best": self.best, "file": self.file}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with the best epoch of a checkpoint."""
        self.best, self.file = state_dict["best"], state_dict["file"]
