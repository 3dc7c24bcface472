"""The command line: ``bertscore-tm score -c predictions.txt -r references.txt``.

PyTorch is imported with the first file that is scored: help and mistakes come at once.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from ._version import __version__
from .checks import FLAGS, spelled_as_flags
from .decoding import KINDS, printable
from .errors import BERTScoreError, InvalidValueError, TextFileError, file_errors
from .flags import add_setting_flags, settings_of
from .results import FORMATS, Samples, System, format_of
from .tables import QUOTING
from .textfiles import join_references, read_texts


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


FLAGS.update(kind="--input-format", quoting="--quoting")
FLAGS.update(column="--candidate-column, --reference-column", device="--device")


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
    _add_data_flags(score.add_argument_group("data"))
    settings = score.add_argument_group("settings")
    add_setting_flags(settings)
    settings.add_argument(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1 ...; default: a GPU if there is one"
    )
    _add_output_flags(score.add_argument_group("output"))
    return parser


def _add_data_flags(group: Any) -> None:
    group.add_argument(
        "-c",
        "--candidates",
        nargs="+",
        required=True,
        metavar="FILE",
        help="predictions; several files: several systems",
    )
    group.add_argument(
        "-r",
        "--references",
        nargs="+",
        required=True,
        metavar="FILE",
        help="references; several files: several a line",
    )
    group.add_argument(
        "--candidate-column",
        metavar="NAME",
        help="column or key of the predictions in tables and JSON",
    )
    group.add_argument(
        "--reference-column",
        metavar="NAME",
        help="column or key of the references (a list: several references)",
    )
    group.add_argument(
        FLAGS["kind"], choices=KINDS, help="what the files are, whatever their names end in"
    )
    group.add_argument(
        FLAGS["quoting"],
        choices=QUOTING,
        default="auto",
        help="whether .tsv files quote cells as .csv files do (default: auto)",
    )


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
    group.add_argument(
        "-o", "--output", metavar="FILE", help="write there instead of standard output"
    )
    group.add_argument("--quiet", action="store_true", help="no progress bar, even on a terminal")


def _score(options: argparse.Namespace) -> None:
    if (options.candidates + options.references).count("-") > 1:
        raise InvalidValueError("got - more than once; wanted standard input for one file only")
    candidates = [[str(text) for text in _single(name, options)] for name in options.candidates]
    references = join_references(
        [_read(name, options.reference_column, options) for name in options.references],
        options.references,
    )
    for name, texts in zip(options.candidates, candidates):
        if len(texts) != len(references):
            raise InvalidValueError(
                f"{name!r} has {len(texts)} predictions for {len(references)} lines of "
                "references; wanted the same number"
            )
    if not references:
        raise InvalidValueError(
            f"got no texts in {', '.join(map(repr, options.references))}; wanted one a line"
        )
    write = FORMATS[format_of(options.output, options.format)]
    _check_output(options)
    systems = []
    signature, score = _scorer(options)
    for name, texts in zip(options.candidates, candidates):
        systems.append(System(name, score(texts, references), texts, references))
    each = options.per_sample or options.texts or options.worst_first
    samples = Samples(options.texts, options.worst_first) if each else None
    text = write(systems, signature, samples)
    if options.output is None:
        sys.stdout.write(text)
    else:
        with file_errors(options.output), open(options.output, "w", encoding="utf-8") as stream:
            stream.write(text)


def _check_output(options: argparse.Namespace) -> None:
    """Notice before the work what would fail after it."""
    output = options.output
    if output is None:
        if sys.stdout is None:  # the shell's >&-
            raise TextFileError("standard output is closed; wanted an open one, or --output")
        return
    read: list[Any] = [*options.candidates, *options.references, options.idf, options.baseline_path]
    if isinstance(options.model_name_or_path, str) and os.path.isdir(options.model_name_or_path):
        read += [entry.path for entry in os.scandir(options.model_name_or_path)]
    if "-" in read and sys.stdin is not None:
        with suppress(OSError, ValueError):  # a stream without a file
            read.append(sys.stdin.fileno())
    if os.path.isfile(output) and any(
        _same(output, name) for name in read if isinstance(name, (str, int)) and name is not True
    ):
        raise InvalidValueError(f"got {output!r} as --output, which is read; wanted another file")
    if os.path.exists(output) and not os.path.isfile(output) and not os.path.isdir(output):
        return  # a pipe must not be opened twice
    try:
        with file_errors(output):
            open(output, "a", encoding="utf-8").close()
    except ValueError as error:  # a NUL
        raise InvalidValueError(
            f"got {output!r} as --output ({error}); wanted the name of a file"
        ) from error


def _same(output: str, name: str | int) -> bool:
    return os.path.exists(name) and os.path.samestat(os.stat(output), os.stat(name))


def _read(name: str, column: str | None, options: argparse.Namespace) -> list[str | list[str]]:
    return read_texts(name, column, kind=options.input_format, quoting=options.quoting)


def _single(name: str, options: argparse.Namespace) -> list[str]:
    texts = []
    for number, text in enumerate(_read(name, options.candidate_column, options), 1):
        if not isinstance(text, str):
            got = f"{name!r}, row {number}: got a list"
            raise InvalidValueError(f"{got}; wanted one prediction a line")
        texts.append(text)
    return texts


def _scorer(
    options: argparse.Namespace,
) -> tuple[str, Callable[[list[str], list[list[str]]], dict[str, Any]]]:
    """The signature of what the flags say, and what gives the scores of rows."""
    from .functional import score_rows
    from .idf import IdfTable
    from .machine import usable_device
    from .pipeline import Pipeline
    from .rows import read_rows
    from .settings import Settings
    from .weighting import WEIGHTINGS, choose_weighting

    settings = settings_of(options)
    if isinstance(settings["idf"], str) and settings["idf"] not in WEIGHTINGS:
        if not os.path.exists(settings["idf"]):
            choose_weighting(settings["idf"])  # says which names there are
        settings["idf"] = IdfTable.load(settings["idf"])
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    show = not options.quiet and on_terminal
    pipeline = Pipeline(Settings(**settings, verbose=show))
    device = usable_device(options.device)
    return pipeline.signature(), lambda preds, target: score_rows(
        pipeline, read_rows(preds, target), device
    )
