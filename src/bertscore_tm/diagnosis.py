"""What was seen in the data, as numbers and, if there was trouble, as one warning."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from .checks import spelled
from .encoder import Tokens
from .errors import warn

# Above this share of unknown tokens the encoder cannot tell the texts apart.
UNKNOWN_SHARE = 0.1
# What is counted of each row. Of its texts: how many, tokens with a weight, unknown tokens,
# truncated texts, tokens lost by that, texts that spell out a special token. Then pairs in which a
# side was weighted equally because its weights are all zero, whether prediction or references have
# nothing to score, and whether the prediction looks like a reference of other characters.
COUNTS: tuple[str, ...] = ("texts", "tokens", "unknown", "truncated", "lost", "literal")
COUNTS += ("weightless", "empty_preds", "empty_targets", "lookalike")


def count_text(tokens: Tokens) -> tuple[int, ...]:
    """The first six of `COUNTS` for a text."""
    lost = tokens.lost
    return 1, sum(tokens.token_mask), tokens.unknown, int(lost > 0), lost, int(tokens.literal)


def count_row(
    texts: Sequence[tuple[int, ...]], no_pred: bool, no_target: bool, lookalike: bool
) -> list[int]:
    """`COUNTS` for a row, from those of its texts; what is weightless is found out later."""
    return [*map(sum, zip(*texts)), 0, int(no_pred), int(no_target), int(lookalike)]


def look_alike(pred: str, target: str) -> bool:
    """Whether two texts differ in white space and forms of the same character only.

    Composed or decomposed accents, full or half width, ligatures: Unicode's form NFKC. Then most
    encoders, which do not normalize, see other words in what a reader cannot tell apart.
    """
    if pred == target:
        return False
    one, two = (" ".join(unicodedata.normalize("NFKC", text).split()) for text in (pred, target))
    return one == two


def collect_facts(empty: Tensor, counts: Tensor) -> dict[str, int | float]:
    """Numbers about the data.

    Args:
        empty: which samples had nothing to score, bool ``[samples]``.
        counts: what `COUNTS` names, summed over the samples, int64 ``[counts]``.
    """
    n = dict(zip(COUNTS, counts.tolist()))
    return {
        "samples": len(empty),
        "empty": int(empty.sum()),
        "empty_preds": n["empty_preds"],
        "empty_targets": n["empty_targets"],
        "texts": n["texts"],
        "truncated": n["truncated"],
        "lost_tokens": n["lost"],
        "unknown_share": n["unknown"] / n["tokens"] if n["tokens"] else 0.0,
        "special_token_texts": n["literal"],
        "weightless": n["weightless"],
        "lookalikes": n["lookalike"],
    }


def warn_of_data(
    facts: Mapping[str, int | float],
    empty_score: float,
    limit: int | None,
    layer_note: str | None,
) -> None:
    """Say what is wrong, in one warning, or nothing. Only the first rank speaks."""
    said = []
    if facts["empty"]:
        said.append(
            f"{facts['empty']} of {facts['samples']} samples have nothing to score and count as "
            f"{empty_score:g} ({facts['empty_preds']} without a prediction, "
            f"{facts['empty_targets']} without a reference)"
        )
    if facts["truncated"]:
        said.append(
            f"{facts['truncated']} texts were truncated to {limit} tokens "
            f"({facts['lost_tokens']} tokens lost, {facts['truncated'] / facts['texts']:.1%} of "
            f"all texts; {spelled('overflow', 'window')} loses none)"
        )
    if facts["unknown_share"] > UNKNOWN_SHARE:
        said.append(
            f"{facts['unknown_share']:.0%} of the words are unknown to the encoder, which cannot "
            "tell them apart: choose one for this language or script"
        )
    if facts["special_token_texts"]:
        said.append(
            f"{facts['special_token_texts']} texts spell out special tokens, which have no weight"
        )
    if facts["weightless"]:
        said.append(
            f"{facts['weightless']} pairs have a side whose idf weights are all zero and were "
            "weighted equally there"
        )
    if facts["lookalikes"]:
        said.append(
            f"{facts['lookalikes']} predictions look like a reference but are other characters "
            "(composed or decomposed accents, full or half width, white space), which the encoder "
            "takes for other words: normalize the texts if that is not meant"
        )
    if layer_note:
        said.append(layer_note)
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    if said and not (distributed and torch.distributed.get_rank() > 0):
        warn(f"{'; '.join(said)}.")


def warn_of_memory(batch_tokens: int, device: torch.device) -> None:
    """Say that the batches are smaller from now on."""
    warn(
        f"ran out of memory on {device} and went on with batches of {batch_tokens:,} padded tokens;"
        f" nothing is lost, but set {spelled('batch_tokens', batch_tokens)} to begin with that."
    )


def warn_of_units(dtype: str) -> None:
    """Say that a dtype is no gain on this CPU."""
    faster = spelled("dtype", "float32")
    warn(f"this CPU has no units for {dtype}; {faster} is faster here, and exact.")
