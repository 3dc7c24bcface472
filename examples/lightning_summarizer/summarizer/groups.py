"""Where the configurations are, and what there is to choose from."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf


def find_configs(file: str) -> str:
    """The folder of configurations: ``configs`` beside a file, or in a folder above it.

    Raises:
        SystemExit: if there is none.
    """
    for folder in Path(file).resolve().parents:
        if (folder / "configs" / "train.yaml").is_file():
            return str(folder / "configs")
    raise SystemExit(
        f"found no configs/train.yaml beside {file} or in a folder above it; "
        "wanted the folder configs of the example there: copy it along"
    )


def groups() -> list[str]:
    """The names of all groups; ``metric`` comes with the package."""
    folders = [path.name for path in Path(find_configs(__file__)).iterdir() if path.is_dir()]
    return sorted({*folders, "metric"})


def choices(group: str) -> list[str]:
    """The names of the configurations of a group."""
    names = [path.name for path in _folder(group).iterdir()]
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def settings_of(group: str) -> dict[str, list[str]]:
    """The settings of a group, "model.name", each with the choices that have it."""
    having: dict[str, list[str]] = {}
    for choice in choices(group):
        for key in _keys(_loaded(group, choice), f"{group}."):
            having.setdefault(key, []).append(choice)
    return having


def _folder(group: str) -> Any:
    package: Any = files("bertscore_tm.configs")
    return (package if group == "metric" else Path(find_configs(__file__))) / group


def _loaded(group: str, choice: str) -> dict[str, Any]:
    """What a file says, with the files of its group that it begins with."""
    file = _folder(group) / f"{choice}.yaml"
    if not file.is_file():  # of a plugin
        return {}
    loaded: Any = OmegaConf.to_container(OmegaConf.create(file.read_text(encoding="utf-8")))
    own: dict[str, Any] = loaded
    settings: dict[str, Any] = {}
    for name in own.pop("defaults", []):
        if isinstance(name, str) and name != "_self_":
            settings |= _loaded(group, name)
    return settings | own


def _keys(part: dict[str, Any], above: str) -> Iterator[str]:
    for name, value in part.items():
        if not str(name).startswith("_"):
            yield f"{above}{name}"
            if isinstance(value, dict):
                yield from _keys(value, f"{above}{name}.")
