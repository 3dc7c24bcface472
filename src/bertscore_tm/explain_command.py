"""The command ``bertscore-tm explain``: one row, token by token."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .data_flags import add_data_flags, read_data
from .errors import InvalidValueError
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .output import add_output_flag, check_output, format_of, write_output

if TYPE_CHECKING:
    from .alignment import Alignment


def add_explain(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "explain",
        help="show how one prediction gets its score",
        description="Show how one prediction gets its score: which token matches which, and what "
        "each one adds. Either two texts, or a row of the files that score reads; idf weights are "
        "then those of all their references.",
    )
    parser.set_defaults(command=_explain)
    parser.add_argument("pred", nargs="?", metavar="PRED", help="a prediction")
    parser.add_argument("target", nargs="*", metavar="REF", help="its reference or references")
    data = parser.add_argument_group("data")
    add_data_flags(data, required=False)
    data.add_argument(
        "--row", type=int, metavar="N", help="a row of the files, from 1, as score numbers them"
    )
    settings = parser.add_argument_group("settings")
    add_setting_flags(settings)
    add_device_flag(settings)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format", choices=tuple(_FORMATS), help="default: what --output ends in, else text"
    )
    add_output_flag(output)


def _explain(options: argparse.Namespace) -> None:
    preds, target, row = _rows(options)
    write = _FORMATS[format_of(options.output, options.format, _FORMATS)]
    check_output(options)
    pipeline, device = pipeline_of(options, show=False)
    from .explaining import explain_rows
    from .rows import read_rows

    if not pipeline.weighting.needs_epoch:  # other rows play no part
        preds, target, row = [preds[row]], [target[row]], 0
    (alignment,) = explain_rows(pipeline, read_rows(preds, target), device, [row])
    write_output(write(alignment, options.output), options.output)


def _rows(options: argparse.Namespace) -> tuple[list[str], list[list[str]], int]:
    """Predictions, their references, and the place of the row that is meant."""
    files = options.candidates or options.references
    if options.pred is not None:
        if files or options.row is not None:
            raise InvalidValueError(
                "got a text beside files or a row; wanted PRED REF, or --candidates FILE "
                "--references FILE --row N"
            )
        if not options.target and isinstance(options.idf, str):
            raise InvalidValueError(
                f"got a prediction alone: --idf took {options.idf!r} as its table; wanted it last"
            )
        if not options.target:
            raise InvalidValueError("got a prediction alone; wanted a reference, too: PRED REF")
        return [options.pred], [options.target], 0
    if not (options.candidates and options.references and options.row is not None):
        raise InvalidValueError(
            "got no row to explain; wanted PRED REF, or --candidates FILE --references FILE --row N"
        )
    if len(options.candidates) > 1:
        raise InvalidValueError(
            f"got {len(options.candidates)} files of predictions; wanted one, explain looks at one "
            "row"
        )
    candidates, references = read_data(options)
    if not 1 <= options.row <= len(references):
        raise InvalidValueError(
            f"got --row {options.row}; wanted a row from 1 to {len(references)}, as many as "
            f"{options.candidates[0]!r} has"
        )
    return candidates[0], references, options.row - 1


def _as_text(alignment: Alignment, output: str | None) -> str:
    return alignment.to_text(color=None if output is None else False)


def _as_html(alignment: Alignment, output: str | None) -> str:
    from .html_view import as_page

    return as_page(alignment)


def _as_json(alignment: Alignment, output: str | None) -> str:
    return json.dumps(alignment.to_dict(), allow_nan=False) + "\n"


_FORMATS = {"text": _as_text, "json": _as_json, "html": _as_html}
