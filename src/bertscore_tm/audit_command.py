"""The command ``bertscore-tm audit``: what a configuration notices on texts of one's own."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .data_flags import add_data_flags, read_data
from .errors import InvalidValueError
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .output import add_output_flag, check_output, format_of, write_output
from .references import SCORE_NAMES
from .textfiles import read_texts

if TYPE_CHECKING:
    from .audit_results import Audit


def add_audit(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "audit",
        help="show what a configuration notices on your own references",
        description="Damage the references (swapped words, a negation, a number, a name ...) and "
        "show what each damage costs, and how often the damaged text scores at least as high as "
        "another reference or as the candidate.",
    )
    parser.set_defaults(command=_audit)
    data = parser.add_argument_group("data")
    add_data_flags(data, required=False)
    data.add_argument("--source", metavar="FILE", help="what was translated, one text a line")
    data.add_argument(
        "--source-column", metavar="NAME", help="column or key of the sources in tables and JSON"
    )
    settings = parser.add_argument_group("settings")
    settings.add_argument(
        "--score", choices=SCORE_NAMES, default="f1", help="which one (default: f1)"
    )
    settings.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the damages (default: 0)"
    )
    add_setting_flags(settings)
    add_device_flag(settings)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format", choices=tuple(_FORMATS), help="default: what --output ends in, else text"
    )
    add_output_flag(output)
    output.add_argument("--quiet", action="store_true", help="no progress bar, even on a terminal")


def _audit(options: argparse.Namespace) -> None:
    if not options.references:
        raise InvalidValueError("got no references to audit; wanted --references FILE")
    if options.candidates and len(options.candidates) > 1:
        raise InvalidValueError(
            f"got {len(options.candidates)} files of predictions; wanted one, audit looks at one "
            "system"
        )
    options.candidates = options.candidates or []
    candidates, references = read_data(options)
    sources = None if options.source is None else _sources(options)
    write = _FORMATS[format_of(options.output, options.format, _FORMATS)]
    check_output(options)
    pipeline, device = pipeline_of(options, show=not options.quiet)
    from .auditing import audit_rows, read_texts_of

    rows = read_texts_of(references, candidates[0] if candidates else None, sources)
    write_output(write(audit_rows(pipeline, rows, device, options.score, options.seed)),
                 options.output)  # fmt: skip


def _sources(options: argparse.Namespace) -> list[str]:
    kind, quoting = options.input_format, options.quoting
    texts = read_texts(options.source, options.source_column, kind=kind, quoting=quoting)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            got = f"{options.source!r}, row {number}: got a list"
            raise InvalidValueError(f"{got}; wanted one source a line")
    return [str(text) for text in texts]


def _as_text(found: Audit) -> str:
    return found.to_text()


def _as_json(found: Audit) -> str:
    return json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n"


_FORMATS = {"text": _as_text, "json": _as_json}
