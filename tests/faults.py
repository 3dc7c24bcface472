"""What goes wrong on one rank, as functions that run on every rank.

test_faults.py starts them and reads what they return.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch.distributed as dist
from torch import Tensor
from torchmetrics.utilities.distributed import gather_all_tensors
from transformers import AutoModel, AutoTokenizer

from bertscore_tm import BERTScore, HuggingFaceEncoder, bert_score_collection
from distributed import group
from test_sync import IDF, LAYER, error_of, plain, update

SHARES = [[0, 1, 2, 3], [4, 5, 6]]  # rows of each rank
LIMIT, SHORT = 15.0, 1.0  # seconds of one collective; the second where somebody waits in vain


class Rank(NamedTuple):
    """Where a scenario runs: two ranks, and two encoders that differ in nothing but the weights."""

    paths: tuple[str, str]
    folder: str
    rank: int

    @property
    def rows(self) -> list[int]:
        return SHARES[self.rank]

    def metric(self, encoder: Any = None, **options: Any) -> BERTScore:
        return BERTScore(encoder or self.paths[0], LAYER, **{"reduction": "none", **options})

    def group(self, name: str, limit: float = LIMIT) -> Any:
        return group(f"{self.folder}/{name}", self.rank, 2, limit)


class Failing:
    """An encoder that raises in one of its passes."""

    def __init__(self, encoder: HuggingFaceEncoder, fails: bool) -> None:
        self._encoder, self._fails, self._passes = encoder, fails, 0
        self.name, self.version = encoder.name, encoder.version
        self.tokenizer_id, self.tokenize = encoder.tokenizer_id, encoder.tokenize
        self.depth, self.default_layers = encoder.depth, encoder.default_layers

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        self._passes += 1
        if self._fails and self._passes == 2:
            raise RuntimeError("the device is gone")
        return self._encoder.hidden_states(input_ids, attention_mask, layers)


def alone(metric: BERTScore) -> Any:
    """What this process has, without the others."""
    available, metric.distributed_available_fn = metric.distributed_available_fn, lambda: False
    metric._computed = None
    value = plain(metric.compute())
    metric.distributed_available_fn, metric._computed = available, None
    return value


def in_time(call: Callable[[], Any], seconds: float) -> str:
    """The error; that it came in time."""
    start = time.monotonic()
    said = error_of(call)
    took = time.monotonic() - start
    return said if took < seconds else f"only after {took:.0f} seconds: {said}"


def in_vain(here: Rank, who: int, call: Callable[[], Any]) -> str:
    """One rank calls something that takes two; the other lives and does nothing until then."""
    done = Path(here.folder, "done")
    if here.rank == who:
        said = in_time(call, SHORT + 3)
        done.touch()
        return said
    while not done.exists():
        time.sleep(0.02)
    return ""


def bad_batch(here: Rank, way: str, idf: bool) -> Any:
    """The first rank is given something that is no text, and goes on."""
    metric = here.metric(idf=idf)
    update(metric, here.rows[:1])
    bad = {"update": metric.update, "forward": metric}[way]
    said = error_of(lambda: bad(["a cat", None], ["a cat", "a dog"])) if here.rank == 0 else ""
    update(metric, here.rows[1:])
    with here.group("batch"):
        return said, plain(metric.compute())


def encoder_fails(here: Rank, idf: bool) -> Any:
    """On the first rank, in the middle of its first batch; it goes on without this batch."""
    metric = here.metric(
        Failing(HuggingFaceEncoder(here.paths[0]), fails=here.rank == 0), idf=idf, batch_tokens=1
    )
    said = [error_of(partial(update, metric, rows)) for rows in (here.rows[:2], here.rows[2:])]
    with here.group("encoder"):
        return said, plain(metric.compute())


def absent(here: Rank, stays: bool, idf: bool, on_step: bool = False) -> Any:
    """The first rank never computes, and stays or leaves. Then both go on, in a new group."""
    metric = here.metric(idf=idf, dist_sync_on_step=on_step)
    update(metric, here.rows[1:])
    call = partial(metric, ["a cat"], ["a dog"]) if on_step else metric.compute
    with here.group("absent", SHORT if stays else LIMIT):
        said = in_vain(here, 1, call) if stays else in_time(call, 3) if here.rank == 1 else ""
    own = alone(metric)
    update(metric, here.rows[:1])
    with here.group("present"):
        return said, own, plain(metric.compute())


def absent_from_a_collection(here: Rank) -> Any:
    metric = bert_score_collection(here.paths[0], LAYER, reduction="none")
    update(metric, here.rows)
    with here.group("absent", SHORT):
        said = in_vain(here, 1, metric.compute)
    with here.group("present"):
        return said, plain(metric.compute())


def differs(here: Rank, make: Callable[[Rank], BERTScore]) -> Any:
    metric = make(here)
    update(metric, here.rows)
    with here.group("differs"):
        return error_of(lambda: plain(metric.compute())), alone(metric)


def other_weights(here: Rank, custom: bool) -> BERTScore:
    path = here.paths[here.rank]
    encoder: Any = (
        HuggingFaceEncoder(AutoModel.from_pretrained(path), AutoTokenizer.from_pretrained(path))
        if custom
        else path
    )
    return here.metric(encoder)


def other_version(here: Rank) -> BERTScore:
    encoder = Failing(HuggingFaceEncoder(here.paths[0]), fails=False)
    encoder.version = f"of rank {here.rank}"
    return here.metric(encoder)


def other_option(here: Rank, name: str, value: Any, **both: Any) -> BERTScore:
    return here.metric(**both, **({name: value} if here.rank == 0 else {}))


def more_often(here: Rank, idf: bool) -> Any:
    """The first rank computes twice, which says nothing to the other.

    Then once more after new rows, and waits in vain.
    """
    metric = here.metric(idf=idf)
    update(metric, here.rows[:1])
    with here.group("often", SHORT):
        first = [plain(metric.compute()) for _ in range(2 - here.rank)]
        update(metric, here.rows[1:])
        said = in_vain(here, 0, metric.compute)
    with here.group("again"):
        return first, said, plain(metric.compute())


def no_more_rows(here: Rank, empty_batch: bool) -> Any:
    """The second rank has none after a first `compute`."""
    metric = here.metric()
    with here.group("rows", SHORT):
        update(metric, here.rows[1:])
        first = plain(metric.compute())
        if here.rank == 0:
            update(metric, here.rows[:1])
        elif empty_batch:
            metric.update([], [])
        if empty_batch:
            return first, plain(metric.compute())
        cached = plain(metric.compute()) if here.rank == 1 else ""
        return first, in_vain(here, 0, metric.compute) or cached


def jobs(here: Rank, idf: bool) -> Any:
    """Two jobs in one process, each with a process group of its own, as a sweep has them."""
    kept = here.metric(idf=idf)
    with here.group("first"):
        pair = here.metric(process_group=dist.new_group([0, 1]))
        for metric, rows in ((kept, here.rows[:1]), (pair, here.rows)):
            update(metric, rows)
        values = [plain(kept.compute())]
    update(kept, here.rows[1:])
    values += [alone(kept)]
    with here.group("second"):
        fresh = here.metric(idf=idf)
        update(fresh, here.rows)
        values += [plain(kept.compute()), plain(fresh.compute())]
        stale = in_time(pair.compute, 3)
        kept.reset()
        update(kept, here.rows[:1])
        return [*values, plain(kept.compute())], stale, alone(pair)


def by_hand(here: Rank, idf: bool) -> Any:
    """`sync` twice, new samples between `sync` and `unsync`, values of before in the cache."""
    metric, other = here.metric(idf=idf, sync_on_compute=False), here.metric(idf=idf)
    for each in (metric, other):
        update(each, here.rows)
    with here.group("hand"):
        values = [plain(metric.compute())]
        metric.sync()
        calls = (
            metric.sync,
            partial(update, metric, [0]),
            partial(metric, ["a"], ["b"]),
            partial(metric.merge_state, other),
        )
        errors = [error_of(call) for call in calls]
        values += [
            plain(metric.compute()),
            plain(metric.compute()),
        ]  # the first of these ends the sync
        metric.sync()
        metric.unsync()
        errors += [error_of(metric.unsync)]
        values += [plain(metric.compute())]
        other.sync()
        errors += [error_of(other.compute)]  # it would sync itself
        other.unsync()
        return values, errors, plain(other.compute())


def no_member(here: Rank) -> Any:
    """The group is that of the first rank alone."""
    with here.group("member"):
        only = dist.new_group([0])
        metric, synced = here.metric(process_group=only), here.metric()
        for each in (metric, synced):
            update(each, here.rows)
        said = (
            error_of(lambda: plain(metric.compute())),
            error_of(lambda: synced.sync(process_group=only)),
        )
        if here.rank == 0:
            synced.unsync()
        return *said, alone(metric), plain(synced.compute())


OTHERS: dict[str, Callable[[Rank], BERTScore]] = {
    "weights": partial(other_weights, custom=False),
    "custom-weights": partial(other_weights, custom=True),
    "version": other_version,
    "dtype": partial(other_option, name="dtype", value="bfloat16"),
    "overflow": partial(other_option, name="overflow", value="window"),
    "references": partial(other_option, name="multi_reference", value="mean"),
    "beta": partial(other_option, name="beta", value=2.0),
    "beta-idf": partial(other_option, name="beta", value=2.0, idf=True),
    "references-idf": partial(other_option, name="multi_reference", value="mean", idf=True),
}
QUICK: dict[str, Callable[[Rank], Any]] = {
    **{
        f"batch-{way}-{name}": partial(bad_batch, way=way, idf=idf)
        for way in ("update", "forward")
        for name, idf in IDF.items()
    },
    **{f"encoder-{name}": partial(encoder_fails, idf=idf) for name, idf in IDF.items()},
    **{f"leaves-{name}": partial(absent, stays=False, idf=idf) for name, idf in IDF.items()},
    **{f"other-{name}": partial(differs, make=make) for name, make in OTHERS.items()},
    "score": partial(differs, make=partial(other_option, name="score", value="recall")),
    "empty-batch": partial(no_more_rows, empty_batch=True),
    **{f"jobs-{name}": partial(jobs, idf=idf) for name, idf in IDF.items()},
    **{f"hand-{name}": partial(by_hand, idf=idf) for name, idf in IDF.items()},
    "no-member": no_member,
}
WAITING: dict[str, Callable[[Rank], Any]] = {
    **{f"stays-{name}": partial(absent, stays=True, idf=idf) for name, idf in IDF.items()},
    "step": partial(absent, stays=True, idf=True, on_step=True),
    "collection": absent_from_a_collection,
    **{f"often-{name}": partial(more_often, idf=idf) for name, idf in IDF.items()},
    "no-batch": partial(no_more_rows, empty_batch=False),
}


def everything(
    scenarios: dict[str, Callable[[Rank], Any]], paths: tuple[str, str], folder: str
) -> dict[str, tuple[bool, Any]]:
    rank, told = dist.get_rank(), {}
    dist.destroy_process_group()
    for name, scenario in scenarios.items():
        place = Path(folder, name)
        place.mkdir(exist_ok=True)
        try:
            told[name] = (True, scenario(Rank(paths, str(place), rank)))
        except Exception as error:  # noqa: BLE001 - the test says so
            told[name] = (False, f"rank {rank}, {name}: {type(error).__name__}: {error}")
    return told


def dying(path: str, folder: str) -> Any:
    """Of three ranks the last dies before `compute`; the second within one of those left."""
    rank = dist.get_rank()
    metric = BERTScore(path, LAYER, idf=True, reduction="none", sync_on_compute=rank < 2)
    rows = [*SHARES, [0]][rank]
    update(metric, rows)
    if rank == 2:
        os._exit(1)
    said = [in_time(metric.compute, LIMIT + 3)]
    dist.destroy_process_group()
    with group(f"{folder}/two", rank, 2, LIMIT):
        value = plain(metric.compute())
        gathers: list[int] = []

        def gather(tensor: Tensor, group: Any = None) -> list[Tensor]:
            gathers.append(tensor.numel())
            if rank == 1 and len(gathers) == 3:
                os._exit(1)
            return gather_all_tensors(tensor, group)

        metric.dist_sync_fn, metric._computed = gather, None
        said += [in_time(metric.compute, LIMIT + 3)]
    return said, value, alone(metric)
