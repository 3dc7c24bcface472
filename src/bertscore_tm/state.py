"""A metric whose state is packed vectors, which survive devices, errors, resets and ranks.

Each rule answers a trap of torchmetrics: see the comments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn
from torchmetrics import Metric
from torchmetrics.utilities.exceptions import TorchMetricsUserError

from .plotting import histogram

# What `torchmetrics.Metric` takes.
METRIC_OPTIONS: tuple[str, ...] = ("compute_on_cpu", "compute_with_cache", "dist_sync_fn")
METRIC_OPTIONS += ("dist_sync_on_step", "distributed_available_fn", "process_group")
METRIC_OPTIONS += ("sync_on_compute",)

Function = TypeVar("Function", bound=Callable[..., Any])


def uncompiled(function: Function) -> Function:
    """The function, run as it is also inside a compiled module.

    `torch.compile` can make nothing of texts but warnings.
    """
    plain: Function = torch.compiler.disable(function)
    return plain


class PackedMetric(Metric):
    """A `torchmetrics.Metric` with list states of fixed shape and dtype."""

    if TYPE_CHECKING:  # TorchScript cannot read it
        _packed: dict[str, Tensor]

    def __init__(self, **kwargs: Any) -> None:
        """Arguments as of `torchmetrics.Metric`."""
        super().__init__(**kwargs)
        if self._device.type == "meta":  # made under it, with a module that gets its device later
            self._device = torch.device("cpu")

    def add_packed(self, name: str, empty: Tensor) -> None:
        """Add a list state whose parts are concatenated; ``empty`` is a part without rows."""
        self.add_state(name, [], "cat")
        self.__dict__.setdefault("_packed", {})[name] = empty.cpu()

    def packed(self, name: str) -> Tensor:
        """A list state as one tensor on the metric's device, right in shape even if it is empty."""
        parts = (self._packed[name], *list_parts(getattr(self, name)))
        return torch.cat([part.to(self.device) for part in parts])

    @torch.jit.unused
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch and return its value; after an error everything is as before.

        torchmetrics puts the accumulated state aside meanwhile, and would lose it.
        """
        state = self.metric_state.items()
        lists = {name: list(value) for name, value in state if isinstance(value, list)}
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
                "got new samples while the state is that of all processes, between `sync` and "
                "`unsync`; wanted `unsync()` first"
            )

    def _sync_others(self, dist_sync_fn: Any, process_group: Any) -> None:
        """Sync the states that a subclass has added, as torchmetrics does."""
        reductions = self._reductions
        own = (*self._packed, "fingerprint", "weights_digest")
        self._reductions = {name: r for name, r in reductions.items() if name not in own}
        try:
            super()._sync_dist(dist_sync_fn, process_group)
        finally:
            self._reductions = reductions

    def reset(self) -> None:
        """Forget everything.

        torchmetrics clears the lists themselves; here whoever still holds them, as `Running` does,
        keeps what was in them.
        """
        for name in self._packed:
            setattr(self, name, [])
        super().reset()

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw a value of `compute`, or a list of them over time; see `torchmetrics.Metric.plot`.

        Values beyond the usual bounds, such as a rescaled score below 0, widen the axis. Of one
        value a sample it is a histogram.
        """
        value = self.compute() if val is None else val
        parts = list(value.values()) if isinstance(value, dict) else [value]
        if parts and all(isinstance(part, Tensor) and part.dim() for part in parts):
            return histogram(value, ax)
        drawing: Any = self._plot(value, ax)
        figure, axes = drawing
        drawn = [float(y) for line in axes.get_lines() for y in line.get_ydata()]
        low, high = axes.get_ylim()
        if drawn and not low <= min(drawn) <= max(drawn) <= high:
            room = 0.05 * (max(high, *drawn) - min(low, *drawn))
            axes.set_ylim(min(low, min(drawn) - room), max(high, max(drawn) + room))
        return figure, axes

    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)
        for name in (
            self._packed
        ):  # torchmetrics takes the lists themselves, which another metric may load, too
            setattr(self, name, list_parts(getattr(self, name)))

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
        # torchmetrics makes a scalar of all that holds one number; here each value keeps its shape.
        # And it leaves the state of all ranks in place after an error.
        @wraps(compute)
        def noted(*args: Any, **kwargs: Any) -> Any:
            value = compute(*args, **kwargs)
            self._shapes = _shapes(value)
            return value

        squeezed = super()._wrap_compute(noted)

        @wraps(compute)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            synced = self._is_synced
            try:
                value = squeezed(*args, **kwargs)
            except BaseException:
                self.unsync(should_unsync=self._is_synced and not synced)
                raise
            if synced:
                # The value of all processes; the state is now that of this one again.
                self._computed = None
            return _reshaped(value, self._shapes)

        return uncompiled(wrapped)

    def _apply(
        self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = ()
    ) -> nn.Module:
        # `module.half()` or a bf16-true trainer would cast the states: they follow the device only.
        # And `to_empty` would leave nothing in them.
        device = fn(torch.zeros(1, device=self.device)).device
        if device.type == "meta":
            device = self.device
        super()._apply(fn, exclude_state=tuple(self._defaults))
        for holder in (self._defaults, self.__dict__):
            for name in self._defaults:
                holder[name] = moved(holder[name], device)
        self._device, self._computed = device, None
        return self


def _shapes(value: Any) -> Any:
    """The shape of a tensor, or those of the tensors of a mapping."""
    if isinstance(value, Mapping):
        return {key: _shapes(part) for key, part in value.items()}
    return value.shape if isinstance(value, Tensor) else None


def _reshaped(value: Any, shapes: Any) -> Any:
    if isinstance(shapes, Mapping):
        parts = {key: _reshaped(part, shapes[key]) for key, part in value.items()}
        return value if all(parts[key] is value[key] for key in parts) else parts
    # The same object where nothing changed: the value that torchmetrics keeps.
    is_other = isinstance(shapes, torch.Size) and value.shape != shapes
    return value.reshape(shapes) if is_other else value


def has_rows(state: Any) -> bool:
    """Whether a list state holds anything."""
    return any(len(part) for part in list_parts(state))


def list_parts(state: Any) -> list[Tensor]:
    """A list state, which is a tensor where a reduction or a checkpoint made it one."""
    return [state] if isinstance(state, Tensor) else list(state)


def moved(state: Any, device: torch.device) -> Any:
    """A state, a tensor or a list of them, on a device."""
    return state.to(device) if isinstance(state, Tensor) else [part.to(device) for part in state]
