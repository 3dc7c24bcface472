"""The benchmark runs, and its table says what was measured; the numbers themselves depend on the
machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import gpu  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402


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


def setting(pairs: tuple[list[str], list[str]], seconds: float = 60.0) -> rows.Setting:
    return rows.Setting(pairs, "minilm", 5, rounds=3, seconds=seconds)


def a_row(*targets: rows.Target) -> rows.Row:
    return rows.Row("speed", "the speed", "{times:.2f} times as fast", targets, lambda _: {})


def test_a_number_that_was_not_reached_is_a_miss() -> None:
    fast = a_row(rows.at_least("times", 1.5, "x others"), rows.at_most("times", 2, "x others"))
    assert report.line(fast, {"times": 1.5}) == "1.50 times as fast"
    assert report.line(fast, {"times": 1.49}) == ("**miss** (≥ 1.5 x others): 1.49 times as fast")
    assert report.line(fast, {"times": 2.5}) == "**miss** (≤ 2 x others): 2.50 times as fast"
    assert report.line(fast, {"not_run": "no units"}) == "not run: no units"


def test_rounds_are_as_many_as_fit() -> None:
    assert list(setting(([], [])).turns()) == [0, 1, 2]
    assert list(setting(([], []), seconds=0.0).turns()) == [0]  # the first is always finished


def test_each_row_stands_in_the_table_measured_or_not(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "some-cpu"
    folder.mkdir(parents=True)
    about = {"pairs": 3, "model": "m", "layer": 5, "load": 0.5, "command": "python bench.py"}
    about["machine"] = {"cpu": "some cpu", "python": "3.11"}
    (folder / "own.json").write_text(json.dumps({"speed": {**about, "times": 1.0}}))
    other = rows.Row("other", "the other", "{x}", (), lambda _: {})
    table = {"speed": a_row(rows.at_least("times", 2)), "other": other}
    report.write([{"elsewhere": other}, table], tmp_path / "results", tmp_path / "RESULTS.md")
    lines = (tmp_path / "RESULTS.md").read_text().splitlines()
    assert "## some-cpu, own" in lines
    assert "some cpu, python 3.11." in lines
    assert "| the speed | ≥ 2  | **miss** (≥ 2 ): 1.00 times as fast | 3, m, 5 | 0.5 |" in lines
    assert "| the other | - | not run | | |" in lines
    assert "    python bench.py" in lines


def test_rows_of_a_gpu_run_as_they_are(tiny: Callable[[str], str]) -> None:
    """On the CPU, and with a model of the tests in place of the large ones."""
    table = gpu.rows("cpu", {tiny("bert"): 2})
    assert [name.split(", ", 1)[1] for name in table] == list(gpu.VARIANTS)
    pairs = (["a dog ran", "it rained"], ["a cat ran", "it rained all day"])
    first = table[f"{tiny('bert')}, float32"]
    numbers = first.measure(setting(pairs, seconds=0.0))
    assert numbers["mean_f1"] == pytest.approx(numbers["mean_f1_bert_score"], abs=1e-5)
    assert "pairs a second" in report.line(first, numbers)
    flash = table[f"{tiny('bert')}, bfloat16, flash attention"]
    with pytest.raises(rows.NotRun, match=r"(?i)flash"):  # its package is for GPUs
        flash.measure(setting(pairs))


def test_the_encoder_has_the_attention_that_was_asked_for(tiny: Callable[[str], str]) -> None:
    seen = []
    load = transformers.AutoModel.from_pretrained
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            transformers.AutoModel,
            "from_pretrained",
            lambda *args, **options: seen.append(load(*args, **options)) or seen[-1],
        )
        encoder = gpu.encoder(tiny("bert"), 2, "eager", "bfloat16", "cpu")
    assert seen[0].config._attn_implementation == "eager"
    assert seen[0].dtype == torch.bfloat16
    assert encoder.dtype == "bfloat16"


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
        "three_layers",
        "call_a_row",
        "overhead",
        "bfloat16_error",
    ]
    out = run("bench.py", *given, "--rounds", "1", "--out", str(tmp_path), "--only", *rows)
    assert [line.split(" ... (")[0] for line in out.splitlines()] == rows
    (file,) = (tmp_path / "results").glob("*/own.json")
    numbers = json.loads(file.read_text())
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
    assert numbers["three_layers"]["passes"] == pytest.approx(1.0)
    table = (tmp_path / "RESULTS.md").read_text()
    assert f"## {file.parent.name}, own" in table
    assert "| idf=True | ≤ 1.05 x without | " in table
    assert f"{first['times_bert_score']:.2f} times as fast as bert-score" in table


@pytest.mark.slow
def test_a_sync_of_many_ranks_is_counted(minilm: str) -> None:
    lines = run("many_ranks.py", "--ranks", "10", "--pairs", "40").splitlines()
    # 4 pairs a rank: settings, weights and sizes are 11 integers of 8 bytes; 4 ids and digests,
    # 4 x 3 scores of 4 bytes, 10 counts.
    assert f"4 gathers, {11 * 8 + 4 * 16 + 4 * 12 + 10 * 8} bytes of each rank" in lines[1]
    assert "5 gathers" in lines[2]


@pytest.mark.slow
def test_when_the_time_is_over_rows_are_marked(minilm: str, tmp_path: Path) -> None:
    given = ["--pairs", "2", "--minutes", "-1", "--out", str(tmp_path)]
    out = run("bench.py", *given, "--only", "idf", "checkpoint")
    assert "idf ... (0 s): not run: the -1 minutes were over" in out
    assert "checkpoint ... (0 s): not run" in out


@pytest.mark.slow
def test_growth_is_drawn(minilm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import costs

    monkeypatch.setattr(costs, "SIZES", (20, 200))
    numbers = costs.growth(setting(([], [])))
    assert numbers["grown"]["pairs"] == [20, 200]
    assert len(numbers["grown"]["seconds"]) == len(numbers["grown"]["over_imports_mb"]) == 2
    report.draw(numbers["grown"], tmp_path / "growth.svg")
    assert "pairs of eight words" in (tmp_path / "growth.svg").read_text()


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
