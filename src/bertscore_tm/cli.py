"""The command line: ``bertscore-tm score -c predictions.txt -r references.txt``.

PyTorch is imported with the first file that is scored: help and mistakes come at once.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from ._version import __version__
from .baseline_command import add_baseline
from .checks import spelled_as_flags
from .data_flags import add_data_flags, read_data
from .decoding import printable
from .errors import BERTScoreError
from .explain_command import add_explain
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .idf_command import add_idf
from .output import add_output_flag, check_output, format_of, write_output
from .results import FORMATS, Samples, System
from .tune_command import add_tune


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: what stands after the command's name; None: that of this process.

    Returns:
        0, or 2 after an error that is the user's to mend; standard error then has the message.
    """
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for a terminal that knows ASCII only
    try:
        with warnings.catch_warnings(), spelled_as_flags():
            warnings.showwarning = _warned
            options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        with suppress(io.UnsupportedOperation):
            # The interpreter flushes once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BERTScoreError as error:  # anything else is a bug, and is seen as one
        print(f"bertscore-tm: error: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # as a shell has it
    return 0


def _warned(message: Warning | str, *where: Any, **more: Any) -> None:
    """A line without the place in the code, which is nobody's business here."""
    print(
        f"bertscore-tm: warning: {printable(str(message).removeprefix('BERTScore: '))}",
        file=sys.stderr,
    )


class _Parser(argparse.ArgumentParser):
    """Its messages quote what was given, which may hold commands to the terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bertscore-tm", description="BERTScore of generated texts against references."
    )
    parser.add_argument("--version", action="version", version=f"bertscore-tm {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    score = commands.add_parser(
        "score",
        help="score predictions against references",
        description="Score predictions against references, one text a line. Files: plain lines, "
        ".csv and .tsv with a header, .json, .jsonl; each may end in .gz; - is standard input.",
    )
    score.set_defaults(command=_score)
    add_data_flags(score.add_argument_group("data"))
    settings = score.add_argument_group("settings")
    add_setting_flags(settings)
    add_device_flag(settings)
    _add_output_flags(score.add_argument_group("output"))
    add_explain(commands)
    add_baseline(commands)
    add_tune(commands)
    add_idf(commands)
    return parser


def _add_output_flags(group: Any) -> None:
    group.add_argument(
        "--per-sample", action="store_true", help="also the row, P, R and F1 of each prediction"
    )
    group.add_argument("--texts", action="store_true", help="with the texts of each prediction")
    group.add_argument(
        "--worst-first", action="store_true", help="each prediction, in the order of F1"
    )
    group.add_argument(
        "--format", choices=tuple(FORMATS), help="default: what --output ends in, else text"
    )
    add_output_flag(group)
    group.add_argument("--quiet", action="store_true", help="no progress bar, even on a terminal")


def _score(options: argparse.Namespace) -> None:
    candidates, references = read_data(options)
    write = FORMATS[format_of(options.output, options.format, FORMATS)]
    check_output(options)
    systems = []
    pipeline, device = pipeline_of(options, show=not options.quiet)
    from .functional import score_rows
    from .rows import read_rows

    for name, texts in zip(options.candidates, candidates):
        scores = score_rows(pipeline, read_rows(texts, references), device)
        systems.append(System(name, scores, texts, references))
    each = options.per_sample or options.texts or options.worst_first
    samples = Samples(options.texts, options.worst_first) if each else None
    text = write(systems, pipeline.signature(), samples)
    write_output(text, options.output)
