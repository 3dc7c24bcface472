"""From a signature back to the settings: as code, as Hydra overrides, as a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import InvalidValueError
from .names import alias_of
from .settings import ABOUT, DEFAULTS, Settings

# Parts of a signature that say what was used, not what was asked for.
_FACTS = ("tokenizer", "bertscore_tm", "torch", "transformers")
# Parts that lines of earlier versions do not have: their default is what there was.
_LATER = ("matching", "beta")


@dataclass(frozen=True)
class Restored:
    """What a signature says.

    Attributes:
        settings: those that differ from the defaults.
        lacking: why a part of the line cannot be made into a setting, by its name.
        facts: versions, tokenizer and weights: these may differ where the settings are equal.
    """

    settings: Mapping[str, Any]
    lacking: Mapping[str, str]
    facts: Mapping[str, str]

    def as_code(self) -> str:
        """``BERTScore("minilm", 6, idf=True)``; a name stands for what the line does not say."""
        given = {name: _python(value) for name, value in self.settings.items()} | self._yours()
        first = [given.pop("model_name_or_path", "None")]
        first += [given.pop("num_layers")] if "num_layers" in given else []
        return f"BERTScore({', '.join([*first, *(f'{k}={v}' for k, v in given.items())])})"

    def as_overrides(self) -> str:
        """``metric=base metric.num_layers=6``, for a shell."""
        given = {name: _yaml(value) for name, value in self.settings.items()} | self._yours()
        parts = [f"metric.{name}={value}" for name, value in given.items()]
        return " ".join(map(shlex.quote, ["metric=base", *parts]))

    def as_command(self) -> str:
        """``bertscore-tm score --num-layers 6 ...``, for a shell."""
        parts = []
        for name, value in {**self.settings, **self._yours()}.items():
            flag = str(ABOUT[name].flag)
            switch = isinstance(value, bool) or value == "True"
            parts += [flag] if switch else [flag, _flag_value(value)]
        given = " ".join(map(shlex.quote, parts))
        return f"bertscore-tm score -c PREDICTIONS -r REFERENCES {given}".rstrip()

    def _yours(self) -> dict[str, str]:
        """A name in the place of each setting that the line does not say."""
        return {name: value for part in self.lacking for name, value in _YOURS[part].items()}


def restore(line: str) -> Restored:
    """The settings that a signature stands for.

    Args:
        line: a signature, as `BERTScore.signature` or a table of scores has it.

    Raises:
        InvalidValueError: if it is none, or of a version that had other parts.
    """
    parts = _parts(line)
    settings: dict[str, Any] = {}
    lacking: dict[str, str] = {}
    for name, value in parts.items():
        if name in _FACTS:
            continue
        try:
            found = _READERS[name](value)
        except _Lacking as why:
            lacking[name] = str(why)
            settings |= {"matching": "mutual"} if name == "matching" else {}
        except (ValueError, LookupError):
            raise InvalidValueError(
                f"got {name}:{value} in a signature; wanted a value that this version writes "
                f"(the line is of bertscore_tm {parts.get('bertscore_tm', 'unknown')})"
            ) from None
        else:
            settings |= found
    _check(settings)
    order = [name for name in ABOUT if name in settings]
    changed = {name: settings[name] for name in order if settings[name] != DEFAULTS[name]}
    facts = {name: parts[name] for name in _FACTS if name in parts}
    return Restored(changed, lacking, {"weights": parts["encoder"].rpartition("@")[2], **facts})


def _check(settings: Mapping[str, Any]) -> None:
    """Raise InvalidValueError for values that no metric takes."""
    Settings(**{name: value for name, value in settings.items() if name != "model_name_or_path"})
    layers = settings.get("num_layers")
    each = layers if isinstance(layers, list) else [] if layers is None else [layers]
    if any(layer < 0 for layer in each) or len(set(each)) < len(each):
        raise InvalidValueError(
            f"got layers:{','.join(map(str, each))} in a signature; wanted each once, from 0"
        )


def _parts(line: str) -> dict[str, str]:
    said = [part.partition(":")[::2] for part in line.strip().split("|")]
    parts = dict(said)
    if len(parts) < len(said):
        twice = next(name for name, _ in said if [n for n, _ in said].count(name) > 1)
        raise InvalidValueError(
            f"got {twice or 'an empty part'} more than once in a signature; wanted one line"
        )
    wanted = set(_READERS)
    if "encoder" not in parts or not parts.keys() & (wanted - {"encoder"}):
        raise InvalidValueError(
            f"got {line.strip()[:60]!r} as a signature; wanted a line such as "
            "encoder:NAME@...|tokenizer:...|layers:6|..., the signature of a metric"
        )
    lacks = [name for name in [*_READERS, *_FACTS] if name not in parts]
    lacks = [name for name in lacks if name not in _LATER]
    if lacks:
        raise InvalidValueError(
            f"got a signature without {', '.join(lacks)}; wanted the whole line: is it cut off?"
        )
    if not re.fullmatch(r"\d+\.\d+\S*", parts["transformers"]):
        raise InvalidValueError(
            f"got transformers:{parts['transformers']} at the end of a signature; wanted a "
            "version: "
            "is the line cut off?"
        )
    unknown = sorted(name or "''" for name in parts.keys() - wanted - {*_FACTS})
    if unknown:
        raise InvalidValueError(
            f"got the parts {', '.join(unknown)} in a signature, which this version does not know; "
            f"wanted one that bertscore_tm {parts.get('bertscore_tm', 'of that line')} reads"
        )
    return parts


_YOURS: Mapping[str, Mapping[str, str]] = {
    "encoder": {"model_name_or_path": "YOUR_ENCODER"},
    "idf": {"idf": "YOUR_TABLE"},
    "baseline": {"rescale_with_baseline": "True", "baseline_path": "YOUR_BASELINE"},
    "matching": {"baseline_path": "YOUR_BASELINE"},
}


class _Lacking(Exception):
    """Why a part cannot be made into a setting."""


def _encoder(value: str) -> dict[str, Any]:
    name = value.rpartition("@")[0]
    if name.startswith("custom:") or not name:
        raise _Lacking(
            f"{value} is a model object or an encoder of your own: "
            "model_name_or_path=HuggingFaceEncoder(model, tokenizer), or that encoder"
        )
    return {"model_name_or_path": alias_of(name)}


def _layers(value: str) -> dict[str, Any]:
    if value.endswith("(default)"):
        return {"num_layers": None}
    layers = [int(layer) for layer in value.split(",")]
    return {"num_layers": layers if len(layers) > 1 else layers[0]}


def _idf(value: str) -> dict[str, Any]:
    if value not in ("no", "epoch"):
        raise _Lacking(
            f"{value} is known by its digest alone: idf=IdfTable.load(FILE) or the weighting "
            "itself, or --idf FILE"
        )
    return {"idf": value == "epoch"}


def _table(value: str) -> dict[str, Any]:
    """The settings for a baseline; of the packaged ones the language says which."""
    if "@" in value:
        raise _Lacking(
            f"{value} is known by its digest alone: baseline_path=FILE, or --baseline-path FILE"
        )
    return {"lang": value.partition("/")[0]}


def _baseline(value: str) -> dict[str, Any]:
    return {} if value == "no" else {**_table(value), "rescale_with_baseline": True}


def _matching(value: str) -> dict[str, Any]:
    if value == "greedy":
        return {}
    mutual = re.fullmatch(r"mutual\((.+)\)", value)
    if mutual is None:
        raise ValueError
    return {**_table(mutual[1]), "matching": "mutual"}


def _special_tokens(value: str) -> dict[str, Any]:
    return {"match_special_tokens": {"matched": True, "unmatched": False}[value]}


def _max_length(value: str) -> dict[str, Any]:
    return {} if value in ("any", "own") else {"max_length": int(value)}


def _choice(name: str) -> Callable[[str], dict[str, Any]]:
    def read(value: str) -> dict[str, Any]:
        if value == "own":  # an encoder that has rules of its own
            return {}
        if value not in ABOUT[name].choices:
            raise ValueError
        return {name: value}

    return read


_READERS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "encoder": _encoder,
    "layers": _layers,
    "idf": _idf,
    "beta": lambda value: {"beta": float(value)},
    "baseline": _baseline,
    "special_tokens": _special_tokens,
    "matching": _matching,
    "references": _choice("multi_reference"),
    "overflow": _choice("overflow"),
    "max_length": _max_length,
    "empty": lambda value: {"empty_score": float(value)},
    "dtype": _choice("dtype"),
}


def _python(value: Any) -> str:
    if isinstance(value, str):
        return '"{}"'.format(value.replace("\\", "\\\\").replace('"', '\\"'))
    return repr(list(value) if isinstance(value, tuple) else value)


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and not re.fullmatch(r"[\w./-]+", value):
        return "'{}'".format(value.replace("'", "\\'"))
    return f"[{','.join(map(str, value))}]" if isinstance(value, tuple | list) else str(value)


def _flag_value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
