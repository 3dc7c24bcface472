"""Where the configurations are, and what there is to choose from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any


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
    package: Any = files("bertscore_tm.configs")
    folder = package if group == "metric" else Path(find_configs(__file__))
    names = [path.name for path in (folder / group).iterdir()]
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))
