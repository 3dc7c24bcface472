"""One line that says how a score was made, and the integers that keep different ways apart.

The line follows sacrebleu's (Post, WMT 2018): whoever reports a score reports the line with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor

from .errors import InvalidValueError


def signature_line(parts: Mapping[str, object]) -> str:
    """``name:value`` for each part, joined by ``|``, on one line."""
    return "|".join(f"{name}:{_plain(value)}" for name, value in parts.items())


def make_fingerprint(parts: Mapping[str, object]) -> Tensor:
    """Four integers from 0 to 65535, int64 ``[4]``, that change with any part.

    They are small so that a comparison with a relative tolerance, as torchmetrics makes it to find
    metrics with equal states, is exact.
    """
    said = repr([(name, str(value)) for name, value in parts.items()])
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()
    return torch.tensor(
        [int.from_bytes(digest[i : i + 2], "big") for i in range(0, 8, 2)], device="cpu"
    )


def same_fingerprint(fingerprints: Tensor) -> Tensor:
    """The reduction of the fingerprint state: ``[n, 4]`` to ``[4]``.

    Raises:
        InvalidValueError: if they differ, that is if scores made in different ways are about to be
            mixed.
    """
    first = fingerprints[0]
    if not bool((fingerprints == first).all()):
        raise InvalidValueError(
            "got the state of a BERTScore that was made in another way (encoder, layers, "
            "tokenizer, length, idf or rules "
            "for special tokens and references differ); wanted equal settings on all ranks and in "
            "all merged metrics: "
            "compare their `signature`"
        )
    return first


def same_weights(digests: Tensor) -> Tensor:
    """The reduction of the weights state: the first of ``[n, 1]`` that is not 0, ``[1]``."""
    known = digests[digests != 0]
    return known[:1] if len(known) else digests[0]


def refuse_other_weights(digests: Tensor) -> None:
    """Raise InvalidValueError if scores of one encoder with different weights are to be mixed."""
    if len(digests[digests != 0].unique()) > 1:
        raise InvalidValueError(
            "got scores of a custom encoder with different weights; wanted the same on all ranks "
            "and in all merged metrics: score after the ranks have been made equal (DDP does so "
            "when training begins), or call reset()"
        )


def _plain(value: object) -> str:
    return "".join(c if c.isprintable() and c not in "|" else "?" for c in str(value)).replace(
        " ", "_"
    )
