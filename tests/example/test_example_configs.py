"""Every configuration composes, and every key beside a ``_target_`` is an argument of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from composing import CONFIGS, METRICS, composed, names, plain
from hydra import compose, initialize_config_dir

from bertscore_tm import BERTScore

GROUPS = sorted(path.name for path in CONFIGS.iterdir() if path.is_dir())
PLUGINS = {
    "joblib": "joblib_launcher",
    "slurm": "submitit_launcher",
    "ray": "ray_launcher",
    "optuna": "optuna_sweeper",
}
# What only the user can know.
WANTED = {"hub": ["data.name=x", "data.source=x", "data.target=x"], "pretrained": ["model.name=x"]}


def skip_without_plugin(name: str) -> None:
    if name == "adafactor" and not hasattr(torch.optim, "Adafactor"):
        pytest.skip("this PyTorch has no Adafactor")
    plugin = PLUGINS.get(name)
    if plugin and not (find_spec("hydra_plugins") and find_spec(f"hydra_plugins.hydra_{plugin}")):
        pytest.skip(f"hydra-{plugin.replace('_', '-')} is not installed")


def nodes_with_target(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if "_target_" in part:
            yield part
        for value in part.values():
            yield from nodes_with_target(value)


def arguments(target: Any) -> set[str]:
    """What a target takes; what its bases take too, as far as it hands on ``**options``."""
    found: set[str] = set()
    for function in (
        [cls.__init__ for cls in target.__mro__] if inspect.isclass(target) else [target]
    ):
        parameters = inspect.signature(function).parameters.values()
        found |= {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return found


def check(cfg: dict[str, Any]) -> None:
    checked = 0
    for node in nodes_with_target(cfg):
        module, _, name = node["_target_"].rpartition(".")
        takes = arguments(getattr(import_module(module), name))
        given = {key for key in node if not key.startswith("_")}
        assert given <= takes, f"{node['_target_']} does not take {sorted(given - takes)}"
        checked += 1
    assert checked


@pytest.mark.parametrize(
    "group, name", [(group, name) for group in GROUPS for name in names(group)]
)
def test_composes_and_fits(group: str, name: str) -> None:
    skip_without_plugin(name)
    cfg = composed(
        *WANTED.get(name, []), *([] if group == "hydra" else [f"{group}={name}"]), hydra=False
    )
    check(plain(cfg))


@pytest.mark.parametrize("name", sorted(path.stem for path in METRICS.glob("*.yaml")))
@pytest.mark.parametrize("config", ["train", "evaluate"])
def test_metric_composes_and_fits(config: str, name: str) -> None:
    extra = ["predictions=x.jsonl"] if config == "evaluate" else []
    check(plain(composed(f"metric={name}", *extra, config=config)))


@pytest.mark.parametrize("name", names("launch"))
def test_launcher_is_chosen(name: str) -> None:
    skip_without_plugin(name)
    cfg = composed(
        f"launch={name}",
        "hydra.job.num=0",
        "hydra.runtime.output_dir=x",
        "hydra.runtime.cwd=x",
        hydra=True,
    )
    assert "Basic" not in cfg.hydra.launcher._target_


def test_metric_base_states_the_defaults() -> None:
    parameters = inspect.signature(BERTScore).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}
    cfg = plain(composed("metric=base"))["metric"]
    assert {key: value for key, value in cfg.items() if not key.startswith("_")} == defaults


def test_metric_group_serves_any_project(tmp_path: Path) -> None:
    own = (
        "defaults:\n  - metric: minilm\n  - _self_\n"
        "hydra:\n  searchpath: ['pkg://bertscore_tm.configs']\n"
    )
    (tmp_path / "own.yaml").write_text(own)
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        cfg = compose("own", ["metric.num_layers=5"])
    assert (cfg.metric.model_name_or_path, cfg.metric.num_layers) == ("minilm", 5)


@pytest.mark.parametrize(
    "path",
    [*CONFIGS.rglob("*.yaml"), *METRICS.glob("*.yaml")],
    ids=lambda p: f"{p.parent.name}/{p.stem}",
)
def test_every_key_has_a_comment(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert any(line.startswith("# ") and "@package" not in line for line in lines[:2]), (
        "says nothing of itself"
    )
    for line in lines:
        has_value = re.match(r"\s*(- )?[\w/@. ]+: *[^\s#]", line)
        assert not has_value or "  #" in line or "_target_" in line, f"{line!r} has no comment"
