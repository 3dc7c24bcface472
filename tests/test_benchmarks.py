"""The benchmark runs, and its table says what was measured; the numbers themselves depend on the
machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", str(BENCHMARKS / script), *arguments]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_bench(minilm: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat sat on the mat\nit rained all day\nthe same\n")
    (tmp_path / "b.txt").write_text("a cat sat on a mat\nit was raining\nthe same\n")
    given = [
        "--candidates",
        str(tmp_path / "a.txt"),
        "--references",
        str(tmp_path / "b.txt"),
        "--name",
        "own",
    ]
    rows = [
        "checkpoint",
        "first_pass",
        "later_epochs",
        "layers",
        "three_scores",
        "idf",
        "small_updates",
        "overhead",
    ]
    out = run("bench.py", *given, "--rounds", "1", "--out", str(tmp_path), "--only", *rows)
    assert [line.split(" ... (")[0] for line in out.splitlines()] == rows
    numbers = json.loads((tmp_path / "results" / "own.json").read_text())
    assert list(numbers) == rows
    first = numbers["first_pass"]
    assert (first["data"], first["pairs"], first["model"], first["layer"]) == (
        "own",
        3,
        "minilm",
        5,
    )
    assert first["worst_difference"] < 1e-5  # ours and bert-score agree
    assert first["mean_f1"] == pytest.approx(first["mean_f1_bert_score"], abs=1e-5)
    assert (numbers["checkpoint"]["keys"], numbers["checkpoint"]["parameters"]) == (0, 0)
    table = (tmp_path / "RESULTS.md").read_text()
    assert "## own" in table
    assert f"{first['times_bert_score']:.2f} times as fast as bert-score" in table


@pytest.mark.slow
def test_a_sync_of_many_ranks_is_counted(minilm: str) -> None:
    lines = run("scaling.py", "--ranks", "10", "--pairs", "40").splitlines()
    # 4 pairs a rank: settings, weights and sizes are 11 integers of 8 bytes; 4 ids and digests,
    # 4 x 3 scores of 4 bytes, 10 counts.
    assert f"4 gathers, {11 * 8 + 4 * 16 + 4 * 12 + 10 * 8} bytes of each rank" in lines[1]
    assert "5 gathers" in lines[2]


@pytest.mark.slow
def test_agreement_joins_documents_and_reads_ranks(minilm: str, tmp_path: Path) -> None:
    texts = ["the cat sat on the mat", "a dog", "it rained all day in the town"]
    rows = [
        {
            "doc_id": doc,
            "system": f"s{system}",
            "candidate": texts[doc][: len(texts[doc]) - 2 * system],
            "human_scores": dict.fromkeys(
                ("relevance", "coherence", "consistency", "fluency"), 5 - system + doc / 10
            ),
        }
        for doc in range(3)
        for system in range(3)
    ]
    documents = [{"doc_id": doc, "references": [text]} for doc, text in enumerate(texts)]
    ranks = [{"better": text, "worse": "x", "references": [text]} for text in texts]
    for name, lines in (
        ("summeval.jsonl", rows),
        ("summeval.docs.jsonl", documents),
        ("wmt19_darr_kk-en.jsonl", ranks),
    ):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = run("agreement.py", str(tmp_path), "--resamples", "100", "--out", f"{tmp_path}/out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert [*found] == [
        "summeval-relevance",
        "summeval-coherence",
        "summeval-consistency",
        "summeval-fluency",
        "wmt19-darr-kk-en",
    ]
    (tau,) = (a for a in found["wmt19-darr-kk-en"]["agreements"] if a["metric"] == "bertscore_f1")
    assert (tau["value"], tau["low"]) == (1.0, 1.0)
    assert "| wmt19-darr-kk-en | 3 | [1.00, 1.00] | 1.000 |" in out
    systems = [
        a["value"]
        for a in found["summeval-fluency"]["agreements"]
        if (a["level"], a["statistic"], a["metric"]) == ("system", "spearman", "chrf")
    ]
    assert systems == [1.0]  # the more is cut off, the worse
