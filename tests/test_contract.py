"""The metric as torchmetrics expects one: its tester, wrappers, collections, what errors leave."""

from __future__ import annotations

import contextlib
import copy
import inspect
import pickle
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from torchmetrics import Metric, MetricCollection, MetricTracker
from torchmetrics.text import CharErrorRate
from torchmetrics.text.bert import BERTScore as TheirBERTScore
from torchmetrics.wrappers import FeatureShare, MinMaxMetric, Running

from bertscore_tm import (
    Baseline,
    BERTScore,
    HuggingFaceEncoder,
    IdfTable,
    Tokens,
    bert_score,
    bert_score_collection,
)
from bertscore_tm.references import RULES
from reference import bertscore
from tiny import LAYERS, TEXT

NAMES = ("precision", "recall", "f1")
LAYER = 2
PREDS = [
    "the cat sat on the mat",
    "the dog ran home",
    "rain",
    "two cats sleep",
    "hello world",
    "a tall man walked",
]
TARGETS = [
    "the cat sat on the mat",
    "a dog ran home",
    "rain fell",
    "two cats sleep quietly",
    "the world",
    "the man walked slowly",
]
BATCHES = [(PREDS[i : i + 2], TARGETS[i : i + 2]) for i in range(0, 6, 2)]
Tiny = Callable[[str], str]
Make = Callable[..., BERTScore]

both = pytest.mark.parametrize("idf", [False, True], ids=["plain", "idf"])


@pytest.fixture(scope="module")
def path(tiny: Tiny) -> str:
    return tiny("bert")


@pytest.fixture(scope="module")
def make(path: str) -> Make:
    return lambda num_layers=LAYER, **options: BERTScore(path, num_layers, **options)


@pytest.fixture(scope="module")
def wanted(path: str) -> Callable[..., list[float]]:
    """What first principles give, one value a row."""

    def f1(
        preds: Sequence[str] = PREDS,
        targets: Sequence[Any] = TARGETS,
        layer: int = LAYER,
        **options: Any,
    ) -> list[float]:
        return bertscore(preds, targets, path, layer, **options)["f1"]

    return f1


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def filled(metric: Any, batches: Sequence[Any] = BATCHES) -> Any:
    for batch in batches:
        metric.update(*batch)
    return metric


def near(got: Any, value: Any, tolerance: float = 1e-5) -> None:
    got = got.tolist() if isinstance(got, Tensor) else got
    assert got == pytest.approx(value, rel=0, abs=tolerance)


def state_of(metric: Metric) -> dict[str, Any]:
    """A copy of the state, with its dtypes, in a form that compares."""
    return {
        name: [
            (part.dtype, part.tolist())
            for part in ([value] if isinstance(value, Tensor) else value)
        ]
        for name, value in metric.metric_state.items()
    }


def dtypes_of(metric: Metric) -> dict[str, set[torch.dtype]]:
    return {name: {dtype for dtype, _ in values} for name, values in state_of(metric).items()}


# ---------------------------------------------------------------- the tester of torchmetrics


@pytest.mark.parametrize(
    "name",
    [
        "is_differentiable",
        "higher_is_better",
        "full_state_update",
        "plot_lower_bound",
        "plot_upper_bound",
    ],
)
def test_constants_cannot_be_set(make: Make, name: str) -> None:
    metric = make()
    before = getattr(metric, name)
    with pytest.raises(RuntimeError, match="Can't change const"):
        setattr(metric, name, True)
    assert getattr(metric, name) == before


def test_constants(make: Make) -> None:
    metric = make()
    assert (metric.higher_is_better, metric.is_differentiable, metric.full_state_update) == (
        True,
        False,
        False,
    )
    assert (metric.plot_lower_bound, metric.plot_upper_bound) == (0.0, 1.0)


def test_hash(make: Make) -> None:
    first, second = make(), make()
    assert hash(first) != hash(second)
    assert len({first, second, filled(first)}) == 2


@both
@pytest.mark.parametrize("copied", ["pickle", "clone", "deepcopy", "copy-of-pickle"])
def test_copies(make: Make, wanted: Any, copied: str, idf: bool) -> None:
    ways: dict[str, Callable[[Any], Any]] = {
        "pickle": lambda metric: pickle.loads(pickle.dumps(metric)),
        "clone": lambda metric: metric.clone(),
        "deepcopy": copy.deepcopy,
        "copy-of-pickle": lambda metric: copy.deepcopy(pickle.loads(pickle.dumps(metric))),
    }
    metric = filled(make(idf=idf), BATCHES[:1])
    twin = ways[copied](metric)
    assert type(twin) is BERTScore
    assert twin is not metric
    assert twin.encoder is metric.encoder
    assert twin.signature == metric.signature
    assert state_of(twin) == state_of(metric)
    filled(twin, BATCHES[1:])
    near(twin.compute(), mean(wanted(idf=idf)))
    near(metric.compute(), mean(wanted(PREDS[:2], TARGETS[:2], idf=idf)))
    twin.reset()
    assert metric.diagnostics()["samples"] == 2


def test_pickles_carry_no_weights(minilm: str) -> None:
    metric = filled(BERTScore(minilm, 1))
    assert len(pickle.dumps(metric)) < 4_000_000  # the tokenizer; the weights have 90 MB


@both
def test_forward_is_update_and_compute(make: Make, wanted: Any, idf: bool) -> None:
    metric = make(idf=idf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of idf over so few references
        for preds, targets in BATCHES:
            near(metric(preds, targets), mean(wanted(preds, targets, idf=idf)))
    near(metric.compute(), mean(wanted(idf=idf)))
    assert state_of(metric)["scores"] if not idf else state_of(metric)["references"]
    assert metric.update_count == len(BATCHES)


@both
def test_forward_with_full_state_updates(make: Make, wanted: Any, idf: bool) -> None:
    metric = make(
        idf=idf, dist_sync_on_step=True, reduction="none"
    )  # torchmetrics then updates twice in a forward
    for i, (preds, targets) in enumerate(BATCHES):
        near(
            metric(iter(preds), iter(targets), sample_ids=iter([2 * i, 2 * i + 1])),
            wanted(preds, targets, idf=idf),
        )
    near(metric.compute(), wanted(idf=idf))


@both
def test_a_batch_of_one_stays_a_vector(make: Make, idf: bool) -> None:
    metric = make(idf=idf, reduction="none", score=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # idf of one reference
        values = {
            **metric(PREDS[:1], TARGETS[:1]),
            **{f"total {k}": v for k, v in metric.compute().items()},
        }
    assert len(values) == 6
    assert all(value.shape == (1,) for value in values.values())


@both
def test_reset(make: Make, wanted: Any, idf: bool) -> None:
    metric = make(idf=idf)
    fresh = state_of(metric)
    filled(metric, BATCHES[:2]).compute()
    metric.reset()
    assert state_of(metric) == fresh
    assert not metric.update_called
    near(filled(metric, BATCHES[2:]).compute(), mean(wanted(PREDS[4:], TARGETS[4:], idf=idf)))


def test_update_after_compute(make: Make, wanted: Any) -> None:
    metric = filled(make(), BATCHES[:1])
    near(metric.compute(), mean(wanted(PREDS[:2], TARGETS[:2])))
    filled(metric, BATCHES[1:])
    near(metric.compute(), mean(wanted()))


def test_compute_is_cached_until_something_changes(make: Make) -> None:
    metric = filled(make())
    assert metric.compute() is metric.compute()
    uncached = filled(make(compute_with_cache=False))
    assert uncached.compute() is not uncached.compute()


@both
def test_compute_before_update_warns(make: Make, idf: bool) -> None:
    with pytest.warns(UserWarning, match="was called before the ``update`` method"):
        assert make(idf=idf).compute().isnan()
    with pytest.warns(UserWarning, match="was called before the ``update`` method"):
        assert make(idf=idf, reduction="none").compute().shape == (0,)


def test_no_gradients(make: Make) -> None:
    metric = make()
    assert not metric(*BATCHES[0]).requires_grad
    assert not metric.compute().requires_grad


@both
def test_state_dict_is_empty_unless_persistent(make: Make, wanted: Any, idf: bool) -> None:
    metric = filled(make(idf=idf))
    assert metric.state_dict() == {}
    metric.persistent(True)
    assert metric.state_dict().keys() == metric.metric_state.keys()
    metric.persistent(False)
    assert metric.state_dict() == {}


@both
def test_a_saved_state_loads_and_goes_on(make: Make, wanted: Any, idf: bool, tmp_path: Any) -> None:
    metric = filled(make(idf=idf), BATCHES[:2])
    metric.persistent(True)
    torch.save(metric.state_dict(), tmp_path / "state")
    other = make(idf=idf)
    other.load_state_dict(torch.load(tmp_path / "state", weights_only=True))
    filled(other, BATCHES[2:])
    near(other.compute(), mean(wanted(idf=idf)))
    assert dtypes_of(other) == dtypes_of(metric)


def test_a_module_with_the_metric_has_no_more_keys_and_parameters(make: Make) -> None:
    class Parent(nn.Module):
        def __init__(self, metric: Any = None) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 1)
            if metric is not None:
                self.metric = metric

    plain, scored = Parent(), Parent(filled(make()))
    assert scored.state_dict().keys() == plain.state_dict().keys()
    assert [name for name, _ in scored.named_parameters()] == ["linear.weight", "linear.bias"]
    scored.load_state_dict(plain.state_dict(), strict=True)
    plain.load_state_dict(scored.state_dict(), strict=True)


def test_no_parameters_buffers_or_children(make: Make) -> None:
    metric = filled(make())
    metric.compute()
    assert list(metric.parameters()) == list(metric.buffers()) == list(metric.children()) == []
    assert list(metric.modules()) == [metric]


# ---------------------------------------------------------------- devices and dtypes


CASTS: dict[str, Callable[[Any], Any]] = {
    "half": lambda module: module.half(),
    "double": lambda module: module.double(),
    "bfloat16": lambda module: module.bfloat16(),
    "to float64": lambda module: module.to(torch.float64),
    "to bfloat16": lambda module: module.to(dtype=torch.bfloat16),
    "to cpu": lambda module: module.to("cpu"),
    "type": lambda module: module.type(torch.float16),
}


@pytest.mark.parametrize("parent", [False, True], ids=["itself", "parent"])
@pytest.mark.parametrize("cast", CASTS)
@both
def test_casts_leave_states_and_results(
    make: Make, wanted: Any, cast: str, parent: bool, idf: bool
) -> None:
    metric = make(idf=idf, reduction="none")
    before = dtypes_of(filled(make(idf=idf)))
    holder = nn.ModuleList([metric]) if parent else metric
    CASTS[cast](holder)
    filled(metric, BATCHES[:1])
    metric.compute()
    CASTS[cast](holder)
    filled(metric, BATCHES[1:])
    result = metric.compute()
    assert result.dtype == torch.float32
    assert dtypes_of(metric) == before
    near(result, wanted(idf=idf))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
@both
def test_set_dtype_leaves_states_and_results(
    make: Make, wanted: Any, dtype: torch.dtype, idf: bool
) -> None:
    metric = make(idf=idf)
    metric.set_dtype(dtype)
    filled(metric, BATCHES[:1])
    metric.set_dtype(dtype)
    near(filled(metric, BATCHES[1:]).compute(), mean(wanted(idf=idf)))
    assert metric.compute().dtype == torch.float32
    assert dtypes_of(metric) == dtypes_of(filled(make(idf=idf)))


@pytest.fixture(params=[torch.bfloat16, torch.float64], ids=["bfloat16", "float64"])
def default_dtype(request: pytest.FixtureRequest) -> Iterator[torch.dtype]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(before)


@both
def test_the_default_dtype_plays_no_part(
    tiny: Tiny, wanted: Any, default_dtype: torch.dtype, idf: bool
) -> None:
    # Another vocabulary limit, so that the encoder is new and loaded under this default.
    metric = BERTScore(tiny("bert"), LAYER, idf=idf, embedding_cache=0, max_length=60)
    result = filled(metric).compute()
    assert torch.get_default_dtype() == default_dtype
    assert result.dtype == torch.float32
    assert default_dtype not in {d for dtypes in dtypes_of(metric).values() for d in dtypes}
    torch.set_default_dtype(torch.float32)  # for the reference
    near(result, mean(wanted(idf=idf)))


@both
def test_autocast_and_inference_mode_play_no_part(make: Make, wanted: Any, idf: bool) -> None:
    metric = make(idf=idf, embedding_cache=0)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        filled(metric, BATCHES[:1])
        near(metric(*BATCHES[1]), mean(wanted(*BATCHES[1], idf=idf)))
    filled(metric, BATCHES[2:])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        near(metric.compute(), mean(wanted(idf=idf)))


@both
def test_compute_on_cpu(make: Make, wanted: Any, idf: bool) -> None:
    metric = make(idf=idf, compute_on_cpu=True)
    for preds, targets in BATCHES:
        metric(preds, targets)
    near(metric.compute(), mean(wanted(idf=idf)))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@both
def test_the_encoder_follows_to_a_gpu(make: Make, wanted: Any, idf: bool) -> None:
    metric = filled(make(idf=idf), BATCHES[:1]).to("cuda")
    filled(metric, BATCHES[1:])
    assert metric.compute().device.type == "cuda"
    near(metric.compute(), mean(wanted(idf=idf)), 1e-4)
    near(metric.to("cpu").compute(), mean(wanted(idf=idf)), 1e-4)


# ---------------------------------------------------------------- merging


@both
@pytest.mark.parametrize("form", ["metric", "state"])
def test_merge_state(make: Make, wanted: Any, form: str, idf: bool) -> None:
    first, second = filled(make(idf=idf), BATCHES[:1]), filled(make(idf=idf), BATCHES[1:])
    first.compute()
    before = state_of(second)
    first.merge_state(second if form == "metric" else second.metric_state)
    near(first.compute(), mean(wanted(idf=idf)))
    filled(first, BATCHES[:1])
    assert state_of(second) == before


@both
def test_merge_with_nothing(make: Make, wanted: Any, idf: bool) -> None:
    full, empty = filled(make(idf=idf)), make(idf=idf)
    full.merge_state(empty)
    near(full.compute(), mean(wanted(idf=idf)))
    empty.update_count  # noqa: B018 - nothing was added to it
    empty.merge_state(full)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The ``compute`` method")
        near(empty.compute(), mean(wanted(idf=idf)))


def test_merge_drops_repeated_ids(make: Make, wanted: Any) -> None:
    first, second = make(reduction="none"), make(reduction="none")
    first.update(PREDS[2:], TARGETS[2:], sample_ids=range(2, 6))
    second.update(PREDS[:4], TARGETS[:4], sample_ids=range(4))
    first.merge_state(second)
    near(first.compute(), wanted())


@pytest.mark.parametrize(
    "other",
    [
        {"num_layers": 1},
        {"num_layers": [LAYER, 1]},
        {"idf": True},
        {"idf": {5: 1.0}},
        {"match_special_tokens": False},
        {"multi_reference": "mean"},
        {"max_length": 20},
    ],
    ids=lambda other: "-".join(other),
)
def test_metrics_with_other_settings_do_not_merge(make: Make, other: dict[str, Any]) -> None:
    metric, stranger = filled(make(), BATCHES[:1]), filled(make(**other), BATCHES[1:])
    before, theirs = state_of(metric), state_of(stranger)
    for one, two in ((metric, stranger), (stranger, metric)):
        with pytest.raises(ValueError, match=r"made in another way|present in incoming state"):
            one.merge_state(two)
    assert (state_of(metric), state_of(stranger)) == (before, theirs)


def test_a_saved_state_of_other_settings_does_not_load(make: Make) -> None:
    metric, stranger = filled(make()), filled(make(num_layers=1))
    stranger.persistent(True)
    before = state_of(metric)
    with pytest.raises((ValueError, RuntimeError), match="made in another way"):
        metric.load_state_dict(stranger.state_dict())
    assert state_of(metric) == before


def test_rows_with_and_without_ids_do_not_merge(make: Make) -> None:
    metric, other = filled(make(), BATCHES[:1]), make()
    other.update(*BATCHES[1], sample_ids=[0, 1])
    before = state_of(metric)
    with pytest.raises(ValueError, match="got sample_ids for 2 of 4 samples"):
        metric.merge_state(other)
    assert state_of(metric) == before


def test_what_cannot_be_merged(make: Make) -> None:
    metric = filled(make())
    with pytest.raises(ValueError, match="dict or an instance of Metric"):
        metric.merge_state(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="instance of BERTScore"):
        metric.merge_state(CharErrorRate())
    with pytest.raises(ValueError, match="present in incoming state"):
        metric.merge_state({"scores": torch.zeros(1)})
    with pytest.raises(RuntimeError, match="not supported for metrics"):
        make(dist_sync_on_step=True).merge_state(make(dist_sync_on_step=True))


# ---------------------------------------------------------------- collections and wrappers


def grouped(collection: MetricCollection) -> list[list[str]]:
    return sorted(sorted(group) for group in collection.compute_groups.values())


def test_what_only_shapes_the_answer_shares_a_group(make: Make) -> None:
    rescaled = Baseline([[0.1 * k, 0.2, 0.3] for k in range(LAYERS + 1)])
    collection = MetricCollection(
        {
            **{name: make(score=name) for name in NAMES},
            "rescaled": make(rescale_with_baseline=rescaled),
            "vector": make(reduction="none", score=None),
            "minus": make(empty_score=-1.0),
        }
    )
    singles = {name: metric.clone() for name, metric in collection.items()}
    for batch in BATCHES:
        collection.update(*batch)
    got = collection.compute()
    assert grouped(collection) == [sorted(singles)]
    assert all(name in got for name in (*NAMES, "rescaled", "minus"))
    for name in (*NAMES, "rescaled", "minus"):
        near(got[name], filled(singles[name]).compute().item(), 1e-7)
    near(got["rescaled"], (got["f1"].item() - 0.3) / 0.7, 1e-6)


def test_one_group_is_one_pass(path: str) -> None:
    collection = bert_score_collection(path, LAYER, embedding_cache=0, max_length=33)
    for batch in BATCHES:
        collection.update(*batch)
    single = filled(BERTScore(path, LAYER, embedding_cache=0, max_length=34))
    tokens = single.diagnostics()["encoded_tokens"]
    # In the first update torchmetrics asks all three, to find out that they are alike.
    first = filled(
        BERTScore(path, LAYER, embedding_cache=0, max_length=35), BATCHES[:1]
    ).diagnostics()["encoded_tokens"]
    assert collection["f1"].diagnostics()["encoded_tokens"] == tokens + 2 * first
    with_cache = bert_score_collection(path, LAYER, max_length=36)
    for batch in BATCHES:
        with_cache.update(*batch)
    assert with_cache["f1"].diagnostics()["encoded_tokens"] <= tokens


def test_what_shapes_the_state_never_shares_a_group(make: Make, tiny: Tiny) -> None:
    table = {5: 1.0, 6: 2.0}
    metrics = {
        "plain": make(),
        "layer": make(num_layers=1),
        "layers": make(num_layers=[1, LAYER]),
        "idf": make(idf=True),
        "table": make(idf=table),
        "markers": make(match_special_tokens=False),
        "encoder": BERTScore(tiny("distilbert"), LAYER),
        "length": make(max_length=4),
        "references": make(multi_reference="mean"),
    }
    singles = {name: metric.clone() for name, metric in metrics.items()}
    collection = MetricCollection(metrics)  # type: ignore[arg-type]
    same = ["the cat sat", "rain fell"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of truncated texts
        collection.update(same, same)  # 1.0 under every setting
        assert grouped(collection) == sorted([name] for name in singles)
        collection.update(PREDS, TARGETS)
        got = collection.compute()
        for name, single in singles.items():
            alone = filled(single, [(same, same), (PREDS, TARGETS)]).compute()
            if isinstance(alone, dict):
                assert {key: got[key].item() for key in alone} == pytest.approx(
                    {k: v.item() for k, v in alone.items()}
                )
            else:
                near(got[name], alone.item(), 1e-7)


def test_rules_for_references_may_share_the_words_of_idf(make: Make, path: str) -> None:
    groups = [["the cat sat", "a dog on the mat"], ["the dog ran home", "home"]]
    rules = tuple(RULES)
    collection = MetricCollection({rule: make(idf=True, multi_reference=rule) for rule in rules})
    collection.update(PREDS[:2], groups)
    collection.update(PREDS[2:4], [["rain fell"], ["two cats"]])
    got = collection.compute()
    for rule in rules:
        rows = bertscore(
            PREDS[:4],
            [*groups, "rain fell", "two cats"],
            path,
            LAYER,
            idf=True,
            multi_reference=rule,
        )
        near(got[rule], mean(rows["f1"]))


def test_collection_with_ids_and_strangers(make: Make, wanted: Any) -> None:
    collection = MetricCollection({"bert": make(), "characters": CharErrorRate()}, prefix="val_")
    for i, (preds, target) in enumerate(BATCHES):
        collection.update(preds=preds, target=target, sample_ids=[2 * i, 2 * i + 1])
    collection.update(preds=PREDS[:2], target=TARGETS[:2], sample_ids=[0, 1])
    got = collection.compute()
    near(got["val_bert"], mean(wanted()))
    rate = CharErrorRate()
    rate.update(PREDS + PREDS[:2], TARGETS + TARGETS[:2])
    near(got["val_characters"], rate.compute().item())


def test_bert_score_collection(path: str) -> None:
    collection = bert_score_collection(path, LAYER, prefix="val/", postfix="_x")
    copied = collection.clone(prefix="test/")
    step = collection(*BATCHES[0])
    for batch in BATCHES[1:]:
        collection.update(*batch)
    rows = bertscore(PREDS, TARGETS, path, LAYER)
    assert {name: value.item() for name, value in collection.compute().items()} == pytest.approx(
        {f"val/{name}_x": mean(rows[name]) for name in NAMES}, abs=1e-5
    )
    assert step["val/f1_x"].item() == pytest.approx(mean(rows["f1"][:2]), abs=1e-5)
    copied.update(*BATCHES[0])
    assert copied.compute()["test/f1_x"].item() == pytest.approx(mean(rows["f1"][:2]), abs=1e-5)
    collection.reset()
    collection.update(*BATCHES[2])
    assert collection.compute()["val/recall_x"].item() == pytest.approx(
        mean(rows["recall"][4:]), abs=1e-5
    )
    with pytest.raises(TypeError, match="it holds precision, recall and F1"):
        bert_score_collection(path, LAYER, score="f1")


def test_a_collection_warns_once(path: str) -> None:
    collection = bert_score_collection(path, LAYER)
    collection.update(["", "a dog"], ["a cat", "a dog"])
    with pytest.warns(UserWarning, match="1 of 2 samples have nothing to score") as caught:
        collection.compute()
    assert len(caught) == 1


def test_tracker(make: Make, wanted: Any) -> None:
    tracker = MetricTracker(make())
    for batch in BATCHES:
        tracker.increment()
        tracker.update(*batch)
    values = [mean(wanted(*batch)) for batch in BATCHES]
    near(tracker.compute_all(), values)
    best, step = tracker.best_metric(return_step=True)
    assert best == pytest.approx(max(values), abs=1e-5)
    assert step == values.index(max(values))


def test_tracker_of_a_collection(path: str) -> None:
    tracker = MetricTracker(bert_score_collection(path, LAYER))
    for batch in BATCHES:
        tracker.increment()
        tracker.update(*batch)
    best = tracker.best_metric()
    rows = bertscore(PREDS, TARGETS, path, LAYER)
    assert best == pytest.approx(
        {n: max(mean(rows[n][i : i + 2]) for i in range(0, 6, 2)) for n in NAMES}, abs=1e-5
    )


def test_minimum_and_maximum(make: Make, wanted: Any) -> None:
    metric = MinMaxMetric(make())
    totals = []
    for i, batch in enumerate(BATCHES):
        metric.update(*batch)
        totals.append(mean(wanted(PREDS[: 2 * i + 2], TARGETS[: 2 * i + 2])))
        near(metric.compute()["raw"], totals[-1])
    near(metric.compute()["min"], min(totals))
    near(metric.compute()["max"], max(totals))


@both
@pytest.mark.parametrize("way", ["update", "forward"])
def test_running_window(make: Make, wanted: Any, way: str, idf: bool) -> None:
    metric = Running(make(idf=idf), window=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of idf over so few references
        for i, batch in enumerate(BATCHES):
            (metric.update if way == "update" else metric)(*batch)
            first = max(0, 2 * i - 2)
            near(
                metric.compute(),
                mean(wanted(PREDS[first : 2 * i + 2], TARGETS[first : 2 * i + 2], idf=idf)),
            )


def test_feature_share(make: Make, path: str) -> None:
    shared = FeatureShare({"p": make(score="precision"), "f": make(), "idf": make(idf=True)})  # type: ignore[dict-item]
    for batch in BATCHES:
        shared.update(*batch)
    got = shared.compute()
    rows, weighted = (
        bertscore(PREDS, TARGETS, path, LAYER),
        bertscore(PREDS, TARGETS, path, LAYER, idf=True),
    )
    for name, value in (("p", rows["precision"]), ("f", rows["f1"]), ("idf", weighted["f1"])):
        near(got[name], mean(value))
    assert shared["p"].encoder is shared["f"].encoder


def test_arithmetic(make: Make, path: str) -> None:
    precision, recall = make(score="precision"), make(score="recall")
    middle = (precision + recall) / 2
    loss = 1 - precision
    for batch in BATCHES:
        middle.update(*batch)
    rows = bertscore(PREDS, TARGETS, path, LAYER)
    near(middle.compute(), (mean(rows["precision"]) + mean(rows["recall"])) / 2)
    near(loss.compute(), 1 - mean(rows["precision"]))
    middle.reset()
    near(middle(*BATCHES[0]), (mean(rows["precision"][:2]) + mean(rows["recall"][:2])) / 2)


def test_what_is_below_zero_is_visible(minilm: str) -> None:
    """A rescaled score may be; the axis of torchmetrics ends at the lower bound."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    table = Baseline([[0.6] * 3] * 7)
    metric = BERTScore(minilm, 6, rescale_with_baseline=table)
    metric.update(["rain"], ["the iron gate"])
    value = metric.compute()
    assert float(value) < -1
    for values in (None, [value, torch.tensor(0.5)], {"a": value}):
        _, axes = metric.plot(values)
        low, high = axes.get_ylim()
        assert low < float(value) < 1 <= high
    _, axes = BERTScore(minilm, 6).plot(torch.tensor(0.5))
    assert axes.get_ylim()[0] == pytest.approx(0, abs=0.2)
    plt.close("all")


def test_plot(make: Make) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    metric = filled(make())
    _, axes = metric.plot()
    assert axes.get_ylim()[0] <= 0.0
    assert axes.get_ylim()[1] >= 1.0
    _, given = plt.subplots()
    _, axes = metric.plot([metric.compute(), metric.compute()], ax=given)
    assert axes is given
    drawn, _ = filled(make(score=None, num_layers=[1, LAYER])).plot()
    assert isinstance(drawn, plt.Figure)
    plt.close("all")


# ---------------------------------------------------------------- errors leave the state as it was


class Letters:
    """An encoder of one's own: a token a letter, `hidden_states` a fixed vector for each. It can be
    told to fail."""

    name, version, tokenizer_id, depth, default_layers = "letters", "1", "letters", 2, (1,)

    def __init__(self) -> None:
        self.fail: BaseException | None = None
        self.devices: set[str] = set()
        self.table = torch.rand(3, 130, 5, generator=torch.Generator().manual_seed(1)) + 0.1

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return [Tokens([128, *map(ord, text)], [False] + [True] * len(text)) for text in texts]

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        if self.fail is not None:
            raise self.fail
        self.devices.add(str(input_ids.device))
        return self.table[list(layers)][:, input_ids]

    def cosine(self, a: str, b: str, layer: int = 1) -> float:
        one, two = self.table[layer, ord(a)].double(), self.table[layer, ord(b)].double()
        return float(one @ two / one.norm() / two.norm())


BAD: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = {
    "number in preds": ((["a", 3], ["a", "b"]), {}, TypeError, "int .* in row 1 of preds"),
    "None in target": ((["a", "b"], ["a", None]), {}, TypeError, "None in row 1 of target"),
    "nan in target": ((["a"], [float("nan")]), {}, TypeError, "float .* in row 0 of target"),
    "number in a group": ((["a"], [["a", 3]]), {}, TypeError, "reference 1 in row 0 of target"),
    "no strings": ((3, ["a"]), {}, TypeError, "as preds"),
    "bytes": ((b"ab", ["a"]), {}, TypeError, "as preds"),
    "mapping": ((["a"], {"a": 1}), {}, TypeError, "as target"),
    "set": (({"a", "b"}, ["a", "b"]), {}, TypeError, "as preds"),
    "uneven": ((["a", "b"], ["a"]), {}, ValueError, "2 predictions and 1 targets"),
    "no references": ((["a", "b"], [["a"], []]), {}, ValueError, "no references in row 1"),
    "too long": ((["rain " * 40], ["rain"]), {}, ValueError, "the limit is 30"),
    "ids": ((["a"], ["a"]), {"sample_ids": [7]}, ValueError, "got sample_ids for 1 of 3 samples"),
    "no integer id": ((["a"], ["a"]), {"sample_ids": ["x"]}, TypeError, "row 0 of sample_ids"),
    "number of ids": (
        (["a"], ["a"]),
        {"sample_ids": [1, 2]},
        ValueError,
        "2 sample_ids for 1 predictions",
    ),
}


@pytest.mark.parametrize("way", ["update", "forward", "forward-on-step"])
@pytest.mark.parametrize("bad", BAD)
@both
def test_after_a_bad_batch_all_is_as_before(
    make: Make, wanted: Any, bad: str, way: str, idf: bool
) -> None:
    metric = make(
        idf=idf, overflow="error", max_length=30, dist_sync_on_step=way == "forward-on-step"
    )
    filled(metric, BATCHES[:1])
    metric.compute()
    before, count = state_of(metric), metric.update_count
    arguments, options, kind, message = BAD[bad]
    with pytest.raises(kind, match=message):
        (metric.update if way == "update" else metric)(*arguments, **options)
    assert state_of(metric) == before
    assert metric.update_count == count
    near(metric.compute(), mean(wanted(PREDS[:2], TARGETS[:2], idf=idf)))
    filled(metric, BATCHES[1:])
    near(metric.compute(), mean(wanted(idf=idf)))


@pytest.mark.parametrize("way", ["update", "forward", "forward-on-step"])
@pytest.mark.parametrize(
    "failure",
    [
        OSError("no such file"),
        RuntimeError("no such kernel"),
        MemoryError("full"),
        KeyboardInterrupt(),
    ],
    ids=repr,
)
@both
def test_after_the_encoder_failed_all_is_as_before(
    failure: BaseException, way: str, idf: bool
) -> None:
    encoder = Letters()
    metric = BERTScore(
        encoder, idf=idf, reduction="none", dist_sync_on_step=way == "forward-on-step"
    )
    metric.update(["ab", "c"], ["ab", "d"])
    value, before = metric.compute().tolist(), state_of(metric)
    encoder.fail = failure
    with pytest.raises(type(failure)):
        (metric.update if way == "update" else metric)(["xyz"], ["uvw"])
    encoder.fail = None
    assert state_of(metric) == before
    assert metric.compute().tolist() == value
    metric.update(["x"], ["u"])
    assert len(metric.compute()) == 3


def test_numbers_that_are_none_are_an_error() -> None:
    encoder = Letters()
    metric = BERTScore(encoder)
    metric.update("ab", "ab")
    encoder.table[1, ord("x")] = float("nan")
    with pytest.raises(FloatingPointError, match="not a number"):
        metric.update("x", "ab")
    assert metric.diagnostics()["samples"] == 1


def test_an_id_with_two_texts(make: Make, wanted: Any) -> None:
    metric = make()
    metric.update(PREDS[:2], TARGETS[:2], sample_ids=[0, 1])
    metric.update(PREDS[2:4], TARGETS[2:4], sample_ids=[0, 1])
    for _ in range(2):
        with pytest.raises(ValueError, match=r"got the sample id [01] twice with different texts"):
            metric.compute()
    metric.reset()
    near(filled(metric).compute(), mean(wanted()))


def test_an_error_in_compute_ends_the_sync(make: Make) -> None:
    """Of two ranks that both count from 0; then this one goes on alone."""

    def two_ranks(tensor: Tensor, group: Any = None) -> list[Tensor]:
        other = tensor.clone()
        if tensor.ndim == 2 and tensor.dtype == torch.int64:  # ids and digests of the texts
            other[:, 1] += 1
        return [tensor, other]

    metric = make(dist_sync_fn=two_ranks, distributed_available_fn=lambda: True)
    metric.update(PREDS[:2], TARGETS[:2], sample_ids=[0, 1])
    before = state_of(metric)
    for _ in range(2):
        with pytest.raises(ValueError, match="twice with different texts"):
            metric.compute()
        assert state_of(metric) == before
    metric.update(PREDS[2:4], TARGETS[2:4], sample_ids=[2, 3])
    assert metric(PREDS[4:], TARGETS[4:], sample_ids=[4, 5]).ndim == 0


# ---------------------------------------------------------------- encoders


def test_equal_metrics_share_one_encoder(make: Make, minilm: str) -> None:
    assert make().encoder is make(score="recall", reduction="none").encoder
    assert make().encoder is make(num_layers=1).encoder
    assert make().encoder is not make(max_length=9).encoder
    assert BERTScore(minilm, 6).encoder is BERTScore("minilm").encoder


def test_weights_load_once(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiny import build

    path, loads = str(build("bert", tmp_path)), []
    load = transformers.AutoModel.from_pretrained
    monkeypatch.setattr(
        transformers.AutoModel,
        "from_pretrained",
        lambda *args, **kw: loads.append(args) or load(*args, **kw),
    )
    metrics = [
        BERTScore(path, LAYER),
        BERTScore(path, 1, match_special_tokens=False),
        BERTScore(path, LAYER, idf=True),
    ]
    metrics += [
        metrics[0].clone(),
        pickle.loads(pickle.dumps(metrics[1])),
        BERTScore(HuggingFaceEncoder(path), LAYER),
    ]
    assert not loads  # lazily: with the first text
    for metric in metrics:
        filled(metric).compute()
        metric.reset()
        metric(PREDS, TARGETS)
    assert len(loads) == 1


def test_an_own_encoder() -> None:
    encoder = Letters()
    metric = BERTScore(encoder, score=None, reduction="none", match_special_tokens=False)
    metric.update(["aab", "c"], ["ba", "d"])
    got = metric.compute()
    ab, cd = encoder.cosine("a", "b"), encoder.cosine("c", "d")
    assert ab < 1
    assert cd < 1
    for name in NAMES:
        near(got[name], [1.0, cd])
    assert "letters" in metric.signature
    assert metric.clone().encoder is encoder
    assert pickle.loads(pickle.dumps(metric)).encoder is metric.encoder
    assert encoder.devices == {"cpu"}


def test_layers_of_an_own_encoder() -> None:
    encoder = Letters()
    metric = BERTScore(encoder, "all", reduction="none", match_special_tokens=False)
    metric.update("c", "d")
    assert {key: value.item() for key, value in metric.compute().items()} == pytest.approx(
        {f"layer_{k}": encoder.cosine("c", "d", k) for k in range(3)}, abs=1e-6
    )
    with pytest.raises(
        ValueError,
        match=r"got layer 3; encoder 'letters' has hidden states 0 .* "
        r"to 2",
    ):
        BERTScore(encoder, 3)


@pytest.mark.parametrize(
    "option", [{"max_length": 9}, {"overflow": "window"}, {"dtype": "bfloat16"}, {"compile": True}]
)
def test_options_of_an_encoder_object_belong_there(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"got {next(iter(option))} beside an encoder object"):
        BERTScore(Letters(), **option)


@pytest.fixture
def own(tiny: Tiny) -> tuple[Any, Any]:
    """A model with much dropout, in training, and its tokenizer."""
    from tiny import quiet_transformers

    path = tiny("bert-dropout")
    with quiet_transformers():
        return transformers.AutoModel.from_pretrained(
            path
        ).train(), transformers.AutoTokenizer.from_pretrained(path)


@both
def test_an_own_model_keeps_its_mode(own: tuple[Any, Any], tiny: Tiny, idf: bool) -> None:
    model, tokenizer = own
    model.pooler.eval()  # one part in another mode
    modes = [module.training for module in model.modules()]
    grads = [weight.requires_grad for weight in model.parameters()]
    metric = BERTScore(HuggingFaceEncoder(model, tokenizer), LAYER, idf=idf, reduction="none")
    nn.ModuleList([metric]).train()
    filled(metric)
    near(metric.compute(), bertscore(PREDS, TARGETS, tiny("bert-dropout"), LAYER, idf=idf)["f1"])
    assert [module.training for module in model.modules()] == modes
    assert [weight.requires_grad for weight in model.parameters()] == grads
    assert all(
        weight.grad is None and weight.dtype == torch.float32 for weight in model.parameters()
    )
    assert list(metric.parameters()) == []
    copied = metric.clone()
    assert copied.encoder is metric.encoder


def test_an_own_model_keeps_its_mode_after_an_error(
    own: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = own
    metric = BERTScore(HuggingFaceEncoder(model, tokenizer), LAYER)

    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(model, "forward", broken)
    for _ in range(2):  # in the probe that finds out how to run it, and afterwards
        with pytest.raises(ValueError, match=r"cannot be run on token ids alone .*broken"):
            metric.update("a", "b")
        assert model.training


def test_an_own_model_stays_on_its_device_and_in_its_dtype(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    model.double()
    metric = BERTScore(HuggingFaceEncoder(model, tokenizer), LAYER).half().to("cpu")
    assert filled(metric).compute().dtype == torch.float32
    assert {weight.dtype for weight in model.parameters()} == {torch.float64}
    assert {weight.device.type for weight in model.parameters()} == {"cpu"}


def test_an_own_model_in_training_gives_new_scores_after_a_step(own: tuple[Any, Any]) -> None:
    """The vectors of a model that learns are not those of an epoch ago."""
    model, tokenizer = own
    metric = BERTScore(HuggingFaceEncoder(model, tokenizer), LAYER)
    first = filled(metric).compute().item()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(3)) * 0.2)
    metric.reset()
    second = filled(metric).compute().item()
    fresh = filled(BERTScore(HuggingFaceEncoder(model, tokenizer), LAYER)).compute().item()
    assert abs(fresh - first) > 1e-3
    assert second == pytest.approx(fresh, abs=1e-6)


def test_training_mode_switches_no_dropout_on(tiny: Tiny) -> None:
    metric = BERTScore(tiny("bert-dropout"), LAYER, reduction="none", embedding_cache=0)
    parent = nn.ModuleList([metric])
    for _ in range(2):
        parent.train()
        filled(metric)
        near(metric.compute(), bertscore(PREDS, TARGETS, tiny("bert-dropout"), LAYER)["f1"])
        metric.reset()


# ---------------------------------------------------------------- arguments


# What each argument of other packages' BERTScore is called here.
REPLACED = {
    "all_layers": "num_layers='all'",
    "model": "HuggingFaceEncoder",
    "user_tokenizer": "HuggingFaceEncoder",
    "user_forward_fn": "Encoder",
    "batch_size": "batch_tokens",
    "device": "metric.to",
    "return_hash": "signature",
    "num_threads": "no worker processes",
    "truncation": "overflow='truncate'",
    "baseline_url": "baseline_path",
    "model_type": "model_name_or_path",
    "nthreads": "no worker processes",
    "idf_sents": "IdfTable.fit",
    "use_fast_tokenizer": "HuggingFaceEncoder",
}


@pytest.mark.parametrize("argument", REPLACED)
def test_arguments_of_others_are_refused_by_name(path: str, argument: str) -> None:
    for make in (BERTScore, bert_score_collection):
        with pytest.raises(TypeError) as caught:
            make(path, LAYER, **{argument: 1})
        assert repr(argument) in str(caught.value)
        assert REPLACED[argument] in str(caught.value)


@pytest.mark.parametrize("argument", sorted(REPLACED.keys() - {"device"}))
def test_the_function_refuses_them_too(path: str, argument: str) -> None:
    with pytest.raises(TypeError) as caught:
        bert_score(["a"], ["a"], path, LAYER, **{argument: 1})
    assert repr(argument) in str(caught.value)
    assert REPLACED[argument] in str(caught.value)


def test_every_argument_of_torchmetrics_is_taken_or_refused_by_name() -> None:
    theirs = set(inspect.signature(TheirBERTScore.__init__).parameters) - {"self", "kwargs"}
    ours = set(inspect.signature(BERTScore.__init__).parameters)
    assert theirs - ours <= REPLACED.keys()
    assert theirs & ours == {
        "model_name_or_path", "num_layers", "verbose", "idf", "max_length", "lang",
        "rescale_with_baseline", "baseline_path",
    }  # fmt: skip


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"score": "f2"}, ValueError, "wanted 'f1', 'precision', 'recall' or None"),
    ({"reduction": "sum"}, ValueError, "wanted 'mean' or 'none'"),
    ({"num_layers": LAYERS + 1}, ValueError, f"got layer {LAYERS + 1}; .*0 .* to {LAYERS}"),
    ({"num_layers": -1}, ValueError, "got layer -1"),
    ({"num_layers": "top"}, ValueError, "'all'"),
    ({"num_layers": 1.5}, TypeError, "num_layers"),
    ({"num_layers": True}, TypeError, "num_layers"),
    ({"num_layers": []}, ValueError, "at least one layer"),
    ({"num_layers": [1, 1]}, ValueError, "only once"),
    ({"lang": "xx-nowhere"}, ValueError, "'xx-nowhere'"),
    ({"idf": "yes"}, TypeError, "wanted True, False, .*, an IdfTable, a mapping"),
    ({"idf": {}}, ValueError, "without weights"),
    ({"idf": {3: -1.0}}, ValueError, "not negative"),
    (
        {"idf": IdfTable({3: 1.0}, tokenizer="other@1")},
        ValueError,
        "idf table of tokenizer other@1",
    ),
    ({"rescale_with_baseline": True}, ValueError, "no packaged baseline for encoder"),
    ({"rescale_with_baseline": "yes"}, TypeError, "wanted True, False or a Baseline"),
    ({"baseline_path": "x.tsv"}, ValueError, "rescale_with_baseline=True"),
    ({"rescale_with_baseline": Baseline([[0.1, 0.1, 0.1]])}, ValueError, "has no layer"),
    ({"match_special_tokens": 1}, TypeError, "match_special_tokens"),
    ({"multi_reference": "min"}, ValueError, f"wanted .*{list(RULES)[-1]!r}"),
    ({"overflow": "cut"}, ValueError, "'truncate', 'window' or 'error'"),
    ({"max_length": 2}, ValueError, "max_length=2"),
    ({"max_length": "long"}, TypeError, "max_length"),
    (
        {"max_length": torch.tensor([5, 6])},
        TypeError,
        "got max_length=.* wanted a positive number of tokens or None",
    ),
    ({"empty_score": float("nan")}, ValueError, "finite"),
    ({"empty_score": 1e39}, ValueError, "finite"),  # infinite as float32
    ({"empty_score": 10**40}, ValueError, "finite"),
    ({"dtype": "float8"}, ValueError, "'float32', 'bfloat16' or 'float16'"),
    ({"batch_tokens": 0}, ValueError, "batch_tokens"),
    ({"embedding_cache": "lots"}, ValueError, "embedding_cache"),
    ({"embedding_cache": -1}, ValueError, "embedding_cache"),
    ({"compile": "yes"}, TypeError, "compile"),
    ({"verbose": 2}, TypeError, "verbose"),
    ({"modle": 1}, TypeError, "got the unknown argument .modle."),
    ({"compute_on_cpu": 3}, ValueError, "compute_on_cpu"),
]


@pytest.mark.parametrize(
    "wrong, kind, message", WRONG, ids=[f"{k}-{v}"[:40] for w, _, _ in WRONG for k, v in w.items()]
)
def test_wrong_arguments(
    path: str, wrong: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        BERTScore(path, **{"num_layers": LAYER, **wrong})


@pytest.mark.parametrize(
    "encoder, kind, message",
    [
        (None, ValueError, "neither an encoder nor a language"),
        ("", ValueError, "empty name"),
        (3, TypeError, "got int as encoder"),
        ("./no/such/folder", FileNotFoundError, "encoder folder './no/such/folder' was not found"),
        ("no-such-encoder-anywhere", OSError, "no-such-encoder-anywhere"),
        (nn.Linear(2, 2), TypeError, "HuggingFaceEncoder"),
    ],
    ids=["none", "empty", "int", "folder", "hub", "module"],
)
def test_wrong_encoders_fail_at_construction(
    encoder: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        BERTScore(encoder)


def test_an_own_model_needs_its_tokenizer(own: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="without a tokenizer"):
        HuggingFaceEncoder(own[0])


# ---------------------------------------------------------------- what it says about itself


def test_signature_tells_settings_apart(make: Make, tiny: Tiny) -> None:
    table = {5: 1.0}
    others = [
        make(), make(num_layers=1), make(num_layers="all"), make(idf=True), make(idf=table),
        make(match_special_tokens=False),
        make(multi_reference="mean"), make(overflow="window"), make(max_length=20),
        make(dtype="bfloat16"), make(empty_score=1.0),
        make(rescale_with_baseline=Baseline([[0.1] * 3] * (LAYERS + 1))),
        BERTScore(tiny("distilbert"), LAYER),
    ]  # fmt: skip
    lines = [metric.signature for metric in others]
    assert len(set(lines)) == len(lines)
    assert all("\n" not in line for line in lines)
    assert make(score="recall", reduction="none").signature == make().signature
    assert others[0].clone().signature == lines[0]


def test_diagnostics(make: Make) -> None:
    metric = make(max_length=5)
    metric.update(
        ["", "a dog", "the cat sat on the mat", "[SEP] rain"], ["a cat", "a dog", "cat", "rain"]
    )
    facts = metric.diagnostics()
    assert (facts["samples"], facts["empty"], facts["truncated"], facts["special_token_texts"]) == (
        4,
        1,
        1,
        1,
    )
    with pytest.warns(UserWarning, match="1 of 4 samples") as caught:
        metric.compute()
    said = str(caught[0].message)
    assert len(caught) == 1
    assert all(
        part in said
        for part in (
            "1 of 4 samples",
            "1 texts were truncated to 5 tokens",
            "1 texts spell out special",
        )
    )
    assert metric.diagnostics() == facts
    metric.reset()
    assert metric.diagnostics()["samples"] == 0


def test_nothing_is_said_when_all_is_well(make: Make, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled(make(embedding_cache=0)).compute()
        make()(PREDS, TARGETS)
    assert tuple(capfd.readouterr()) == ("", "")


def test_the_state_is_small(make: Make) -> None:
    def size(metric: Metric, rows: int) -> float:
        metric.update(
            TEXT * (rows // len(TEXT)), TEXT * (rows // len(TEXT)), sample_ids=range(rows)
        )
        return sum(
            part.numel() * part.element_size()
            for value in metric.metric_state.values()
            for part in ([value] if isinstance(value, Tensor) else value)
        )

    rows = 10 * len(TEXT)
    counts, ids = 10 * 4, 2 * 8  # what is odd about a row; its id, and a digest of its texts
    assert size(make(), rows) <= rows * (3 * 4 + counts + ids) + 200
    metric = make(idf=True)
    taken, words = (
        size(metric, rows),
        sum(len(part) for part in metric.pred_token + metric.ref_token),
    )
    assert taken <= 8 * words + rows * (3 * 4 + counts + ids) + 200


# ---------------------------------------------------------------- default devices, TorchScript


@contextlib.contextmanager
def default_device(name: str) -> Iterator[None]:
    torch.set_default_device(name)
    try:
        yield
    finally:
        torch.set_default_device("cpu")


@pytest.mark.skipif(not hasattr(torch, "get_default_device"), reason="came with PyTorch 2.3")
@pytest.mark.parametrize("idf", [False, True])
def test_a_module_that_is_made_on_meta(make: Make, wanted: Any, idf: bool) -> None:
    """As trainers do for large models: the metric is whole when the module gets its device."""
    with torch.device("meta"):
        module = torch.nn.Linear(2, 1)
        module.metric = make(idf=idf)
    assert module.weight.device.type == "meta"
    for moved in (module.to_empty(device="cpu"), module.to("cpu")):
        filled(moved.metric)
        near(moved.metric.compute(), mean(wanted(idf=idf)))
        moved.metric.reset()


@pytest.mark.skipif(not hasattr(torch, "get_default_device"), reason="came with PyTorch 2.3")
@pytest.mark.parametrize("idf", [False, True])
def test_the_default_device_of_the_process_plays_no_part(
    path: str, wanted: Any, tmp_path: Path, idf: bool
) -> None:
    folder = shutil.copytree(path, tmp_path / "enc")  # nobody has loaded it yet
    with default_device("meta"):
        metric = BERTScore(str(folder), LAYER, idf=idf)
        filled(metric)
        value = metric.compute()
    near(value, mean(wanted(idf=idf)))


@pytest.mark.skipif(
    torch.__version__.startswith("2.1."),
    reason="PyTorch 2.1 scripts no class with annotations that are strings",
)
def test_a_module_with_the_metric_is_scripted(make: Make) -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.metric, self.idf = torch.nn.Linear(2, 1), make(), make(idf=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = Module()
        scripted = torch.jit.script(module)
    x = torch.ones(3, 2)
    assert torch.equal(scripted(x), module(x))


def test_an_update_costs_no_more_after_ten_thousand() -> None:
    """Counted in calls of Python, which do not depend on the machine."""
    metric = BERTScore(Letters(), reduction="none")

    def calls(first: int) -> int:
        counted = 0

        def count(*_: Any) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            metric.update(["ab"], ["ac"], sample_ids=[first])
        finally:
            sys.setprofile(None)
        return counted

    for i in range(10):
        metric.update(["ab"], ["ac"], sample_ids=[i])
    before = calls(10)
    for i in range(11, 10_011):
        for name, part in metric.metric_state.items():  # as an update leaves them
            if isinstance(part, list) and part:
                value = part[-1].clone()
                if name == "sample_ids":
                    value[:, 0] = i
                part.append(value)
    assert calls(10_011) <= 1.1 * before
    assert len(metric.compute()) == 10_012
