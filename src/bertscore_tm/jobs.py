"""Scoring of files of any size, on one process or many, which can be killed and gone on with.

Rows come in blocks of equal size. Block b belongs to process b modulo their number, is scored by
itself and written as a part, together with the sums that the means are made of. When all blocks
are done, the first process joins them. So nothing depends on who scored what, nor on when it was
killed; `torch.distributed` is asked only for what all must know: how many rows there are, and, for
idf, in how many references each token occurs.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

import torch

from . import diagnosis
from .errors import InvalidValueError, MissingPackageError
from .functional import score_block
from .idf import DocumentFrequencies
from .parts import Parts, identity_of
from .pipeline import Pipeline
from .results import FORMATS, Samples, System, records_of
from .rows import read_rows
from .streaming import Row, Source, stream_rows
from .team import Team

_TABLES = ("csv", "tsv")  # with a header, which the first block alone keeps


@dataclass(frozen=True)
class Job:
    """What is to be done.

    Attributes:
        candidates: the file of predictions.
        references: the files of references.
        output: where the scores go.
        form: as what they are written: "csv", "tsv", "jsonl" or "parquet".
        texts: with the texts.
        flags: what finds mismatches of a row, or None.
        block_rows: rows of a block.
        resume: whether to go on with a job that was begun.
        shows: whether to say on standard error how far it is.
    """

    candidates: Source
    references: Sequence[Source]
    output: str
    form: str
    texts: bool
    flags: Callable[[str, Sequence[str]], Any] | None
    block_rows: int
    resume: bool
    shows: bool


def run_job(
    job: Job, pipeline: Pipeline, device: torch.device, team: Team
) -> dict[str, Any] | None:
    """Score all rows and write them.

    Returns:
        "samples" and the means of all scores; None if the job was finished before.

    Raises:
        InvalidValueError: if a file is not what it should be, all of which is read before anything
            is scored, or there are parts of another job.
        TextFileError: if a file cannot be read or written.
    """
    csv.field_size_limit(2**31 - 1)
    parts = Parts(job.output)
    counts = team.first(lambda: _count(job))
    if counts["rows"] == 0:
        raise InvalidValueError(f"got no texts in {job.candidates.name!r}; wanted one a row")
    if not team.first(lambda: parts.open(_about(job, pipeline), job.resume)):
        return None
    blocks = -(-counts["rows"] // job.block_rows)
    frequencies = _frequencies(job, pipeline, team) if pipeline.weighting.needs_epoch else None
    # How wide vectors are is known after the first pass, and decides how later ones are cut.
    pipeline.match(read_rows("a first", "pass"), device)
    progress = _Progress(parts, blocks, job.shows and team.rank == 0)
    for number, rows in _own_blocks(job, team):
        if not parts.has(_sums(number)) or not parts.has(_part(number)):
            _score(job, pipeline, device, parts, number, rows, counts["most"], frequencies)
        progress.say()
    team.gather(None)
    means = team.first(lambda: _finish(job, pipeline, parts, blocks))
    return {"samples": counts["rows"], **means}


def _count(job: Job) -> dict[str, int]:
    """Rows, and most references of any; all that is wrong with the files shows here."""
    rows = most = 0
    for _, references in stream_rows(job.candidates, job.references):
        rows, most = rows + 1, max(most, len(references))
    return {"rows": rows, "most": most}


def _about(job: Job, pipeline: Pipeline) -> dict[str, Any]:
    files = [job.candidates, *job.references]
    return {
        "signature": pipeline.signature(),
        "inputs": [{**identity_of(f.name), "column": f.column, "kind": f.form} for f in files],
        "format": job.form,
        "texts": job.texts,
        "mismatches": job.flags is not None,
        "block_rows": job.block_rows,
    }


def _own_blocks(job: Job, team: Team) -> Iterator[tuple[int, list[Row]]]:
    """The blocks of this process, each with its number."""
    rows = stream_rows(job.candidates, job.references)
    number = 0
    while True:
        mine = number % team.size == team.rank
        block = list(islice(rows, job.block_rows)) if mine else []
        if not mine and not sum(1 for _ in islice(rows, job.block_rows)):
            return
        if mine and not block:
            return
        if mine:
            yield number, block
        number += 1


def _frequencies(job: Job, pipeline: Pipeline, team: Team) -> DocumentFrequencies:
    """In how many references of all processes each token occurs: a pass without the encoder."""
    total: dict[int, int] = {}
    documents = 0
    for _, rows in _own_blocks(job, team):
        texts = [text for _, references in rows for text in references]
        kept = [
            {i for i, counts in zip(t.tokens.ids, t.tokens.token_mask) if counts}
            for t in pipeline.lease.tokenize(texts)
        ]
        documents += len(kept)
        for ids in kept:
            for token in ids:
                total[token] = total.get(token, 0) + 1
    summed: dict[int, int] = {}
    everybody = team.gather((total, documents))
    for counts, _ in everybody:
        for token, count in counts.items():
            summed[token] = summed.get(token, 0) + count
    pairs = torch.tensor(sorted(summed.items()), dtype=torch.int64, device="cpu").reshape(-1, 2)
    return DocumentFrequencies(pairs[:, 0], pairs[:, 1], sum(number for _, number in everybody))


def _score(
    job: Job,
    pipeline: Pipeline,
    device: torch.device,
    parts: Parts,
    number: int,
    rows: list[Row],
    most: int,
    frequencies: DocumentFrequencies | None,
) -> None:
    preds, references = [pred for pred, _ in rows], [refs for _, refs in rows]
    scores, empty, counts = score_block(pipeline, read_rows(preds, references), device, frequencies)
    scores = {name: column.cpu() for name, column in scores.items()}
    flags = [job.flags(pred, refs) for pred, refs in rows] if job.flags else None
    system = System(job.candidates.name, scores, preds, references, flags)
    samples = Samples(job.texts, before=number * job.block_rows, most=most)
    sums = {name: float(column.double().sum()) for name, column in scores.items()}
    said = {"rows": len(rows), "sums": sums, "empty": empty, "counts": counts}
    parts.write(_sums(number), json.dumps(said).encode())
    parts.write(_part(number), _written(job.form, system, pipeline.signature(), samples, number))


def _written(form: str, system: System, signature: str, samples: Samples, number: int) -> bytes:
    if form == "parquet":
        return _as_parquet(records_of([system], signature, samples))
    text = FORMATS[form]([system], signature, samples)
    if form in _TABLES and number:
        text = text[text.index("\n") + 1 :]
    return text.encode("utf-8", "surrogatepass")


def _as_parquet(records: Sequence[Mapping[str, Any]]) -> bytes:
    arrow, parquet = _pyarrow()
    stream = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(list(records)), stream)
    return stream.getvalue()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPackageError(
            "Parquet needs pyarrow, which is not installed; wanted: pip install pyarrow"
        ) from error
    return pyarrow, pyarrow.parquet


def _finish(job: Job, pipeline: Pipeline, parts: Parts, blocks: int) -> dict[str, float]:
    """Join the parts; the means of all rows; one warning for all of them."""
    found = [json.loads(parts.read(_sums(number))) for number in range(blocks)]
    rows = sum(each["rows"] for each in found)
    empty = torch.arange(rows) < sum(each["empty"] for each in found)
    counts = torch.tensor([each["counts"] for each in found], dtype=torch.int64).sum(0)
    pipeline.warn(diagnosis.collect_facts(empty, counts))
    names = [_part(number) for number in range(blocks)]
    if job.form == "parquet":
        _join_parquet(parts, names)
    else:
        parts.join(names)
    return {name: sum(each["sums"][name] for each in found) / rows for name in found[0]["sums"]}


def _join_parquet(parts: Parts, names: Sequence[str]) -> None:
    _, parquet = _pyarrow()
    stream = parts.folder / "joined"
    first = parquet.read_schema(parts.folder / names[0])
    with parquet.ParquetWriter(stream, first) as writer:
        for name in names:
            writer.write_table(parquet.read_table(parts.folder / name).cast(first))
    parts.join(["joined"])


def _part(number: int) -> str:
    return f"{number:08d}.rows"


def _sums(number: int) -> str:
    return f"{number:08d}.json"


class _Progress:
    """How far all processes are, on standard error; the parts tell."""

    def __init__(self, parts: Parts, blocks: int, shows: bool) -> None:
        self._folder, self._blocks, self._shows = parts.folder, blocks, shows
        self._begun, self._before = time.monotonic(), self._done() if shows else 0

    def _done(self) -> int:
        return sum(entry.name.endswith(".rows") for entry in os.scandir(self._folder))

    def say(self) -> None:
        if not self._shows:
            return
        done, spent = self._done(), time.monotonic() - self._begun
        left = spent / max(1, done - self._before) * (self._blocks - done)
        text = f"{done}/{self._blocks} blocks, {timedelta(seconds=round(left))} left"
        sys.stderr.write(f"\r{text:<50}" + ("\n" if done == self._blocks else ""))
        sys.stderr.flush()
