"""What the settings of the example must be: checked as a whole, before anything is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from transformers import GenerationConfig

from .choice import CHOICES
from .errors import SettingError, blame, nearest, offered
from .groups import choices
from .metrics import NAMES as SCORES
from .rules import (
    FILE,
    NAME,
    NAMES,
    SWITCH,
    TEXT,
    Rule,
    each_of,
    is_whole,
    number,
    one_of,
    optional,
    whole,
)

VALIDATED = tuple(f"val_{name}" for name in SCORES)  # what the module logs of a validation
_ONE_NUMBER = ": validation logs one number"
_ONE_LAYER = Rule(
    f"null or one layer{_ONE_NUMBER} (experiment=layer_sweep compares all layers)",
    lambda value: value is None or is_whole(value) or (isinstance(value, list) and len(value) == 1),
)
_EPOCHS = Rule(
    "a whole number from 1, or -1: until early stopping",
    lambda value: value is None or is_whole(value, 1) or value == -1,
)
_COUNT, _SIZE = whole(1), whole(3)  # of a text with its markers: one word at least

# The first pattern that fits a key is its rule.
_TRAINING: dict[str, Rule] = {
    "name": NAME,
    "task": one_of("fit", "validate", "test", why=" (fit trains)"),
    "checkpoint": optional(FILE),
    "test": SWITCH,
    "seed": whole(0, 2**32 - 1),
    "num_threads": optional(_COUNT),
    "metric.score": one_of("f1", "precision", "recall", why=_ONE_NUMBER),
    "metric.reduction": one_of("mean", why=_ONE_NUMBER),
    "metric.num_layers": _ONE_LAYER,
    "data.num_workers": whole(0),
    "data.max_*": optional(_COUNT),
    "data.*batch_size": _COUNT,
    "data.packages": NAMES,
    "data.seed": whole(),
    "data.name": NAME,
    "data.source": NAME,
    "data.target": NAME,
    "data.train": optional(NAME),
    "data.val": optional(NAME),
    "data.test": optional(NAME),
    "data.splits.*": NAME,
    "model.name": NAME,
    "model.encoder": NAME,
    "model.tokenizer": NAME,
    "model.prefix": TEXT,
    "model.max_*_tokens": _SIZE,
    "model.dropout": number("from 0 to below 1", lambda value: 0 <= value < 1),
    "model.word_vectors": SWITCH,
    "model.freeze_encoder": SWITCH,
    "model.vocab_size": _COUNT,
    "model.d_*": _COUNT,
    "model.num_*": _COUNT,
    "model.*_layers": _COUNT,
    "generation.choice": one_of(*CHOICES),
    "generation.generation.do_sample": SWITCH,
    "generation.generation.temperature": number("above 0", lambda value: value > 0),
    "generation.generation.top_p": number("above 0, 1 at most", lambda value: 0 < value <= 1),
    "generation.generation.length_penalty": number("of any size", lambda value: True),
    "generation.generation.no_repeat_ngram_size": whole(0),
    "generation.generation.max_new_tokens": _COUNT,
    "generation.generation.num_*": _COUNT,
    "optimizer.lr": number("above 0", lambda value: value > 0),
    "scheduler.num_warmup_steps": whole(0),
    "trainer.max_epochs": _EPOCHS,
    "callbacks.score_table.columns": each_of(*VALIDATED),
    "callbacks.samples.most": _COUNT,
    "callbacks.report.alignments": whole(0),
    "callbacks.early_stopping.patience": whole(0),
    "callbacks.*.monitor": optional(one_of(*VALIDATED, "train_loss")),
    "callbacks.*.mode": one_of("min", "max"),
}
_EVALUATION: dict[str, Rule] = {
    "name": NAME,
    "predictions": NAME,
    "prediction": NAME,
    "target": NAME,
    "metric.score": Rule("null: all three scores are written", lambda value: value is None),
    "metric.reduction": one_of("none", why=": one value a sample; their means are printed"),
}
_NEEDED = ("data", "model", "generation", "optimizer", "scheduler", "metric", "trainer", "paths")
_OPTIONAL = ("callbacks", "logger")  # of these there may be none


def check_training(cfg: DictConfig) -> None:
    """Check all settings of a training.

    Raises:
        SettingError: for the first one that will not do; the message names it, what was got and
            what is wanted.
    """
    settings = _plain(cfg, _NEEDED)
    top = ("name", "task", "checkpoint", "test", "seed", "num_threads")
    _check(settings, _TRAINING, top)
    _check_generation(settings["generation"])


def check_evaluation(cfg: DictConfig) -> None:
    """Check all settings of an evaluation.

    Raises:
        SettingError: as in `check_training`.
    """
    given = cfg.get("prediction")
    if OmegaConf.is_missing(cfg, "predictions") and given not in ("prediction", None):
        raise SettingError(
            f"got no predictions, and prediction={given}, which is the key of the text to score; "
            f"did you mean predictions={given}?"
        )
    _check(
        _plain(cfg, ("metric", "paths")),
        _EVALUATION,
        ("name", "predictions", "prediction", "target"),
    )


def _plain(cfg: DictConfig, groups: Sequence[str]) -> dict[str, Any]:
    """The settings with what they refer to, once all that is needed is there."""
    for group in groups:
        made = group not in ("generation", "paths")
        part = None if OmegaConf.is_missing(cfg, group) else cfg.get(group)
        if not isinstance(part, DictConfig) or (made and part.get("_target_") is None):
            raise SettingError(
                f"got no {group}; wanted {group}=NAME, one of {', '.join(choices(group))}"
            )
    with blame("the configuration"):
        for key in sorted(OmegaConf.missing_keys(cfg)):
            raise SettingError(f"got no {key}; wanted {key}=VALUE on the command line")
        settings: Any = OmegaConf.to_container(cfg, resolve=True)
    for group in _OPTIONAL:
        if not isinstance(settings.get(group) or {}, dict):
            raise SettingError(
                f"got {group}={settings[group]}; wanted one of {', '.join(choices(group))}"
            )
    return {str(key): value for key, value in settings.items()}


def _check(settings: dict[str, Any], rules: Mapping[str, Rule], top: Sequence[str]) -> None:
    for key in top:
        if key not in settings:
            raise SettingError(f"got no {key}; wanted {rules[key].wanted}")
    for key, value in _flat(settings):
        rule = next((rule for name, rule in rules.items() if fnmatchcase(key, name)), None)
        if rule is not None:
            rule.check(key, value)
    for key, node in _made(settings):
        _check_target(key, node)


def _flat(part: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in part.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _made(part: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings that become objects."""
    for key, value in part.items():
        if isinstance(value, dict):
            if "_target_" in value:
                yield f"{above}{key}", value
            yield from _made(value, f"{above}{key}.")


def _check_target(key: str, node: Mapping[str, Any]) -> None:
    """Refuse what a target does not take, and a target that lacks something or is none."""
    with blame(f"{key}._target_"):
        target = get_object(node["_target_"])
    takes: dict[str, inspect.Parameter] = {}
    owners = target.__mro__ if inspect.isclass(target) else [target]
    for owner in owners:  # what the bases take too, as far as it hands on **options
        function = vars(owner).get("__init__") if inspect.isclass(owner) else owner
        if function is None:
            continue
        parameters = inspect.signature(function).parameters
        takes = {**parameters, **takes}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            break
    else:
        return  # takes anything, and says itself what will not do
    names = [
        name
        for name, parameter in takes.items()
        if name != "self"
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    given = [name for name in node if not name.startswith("_")]
    for name in given:
        if name not in names:
            raise SettingError(
                f"got {key}.{name}, which {node['_target_']} does not take{offered(name, names)}"
            )
    lacking = [n for n in names if takes[n].default is inspect.Parameter.empty and n not in given]
    if lacking and not node.get("_partial_"):
        raise SettingError(f"got no {key}.{lacking[0]}; wanted it: {node['_target_']} needs it")


def _check_generation(settings: Mapping[str, Any]) -> None:
    for key in settings:
        if key not in ("choice", "generation"):
            hint = nearest(key, ("choice", "generation"))
            raise SettingError(f"got generation.{key}; wanted choice or generation.NAME{hint}")
    options = settings.get("generation")
    if not isinstance(options, dict):
        raise SettingError("got no generation.generation; wanted the arguments of generate")
    known = [name for name in vars(GenerationConfig()) if not name.startswith("_")]
    for name in options:
        if name not in known:
            raise SettingError(
                f"got generation.generation.{name}; wanted an argument of transformers' generate"
                f"{nearest(name, known)}"
            )
    texts, choice = options.get("num_return_sequences", 1), settings.get("choice", "first")
    beams = options.get("num_beams", 1)
    several = "wanted generation.generation.num_return_sequences"
    if choice != "first" and texts < 2:
        raise SettingError(
            f"got generation.choice={choice} with one candidate; {several} above 1, as in "
            "generation=mbr"
        )
    if texts > beams and not options.get("do_sample", False):
        raise SettingError(
            f"got generation.generation.num_return_sequences={texts} without chance and with "
            f"num_beams={beams}; wanted do_sample=true, or as many beams"
        )
