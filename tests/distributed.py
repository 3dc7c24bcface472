"""Runs a function on several gloo processes of this machine, in bounded time.

What goes wrong in a rank comes back as text.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

Ranks = Collection[int]
GRACE = 10.0  # seconds that the other ranks have after one has failed


class RankError(AssertionError):
    """A rank raised, died or did not end in time; the text says which and how."""


# What gloo says where the ranks could not connect at all: another process took the port meanwhile.
UNCONNECTED = "Gloo connectFullMesh failed"


def run(function: Callable[..., Any], processes: int, *args: Any, **options: Any) -> list[Any]:
    """As `run_once`, and once more where the ranks could not connect, before anything was run."""
    try:
        return run_once(function, processes, *args, **options)
    except RankError as error:
        if UNCONNECTED not in str(error):
            raise
        return run_once(function, processes, *args, **options)


def run_once(
    function: Callable[..., Any],
    processes: int,
    *args: Any,
    seconds: float = 240.0,
    limit: float | None = None,
    mortal: Ranks = (),
) -> list[Any]:
    """Call ``function(*args)``, a function of a module, on each of ``processes`` ranks.

    Args:
        function: called on every rank, inside an initialized process group.
        processes: number of ranks.
        args: what it is given; pickled.
        seconds: after that the ranks are ended.
        limit: seconds of one collective; a rank that waits in vain says so itself. None: a quarter
            of `seconds`.
        mortal: ranks that may die.

    Returns:
        What the ranks returned, by rank; None for those that died.

    Raises:
        RankError: if a rank raised, died or did not end in time.
    """
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        started = {}
        for rank in range(processes):
            here, there = context.Pipe(duplex=False)
            options = (
                function,
                args,
                rank,
                processes,
                str(Path(folder) / "store"),
                limit or seconds / 4,
                there,
            )
            process = context.Process(target=_rank, args=options, daemon=True)
            process.start()
            there.close()
            started[here] = (rank, process)
        try:
            answers = _answers(
                {channel: rank for channel, (rank, _) in started.items()},
                time.monotonic() + seconds,
                mortal,
            )
        finally:
            for _, process in started.values():
                process.join(GRACE)
                if process.is_alive():
                    process.kill()
                    process.join()
    troubles = [
        f"rank {rank}: {text}" for rank, (fine, text) in sorted(answers.items()) if not fine
    ]
    if troubles:
        raise RankError("\n".join(troubles))
    return [answers[rank][1] for rank in range(processes)]


def fresh(function: Callable[..., Any], *args: Any, seconds: float = 240.0) -> Any:
    """Call ``function(*args)``, a function of a module, in a new process.

    It may start others; these end with it.

    Raises:
        RankError: if it raised, died or did not end in time.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_fresh, args=(function, args, there))
    process.start()
    there.close()
    try:
        fine, answer = _answers({here: 0}, time.monotonic() + seconds)[0]
        process.join(GRACE if fine else 0)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
    if not fine:
        raise RankError(answer)
    return answer


def _fresh(function: Callable[..., Any], args: tuple[Any, ...], channel: Connection) -> None:
    os.setsid()
    try:
        torch.set_num_threads(1)
        answer = (True, function(*args))
    except BaseException:  # noqa: BLE001 - whatever it is, the parent has to know
        answer = (False, traceback.format_exc())
    channel.send(answer)
    channel.close()


def _answers(
    pending: dict[Connection, int], deadline: float, mortal: Ranks = ()
) -> dict[int, tuple[bool, Any]]:
    answers: dict[int, tuple[bool, Any]] = {}
    while pending:
        ready = wait(list(pending), timeout=max(0.0, deadline - time.monotonic()))
        if not ready:
            return answers | dict.fromkeys(pending.values(), (False, "did not end in time"))
        for channel in ready:
            assert isinstance(channel, Connection)
            rank = pending.pop(channel)
            try:
                answers[rank] = channel.recv()
            except EOFError:
                answers[rank] = (True, None) if rank in mortal else (False, "died without a word")
            if not answers[rank][0]:
                deadline = min(deadline, time.monotonic() + GRACE)
    return answers


@contextmanager
def group(store: str, rank: int, processes: int, limit: float) -> Iterator[None]:
    """A gloo process group, made through a file and destroyed afterwards.

    `limit` in seconds is that of one collective.
    """
    options = {"rank": rank, "world_size": processes, "timeout": timedelta(seconds=limit)}
    dist.init_process_group("gloo", init_method=f"file://{store}", **options)
    try:
        yield
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _rank(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    rank: int,
    processes: int,
    store: str,
    limit: float,
    channel: Connection,
) -> None:
    try:
        torch.set_num_threads(1)
        with group(store, rank, processes, limit):
            answer = (True, function(*args))
    except BaseException:  # noqa: BLE001 - whatever it is, the parent has to know
        answer = (False, traceback.format_exc())
    channel.send(answer)
    channel.close()
