"""Each recipe of docs/recipes.md does what it says, in the hands of who would call it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, EvalPrediction

from bertscore_tm import bert_score

PAGE = Path(__file__).parent.parent / "docs" / "recipes.md"
PREDS, TARGETS = ["a dog ran", "rain", "the sun"], ["a dog", "it rained", "the sun shone"]


def block(title: str) -> str:
    part = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    return part.split("```python\n")[1].split("```")[0]


def run(title: str, **known: Any) -> dict[str, Any]:
    space: dict[str, Any] = dict(known)
    exec(compile(block(title), title, "exec"), space)
    return space


@pytest.fixture(scope="module")
def wanted(minilm: str) -> dict[str, Any]:
    return bert_score(PREDS, TARGETS, "minilm")


@pytest.mark.parametrize(
    "title", ["Hugging Face Trainer", "TRL: a reward", "evaluate", "pandas", "polars", "pytest"]
)
def test_a_recipe_is_short(title: str) -> None:
    assert len(block(title).splitlines()) <= 30


def test_of_the_trainer(minilm: str, wanted: dict[str, Any]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(minilm)

    def ids(texts: list[str], padding: int) -> np.ndarray[Any, Any]:
        rows = tokenizer(texts)["input_ids"]
        longest = max(map(len, rows))
        return np.array([row + [padding] * (longest - len(row)) for row in rows])

    compute = run("Hugging Face Trainer", tokenizer=tokenizer)["compute_metrics"]
    labels = ids(TARGETS, -100)
    for _ in range(2):  # two epochs
        got = compute(EvalPrediction(ids(PREDS, -100), labels))
        for name, values in wanted.items():
            assert got[f"bertscore_{name}"] == pytest.approx(float(values.mean()), abs=1e-6)


def test_of_the_reward(wanted: dict[str, Any]) -> None:
    reward = run("TRL: a reward")["reward"]
    got = reward(completions=PREDS, reference=TARGETS, prompts=["p"] * 3)
    assert got == pytest.approx(wanted["f1"].tolist(), abs=1e-6)
    chats = [[{"role": "assistant", "content": text}] for text in PREDS]
    assert reward(completions=chats, reference=TARGETS) == pytest.approx(got, abs=1e-6)


def test_a_group_of_completions_encodes_its_reference_once() -> None:
    space = run("TRL: a reward")
    encoded = [space["rewards"].diagnostics()["encoded_tokens"]]
    for texts in (["one two three", "four five six"], ["seven eight nine", "ten one two"]):
        space["reward"](completions=texts, reference=["zebra yak xylophone"] * 2)
        encoded.append(space["rewards"].diagnostics()["encoded_tokens"])
    first, second = (after - before for before, after in pairwise(encoded))
    assert second < first  # two completions, and the reference in the first call only


def test_of_evaluate(wanted: dict[str, Any]) -> None:
    module = run("evaluate")["BERTScoreModule"](model_name_or_path="minilm")
    for _ in range(2):
        got = module.compute(predictions=PREDS, references=TARGETS)
        assert set(got) == {"precision", "recall", "f1", "hashcode"}
        for name, values in wanted.items():
            assert got[name] == pytest.approx(values.tolist(), abs=1e-6)
    assert got["hashcode"].startswith("encoder:sentence-transformers/all-MiniLM-L6-v2@")


@pytest.mark.parametrize("title", ["pandas", "polars"])
def test_of_columns(title: str) -> None:
    pytest.importorskip(title)
    frame = run(title)["frame"]
    assert list(frame.columns) == ["output", "reference", "precision", "recall", "f1"]
    wanted = bert_score(["a dog ran", "rain"], ["a dog", "it rained"], "minilm")
    assert list(frame["f1"]) == pytest.approx(wanted["f1"].tolist(), abs=1e-6)


def test_of_pytest() -> None:
    check = run("pytest")["assert_no_worse"]
    references = [f"the {noun} stood in the garden" for noun in "dog cat tree car man king".split()]
    good = [text.replace("stood", "was") for text in references]
    bad = ["something else entirely", "no", "blue", "it rains", "seven", "who knows"]
    check(good, bad, references)
    check(good, good, references)
    with pytest.raises(AssertionError, match=r"BERTScore fell by 0\.\d+ \(95% interval -0\."):
        check(bad, good, references)
