"""Data sets of texts.

A row is ``{"id": 7, "source": "a long text", "targets": ["its summary"]}``.
"""

from .docstrings import Docstrings
from .hub import Hub
from .jsonl import Jsonl
from .text import TextData

__all__ = ["Docstrings", "Hub", "Jsonl", "TextData"]
