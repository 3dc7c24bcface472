"""How well BERTScore agrees with people on public sets, beside other metrics: docs/agreement.md.

    python benchmarks/agreement.py FOLDER --model minilm --out results.json

The folder holds a file of JSON lines for each set (`SETS`), made from the public sources that
docs/agreement.md names, with the fields "candidate", "references" (a list), "human_score" (or
"human_scores", an object), "lang", "system", "segment_id"; of relative ranks "better" and "worse"
instead of the first and third. `summeval.jsonl` may keep its references once for each article, in
`summeval.docs.jsonl`, joined by "doc_id". Tables in Markdown go to standard output.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import torch

from bertscore_tm import Correlation
from bertscore_tm.agreement import Bootstrap
from bertscore_tm.correlating import Asked, Judged, metric_scores, tabulate
from bertscore_tm.pipeline import Pipeline
from bertscore_tm.rows import Rows
from bertscore_tm.rows import read_rows as read_rows_of
from bertscore_tm.settings import Settings

Row = dict[str, Any]


@dataclass(frozen=True)
class JudgedSet:
    """A set of judgements.

    Attributes:
        name: of the row in the table.
        file: in the folder.
        human: which of "human_scores"; None: "human_score".
        group: field by which statistics are made apart, then averaged.
        systems: whether means of its systems can be compared.
        ranks: whether it holds relative ranks.
    """

    name: str
    file: str
    human: str | None = None
    group: str | None = None
    systems: bool = False
    ranks: bool = False


SETS = (
    JudgedSet("wmt17-da-to-en", "wmt17_da_to_en.jsonl", group="lang"),
    JudgedSet("comet-da", "comet_da_fixture.jsonl"),
    JudgedSet("mlqe-et-en", "mlqe_multiref_et-en.jsonl"),
    JudgedSet("indicmt", "indicmt_eval.jsonl", group="lang", systems=True),
    JudgedSet("summeval-relevance", "summeval.jsonl", "relevance", systems=True),
    JudgedSet("summeval-coherence", "summeval.jsonl", "coherence", systems=True),
    JudgedSet("summeval-consistency", "summeval.jsonl", "consistency", systems=True),
    JudgedSet("summeval-fluency", "summeval.jsonl", "fluency", systems=True),
    JudgedSet("mts-dialog", "mts_dialog_corr.jsonl", systems=True),
    JudgedSet("grade-dialogue", "grade_dialogue.jsonl", group="dataset"),
    JudgedSet("bagel-quality", "bagel.jsonl", "quality"),
    JudgedSet("bagel-informativeness", "bagel.jsonl", "informativeness"),
    JudgedSet("bagel-naturalness", "bagel.jsonl", "naturalness"),
    JudgedSet("stsb-en", "stsb_test_en.jsonl"),
    JudgedSet("wmt19-darr-kk-en", "wmt19_darr_kk-en.jsonl", ranks=True),
    JudgedSet("wmt19-darr-lt-en", "wmt19_darr_lt-en.jsonl", ranks=True),
)


def read_rows(folder: Path, file: str) -> list[Row]:
    """The rows of a set, with the references of their document where these stand apart."""
    rows = _lines(folder / file)
    documents = folder / file.replace(".jsonl", ".docs.jsonl")
    if documents.exists():
        known = {document["doc_id"]: document for document in _lines(documents)}
        rows = [{**known[row["doc_id"]], **row} for row in rows]
    return rows


def measure(folder: Path, model: str, layer: int | None, resamples: int, names: Sequence[str]) \
        -> Iterator[tuple[str, Correlation]]:  # fmt: skip
    """`correlate` on each set, with its fields; the texts of a file are scored once."""
    pipeline = Pipeline(Settings(model, layer))
    asked = Asked(bootstrap=Bootstrap(resamples))
    for file, sets in groupby(SETS, lambda one: one.file):
        chosen = [one for one in sets if one.name in names and (folder / file).exists()]
        if not chosen:
            continue
        rows = read_rows(folder, file)
        first = judged_by(chosen[0], rows)
        texts = Rows([*first.rows.preds, *(first.worse or ())], first.rows.groups * (
            2 if first.worse else 1), None)  # fmt: skip
        scores = metric_scores(pipeline, texts, asked, torch.device("cpu"))
        for one in chosen:
            yield one.name, tabulate(scores, judged_by(one, rows), asked, pipeline.signature())


def judged_by(one: JudgedSet, rows: list[Row]) -> Judged:
    """The fields of a set."""
    groups = [str(row[one.group]) for row in rows] if one.group else None
    preds = [row["better" if one.ranks else "candidate"] for row in rows]
    texts = read_rows_of(preds, [row["references"] for row in rows])
    if one.ranks:
        return Judged(texts, worse=[row["worse"] for row in rows], groups=groups)
    human = [row["human_scores"][one.human] if one.human else row["human_score"] for row in rows]
    systems = [row["system"] for row in rows] if one.systems else None
    return Judged(texts, human, systems=systems, groups=groups)


def tables(found: dict[str, Correlation]) -> Iterator[str]:
    """A table of each level and statistic: sets down, metrics across."""
    keys = {(a.level, a.statistic): None for one in found.values() for a in one.agreements}
    for level, statistic in keys:
        rows = {
            name: [a for a in one.agreements if (a.level, a.statistic) == (level, statistic)]
            for name, one in found.items()
        }
        rows = {name: cells for name, cells in rows.items() if cells}
        metrics = [a.metric for a in next(iter(rows.values()))]
        yield f"\n{level}, {statistic}\n"
        yield f"| set | rows | interval | {' | '.join(metrics)} |"
        yield "|---" * (len(metrics) + 3) + "|"
        for name, cells in rows.items():
            first = cells[0]
            interval = f"[{first.low:.2f}, {first.high:.2f}]"
            values = " | ".join(_cell(a) for a in cells)
            yield f"| {name} | {found[name].rows} | {interval} | {values} |"


def _cell(a: Any) -> str:
    if a.value is None:
        return "-"
    told = a.adjusted_p is not None and a.adjusted_p <= 0.05
    mark = ("−" if a.difference > 0 else "**+**") if told else ""
    return f"{a.value:.3f}{mark}"


def _lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--layer", type=int)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--only", nargs="+", choices=[one.name for one in SETS], metavar="SET")
    parser.add_argument("--out", type=Path, help="all numbers, as JSON")
    options = parser.parse_args(arguments)
    names = options.only or [one.name for one in SETS]
    found = {}
    for name, one in measure(
        options.folder, options.model, options.layer, options.resamples, names
    ):
        print(f"{name}: {one.rows} rows", file=sys.stderr)
        found[name] = one
        if options.out:
            plain = {name: one.to_dict() for name, one in found.items()}
            options.out.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    if not found:
        parser.error(f"got no file of a set in {options.folder}; wanted one of SETS")
    print("\n".join(tables(found)))
    print(f"\n{next(iter(found.values())).signature}")


if __name__ == "__main__":
    main()
