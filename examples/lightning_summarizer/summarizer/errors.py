"""Errors of whoever runs the example, in one line each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

from hydra.errors import HydraException, InstantiationException, MissingConfigException
from lightning.fabric.utilities.exceptions import MisconfigurationException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from bertscore_tm import BERTScoreError

from .groups import groups, settings_of

_PLUGINS = {
    "hydra/sweeper/optuna": "hydra-optuna-sweeper",
    "hydra/launcher/joblib": "hydra-joblib-launcher",
    "hydra/launcher/ray": "hydra-ray-launcher",
    "hydra/launcher/submitit_slurm": "hydra-submitit-launcher",
}


class SettingError(ValueError):
    """A setting or a file that will not do; the message names it in one line."""


class JobFailed(Exception):
    """A job of a sweep has failed, and has said why."""


# What ends as one line, wherever it happens. Other errors are bugs and show where they come from.
EXPECTED = (
    SettingError,
    BERTScoreError,
    HydraException,
    OmegaConfBaseException,
    MisconfigurationException,
    OSError,
)
# What those who make an object of a setting raise if it will not do.
_OF_SETTINGS = (
    *EXPECTED,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ImportError,
    ArithmeticError,
    RuntimeError,
)


@contextmanager
def blame(setting: str) -> Iterator[None]:
    """Whatever goes wrong within is due to a setting, which the message then names."""
    try:
        yield
    except SettingError:
        raise
    except _OF_SETTINGS as error:
        raise SettingError(f"{setting}: {one_line(error)}") from error


def nearest(name: object, names: Iterable[str]) -> str:
    """The end of a message that offers the nearest of some names, or nothing if none is near."""
    found = _closest(name, names)
    return f"; did you mean {found}?" if found else ""


def _closest(name: object, names: Iterable[str]) -> str | None:
    # Of keys, "model.name", the last part counts: the others are the same.
    last = {each.rpartition(".")[2]: each for each in names}
    found = get_close_matches(str(name).rpartition(".")[2], list(last), 1, 0.5)
    return last[found[0]] if found else None


def offered(name: str, names: Sequence[str]) -> str:
    """The end of a message on an unknown name: the nearest one, and all if they are few."""
    hint = nearest(name, names)
    return hint if hint and len(names) > 10 else f"; wanted one of {', '.join(names)}{hint}"


def one_line(error: BaseException) -> str:
    """What an error says, in one line; Hydra's with the choices that there are."""
    if isinstance(error, InstantiationException) and error.__cause__:
        return one_line(error.__cause__)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        return _missing(error.missing_cfg_file, error.options)
    if isinstance(error, HydraException) and isinstance(error.__cause__, OmegaConfBaseException):
        return _unknown_key(error, error.__cause__)
    if deleted := re.search(r"Could not delete from config. '(.+)' does not exist", str(error)):
        hint = "" if "." in deleted[1] else offered(deleted[1], groups())
        return f"got ~{deleted[1]}, which is not there{hint}"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, (HydraException, OmegaConfBaseException)):  # its lines to follow: advice
        text = re.split(r"\nSee https|\n *full_key:", text)[0]
    return " ".join(text.split()) or type(error).__name__


def _missing(file: str, options: Iterable[str]) -> str:
    group, _, name = file.rpartition("/")
    wanted = f"got {group}={name}; wanted one of {', '.join(options)}"
    if file in _PLUGINS:
        return f"{wanted}, or this one after: pip install {_PLUGINS[file]}"
    return wanted + nearest(name, options)


def _unknown_key(error: HydraException, cause: OmegaConfBaseException) -> str:
    key, last, parent = str(cause.full_key or ""), str(cause.key or ""), cause.parent_node
    if not key or not last or not isinstance(parent, DictConfig):
        return " ".join(str(error).split("\nTo append")[0].split())
    above = key.removesuffix(last)
    names = [f"{above}{name}" for name in map(str, parent) if name[0] != "_" and name != "hydra"]
    group = key.partition(".")[0]
    elsewhere = settings_of(group) if group != key and group in groups() else {}
    if key in elsewhere:
        *most, last = (f"{group}={choice}" for choice in elsewhere[key])
        where = " or ".join(filter(None, [", ".join(most), last]))
        return f"got {key}, which this {group} does not have; wanted it together with {where}"
    siblings = [name for name in elsewhere if name.rpartition(".")[0] == above.rstrip(".")]
    near = _closest(key, [*siblings, *names])
    if near in siblings and near not in names:
        where = f"{group}={elsewhere[near][0]}"
        return f"got {key}, which is no setting; did you mean {near}, which {where} has?"
    if not names:
        return f"got {key}, but {above.rstrip('.')} has no settings of its own"
    return f"got {key}, which is no setting{offered(key, names)}"
