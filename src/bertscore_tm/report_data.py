"""What a report is made of: systems scored, counted and explained, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any

import torch
from torch import Tensor

from .checks import as_index, spelled
from .diagnosis import COUNTS, UNKNOWN_SHARE, collect_facts
from .errors import InvalidTypeError, InvalidValueError
from .explaining import align_rows, refuse_several_layers
from .functional import Scored, match_and_score
from .packed_view import packed
from .picking import best_first, in_random_order, in_turns, most_different_first, worst_first
from .pipeline import Pipeline
from .references import SCORE_NAMES
from .resampling import check_resampling, interval, resampled_means
from .rows import Rows

# Characters of JSON that alignments may take: of long texts fewer rows than wanted have one.
ALIGNMENT_SIZE = 8_000_000
# What is noted of a row, beside what `COUNTS` calls it.
_NOTES = {
    "no prediction": "empty_preds",
    "no reference": "empty_targets",
    "truncated": "truncated",
    "special tokens": "literal",
    "equal weights": "weightless",
    "looks like a reference": "lookalike",
}


@dataclass(frozen=True)
class Wishes:
    """What a report is to have, checked."""

    title: str = "BERTScore report"
    alignments: int = 100
    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise InvalidTypeError or InvalidValueError for what does not fit."""
        if not isinstance(self.title, str):
            got = type(self.title).__name__
            raise InvalidTypeError(f"got {got} as {spelled('title')}; wanted a text")
        check_number("alignments", self.alignments, 0)
        check_resampling(self.resamples, self.confidence, self.seed)


def check_number(name: str, value: Any, least: int) -> None:
    """Raise InvalidValueError for anything but a whole number that is large enough."""
    number = as_index(value)
    if number is None or number < least:
        raise InvalidValueError(
            f"got {spelled(name, value)}; wanted a whole number of samples, at least {least}"
        )


def collect_data(
    pipeline: Pipeline,
    systems: Sequence[tuple[str, Rows]],
    device: torch.device,
    sources: Iterable[str] | None,
    wishes: Wishes,
) -> dict[str, Any]:
    """Score systems, whose references are the same, and say all that is known of them.

    Args:
        pipeline: the settings at work.
        systems: names and rows.
        device: where to compute.
        sources: a text a row, or None.
        wishes: what the report is to have.

    Raises:
        InvalidTypeError: if a source is no text.
        InvalidValueError: if there are no rows, not as many sources, or several layers.
    """
    groups = systems[0][1].groups
    texts = None if sources is None else _read_sources(sources, len(groups))
    if not groups:
        raise InvalidValueError("got no predictions to report on; wanted at least one")
    refuse_several_layers(pipeline, "report on")
    scored = [match_and_score(pipeline, rows, device) for _, rows in systems]
    columns = [found[0]["f1"].tolist() for found in scored]
    intervals = _intervals([found[0] for found in scored], wishes)
    described = [
        {"name": name, **_describe(pipeline, found, rows), **within}
        for (name, rows), found, within in zip(systems, scored, intervals)
    ]
    picked = _picked(columns, wishes)
    aligned = _alignments(pipeline, [rows for _, rows in systems], device, scored, picked)
    return {
        "title": wishes.title,
        "signature": pipeline.signature(),
        "rescaled": pipeline.baseline is not None,
        "confidence": wishes.confidence,
        "resamples": wishes.resamples,
        "seed": wishes.seed,
        "systems": described,
        "references": groups,
        "sources": texts,
        "alignments": aligned,
        "left_out": len(picked) - len(aligned),
    }


def _read_sources(sources: Iterable[str], rows: int) -> list[str]:
    if isinstance(sources, str) or not isinstance(sources, Iterable):
        got = type(sources).__name__
        raise InvalidTypeError(f"got {got} as sources; wanted a text for each prediction")
    texts = list(sources)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            got = type(text).__name__
            raise InvalidTypeError(f"got {got} in row {row} of sources; wanted a text")
    if len(texts) != rows:
        raise InvalidValueError(
            f"got {len(texts)} sources for {rows} predictions; wanted the same number"
        )
    return texts


def _intervals(scores: Sequence[dict[str, Tensor]], wishes: Wishes) -> list[dict[str, Any]]:
    """Mean and interval of each score, and the difference of F1 to the first system.

    All come from the same resamples of the rows, so that the difference is a paired one.
    """
    values = torch.stack([each[name] for each in scores for name in SCORE_NAMES]).double().cpu()
    generator = torch.Generator().manual_seed(wishes.seed)
    drawn = resampled_means(values, wishes.resamples, generator).unflatten(0, (len(scores), -1))
    means = values.mean(1).unflatten(0, (len(scores), -1)).tolist()
    found: list[dict[str, Any]] = []
    for place, (mean, draw) in enumerate(zip(means, drawn)):
        within = {n: list(interval(d, wishes.confidence)) for n, d in zip(SCORE_NAMES, draw)}
        difference = None
        if place:
            low, high = interval(draw[2] - drawn[0, 2], wishes.confidence)
            difference = [mean[2] - means[0][2], low, high]
        found.append(
            {"mean": dict(zip(SCORE_NAMES, mean)), "interval": within, "difference": difference}
        )
    return found


def _describe(pipeline: Pipeline, found: Scored, rows: Rows) -> dict[str, Any]:
    """Scores, lengths, texts, and what was noticed."""
    scores, matched, frequencies = found
    with torch.no_grad():
        counts = pipeline.score(matched, frequencies)[1].cpu()
    n = {name: counts[:, place] for place, name in enumerate(COUNTS)}
    first = matched.references.long().cumsum(0) - matched.references.long()
    empty = (n["empty_preds"] > 0) | (n["empty_targets"] > 0)
    noted = {note: n[name] > 0 for note, name in _NOTES.items()}
    noted["unknown words"] = n["unknown"] > UNKNOWN_SHARE * n["tokens"]
    notes: dict[str, list[str]] = {}
    for note, rows_of_note in noted.items():
        for row in rows_of_note.nonzero().flatten().tolist():
            notes.setdefault(str(row), []).append(note)
    return {
        **{name: [round(v, 6) for v in scores[name].tolist()] for name in SCORE_NAMES},
        "length": matched.matches.pred.length[first].tolist(),
        "predictions": rows.preds,
        "facts": collect_facts(empty, counts.sum(0, dtype=torch.int64)),
        "notes": notes,
    }


def _picked(columns: Sequence[Sequence[float]], wishes: Wishes) -> list[int]:
    """The rows that are explained."""
    orders = []
    for column in columns:
        orders += [worst_first(column), best_first(column)]
    if len(columns) > 1:
        orders.append(most_different_first(columns))
    orders.append(in_random_order(len(columns[0]), wishes.seed))
    return in_turns(orders, wishes.alignments)


def _alignments(
    pipeline: Pipeline,
    systems: Sequence[Rows],
    device: torch.device,
    scored: Sequence[Scored],
    picked: Sequence[int],
) -> dict[str, list[Any]]:
    """By row those of all systems, for as many rows as there is room for."""
    ways = [
        align_rows(pipeline, rows, device, found, picked) for rows, found in zip(systems, scored)
    ]
    size, aligned = 0, dict[str, list[Any]]()
    for row, alignments in zip(picked, zip(*ways)):
        of_row = [packed(alignment) for alignment in alignments]
        size += len(dumps(of_row))
        if size > ALIGNMENT_SIZE and aligned:
            break
        aligned[str(row)] = of_row
    return aligned
