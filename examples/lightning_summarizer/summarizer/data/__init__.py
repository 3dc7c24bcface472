"""Data sets of texts.

A row is ``{"id": 7, "source": "a long text", "targets": ["its summary"]}``.
"""

from .docstrings import Docstrings
from .files import Files
from .hub import Hub
from .text import TextData

__all__ = ["Docstrings", "Files", "Hub", "TextData"]
