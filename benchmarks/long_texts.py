"""What it costs to cut long texts, and what windows cost instead: scores, agreement with people,
seconds.

    python benchmarks/long_texts.py --data pairs.jsonl --limits 128 256 512

The data are JSON lines with "candidate", "references" (a list) and, if there is one, "human_score".
`docs/long_texts.md` reports of summaries beside news articles (SummEval,
https://github.com/Yale-LILY/SummEval) and of one-sentence summaries beside abstracts (SciTLDR,
https://github.com/allenai/scitldr).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
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
    parser.add_argument("--limits", type=int, nargs="+", default=[128, 256, 512])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    preds, refs = [row["candidate"] for row in rows], [row["references"] for row in rows]
    human = torch.tensor([float(row.get("human_score", "nan")) for row in rows])
    print(f"{len(rows)} rows, {options.model}; r: Pearson correlation with people")
    print(
        "limit overflow  texts cut  tokens lost  precision  recall     f1   r of P    r of R   r "
        "of F1  tokens run  seconds"
    )
    for limit in options.limits:
        for overflow in ("truncate", "window"):
            metric = BERTScore(
                options.model, score=None, reduction="none", max_length=limit, overflow=overflow
            )
            metric.update(["load the weights"], ["before the clock runs"])
            metric.reset()
            before, start = metric.diagnostics()["encoded_tokens"], time.perf_counter()
            metric.update(preds, refs)
            scores: Any = metric.compute()
            seconds = time.perf_counter() - start
            facts = metric.diagnostics()
            columns = [scores[name] for name in ("precision", "recall", "f1")]
            means = "  ".join(f"{float(column.mean()):7.4f}" for column in columns)
            agreement = "  ".join(f"{pearson(column, human):7.3f}" for column in columns)
            run = int(facts["encoded_tokens"] - before)
            lost = f"{facts['truncated']:9d}  {facts['lost_tokens']:11d}"
            print(
                f"{limit:5d} {overflow:8s}  {lost}  {means}  {agreement}  {run:10d}  "
                f"{seconds:7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
