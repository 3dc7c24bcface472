"""What test_threads_processes.py runs in other processes.

Forks, workers of a loader, trainers that fork, two ranks.
"""

from __future__ import annotations

import multiprocessing
import pickle
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.fsdp
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from bertscore_tm import BERTScore, bert_score_collection

LAYER = 2
PREDS = [
    "the cat sat on the mat",
    "the dog ran home",
    "rain",
    "two cats sleep",
    "hello world",
    "rain fell on the town",
]
REFS = [
    "a cat sat on the sofa",
    "a dog ran",
    "rain fell on the old town",
    "two cats sleep well",
    "nobody knows",
    "it rains",
]
ROWS = list(range(6))
WAIT = 120.0  # seconds that a forked process has

IGNORED = (
    "BERTScore. . pairs have a side whose idf weights are all zero",
    "This DataLoader will create 2 worker processes",  # on a machine with one core
    ".*is multi-threaded, use of fork",  # Python 3.12 and later
)


def update(metric: Any, rows: list[int], ids: bool = True) -> None:
    more = {"sample_ids": rows} if ids else {}
    metric.update([PREDS[i] for i in rows], [REFS[i] for i in rows], **more)


def unpickled(*saved: bytes) -> list[Any]:
    """What metrics give that came here as bytes."""
    values = []
    for metric in map(pickle.loads, saved):
        update(metric, ROWS)
        values.append((metric.compute().tolist(), metric.signature))
    return values


inherited: list[BERTScore] = []
"""What a forked process finds in its memory."""


class Shards(IterableDataset[Any]):
    """What each worker gives is the state of a metric that saw every n-th row."""

    def __init__(self, metric: BERTScore) -> None:
        self.metric = metric

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        assert worker is not None
        for row in ROWS[worker.id :: worker.num_workers]:
            update(self.metric, [row])
        yield self.metric.metric_state


def more(rows: list[int]) -> Any:
    """On a fork: go on with the metric that was inherited."""
    update(inherited[0], rows)
    return inherited[0].compute().tolist(), inherited[0].metric_state


def forked(path: str, idf: bool, threads: int = 1) -> Any:
    """The encoder runs, the process forks, the encoder runs in the forks, and here again."""
    torch.set_num_threads(threads)
    metric = BERTScore(path, LAYER, reduction="none", idf=idf, embedding_cache=0)
    update(metric, [5])
    inherited.append(metric)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, context, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        value, state = pool.submit(more, [2, 3]).result(WAIT)
    inherited.clear()
    torch.set_num_threads(1)
    update(metric, [0])
    metric.merge_state(state)  # row 5 comes twice and counts once
    return value, metric.compute().tolist()


def workers(path: str, idf: bool, context: str) -> Any:
    metric = BERTScore(path, LAYER, reduction="none", idf=idf)
    update(metric, [0])  # which goes along to the workers
    total = BERTScore(path, LAYER, reduction="none", idf=idf)
    loader = DataLoader(
        Shards(metric),
        batch_size=None,
        num_workers=2,
        multiprocessing_context=context,
        timeout=WAIT,
    )
    for state in loader:
        total.merge_state(state)
    return total.compute().tolist()


def all_forks(path: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in IGNORED:
            warnings.filterwarnings("ignore", text)
        loaders = [workers(path, idf, "fork") for idf in (False, True)]
        return loaders, [forked(path, False), forked(path, True), forked(path, False, threads=2)]


STRATEGIES = ("ddp_fork", "ddp_notebook")


def fits(path: str, folder: str) -> list[dict[str, float]]:
    """What the trainer has afterwards in this process, which forked."""
    from test_lightning import Notes, Scored, trainer

    logged = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's advice
        for strategy in STRATEGIES:
            place = Path(folder, strategy)
            place.mkdir()
            run = trainer(
                place, strategy=strategy, devices=2, callbacks=[Notes(place)], max_epochs=1
            )
            run.fit(Scored(path, idf=True))
            logged.append({name: value.item() for name, value in run.callback_metrics.items()})
    return logged


class Holder(nn.Module):
    """A layer that learns and, beside it, metrics."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.metric = BERTScore(path, LAYER, reduction="none")
        self.all = bert_score_collection(path, LAYER, prefix="all_")

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)
        self.step = self.metric(PREDS[:2], REFS[:2])
        update(self.metric, ROWS[2:], ids=False)
        update(self.all, ROWS)
        return self.layer(y)


def sharded(path: str) -> Any:
    """Both kinds of FSDP on two ranks.

    Names of parameters and of the checkpoint, dtype of the state, value.
    """
    import torch.distributed.fsdp as fsdp
    from torch.distributed.device_mesh import init_device_mesh

    low = torch.bfloat16
    told = []
    for kind in ("wrapper", "fully_shard"):
        holder = Holder(path)
        if kind == "wrapper":
            mixed = fsdp.MixedPrecision(param_dtype=low, buffer_dtype=low)
            module: Any = fsdp.FullyShardedDataParallel(
                holder, device_id=torch.device("cpu"), mixed_precision=mixed
            )
        else:
            policy = fsdp.MixedPrecisionPolicy(param_dtype=low)
            module = fsdp.fully_shard(holder, mesh=init_device_mesh("cpu", (2,)), mp_policy=policy)
        module(torch.ones(2, 4)).sum().backward()
        names = [
            name.removeprefix("_fsdp_wrapped_module.") for name, _ in module.named_parameters()
        ]
        told.append(
            (
                names,
                list(module.state_dict()),
                str(holder.metric.scores[0].dtype),
                holder.metric.compute().tolist(),
            )
        )
    return told


def on_ranks(metric: BERTScore, path: str) -> Any:
    update(metric, [[2, 3], [4, 5]][dist.get_rank()])
    value = metric.compute().tolist()
    if not hasattr(torch.distributed.fsdp, "fully_shard"):
        return value, None
    return value, sharded(path)
