"""`matching="mutual"`: half the credit above the baseline where the match has a better one."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from bertscore_tm import Baseline, BERTScore, IdfTable, bert_score, explain
from bertscore_tm.errors import InvalidValueError

PREDS = ["the cat sat on the mat the cat", "rain rain rain fell", "a dog", "the same"]
TARGETS = ["a cat was on a mat", "it rained all day", ["two dogs ran", "a dog ran"], "the same"]
FLAT = [text for one in TARGETS for text in ([one] if isinstance(one, str) else one)]
TABLE = Baseline([[0.02 * layer, 0.03 * layer, 0.025 * layer] for layer in range(7)])
LAYER = 6
OPTIONS: dict[str, Any] = {"matching": "mutual", "rescale_with_baseline": TABLE}


@pytest.fixture(scope="module")
def encode(minilm: str) -> Any:
    tokenizer, model = AutoTokenizer.from_pretrained(minilm), AutoModel.from_pretrained(minilm)

    def run(text: str) -> tuple[torch.Tensor, list[int]]:
        inputs = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states = model(**inputs, output_hidden_states=True).hidden_states[LAYER][0].double()
        return states / states.norm(dim=1, keepdim=True), inputs["input_ids"][0].tolist()

    return run


def by_hand(encode: Any, pred: str, target: str, weights: Any) -> list[float]:
    """P, R and F1 of a pair before rescaling; the first and the last token have no weight."""
    (a, ids_a), (b, ids_b) = encode(pred), encode(target)
    cosine = (a @ b.T).tolist()
    sides = []
    for rows, ids, floor in (
        (cosine, ids_a, float(TABLE.values[LAYER, 0])),
        ([list(column) for column in zip(*cosine)], ids_b, float(TABLE.values[LAYER, 1])),
    ):
        total = weight_sum = 0.0
        for i in range(1, len(rows) - 1):
            best = max(rows[i])
            j = rows[i].index(best)
            is_mutual = all(row[j] <= best + 1e-9 for row in rows)
            credit = best if is_mutual else min(best, floor + (best - floor) / 2)
            total += weights(ids[i]) * credit
            weight_sum += weights(ids[i])
        sides.append(total / weight_sum)
    p, r = sides
    return [p, r, 2 * p * r / (p + r)]


def wanted(encode: Any, weights: Any = lambda _: 1.0) -> dict[str, list[float]]:
    columns: list[list[float]] = []
    for pred, target in zip(PREDS, TARGETS):
        references = [target] if isinstance(target, str) else target
        of_each = [by_hand(encode, pred, one, weights) for one in references]
        columns.append([max(values) for values in zip(*of_each)])
    floors = TABLE.values[LAYER].tolist()
    return {
        name: [(row[i] - floors[i]) / (1 - floors[i]) for row in columns]
        for i, name in enumerate(("precision", "recall", "f1"))
    }


def same(got: dict[str, Any], values: dict[str, list[float]]) -> None:
    for name, column in values.items():
        assert got[name].tolist() == pytest.approx(column, rel=0, abs=1e-5)


def test_it_equals_a_plain_computation(encode: Any, minilm: str) -> None:
    got = bert_score(PREDS, TARGETS, minilm, LAYER, **OPTIONS)
    same(got, wanted(encode))
    greedy = bert_score(PREDS, TARGETS, minilm, LAYER, rescale_with_baseline=TABLE)
    assert (got["f1"][:2] < greedy["f1"][:2] - 0.01).all()
    assert got["f1"][3] == greedy["f1"][3] == pytest.approx(1.0)  # every token chose itself


def test_with_idf_and_over_merged_states(encode: Any, minilm: str) -> None:
    table = IdfTable.fit(FLAT, BERTScore(minilm).encoder)
    values = wanted(encode, lambda piece: float(table(torch.tensor([piece]))))
    same(bert_score(PREDS, TARGETS, minilm, LAYER, idf=table, **OPTIONS), values)
    parts = [
        BERTScore(minilm, LAYER, idf=True, score=None, reduction="none", **OPTIONS)
        for _ in range(2)
    ]
    parts[0].update(PREDS[:1], TARGETS[:1])
    for row in range(1, 4):
        parts[1].update(PREDS[row : row + 1], TARGETS[row : row + 1])
    parts[1].merge_state(parts[0])
    got = parts[1].compute()
    assert isinstance(got, dict)
    same(got, values)


def test_scores_may_stay_as_they_are(encode: Any, minilm: str, tmp_path: Path) -> None:
    """The table is then read for the matching alone."""
    lines = [f"{i},{','.join(map(repr, row))}" for i, row in enumerate(TABLE.values.tolist())]
    (tmp_path / "table.tsv").write_text("\n".join(["LAYER,P,R,F", *lines]))
    raw = bert_score(
        PREDS, TARGETS, minilm, LAYER, matching="mutual", baseline_path=tmp_path / "table.tsv"
    )
    floors = TABLE.values[LAYER].tolist()
    for i, (name, column) in enumerate(wanted(encode).items()):
        back = [value * (1 - floors[i]) + floors[i] for value in column]
        assert raw[name].tolist() == pytest.approx(back, rel=0, abs=1e-5)


def test_a_pickle_scores_the_same(minilm: str) -> None:
    metric = BERTScore(minilm, LAYER, matching="mutual", rescale_with_baseline=TABLE)
    again = pickle.loads(pickle.dumps(metric))
    for one in (metric, again):
        one.update(PREDS, TARGETS)
    assert float(metric.compute()) == float(again.compute())
    assert metric.signature == again.signature


def test_contributions_add_up(minilm: str) -> None:
    got = explain(PREDS[0], TARGETS[0], minilm, LAYER, **OPTIONS)
    scores = bert_score(PREDS[:1], TARGETS[:1], minilm, LAYER, **OPTIONS)
    assert got.precision == pytest.approx(float(scores["precision"]), abs=1e-6)
    pair = got.best
    total = sum(token.contribution for token in pair.pred.tokens)
    assert total == pytest.approx(pair.precision, abs=1e-6)
    floor = float(TABLE.values[LAYER, 0])
    assert (total - floor) / (1 - floor) == pytest.approx(got.precision, abs=1e-6)


def test_the_signature_names_the_table(minilm: str) -> None:
    assert "|matching:greedy|" in BERTScore(minilm, LAYER).signature
    mutual = BERTScore(minilm, LAYER, **OPTIONS).signature
    assert f"|matching:mutual({TABLE.name})|" in mutual
    other = Baseline([[0.1] * 3] * 7)
    assert other.name != TABLE.name
    assert (
        BERTScore(minilm, LAYER, **{**OPTIONS, "rescale_with_baseline": other}).signature != mutual
    )


def test_states_of_other_tables_do_not_mix(minilm: str) -> None:
    one = BERTScore(minilm, LAYER, **OPTIONS)
    two = BERTScore(
        minilm, LAYER, matching="mutual", rescale_with_baseline=Baseline([[0.1] * 3] * 7)
    )
    for metric in (one, two):
        metric.update(PREDS, TARGETS)
    with pytest.raises(InvalidValueError, match="was made in another way"):
        one.merge_state(two)


def test_without_a_table(tiny: Any) -> None:
    with pytest.raises(
        InvalidValueError,
        match=r"got matching='mutual', which needs a baseline: there is no packaged baseline for",
    ):
        BERTScore(tiny("bert"), 2, matching="mutual")
    with pytest.raises(InvalidValueError, match="has no layer 2; it holds layers 0 to 1"):
        BERTScore(
            tiny("bert"), 2, matching="mutual", rescale_with_baseline=Baseline([[0.1] * 3] * 2)
        )
    with pytest.raises(
        InvalidValueError, match="got matching='mutal'; wanted 'greedy' or 'mutual'"
    ):
        BERTScore(tiny("bert"), 2, matching="mutal")
