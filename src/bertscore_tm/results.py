"""Scores as the command line prints them: text, TSV or JSON."""

from __future__ import annotations

import json
from typing import Any

from .decoding import printable
from .references import SCORE_NAMES

# Name of each system and its scores, one value a sample.
Results = list[tuple[str, dict[str, Any]]]


def _as_text(results: Results, signature: str, per_sample: bool) -> str:
    """A line for each system and layer; before it, on request, one for each sample."""
    lines = []
    for name, scores in results:
        for prefix in _prefixes(scores):
            columns = [scores[prefix + part] for part in SCORE_NAMES]
            label = " ".join(
                filter(None, [printable(name) if len(results) > 1 else "", prefix.rstrip("_")])
            )
            if per_sample:
                for row in zip(*(column.tolist() for column in columns)):
                    lines.append(
                        "\t".join(f"{value:.6f}" for value in row) + (f"\t{label}" if label else "")
                    )
            mean = "  ".join(
                f"{part[0].upper()}{'1' if part == 'f1' else ''} {_mean(c):.6f}"
                for part, c in zip(SCORE_NAMES, columns)
            )
            lines.append(f"{label + '  ' if label else ''}{mean}")
    return "\n".join([*lines, signature]) + "\n"


def _as_tsv(results: Results, signature: str, per_sample: bool) -> str:
    """A header, a line for each system or each sample, and the signature as a comment."""
    lines: list[str] = []
    for name, scores in results:
        if not lines:
            lines.append("\t".join(["system", *(["row"] if per_sample else []), *scores]))
        if per_sample:
            rows = zip(*(column.tolist() for column in scores.values()))
            lines += [
                "\t".join([printable(name), str(i), *(f"{v:.6f}" for v in row)])
                for i, row in enumerate(rows)
            ]
        else:
            lines.append(
                "\t".join(
                    [printable(name), *(f"{_mean(column):.6f}" for column in scores.values())]
                )
            )
    return "\n".join([*lines, f"# {signature}"]) + "\n"


def _as_json(results: Results, signature: str, per_sample: bool) -> str:
    """One object; a mean of no samples is null."""
    systems = []
    for name, scores in results:
        means = {key: _mean(column) if len(column) else None for key, column in scores.items()}
        samples = (
            {"samples": {key: column.tolist() for key, column in scores.items()}}
            if per_sample
            else {}
        )
        systems.append({"system": name, **means, **samples})
    return (
        json.dumps({"signature": signature, "systems": systems}, indent=1) + "\n"
    )  # ASCII: nothing commands a terminal


def _prefixes(scores: dict[str, Any]) -> list[str]:
    return list(
        dict.fromkeys(
            key[: -len(part)] for key in scores for part in SCORE_NAMES if key.endswith(part)
        )
    )


def _mean(column: Any) -> float:
    return float(column.double().mean())


FORMATS = {"text": _as_text, "json": _as_json, "tsv": _as_tsv}
