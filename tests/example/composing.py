"""Configurations of the example, composed as its commands do, but without folders of Hydra."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "lightning_summarizer"
CONFIGS = ROOT / "configs"
METRICS = ROOT / "src" / "bertscore_tm" / "configs" / "metric"

sys.path.insert(0, str(EXAMPLE))  # as for `python examples/lightning_summarizer/train.py`


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (CONFIGS / group).glob("*.yaml"))


def composed(*overrides: str, config: str = "train", hydra: bool = False) -> DictConfig:
    folders = [] if hydra else ["paths.output_dir=/nowhere", "paths.data_dir=/nowhere"]
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return compose(config, [*folders, *overrides], return_hydra_config=hydra)


def plain(cfg: DictConfig) -> dict[str, Any]:
    return OmegaConf.to_container(cfg, resolve=True)
