"""Inverse document frequencies: how telling a token is.

    idf(w) = log((N + 1) / (df(w) + 1))      N references, df(w) of them contain w

(The formula of the paper's own package, Tiiiger/bert_score 0.3.13.)
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .errors import InvalidTypeError, InvalidValueError, file_errors
from .machine import widest_float

if TYPE_CHECKING:
    from .encoder import Encoder

_FORMAT = "bertscore_tm idf 1"


@dataclass(frozen=True)
class DocumentFrequencies:
    """In how many texts each token occurs.

    Attributes:
        token: distinct token ids in rising order, int64 ``[distinct]``.
        count: the number of texts that contain each, int64 ``[distinct]``.
        documents: the number of texts.
    """

    token: Tensor
    count: Tensor
    documents: int

    @classmethod
    def of(cls, token: Tensor, length: Tensor) -> DocumentFrequencies:
        """Count the tokens of packed texts.

        Args:
            token: token ids of all texts, one after the other, ``[tokens]``.
            length: tokens of each text, ``[texts]``.
        """
        token, length = token.long(), length.long()
        text = torch.repeat_interleave(torch.arange(len(length), device=length.device), length)
        width = int(token.max()) + 1 if len(token) else 1
        once = torch.unique(text * width + token)  # a token counts once in a text
        distinct, count = torch.unique(once % width, return_counts=True)
        return cls(distinct, count, len(length))


class IdfTable:
    """Token weights that are known beforehand: plain data, saved as JSON.

    Attributes:
        documents: number of texts that the table was made from; None for a table of given weights.
        unseen: the weight of a token that is not in the table; ``log(N + 1)`` for a fitted table.
        tokenizer: identity of the tokenizer whose ids these are; None if unknown.
    """

    def __init__(
        self,
        weights: Mapping[int, float],
        unseen: float | None = None,
        documents: int | None = None,
        tokenizer: str | None = None,
    ) -> None:
        """Make a table of given weights.

        Args:
            weights: token id to weight, finite and not negative.
            unseen: weight of all other tokens; None: the largest one given.
            documents: number of texts behind the weights, if there are any.
            tokenizer: identity of the tokenizer, as `Encoder.tokenizer_id` gives it.

        Raises:
            InvalidTypeError: if a key is no integer, a weight no number, or something else of
                another type.
            InvalidValueError: if there are no weights, or one is negative or not finite, or a key
                has more than 64 bits.
        """
        if not isinstance(weights, Mapping):
            raise InvalidTypeError(
                f"got {type(weights).__name__} as an idf table; wanted a "
                "mapping from token id to weight"
            )
        if not weights and unseen is None:
            raise InvalidValueError(
                "got an idf table without weights; wanted {token id: weight} "
                "with at least one entry"
            )
        if documents is not None and (
            isinstance(documents, bool) or not isinstance(documents, Integral)
        ):
            raise InvalidTypeError(
                f"got documents={documents!r} for an idf table; wanted the "
                "number of texts behind it, or None"
            )
        if tokenizer is not None and not (isinstance(tokenizer, str) and tokenizer.isprintable()):
            raise InvalidTypeError(
                f"got tokenizer={tokenizer!r} for an idf table; wanted the "
                "tokenizer_id of an encoder, or None"
            )
        known = {
            _token_id(token): _weight(f"for token {token}", weight)
            for token, weight in weights.items()
        }
        self.unseen = (
            max(known.values()) if unseen is None else _weight("for unseen tokens", unseen)
        )
        self.documents, self.tokenizer = documents, tokenizer
        pairs = sorted(known.items())
        self._token = torch.tensor([token for token, _ in pairs], dtype=torch.int64, device="cpu")
        self._weight = torch.tensor(
            [weight for _, weight in pairs], dtype=torch.float64, device="cpu"
        )

    @classmethod
    def from_frequencies(
        cls, frequencies: DocumentFrequencies, tokenizer: str | None = None
    ) -> IdfTable:
        """The table of some document frequencies."""
        n = frequencies.documents
        counted = zip(frequencies.token.tolist(), frequencies.count.tolist())
        weights = {token: math.log((n + 1) / (count + 1)) for token, count in counted}
        return cls(weights, math.log(n + 1), n, tokenizer)

    @classmethod
    def fit(cls, texts: Iterable[str], encoder: Encoder) -> IdfTable:
        """Count the tokens of a corpus.

        Args:
            texts: the documents, usually references; each counts as often as it comes.
            encoder: whose tokenizer to use, for example ``HuggingFaceEncoder("minilm")`` or
                ``metric.encoder``.

        Raises:
            InvalidTypeError: if a text is no string, or the encoder none.
            InvalidValueError: if there are no texts.
        """
        if not hasattr(encoder, "tokenize") or isinstance(encoder, type):
            raise InvalidTypeError(
                f"got {type(encoder).__name__} as encoder; wanted an object such as "
                "HuggingFaceEncoder('minilm') or metric.encoder"
            )
        tokens = encoder.tokenize(_listed(texts))
        if not tokens:
            raise InvalidValueError("got no texts to fit an idf table on; wanted at least one")
        kept = [[i for i, counts in zip(t.ids, t.token_mask) if counts] for t in tokens]
        flat = torch.tensor([i for ids in kept for i in ids], dtype=torch.int64, device="cpu")
        length = torch.tensor([len(ids) for ids in kept], dtype=torch.int64, device="cpu")
        return cls.from_frequencies(DocumentFrequencies.of(flat, length), encoder.tokenizer_id)

    def __call__(self, token: Tensor) -> Tensor:
        """Weights of token ids: ``[tokens]`` to float64 ``[tokens]`` (float32 on Apple's GPUs)."""
        weight = self._weight.to(token.device, widest_float(token.device))
        if not len(weight):
            return weight.new_full(token.shape, self.unseen)
        table = self._token.to(token.device)
        place = torch.searchsorted(table, token.long()).clamp_max(len(table) - 1)
        return torch.where(table[place] == token, weight[place], self.unseen)

    def __len__(self) -> int:
        """Number of tokens with a weight of their own."""
        return len(self._token)

    def entries(self) -> list[tuple[int, float, int | None]]:
        """Token id, weight, and the number of texts that have the token; the rarest first.

        The number is that of the formula above; None for a table of given weights.
        """
        ranked = sorted(self._pairs(), key=lambda pair: (-pair[1], pair[0]))
        if self.documents is None:
            return [(token, weight, None) for token, weight in ranked]
        most = self.documents + 1
        return [(token, weight, round(most / math.exp(weight)) - 1) for token, weight in ranked]

    @property
    def digest(self) -> str:
        """Eight hex digits that change with any weight."""
        return hashlib.sha256(json.dumps([self.unseen, *self._pairs()]).encode()).hexdigest()[:8]

    def save(self, path: str | Path) -> None:
        """Write the table as JSON (UTF-8)."""
        data = {
            "format": _FORMAT,
            "documents": self.documents,
            "tokenizer": self.tokenizer,
            "unseen": self.unseen,
            "weights": {str(token): weight for token, weight in self._pairs()},
        }
        with file_errors(path):
            Path(path).write_text(json.dumps(data), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> IdfTable:
        """Read a table that `save` wrote.

        Raises:
            TextFileError: if the file cannot be read.
            InvalidTypeError: if ``path`` is no path.
            InvalidValueError: if it is not such a table.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidTypeError(
                f"got {type(path).__name__} as the file of an idf table; wanted its path"
            )
        try:
            with file_errors(path):
                data = json.loads(Path(path).read_text(encoding="utf-8-sig"))
            if data["format"] != _FORMAT:
                raise InvalidValueError(f"its format is {data['format']!r}")
            weights = {int(token): weight for token, weight in data["weights"].items()}
            return cls(weights, data["unseen"], data["documents"], data["tokenizer"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            reason = str(error)[:200]  # it may quote much of the file
            raise InvalidValueError(
                f"{str(path)!r} is no idf table ({reason}); wanted a file that IdfTable.save wrote"
            ) from error

    def _pairs(self) -> list[tuple[int, float]]:
        return list(zip(self._token.tolist(), self._weight.tolist()))


def _listed(texts: Any) -> list[str]:
    try:
        listed = [texts] if isinstance(texts, str) else list(texts)
    except TypeError as error:
        got = f"got {type(texts).__name__} as texts of an idf table ({error})"
        raise InvalidTypeError(f"{got}; wanted strings") from error
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            got = f"got {type(text).__name__} in row {row} of the texts of an idf table"
            raise InvalidTypeError(f"{got}; wanted a string")
    return listed


def _token_id(token: Any) -> int:
    try:
        if isinstance(token, bool):
            raise TypeError
        number = operator.index(token)
    except TypeError:
        raise InvalidTypeError(
            f"got the key {token!r} in an idf table; wanted a token id (an integer)"
        ) from None
    if not -(2**63) <= number < 2**63:
        raise InvalidValueError(
            f"got the key {token} in an idf table; wanted a token id, an integer of 64 bits"
        )
    return number


def _weight(where: str, weight: Any) -> float:
    try:
        if isinstance(weight, bool) or not hasattr(weight, "__float__"):  # float() reads texts, too
            raise TypeError
        number = float(weight)
    except OverflowError:  # an integer with hundreds of digits
        number = math.inf
    except (TypeError, ValueError, RuntimeError):  # an array of several numbers
        raise InvalidTypeError(
            f"got the weight {weight!r} {where} in an idf table; wanted a number"
        ) from None
    if not 0 <= number < 1e100:  # sums of weights must stay finite
        raise InvalidValueError(
            f"got the weight {weight!r} {where} in an idf table; wanted a "
            "finite number that is not negative"
        )
    return number
