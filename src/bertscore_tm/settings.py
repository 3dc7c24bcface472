"""The one list of settings: type, default, check, help, flag, and what each setting shapes.

`BERTScore`, `bert_score`, the command line, the Hydra defaults, the signature and the fingerprint
read it. A new setting is a field of `Settings`, its type in `Options`, and an argument of
`BERTScore.__init__` (CONTRIBUTING has the rest); tests hold them together. Nothing heavy is
imported here: the command line reads it before PyTorch is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from .byte_sizes import parse_bytes
from .checks import (
    FLAGS,
    Check,
    any_value,
    byte_size,
    finite_number,
    language,
    one_of,
    parse_layers,
    text,
    true_or_false,
    whole_number,
)
from .errors import InvalidTypeError
from .languages import language_code
from .references import RULES
from .tuned import TunedLayer

if TYPE_CHECKING:
    from .baseline import Baseline
    from .weighting import IdfSetting

Score = Literal["f1", "precision", "recall"]
Reduction = Literal["mean", "none"]
Overflow = Literal["truncate", "window", "error"]
Dtype = Literal["float32", "bfloat16", "float16"]
Matching = Literal["greedy", "mutual"]
Layers = int | Sequence[int] | str | TunedLayer  # the text "all", or a file of `tune`
# What a setting shapes: the best matches; what is made of them (P, R and F1 of a sample); only the
# answer, which is made anew from the same state; or none of these, but how the work is done.
Shapes = Literal["matches", "scores", "answer", "work"]


@dataclass(frozen=True)
class About:
    """What there is to know of a setting beside its type and default.

    Attributes:
        help: one line.
        shapes: see `Shapes`; decides whether it is part of fingerprint and signature.
        check: raises what is wrong with a value.
        choices: the values that exist, where these are few.
        flag: its name on the command line, if it has one there: of a switch the one that turns
            the default around.
        short: one letter for it.
        metavar: what stands for its value in the help.
        parse: what the command line makes of that value.
        bare: the flag alone, without a value, means True.
        label: its name in the signature; None: it is not part of that; "": its own name.
    """

    help: str
    shapes: Shapes
    check: Check
    choices: tuple[str | None, ...] = ()
    flag: str | None = None
    short: str | None = None
    metavar: str | None = None
    parse: Callable[[str], Any] = str
    bare: bool = False
    label: str | None = ""


def _setting(
    default: Any,
    help: str,  # noqa: A002 - named like argparse's
    shapes: Shapes,
    check: Check | None = None,
    *,
    choices: tuple[str | None, ...] = (),
    **more: Any,
) -> Any:
    check = check or (one_of(*choices) if choices else any_value)
    return field(default=default, metadata={"about": About(help, shapes, check, choices, **more)})


_POSITIVE = whole_number(1, "a positive number of tokens")


# fmt: off
@dataclass(frozen=True, eq=False)
class Settings:
    """All settings of a metric, checked when they are put together."""

    model_name_or_path: Any = _setting(
        None, "encoder: hub name, folder or the alias minilm; none: the one for the language",
        "matches", flag="--model", short="-m", metavar="NAME", label="encoder",
    )
    num_layers: Layers | None = _setting(
        None, "hidden state (0: embeddings), several with commas, all, a file of tune; none: tuned",
        "matches", flag="--num-layers", short="-n", metavar="K", parse=parse_layers, label="layers",
    )
    score: Score | None = _setting(
        "f1", "f1, precision, recall, or none: all three",
        "answer", choices=(*get_args(Score), None), label=None,
    )
    reduction: Reduction = _setting(
        "mean", "mean over the samples, or none: one value a sample",
        "answer", choices=get_args(Reduction), label=None,
    )
    lang: str | None = _setting(
        None, "language code: chooses encoder (if none is named) and baseline",
        "work", language, flag="--lang", short="-l", metavar="CODE",
    )
    idf: IdfSetting = _setting(
        False, "weight tokens: by rarity in these references, by name (uniform, epoch), by a table",
        "matches", flag="--idf", metavar="TABLE", bare=True,
    )
    beta: float = _setting(
        1.0, "how many times as much recall counts in F1 as precision",
        "scores", finite_number(positive=True), flag="--beta", metavar="B", parse=float,
    )
    rescale_with_baseline: bool | Baseline = _setting(
        False, "rescale with the packaged baseline, or with that of a file",
        "answer", flag="--rescale-with-baseline", label="baseline",
    )
    baseline_path: str | os.PathLike[str] | None = _setting(
        None, "file of a baseline: LAYER,P,R,F",
        "answer", flag="--baseline-path", metavar="FILE", label=None,
    )
    match_special_tokens: bool = _setting(
        True, "special tokens, which never have a weight, may be matched",
        "matches", true_or_false, flag="--no-match-special-tokens", label="special_tokens",
    )
    matching: Matching = _setting(
        "greedy", "greedy, or mutual: half the credit where the match has a better one",
        "matches", choices=get_args(Matching), flag="--matching",
    )
    multi_reference: str = _setting(
        "max", f"what several references make of it: {', '.join(RULES)}",
        "scores", choices=tuple(RULES), flag="--multi-reference", label="references",
    )
    overflow: Overflow = _setting(
        "truncate", "texts above the limit: truncate, window (scored whole) or error",
        "matches", choices=get_args(Overflow), flag="--overflow",
    )
    max_length: int | None = _setting(
        None, "tokens of a text, special ones included; none: what the encoder allows",
        "matches", _POSITIVE, flag="--max-length", metavar="N", parse=int,
    )
    empty_score: float = _setting(
        0.0, "score of a sample with nothing to score",
        "answer", finite_number(), flag="--empty-score", metavar="X", parse=float, label="empty",
    )
    dtype: Dtype = _setting(
        "float32", "of the encoder: float32, bfloat16 or float16",
        "matches", choices=get_args(Dtype), flag="--dtype",
    )
    revision: str | None = _setting(
        None, "of the encoder on the model hub: a branch, a tag or a commit",
        "work", text, flag="--revision", metavar="NAME",
    )
    safetensors_only: bool = _setting(
        True, "refuse weights that are a pickle, which can run code when it is loaded",
        "work", true_or_false, flag="--trust-pickle",
    )
    batch_tokens: int | None = _setting(
        None, "padded tokens in one pass; none: 2048 on a CPU, 32768 elsewhere",
        "work", _POSITIVE, flag="--batch-tokens", metavar="N", parse=int,
    )
    compile: bool = _setting(
        False, "torch.compile the encoder: half a minute to start, for long jobs",
        "work", true_or_false, flag="--compile",
    )
    embedding_cache: int | str = _setting(
        "512MB", "memory for vectors of texts that come again; 0: none",
        "work", byte_size, flag="--embedding-cache", metavar="SIZE",
    )
    verbose: bool = _setting(False, "show a progress bar", "work", true_or_false)
    # fmt: on

    def __post_init__(self) -> None:
        """Check all values.

        Raises:
            InvalidTypeError: if a value has the wrong type.
            InvalidValueError: if it does not exist or does not fit.
        """
        for name, about in ABOUT.items():
            value = _fixed(name, getattr(self, name))
            about.check(name, value)
            object.__setattr__(self, name, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Settings:
        """Copies are the same object, and so share an encoder that was given."""
        return self

    @property
    def language(self) -> str | None:
        """The language as the tables spell it."""
        return None if self.lang is None else language_code(self.lang)

    @property
    def cache_bytes(self) -> int:
        """``embedding_cache`` as a number."""
        return parse_bytes(self.embedding_cache)

    def changed(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        given = {name: getattr(self, name) for name in ABOUT}
        return {name: value for name, value in given.items() if not _same(value, DEFAULTS[name])}


class Options(TypedDict, total=False):
    """The types of the settings that stand behind the encoder and its layers, for `bert_score`."""

    lang: str | None
    idf: IdfSetting
    beta: float
    rescale_with_baseline: bool | Baseline
    baseline_path: str | os.PathLike[str] | None
    match_special_tokens: bool
    matching: Matching
    multi_reference: str
    overflow: Overflow
    max_length: int | None
    empty_score: float
    dtype: Dtype
    revision: str | None
    safetensors_only: bool
    batch_tokens: int | None
    compile: bool
    embedding_cache: int | str
    verbose: bool


ABOUT: Mapping[str, About] = {f.name: f.metadata["about"] for f in fields(Settings)}
DEFAULTS: Mapping[str, Any] = {f.name: f.default for f in fields(Settings)}
FLAGS.update({name: about.flag for name, about in ABOUT.items() if about.flag is not None})


def _fixed(name: str, value: Any) -> Any:
    """A value that nobody else can change, and of the plain type."""
    is_path = isinstance(value, str | os.PathLike) and name == "num_layers"
    if is_path and os.fsdecode(value).endswith(".json"):
        return TunedLayer.load(value)  # now: other processes may not see the file
    if isinstance(value, str):
        return str.__str__(value)  # of an enumeration of texts
    if isinstance(value, Mapping):
        return dict(value)
    is_list = isinstance(value, Sequence | Iterator) and not isinstance(value, bytes)
    return tuple(value) if is_list and name == "num_layers" else value


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


# Arguments of torchmetrics' own BERTScore and of bert-score that have another name here, or no use.
_RENAMED = {
    "all_layers": "num_layers='all'",
    "model": "model_name_or_path: a name, or HuggingFaceEncoder(model, tokenizer)",
    "user_tokenizer": "BERTScore(HuggingFaceEncoder(model, tokenizer))",
    "user_forward_fn": "a subclass of bertscore_tm.Encoder",
    "batch_size": "batch_tokens, padded tokens in one pass",
    "device": "metric.to(device)",
    "return_hash": "metric.signature",
    "num_threads": "nothing: there are no worker processes",
    "truncation": "overflow='truncate'",
    "baseline_url": "baseline_path, a file",
    "model_type": "model_name_or_path",
    "nthreads": "nothing: there are no worker processes",
    "idf_sents": "idf=IdfTable.fit(texts, encoder)",
    "use_fast_tokenizer": "HuggingFaceEncoder(name, tokenizer)",
}


def refuse_unknown(arguments: Mapping[str, object], known: Sequence[str]) -> None:
    """Raise InvalidTypeError for an argument that is not known, saying what is meant instead."""
    for name in arguments:
        if name in _RENAMED:
            raise InvalidTypeError(
                f"got the argument {name!r} of another BERTScore; here this is {_RENAMED[name]}"
            )
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"wanted some of {', '.join(known)}"
            raise InvalidTypeError(f"got the unknown argument {name!r}; {hint}")
