"""``bertscore-tm score --stream``: flags to a job, and what is said at its end."""

from __future__ import annotations

import argparse
import os
import sys

import torch

from .checks import spelled
from .errors import InvalidValueError
from .flags import pipeline_of
from .jobs import Job, run_job
from .output import check_output, format_of
from .references import SCORE_NAMES
from .streaming import Source
from .team import Team

_FORMS = ("csv", "tsv", "jsonl", "parquet")
_BLOCK_ROWS = 4096


def stream(options: argparse.Namespace) -> None:
    """Run the job that the flags describe.

    Raises:
        InvalidValueError: if some of them do not go together.
    """
    form = _checked(options)
    team = Team()
    try:
        job = _job(options, form)
        # Nothing that was scored before plays a part: a block gives the same whenever it is scored.
        options.embedding_cache = 0
        if team.size > 1 and options.device is None and torch.cuda.is_available():
            options.device = f"cuda:{os.environ.get('LOCAL_RANK', 0)}"
        pipeline, device = pipeline_of(options, show=False)
        means = run_job(job, pipeline, device, team)
        if team.rank == 0:
            _say(means, pipeline.layers, pipeline.signature(), options.output)
    finally:
        team.close()


def _checked(options: argparse.Namespace) -> str:
    """The form of the output, once all flags go together."""
    if options.output is None:
        raise InvalidValueError(
            f"got --stream without --output; wanted a file that ends in {_endings()}"
        )
    if len(options.candidates) > 1:
        raise InvalidValueError(
            f"got {len(options.candidates)} files of predictions to stream; wanted one at a time"
        )
    if options.worst_first:
        raise InvalidValueError(
            "got --worst-first with --stream, which writes rows as they come; wanted one of them"
        )
    if options.block_rows is not None and options.block_rows < 1:
        raise InvalidValueError(f"got --block-rows {options.block_rows}; wanted 1 or more")
    ending = options.output.rpartition(".")[2].lower()
    form = ending if ending == "parquet" else format_of(options.output, options.format, _FORMS)
    if form not in _FORMS:
        raise InvalidValueError(
            f"got {options.output!r} as --output of a streamed job; wanted a name that ends in "
            f"{_endings()}, or --format"
        )
    if options.embedding_cache not in (0, "0", "512MB"):
        said = spelled("embedding_cache", options.embedding_cache)
        raise InvalidValueError(f"got {said} with --stream, which keeps no vectors; wanted neither")
    return form


def _endings() -> str:
    return ", ".join(f".{form}" for form in _FORMS)


def _job(options: argparse.Namespace, form: str) -> Job:
    def source(name: str, column: str | None) -> Source:
        found = Source(name, column, options.input_format, options.quoting)
        _ = found.form  # what cannot be streamed is said now
        return found

    flags = None
    if options.mismatches:
        from .mismatches import find_mismatches

        flags = lambda pred, refs: find_mismatches(pred, refs, options.lang)  # noqa: E731
    if int(os.environ.get("RANK", 0)) == 0 and not os.path.exists(options.output):
        check_output(options)
        os.remove(options.output)  # the check has made it
    return Job(
        source(options.candidates[0], options.candidate_column),
        [source(name, options.reference_column) for name in options.references],
        options.output,
        form,
        options.texts,
        flags,
        options.block_rows or _BLOCK_ROWS,
        options.resume,
        not options.quiet and sys.stderr is not None and sys.stderr.isatty(),
    )


def _say(
    means: dict[str, float] | None, layers: tuple[int, ...], signature: str, output: str
) -> None:
    if means is None:
        print(f"{output} is finished: there is nothing to go on with.")
        return
    prefixes = [f"layer_{layer}_" for layer in layers] if len(layers) > 1 else [""]
    for prefix in prefixes:
        named = f"{prefix.rstrip('_')}  " if prefix else ""
        values = zip(("P", "R", "F1"), SCORE_NAMES)
        print(named + "  ".join(f"{name} {means[prefix + key]:.6f}" for name, key in values))
    print(signature)
