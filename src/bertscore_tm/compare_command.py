"""The command ``bertscore-tm compare``: which system is better, and whether that can be told."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .checks import FLAGS
from .data_flags import add_data_flags, read_data
from .errors import InvalidValueError
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .output import check_output, format_of, write_output
from .report_flags import (
    REPORTS,
    add_report_flags,
    add_resampling_flags,
    add_score_flag,
    one_layer,
    written,
)

if TYPE_CHECKING:
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
    write_output(written(found, form, pipeline.signature(), options.score), options.output)
