"""The processes that work on one job, as torchrun starts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch.distributed as dist

from .errors import BERTScoreError

Result = TypeVar("Result")


class Team:
    """The processes that work together: those that torchrun has started, or one."""

    def __init__(self) -> None:
        """Join the others, if there are any."""
        self.rank, self.size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        if self.size > 1 and not dist.is_initialized():
            dist.init_process_group("gloo", timeout=timedelta(days=30))

    def first(self, work: Callable[[], Result]) -> Result:
        """What the first process finds out, told to all; an error of its ends them all.

        Raises:
            BERTScoreError: what the work raised.
        """
        said: list[Any] = [None]
        if self.rank == 0:
            try:
                said = [(work(), None)]
            except BERTScoreError as wrong:
                said = [(None, wrong)]
        if self.size > 1:
            dist.broadcast_object_list(said)
        result, error = said[0]
        if error is not None:
            raise error
        found: Result = result
        return found

    def gather(self, value: Result) -> list[Result]:
        """What each process has, in their order; all wait for each other."""
        if self.size == 1:
            return [value]
        parts: list[Any] = [None] * self.size
        dist.all_gather_object(parts, value)
        return parts

    def close(self) -> None:
        """Part from the others."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
