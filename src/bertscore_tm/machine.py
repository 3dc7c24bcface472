"""The machine: its devices, its memory, what its processor can do."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import torch

from .checks import spelled
from .errors import InvalidTypeError, InvalidValueError

_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def usable_device(device: Any) -> torch.device:
    """The device of an argument, tried; None: a GPU if there is one.

    Args:
        device: "cpu", "cuda", "cuda:1", the number of a GPU, a `torch.device`, or None.

    Raises:
        InvalidTypeError: if it is something else.
        InvalidValueError: if there is no such device here.
    """
    wanted = "wanted 'cpu', 'cuda', the number of a GPU, a torch.device or None"
    if isinstance(device, bool) or not isinstance(device, (str, int, torch.device, type(None))):
        raise InvalidTypeError(f"got {spelled('device', device)}; {wanted}")
    try:
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        found = torch.device(f"cuda:{device}" if isinstance(device, int) else device)
        if found.type == "meta":
            raise RuntimeError("it holds no numbers")
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError, ValueError, ImportError, NotImplementedError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InvalidValueError(
            f"got {spelled('device', device)}, which cannot be used here ({reason}); {wanted}"
        ) from error
    return found


def widest_float(device: torch.device) -> torch.dtype:
    """The widest float that a device offers: Apple's GPUs have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there was not enough memory, on whatever device."""
    # the general name came with PyTorch 2.5
    named = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)
    said = ("out of memory", "can't allocate memory", "not enough memory", "STATUS_ALLOC_FAILED")
    return isinstance(error, (MemoryError, named)) or (
        isinstance(error, RuntimeError) and any(text in str(error) for text in (*said, "bad_alloc"))
    )


def lacks_units(dtype: str) -> bool:
    """Whether this CPU is known to have no units for a 16-bit dtype: float32 is then faster."""
    # came with PyTorch 2.11
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    if dtype == "float32" or capabilities.get("architecture") != "x86_64":
        return False
    units = {"bfloat16": ("avx512_bf16", "amx_bf16"), "float16": ("avx512_fp16", "amx_fp16")}
    return not any(capabilities.get(unit) for unit in units[dtype])


def trim_heap() -> None:
    """Hand freed memory back to the system where the C library (glibc) would keep it.

    Small results that live on between large freed blocks make it ask for ever more: 6,000 pairs
    took 500 MB instead of 200.
    """
    if _malloc_trim is not None:
        _malloc_trim(0)
