"""Arithmetic that does not depend on what the caller has switched on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """Plain float32 arithmetic without gradients, whatever autocast, inference mode or precision the caller has set."""
    dtype = torch.get_default_dtype()
    try:
        if dtype != torch.float32:
            torch.set_default_dtype(torch.float32)
        with _exact_products(), torch.inference_mode(False), torch.no_grad(), torch.autocast(device.type, enabled=False):
            yield
    finally:
        if dtype != torch.float32:
            torch.set_default_dtype(dtype)


@contextmanager
def _exact_products() -> Iterator[None]:
    """No tf32 or bfloat16 inside float32 products. PyTorch has one old switch and several new ones; the new ones rule."""
    new: list[Any] = [torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)]
    if not _has(new[0], "fp32_precision"):
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)
        return
    values = [(switch, switch.fp32_precision) for switch in new if switch is not None]
    try:
        for switch, _ in values:
            switch.fp32_precision = "ieee"
        yield
    finally:
        for switch, value in values:
            switch.fp32_precision = value


def _has(switch: Any, name: str) -> bool:
    """As `hasattr`, also where PyTorch asserts that it knows the name, as 2.1 does."""
    try:
        return hasattr(switch, name)
    except AssertionError:
        return False


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there was not enough memory, on whatever device."""
    named = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)  # the general name came with PyTorch 2.5
    said = ("out of memory", "can't allocate memory", "not enough memory", "STATUS_ALLOC_FAILED")
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
