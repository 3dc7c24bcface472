"""Running out of memory: batches shrink, the cache gives way first, nothing is lost, and at the
smallest the error is clear."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import resource
import shutil
import warnings
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bertscore_tm import (
    BERTScore,
    BERTScoreWarning,
    HuggingFaceEncoder,
    Tokens,
    bert_score,
    pairs,
    release_memory,
)
from bertscore_tm.encoder import as_encoder
from bertscore_tm.leases import lease_encoder
from bertscore_tm.machine import trim_heap

Tiny = Callable[[str], str]
PREDS = [
    "a dog",
    "the cat sat on the mat",
    "rain",
    "it rained all day long in the hills and by the sea",
    "",
    "one two three",
]
REFS = [
    "a cat",
    "a cat sat there",
    "rain fell",
    ["it rained", "it was wet all day by the sea"],
    "nothing",
    "one two three",
]

RAISED: list[Callable[[], BaseException]] = [
    lambda: torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    lambda: RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory: you "
        "tried to ..."
    ),
    lambda: RuntimeError(
        "DefaultCPUAllocator: not enough memory: you tried to allocate 8589934592 bytes."
    ),
    lambda: RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"),
    lambda: RuntimeError(
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
    ),
    lambda: MemoryError(),
]


class Small:
    """An encoder on a machine with room for so many padded tokens at a time."""

    def __init__(
        self, inner: HuggingFaceEncoder, room: int, error: Callable[[], BaseException] = RAISED[0]
    ) -> None:
        self.inner, self.room, self.error = inner, room, error
        self.name, self.version, self.tokenizer_id = inner.name, inner.version, inner.tokenizer_id
        self.depth, self.default_layers = inner.depth, inner.default_layers
        self.shapes: list[tuple[int, ...]] = []

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return self.inner.tokenize(texts)

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        self.shapes.append(tuple(input_ids.shape))
        if input_ids.numel() > self.room:
            raise self.error()
        return self.inner.hidden_states(input_ids, attention_mask, layers)


@pytest.fixture(scope="module")
def inner(tiny: Tiny) -> HuggingFaceEncoder:
    return HuggingFaceEncoder(tiny("bert"))


@pytest.fixture(scope="module")
def wanted(inner: HuggingFaceEncoder) -> dict[str, Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BERTScoreWarning)  # of the empty text
        return bert_score(PREDS, REFS, inner)


@pytest.fixture
def longest(inner: HuggingFaceEncoder) -> int:
    return max(len(tokens.ids) for tokens in inner.tokenize(PREDS))


@pytest.mark.parametrize("error", RAISED, ids=range(len(RAISED)))
@pytest.mark.parametrize("cache", [0, "1MB"])
def test_batches_shrink_and_nothing_is_lost(
    error: Callable[[], BaseException],
    cache: Any,
    inner: HuggingFaceEncoder,
    wanted: dict[str, Tensor],
    longest: int,
) -> None:
    encoder = Small(inner, 2 * longest, error)
    metric = BERTScore(
        encoder, score=None, reduction="none", embedding_cache=cache, batch_tokens=10_000
    )
    with pytest.warns(
        BERTScoreWarning,
        match=r"ran out of memory on cpu and went on with batches of [\d,]+ padded tokens",
    ) as seen:
        metric.update(PREDS, REFS)
    assert len(seen) == 1
    with pytest.warns(BERTScoreWarning, match="1 of 6 samples have nothing to score"):
        got = metric.compute()
    for name, values in wanted.items():
        assert torch.allclose(got[name], values, rtol=0, atol=1e-6), name
    # It stays so: the next update does not run into the same wall.
    encoder.shapes.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.update([pred + " again" for pred in PREDS[:3]], REFS[:3])
    assert all(rows * columns <= encoder.room for rows, columns in encoder.shapes)


def test_at_the_smallest_the_error_is_clear_and_the_state_as_before(
    inner: HuggingFaceEncoder, longest: int
) -> None:
    encoder = Small(inner, longest - 1)
    metric = BERTScore(encoder, reduction="none")
    metric.update(["a dog"], ["a cat"])
    before = copy.deepcopy(metric.metric_state)
    wanted = (
        r"ran out of memory on cpu with a single pair of texts in hand \(CUDA out of memory.*\); "
        r"wanted a smaller encoder, "
        r"dtype bfloat16, a lower max_length, or more room"
    )
    with pytest.raises(MemoryError, match=wanted):
        metric.update(PREDS, REFS)
    assert str(metric.metric_state) == str(before)
    metric.update(["rain"], ["rain fell"])  # texts that fit are scored as ever
    assert metric.compute().shape == (2,)


def test_the_cache_gives_way_first(inner: HuggingFaceEncoder, process: Any) -> None:
    """With its vectors gone there is room again, so the batches stay as they were."""
    encoder = Small(inner, 10_000)
    metric = BERTScore(encoder, embedding_cache="1MB")
    metric.update(["a dog", "rain"], ["a cat", "rain fell"])
    cache = process.cache
    assert len(cache) == 4
    run = encoder.hidden_states

    def full_while_the_cache_is(*args: Any) -> Tensor:
        if cache.used:
            raise MemoryError
        return run(*args)

    encoder.hidden_states = full_while_the_cache_is  # type: ignore[method-assign]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.update(["it snowed"], ["it rained"])
    assert cache.budget == 500_000
    assert metric.pipeline.lease.budget(torch.device("cpu")) == 2_048


def test_memory_that_runs_out_in_matching(
    inner: HuggingFaceEncoder, wanted: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = pairs.match_pairs

    def tight(texts: Any, preds: Tensor, *args: Any) -> Any:
        if len(preds) > 2:
            raise RAISED[1]()
        return run(texts, preds, *args)

    monkeypatch.setattr(pairs, "match_pairs", tight)
    with pytest.warns(BERTScoreWarning) as seen:
        got = bert_score(PREDS, REFS, inner, embedding_cache=0)
    assert sorted("ran out of memory" in str(warning.message) for warning in seen) == [False, True]
    for name, values in wanted.items():
        assert torch.allclose(got[name], values, rtol=0, atol=1e-6), name


@pytest.mark.filterwarnings(
    "ignore::bertscore_tm.BERTScoreWarning"
)  # of the empty text, and of memory
def test_memory_that_runs_out_where_all_came_from_the_cache(
    inner: HuggingFaceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No pass was tried then, so none is known to be too large: the batches are halved, not
    ruined."""
    metric = BERTScore(Small(inner, 10_000), embedding_cache="1MB", batch_tokens=1_000)
    metric.update(PREDS, REFS)
    value = metric.compute()
    run, failures = pairs.match_pairs, [MemoryError(), MemoryError()]

    def tight(*args: Any) -> Any:
        if failures:
            raise failures.pop()
        return run(*args)

    monkeypatch.setattr(pairs, "match_pairs", tight)
    metric.reset()
    metric.update(PREDS, REFS)
    assert metric.pipeline.lease.budget(torch.device("cpu")) >= 500
    assert metric.compute() == pytest.approx(float(value), abs=1e-6)


def test_other_errors_are_passed_on(inner: HuggingFaceEncoder) -> None:
    encoder = Small(inner, 0, lambda: RuntimeError("expected scalar type Float but found Half"))
    with pytest.raises(RuntimeError, match="expected scalar type"):
        bert_score(PREDS, REFS, encoder)
    assert len(encoder.shapes) == 1


def test_where_padding_would_cost_more_than_a_pass(inner: HuggingFaceEncoder) -> None:
    """Texts of like length go together; a batch has at most a 32nd of its budget in padding."""
    encoder = Small(inner, 10**9)
    texts = ["a " * n for n in (40, 40, 40, 39, 20, 20, 19, 2, 2, 1)]
    lease = lease_encoder(as_encoder(encoder), (1,), 512, 0)
    lease.vectors(lease.tokenize(texts), torch.device("cpu"))
    lengths = [len(tokens.ids) for tokens in inner.tokenize(texts)]
    assert [rows for rows, _ in encoder.shapes] == [4, 3, 3]
    assert sum(rows * columns for rows, columns in encoder.shapes) - sum(lengths) <= 3 * 512 // 32


# ---------------------------------------------------------------- on request


def test_memory_is_given_back_on_request(tiny: Tiny, tmp_path: Path, process: Any) -> None:
    folder = shutil.copytree(tiny("bert"), tmp_path / "enc")  # weights that nobody else uses
    metric = BERTScore(str(folder), 2)
    metric.update(["a dog", "rain"], ["a cat", "rain fell"])
    value = metric.compute()
    model = weakref.ref(metric.encoder._model._reader.model)
    metric.release()
    gc.collect()
    assert model() is None
    assert process.cache.used == len(process.cache) == 0
    assert metric.compute() == value
    metric.update(["a dog", "rain"], ["a cat", "rain fell"])  # loads them again
    assert metric.compute() == pytest.approx(float(value), abs=1e-6)


def test_weights_that_others_use_stay(tiny: Tiny) -> None:
    one, two = BERTScore(tiny("bert"), 1), BERTScore(tiny("bert"), 2)
    for metric in (one, two):
        metric.update(["a dog"], ["a cat"])
    one.release()
    gc.collect()
    assert two.encoder._model._reader is not None
    one.update(["rain"], ["rain fell"])
    assert one.encoder._model._reader is two.encoder._model._reader


def test_a_custom_encoder_has_only_vectors_to_release(
    inner: HuggingFaceEncoder, process: Any
) -> None:
    metric = BERTScore(Small(inner, 10_000))
    metric.update(["a dog"], ["a cat"])
    assert process.cache.used > 0
    metric.release()
    assert process.cache.used == 0


def test_all_that_is_kept_for_later_is_given_back(tiny: Tiny, tmp_path: Path, process: Any) -> None:
    """Weights stay for whoever comes next when their metric is gone, until this is asked for."""
    folder = shutil.copytree(tiny("bert"), tmp_path / "enc")
    metric, alive = BERTScore(str(folder), 2), BERTScore(tiny("bert"), 2)
    for each in (metric, alive):
        each.update(["a dog", "rain"], ["a cat", "rain fell"])
    model = weakref.ref(metric.encoder._model._reader.model)
    wanted = alive.compute()
    del metric, each
    gc.collect()
    assert model() is not None
    release_memory()
    gc.collect()
    assert model() is None
    assert process.cache.used == 0
    alive.reset()
    alive.update(["a dog", "rain"], ["a cat", "rain fell"])
    assert alive.compute() == pytest.approx(float(wanted), abs=1e-6)


# ---------------------------------------------------------------- soak


def resident() -> float:
    """Memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory from /proc")
def test_memory_does_not_grow_with_the_chunks(minilm: str) -> None:
    """Small results between large freed blocks kept the C library from using these again."""
    metric = BERTScore(minilm, 1, embedding_cache=0)
    metric.update(["load"], ["the weights"])
    dice, words = (
        random.Random(0),
        "it rained all day long in the hills by sea and snow fell on a town of stone".split(),
    )
    preds, refs = ([" ".join(dice.choices(words, k=10)) for _ in range(6_000)] for _ in range(2))
    before = resident()
    metric.update(preds, refs)
    assert resident() - before < 120


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory from /proc")
@pytest.mark.filterwarnings("ignore:.*of the words are unknown")
@pytest.mark.parametrize(
    "options", [{"idf": True}, {"num_layers": "all", "embedding_cache": 200_000}], ids=str
)
def test_300_epochs_in_flat_memory(options: dict[str, Any], process: Any, tiny: Tiny) -> None:
    """New predictions, the same references; updates, compute, reset, a clone and a pickle in each
    epoch."""
    metric: Any = BERTScore(tiny("bert"), **{"embedding_cache": "1MB", "score": None, **options})
    seen = []
    for epoch in range(300):
        for batch in range(2):
            preds = [f"{pred} {epoch} {batch}" for pred in PREDS if pred]
            metric.update(
                preds,
                [f"rain {i} {batch}" for i in range(len(preds))],
                sample_ids=range(batch * 5, batch * 5 + 5),
            )
        value = metric.compute()
        copy_ = pickle.loads(pickle.dumps(metric.clone()))
        again = copy_.compute()
        assert str(again) == str(value)
        metric.reset()
        if epoch in (99, 299):
            del copy_, again, value
            gc.collect()
            trim_heap()  # what is free but not handed back by the C library is no leak
            seen.append((resident(), len(gc.get_objects())))
    (early, few), (late, many) = seen
    assert late - early < 8, f"{early:.0f} MB after 100 epochs, {late:.0f} MB after 300"
    assert many < 1.05 * few, f"{few} objects after 100 epochs, {many} after 300"
    assert 0 < process.cache.used <= process.cache.budget
