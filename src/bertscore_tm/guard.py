"""Arithmetic that does not depend on what the caller has switched on."""

from __future__ import annotations

import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

_lock = threading.Lock()
_inside = 0  # threads and levels that are within `undisturbed`
_before: list[Callable[[], object]] = []


@contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """Plain float32 arithmetic without gradients.

    Whatever autocast, inference mode, default dtype or precision of products the caller has set.
    """
    _enter()
    autocast = torch.autocast(device.type, enabled=False)
    try:
        with torch.inference_mode(False), torch.no_grad(), autocast, _default_device(device):
            yield
    finally:
        _leave()


@contextmanager
def products_in(dtype: torch.dtype | None, device: torch.device) -> Iterator[None]:
    """Products (linear layers, attention) in a dtype of 16 bits, sums and norms in float32.

    Of numbers that pass through all layers, those are what rounding adds up in: with this, the
    error of F1 in bfloat16 is 1.0e-4 on average, 1.6e-4 with all in bfloat16 (MiniLM, layer 5, 256
    pairs of WMT17), and it has no direction. None: nothing changes.
    """
    if dtype is None:
        yield
    else:
        with torch.autocast(device.type, dtype=dtype):
            yield


def has_products_in(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether `products_in` works here; for float16 on a CPU it came after PyTorch 2.1."""
    one = torch.ones(1, 1, device=device)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with products_in(dtype, device):
                return (one @ one).dtype == dtype
    except RuntimeError:
        return False


@contextmanager
def _default_device(device: torch.device) -> Iterator[None]:
    """New tensors of others' code come to the device at hand, where they would go elsewhere."""
    default = getattr(torch, "get_default_device", lambda: device)  # came with PyTorch 2.3
    if default().type in ("cpu", device.type):
        yield  # entering a device slows every call of PyTorch a little
    else:
        with device:
            yield


def _enter() -> None:
    # The default dtype and the precision of products belong to the whole process, not to a thread:
    # who comes first keeps what there was, who goes last puts it back.
    global _inside
    with _lock:
        if not _inside:
            _before[:] = _settings()
        _inside += 1
        if torch.get_default_dtype() != torch.float32:
            torch.set_default_dtype(torch.float32)
        _set_exact_products()


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        for restore in _before if not _inside else ():
            restore()


def _switches() -> list[Any]:
    """PyTorch's new switches of products, which rule over the old one; none in an older PyTorch."""
    new: list[Any] = [torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)]
    return (
        [switch for switch in new if switch is not None] if _has(new[0], "fp32_precision") else []
    )


def _settings() -> list[Callable[[], object]]:
    """What puts back all that is set now."""
    products = [
        partial(setattr, switch, "fp32_precision", switch.fp32_precision) for switch in _switches()
    ]
    old = (
        []
        if products
        else [partial(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())]
    )
    dtype = torch.get_default_dtype()
    return [
        *products,
        *old,
        *([partial(torch.set_default_dtype, dtype)] if dtype != torch.float32 else []),
    ]


def _set_exact_products() -> None:
    """No tf32 or bfloat16 inside float32 products."""
    for switch in _switches():
        switch.fp32_precision = "ieee"
    if not _switches():
        torch.set_float32_matmul_precision("highest")


def _has(switch: Any, name: str) -> bool:
    """As `hasattr`, also where PyTorch asserts that it knows the name, as 2.1 does."""
    try:
        return hasattr(switch, name)
    except AssertionError:
        return False


@contextmanager
def untouched_randomness() -> Iterator[None]:
    """Leave the random generators of the process as they were: of PyTorch, numpy and Python."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    numpy: Any = sys.modules.get("numpy")
    drawn = numpy.random.get_state() if numpy is not None else None
    plain, state = random.getstate(), torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)
        random.setstate(plain)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if drawn is not None:
            numpy.random.set_state(drawn)
