"""`score_matrix`: every candidate against every reference, each text encoded once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .engine import TokenizedText
from .functional import refuse_options
from .guard import undisturbed
from .idf import DocumentFrequencies
from .machine import usable_device
from .matching import TokenVectors, match_pairs
from .pairs import chunk_tokens
from .pipeline import Pipeline
from .references import EMPTY
from .rows import Texts, read_rows
from .scoring import Weigh, score_pairs
from .settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import Options

# Bytes of vectors that are kept in memory; beyond them they go to a temporary file.
IN_MEMORY = 512 * 2**20
