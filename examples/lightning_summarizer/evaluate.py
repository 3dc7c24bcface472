"""Score a file of predictions: ``python evaluate.py predictions=FILE.jsonl metric.num_layers=all``. See README.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hydra
from omegaconf import DictConfig
from summarizer.data.jsonl import read_jsonl, wanted
from summarizer.launching import start_quietly
from summarizer.pictures import heatmap
from summarizer.reports import SIGNATURE, aligned, write_tsv
from torch import Tensor

from bertscore_tm import BERTScore

SCORES = ("precision", "recall", "f1")


@hydra.main(version_base="1.3", config_path="../../configs", config_name="evaluate")
def main(cfg: DictConfig) -> float:
    """One file and one metric, or one job of a sweep; returns the mean F1 of the best layer."""
    return evaluate(cfg)


def evaluate(cfg: DictConfig) -> float:
    """Score the file; write samples.tsv, layers.tsv and, for several layers, layers.png."""
    start_quietly()
    metric: BERTScore = hydra.utils.instantiate(cfg.metric)
    preds, targets = zip(*_pairs(cfg.predictions, cfg.prediction, cfg.target), strict=True)
    metric.update(preds, targets)
    scores: dict[str, Tensor] = metric.compute()

    folder = Path(cfg.paths.output_dir)
    samples = [
        {"id": i, **{name: f"{value[i]:.6f}" for name, value in scores.items()}}
        for i in range(len(preds))
    ]
    write_tsv(folder / "samples.tsv", samples, list(samples[0]))
    layers = [
        name.removesuffix("f1").strip("_") or f"layer_{metric.scorer.layers[0]}"
        for name in scores
        if name.endswith("f1")
    ]
    means = [float(value.double().mean()) for value in scores.values()]
    table = [
        {
            "layer": layer.removeprefix("layer_"),
            **{name: f"{value:.6f}" for name, value in zip(SCORES, row, strict=True)},
        }
        for layer, row in zip(layers, zip(*[iter(means)] * len(SCORES), strict=True), strict=True)
    ]
    write_tsv(folder / "layers.tsv", table, list(table[0]))
    (folder / SIGNATURE).write_text(f"{metric.signature}\n", encoding="utf-8")
    if len(table) > 1:
        values = [[float(row[name]) for row in table] for name in SCORES]
        heatmap(
            folder / "layers.png",
            SCORES,
            [row["layer"] for row in table],
            values,
            "layer",
            "BERTScore",
        )
    print(f"{aligned(table)}\n\n{metric.signature}\n\nFolder of the run: {folder}", flush=True)
    return max(float(row["f1"]) for row in table)


def _pairs(name: str, prediction: str, target: str) -> Iterator[tuple[str, list[str]]]:
    if not Path(name).is_file():
        raise FileNotFoundError(
            f"predictions={name} is no file (relative paths start at {Path.cwd()})"
        )
    for place, row in read_jsonl(name):
        targets = wanted(row, target, place)
        yield wanted(row, prediction, place), [targets] if isinstance(targets, str) else targets


if __name__ == "__main__":
    main()
