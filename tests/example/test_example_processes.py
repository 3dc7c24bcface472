"""Several processes validate as one does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from summarizer.data.docstrings import read_package

from bertscore_tm import bert_score

ROWS = 101  # not divisible by 2 or 3: the sampler repeats rows


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, str]]:
    found = {document: summary for _, document, summary in read_package("hydra")}
    found |= {document: summary for _, document, summary in read_package("lightning_utilities")}
    found |= {document: summary for _, document, summary in read_package("rouge_score")}
    found |= {document: summary for _, document, summary in read_package("sacrebleu")}
    assert len(found) >= ROWS
    return list(found.items())[:ROWS]


@pytest.fixture(scope="module")
def validated(
    rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Path]:
    """A function from a number of processes to the folder with the results."""
    file = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    file.write_text(
        "".join(json.dumps({"source": source, "target": target}) + "\n" for source, target in rows)
    )

    @cache
    def validate(processes: int) -> Path:
        folder = tmp_path_factory.mktemp(f"on_{processes}")
        command = [
            sys.executable,
            str(Path(__file__).with_name("validate_rows.py")),
            str(file),
            str(folder),
            str(processes),
        ]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stdout + done.stderr
        return folder

    return validate


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_idf_over_all_rows(
    rows: list[tuple[str, str]], validated: Callable[[int], Path], processes: int
) -> None:
    preds = [" ".join(source.split()[:9]) for source, _ in rows]
    right = bert_score(preds, [target for _, target in rows], "minilm", idf=True)
    results = json.loads((validated(processes) / "results.json").read_text())
    assert results["val_bertscore"] == pytest.approx(float(right["f1"].mean()), abs=1e-6)
    for name in ("precision", "recall", "f1"):
        assert results[f"val_{name}"] == pytest.approx(float(right[name].mean()), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_samples_come_in_the_order_of_the_data(
    rows: list[tuple[str, str]], validated: Callable[[int], Path], processes: int
) -> None:
    preds = [" ".join(source.split()[:9]) for source, _ in rows]
    right = bert_score(preds, [target for _, target in rows], "minilm", idf=True)
    lines = (validated(processes) / "predictions" / "epoch_000.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [row["id"] for row in found] == list(range(ROWS))
    assert [row["prediction"] for row in found] == preds
    assert [row["f1"] for row in found] == pytest.approx(right["f1"].tolist(), abs=2e-6)
