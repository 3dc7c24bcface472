"""Threads, forks, worker processes, compilation and switches of PyTorch.

The same number, and all as it was before. What forks does so in a new process: a fork of the
process of all tests would take their threads' locks along.
"""

from __future__ import annotations

import gc
import logging
import pickle
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.fsdp
import transformers

import tiny as tiny_models
from bertscore_tm import BERTScore, HuggingFaceEncoder, loading
from distributed import fresh, run
from processes import (
    IGNORED,
    LAYER,
    PREDS,
    REFS,
    ROWS,
    STRATEGIES,
    Holder,
    all_forks,
    fits,
    on_ranks,
    unpickled,
    update,
    workers,
)
from reference import bertscore

WORDS = "the cat sat on a mat dog ran home rain fell old town two cats sleep well".split()
pytestmark = [pytest.mark.filterwarnings(f"ignore:{text}") for text in IGNORED]
both = pytest.mark.parametrize("idf", [False, True], ids=["plain", "idf"])


@pytest.fixture(scope="module")
def path(tiny: Callable[[str], str]) -> str:
    return tiny("bert")


def wanted(path: str, rows: list[int] = ROWS, idf: bool = False, layer: int = LAYER) -> Any:
    preds, refs = [PREDS[i] for i in rows], [REFS[i] for i in rows]
    values = bertscore(preds, refs, path, layer, idf=idf)["f1"]
    return pytest.approx(values, abs=1e-5)


# ---------------------------------------------------------------- threads


def texts(seed: int, number: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) for _ in range(number)]


@contextmanager
def often_interrupted() -> Iterator[None]:
    """Threads take turns every few instructions."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def together(*calls: Callable[[], Any]) -> list[Any]:
    """What functions return that run in threads of their own at the same time."""
    answers: list[Any] = [None] * len(calls)

    def work(i: int) -> None:
        try:
            answers[i] = calls[i]()
        except BaseException as error:  # noqa: BLE001 - the test says which
            answers[i] = error

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(calls))]
    with often_interrupted():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return answers


def scored(path: str, seed: int, **options: Any) -> Callable[[], Any]:
    """Score texts of this seed in small batches."""

    def call() -> Any:
        metric = BERTScore(path, **{"num_layers": LAYER, "reduction": "none", **options})
        preds, refs = texts(seed, 40), texts(seed + 1000, 40)
        for i in range(0, 40, 4):
            metric.update(preds[i : i + 4], refs[i : i + 4])
        return metric.compute()

    return call


@pytest.mark.parametrize("cache", [0, "512MB"], ids=["no-cache", "cache"])
@both
def test_two_metrics_of_one_encoder_in_two_threads(path: str, idf: bool, cache: Any) -> None:
    for layers in (LAYER, [0, 1, LAYER]):
        got = together(
            *(
                scored(path, seed, num_layers=layers, idf=idf, embedding_cache=cache)
                for seed in range(2)
            )
        )
        for seed, value in enumerate(got):
            for layer in (0, 1, LAYER) if isinstance(value, dict) else (LAYER,):
                of_layer = value[f"layer_{layer}"] if isinstance(value, dict) else value
                right = bertscore(texts(seed, 40), texts(seed + 1000, 40), path, layer, idf=idf)[
                    "f1"
                ]
                assert of_layer.tolist() == pytest.approx(right, abs=1e-5)


def test_metrics_of_the_same_text_in_two_threads_encode_it_once(path: str) -> None:
    """Nearly: both may encode a text at the same moment, but what one has the other finds."""
    metrics = [BERTScore(path, 1, embedding_cache="7MB") for _ in range(2)]
    assert metrics[0].encoder is metrics[1].encoder
    together(*(lambda metric=metric: metric.update(PREDS, REFS) for metric in metrics))
    seen = metrics[0].diagnostics()["encoded_tokens"]
    together(*(lambda metric=metric: metric.update(PREDS, REFS) for metric in metrics))
    assert metrics[0].diagnostics()["encoded_tokens"] == seen
    assert metrics[0].compute() == metrics[1].compute()


def test_metrics_come_and_go_in_two_threads(path: str, process: Any) -> None:
    """On all layers of one encoder, with and without a cache.

    Their values are right, and at the end the cache holds what the one that is left wants.
    """
    kept = BERTScore(path, 1, embedding_cache="7MB")
    update(kept, ROWS)
    right = [wanted(path, layer=layer) for layer in range(4)]
    engines = set()

    def come_and_go(seed: int) -> None:
        chance = random.Random(seed)
        for turn in range(40):
            layers = chance.sample(range(4), chance.choice([1, 1, 2]))
            cache = chance.choice([0, 3_000, "9MB"])
            metric = BERTScore(path, layers, reduction="none", embedding_cache=cache)
            engines.add(metric.pipeline.lease.engine)
            half = chance.randrange(1, 6)
            update(metric, ROWS[:half])
            if turn % 10 == 5:
                gc.collect()
            update(metric, ROWS[half:])
            value = metric.compute()
            for layer in layers:
                got = value if len(layers) == 1 else value[f"layer_{layer}"]
                assert got.tolist() == right[layer], (seed, turn)

    together(*(partial(come_and_go, seed) for seed in range(2)))
    assert engines == {kept.pipeline.lease.engine}
    engines.clear()
    gc.collect()
    assert len(process._leases) == 1
    assert process.cache.budget == 7_000_000
    kept.reset()
    before = kept.diagnostics()["encoded_tokens"]
    update(kept, ROWS)
    assert kept.diagnostics()["encoded_tokens"] == before
    entries = [*process.cache._once.values(), *process.cache._entries.values()]
    assert {found.layers for found, _, _ in entries} == {(1,)}
    assert process.cache.used == sum(size for _, size, _ in entries)
    assert process.cache.used == sum(found.vectors.numel() * 4 for found, _, _ in entries)
    del kept, entries
    gc.collect()
    assert (process.cache.used, len(process.cache), len(process._leases)) == (0, 0, 0)


def _llama(tok: Any) -> Any:
    size = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
    }
    return transformers.LlamaModel(transformers.LlamaConfig(vocab_size=len(tok), **size))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that exchanges the methods of its layers during a pass, to record their outputs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            tiny_models.KINDS,
            "llama",
            tiny_models.Kind(tiny_models.KINDS["gpt2"].tokenizer, _llama),
        )
        return str(tiny_models.build("llama", tmp_path_factory.mktemp("tiny")))


def test_a_model_that_records_its_layers_in_two_threads(llama: str) -> None:
    for layers in (2, [0, 1]):
        options = {
            "num_layers": layers,
            "embedding_cache": 0,
            "score": "recall",
            "match_special_tokens": False,
        }
        right = [scored(llama, seed, **options)() for seed in range(2)]
        for value, alone in zip(
            together(*(scored(llama, seed, **options) for seed in range(2))), right, strict=True
        ):
            for name in alone if isinstance(alone, dict) else ():
                assert torch.allclose(value[name], alone[name], atol=1e-6)
            assert isinstance(alone, dict) or torch.allclose(value, alone, atol=1e-6)


def test_a_model_that_records_its_layers_after_an_error(
    llama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the failed pass stays in the model."""
    metric = BERTScore(llama, [0, 1], embedding_cache=0, reduction="none", score="f1")
    metric.update(PREDS, REFS)
    before = metric.compute()
    view, _ = metric.encoder._model._reader._views[1]
    methods = [module.__dict__.get("forward") for module in view.modules()]
    with monkeypatch.context() as patch:
        patch.setattr(type(view.layers[0].mlp), "forward", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            metric.update(["an old cat"], ["a new dog"])
    assert [module.__dict__.get("forward") for module in view.modules()] == methods
    metric.reset()
    metric.update(PREDS, REFS)
    assert all(
        torch.allclose(value, before[name], atol=1e-6) for name, value in metric.compute().items()
    )


def test_switches_of_the_process_after_two_threads(path: str) -> None:
    """The default dtype and the precision of products are those of all threads.

    Neither number nor switch suffers.
    """
    products = getattr(torch.backends.mkldnn, "matmul", None)
    if not hasattr(products, "fp32_precision"):
        pytest.skip("this PyTorch has the old switch only")
    dtype, precision = torch.get_default_dtype(), products.fp32_precision
    try:
        torch.set_default_dtype(torch.bfloat16)
        products.fp32_precision = "bf16"
        got = together(*(scored(path, seed, embedding_cache=0) for seed in range(2)))
        assert (torch.get_default_dtype(), products.fp32_precision) == (torch.bfloat16, "bf16")
    finally:
        torch.set_default_dtype(dtype)
        products.fp32_precision = precision
    for seed, value in enumerate(got):
        assert value.tolist() == pytest.approx(
            bertscore(texts(seed, 40), texts(seed + 1000, 40), path, LAYER)["f1"], abs=1e-5
        )


def test_the_voice_of_transformers_after_two_threads(path: str) -> None:
    """Loading is quiet; afterwards messages are as before."""
    level = transformers.logging.get_verbosity()
    try:
        transformers.logging.set_verbosity_warning()
        for _ in range(5):
            loading._config.cache_clear()
            loading._tokenizer.cache_clear()
            together(*[lambda: BERTScore(path, LAYER)] * 2)
            assert transformers.logging.get_verbosity() == transformers.logging.WARNING
    finally:
        transformers.logging.set_verbosity(level)


# ---------------------------------------------------------------- again and again


def test_the_same_numbers_again_and_with_another_number_of_threads(minilm: str) -> None:
    """Repeated runs agree to the bit; 1 and 2 threads, which add up in another order, to 1e-6."""
    before = torch.get_num_threads()
    values = {}
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            first, second = (
                scored(minilm, 0, num_layers=6, score="f1", embedding_cache=0)() for _ in range(2)
            )
            assert torch.equal(first, second), threads
            values[threads] = first
    finally:
        torch.set_num_threads(before)
    assert torch.allclose(values[1], values[2], rtol=0, atol=1e-6)


# ---------------------------------------------------------------- pickles


def named_metrics(minilm: str) -> list[BERTScore]:
    """Metrics that have run and hold nothing that has no name."""
    metrics = [
        BERTScore("minilm", reduction="none"),
        BERTScore("minilm", 5, reduction="none", idf=True),
        BERTScore(HuggingFaceEncoder("minilm", minilm, 6), reduction="none"),
    ]
    for metric in metrics:
        update(metric, [0])
        metric.reset()
    return metrics


def test_a_pickle_is_small(minilm: str) -> None:
    """Neither weights nor vocabularies travel, where these have names."""
    for metric in named_metrics(minilm):
        saved = pickle.dumps(metric)
        assert len(saved) < 20_000
        back = pickle.loads(saved)
        assert back.pipeline.lease.engine is metric.pipeline.lease.engine
        assert len(pickle.dumps(metric.clone())) < 20_000
        for each in (metric, back):
            update(each, ROWS)
        assert torch.equal(back.compute(), metric.compute())


@pytest.mark.slow
def test_a_pickle_works_in_a_new_process(minilm: str) -> None:
    metrics = named_metrics(minilm)
    there = fresh(unpickled, *map(pickle.dumps, metrics))
    for metric, (value, signature) in zip(metrics, there, strict=True):
        assert signature == metric.signature
        update(metric, ROWS)
        assert value == pytest.approx(metric.compute().tolist(), abs=1e-6)
        (layer,) = metric.layers
        right = bertscore(PREDS, REFS, minilm, layer, idf=metric.settings.idf)["f1"]
        assert value == pytest.approx(right, abs=1e-5)


def test_a_pickle_keeps_what_was_asked_of_an_encoder_that_others_use(
    minilm: str, process: Any
) -> None:
    """The first of equal encoders does the work; name, layers and weights are those of each."""
    metrics = [
        BERTScore(minilm),  # nobody has measured its layers under this name
        BERTScore("minilm"),
        BERTScore(HuggingFaceEncoder("minilm", num_layers=3)),
        BERTScore(HuggingFaceEncoder("minilm", num_layers=[2, 5]), score="recall"),
    ]
    assert [metric.layers for metric in metrics] == [(4,), (6,), (3,), (2, 5)]
    assert len({metric.pipeline.lease.engine for metric in metrics}) == 1
    for metric in metrics:
        back = pickle.loads(pickle.dumps(metric))
        assert back.layers == metric.layers
        assert back.signature == metric.signature


# ---------------------------------------------------------------- forks and workers


@pytest.mark.slow
def test_forks_after_the_encoder_ran(path: str) -> None:
    """Also where it ran with several threads before.

    GNU's OpenMP has none of them in a fork, and a fork that runs with several, too, waits for them
    for ever, which no code of ours can change; `torch.set_num_threads(1)` first, as the workers of
    a DataLoader do, and all is well.
    """
    loaders, forks = fresh(all_forks, path, seconds=200)
    for idf, got in zip((False, True), loaders, strict=True):
        assert got == wanted(path, idf=idf)
    for idf, (there, here) in zip((False, True, False), forks, strict=True):
        assert there == wanted(path, [2, 3, 5], idf)
        assert here == wanted(path, [0, 2, 3, 5], idf)


@pytest.mark.slow
def test_states_of_spawned_workers(path: str) -> None:
    assert workers(path, True, "spawn") == wanted(path, idf=True)


# ---------------------------------------------------------------- Lightning, compiled and sharded
# modules


@pytest.mark.slow
def test_strategies_of_lightning_that_fork(path: str, tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    from test_lightning import ROWS, Notes

    right = bertscore(
        [row["pred"] for row in ROWS], [row["target"] for row in ROWS], path, LAYER, idf=True
    )["f1"]
    for strategy, returned in zip(STRATEGIES, fresh(fits, path, str(tmp_path)), strict=True):
        notes = Notes(tmp_path / strategy)
        for logged in (returned, *notes("val", 0), *notes("val", 1)):
            for name in ("val", "all_f1"):
                assert logged[name] == pytest.approx(sum(right) / len(right), abs=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf"
)  # dynamo, where it stops in the middle
def test_a_compiled_module(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """The metric runs as it is: nothing of it is traced, and dynamo has nothing to say."""
    torch._dynamo.reset()
    holder = Holder(path)
    compiled = torch.compile(holder, backend="eager")
    for _ in range(2):
        compiled(torch.ones(2, 4)).sum().backward()
        assert holder.step.tolist() == wanted(path, ROWS[:2])
        assert holder.metric.compute().tolist() == wanted(path)
        assert holder.all.compute()["all_f1"].item() == pytest.approx(
            holder.metric.compute().mean().item()
        )
        holder.metric.reset()
        holder.all.reset()
    assert holder.layer.weight.grad is not None
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.slow
def test_a_compiled_lightning_module(path: str, tmp_path: Path) -> None:
    """Lightning's own `log` is left out.

    In some pairs of versions dynamo fails on it, whatever is logged.
    """
    pytest.importorskip("lightning")
    from test_lightning import ROWS, Notes, Scored, trainer

    class Logged(Scored):
        log, log_dict = torch.compiler.disable(Scored.log), torch.compiler.disable(Scored.log_dict)

    torch._dynamo.reset()
    notes = Notes(tmp_path)
    trainer(tmp_path, callbacks=[notes], max_epochs=2).fit(
        torch.compile(Logged(path, idf=True), backend="eager")
    )
    right = bertscore(
        [row["pred"] for row in ROWS], [row["target"] for row in ROWS], path, LAYER, idf=True
    )["f1"]
    assert len(notes("val")) == 2
    for logged in notes("val"):
        for name in ("val", "all_f1"):
            assert logged[name] == pytest.approx(sum(right) / len(right), abs=1e-5)


@pytest.fixture(scope="module")
def ranks(path: str) -> Any:
    metric = BERTScore(path, LAYER, reduction="none", idf=True)
    update(metric, [0, 1])
    assert metric.compute().tolist() == wanted(
        path, [0, 1], True
    )  # not to be taken along as the value
    return run(on_ranks, 2, metric, path)


@pytest.mark.slow
def test_a_metric_with_rows_travels_to_spawned_ranks(ranks: Any, path: str) -> None:
    """All of them have its rows then; the ids tell."""
    for value, _ in ranks:
        assert value == wanted(path, idf=True)


@pytest.mark.slow
def test_fsdp_finds_nothing_to_shard(ranks: Any, path: str) -> None:
    """As far as a CPU can show; DeepSpeed cannot run on one in a way to rely on."""
    for _, told in ranks:
        if told is None:
            pytest.skip("this PyTorch has no fully_shard, and its FSDP does not run on a CPU")
        for names, keys, dtype, value in told:
            assert names in (["_flat_param"], ["layer.weight", "layer.bias"])
            assert keys == ["layer.weight", "layer.bias"]
            assert dtype == "torch.float32"
            assert value == wanted(path, ROWS + ROWS)


# ---------------------------------------------------------------- switches of PyTorch


@contextmanager
def deterministic() -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(before)


SWITCHES: dict[str, Callable[[], Any]] = {
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "deterministic": deterministic,
}


@pytest.mark.parametrize("switch", SWITCHES)
@both
def test_the_same_number_under_switches_and_across_them(path: str, switch: str, idf: bool) -> None:
    """Some rows come with the switch on, some with it off.

    A copy of the metric, and what merges it, live on the other side.
    """
    metric, total = (
        BERTScore(path, LAYER, reduction="none", idf=idf, embedding_cache=0) for _ in range(2)
    )
    with SWITCHES[switch]():
        update(metric, ROWS[:2])
        first = metric.compute().tolist()
        update(total, ROWS[4:])
    update(metric, ROWS[2:4])
    total.merge_state(pickle.loads(pickle.dumps(metric)))
    with SWITCHES[switch]():
        second = total.compute()
    assert first == wanted(path, ROWS[:2], idf)
    assert second.tolist() == wanted(path, idf=idf)
    assert second.dtype == torch.float32
