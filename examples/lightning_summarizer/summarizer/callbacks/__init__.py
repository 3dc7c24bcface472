"""Callbacks: the table of the run, the texts that were written, and the score of each layer."""

from .layers import Layers
from .samples import Samples
from .score_table import ScoreTable

__all__ = ["Layers", "Samples", "ScoreTable"]
