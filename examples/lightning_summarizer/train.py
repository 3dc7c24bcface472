"""Train a generator and validate it with BERTScore: ``python train.py``. See README.md."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import hydra
import torch
from lightning import Trainer, seed_everything
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from omegaconf import DictConfig, OmegaConf
from summarizer.groups import find_configs
from summarizer.launching import job, start, start_quietly
from summarizer.parts import build
from summarizer.reports import best_of, read_tsv, run_report
from summarizer.settings import check_training

from bertscore_tm.lightning import SCORES, ScoreTable


@hydra.main(version_base="1.3", config_path=find_configs(__file__), config_name="train")
def main(cfg: DictConfig) -> float | None:
    """One run, or one job of a sweep; returns the value that a search maximizes."""
    with job():
        return run(cfg)
    return None


def run(cfg: DictConfig) -> float | None:
    """Check and make everything, then do the task; returns the best ``val_bertscore``.

    Raises:
        SettingError: if a setting will not do, before anything is trained.
    """
    began = time.time()
    start_quietly()
    check_training(cfg)
    if cfg.num_threads is not None:
        torch.set_num_threads(cfg.num_threads)
    seed_everything(cfg.seed, workers=True)
    trainer, module, data, callbacks = build(cfg)
    table = any(isinstance(part, ScoreTable) for part in callbacks)  # else Lightning prints one
    for logger in trainer.loggers:
        settings: Any = OmegaConf.to_container(cfg, resolve=True)
        logger.log_hyperparams({**settings, "signature": module.bertscore.signature})

    if cfg.task != "fit" and cfg.checkpoint is None and trainer.is_global_zero:
        print("Without checkpoint=FILE: the weights are those that the model began with.")
    if cfg.task == "fit":
        trainer.fit(module, data, ckpt_path=cfg.checkpoint)
        _say_if_stopped(trainer)
    elif cfg.task == "validate":
        trainer.validate(module, data, ckpt_path=cfg.checkpoint, verbose=not table)
    best = _value(cfg, trainer, table)  # a test forgets it
    if cfg.test or cfg.task == "test":
        weights = _tested(trainer) if cfg.task == "fit" else cfg.checkpoint
        trainer.test(module, data, ckpt_path=weights, verbose=not table)
    if trainer.is_global_zero:
        print(f"\n{run_report(cfg.paths.output_dir, began - 1)}", flush=True)
        page = Path(cfg.paths.output_dir) / "report.html"
        if page.is_file():
            print(f"Report of the best epoch: {page}", flush=True)
    return best if best is not None else _value(cfg, trainer, table)


def _tested(trainer: Trainer) -> str | None:
    """The best checkpoint of a training, or None, the last weights, where none was kept."""
    for part in trainer.checkpoint_callbacks:
        if isinstance(part, ModelCheckpoint) and part.monitor and part.best_model_path:
            return part.best_model_path
    if trainer.is_global_zero:
        print("No best checkpoint was kept: the last weights are tested.", flush=True)
    return None


def _say_if_stopped(trainer: Trainer) -> None:
    for callback in trainer.early_stopping_callbacks:
        if trainer.should_stop and isinstance(callback, EarlyStopping) and trainer.is_global_zero:
            print(
                f"Stopped early after epoch {trainer.current_epoch - 1}: {callback.monitor} got no "
                f"better than {float(callback.best_score):.4f} for {callback.wait_count} "
                f"validations (patience={callback.patience}).",
                flush=True,
            )


def _value(cfg: DictConfig, trainer: Trainer, table: bool) -> float | None:
    """The score of the task, None before there is one.

    Of a training it is that of the best epoch, or of the last if no table is kept.
    """
    path = Path(cfg.paths.output_dir) / SCORES
    if cfg.task == "fit" and table:
        best = best_of(read_tsv(path), "val_bertscore", path)
        return None if best is None else float(best["val_bertscore"])
    value = trainer.callback_metrics.get(f"{'test' if cfg.task == 'test' else 'val'}_bertscore")
    return None if value is None else float(value)


if __name__ == "__main__":
    start(main)
