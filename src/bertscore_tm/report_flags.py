"""Flags of the commands that draw conclusions, and how these are written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .checks import FLAGS
from .errors import InvalidValueError
from .output import add_output_flag
from .references import SCORE_NAMES

if TYPE_CHECKING:
    from .pipeline import Pipeline

REPORTS = ("text", "json")
FLAGS.update(resamples="--resamples", confidence="--confidence", seed="--seed")


def add_score_flag(group: Any, use: str) -> None:
    """Add the flag that says which of precision, recall and F1 is used."""
    group.add_argument(
        "--score", choices=SCORE_NAMES, default="f1", help=f"what is {use} (default: f1)"
    )


def add_resampling_flags(group: Any, resamples: int) -> None:
    """Add the flags of a bootstrap."""
    group.add_argument(
        FLAGS["resamples"],
        type=int,
        default=resamples,
        metavar="N",
        help=f"at least 100 (default: {resamples})",
    )
    group.add_argument(
        FLAGS["confidence"],
        type=float,
        default=0.95,
        metavar="X",
        help="of the intervals (default: 0.95)",
    )
    group.add_argument(
        FLAGS["seed"], type=int, default=0, metavar="N", help="of the resamples (default: 0)"
    )


def add_report_flags(group: Any) -> None:
    """Add the flags that say how and where to write what was found."""
    group.add_argument(
        "--format", choices=REPORTS, help="default: what --output ends in, else text"
    )
    add_output_flag(group)
    group.add_argument("--quiet", action="store_true", help="no progress bar, even on a terminal")


REPORTS = ("text", "json")


def one_layer(pipeline: Pipeline) -> None:
    """Raise InvalidValueError for several layers, of which nobody knows which is meant."""
    if len(pipeline.layers) > 1:
        raise InvalidValueError(f"got {len(pipeline.layers)} layers; wanted one (--num-layers K)")


def written(found: Any, form: str, signature: str, score: str = "") -> str:
    """What was found, with the score that it is about and the signature of how that is made."""
    if form == "json":
        plain = {"signature": signature, **({"score": score} if score else {}), **found.to_dict()}
        return json.dumps(plain, indent=1, allow_nan=False) + "\n"
    named = f"score: {score}\n" if score else ""
    return f"{found.to_text()}{named}{signature}\n"
