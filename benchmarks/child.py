"""What needs a process of its own; prints JSON.

child.py memory ours|tiny|bert_score|torchmetrics PAIRS MODEL LAYER
child.py ranks RANKS PAIRS MODEL LAYER
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from texts import Pairs, from_docstrings

from bertscore_tm import BERTScore


def short(pairs: int) -> Pairs:
    """Texts of eight words: quickly encoded, and made without more memory than they take."""
    words = sorted(
        {
            word
            for module in (argparse, os, random, tempfile)
            for word in str(module.__doc__).split()
        }
    )
    dice = random.Random(0)
    return tuple([" ".join(dice.choices(words, k=8)) for _ in range(pairs)] for _ in range(2))  # type: ignore[return-value]


def memory(name: str, pairs: int, model: str, layer: int) -> dict[str, float]:
    import contestants  # its imports are part of the ground level

    before = peak()
    preds, refs = short(pairs)
    make: Any = {
        "ours": contestants.ours,
        "tiny": contestants.ours_with_a_tiny_encoder,
        "bert_score": contestants.bert_score_package,
        "torchmetrics": contestants.torchmetrics_package,
    }[name]
    run = make(preds, refs, model, layer)
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    files = os.scandir(contestants.folder(model))
    weights = sum(
        file.stat().st_size for file in files if file.name.endswith((".safetensors", ".bin"))
    )
    return {
        "pairs": pairs,
        "seconds": seconds,
        "over_imports_mb": peak() - before,
        "weights_mb": weights / 1e6,
    }


def peak() -> float:
    """Most memory that this process has had so far, in MB.

    Linux tells it of the program that runs; what ``getrusage`` tells began in the one before it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def _rank(
    rank: int, ranks: int, store: str, pairs: int, model: str, layer: int, queue: Any
) -> None:
    from contestants import matmul_rate

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    preds, refs = from_docstrings(pairs)
    metric = BERTScore(model, layer, embedding_cache=0)
    metric.update(["load"], ["the weights"])
    metric.reset()
    dist.barrier()
    start = time.perf_counter()
    metric.update(preds[rank::ranks], refs[rank::ranks])
    metric.compute()
    seconds = time.perf_counter() - start
    dist.barrier()
    queue.put((seconds, matmul_rate(model)))
    dist.destroy_process_group()


def ranks(count: int, pairs: int, model: str, layer: int) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        args = [
            (rank, count, f"{folder}/store", pairs, model, layer, queue) for rank in range(count)
        ]
        started = [context.Process(target=_rank, args=arg) for arg in args]
        for process in started:
            process.start()
        seconds, rates = zip(*(queue.get() for _ in started))
        for process in started:
            process.join()
    return {"seconds": max(seconds), "matmul_gflop_s": sum(rates) / 1e9}


if __name__ == "__main__":
    what, first, pairs, model, layer = sys.argv[1:]
    if what == "memory":
        print(json.dumps(memory(first, int(pairs), model, int(layer))))
    else:
        print(json.dumps(ranks(int(first), int(pairs), model, int(layer))))
