"""From the configuration to objects: in one place, cheap ones first, so that faults show early."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from hydra.utils import instantiate
from lightning import Trainer
from lightning.pytorch.callbacks import Callback
from omegaconf import DictConfig, OmegaConf
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from .data import TextData
from .errors import SettingError, blame
from .launching import in_sweep, refuse_subprocesses
from .module import Summarizer


class Parts(NamedTuple):
    """All that a run needs."""

    trainer: Trainer
    module: Summarizer
    data: TextData
    callbacks: list[Callback]


def build(cfg: DictConfig) -> Parts:
    """Make everything; settings are tried, then data are read, and only then the model is made.

    Raises:
        SettingError: if something will not do; the message names the setting.
    """
    metric, optimizer, scheduler = (_made(cfg, key) for key in ("metric", "optimizer", "scheduler"))
    _try(metric, optimizer, scheduler)
    callbacks, loggers = _listed(cfg, "callbacks"), _listed(cfg, "logger")
    trainer_of = _made(cfg, "trainer")
    with blame("trainer"):
        trainer: Trainer = trainer_of(callbacks=callbacks, logger=loggers)
        if in_sweep():
            refuse_subprocesses(trainer)

    data = _read(cfg)
    _check_repeats(cfg, trainer.world_size, data)
    generator = _made(cfg, "model")
    data.collate = generator.batches.collate
    with blame("generation"):
        module = Summarizer(generator, metric, optimizer, scheduler, **_plain(cfg.generation))
    if cfg.checkpoint is not None:
        _check_checkpoint(cfg, trainer, module)
    if trainer.is_global_zero:  # now that nothing will be refused: a refused run leaves no folder
        print(f"Folder of the run: {cfg.paths.output_dir}", flush=True)
    return Parts(trainer, module, data, callbacks)


def _made(cfg: DictConfig, key: str) -> Any:
    with blame(key):
        return instantiate(OmegaConf.select(cfg, key), _convert_="all")


def _plain(part: DictConfig) -> dict[str, Any]:
    settings: Any = OmegaConf.to_container(part, resolve=True)
    return {str(key): value for key, value in settings.items()}


def _listed(cfg: DictConfig, group: str) -> list[Any]:
    """Callbacks or loggers; of a group that was left out there are none."""
    parts = cfg.get(group) or {}
    return [_made(cfg, f"{group}.{name}") for name in parts if parts[name] is not None]


def _try(metric: Any, optimizer: Any, scheduler: Any) -> None:
    """Use the settings once that are used for good much later."""
    with blame("metric"):
        metric()
    with blame("optimizer"):
        tried = optimizer([nn.Parameter(torch.zeros(1))])
    with blame("scheduler"):
        schedule = scheduler(optimizer=tried, num_training_steps=10)
        if isinstance(schedule, ReduceLROnPlateau):
            raise SettingError(
                "got a scheduler that waits for a score; wanted one that needs the number of steps "
                "only, such as scheduler=linear"
            )


def _read(cfg: DictConfig) -> TextData:
    """The data that the task needs: a missing file is noticed now, not after the training."""
    data_of = _made(cfg, "data")
    with blame("data"):
        data: TextData = data_of(collate=None)
        data.prepare_data()
        for stage in (cfg.task, *(["test"] if cfg.test else [])):
            data.setup(stage)
    return data


def _check_repeats(cfg: DictConfig, processes: int, data: TextData) -> None:
    """Refuse rows that come twice where the second text would be another one.

    Lightning's sampler repeats rows to even out the processes. They count once, by their ids, but
    a text that is drawn by chance differs each time, and the metric refuses two scores of one id.
    """
    drawn = OmegaConf.select(cfg, "generation.generation.do_sample", default=False)
    for split, rows in data.rows.items():
        if drawn and split != "train" and len(rows) % processes:
            fewer = len(rows) - len(rows) % processes
            wanted = f"data.max_{split}={fewer}" if fewer else f"{processes} rows at least"
            raise SettingError(
                f"got {len(rows)} rows of {split} for {processes} processes and a generation that "
                f"draws by chance: rows that are repeated to even out the processes would get two "
                f"texts; wanted a number that {processes} divides, such as {wanted}"
            )


def _check_checkpoint(cfg: DictConfig, trainer: Trainer, module: Summarizer) -> None:
    """Refuse weights of another model, and a training that is at its end."""
    name = cfg.checkpoint
    try:
        saved = torch.load(str(name), map_location="cpu", weights_only=True, mmap=True)
        odd = _differences(saved["state_dict"], module.state_dict())
    except (RuntimeError, LookupError, TypeError, EOFError, pickle.UnpicklingError) as error:
        if zipfile.is_zipfile(name) and isinstance(error, pickle.UnpicklingError):
            return  # it holds more than plain weights, of a callback: Lightning decides
        raise SettingError(
            f"got checkpoint={name}, which is no checkpoint of Lightning; wanted a file such as "
            "outputs/.../checkpoints/last.ckpt"
        ) from error
    if odd:
        raise SettingError(
            f"got checkpoint={name}, whose weights do not fit this model ({odd}); wanted the model "
            "settings that it was trained with, see .hydra/config.yaml in its run"
        )
    done, most = saved.get("epoch", -1) + 1, trainer.max_epochs
    if cfg.task == "fit" and most is not None and 0 <= most <= done:
        raise SettingError(
            f"got checkpoint={name}, which has been trained for {done} epochs, and "
            f"trainer.max_epochs={most}; wanted more epochs than these"
        )


def _differences(saved: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The number of weights that differ in name or shape, and the first; empty if none does."""
    names = sorted(saved.keys() ^ wanted.keys())
    shapes = [n for n in saved if n in wanted and saved[n].shape != wanted[n].shape]
    if shapes:
        first = f"{shapes[0]} is {list(saved[shapes[0]].shape)} there"
        first += f", {list(wanted[shapes[0]].shape)} here"
    elif names:
        first = f"{names[0]} is {'only there' if names[0] in saved else 'missing there'}"
    return f"{len(names) + len(shapes)} differ; {first}" if names or shapes else ""
