"""The command ``bertscore-tm signature``: how the score with this signature was made."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any

from .decoding import decoded, split_lines
from .errors import InvalidValueError
from .output import add_output_flag, check_output, format_of, write_output

if TYPE_CHECKING:
    from .restoring import Restored

_FORMATS = ("text", "json")


def add_signature(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "signature",
        help="make the settings of a signature again",
        description="Make the settings of a signature again: as code, as Hydra overrides and as a "
        "command. What the line names only by a digest is said, and the exit status is then 2.",
    )
    parser.set_defaults(command=_signature)
    parser.add_argument(
        "line", metavar="LINE", help="a signature, in quotes, or a file whose first line is one"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="load the encoder, and say what would differ here: versions, weights, tokenizer; "
        "the exit status is 2 if anything does",
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format", choices=_FORMATS, help="default: what --output ends in, else text"
    )
    add_output_flag(output)


def _signature(options: argparse.Namespace) -> None:
    from .restoring import restore

    if os.path.isfile(options.line):
        options.line = next(iter(split_lines(decoded(options.line))), "")
    restored = restore(options.line)
    kind = format_of(options.output, options.format, _FORMATS)
    check_output(options)
    differs = _differences(restored, options.line) if options.check else None
    said = {
        "code": restored.as_code(),
        "overrides": restored.as_overrides(),
        "command": restored.as_command(),
        "settings": dict(restored.settings),
        "lacking": dict(restored.lacking),
        **({} if differs is None else {"differs": differs}),
    }
    text = json.dumps(said, indent=1, ensure_ascii=False) if kind == "json" else _as_text(said)
    write_output(f"{text}\n", options.output)
    if restored.lacking:
        whole = "; ".join(f"{name}: {why}" for name, why in restored.lacking.items())
        raise InvalidValueError(f"the line does not say all: {whole}")
    if differs:
        raise InvalidValueError(f"got --check, and {len(differs)} parts of the line differ here")


def _as_text(said: dict[str, Any]) -> str:
    lines = [f"{name}: {said[name]}" for name in ("code", "overrides", "command")]
    differs = said.get("differs")
    if differs is not None:
        lines += [f"differs here: {line}" for line in differs] or ["differs here: nothing"]
    return "\n".join(lines)


def _differences(restored: Restored, line: str) -> list[str]:
    """What the signature of the restored settings has otherwise, a line for each part."""
    if restored.lacking:
        raise InvalidValueError(
            f"got --check for a signature that does not say all ({', '.join(restored.lacking)}); "
            "wanted one whose parts are all known, or no --check"
        )
    from .pipeline import Pipeline
    from .settings import Settings

    here = Pipeline(Settings(**restored.settings)).signature()
    then, now = (dict(p.partition(":")[::2] for p in one.split("|")) for one in (line, here))
    return [
        f"{name} is {now.get(name)}, was {then.get(name)}"
        for name in now
        if now.get(name) != then.get(name)
    ]
