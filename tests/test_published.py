"""Values that others have published, for encoders that only the hub has: `pytest -m hub`.

The ten example pairs of the bert-score package are not in this repository. Where its folder
`example` is at hand (github.com/Tiiiger/bert_score), `BERT_SCORE_EXAMPLE=/path/to/example pytest -m
hub` checks those as well.

RoBERTa's values were published with a space before the first word. From transformers 4.17 to
bert-score 0.3.12 that space was lost unnoticed, so numbers from those years are another thing
(Tiiiger/bert_score#147; #164 is of that kind).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bertscore_tm import bert_score

pytestmark = pytest.mark.hub

NAMES = ("precision", "recall", "f1")


class Published(NamedTuple):
    """One published result: `values` are P, R and F1, one number a row; None where it was not
    given."""

    source: str
    preds: Sequence[str]
    target: Sequence[str | Sequence[str]]
    values: tuple[Sequence[float] | None, Sequence[float] | None, Sequence[float] | None]
    options: dict[str, Any]
    tolerance: float = 2e-4


LITERAL = [
    Published(
        "bert-score, example/Demo.ipynb: several references, rescaled",
        ["I like lemons."],
        [["I am proud of you.", "I love lemons.", "Go go go."]],
        (None, None, [0.9025]),
        {"lang": "en", "rescale_with_baseline": True},
        tolerance=5e-4,  # rescaling multiplies a difference by six
    ),
    Published(
        "evaluate, metrics/bertscore/README.md",
        ["hello world", "general kenobi"],
        ["goodnight moon", "the sun is shining"],
        ([0.7380737067, 0.5584042072], [0.7380737067, 0.5889028907], [0.7380737067, 0.5732481480]),
        {"model_name_or_path": "distilbert-base-uncased", "num_layers": 5},
    ),
    Published(
        "torchmetrics, doctest of functional/text/bert.py: last layer, markers left out, no space "
        "before the first word",
        ["hello there", "general kenobi"],
        ["hello there", "master kenobi"],
        ([1.0, 0.9961], [1.0, 0.9961], [1.0, 0.9961]),
        {"model_name_or_path": "roberta-large", "num_layers": 24, "match_special_tokens": False},
        tolerance=3e-3,  # ours has that space
    ),
    Published(
        "obss/jury",
        ["There is a cat on the mat.", "Look! a wonderful day."],
        ["The cat is playing on the mat.", "Today is a wonderful day"],
        ([0.8328236341, 0.6074944735], [0.8258962631, 0.6777912378], [0.8293454647, 0.6407204866]),
        {"model_name_or_path": "albert-base-v1", "num_layers": 10},
    ),
    Published(
        "Tiiiger/bert_score#147, rescaled; without the space before the first word it was 0.6906, "
        "0.4892, 0.5888",
        ["This is a cat"],
        ["A cat sat on a mat"],
        ([0.3927], [0.2578], [0.3255]),
        {"lang": "en", "rescale_with_baseline": True},
        tolerance=5e-4,
    ),
    Published(
        "Tiiiger/bert_score#43",
        ["a"],
        ["some random string"],
        ([0.8874], [0.8125], [0.8483]),
        {"lang": "en"},
    ),
]


def check(published: Published) -> None:
    got = bert_score(published.preds, published.target, **published.options)
    for name, wanted in zip(NAMES, published.values, strict=True):
        if wanted is not None:
            assert got[name].tolist() == pytest.approx(
                list(wanted), rel=0, abs=published.tolerance
            ), name


@pytest.mark.parametrize("published", LITERAL, ids=lambda p: p.source.split(",")[0].split(":")[0])
def test_literal_examples(published: Published) -> None:
    check(published)


# ---------------------------------------------------------------- the package's own ten pairs,
# roberta-large, layer 17

THREE = {
    (False, False): (
        [0.9843302369, 0.9832239747, 0.9120386243],
        [0.9823839068, 0.9732863903, 0.9204289913],
        [0.9833561182, 0.9782299995, 0.9162146449],
    ),
    (True, False): (
        [0.9837872386, 0.9754738808, 0.8947395086],
        [0.9827190638, 0.9697767496, 0.9172918797],
        [0.9832529426, 0.9726169705, 0.9058753848],
    ),
    (False, True): (
        [0.9070007801, 0.9004355669, 0.4779556096],
        [0.8954567909, 0.8414674401, 0.5277850628],
        [0.9013834000, 0.8710107803, 0.5035651922],
    ),
    (True, True): (
        [0.9037781358, 0.8544390202, 0.3752873838],
        [0.8974460959, 0.8206397891, 0.5091678500],
        [0.9007720947, 0.8377535343, 0.4423046410],
    ),
}
"""tests/test_scorer.py, its first three pairs: (idf, rescaled) -> P, R, F1."""

TEN = {
    False: [0.9834, 0.9782, 0.9162, 0.9589, 0.9675, 0.9680, 0.9602, 0.9663, 0.9438, 0.9508],
    True: [0.9014, 0.8710, 0.5036, 0.7563, 0.8073, 0.8103, 0.7644, 0.8002, 0.6673, 0.7086],
}
"""example/Demo.ipynb: rescaled -> F1 of each pair."""

MEANS = {False: (0.957378, 0.961325, 0.959333), True: (0.747044, 0.770484, 0.759045)}
"""README.md: rescaled -> P, R, F1 of all ten."""


@pytest.fixture(scope="module")
def example() -> tuple[list[str], list[str]]:
    folder = os.environ.get("BERT_SCORE_EXAMPLE")
    if not folder:
        pytest.skip("set BERT_SCORE_EXAMPLE to the folder `example` of the bert-score repository")
    preds, target = (
        Path(folder, name).read_text(encoding="utf-8").splitlines()
        for name in ("hyps.txt", "refs.txt")
    )
    return preds, target


@pytest.mark.parametrize("rescaled", [False, True], ids=["raw", "rescaled"])
@pytest.mark.parametrize("idf", [False, True], ids=["plain", "idf"])
def test_first_three_examples(
    idf: bool, rescaled: bool, example: tuple[list[str], list[str]]
) -> None:
    preds, target = example
    options = {"lang": "en", "idf": idf, "rescale_with_baseline": rescaled}
    check(
        Published(
            "", preds[:3], target[:3], THREE[idf, rescaled], options, 6e-4 if rescaled else 1e-4
        )
    )


@pytest.mark.parametrize("rescaled", [False, True], ids=["raw", "rescaled"])
def test_ten_examples(rescaled: bool, example: tuple[list[str], list[str]]) -> None:
    preds, target = example
    got = bert_score(preds, target, lang="en", rescale_with_baseline=rescaled)
    tolerance = 6e-4 if rescaled else 2e-4
    assert got["f1"].tolist() == pytest.approx(TEN[rescaled], rel=0, abs=tolerance)
    assert [float(got[name].mean()) for name in NAMES] == pytest.approx(
        MEANS[rescaled], rel=0, abs=tolerance
    )
