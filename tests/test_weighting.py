"""Weightings and rules for several references are values: by name, or somebody's own."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from bertscore_tm import (
    BERTScore,
    DocumentFrequencies,
    Encoder,
    HuggingFaceEncoder,
    IdfTable,
    Weighting,
    bert_score,
)
from bertscore_tm.idf import IdfTable as Table
from bertscore_tm.pipeline import Pipeline
from bertscore_tm.references import EMPTY, RULES, over_references
from bertscore_tm.scoring import f_beta
from bertscore_tm.settings import ABOUT, Settings
from bertscore_tm.weighting import WEIGHTINGS, EpochIdf, FromTable, Uniform, choose_weighting

Tiny = Callable[[str], str]
PREDS = ["the cat sat on the mat", "rain fell", "a dog ran home today"]
TARGETS = ["a cat sat there", "it rained all day", ["the dog ran home", "a dog ran to the hills"]]


class PieceLength(Weighting):
    """The weight of a token is the number of letters that its piece has."""

    name = "letters"

    def weights(self, encoder: Encoder, references: DocumentFrequencies | None) -> Any:
        assert references is None

        def weigh(token: Tensor) -> Tensor:
            return torch.tensor([len(piece) for piece in encoder.pieces(token.tolist())])

        return weigh


class RareOnly(Weighting):
    """Tokens that at most one reference of the epoch has count, others do not."""

    name, needs_epoch = "rare", True

    def weights(self, encoder: Encoder, references: DocumentFrequencies | None) -> Any:
        assert references is not None
        common = references.token[references.count > 1]
        return lambda token: (~torch.isin(token.long(), common)).double()


def by_table(weigh: Callable[[int], float], path: str, vocabulary: int = 400) -> IdfTable:
    return IdfTable({token: weigh(token) for token in range(vocabulary)})


# ---------------------------------------------------------------- weightings


def test_the_help_has_the_name_of_each_weighting() -> None:
    for name in WEIGHTINGS:
        assert name in ABOUT["idf"].help


def test_four_weightings_of_the_setting() -> None:
    assert isinstance(choose_weighting(False), Uniform)
    assert isinstance(choose_weighting(True), EpochIdf)
    assert isinstance(choose_weighting({3: 1.0}), FromTable)
    assert isinstance(choose_weighting(Table({3: 1.0})), FromTable)
    assert {name: type(choose_weighting(name)) for name in WEIGHTINGS} == WEIGHTINGS
    mine = PieceLength()
    assert choose_weighting(mine) is mine


@pytest.mark.parametrize("multi_reference", list(RULES))
def test_an_own_weighting_equals_the_table_with_its_weights(
    tiny: Tiny, multi_reference: str
) -> None:
    path = tiny("bert")
    pieces = HuggingFaceEncoder(path).pieces(
        range(len(HuggingFaceEncoder(path).tokenizer._tokenizer))
    )
    table = IdfTable({token: float(len(piece)) for token, piece in enumerate(pieces)})
    options: dict[str, Any] = {"multi_reference": multi_reference}
    got = bert_score(PREDS, TARGETS, path, 2, idf=PieceLength(), **options)
    wanted = bert_score(PREDS, TARGETS, path, 2, idf=table, **options)
    plain = bert_score(PREDS, TARGETS, path, 2, **options)
    for name, values in wanted.items():
        assert torch.allclose(got[name], values, rtol=0, atol=1e-6)
        assert not torch.allclose(got[name], plain[name], rtol=0, atol=1e-3)


def test_an_own_weighting_of_the_epoch_sees_all_updates(tiny: Tiny) -> None:
    path = tiny("bert")
    encoder = HuggingFaceEncoder(path)
    texts = [ref for target in TARGETS for ref in ([target] if isinstance(target, str) else target)]
    seen: dict[int, int] = {}
    for tokens in encoder.tokenize(texts):
        for token in {i for i, counts in zip(tokens.ids, tokens.token_mask) if counts}:
            seen[token] = seen.get(token, 0) + 1
    assert max(seen.values()) > 1
    size = len(encoder.tokenizer._tokenizer)
    table = IdfTable({token: float(seen.get(token, 0) <= 1) for token in range(size)})
    wanted = bert_score(PREDS, TARGETS, path, 2, idf=table)["f1"]
    metric = BERTScore(path, 2, idf=RareOnly(), reduction="none")
    for pred, target in zip(PREDS, TARGETS):
        metric.update([pred], [target])
    assert torch.allclose(metric.compute(), wanted, rtol=0, atol=1e-6)
    assert torch.allclose(bert_score(PREDS, TARGETS, path, 2, idf=RareOnly())["f1"], wanted)
    assert "|idf:rare|" in metric.signature


def test_the_weights_of_an_epoch_are_made_once(tiny: Tiny) -> None:
    """A vocabulary may be large, and a call a row is a use."""
    made = []

    class Counted(RareOnly):
        name = "counted"

        def weights(self, encoder: Encoder, references: DocumentFrequencies | None) -> Any:
            made.append(references)
            return super().weights(encoder, references)

    bert_score(PREDS, TARGETS, tiny("bert"), 2, idf=Counted())
    assert len(made) == 1


def test_weightings_keep_states_apart(tiny: Tiny) -> None:
    one, other = (BERTScore(tiny("bert"), 2, idf=idf) for idf in (PieceLength(), False))
    for metric in (one, other):
        metric.update(PREDS, TARGETS)
    with pytest.raises(ValueError, match="made in another way"):
        one.merge_state(other)
    twin = pickle.loads(pickle.dumps(one))
    twin.merge_state(one)
    assert twin.compute() == pytest.approx(float(one.compute()), abs=1e-7)


@pytest.mark.parametrize(
    "weigh, message",
    [
        (
            lambda token: torch.ones(3),
            r"'odd' gave weights of shape \[3\]; wanted \[\d+\], one for "
            r"each",
        ),
        (
            lambda token: -torch.ones(len(token)),
            "'odd' gave a weight that is negative or not finite",
        ),
        (lambda token: torch.full((len(token),), math.nan), "wanted numbers from 0 on"),
        (lambda token: torch.full((len(token),), math.inf), "negative or not finite"),
    ],
)
def test_weights_that_are_none(tiny: Tiny, weigh: Any, message: str) -> None:
    class Odd(Weighting):
        name = "odd"

        def weights(self, encoder: Encoder, references: DocumentFrequencies | None) -> Any:
            return weigh

    metric = BERTScore(tiny("bert"), 2, idf=Odd())
    with pytest.raises(ValueError, match=message):
        metric.update(PREDS, TARGETS)
    assert metric.diagnostics()["samples"] == 0


def test_a_metric_s_encoder_fits_a_table(tiny: Tiny) -> None:
    metric = BERTScore(tiny("bert"), 2)
    table = IdfTable.fit(PREDS, metric.encoder)
    assert table.documents == len(PREDS)
    assert table.digest == IdfTable.fit(PREDS, HuggingFaceEncoder(tiny("bert"))).digest


# ---------------------------------------------------------------- rules for several references


def by_hand(rule: str, group: list[list[float]]) -> list[float]:
    full = [row for row in group if row[0] != EMPTY]
    if not full:
        return [EMPTY] * 3
    if rule == "max":
        return [max(column) for column in zip(*full)]
    if rule == "mean":
        return [sum(column) / len(full) for column in zip(*full)]
    return max(full, key=lambda row: row[2])  # the first one of equal ones


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("seed", range(4))
def test_rules_equal_a_loop(rule: str, seed: int) -> None:
    draw = random.Random(seed)
    counts = [draw.choice([1, 1, 2, 3, 7]) for _ in range(40)]
    groups = [
        [
            [EMPTY] * 3 if draw.random() < 0.2 else [draw.choice([0.1, 0.5, 0.9]) for _ in range(3)]
            for _ in range(count)
        ]
        for count in counts
    ]
    pairs = torch.tensor([row for group in groups for row in group], dtype=torch.float64)[:, None]
    got = over_references(pairs, torch.tensor(counts, dtype=torch.int32), rule)[:, 0]
    wanted = torch.tensor([by_hand(rule, group) for group in groups], dtype=torch.float64)
    finite = wanted != EMPTY
    assert torch.equal(got == EMPTY, ~finite)
    assert torch.allclose(got[finite], wanted[finite], rtol=0, atol=1e-12)


def test_a_rule_of_one_s_own_is_a_line_in_the_table(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RULES, "min", lambda scores: scores.amin(1))
    scores = torch.tensor([[[0.2, 0.9, 0.3]], [[0.4, 0.1, 0.2]], [[0.5, 0.5, 0.5]]])
    got = over_references(scores, torch.tensor([2, 1]), "min")[:, 0]
    assert torch.equal(got, torch.tensor([[0.2, 0.1, 0.2], [0.5, 0.5, 0.5]]))


# ---------------------------------------------------------------- F


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0, 3])
def test_f_beta_equals_the_formula(beta: float, tiny: Tiny) -> None:
    scores = bert_score(PREDS, [*TARGETS[:2], "a dog"], tiny("bert"), 2, beta=beta)
    for p, r, f in zip(*(scores[name].tolist() for name in ("precision", "recall", "f1"))):
        assert f == pytest.approx((1 + beta**2) * p * r / (beta**2 * p + r), abs=1e-6)


def test_f_beta_leans_to_recall() -> None:
    p, r = torch.tensor([0.2]), torch.tensor([0.8])
    values: Sequence[float] = [float(f_beta(p, r, beta)) for beta in (0.01, 0.5, 1.0, 2.0, 100.0)]
    assert list(values) == sorted(values)
    assert values[0] == pytest.approx(0.2, abs=1e-3)
    assert values[-1] == pytest.approx(0.8, abs=1e-3)
    assert float(f_beta(p, -r, 2.0)) == 0


def test_beta_shapes_what_best_f1_chooses(tiny: Tiny) -> None:
    """So states of different beta are never mixed."""
    one, two = (Pipeline(Settings(tiny("bert"), 2, beta=beta)) for beta in (1.0, 2.0))
    assert not torch.equal(one.fingerprint(), two.fingerprint())
    assert "|beta:2|" in two.signature()
