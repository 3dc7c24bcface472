"""The files of a command: the flags that name them, and their texts."""

from __future__ import annotations

import argparse
from typing import Any

from .checks import FLAGS
from .decoding import KINDS
from .errors import InvalidValueError
from .tables import QUOTING
from .textfiles import join_references, read_texts

FLAGS.update(kind="--input-format", quoting="--quoting")
FLAGS.update(column="--candidate-column, --reference-column, --text-column")


def add_data_flags(group: Any, required: bool = True) -> None:
    """Add the flags that name files and say how to read them."""
    group.add_argument(
        "-c",
        "--candidates",
        nargs="+",
        required=required,
        metavar="FILE",
        help="predictions; several files: several systems",
    )
    group.add_argument(
        "-r",
        "--references",
        nargs="+",
        required=required,
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
    add_reading_flags(group)


def add_text_flags(group: Any, required: bool = True) -> None:
    """Add the flags that name files of texts which all stand for themselves."""
    group.add_argument(
        "-t", "--texts", nargs="+", required=required, metavar="FILE", help="texts, one a line"
    )
    group.add_argument(
        "--text-column", metavar="NAME", help="column or key of the texts in tables and JSON"
    )
    add_reading_flags(group)


def read_text_files(options: argparse.Namespace) -> list[str]:
    """The texts of all files, one after the other.

    Raises:
        TextFileError: if a file cannot be read.
        InvalidValueError: if one is not what it should be, or there are no texts.
    """
    if options.texts.count("-") > 1:
        raise InvalidValueError("got - more than once; wanted standard input for one file only")
    with_lists = [_read(name, options.text_column, options) for name in options.texts]
    texts = [each if isinstance(each, list) else [each] for part in with_lists for each in part]
    found = [text for group in texts for text in group]
    if not found:
        raise InvalidValueError(
            f"got no texts in {', '.join(map(repr, options.texts))}; wanted one a line"
        )
    return found


def add_reading_flags(group: Any) -> None:
    """Add the flags that say how to read files."""
    group.add_argument(
        FLAGS["kind"], choices=KINDS, help="what the files are, whatever their names end in"
    )
    group.add_argument(
        FLAGS["quoting"],
        choices=QUOTING,
        default="auto",
        help="whether .tsv files quote cells as .csv files do (default: auto)",
    )


def read_data(options: argparse.Namespace) -> tuple[list[list[str]], list[list[str]]]:
    """The predictions of each file, and the references of each row.

    Raises:
        TextFileError: if a file cannot be read.
        InvalidValueError: if the files do not fit together.
    """
    named = [*options.candidates, *options.references, getattr(options, "source", None)]
    if named.count("-") > 1:
        raise InvalidValueError("got - more than once; wanted standard input for one file only")
    column = options.candidate_column
    candidates = [read_single(name, column, options) for name in options.candidates]
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
    return candidates, references


def _read(name: str, column: str | None, options: argparse.Namespace) -> list[str | list[str]]:
    return read_texts(name, column, kind=options.input_format, quoting=options.quoting)


def read_single(
    name: str, column: str | None, options: argparse.Namespace, what: str = "prediction"
) -> list[str]:
    """The texts of a file that has one a row.

    Args:
        name: of the file.
        column: of its texts, in a table.
        options: the flags of `add_data_flags`.
        what: each text is, for messages.

    Raises:
        TextFileError: if the file cannot be read.
        InvalidValueError: if it is not what it should be.
    """
    texts = []
    for number, text in enumerate(_read(name, column, options), 1):
        if not isinstance(text, str):
            got = f"{name!r}, row {number}: got a list"
            raise InvalidValueError(f"{got}; wanted one {what} a line")
        texts.append(text)
    return texts
