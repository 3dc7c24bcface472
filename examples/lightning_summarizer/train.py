"""Train a generator and validate it with BERTScore: ``python train.py``. See README.md."""

from __future__ import annotations

import hydra
import torch
from lightning import Trainer, seed_everything
from omegaconf import DictConfig, OmegaConf
from summarizer.groups import find_configs
from summarizer.launching import job, start, start_quietly
from summarizer.parts import build
from summarizer.reports import run_report
from summarizer.settings import check_training


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
    start_quietly()
    check_training(cfg)
    if cfg.num_threads is not None:
        torch.set_num_threads(cfg.num_threads)
    seed_everything(cfg.seed, workers=True, verbose=False)
    trainer, module, data = build(cfg)
    for logger in trainer.loggers:
        settings = OmegaConf.to_container(cfg, resolve=True)
        logger.log_hyperparams({"signature": module.bertscore.signature, **dict(settings)})

    if cfg.task == "fit":
        trainer.fit(module, data, ckpt_path=cfg.checkpoint)
    elif cfg.task == "validate":
        trainer.validate(module, data, ckpt_path=cfg.checkpoint)
    best = _best(trainer)  # a test forgets it
    if cfg.test or cfg.task == "test":
        trainer.test(
            module, data, ckpt_path=_tested(trainer) if cfg.task == "fit" else cfg.checkpoint
        )
    if trainer.is_global_zero:
        print(f"\n{run_report(cfg.paths.output_dir)}", flush=True)
    return best


def _tested(trainer: Trainer) -> str | None:
    """The best checkpoint of a training, or None, the last weights, where none was kept."""
    for callback in trainer.checkpoint_callbacks:
        if callback.monitor and callback.best_model_path:
            return callback.best_model_path
    if trainer.is_global_zero:
        print("No best checkpoint was kept: the last weights are tested.", flush=True)
    return None


def _best(trainer: Trainer) -> float | None:
    """The best validation score, or the last one if no checkpoint callback looked for the best."""
    kept = trainer.checkpoint_callback.best_model_score if trainer.checkpoint_callback else None
    value = kept if kept is not None else trainer.callback_metrics.get("val_bertscore")
    return None if value is None else float(value)


if __name__ == "__main__":
    start(main)
