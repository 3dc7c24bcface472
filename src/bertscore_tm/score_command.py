"""The command ``bertscore-tm score``: scores of predictions against references."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from .data_flags import add_data_flags, read_data
from .errors import InvalidValueError
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .output import add_output_flag, check_output, format_of, write_output
from .results import FORMATS, Samples, System


def add_score(commands: Any) -> None:
    """Add the command."""
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


def _add_output_flags(group: Any) -> None:
    group.add_argument(
        "--per-sample", action="store_true", help="also the row, P, R and F1 of each prediction"
    )
    group.add_argument("--texts", action="store_true", help="with the texts of each prediction")
    group.add_argument(
        "--worst-first", action="store_true", help="each prediction, in the order of F1"
    )
    group.add_argument(
        "--mismatches",
        action="store_true",
        help="each prediction, and whether it contradicts its references in a number, a negation, "
        "a name or a gender",
    )
    group.add_argument(
        "--format", choices=tuple(FORMATS), help="default: what --output ends in, else text"
    )
    add_output_flag(group)
    group.add_argument(
        "--stream",
        action="store_true",
        help="files of any size, also .parquet: each prediction is written to --output (.tsv, "
        ".csv, .jsonl, .parquet) as it is scored; under torchrun by all its processes",
    )
    group.add_argument(
        "--resume", action="store_true", help="as --stream; go on where a job was ended"
    )
    group.add_argument(
        "--block-rows", type=int, metavar="N", help="rows of a part of a streamed job (4096)"
    )
    group.add_argument("--quiet", action="store_true", help="no progress bar, even on a terminal")


def _score(options: argparse.Namespace) -> None:
    if options.stream or options.resume:
        from .job_command import stream  # torch.distributed is not for help

        return stream(options)
    if options.block_rows is not None or int(os.environ.get("WORLD_SIZE", 1)) > 1:
        got = "several processes" if options.block_rows is None else "--block-rows"
        raise InvalidValueError(f"got {got} without --stream; wanted both, or neither")
    candidates, references = read_data(options)
    write = FORMATS[format_of(options.output, options.format, FORMATS)]
    check_output(options)
    systems = []
    pipeline, device = pipeline_of(options, show=not options.quiet)
    from .functional import score_rows
    from .rows import read_rows

    for name, texts in zip(options.candidates, candidates):
        scores = score_rows(pipeline, read_rows(texts, references), device)
        flags = _mismatches(texts, references, options.lang) if options.mismatches else None
        systems.append(System(name, scores, texts, references, flags))
    each = options.per_sample or options.texts or options.worst_first or options.mismatches
    samples = Samples(options.texts, options.worst_first) if each else None
    text = write(systems, pipeline.signature(), samples)
    write_output(text, options.output)


def _mismatches(
    candidates: Sequence[str], references: Sequence[Sequence[str]], lang: str | None
) -> list[Any]:
    from .mismatches import find_mismatches

    return [find_mismatches(text, group, lang) for text, group in zip(candidates, references)]
