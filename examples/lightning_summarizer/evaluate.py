"""Score a file: ``python evaluate.py predictions=FILE metric.num_layers=all``. See README.md."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig
from summarizer.data.files import read_pairs
from summarizer.errors import SettingError, blame
from summarizer.groups import find_configs
from summarizer.launching import job, start, start_quietly
from summarizer.reports import aligned, written
from summarizer.settings import check_evaluation
from torch import Tensor

from bertscore_tm import BERTScore
from bertscore_tm.lightning import LAYERS, NOTE, SIGNATURE, write_tsv
from bertscore_tm.plotting import score_table

NAMES = ("precision", "recall", "f1")


@hydra.main(version_base="1.3", config_path=find_configs(__file__), config_name="evaluate")
def main(cfg: DictConfig) -> float | None:
    """One file and one metric, or one job of a sweep; returns the mean F1 of the best layer."""
    with job():
        return evaluate(cfg)
    return None


def evaluate(cfg: DictConfig) -> float:
    """Score the file; write samples.tsv, layers.tsv and, for several layers, layers.png.

    Raises:
        FileNotFoundError: if there is no such file.
        SettingError: if a setting or a row will not do.
    """
    began = time.time()
    start_quietly()
    check_evaluation(cfg)
    preds, targets = _read(cfg)
    with blame("metric"):
        metric: BERTScore = hydra.utils.instantiate(cfg.metric)
    metric.update(preds, targets)
    scores = metric.compute()
    assert isinstance(scores, dict)  # of the three scores, as checked

    folder = Path(cfg.paths.output_dir)
    samples: list[dict[str, Any]] = [
        {"id": i, **{name: f"{value[i]:.6f}" for name, value in scores.items()}}
        for i in range(len(preds))
    ]
    write_tsv(folder / "samples.tsv", samples, list(samples[0]))
    table = _table(metric, scores)
    write_tsv(folder / LAYERS, table, list(table[0]))
    (folder / SIGNATURE).write_text(f"{metric.signature}\n", encoding="utf-8")
    if len(table) > 1:
        values = [[float(row[name]) for row in table] for name in NAMES]
        names = [row["layer"] for row in table]
        figure, _ = score_table(NAMES, names, values, title="BERTScore", note=NOTE)
        figure.savefig(folder / "layers.png")
    note = f"{NOTE}\n\n" if len(table) > 1 else ""
    end = written(folder, began - 1)
    print(f"{aligned(table)}\n\n{note}{metric.signature}\n\n{end}", flush=True)
    return max(float(row["f1"]) for row in table)


def _read(cfg: DictConfig) -> tuple[list[str], list[list[str]]]:
    file = Path(cfg.predictions)
    if not file.is_file():
        raise FileNotFoundError(
            f"predictions={file} is no file (relative paths start at {Path.cwd()})"
        )
    with blame("predictions"):
        pairs = list(read_pairs(str(file), cfg.prediction, cfg.target))
    if not pairs:
        raise SettingError(f"got predictions={file}, a file without rows; wanted one at least")
    return [pred for pred, _ in pairs], [targets for _, targets in pairs]


def _table(metric: BERTScore, scores: dict[str, Tensor]) -> list[dict[str, str]]:
    """A line a layer, with the means over the samples."""
    several = len(metric.layers) > 1
    return [
        {
            "layer": str(layer),
            **{
                name: f"{scores[f'layer_{layer}_{name}' if several else name].double().mean():.6f}"
                for name in NAMES
            },
        }
        for layer in metric.layers
    ]


if __name__ == "__main__":
    start(main)
