"""Scores as the command line writes them: for people, as a table, or as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from .decoding import printable, shown
from .references import SCORE_NAMES

if TYPE_CHECKING:
    from .mismatches import Flags


@dataclass(frozen=True)
class System:
    """What was scored under one name.

    Attributes:
        name: of its file.
        scores: their names and their values, one a sample; those of a layer begin with
            ``layer_5_`` where there are several.
        candidates: its texts, one a sample.
        references: their references, one or more a sample.
        mismatches: in what each sample contradicts its references, as `find_mismatches` says it;
            None: nobody asked.
    """

    name: str
    scores: dict[str, Any]
    candidates: Sequence[str]
    references: Sequence[Sequence[str]]
    mismatches: Sequence[Flags] | None = None

    def means(self) -> dict[str, float]:
        """Of each score."""
        return {name: float(column.double().mean()) for name, column in self.scores.items()}

    def flags(self, row: int) -> dict[str, bool | None]:
        """The columns of mismatches of a row: none, if nobody asked."""
        flags = self.mismatches[row] if self.mismatches else {}
        return {f"{kind}_mismatch": flag for kind, flag in flags.items()}

    def layers(self) -> list[str]:
        """How the names of a layer's scores begin: nothing where there is one layer."""
        part = SCORE_NAMES[0]
        return [name.removesuffix(part) for name in self.scores if name.endswith(part)]


@dataclass(frozen=True)
class Samples:
    """What is written of each sample.

    Attributes:
        texts: also its texts.
        worst_first: in the order of F1 (of the first layer), not in that of the files.
        before: rows that stand before the first of these.
        most: references that any row has, those that are not here included.
    """

    texts: bool = False
    worst_first: bool = False
    before: int = 0
    most: int = 1

    def rows(self, system: System) -> list[int]:
        """In which order, counted from 0."""
        scores = system.scores[system.layers()[0] + SCORE_NAMES[-1]].tolist()
        return sorted(range(len(scores)), key=scores.__getitem__ if self.worst_first else None)


def _as_text(systems: Sequence[System], signature: str, samples: Samples | None) -> str:
    """A line for each system and layer; before it, on request, some for each sample."""
    lines = []
    for system in systems:
        named = f"{printable(system.name)} " if len(systems) > 1 else ""
        labels = {
            layer: f"{named}{layer.rstrip('_')}".strip() + "  " if named or layer else ""
            for layer in system.layers()
        }
        columns = {name: column.tolist() for name, column in system.scores.items()}
        for row in samples.rows(system) if samples else ():
            for layer, label in labels.items():
                values = {name: columns[layer + name][row] for name in SCORE_NAMES}
                lines.append(f"{row + 1:>5}  {label}{_scores(values)}")
            if system.mismatches:
                lines[-1] += _named(system.mismatches[row])
            if samples and samples.texts:
                lines.append(f"       prediction  {shown(system.candidates[row])}")
                lines += [f"       reference   {shown(r)}" for r in system.references[row]]
        means = system.means()
        for layer, label in labels.items():
            lines.append(label + _scores({name: means[layer + name] for name in SCORE_NAMES}))
        if system.mismatches:
            lines.append(f"{named}mismatches  {_counted(system.mismatches)}")
    return "\n".join([*lines, signature]) + "\n"


def _named(flags: Flags) -> str:
    """In what a sample contradicts its references, after its scores."""
    named = ", ".join(kind for kind, flag in flags.items() if flag)
    return f"  mismatch: {named}" if named else ""


def _counted(rows: Sequence[Flags]) -> str:
    """How many samples have each mismatch, of those where it can be told."""
    counts = []
    for kind in rows[0]:
        flags = [row[kind] for row in rows if row[kind] is not None]
        counts.append(f"{kind} {sum(map(bool, flags))}/{len(flags)}")
    return "  ".join(counts)


def _scores(values: dict[str, float]) -> str:
    names = ("P", "R", "F1")
    return "  ".join(f"{name} {values[key]:.6f}" for name, key in zip(names, SCORE_NAMES))


def records_of(
    systems: Sequence[System], signature: str, samples: Samples | None
) -> list[dict[str, Any]]:
    """A record for each system, or for each sample."""
    records: list[dict[str, Any]] = []
    for system in systems:
        name, end = {"system": printable(system.name)}, {"signature": signature}
        if samples is None:
            records.append({**name, **system.means(), **end})
            continue
        columns = {key: column.tolist() for key, column in system.scores.items()}
        most = max(samples.most, *map(len, system.references))
        for row in samples.rows(system):
            values = {key: column[row] for key, column in columns.items()}
            texts = _texts(system, row, most) if samples.texts else {}
            number = samples.before + row + 1
            records.append({**name, "row": number, **values, **system.flags(row), **texts, **end})
    return records


def _texts(system: System, row: int, most: int) -> dict[str, str]:
    """The texts of a row, with a cell for each of as many references as any row has."""
    references = zip_longest(range(1, most + 1), system.references[row], fillvalue="")
    numbered = {f"reference_{i}" if most > 1 else "reference": text for i, text in references}
    return {"prediction": system.candidates[row], **numbered}


def _as_csv(
    systems: Sequence[System], signature: str, samples: Samples | None, delimiter: str = ","
) -> str:
    """A header, and a line for each record."""
    records = records_of(systems, signature, samples)
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(records[0])
    for record in records:
        values = record.values()
        writer.writerow([_cell(value) for value in values])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    """A flag is 1, 0, or empty where it cannot be told."""
    if isinstance(value, float):
        return f"{value:.6f}"
    return int(value) if isinstance(value, bool) else value


def _as_tsv(systems: Sequence[System], signature: str, samples: Samples | None) -> str:
    return _as_csv(systems, signature, samples, delimiter="\t")


def _as_jsonl(systems: Sequence[System], signature: str, samples: Samples | None) -> str:
    """An object a line; of those of a table. ASCII: nothing commands a terminal."""
    return "".join(json.dumps(each) + "\n" for each in records_of(systems, signature, samples))


def _as_json(systems: Sequence[System], signature: str, samples: Samples | None) -> str:
    """One object: the means of each system and, on request, its samples, a list for each name."""
    objects = []
    for system in systems:
        each: dict[str, Any] = {"system": system.name, **system.means()}
        if samples is not None:
            rows = samples.rows(system)
            each["samples"] = {"row": [row + 1 for row in rows]}
            for name, column in system.scores.items():
                values = column.tolist()
                each["samples"][name] = [values[row] for row in rows]
            for name in system.flags(0):
                each["samples"][name] = [system.flags(row)[name] for row in rows]
            if samples.texts:
                each["samples"]["prediction"] = [system.candidates[row] for row in rows]
                each["samples"]["references"] = [list(system.references[row]) for row in rows]
        objects.append(each)
    return json.dumps({"signature": signature, "systems": objects}, indent=1) + "\n"


FORMATS = {
    "text": _as_text,
    "csv": _as_csv,
    "tsv": _as_tsv,
    "json": _as_json,
    "jsonl": _as_jsonl,
}
