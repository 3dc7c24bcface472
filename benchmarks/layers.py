"""Which layer of an encoder agrees best with people: Pearson correlation of every layer with human
scores.

    python benchmarks/layers.py --model minilm --data judgements.jsonl

The data are JSON lines with "candidate", "references" (a list) and "human_score". Public sets of
this kind: the segment-level direct assessments of WMT17
(https://www.statmt.org/wmt17/results.html), of which `docs/layers.md` reports.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch

from bertscore_tm import BERTScore


def pearson(x: torch.Tensor, y: torch.Tensor) -> float:
    return float(torch.corrcoef(torch.stack([x.double(), y.double()]))[0, 1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--group",
        default="lang",
        help="key by which correlations are taken apart and then averaged",
    )
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    metric = BERTScore(options.model, "all", score=None, reduction="none")
    metric.update([row["candidate"] for row in rows], [row["references"] for row in rows])
    scores: Any = metric.compute()
    human = torch.tensor([float(row["human_score"]) for row in rows])
    groups = defaultdict(list)
    for i, row in enumerate(rows):
        groups[row.get(options.group, "all")].append(i)
    print(metric.signature)
    print(
        f"{len(rows)} rows, mean Pearson r over {len(groups)} groups ({', '.join(sorted(groups))})"
    )
    print("layer  precision  recall  f1")
    for layer in range(metric.depth + 1):
        means = []
        for name in ("precision", "recall", "f1"):
            column = scores[f"layer_{layer}_{name}"]
            means.append(
                sum(pearson(column[part], human[part]) for part in groups.values()) / len(groups)
            )
        print(f"{layer:5d}  {means[0]:9.3f}  {means[1]:6.3f}  {means[2]:.3f}")


if __name__ == "__main__":
    main()
