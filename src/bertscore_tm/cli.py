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
from .audit_command import add_audit
from .baseline_command import add_baseline
from .checks import spelled_as_flags
from .compare_command import add_compare
from .correlate_command import add_correlate
from .decoding import printable
from .errors import BERTScoreError
from .explain_command import add_explain
from .idf_command import add_idf
from .report_command import add_report
from .score_command import add_score
from .signature_command import add_signature
from .tune_command import add_tune

_COMMANDS = (
    add_score, add_explain, add_report, add_compare, add_correlate, add_tune, add_baseline, add_idf,
    add_audit, add_signature,
)  # fmt: skip


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
    for add_command in _COMMANDS:
        add_command(commands)
    return parser
