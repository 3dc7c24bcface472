"""A sheet of samples for people to score, without the scores of the metric.

Names of systems are replaced by codes, for who knows them does not judge the text alone; rows come
in random order, for their order would tell the score. Each row comes with all systems, next to
each other: people are surer of "better" than of a number.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from .picking import best_first, in_random_order, in_turns, most_different_first, worst_first

HUMAN_SCORE = "human_score"


def annotation_sheet(data: Mapping[str, Any], number: int, seed: int = 0) -> str:
    """A table with tabs: row, system, source, reference, candidate, and an empty human_score.

    A quarter each of the rows are those with the worst and the best mean over the systems, those in
    which the systems differ most, and random ones; of one system a third each.

    Args:
        data: of a report, as `Report.to_dict` gives it.
        number: rows of data; the table has a line for each of the systems of each.
        seed: of the random ones, of the order, and of the codes.
    """
    columns = [system["f1"] for system in data["systems"]]
    codes = system_codes([system["name"] for system in data["systems"]], seed)
    most = max(map(len, data["references"]))
    names = [f"reference_{i}" for i in range(1, most + 1)] if most > 1 else ["reference"]
    stream = io.StringIO()
    # Every cell in quotes: then nobody has to guess whether quotes are part of a text.
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["row", "system", "source", *names, "candidate", HUMAN_SCORE])
    for row in _chosen(columns, number, seed):
        source = data["sources"][row] if data["sources"] else ""
        references = [*data["references"][row], *[""] * most][:most]
        candidates = zip(codes, (system["predictions"][row] for system in data["systems"]))
        for code, candidate in sorted(candidates):
            cells = [str(row + 1), code, source, *references, candidate, ""]
            writer.writerow([_storable(cell) for cell in cells])
    return stream.getvalue()


def system_codes(names: Sequence[str], seed: int = 0) -> list[str]:
    """What stands for each system: ``system_1`` and so on, in an order that the seed decides."""
    width = len(str(len(names)))
    return [f"system_{place + 1:0{width}}" for place in in_random_order(len(names), seed)]


def _chosen(columns: Sequence[Sequence[float]], number: int, seed: int) -> list[int]:
    """The rows, in the order of the sheet."""
    sums = [sum(values) for values in zip(*columns)]
    orders = [worst_first(sums), best_first(sums), in_random_order(len(sums), seed)]
    if len(columns) > 1:
        orders.insert(2, most_different_first(columns))
    rows = in_turns(orders, number)
    return [rows[place] for place in in_random_order(len(rows), seed)]


def _storable(text: str) -> str:
    """Halves of characters, which no file can hold, replaced."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
