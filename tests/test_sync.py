"""Two and three processes give what one gives, and say little to each other.

Starting processes is dear, so one start runs all `SCENARIOS`; every test then looks at what its
scenario returned on each rank.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.data import DistributedSampler
from torchmetrics import MetricCollection
from torchmetrics.utilities.distributed import gather_all_tensors

from bertscore_tm import BERTScore, HuggingFaceEncoder, bert_score, bert_score_collection
from bertscore_tm.references import RULES
from distributed import RankError, run
from reference import bertscore

# Of what one process says here about idf over few references; on the ranks warnings are errors.
pytestmark = pytest.mark.filterwarnings(
    "ignore:BERTScore. . pairs have a side whose idf weights are all zero"
)

NAMES = ("precision", "recall", "f1")
LAYER = 2
PREDS = [
    "the cat sat on the mat",
    "the dog ran home",
    "rain",
    "a tall man walked to the market",
    "two cats sleep",
    "hello world",
    "rain fell on the town",
]
TARGETS: list[Any] = [
    "the cat sat on the mat",
    "the cat sat on the mat, and the dog ran home",
    "rain fell on the old town",
    "the door will not open",
    "two cats sleep quietly on the sofa",
    "nobody knows why",
    "rain fell on the old town",
]
GROUPS: list[Any] = [
    ["the cat sat on the mat", "a cat"],
    "the dog ran",
    ["rain fell", "the river runs so fast in spring", "rain fell on the old town all night long"],
    ["a tall man walked slowly", "she bought bread"],
    ["two cats sleep"],
    ["hello", "the world"],
    ["rain fell on the old town", "rain"],
]
ROWS = list(range(len(PREDS)))
Answer = dict[str, list[float]]


class Rank(NamedTuple):
    """Where a scenario runs."""

    path: str
    rank: int
    world: int

    def metric(self, **options: Any) -> BERTScore:
        return BERTScore(self.path, LAYER, **{"score": None, "reduction": "none", **options})

    def shard(self) -> list[int]:
        """Rows of this rank: neighbours, an uneven number of them."""
        ends = {2: [0, 5, 7], 3: [0, 4, 5, 7]}[self.world]
        return ROWS[ends[self.rank] : ends[self.rank + 1]]

    def sampled(self) -> list[int]:
        """Rows of this rank as the trainer's sampler deals them.

        In turn, and some twice so that all ranks have equally many.
        """
        return list(DistributedSampler(ROWS, self.world, self.rank, shuffle=False))  # type: ignore[arg-type]


def update(
    metric: Any, rows: list[int], targets: list[Any] = TARGETS, ids: bool = False, step: int = 2
) -> None:
    """Rows in batches of `step`."""
    for batch in (rows[i : i + step] for i in range(0, len(rows), step)):
        more = {"sample_ids": batch} if ids else {}
        metric.update([PREDS[i] for i in batch], [targets[i] for i in batch], **more)


def plain(value: Any) -> Any:
    """Tensors as numbers: what travels back from a rank."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, Tensor) else value


def error_of(call: Callable[[], Any]) -> str:
    try:
        return f"no error but {call()}"
    except Exception as error:  # noqa: BLE001 - the test reads which
        return f"{type(error).__name__}: {error}"


# ---------------------------------------------------------------- scenarios, on every rank


def uneven(here: Rank, idf: bool) -> Any:
    metric = here.metric(idf=idf)
    update(metric, here.shard())
    return plain(metric.compute())


def one_rank_has_all(here: Rank, idf: bool, which: int, ids: bool) -> Any:
    metric = here.metric(idf=idf)
    if here.rank == which % here.world:
        update(metric, ROWS, ids=ids)
    elif here.rank % 2:  # another way to have nothing
        metric.update([], [])
    return plain(metric.compute())


def nobody_has_any(here: Rank, idf: bool) -> Any:
    none = here.metric(idf=idf, score="f1").compute()
    return plain(none), plain(here.metric(idf=idf, score="f1", reduction="mean").compute())


def sampler(here: Rank, idf: bool, ids: bool, targets: list[Any], rule: str = "max") -> Any:
    metric = here.metric(idf=idf, multi_reference=rule)
    update(metric, here.sampled(), targets, ids=ids)
    return plain(metric.compute())


def mean_of_layers(here: Rank, idf: bool) -> Any:
    metric = BERTScore(here.path, [0, LAYER], score=None, idf=idf, match_special_tokens=False)
    update(metric, here.sampled(), ids=True)
    return plain(metric.compute())


def collection(here: Rank, idf: bool) -> Any:
    metric = bert_score_collection(here.path, LAYER, idf=idf, prefix="val_")
    update(metric, here.sampled(), GROUPS, ids=True)
    first = plain(metric.compute())
    return first, plain(metric.compute()), list(metric.compute_groups.values())


def on_with_it(here: Rank, idf: bool) -> Any:
    """compute, then more rows, then compute again; then a second epoch."""
    metric = here.metric(idf=idf, reduction="mean", score="f1")
    rows = here.shard()
    update(metric, rows[:1], ids=True)
    first = plain(metric.compute())
    update(metric, rows[1:], ids=True)
    metric.update(
        [], []
    )  # a rank may have no more rows; without any update it would return its last value at once
    second = plain(metric.compute())
    metric.reset()
    update(metric, rows[:1], ids=True)
    return first, second, plain(metric.compute())


def by_hand(here: Rank, idf: bool) -> Any:
    """sync and unsync called from outside; compute only computes."""
    metric = here.metric(idf=idf, score="f1", sync_on_compute=False, compute_with_cache=False)
    update(metric, here.shard())
    alone = plain(metric.compute())
    with metric.sync_context():
        together = plain(metric.compute())
    metric.sync()
    metric.unsync()
    back = plain(metric.compute())
    metric.sync()
    return (
        alone,
        together,
        back,
        plain(metric.compute()),
        plain(metric.compute()),
    )  # the first of these ends the sync


def on_step(here: Rank, idf: bool) -> Any:
    metric = here.metric(idf=idf, score="f1", dist_sync_on_step=True)
    steps = []
    for first in range(0, 6, here.world):
        i = first + here.rank
        steps.append(plain(metric([PREDS[i]], [TARGETS[i]], sample_ids=[i])))
    return steps, plain(metric.compute())


def groups(here: Rank, idf: bool) -> Any:
    """The first and the last rank talk to each other; a rank in the middle to nobody."""
    ends = dist.new_group([0, here.world - 1]) if here.world > 2 else dist.new_group([0, 1])
    middle = dist.new_group([1])
    metric = here.metric(
        idf=idf, process_group=ends if here.rank in (0, here.world - 1) else middle
    )
    update(metric, here.sampled(), ids=True)
    return plain(metric.compute())


def mixed(here: Rank, name: str, value: Any) -> Any:
    """The first rank has another setting.

    After the error the state is as before and the next sync works.
    """
    options = {name: value} if here.rank == 0 else {}
    metric = BERTScore(here.path, **{"num_layers": LAYER, "reduction": "none", **options})
    update(metric, here.shard())
    said = error_of(metric.compute)
    metric.distributed_available_fn = lambda: False
    return said, len(metric.compute())


def ids_on_some(here: Rank, idf: bool) -> Any:
    metric = here.metric(idf=idf)
    update(metric, here.shard(), ids=here.rank == 0)
    return error_of(metric.compute)


def batch_local_ids(here: Rank, idf: bool, **options: Any) -> Any:
    """Every rank counts from 0. The error comes again, and the rank still has its own rows only."""
    metric = here.metric(idf=idf, score="f1", **options)
    rows = here.shard()
    metric.update([PREDS[i] for i in rows], [TARGETS[i] for i in rows], sample_ids=range(len(rows)))
    said = error_of(metric.compute), error_of(metric.compute)
    later = error_of(lambda: metric.update(["a cat"], ["a dog"], sample_ids=[99]))
    metric.distributed_available_fn = lambda: False
    return said, later, error_of(lambda: len(metric.compute()))


def facts(here: Rank) -> Any:
    """What the data were like, over all ranks.

    One warning, on the first rank; and nobody encodes for another.
    """
    metric = BERTScore(here.path, LAYER, max_length=6, embedding_cache=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = here.sampled()
        update(metric, rows, ids=True)
        metric.update(
            ["", "cat [SEP]"], ["a cat", "cat"], sample_ids=[100 + here.rank, 200 + here.rank]
        )
        before = metric.diagnostics()
        metric.compute()
        after = metric.diagnostics()
    return before, after, [str(warning.message) for warning in caught]


LONG = "the cat sat on the mat, and the dog ran home"
ODD: list[tuple[str, Any]] = [
    ("", "a cat"),
    (LONG, "a cat"),
    ("cat [SEP]", "cat"),
    ("rain 東", "rain fell"),
    ("rain fell", ["", " "]),
    ("the dog", ["the dog", LONG]),
    ("rain", "rain"),
]
"""Rows that are empty, cut off, or odd in another way."""
REPEATED = [0, 1, 4, 5, 6]  # on all ranks
WEIGHTINGS = ("plain", "idf", "table")


def odd_facts(path: str, rows: list[int], name: str) -> tuple[BERTScore, dict[str, int | float]]:
    """A metric that saw some of these rows, and what it says of its data."""
    idf: Any = {"plain": False, "idf": True}.get(name)
    if name == "table":  # rain has no weight
        ids = HuggingFaceEncoder(path).tokenize(["rain"])[0].ids
        idf = {10**6: 1.0, **dict.fromkeys(ids, 0.0)}
    metric = BERTScore(path, LAYER, idf=idf, max_length=6)
    for i in rows:
        metric.update([ODD[i][0]], [ODD[i][1]], sample_ids=[i])
    return metric, data_facts(metric)


def data_facts(metric: BERTScore) -> dict[str, int | float]:
    """What the diagnostics say of the data, without what the encoder did."""
    facts = metric.diagnostics()
    return {name: facts[name] for name in facts if name not in ("encoded_tokens", "cache_hits")}


def repeated_facts(here: Rank, name: str) -> Any:
    """Each rank has some rows that others have, too, and one twice."""
    rows = [*REPEATED, *range(here.rank, len(ODD), here.world), REPEATED[here.rank]]
    metric, before = odd_facts(here.path, rows[:: 1 - 2 * (here.rank % 2)], name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = plain(metric.compute())
        after = data_facts(metric)
        with metric.sync_context():
            synced = data_facts(metric)
    metric.update([], [])
    return value, before, after, synced, data_facts(metric)


class Seeing(BERTScore):
    """Has states of its own: how many rows it was given, and how long their predictions are."""

    seen: Tensor
    lengths: list[Tensor]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.add_state("seen", torch.tensor(0), "sum")
        self.add_state("lengths", [], "cat")

    def update(self, preds: Any, target: Any, sample_ids: Any = None) -> None:
        super().update(preds, target, sample_ids)
        self.seen += len(preds)
        self.lengths.append(torch.tensor([len(pred) for pred in preds]))

    def compute(self) -> Any:
        lengths = self.lengths if isinstance(self.lengths, Tensor) else torch.cat(self.lengths)
        return {"f1": super().compute(), "seen": self.seen.clone(), "lengths": lengths}


def more_states(here: Rank) -> Any:
    metric = Seeing(here.path, LAYER, reduction="none")
    rows = ROWS[:3] if here.rank == 0 else ROWS[2 + here.rank : 5 : here.world - 1]
    update(metric, rows, step=1)
    together = plain(metric.compute())
    metric.distributed_available_fn = lambda: False
    metric._computed = None
    return rows, together, plain(metric.compute())


REDUCTIONS = ("none", "mean")


class Matrix(BERTScore):
    """Gives one row of values."""

    def compute(self) -> Any:
        return super().compute().reshape(1, -1)  # type: ignore[union-attr]


class Matrices(BERTScore):
    """Gives several, by name."""

    def compute(self) -> Any:
        value: Any = super().compute()
        return {"row": value.reshape(1, -1), "column": value.reshape(-1, 1), "plain": value}


def shapes(here: Rank, reduction: str) -> Any:
    told = []
    for rows in (here.shard(), [] if here.rank else [0]):  # seven rows, one row
        for kind in (Matrix, Matrices):
            metric = kind(here.path, LAYER, reduction=reduction)
            update(metric, rows)
            metric.update([], [])
            told += [plain(metric.compute()), plain(metric.compute())]  # the second is kept
    return told


def traffic(here: Rank, idf: bool, repeat: int, rows: int, layers: Any) -> Any:
    """Bytes that this rank gives to others in one sync, and the calls."""
    sent = []

    def counting(tensor: Tensor, group: Any = None) -> list[Tensor]:
        sent.append(tensor.numel() * tensor.element_size())
        return gather_all_tensors(tensor, group)

    metric = BERTScore(here.path, layers, idf=idf, dist_sync_fn=counting)
    for i in range(rows):
        pred, target = PREDS[i % len(ROWS)], TARGETS[i % len(ROWS)]
        # The same words again and again: more tokens, no other ones.
        metric.update(
            [" ".join([pred] * repeat)],
            [" ".join([target] * repeat)],
            sample_ids=[i + here.rank * rows],
        )
    metric.compute()
    words = sum(
        part.numel() for name in ("pred_token", "ref_token") for part in getattr(metric, name, [])
    )
    return {"bytes": sum(sent), "calls": len(sent), "words": words}


IDF = {"plain": False, "idf": True}
SCENARIOS: dict[str, Callable[[Rank], Any]] = {
    **{f"uneven-{name}": partial(uneven, idf=idf) for name, idf in IDF.items()},
    **{
        f"all-on-{which}-{name}-{'ids' if ids else 'no-ids'}": partial(
            one_rank_has_all, idf=idf, which=which, ids=ids
        )
        for which in (0, -1)
        for ids in (False, True)
        for name, idf in IDF.items()
    },
    **{f"nothing-{name}": partial(nobody_has_any, idf=idf) for name, idf in IDF.items()},
    **{
        f"sampler-{name}-{'ids' if ids else 'no-ids'}": partial(
            sampler, idf=idf, ids=ids, targets=TARGETS
        )
        for ids in (False, True)
        for name, idf in IDF.items()
    },
    **{
        f"references-{name}-{rule}": partial(sampler, idf=idf, ids=True, targets=GROUPS, rule=rule)
        for rule in tuple(RULES)
        for name, idf in IDF.items()
    },
    **{f"layers-{name}": partial(mean_of_layers, idf=idf) for name, idf in IDF.items()},
    **{f"collection-{name}": partial(collection, idf=idf) for name, idf in IDF.items()},
    **{f"later-{name}": partial(on_with_it, idf=idf) for name, idf in IDF.items()},
    **{f"by-hand-{name}": partial(by_hand, idf=idf) for name, idf in IDF.items()},
    **{f"on-step-{name}": partial(on_step, idf=idf) for name, idf in IDF.items()},
    **{f"groups-{name}": partial(groups, idf=idf) for name, idf in IDF.items()},
    "mixed-layer": partial(mixed, name="num_layers", value=1),
    "mixed-layers": partial(mixed, name="num_layers", value=[1, 2]),
    "mixed-idf": partial(mixed, name="idf", value=True),
    "mixed-table": partial(mixed, name="idf", value={5: 1.0}),
    "mixed-special": partial(mixed, name="match_special_tokens", value=False),
    "mixed-references": partial(mixed, name="multi_reference", value="mean"),
    "mixed-length": partial(mixed, name="max_length", value=20),
    **{f"some-ids-{name}": partial(ids_on_some, idf=idf) for name, idf in IDF.items()},
    **{f"batch-ids-{name}": partial(batch_local_ids, idf=idf) for name, idf in IDF.items()},
    "batch-ids-bfloat16": partial(batch_local_ids, idf=False, dtype="bfloat16"),
    "facts": facts,
    **{f"facts-{name}": partial(repeated_facts, name=name) for name in WEIGHTINGS},
    "states": more_states,
    **{f"shapes-{reduction}": partial(shapes, reduction=reduction) for reduction in REDUCTIONS},
    **{
        f"traffic-{name}-{repeat}-{rows}-{len(layers)}": partial(
            traffic, idf=idf, repeat=repeat, rows=rows, layers=layers
        )
        for name, idf in IDF.items()
        for repeat, rows, layers in (
            (1, 14, [LAYER]),
            (3, 14, [LAYER]),
            (1, 28, [LAYER]),
            (1, 14, [1, LAYER]),
        )
    },
}


def everything(path: str) -> dict[str, tuple[bool, Any]]:
    """All scenarios, each with what it returned or the text of its error.

    Warnings are errors, but for torchmetrics' own.
    """
    here = Rank(path, dist.get_rank(), dist.get_world_size())
    told = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "BERTScore: this CPU has no units")
        warnings.filterwarnings(
            "ignore",
            "The ``compute`` method of metric BERTScore was called before the ``update`` method",
        )
        for name, scenario in SCENARIOS.items():
            try:
                told[name] = (True, scenario(here))
            except Exception as error:  # noqa: BLE001 - the test says so
                told[name] = (False, f"rank {here.rank}, {name}: {type(error).__name__}: {error}")
    return told


# ---------------------------------------------------------------- tests


class Seen(NamedTuple):
    """What the ranks returned."""

    world: int
    ranks: list[dict[str, tuple[bool, Any]]]

    def __call__(self, name: str) -> list[Any]:
        failed = [rank[name][1] for rank in self.ranks if not rank[name][0]]
        assert not failed, "\n".join(failed)
        return [rank[name][1] for rank in self.ranks]


@pytest.fixture(
    scope="module", params=[2, pytest.param(3, marks=pytest.mark.slow)], ids=["2-ranks", "3-ranks"]
)
def seen(request: pytest.FixtureRequest, path: str) -> Seen:
    return Seen(request.param, run(everything, request.param, path))


@pytest.fixture(scope="module")
def path(tiny: Callable[[str], str]) -> str:
    return tiny("bert")


def single(
    path: str, rows: list[int] = ROWS, targets: list[Any] = TARGETS, **options: Any
) -> Answer:
    """One process."""
    scores = bert_score(
        [PREDS[i] for i in rows], [targets[i] for i in rows], path, LAYER, **options
    )
    return {name: value.tolist() for name, value in scores.items()}


def near(got: Any, wanted: Any, tolerance: float = 1e-6) -> None:
    if isinstance(wanted, dict):
        assert got.keys() == wanted.keys()
        for name in wanted:
            near(got[name], wanted[name], tolerance)
    else:
        assert got == pytest.approx(wanted, rel=0, abs=tolerance)


def close(got: Any, wanted: Tensor) -> None:
    got = torch.as_tensor(got)
    assert got.shape == wanted.shape
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-6)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


both = pytest.mark.parametrize("kind", IDF)


@pytest.mark.parametrize("targets", [TARGETS, GROUPS], ids=["one-reference", "several"])
@both
def test_one_process_is_right(kind: str, targets: list[Any], path: str) -> None:
    near(
        single(path, targets=targets, idf=IDF[kind]),
        bertscore(PREDS, targets, path, LAYER, idf=IDF[kind]),
        1e-5,
    )


@both
def test_uneven_shards(seen: Seen, kind: str, path: str) -> None:
    for got in seen(f"uneven-{kind}"):
        near(got, single(path, idf=IDF[kind]))


@pytest.mark.parametrize("ids", ["ids", "no-ids"])
@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
@both
def test_only_one_rank_has_rows(seen: Seen, kind: str, which: int, ids: str, path: str) -> None:
    for got in seen(f"all-on-{which}-{kind}-{ids}"):
        near(got, single(path, idf=IDF[kind]))


@both
def test_no_rank_has_rows(seen: Seen, kind: str) -> None:
    for vector, scalar in seen(f"nothing-{kind}"):
        assert vector == []
        assert math.isnan(scalar)


@both
def test_repeated_rows_with_ids_count_once_in_the_order_of_the_data_set(
    seen: Seen, kind: str, path: str
) -> None:
    for got in seen(f"sampler-{kind}-ids"):
        near(got, single(path, idf=IDF[kind]))


@both
def test_repeated_rows_without_ids_count_each_time(seen: Seen, kind: str, path: str) -> None:
    rows = [row for rank in range(seen.world) for row in Rank(path, rank, seen.world).sampled()]
    assert len(rows) > len(ROWS)
    for got in seen(f"sampler-{kind}-no-ids"):
        near(got, single(path, rows, idf=IDF[kind]))


@pytest.mark.parametrize("rule", list(RULES))
@both
def test_several_references(seen: Seen, kind: str, rule: str, path: str) -> None:
    for got in seen(f"references-{kind}-{rule}"):
        near(got, single(path, targets=GROUPS, idf=IDF[kind], multi_reference=rule))


@both
def test_mean_of_several_layers(seen: Seen, kind: str, path: str) -> None:
    wanted = {}
    for layer in (0, LAYER):
        scores = bertscore(PREDS, TARGETS, path, layer, idf=IDF[kind], match_special_tokens=False)
        wanted |= {f"layer_{layer}_{name}": mean(scores[name]) for name in NAMES}
    for got in seen(f"layers-{kind}"):
        near(got, wanted, 1e-5)
        near(got, seen(f"layers-{kind}")[0], 0)  # the same on all ranks, to the last bit


@both
def test_collection(seen: Seen, kind: str, path: str) -> None:
    wanted = {
        f"val_{name}": mean(values)
        for name, values in single(path, targets=GROUPS, idf=IDF[kind]).items()
    }
    for first, again, members in seen(f"collection-{kind}"):
        near(first, wanted)
        near(again, wanted)
        assert [sorted(group) for group in members] == [sorted(NAMES)]


@both
def test_accumulation_goes_on_after_compute(seen: Seen, kind: str, path: str) -> None:
    firsts = [Rank(path, rank, seen.world).shard()[0] for rank in range(seen.world)]
    wanted = mean(single(path, firsts, idf=IDF[kind])["f1"])
    for first, second, next_epoch in seen(f"later-{kind}"):
        near(first, wanted)
        near(second, mean(single(path, idf=IDF[kind])["f1"]))
        near(next_epoch, wanted)


@both
def test_sync_by_hand(seen: Seen, kind: str, path: str) -> None:
    for rank, (alone, together, back, synced, unsynced) in enumerate(seen(f"by-hand-{kind}")):
        own, everybody = (
            single(path, Rank(path, rank, seen.world).shard(), idf=IDF[kind]),
            single(path, idf=IDF[kind]),
        )
        for got, wanted in (
            (alone, own),
            (together, everybody),
            (back, own),
            (synced, everybody),
            (unsynced, own),
        ):
            near(got, wanted["f1"])


@both
def test_dist_sync_on_step(seen: Seen, kind: str, path: str) -> None:
    for steps, total in seen(f"on-step-{kind}"):
        assert len(steps) == 6 // seen.world
        for i, step in enumerate(steps):
            near(
                step, single(path, ROWS[i * seen.world : (i + 1) * seen.world], idf=IDF[kind])["f1"]
            )
        near(total, single(path, ROWS[:6], idf=IDF[kind])["f1"])


@both
def test_process_groups(seen: Seen, kind: str, path: str) -> None:
    for rank, got in enumerate(seen(f"groups-{kind}")):
        members = (0, seen.world - 1) if rank in (0, seen.world - 1) else (rank,)
        rows = sorted(
            {row for member in members for row in Rank(path, member, seen.world).sampled()}
        )
        near(got, single(path, rows, idf=IDF[kind]))


@pytest.mark.parametrize(
    "setting", ["layer", "layers", "idf", "table", "special", "references", "length"]
)
def test_other_settings_on_one_rank_are_an_error_on_all(
    seen: Seen, setting: str, path: str
) -> None:
    for rank, (said, rows) in enumerate(seen(f"mixed-{setting}")):
        assert said.startswith(
            "InvalidValueError: got the state of a BERTScore that was made in another way"
        ), said
        if setting != "layers":  # then compute returns a dict
            assert rows == len(Rank(path, rank, seen.world).shard())


@both
def test_ids_on_some_ranks_only_are_an_error_on_all(seen: Seen, kind: str, path: str) -> None:
    with_ids = len(Rank(path, 0, seen.world).shard())
    for said in seen(f"some-ids-{kind}"):
        assert said.startswith(
            f"InvalidValueError: got sample_ids for {with_ids} of {len(ROWS)} samples"
        ), said


@both
def test_an_id_with_other_texts_is_an_error_on_all(seen: Seen, kind: str) -> None:
    for (first, _), _, _ in seen(f"batch-ids-{kind}"):
        assert first.startswith(
            "InvalidValueError: got the sample id 0 twice with different texts"
        ), first


def test_an_id_with_other_texts_is_an_error_in_bfloat16(seen: Seen) -> None:
    for (first, second), _, _ in seen("batch-ids-bfloat16"):
        wanted = (
            "InvalidValueError: got the sample id 0 twice with different texts; wanted ids that"
        )
        assert first.startswith(wanted), first
        assert second == first


@both
def test_after_that_error_the_state_is_as_before(seen: Seen, kind: str, path: str) -> None:
    for rank, ((first, second), later, rows) in enumerate(seen(f"batch-ids-{kind}")):
        assert second == first
        assert later == "no error but None"
        assert rows == f"no error but {len(Rank(path, rank, seen.world).shard()) + 1}"


def test_diagnostics_and_the_warning_are_about_all_ranks(seen: Seen, path: str) -> None:
    alone = BERTScore(path, LAYER, max_length=6)
    update(alone, ROWS, ids=True)
    for rank in range(seen.world):
        alone.update(["", "cat [SEP]"], ["a cat", "cat"], sample_ids=[100 + rank, 200 + rank])
    wanted = data_facts(alone)
    for rank, (before, after, said) in enumerate(seen("facts")):
        per_rank = math.ceil(len(ROWS) / seen.world) + 2
        assert before["samples"] == per_rank
        assert after["samples"] == len(ROWS) + 2 * seen.world
        assert (before["empty"], after["empty"]) == (1, seen.world)
        assert (before["special_token_texts"], after["special_token_texts"]) == (1, seen.world)
        assert after["truncated"] > before["truncated"] > 0
        assert {name: after[name] for name in wanted} == wanted
        assert after["encoded_tokens"] == before["encoded_tokens"]
        assert len(said) == (rank == 0), said
    assert (
        f"{seen.world} of {len(ROWS) + 2 * seen.world} samples have nothing to score"
        in seen("facts")[0][2][0]
    )


@pytest.mark.filterwarnings("ignore::bertscore_tm.BERTScoreWarning")
@pytest.mark.parametrize("name", WEIGHTINGS)
def test_diagnostics_count_repeated_rows_once(seen: Seen, name: str, path: str) -> None:
    alone, wanted = odd_facts(path, list(range(len(ODD))), name)
    value = alone.compute().item()  # type: ignore[union-attr]
    assert wanted["samples"] == len(ODD)
    assert (wanted["texts"], wanted["truncated"]) == (16, 2)
    assert (wanted["empty"], wanted["empty_preds"], wanted["empty_targets"]) == (2, 1, 1)
    assert wanted["special_token_texts"] == 1
    assert wanted["unknown_share"] > 0 < wanted["lost_tokens"]
    assert (wanted["weightless"] > 0) == (name == "table")
    for rank, (got, before, after, synced, later) in enumerate(seen(f"facts-{name}")):
        near(got, value)
        assert after == synced == wanted
        own = {*REPEATED, *range(rank, len(ODD), seen.world)}
        assert before == later == odd_facts(path, sorted(own), name)[1]
        assert before["samples"] == len(own) < len(ODD)


def test_states_that_a_subclass_adds(seen: Seen, path: str) -> None:
    dealt = [rows for rows, _, _ in seen("states")]
    assert sorted(row for rows in dealt for row in rows) == ROWS[:5]
    assert len(dealt[0]) == 3
    for (_, together, own), held in zip(seen("states"), dealt, strict=True):
        everybody = [row for part in dealt for row in part]
        for got, of in ((together, everybody), (own, held)):
            assert got["seen"] == len(of)
            assert got["lengths"] == [len(PREDS[row]) for row in of]
            near(got["f1"], single(path, of)["f1"])


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_what_a_subclass_computes_keeps_its_shape(seen: Seen, reduction: str, path: str) -> None:
    for told in seen(f"shapes-{reduction}"):
        for values, rows in ((told[:4], ROWS), (told[4:], [0])):
            right = torch.tensor(single(path, rows)["f1"])
            right = right.mean() if reduction == "mean" else right
            for value in values[:2]:
                close(value, right.reshape(1, -1))
            for value in values[2:]:
                close(value["row"], right.reshape(1, -1))
                close(value["column"], right.reshape(-1, 1))
                close(value["plain"], right)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("rows", [ROWS, [0]], ids=["seven", "one"])
def test_what_a_subclass_computes_keeps_its_shape_in_one_process(
    reduction: str, rows: list[int], path: str
) -> None:
    right = torch.tensor(single(path, rows)["f1"])
    right = right.mean() if reduction == "mean" else right
    preds, targets = [PREDS[i] for i in rows], [TARGETS[i] for i in rows]
    matrix = Matrix(path, LAYER, reduction=reduction)
    close(matrix(preds, targets), right.reshape(1, -1))
    for _ in range(2):
        close(matrix.compute(), right.reshape(1, -1))
    matrices = Matrices(path, LAYER, reduction=reduction)
    for value in (matrices(preds, targets), matrices.compute(), matrices.compute()):
        close(value["row"], right.reshape(1, -1))
        close(value["column"], right.reshape(-1, 1))
        close(value["plain"], right)
    collection = MetricCollection({"a": Matrix(path, LAYER, reduction=reduction)})
    close(collection(preds, targets)["a"], right.reshape(1, -1))


def test_states_that_a_subclass_adds_are_merged(path: str) -> None:
    one, other = Seeing(path, LAYER, reduction="none"), Seeing(path, LAYER, reduction="none")
    update(one, ROWS[:3])
    update(other, ROWS[3:5])
    one.merge_state(other)
    value = one.compute()
    assert value["seen"].item() == 5
    rows = [*ROWS[3:5], *ROWS[:3]]  # torchmetrics puts what comes before what is there
    assert value["lengths"].tolist() == [len(PREDS[row]) for row in rows]
    near(value["f1"].tolist(), single(path, rows)["f1"])
    one.reset()
    assert (one.seen.item(), one.lengths) == (0, [])


SCORES = 3 * 4  # bytes: precision, recall, F1
ID = 8 + 8  # and the digest of the texts
CONSTANT = 256  # fingerprint, sizes, counts, "how many references"


@pytest.mark.parametrize("layers", [1, 2])
@both
def test_bytes_of_a_sync(seen: Seen, kind: str, layers: int, path: str) -> None:
    import transformers

    distinct = {
        i
        for target in TARGETS
        for i in transformers.AutoTokenizer.from_pretrained(path)(target)["input_ids"]
    }
    frequencies = 8 * len(distinct) if IDF[kind] else 0
    for got in seen(f"traffic-{kind}-1-14-{layers}"):
        assert (
            14 * SCORES * layers
            <= got["bytes"]
            <= 14 * (SCORES * layers + ID) + frequencies + CONSTANT
        )
        assert got["calls"] <= 6


@both
def test_bytes_of_a_sync_do_not_grow_with_the_texts(seen: Seen, kind: str) -> None:
    for short, long in zip(
        seen(f"traffic-{kind}-1-14-1"), seen(f"traffic-{kind}-3-14-1"), strict=True
    ):
        assert short["bytes"] == long["bytes"]
        if IDF[kind]:
            assert long["words"] > 2 * short["words"]


@both
def test_bytes_of_a_sync_grow_by_scores_and_ids_only(seen: Seen, kind: str) -> None:
    for few, many in zip(
        seen(f"traffic-{kind}-1-14-1"), seen(f"traffic-{kind}-1-28-1"), strict=True
    ):
        assert many["bytes"] - few["bytes"] == 14 * (SCORES + ID)


# ---------------------------------------------------------------- the helper itself


def _first_rank_fails() -> None:
    if dist.get_rank() == 0:
        raise LookupError("nothing here")
    dist.barrier()


@pytest.mark.slow
def test_what_goes_wrong_in_a_rank_comes_back_in_time() -> None:
    with pytest.raises(RankError, match=r"rank 0: [\s\S]*LookupError: nothing here[\s\S]*rank 1"):
        run(_first_rank_fails, 2)
