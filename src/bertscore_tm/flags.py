"""The settings as flags of the command line."""

from __future__ import annotations

import argparse
from typing import Any

from .settings import ABOUT, DEFAULTS, About


def add_setting_flags(group: Any) -> None:
    """Add a flag for each setting that has one."""
    for name, about in ABOUT.items():
        if about.flag is not None:
            names = [about.short, about.flag] if about.short else [about.flag]
            group.add_argument(*names, dest=name, **_argument(about, DEFAULTS[name]))


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given as flags."""
    return {name: getattr(options, name) for name, about in ABOUT.items() if about.flag is not None}


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
