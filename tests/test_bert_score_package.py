"""The paper's own package, bert-score 0.3.13, on real sentences: the same numbers to 1e-5.

Row by row. The sentences are on every machine: what the docstrings of torch say, paired with
altered versions of themselves.
"""

from __future__ import annotations

import importlib
import inspect
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from torch import Tensor

from bertscore_tm import BERTScore, bert_score

MODULES = (
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.optim",
    "torch.optim.lr_scheduler",
)
MODULES += ("torch.distributions", "torch.utils.data", "torch.autograd")
SENTENCE = re.compile(r"[A-Z][ -~]*\.")
CODE = re.compile(r"[`\\:{}<>=]")
NAMES = ("precision", "recall", "f1")
Package = Callable[..., dict[str, Any]]


def sentences() -> list[str]:
    """First sentences of paragraphs in torch's docstrings, in the order of names.

    Plain English, 6 to 30 words.
    """

    def found() -> Iterator[str]:
        for module in map(importlib.import_module, MODULES):
            for name, member in sorted(vars(module).items()):
                if name.startswith("_") or not callable(member):
                    continue
                for paragraph in (inspect.getdoc(member) or "").split("\n\n"):
                    first = re.split(r"(?<=[.!?])\s", " ".join(paragraph.split()))[0]
                    if (
                        SENTENCE.fullmatch(first)
                        and not CODE.search(first)
                        and 6 <= len(first.split()) <= 30
                    ):
                        yield first

    return list(dict.fromkeys(found()))


def altered(sentence: str, other: str, way: int, draw: random.Random) -> str:
    """`sentence` with words dropped, swapped, repeated, reversed or cut off.

    Or another sentence, or as it is.
    """
    words = sentence.split()
    at = draw.randrange(len(words) - 1)
    if way == 0:
        words = [word for word in words if draw.random() > 0.3] or words
    elif way == 1:
        words[at], words[-1] = words[-1], words[at]
    elif way == 2:
        words.insert(at, words[at])
    elif way == 3:
        words = words[::-1]
    elif way == 4:
        words = words[: max(1, at)]
    elif way == 5:
        words = other.split()
    return " ".join(words)


Pairs = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    """200 predictions and references, some references more than once."""
    texts, draw = sentences(), random.Random(0)
    assert len(texts) >= 170, "torch documents less than it used to: take more modules"
    targets = texts[:170] + texts[:30]
    preds = [altered(text, draw.choice(texts), k % 7, draw) for k, text in enumerate(targets)]
    return preds, targets


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "idf"])
def idf(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def theirs(
    idf: bool, pairs: Pairs, minilm: str, bert_score_package: Package
) -> list[dict[str, list[float]]]:
    """What bert-score says of the pairs, layer by layer."""
    every = bert_score_package(*pairs, minilm, 6, idf=idf, all_layers=True)  # name -> layer -> row
    assert len(set(every["f1"][6])) > 120, "the rows have to tell something"
    return [{name: every[name][layer] for name in NAMES} for layer in range(7)]


def near(got: dict[str, Tensor], wanted: dict[str, list[float]]) -> None:
    for name in NAMES:
        assert got[name].tolist() == pytest.approx(wanted[name], rel=0, abs=1e-5), name


@pytest.mark.parametrize("layer", [3, 4, 5, 6])
def test_one_reference(
    layer: int, idf: bool, minilm: str, pairs: Pairs, theirs: list[dict[str, list[float]]]
) -> None:
    near(bert_score(*pairs, minilm, layer, idf=idf), theirs[layer])


@pytest.mark.parametrize("layer", [3, 6])
def test_several_references(
    layer: int, idf: bool, minilm: str, pairs: Pairs, bert_score_package: Package
) -> None:
    """One to four references a row; the package takes the largest P, R and F1, each by itself."""
    preds, targets = pairs
    draw = random.Random(1)
    groups = [[*draw.sample(targets, draw.randint(0, 3)), target] for target in targets[:40]]
    wanted = bert_score_package(preds[:40], groups, minilm, layer, idf=idf)
    near(bert_score(preds[:40], groups, minilm, layer, idf=idf), wanted)


def test_the_metric_in_many_updates(
    idf: bool, minilm: str, pairs: Pairs, theirs: list[dict[str, list[float]]]
) -> None:
    """Two layers at once, 23 rows an update, in another order: the same means."""
    preds, targets = pairs
    metric = BERTScore(minilm, (3, 5), score=None, idf=idf)
    order = random.Random(2).sample(range(len(preds)), len(preds))
    for start in range(0, len(order), 23):
        rows = order[start : start + 23]
        metric.update([preds[i] for i in rows], [targets[i] for i in rows])
    got = metric.compute()
    for layer in (3, 5):
        for name in NAMES:
            wanted = sum(theirs[layer][name]) / len(preds)
            assert float(got[f"layer_{layer}_{name}"]) == pytest.approx(wanted, rel=0, abs=1e-5)
