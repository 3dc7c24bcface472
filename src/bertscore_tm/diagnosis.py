"""What was seen in the data, as numbers and, if there was trouble, as one warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import torch
from torch import Tensor

# Above this share of unknown words the encoder cannot tell the texts apart.
UNKNOWN_SHARE = 0.1
# What is counted of the texts of an update: texts, words, unknown words, truncated texts, tokens lost by that, texts that spell
# out a marker, and pairs in which a side was weighted equally because its weights are all zero.
COUNTS = ("texts", "words", "unknown", "truncated", "lost", "literal", "weightless")


class BERTScoreWarning(UserWarning):
    """Something in the data makes a score mean less than it seems to."""


def facts(empty: Tensor, counts: Tensor) -> dict[str, int | float]:
    """Numbers about the data.

    Args:
        empty: which samples had nothing to score, bool ``[samples]``.
        counts: what `COUNTS` names, int64.
    """
    n = dict(zip(COUNTS, counts.tolist()))
    return {
        "samples": len(empty),
        "empty": int(empty.sum()),
        "truncated": n["truncated"],
        "lost_tokens": n["lost"],
        "unknown_share": n["unknown"] / n["words"] if n["words"] else 0.0,
        "special_token_texts": n["literal"],
        "weightless": n["weightless"],
    }


def warn(facts: Mapping[str, int | float], empty_score: float, limit: int | None, layer_note: str | None) -> None:
    """Say what is wrong, in one warning, or nothing. Only the first rank speaks."""
    said = []
    if facts["empty"]:
        said.append(f"{facts['empty']} of {facts['samples']} samples have nothing to score and count as {empty_score:g}")
    if facts["truncated"]:
        said.append(
            f"{facts['truncated']} texts were truncated to {limit} tokens ({facts['lost_tokens']} tokens lost; "
            "overflow='window' loses none)"
        )
    if facts["unknown_share"] > UNKNOWN_SHARE:
        said.append(
            f"{facts['unknown_share']:.0%} of the words are unknown to the encoder, which cannot tell them apart: "
            "choose one for this language or script"
        )
    if facts["special_token_texts"]:
        said.append(f"{facts['special_token_texts']} texts spell out special tokens, which have no weight")
    if facts["weightless"]:
        said.append(f"{facts['weightless']} pairs have a side whose idf weights are all zero and were weighted equally there")
    if layer_note:
        said.append(layer_note)
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    if said and not (distributed and torch.distributed.get_rank() > 0):
        _say(f"{'; '.join(said)}.")


def warn_of_memory(batch_tokens: int, device: torch.device) -> None:
    """Say that the batches are smaller from now on."""
    _say(
        f"ran out of memory on {device} and went on with batches of {batch_tokens:,} padded tokens; nothing is lost, "
        f"but set batch_tokens={batch_tokens} to begin with that."
    )


def warn_of_units(dtype: str) -> None:
    """Say that a dtype is no gain on this CPU."""
    _say(f"this CPU has no units for {dtype}; dtype='float32' is faster here, and exact.")


def _say(message: str) -> None:
    """Warn, without a place in the code: it would be one of ours or of torchmetrics, and it is the data that is meant."""
    warnings.warn_explicit(f"BERTScore: {message}", BERTScoreWarning, "bertscore_tm", 0)
