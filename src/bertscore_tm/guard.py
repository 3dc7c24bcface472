"""Arithmetic that does not depend on what the caller has switched on."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
_lock = threading.Lock()
_inside = 0  # threads and levels that are within `undisturbed`
_before: list[Callable[[], object]] = []


@contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """Plain float32 arithmetic without gradients, whatever autocast, inference mode or precision the caller has set."""
    _enter()
    try:
        with torch.inference_mode(False), torch.no_grad(), torch.autocast(device.type, enabled=False):
            yield
    finally:
        _leave()


def _enter() -> None:
    # The default dtype and the precision of products belong to the whole process, not to a thread: who comes first keeps what
    # there was, who goes last puts it back.
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
    return [switch for switch in new if switch is not None] if _has(new[0], "fp32_precision") else []


def _settings() -> list[Callable[[], object]]:
    """What puts back all that is set now."""
    products = [partial(setattr, switch, "fp32_precision", switch.fp32_precision) for switch in _switches()]
    old = [] if products else [partial(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())]
    dtype = torch.get_default_dtype()
    return [*products, *old, *([partial(torch.set_default_dtype, dtype)] if dtype != torch.float32 else [])]


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


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there was not enough memory, on whatever device."""
    named = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)  # the general name came with PyTorch 2.5
    said = ("out of memory", "can't allocate memory", "not enough memory", "STATUS_ALLOC_FAILED", "bad_alloc")
    return isinstance(error, (MemoryError, named)) or (
        isinstance(error, RuntimeError) and any(text in str(error) for text in said)
    )


def lacks_units(dtype: str) -> bool:
    """Whether this CPU is known to have no units for a 16-bit dtype, and is then slower with it than with float32."""
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # came with PyTorch 2.11
    if dtype == "float32" or capabilities.get("architecture") != "x86_64":
        return False
    units = {"bfloat16": ("avx512_bf16", "amx_bf16"), "float16": ("avx512_fp16", "amx_fp16")}[dtype]
    return not any(capabilities.get(unit) for unit in units)


def trim() -> None:
    """Hand freed memory back to the system where the C library (glibc) would keep it.

    Small results that live on between large freed blocks make it ask for ever more: 6,000 pairs took 500 MB instead of 200.
    """
    if _malloc_trim is not None:
        _malloc_trim(0)
