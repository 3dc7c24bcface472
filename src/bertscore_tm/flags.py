"""The settings as flags of the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from .checks import FLAGS, spelled
from .errors import InvalidValueError
from .settings import ABOUT, DEFAULTS, About
from .tables import nearest

if TYPE_CHECKING:
    import torch

    from .pipeline import Pipeline

FLAGS.update(device="--device")


def add_setting_flags(group: Any, without: Collection[str] = ()) -> None:
    """Add a flag for each setting that has one, but for some that a command has no use for."""
    for name, about in ABOUT.items():
        if about.flag is not None and name not in without:
            names = [about.short, about.flag] if about.short else [about.flag]
            group.add_argument(*names, dest=name, **_argument(about, DEFAULTS[name]))


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given as flags."""
    given = vars(options)
    return {name: given[name] for name, about in ABOUT.items() if about.flag and name in given}


def add_device_flag(group: Any) -> None:
    """Add the flag that says where to compute."""
    group.add_argument(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1 ...; default: a GPU if there is one"
    )


def pipeline_of(options: argparse.Namespace, show: bool) -> tuple[Pipeline, torch.device]:
    """What the flags say, ready to work, and where.

    Args:
        options: the flags.
        show: a progress bar, if there is a terminal.
    """
    from .idf import IdfTable
    from .machine import usable_device
    from .pipeline import Pipeline
    from .settings import Settings
    from .weighting import WEIGHTINGS

    settings = settings_of(options)
    idf = settings.get("idf")
    if isinstance(idf, str) and idf not in WEIGHTINGS:
        if not os.path.exists(idf):
            raise InvalidValueError(
                f"got {spelled('idf', idf)}, which is no file; wanted it alone, with a "
                f"name ({', '.join(WEIGHTINGS)}), or with a file that IdfTable.save wrote"
                f"{nearest(idf, WEIGHTINGS)}"
            )
        settings["idf"] = IdfTable.load(idf)
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    pipeline = Pipeline(Settings(**settings, verbose=show and on_terminal))
    return pipeline, usable_device(options.device)


def _argument(about: About, default: Any) -> dict[str, Any]:
    said = {"default": default, "help": about.help}
    if isinstance(default, bool) and not about.bare:
        action = "store_false" if default else "store_true"
        return {**said, "action": action, "help": f"not: {about.help}" if default else about.help}
    if default is not None and not about.bare:
        said["help"] += f" (default: {default})"
    if about.choices:
        return {**said, "choices": about.choices}
    value = {**said, "type": about.parse, "metavar": about.metavar}
    return {**value, "nargs": "?", "const": True} if about.bare else value
