"""A metric whose state is packed vectors: what torchmetrics needs so that these survive devices, errors, resets and ranks.

Knows nothing of BERTScore. Each rule answers a trap: see the comments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torchmetrics import Metric
from torchmetrics.utilities.exceptions import TorchMetricsUserError

# What `torchmetrics.Metric` takes.
METRIC_OPTIONS: tuple[str, ...] = ("compute_on_cpu", "compute_with_cache", "dist_sync_fn", "dist_sync_on_step")
METRIC_OPTIONS += ("distributed_available_fn", "process_group", "sync_on_compute")


Function = TypeVar("Function", bound=Callable[..., Any])


def uncompiled(function: Function) -> Function:
    """The function, run as it is also inside a compiled module: `torch.compile` can make nothing of texts but warnings."""
    plain: Function = torch.compiler.disable(function)
    return plain


class PackedMetric(Metric):
    """A `torchmetrics.Metric` with list states of fixed shape and dtype. Subclasses set ``reduction`` to "mean" or "none"."""

    reduction: str
    _empty: dict[str, Tensor]

    def add_packed(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        """Add a list state whose parts are concatenated; ``shape`` is that of an empty part, ``(0, ...)``."""
        self.add_state(name, [], "cat")
        self.__dict__.setdefault("_empty", {})[name] = torch.empty(shape, dtype=dtype, device="cpu")

    def packed(self, name: str) -> Tensor:
        """A list state as one tensor on the metric's device, right in shape and dtype even if nothing was added."""
        return torch.cat([part.to(self.device) for part in (self._empty[name], *parts(getattr(self, name)))])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch and return its value; after an error everything is as before.

        torchmetrics puts the accumulated state aside meanwhile, and would lose it.
        """
        lists = {name: list(value) for name, value in self.metric_state.items() if isinstance(value, list)}
        before = {**self.__dict__, **lists}
        try:
            return super().forward(*args, **kwargs)
        except BaseException:
            self.__dict__.update(before)
            raise

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Take the samples of all processes as the state; see `torchmetrics.Metric.sync`."""
        before = self._is_synced
        super().sync(*args, **kwargs)
        if self._is_synced != before:
            self._computed = None  # it was the value of another state

    def unsync(self, should_unsync: bool = True) -> None:
        """Go back to the samples of this process."""
        super().unsync(should_unsync)
        if should_unsync:
            self._computed = None

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add the state of another metric."""
        self._refuse_if_synced()
        super().merge_state(incoming_state)

    def _refuse_if_synced(self) -> None:
        # torchmetrics does so in `forward` only; what other ways add would be lost with `unsync`.
        if self._is_synced:
            raise TorchMetricsUserError(
                "got new samples while the state is that of all processes, between `sync` and `unsync`; wanted `unsync()` first"
            )

    def reset(self) -> None:
        """Forget everything.

        torchmetrics clears the lists themselves; here whoever still holds them, as `Running` does, keeps what was in them.
        """
        for name in self._empty:
            setattr(self, name, [])
        super().reset()

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot one or several values of `compute` (matplotlib); see `torchmetrics.Metric.plot`."""
        return self._plot(val, ax)

    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)
        for name in self._empty:  # torchmetrics takes the lists themselves, which another metric may load, too
            setattr(self, name, parts(getattr(self, name)))

    def _wrap_update(self, update: Callable[..., None]) -> Callable[..., None]:
        # torchmetrics counts an update before it is made: one that failed was none.
        counted = super()._wrap_update(update)

        @wraps(update)
        def wrapped(*args: Any, **kwargs: Any) -> None:
            self._refuse_if_synced()
            before = self._update_count
            try:
                counted(*args, **kwargs)
            except BaseException:
                self._update_count = before
                raise

        return uncompiled(wrapped)

    def _wrap_compute(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        # torchmetrics makes a vector of one a scalar; with reduction="none" it stays a vector. And it leaves the state of all
        # ranks in place after an error.
        squeezed = super()._wrap_compute(compute)

        @wraps(compute)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            synced = self._is_synced
            try:
                value = squeezed(*args, **kwargs)
            except BaseException:
                self.unsync(should_unsync=self._is_synced and not synced)
                raise
            if synced:
                self._computed = None  # the value of all processes; the state is now that of this one again
            if self.reduction == "mean":
                return value
            return {key: v.reshape(-1) for key, v in value.items()} if isinstance(value, Mapping) else value.reshape(-1)

        return uncompiled(wrapped)

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = ()) -> nn.Module:
        # `module.half()` or a bf16-true trainer would cast the states; they follow the device only.
        device = fn(torch.zeros(1, device=self.device)).device
        super()._apply(fn, exclude_state=tuple(self._defaults))
        for holder in (self._defaults, self.__dict__):
            for name in self._defaults:
                holder[name] = moved(holder[name], device)
        self._computed = None
        return self


def parts(state: Any) -> list[Tensor]:
    """A list state, which is a tensor where a reduction or a checkpoint made it one."""
    return [state] if isinstance(state, Tensor) else list(state)


def moved(state: Any, device: torch.device) -> Any:
    """A state, a tensor or a list of them, on a device."""
    return state.to(device) if isinstance(state, Tensor) else [part.to(device) for part in state]
