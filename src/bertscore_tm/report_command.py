"""The command ``bertscore-tm report``: a page to look at, and a sheet for people to fill in."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .checks import FLAGS
from .data_flags import add_data_flags, read_data, read_single
from .decoding import printable
from .errors import InvalidValueError
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .output import add_output_flag, check_output, format_of, write_output
from .report_flags import add_resampling_flags

if TYPE_CHECKING:
    from .reporting import Report

FLAGS.update(alignments="--alignments", number="--annotate", title="--title")


def add_report(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        help="write a page that shows one or several systems",
        description="Write a page (.html) that shows one or several systems on the same "
        "references: means with intervals, the spread of the scores, every sample with its texts, "
        "and of some which token matches which. It is one file that loads nothing.",
    )
    parser.set_defaults(command=_report)
    data = parser.add_argument_group("data")
    add_data_flags(data)
    data.add_argument("--source", metavar="FILE", help="what the predictions were made of")
    data.add_argument("--source-column", metavar="NAME", help="column or key of the sources")
    page = parser.add_argument_group("page")
    page.add_argument("--title", default="BERTScore report", help="of the page")
    page.add_argument(
        "--alignments",
        type=int,
        default=100,
        metavar="N",
        help="show which token matches which in so many rows: worst, best, most different, random "
        "(default: 100)",
    )
    add_resampling_flags(page, 1000)
    people = parser.add_argument_group("people")
    people.add_argument(
        "--annotate",
        type=int,
        metavar="N",
        help="also choose N rows for people to score: worst, best, most different, random",
    )
    people.add_argument(
        "--annotate-output",
        metavar="FILE",
        help="the table of these, with tabs, without scores and names of systems",
    )
    settings = parser.add_argument_group("settings")
    add_setting_flags(settings)
    add_device_flag(settings)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format", choices=tuple(_FORMATS), help="default: what --output ends in, else text"
    )
    add_output_flag(output)
    output.add_argument("--quiet", action="store_true", help="no progress bar, even on a terminal")


def _report(options: argparse.Namespace) -> None:
    if (options.annotate is None) != (options.annotate_output is None):
        got, other = ("--annotate", "--annotate-output")[:: -1 if options.annotate is None else 1]
        raise InvalidValueError(f"got {got} alone; wanted {other}, too")
    candidates, references = read_data(options)
    sources = None
    if options.source is not None:
        sources = read_single(options.source, options.source_column, options, "source")
    elif options.source_column is not None:
        raise InvalidValueError("got --source-column alone; wanted --source FILE, too")
    write = _FORMATS[format_of(options.output, options.format, _FORMATS)]
    check_output(options)
    if options.annotate_output is not None:
        check_output(options, "annotate_output")
        if options.output is not None and os.path.samefile(options.output, options.annotate_output):
            raise InvalidValueError(
                f"got {options.output!r} as --output and as --annotate-output; wanted two files"
            )
    from .report_data import Wishes, check_number, collect_data
    from .reporting import Report
    from .rows import read_rows

    wishes = Wishes(
        options.title, options.alignments, options.resamples, options.confidence, options.seed
    )
    if options.annotate is not None:
        check_number("number", options.annotate, 1)
    pipeline, device = pipeline_of(options, show=not options.quiet)
    systems = [
        (name, read_rows(texts, references))
        for name, texts in zip(_names(options.candidates), candidates)
    ]
    report = Report(collect_data(pipeline, systems, device, sources, wishes))
    write_output(write(report), options.output)
    if options.annotate is not None:
        _write_sheet(report, options)


def _write_sheet(report: Report, options: argparse.Namespace) -> None:
    from .annotation import system_codes

    sheet = report.annotation_sheet(options.annotate, options.seed)
    write_output(sheet, options.annotate_output)
    names = [system["name"] for system in report.data["systems"]]
    codes = system_codes(names, options.seed)
    said = ", ".join(f"{code} is {name!r}" for code, name in sorted(zip(codes, names)))
    print(
        f"bertscore-tm: wrote {printable(options.annotate_output)}: fill in human_score; "
        f"{printable(said)}",
        file=sys.stderr,
    )


def _names(files: list[str]) -> list[str]:
    """What the systems are called: like their files, numbered where one comes again."""
    return [
        name if files.index(name) == place else f"{name} ({files[:place].count(name) + 1})"
        for place, name in enumerate(files)
    ]


_FORMATS: dict[str, Callable[[Report], str]] = {
    "text": lambda report: report.to_text(),
    "json": lambda report: report.to_json(),
    "html": lambda report: report.to_html(),
}
