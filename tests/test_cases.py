"""Faults that BERTScore tools have had, each as a test of the right behaviour.

The names are those of public reports: BS is Tiiiger/bert_score, TM torchmetrics, EV
huggingface/evaluate, HY hydra. Unless a test says otherwise: MiniLM, hidden state 6, float32. The
numbers come from a plain computation, one text at a time, in float64.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import re
import subprocess
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bertscore_tm import (
    Baseline,
    BERTScore,
    BERTScoreWarning,
    HuggingFaceEncoder,
    IdfTable,
    bert_score,
    references,
)
from reference import bertscore
from tiny import LAYERS, POSITIONS

NAMES = ("precision", "recall", "f1")
Tiny = Callable[[str], str]
RULES = pytest.mark.parametrize("special", [True, False], ids=["markers", "no-markers"])


def near(got: Tensor, wanted: Sequence[float] | float, tolerance: float = 6e-5) -> None:
    """Equal to four digits."""
    assert got.tolist() == pytest.approx(wanted, rel=0, abs=tolerance)


def metric_of(minilm: str, **options: Any) -> BERTScore:
    return BERTScore(minilm, 6, **options)


def copy_of(minilm: str, folder: Path, **settings: Any) -> str:
    """MiniLM in another folder, with changed settings of its tokenizer; None removes one."""
    folder.mkdir()
    for file in Path(minilm).iterdir():
        if file.name not in ("tokenizer_config.json", "README.md") and file.is_file():
            (folder / file.name).symlink_to(file)
    entries = {**json.loads((Path(minilm) / "tokenizer_config.json").read_text()), **settings}
    kept = {name: value for name, value in entries.items() if value is not None}
    (folder / "tokenizer_config.json").write_text(json.dumps(kept))
    return str(folder)


# ---------------------------------------------------------------- numbers

ORDER_PREDS = [
    "a much longer first candidate sentence about trains leaving the old station",
    "rain",
    "two cats sleep",
    "the green lamp broke today",
]
ORDER_TARGETS = [
    "a much longer first reference sentence about trains leaving the old station",
    "rain fell",
    "two cats sleep quietly on it",
    "the green lamp is broken",
]
ORDER_F1 = {True: [0.9030, 0.8114, 0.7987, 0.8597], False: [0.9030, 0.8114, 0.7853, 0.8593]}


@RULES
def test_order_and_pairing(special: bool, minilm: str) -> None:
    """TM#2728, TM#2347, TM#3437, BS#197: rows were sorted by length and not put back."""
    wanted = ORDER_F1[special]
    near(
        bert_score(ORDER_PREDS, ORDER_TARGETS, minilm, 6, match_special_tokens=special)["f1"],
        wanted,
    )
    back = bert_score(
        ORDER_PREDS[::-1], ORDER_TARGETS[::-1], minilm, 6, match_special_tokens=special
    )
    near(back["f1"], wanted[::-1])
    for row, value in enumerate(wanted):
        near(
            bert_score(
                ORDER_PREDS[row], ORDER_TARGETS[row], minilm, 6, match_special_tokens=special
            )["f1"],
            [value],
        )


@pytest.mark.parametrize("cuts", [(4,), (1, 1, 1, 1), (3, 1), (1, 3)])
def test_order_in_any_split_into_updates(cuts: tuple[int, ...], minilm: str) -> None:
    metric = metric_of(minilm, reduction="none")
    first = 0
    for rows in cuts:
        metric.update(ORDER_PREDS[first : first + rows], ORDER_TARGETS[first : first + rows])
        first += rows
    near(metric.compute(), ORDER_F1[True])


def test_mean_over_rows(minilm: str) -> None:
    metric = metric_of(minilm)
    metric.update(ORDER_PREDS, ORDER_TARGETS)
    near(metric.compute(), 0.8432)


@pytest.mark.parametrize(
    "special, wanted", [(True, (0.9445, 0.6920, 0.7987)), (False, (0.9445, 0.6721, 0.7853))]
)
def test_markers_as_match_targets(special: bool, wanted: tuple[float, ...], minilm: str) -> None:
    """BS#180: a marker has no weight; whether a word may pick it is a rule that has a name."""
    metric = metric_of(minilm, match_special_tokens=special, score=None)
    metric.update("two cats sleep", "two cats sleep quietly on it")
    for name, value in zip(NAMES, wanted):
        near(metric.compute()[name], value)
    assert f"special_tokens:{'matched' if special else 'unmatched'}|" in metric.signature


def test_padding_is_never_matched(minilm: str) -> None:
    """The longer neighbours of a short pair change nothing."""
    alone = bert_score(["rain"], ["rain fell"], minilm, 6, embedding_cache=0)
    beside = bert_score(
        ["rain", ORDER_PREDS[0]],
        ["rain fell", ORDER_TARGETS[0] + " and more"],
        minilm,
        6,
        embedding_cache=0,
    )
    for name in NAMES:
        near(beside[name][0], alone[name].item(), 1e-6)


EMPTY_PREDS, EMPTY_TARGETS = ["", "a dog", "", "  ", "a dog"], ["a dog", "", "", "a dog", "a dog"]


@pytest.mark.parametrize("value", [0.0, -1.0])
@pytest.mark.parametrize("name", NAMES)
def test_empty_texts(name: str, value: float, minilm: str) -> None:
    """BS#47, BS#62, BS#132."""
    metric = metric_of(minilm, score=name, reduction="none", empty_score=value)
    metric.update(EMPTY_PREDS, EMPTY_TARGETS)
    with pytest.warns(
        BERTScoreWarning, match=rf"4 of 5 samples have nothing to score and count as {value:g}"
    ) as seen:
        near(metric.compute(), [value] * 4 + [1.0], 1e-6)
    assert len(seen) == 1
    assert metric.diagnostics()["empty"] == 4


@pytest.mark.parametrize("rule", list(references.RULES))
def test_empty_references_are_left_out(rule: str, minilm: str) -> None:
    with pytest.warns(BERTScoreWarning, match="1 of 2 samples have nothing to score"):
        scores = bert_score(
            ["two cats sleep", "a dog"],
            [["", "two cats sleep", " "], ["", ""]],
            minilm,
            6,
            multi_reference=rule,
        )
    for name in NAMES:
        near(scores[name], [1.0, 0.0], 1e-6)


@RULES
def test_idf_with_too_few_references(special: bool, minilm: str) -> None:
    """BS#6, BS#8, BS#14: where all weights are zero the words count alike."""
    with pytest.warns(BERTScoreWarning, match="1 pairs have a side whose idf weights are all zero"):
        near(
            bert_score("a dog ran", "a dog ran", minilm, 6, idf=True, match_special_tokens=special)[
                "f1"
            ],
            [1.0],
            1e-6,
        )
    with pytest.warns(BERTScoreWarning, match="2 pairs have a side"):
        got = bert_score(
            ["a cat sat", "we go"],
            ["a cat ran"] * 2,
            minilm,
            6,
            idf=True,
            match_special_tokens=special,
        )
    wanted = {
        True: ([0.2285, 0.1244], [0.6507, 0.1036], [0.3382, 0.1130]),
        False: ([0.2160, 0.1244], [0.6358, 0.1036], [0.3225, 0.1130]),
    }[special]
    for name, values in zip(NAMES, wanted):
        near(got[name], values)


def test_idf_of_a_batch_of_one(minilm: str) -> None:
    metric = metric_of(minilm, idf=True)
    near(metric("a dog ran", "a dog ran"), 1.0, 1e-6)


@RULES
@pytest.mark.parametrize("text, f1", [("hello world [SEP]", 0.9961), ("[PAD] hello world", 0.9358)])
def test_markers_that_the_text_spells_out(text: str, f1: float, special: bool, minilm: str) -> None:
    """BS#81: they stay in the context and have no weight."""
    for pred, target in ((text, "hello world"), ("hello world", text)):
        metric = metric_of(minilm, match_special_tokens=special)
        metric.update(pred, target)
        with pytest.warns(BERTScoreWarning, match="1 texts spell out special tokens"):
            near(metric.compute(), f1)
        assert metric.diagnostics()["special_token_texts"] == 1


def test_a_text_of_markers_only_is_empty(minilm: str) -> None:
    with pytest.warns(BERTScoreWarning, match="1 of 2 samples have nothing to score"):
        near(
            bert_score(["[SEP] [CLS]", "[UNK]"], ["a dog", "[UNK]"], minilm, 6)["f1"],
            [0.0, 1.0],
            1e-6,
        )


@pytest.mark.parametrize("layer", [0, 3, 6])
def test_the_score_of_itself(layer: int, minilm: str) -> None:
    """TM#2728: 1, and never above."""
    texts = [
        "rain",
        "two cats sleep",
        ORDER_PREDS[0],
        "the door, which nobody had opened for years, stood open that day.",
    ]
    for name, values in bert_score(texts, texts, minilm, layer).items():
        assert bool((values <= 1.0).all()), name
        near(values, [1.0] * 4, 1e-6)


FLAT = Baseline([[0.6] * 3] * 7)


def test_rescaling(minilm: str, tmp_path: Path) -> None:
    """BS#37, BS#122, BS#133, BS#152, BS#132: an empty row is not rescaled, and a negative score is
    legal."""
    table = tmp_path / "flat.tsv"
    table.write_text("LAYER,P,R,F\n" + "".join(f"{layer},0.6,0.6,0.6\n" for layer in range(7)))
    rows = ["", "a dog", "rain"], ["a cat", "a dog", "the iron gate"]
    with pytest.warns(BERTScoreWarning, match="1 of 3 samples"):
        raw = bert_score(*rows, minilm, 6)
    for options in (
        {"baseline_path": str(table), "rescale_with_baseline": True},
        {"rescale_with_baseline": FLAT},
    ):
        with pytest.warns(BERTScoreWarning, match="1 of 3 samples"):
            got = bert_score(*rows, minilm, 6, **options)
        for name in NAMES:
            near(got[name], [0.0, 1.0, (raw[name][2].item() - 0.6) / 0.4], 1e-5)
            assert got[name][2] < 0


def test_each_column_rescales_its_own_score(minilm: str) -> None:
    raw = bert_score("two cats sleep", "two cats sleep quietly on it", minilm, 6)
    table = Baseline([[0.9] * 3] * 6 + [[0.1, 0.2, 0.3]])
    got = bert_score(
        "two cats sleep", "two cats sleep quietly on it", minilm, 6, rescale_with_baseline=table
    )
    for name, base in zip(NAMES, (0.1, 0.2, 0.3)):
        near(got[name], [(raw[name].item() - base) / (1 - base)], 1e-6)


def test_a_script_that_the_encoder_does_not_know(minilm: str) -> None:
    """BS#151, BS#193, BS#194."""
    metric = metric_of(minilm)
    metric.update("ខ្ញុំស្រឡាញ់អ្នក", "ថ្ងៃនេះមេឃភ្លៀង")
    with pytest.warns(BERTScoreWarning, match="100% of the words are unknown"):
        near(metric.compute(), 1.0, 1e-6)
    assert metric.diagnostics()["unknown_share"] == 1.0


def test_the_language_chooses_the_encoder() -> None:
    try:
        named = BERTScore(lang="ur").signature
    except OSError as error:  # it is not at hand
        named = str(error)
    assert "bert-base-multilingual-cased" in named


def test_what_is_no_language(minilm: str) -> None:
    with pytest.raises(ValueError, match="got lang='xx-nowhere', which is no language code"):
        metric_of(minilm, lang="xx-nowhere")
    assert (
        metric_of(minilm, lang="sw").signature == metric_of(minilm).signature
    )  # a language without a default encoder


# ---------------------------------------------------------------- tokenizer and encoder


def test_a_tokenizer_without_a_limit(minilm: str, tmp_path: Path) -> None:
    """BS#135, BS#205, BS#206, EV#739: the number that stands for "none" is near 1e30."""
    folder = copy_of(minilm, tmp_path / "no-limit", model_max_length=None)
    near(bert_score("a dog", "a dog", folder, 6)["f1"], [1.0], 1e-6)
    long = " ".join(f"word{i % 7}" for i in range(800))
    got = []
    for path in (minilm, folder):
        with pytest.warns(BERTScoreWarning, match="1 texts were truncated to 512 tokens"):
            got.append(bert_score(long, "a dog", path, 6)["f1"])
    near(got[1], got[0].tolist(), 1e-6)


@pytest.mark.parametrize("special, f1", [(True, [0.1203, 0.8114]), (False, [0.0841, 0.8114])])
def test_long_text_by_default(special: bool, f1: list[float], minilm: str) -> None:
    """TM#2673, TM#2776, BS#17, BS#18, BS#117."""
    metric = metric_of(minilm, match_special_tokens=special, reduction="none")
    metric.update(["word " * 700, "rain"], ["a b", "rain fell"])
    with pytest.warns(BERTScoreWarning) as seen:
        near(metric.compute(), f1)
    assert len(seen) == 1
    assert "1 texts were truncated to 512 tokens (190 tokens lost" in str(
        seen[0].message
    )  # 700 words, room for 510


def test_long_text_as_an_error(minilm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = metric_of(minilm, overflow="error")
    metric.update("a dog", "a cat")
    with monkeypatch.context() as context:
        context.setattr(
            HuggingFaceEncoder, "hidden_states", lambda *_: pytest.fail("something was encoded")
        )
        with pytest.raises(ValueError, match=r"got a text of 702 tokens; the limit is 512"):
            metric.update(["rain", "word " * 700], ["rain fell", "a b"])
    near(metric.compute(), 0.6034)


@pytest.mark.parametrize("limit", [None, 512, POSITIONS + 2, POSITIONS])
def test_limit_above_the_position_table(limit: int | None, tiny: Tiny) -> None:
    """BS#18, BS#117, BS#174, TM#2673: RoBERTa's table has two places fewer than it says."""
    path = tiny("roberta-no-limit")
    with pytest.warns(BERTScoreWarning, match=f"1 texts were truncated to {POSITIONS} tokens"):
        got = bert_score("dog ran " * 60, "dog ran home", path, 2, max_length=limit)
    wanted = bertscore(["dog ran " * 60], ["dog ran home"], path, 2, max_length=POSITIONS)
    for name in NAMES:
        near(got[name], wanted[name], 1e-5)


def test_leading_space_of_byte_level_tokenizers(tiny: Tiny) -> None:
    """BS#147, BS#164: transformers 5 ignores `add_prefix_space` per call."""
    path = tiny("roberta-no-prefix")
    got = bert_score("dog ran", "the dog ran", path, 2)
    wanted = bertscore(["dog ran"], ["the dog ran"], path, 2, add_prefix_space=True)
    other = bertscore(["dog ran"], ["the dog ran"], path, 2)
    for name in NAMES:
        near(got[name], wanted[name], 1e-5)
    assert abs(wanted["f1"][0] - other["f1"][0]) > 1e-3  # else the space would not show
    encoder = HuggingFaceEncoder(path, num_layers=2)
    first, later = encoder.tokenize(["dog ran", "the dog ran"])
    assert list(first.ids[1:-1]) == list(later.ids[-1 - len(first.ids[1:-1]) : -1])
    assert "+prefix_space" in BERTScore(path, 2).signature


@RULES
def test_tokenizer_that_pads_on_the_left(special: bool, minilm: str, tmp_path: Path) -> None:
    folder = copy_of(minilm, tmp_path / "left", padding_side="left")
    preds, target = ["the cat sat on the mat", "rain"], ["the cat sat on the mat", "rain fell"]
    got = bert_score(preds, target, folder, 6, max_length=16, match_special_tokens=special)
    for name, values in zip(NAMES, ([1, 0.9310], [1, 0.7190], [1, 0.8114])):
        near(got[name], values)


@pytest.mark.parametrize("layer", [1, 2])
def test_decoder_without_markers(layer: int, tiny: Tiny) -> None:
    """BS#157."""
    rows = ["two cats sleep", "rain"], ["two cats sleep quietly", "rain fell on the old town"]
    got, wanted = (
        bert_score(*rows, tiny("gpt2"), layer),
        bertscore(*rows, tiny("gpt2"), layer, add_prefix_space=True),
    )
    (tokens,) = HuggingFaceEncoder(tiny("gpt2"), num_layers=layer).tokenize(["two cats sleep"])
    assert all(tokens.token_mask)
    for name in NAMES:
        near(got[name], wanted[name], 1e-5)


@pytest.mark.parametrize("layer", range(LAYERS + 1))
def test_layer_k_is_hidden_state_k(layer: int, tiny: Tiny) -> None:
    """BS#176, BS#184: the final norm of ModernBERT belongs to the last state only."""
    rows = ["two cats sleep", "rain"], ["two cats sleep quietly", "rain fell on the old town"]
    got = bert_score(*rows, tiny("modernbert"), layer)
    wanted = bertscore(*rows, tiny("modernbert"), layer, add_prefix_space=True)
    for name in NAMES:
        near(got[name], wanted[name], 1e-5)


def test_encoder_outside_the_table(minilm: str) -> None:
    """BS#82, BS#103, BS#170, BS#184, BS#185, BS#188, BS#189."""
    metric = BERTScore(minilm)
    assert "|layers:4(default)|" in metric.signature  # two thirds of 6
    metric.update("a dog", "a dog")
    with pytest.warns(
        BERTScoreWarning, match=r"nobody has measured .* layer 4, two thirds of its depth"
    ):
        metric.compute()
    with pytest.raises(
        ValueError, match=re.escape("got layer 99;") + r".* hidden states 0 .* to 6"
    ):
        BERTScore(minilm, 99)


@pytest.mark.parametrize("lang", ["en", "EN"])
def test_no_baseline(lang: str, minilm: str) -> None:
    """BS#71, BS#131, BS#203: an error where the metric is made, never a raw value that is called
    rescaled."""
    with pytest.raises(ValueError, match="there is no packaged baseline for encoder") as error:
        metric_of(minilm, lang=lang, rescale_with_baseline=True)
    for part in (repr(minilm), "'en'", "baseline_path=", "LAYER,P,R,F", "compute one"):
        assert part in str(error.value)


def test_signatures(minilm: str, tiny: Tiny) -> None:
    """BS#46, BS#81, BS#86, BS#105, BS#164."""
    options: list[dict[str, Any]] = [
        {"idf": True},
        {"idf": {1012: 2.0}},
        {"match_special_tokens": False},
        {"multi_reference": "mean"},
        {"max_length": 128},
        {"overflow": "window"},
        {"dtype": "bfloat16"},
        {"rescale_with_baseline": FLAT},
        {"empty_score": -1.0},
    ]
    made = [
        metric_of(minilm),
        BERTScore(minilm, 5),
        BERTScore(tiny("bert"), 2),
        *(metric_of(minilm, **o) for o in options),
    ]
    signatures = [metric.signature for metric in made]
    assert len(set(signatures)) == len(signatures)
    assert not any("\n" in line for line in signatures)
    assert [metric.signature for metric in (metric_of(minilm), BERTScore(minilm, 5))] == signatures[
        :2
    ]
    assert signatures[0].startswith(f"encoder:{minilm}@")
    assert signatures[2].startswith(f"encoder:{tiny('bert')}@")


# ---------------------------------------------------------------- several references


def test_groups_over_more_than_one_update(minilm: str) -> None:
    """TM#647, TM#3069."""
    metric = metric_of(minilm, reduction="none")
    metric.update(
        ["the cat sleeps", "rain fell"],
        [("the cat sleeps", "dogs bark loudly"), ("sun shines", "rain fell")],
    )
    metric.update(["birds sing", "he ran home"], [("birds sing", "x y"), ("we ate", "he ran home")])
    near(metric.compute(), [1.0] * 4, 1e-6)


def test_shapes(minilm: str) -> None:
    """TM#472."""
    one = metric_of(minilm, reduction="none")
    one.update("a b", "a b")
    assert one.compute().shape == (1,)
    nested = metric_of(minilm, reduction="none")
    nested.update(["the cat sleeps"], [["the cat sleeps"]])
    assert nested.compute().shape == (1,)
    mean = metric_of(minilm)
    mean.update("a b", "a b")
    assert mean.compute().shape == ()
    for layers, score, keys in (
        ("all", "f1", [f"layer_{layer}" for layer in range(7)]),
        ((3, 5), None, [f"layer_{layer}_{name}" for layer in (3, 5) for name in NAMES]),
    ):
        for reduction, shape in (("mean", ()), ("none", (1,))):
            several = BERTScore(minilm, layers, score=score, reduction=reduction)
            several.update("a b", "a b")
            assert {key: value.shape for key, value in several.compute().items()} == dict.fromkeys(
                keys, shape
            )


def test_all_layers_with_several_references(minilm: str) -> None:
    metric = BERTScore(minilm, "all", reduction="none")
    metric.update(["a b", "c"], [["a b", "x"], ["c"]])
    scores = metric.compute()
    assert list(scores) == [f"layer_{layer}" for layer in range(7)]
    for values in scores.values():
        near(values, [1.0, 1.0], 1e-6)


@pytest.mark.parametrize(
    "rule, special, wanted",
    [
        ("max", True, (0.9118, 0.5455, 0.6351)),
        ("max", False, (0.9118, 0.5455, 0.6308)),
        ("best_f1", True, (0.9118, 0.4873, 0.6351)),
        ("best_f1", False, (0.9118, 0.4823, 0.6308)),
        ("mean", True, (0.5523, 0.5164, 0.4600)),
        ("mean", False, (0.5523, 0.5139, 0.4579)),
    ],
)
def test_which_reference_gives_what(
    rule: str, special: bool, wanted: tuple[float, ...], minilm: str
) -> None:
    """BS#136, BS#30, BS#42."""
    pred = "a tall man walked slowly"
    target = ["man", "a tall man walked slowly to the small market near the sea and bought bread"]
    got = bert_score(pred, target, minilm, 6, multi_reference=rule, match_special_tokens=special)
    for name, value in zip(NAMES, wanted):
        near(got[name], [value])


# ---------------------------------------------------------------- inputs


def test_containers(minilm: str) -> None:
    """BS#62, BS#111, BS#124, BS#146."""
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    preds, target = ["a dog", "rain"], ["a cat", "rain fell"]
    for a, b in (
        (tuple(preds), target),
        ((text for text in preds), iter(target)),
        (np.array(preds, dtype=object), np.array(target)),
        (pd.Series(preds, index=[5, 6]), pd.Series(target, index=[5, 6])),
        (preds, [np.array(["a cat"]), ("rain fell",)]),
    ):
        near(bert_score(a, b, minilm, 6)["f1"], [0.6034, 0.8114])
    near(bert_score("rain", ["the iron gate", "rain fell"], minilm, 6)["f1"], [0.8114])


@pytest.mark.parametrize(
    "preds, target, message",
    [
        (["a", "b"], ["a", None], r"got None in row 1 of target"),
        (["a", "b"], [math.nan, "a"], r"got float \('nan'\) in row 0 of target"),
        ([3, "a"], ["a", "b"], r"got int \('3'\) in row 0 of preds"),
    ],
)
def test_what_is_no_text(preds: Any, target: Any, message: str, minilm: str) -> None:
    metric = metric_of(minilm)
    metric.update("a dog", "a cat")
    with pytest.raises(TypeError, match=message):
        metric.update(preds, target)
    near(metric.compute(), 0.6034)


def test_nothing_to_do(minilm: str) -> None:
    metric = metric_of(minilm)
    metric.update("a dog", "a cat")
    metric.update([], [])
    near(metric.compute(), 0.6034)
    with pytest.raises(ValueError, match="got no references in row 1 of target"):
        metric.update(["a b", "c"], [["a b"], []])
    near(metric.compute(), 0.6034)
    nothing = bert_score([], [], minilm, 6)
    assert {name: (value.shape, value.dtype) for name, value in nothing.items()} == dict.fromkeys(
        NAMES, ((0,), torch.float32)
    )


# What looks the same as a text of another kind, and what does not.
FORMS: dict[str, tuple[str, str, bool]] = {
    "decomposed": (unicodedata.normalize("NFD", "café olé"), "café olé", True),
    "decomposed Hangul": (unicodedata.normalize("NFD", "한국어"), "한국어", True),
    "full width": ("１２ cats", "12 cats", True),
    "half width": ("ｶﾅ", "カナ", True),
    "a line break": ("two cats\nsleep", "two cats sleep", True),
    "spaces": ("two  cats", "two cats", True),
    "a space that does not break": ("two\u00a0cats", "two cats", True),
    "a ligature": ("ﬁne", "fine", True),
    "an Arabic presentation form": ("\ufefb", "\u0644\u0627", True),
    "the text itself": ("two cats", "two cats", False),
    "white space around": (" two cats\n", "two cats", False),  # is never scored
    "another case": ("Two cats", "two cats", False),
    "another word": ("two dogs", "two cats", False),
    "another quote": ("it’s", "it's", False),
    "nothing": ("", "two cats", False),
}


@pytest.mark.parametrize("name", FORMS)
def test_texts_that_look_the_same_are_counted(name: str, tiny: Tiny) -> None:
    """C-54: not normalized, but said, once, where the encoder sees other tokens."""
    pred, target, alike = FORMS[name]
    metric = BERTScore(tiny("roberta"), 2)  # byte-level: it sees every difference
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        metric.update([pred, "a dog"], [["rain", target], ["a dog", "rain"]])
        metric.compute()
    assert metric.diagnostics()["lookalikes"] == alike
    said = [str(each.message) for each in seen if "look like a reference" in str(each.message)]
    assert len(said) == alike
    assert all("1 predictions look like a reference but are other characters" in s for s in said)


def test_what_the_tokenizer_makes_equal_is_not_counted(minilm: str) -> None:
    """An uncased BERT drops accents, and takes all white space for a space."""
    metric = BERTScore(minilm, 2)
    metric.update([unicodedata.normalize("NFD", "café"), "two\ncats"], ["café", "two cats"])
    assert metric.compute() == pytest.approx(1.0, abs=1e-6)
    assert metric.diagnostics()["lookalikes"] == 0


# ---------------------------------------------------------------- the metric


@pytest.mark.parametrize("idf", [False, True])
def test_compute_before_update(idf: bool, minilm: str) -> None:
    """TM#164, TM#811, TM#1051."""
    with pytest.warns(UserWarning, match="was called before"):
        assert math.isnan(metric_of(minilm, idf=idf).compute())
    with pytest.warns(UserWarning, match="was called before"):
        assert metric_of(minilm, idf=idf, reduction="none").compute().shape == (0,)


def test_train_mode(tiny: Tiny) -> None:
    """PL#2824, PL#18930: a parent's `train()` switches no dropout on."""
    path = tiny("bert-dropout")
    parent = torch.nn.Module()
    parent.metric = BERTScore(path, LAYERS, reduction="none")
    parent.train()
    parent.metric.update("two cats sleep", "rain fell on the town")
    got = parent.metric.compute()
    near(got, bertscore(["two cats sleep"], ["rain fell on the town"], path, LAYERS)["f1"], 1e-5)
    assert not got.requires_grad


def test_one_load(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BS#36, BS#92."""
    import shutil

    import transformers

    folder = str(
        shutil.copytree(tiny("bert"), tmp_path / "once")
    )  # no other test has loaded this one
    loaded = []
    load = transformers.AutoModel.from_pretrained
    monkeypatch.setattr(
        transformers.AutoModel, "from_pretrained", lambda *a, **k: loaded.append(a) or load(*a, **k)
    )
    metrics = [BERTScore(folder, 2), BERTScore(folder, 2, score="recall")]
    for metric in metrics:
        for text in ("rain", "two cats sleep", "hello world"):
            metric(text, "rain fell")
        metric.compute()
        metric.reset()
        copy = metric.clone()
        copy.update("the dog", "the cat")
        copy.compute()
    assert len(loaded) == 1


def _state_bytes(metric: BERTScore) -> int:
    tensors: list[Tensor] = []
    for value in metric.metric_state.values():
        tensors += [value] if isinstance(value, Tensor) else value
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def test_memory_of_the_state(tiny: Tiny) -> None:
    """BS#73, BS#91, BS#191, EV#451: scores without idf, about eight bytes a token with it."""
    rows = ["two cats sleep on the mat"] * 150 + ["rain " * 400]
    metric = BERTScore(tiny("t5-bytes"), 1)  # no limit: 400 words are 2,000 tokens
    metric.update(rows, rows)
    assert _state_bytes(metric) < 64 * len(rows)
    with_idf = BERTScore(tiny("t5-bytes"), 1, idf=True)
    with_idf.update(rows, rows)
    words = 2 * sum(sum(tokens.token_mask) for tokens in metric.encoder.tokenize(rows))
    assert words > 10_000
    assert 8 * words <= _state_bytes(with_idf) < 8.5 * words + 64 * len(rows)


def test_memory_of_a_pass_does_not_grow_with_the_rows(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    run = HuggingFaceEncoder.hidden_states
    monkeypatch.setattr(
        HuggingFaceEncoder,
        "hidden_states",
        lambda s, i, *a: seen.append(i.numel()) or run(s, i, *a),
    )
    for rows in (20, 200):
        texts = [f"rain {'fell ' * (i % 9)}{i}" for i in range(rows)]
        bert_score(texts, texts[::-1], tiny("roberta"), 1, batch_tokens=100, embedding_cache=0)
        assert max(seen) <= 100, rows


def test_idf_starts_no_processes(minilm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """BS#75: a daemon process may have no children."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", refuse)
    monkeypatch.setattr(os, "fork", refuse, raising=False)
    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    assert bert_score(ORDER_PREDS, ORDER_TARGETS, minilm, 6, idf=True)["f1"].isfinite().all()
    with pytest.raises(AssertionError, match="a process was started"):
        multiprocessing.get_context("spawn").Process(target=print).start()


def test_a_table_of_weights(minilm: str) -> None:
    equal = metric_of(minilm, idf={1012: 1.0, 3899: 1.0}, reduction="none")
    equal.update(ORDER_PREDS, ORDER_TARGETS)
    near(equal.compute(), ORDER_F1[True])
    (tokens,) = metric_of(minilm).encoder.tokenize(["rain fell"])
    rain, fell = (i for i, word in zip(tokens.ids, tokens.token_mask) if word)
    plain = bert_score("rain", "rain fell", minilm, 6)
    only = bert_score("rain", "rain fell", minilm, 6, idf={rain: 1.0, fell: 0.0})
    near(only["precision"], plain["precision"].tolist(), 1e-6)
    near(only["recall"], only["precision"].tolist(), 1e-6)  # "fell" counts for nothing
    assert (
        metric_of(minilm, idf={rain: 1.0}).signature != metric_of(minilm, idf={rain: 2.0}).signature
    )
    assert "|idf:table@" in metric_of(minilm, idf=IdfTable({rain: 1.0})).signature


# ---------------------------------------------------------------- Hydra, silence


@pytest.fixture
def launched(tmp_path: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A Hydra job that was launched where the folder ``enc`` is and has changed its directory
    since."""
    hydra = pytest.importorskip("hydra")
    from hydra.core.hydra_config import HydraConfig

    launch, job = tmp_path / "launch", tmp_path / "job"
    launch.mkdir()
    job.mkdir()
    (launch / "enc").symlink_to(tiny("bert"))
    monkeypatch.chdir(launch)
    with hydra.initialize(version_base="1.3", config_path=None):
        config = hydra.compose(return_hydra_config=True)
    instance, before = HydraConfig.instance(), HydraConfig.instance().cfg
    instance.set_config(config)
    monkeypatch.chdir(job)
    yield launch
    instance.cfg = before


@pytest.mark.parametrize("name", ["./enc", "enc"])
def test_relative_folder_after_hydra_has_changed_the_directory(name: str, launched: Path) -> None:
    """HY#533, HY#922, HY#2282, HY#2414."""
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    config = {
        "_target_": "bertscore_tm.BERTScore",
        "model_name_or_path": name,
        "num_layers": [1, 2],
    }
    metric = instantiate(OmegaConf.create(config))
    metric.update(["two cats sleep"], ["rain fell"])
    wanted = [
        bertscore(["two cats sleep"], ["rain fell"], str(launched / "enc"), layer)["f1"][0]
        for layer in (1, 2)
    ]
    assert [float(value) for value in metric.compute().values()] == pytest.approx(
        wanted, rel=0, abs=1e-5
    )


def test_relative_folder_that_is_not_there(launched: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        BERTScore("./nowhere", 2)
    assert "the encoder folder './nowhere' was not found" in str(error.value)
    assert str(launched) in str(error.value)
    assert str(Path.cwd()) in str(error.value)


def test_no_progress_bar_unless_asked_for(tiny: Tiny, capfd: pytest.CaptureFixture[str]) -> None:
    bert_score(["rain"], ["rain fell"], tiny("bert"), 2)
    assert capfd.readouterr() == ("", "")
    bert_score(["rain"], ["rain fell"], tiny("bert"), 2, verbose=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "BERTScore: 100%" in err


FRESH = """
import sys, torch, torchmetrics
before = {name.split(".")[0] for name in sys.modules}
import bertscore_tm
metric = bertscore_tm.BERTScore(sys.argv[1], 2)
metric.update(["two cats sleep"], ["two cats sleep quietly"])
value = float(metric.compute())
new = {name.split(".")[0] for name in sys.modules} - before
heavy = {"matplotlib", "pandas", "seaborn", "tabulate", "rich"}
heavy |= {"lightning", "pytorch_lightning", "hydra", "omegaconf"}
with open(sys.argv[2], "w") as stream:
    print(value, *sorted(new & heavy), file=stream)
"""


@pytest.mark.slow
def test_silence_and_imports_of_a_fresh_interpreter(tiny: Tiny, tmp_path: Path) -> None:
    """BS#120, BS#129, BS#146, BS#172, BS#201, TM#2626."""
    out = tmp_path / "out"
    run = subprocess.run(
        [sys.executable, "-c", FRESH, tiny("bert"), str(out)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    value, *heavy = out.read_text().split()
    assert heavy == []
    wanted = bertscore(["two cats sleep"], ["two cats sleep quietly"], tiny("bert"), 2)["f1"][0]
    assert float(value) == pytest.approx(wanted, rel=0, abs=1e-5)


def test_nothing_is_said_when_all_is_well(minilm: str, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric = metric_of(minilm)
        metric.update(ORDER_PREDS, ORDER_TARGETS)
        metric.compute()
    assert capfd.readouterr() == ("", "")
