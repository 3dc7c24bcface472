"""The matrix against `bert_score`, pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from bertscore_tm import (
    BERTScoreError,
    BERTScoreWarning,
    IdfTable,
    bert_score,
    matrix,
    score_matrix,
)
from bertscore_tm.huggingface import HuggingFaceEncoder
from bertscore_tm.pipeline import Pipeline
from bertscore_tm.settings import Settings

Tiny = Callable[[str], str]
ONE = [
    "a dog ran home",
    "rain",
    "the old cat sat. It was late and the rain fell",
    "rain",
    "two cats",
]
TWO = ["the cat", "rain", "a dog ran home to the town", "hello world", "rain fell"]


def pairwise(encoder: Any, layers: Any, **options: Any) -> dict[str, torch.Tensor]:
    """One call a pair."""
    each = [[bert_score([a], [b], encoder, layers, **options) for b in TWO] for a in ONE]
    return {
        name: torch.tensor([[cell[name].item() for cell in row] for row in each])
        for name in each[0][0]
    }


@pytest.mark.parametrize("layers", [2, [1, 2]])
@pytest.mark.parametrize(
    "options", [{}, {"match_special_tokens": False}, {"beta": 2.0}, {"embedding_cache": 0}]
)
def test_every_pair_is_that_of_bert_score(layers: Any, options: dict[str, Any], tiny: Tiny) -> None:
    found = score_matrix(ONE, TWO, tiny("bert"), layers, **options)
    wanted = pairwise(tiny("bert"), layers, **options)
    assert list(found) == list(wanted)
    for name, values in wanted.items():
        assert found[name].shape == (len(ONE), len(TWO))
        assert found[name].dtype == torch.float32
        torch.testing.assert_close(found[name], values, rtol=0, atol=1e-6)


def test_idf_comes_from_the_references(tiny: Tiny) -> None:
    table = IdfTable.fit(TWO, HuggingFaceEncoder(tiny("bert")))
    found = score_matrix(ONE, TWO, tiny("bert"), 2, idf=True)
    wanted = pairwise(tiny("bert"), 2, idf=table)
    for name, values in wanted.items():
        torch.testing.assert_close(found[name], values, rtol=0, atol=1e-6)
    # With weights the precision of (c, r) is not the recall of (r, c).
    other = score_matrix(TWO, ONE, tiny("bert"), 2, idf=True)
    assert (found["precision"] - other["recall"].T).abs().max() > 1e-3


def test_blocks_and_the_temporary_file_change_nothing(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = score_matrix(ONE, TWO, tiny("bert"), 2)
    monkeypatch.setattr(matrix, "_SIDE", 8)
    monkeypatch.setattr(matrix, "_TEXTS", 2)
    monkeypatch.setattr(matrix, "IN_MEMORY", 0)
    for name, values in score_matrix(ONE, TWO, tiny("bert"), 2, embedding_cache=0).items():
        torch.testing.assert_close(values, whole[name], rtol=0, atol=1e-6)


def test_each_text_is_encoded_once(tiny: Tiny) -> None:
    pipeline = Pipeline(Settings(tiny("bert"), 2, embedding_cache=0))
    encoder = pipeline.encoder
    tokens = [encoder.tokenize([text])[0] for text in {*ONE, *TWO}]
    before = pipeline.lease.engine.encoded_tokens
    matrix.matrix_of(pipeline, ONE, TWO, torch.device("cpu"))
    assert pipeline.lease.engine.encoded_tokens - before == sum(len(t.ids) for t in tokens)


def test_equal_texts_and_empty_ones(tiny: Tiny) -> None:
    with pytest.warns(BERTScoreWarning, match="3 of 4 samples have nothing to score"):
        found = score_matrix(["rain", ""], ["rain", " "], tiny("bert"), 2, empty_score=-1.0)
    assert found["f1"].tolist() == [[1.0, -1.0], [-1.0, -1.0]]


@pytest.mark.parametrize(
    "candidates, references, message",
    [
        (3, ["a"], "got int as candidates; wanted a string or an iterable of strings"),
        (["a"], {"a": 1}, "got dict as references; wanted a string or an iterable"),
        (["a", None], ["a"], "got NoneType in row 1 of candidates; wanted a string"),
        (["a"], [], "got no references; wanted at least one text"),
    ],
)
def test_errors(candidates: Any, references: Any, message: str) -> None:
    with pytest.raises(BERTScoreError, match=message):
        score_matrix(candidates, references, "minilm", 6)


def test_one_text_a_side(tiny: Tiny) -> None:
    assert score_matrix("rain", (t for t in TWO), tiny("bert"), 2)["f1"].shape == (1, len(TWO))
