"""Train a generator and validate it with BERTScore: ``python train.py``. See README.md."""

from __future__ import annotations

import hydra
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from lightning import Trainer, seed_everything
from omegaconf import DictConfig, OmegaConf
from summarizer.launching import refuse_subprocesses, start_quietly
from summarizer.module import Summarizer
from summarizer.reports import run_report


@hydra.main(version_base="1.3", config_path="../../configs", config_name="train")
def main(cfg: DictConfig) -> float | None:
    """One run, or one job of a sweep; returns the value that a search maximizes."""
    return run(cfg, in_sweep=HydraConfig.get().mode is RunMode.MULTIRUN)


def run(cfg: DictConfig, in_sweep: bool = False) -> float | None:
    """Make everything, then do the task; returns the best ``val_bertscore``."""
    start_quietly()
    if cfg.num_threads is not None:
        torch.set_num_threads(cfg.num_threads)
    seed_everything(cfg.seed, workers=True, verbose=False)
    parts = hydra.utils.instantiate(
        cfg, _convert_="all"
    )  # the one place where the configuration becomes objects
    data = parts["data"](collate=parts["model"].batches.collate)
    module = Summarizer(
        parts["model"],
        parts["metric"],
        parts["optimizer"],
        parts["scheduler"],
        **parts["generation"],
    )
    trainer: Trainer = parts["trainer"](
        callbacks=_listed(parts["callbacks"]), logger=_listed(parts["logger"])
    )
    if in_sweep:
        refuse_subprocesses(trainer)
    for logger in trainer.loggers:
        settings = OmegaConf.to_container(cfg, resolve=True)
        logger.log_hyperparams({**settings, "signature": module.bertscore.signature})

    if cfg.test and cfg.task == "fit":
        data.setup("test")  # a missing file is noticed before the training, not after it
    if cfg.task == "fit":
        trainer.fit(module, data, ckpt_path=cfg.checkpoint)
    elif cfg.task == "validate":
        trainer.validate(module, data, ckpt_path=cfg.checkpoint)
    best = _best(trainer)  # a test forgets it
    if cfg.test or cfg.task == "test":
        trainer.test(module, data, ckpt_path="best" if cfg.task == "fit" else cfg.checkpoint)
    if trainer.is_global_zero:
        print(f"\n{run_report(cfg.paths.output_dir)}", flush=True)
    return best


def _listed(group: dict[str, object] | None) -> list[object]:
    return [part for part in (group or {}).values() if part is not None]


def _best(trainer: Trainer) -> float | None:
    """The best validation score, or the last one if no checkpoint callback looked for the best."""
    kept = trainer.checkpoint_callback.best_model_score if trainer.checkpoint_callback else None
    value = kept if kept is not None else trainer.callback_metrics.get("val_bertscore")
    return None if value is None else float(value)


if __name__ == "__main__":
    main()
