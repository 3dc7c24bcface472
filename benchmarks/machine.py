"""What a reader needs to know of the machine to compare."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

import torch

PACKAGES = ("torch", "torchmetrics", "transformers", "tokenizers", "bert-score", "bertscore_tm")
UNITS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def facts(device: str) -> dict[str, str]:
    """Processor, units, memory, and the versions of what is measured."""
    gpu = {"gpu": torch.cuda.get_device_name(device)} if device.startswith("cuda") else {}
    return {
        **gpu,
        "cpu": f"{_processor()}, {torch.get_num_threads()} threads, {' '.join(_units())}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB",
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def kind(device: str) -> str:
    """A name for machines like this one, the folder of their results."""
    if device.startswith("cuda"):
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{_processor()} {' '.join(_units()[-1:])} {torch.get_num_threads()} threads"
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def load() -> float:
    """How many processes wanted to run in the last minute, ours among them."""
    return os.getloadavg()[0]


def has_bfloat16() -> bool:
    """Whether the processor multiplies in 16 bits by itself."""
    return not {"avx512_bf16", "amx_bf16"}.isdisjoint(_units())


def _lines() -> list[str]:
    info = Path("/proc/cpuinfo")
    return info.read_text().splitlines() if info.exists() else []


def _processor() -> str:
    names = (line.split(":")[1].strip() for line in _lines() if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _units() -> list[str]:
    return [unit for unit in UNITS if any(unit in line.split() for line in _lines())]
