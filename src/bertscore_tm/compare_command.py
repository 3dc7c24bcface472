"""The command ``bertscore-tm compare``: which system is better, and whether that can be told."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .checks import FLAGS
from .data_flags import add_data_flags, read_data
from .errors import InvalidValueError
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .output import add_output_flag, check_output, format_of, write_output
from .references import SCORE_NAMES

if TYPE_CHECKING:
    from .pipeline import Pipeline
    from .significance import Comparison

FLAGS.update(against="--against", resamples="--resamples", confidence="--confidence", seed="--seed")


def add_compare(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "compare",
        help="tell whether one system is better than another",
        description="Compare systems on the same references: means, paired bootstrap, paired "
        "approximate randomisation with Holm's correction, wins, ties and losses, and the "
        "smallest difference that as many samples could show.",
    )
    parser.set_defaults(command=_compare)
    add_data_flags(parser.add_argument_group("data"))
    statistics = parser.add_argument_group("statistics")
    add_score_flag(statistics, "compared")
    statistics.add_argument(
        FLAGS["against"], metavar="FILE", help="compare with this system only; default: all pairs"
    )
    add_resampling_flags(statistics, 10_000)
    settings = parser.add_argument_group("settings")
    add_setting_flags(settings)
    add_device_flag(settings)
    add_report_flags(parser.add_argument_group("output"))


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


def written(found: Any, form: str, signature: str) -> str:
    """What was found, with the signature of its scores."""
    if form == "json":
        plain = {"signature": signature, **found.to_dict()}
        return json.dumps(plain, indent=1, allow_nan=False) + "\n"
    return f"{found.to_text()}{signature}\n"


def _compare(options: argparse.Namespace) -> None:
    names = options.candidates
    if len({*names}) < max(2, len(names)):
        raise InvalidValueError(
            f"got {', '.join(map(repr, names))} as --candidates; wanted a file for each of at "
            "least two systems, each once"
        )
    candidates, references = read_data(options)
    form = format_of(options.output, options.format, REPORTS)
    check_output(options)
    from .significance import check_comparison, compare

    check_comparison(names, len(references), options.against, options.resamples,
                     options.confidence, options.seed)  # fmt: skip
    pipeline, device = pipeline_of(options, show=not options.quiet)
    one_layer(pipeline)
    from .functional import score_rows
    from .rows import read_rows

    scores = {
        name: score_rows(pipeline, read_rows(texts, references), device)[options.score]
        for name, texts in zip(names, candidates)
    }
    found: Comparison = compare(
        scores,
        against=options.against,
        resamples=options.resamples,
        confidence=options.confidence,
        seed=options.seed,
    )
    write_output(written(found, form, pipeline.signature()), options.output)
