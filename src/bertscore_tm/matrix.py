"""`score_matrix`: every candidate against every reference, each text encoded once.

For best-of-n, minimum Bayes risk and retrieval. A text's vectors are made once and kept; pairs are
matched block by block, by the same functions as everywhere.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from itertools import accumulate
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from . import diagnosis
from .encoder import Tokens
from .engine import TokenizedText
from .errors import InvalidTypeError, InvalidValueError
from .functional import refuse_options
from .guard import undisturbed
from .idf import DocumentFrequencies
from .leases import Lease
from .machine import trim_heap, usable_device
from .matching import TokenVectors, match_pairs
from .pairs import chunk_tokens
from .pipeline import Pipeline
from .references import EMPTY
from .rows import Texts
from .scoring import Weigh, score_pairs
from .settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import Options

# Bytes of vectors that stay in memory; more than that go to a temporary file.
IN_MEMORY = 512 * 2**20
# Tokens and texts of one side of a block of pairs: what they need stays below some 100 MB.
_SIDE, _TEXTS = 2_048, 256


def score_matrix(
    candidates: Texts,
    references: Texts,
    model_name_or_path: Any = None,
    num_layers: int | Sequence[int] | None = None,
    *,
    device: str | int | torch.device | None = None,
    **options: Unpack[Options],
) -> dict[str, Tensor]:
    """Scores of every candidate against every reference.

    Args:
        candidates: a string or an iterable of strings.
        references: the same.
        model_name_or_path: the encoder, as in `BERTScore`.
        num_layers: the layer or layers, as in `BERTScore`.
        device: where to compute, as in `bert_score`.
        options: the other settings of `BERTScore`, but for ``score`` and ``reduction``. With
            ``idf=True`` weights come from ``references``, each counted once for each time that it
            stands there.

    Returns:
        "precision", "recall" and "f1", float32 ``[candidates, references]``, equal to what
        `bert_score` gives for each pair; with several layers "layer_5_precision" and so on. Vectors
        beyond 512 MB are kept in a temporary file; the matrices are all that grows with the pairs.

    Raises:
        EncoderLoadError: if the encoder cannot be found or loaded.
        InvalidTypeError: if something is no text, or an argument has the wrong type.
        InvalidValueError: if an option or a device does not exist.

    Examples:
        >>> from bertscore_tm import score_matrix
        >>> scores = score_matrix(["a dog", "rain"], ["a cat", "rain fell"], "minilm", 6)
        >>> [[round(value, 4) for value in row] for row in scores["f1"].tolist()]
        [[0.6034, 0.1536], [0.1406, 0.8114]]
    """
    refuse_options(options, "score_matrix, which returns all three scores of each pair")
    sides = _texts(candidates, "candidates"), _texts(references, "references")
    where = usable_device(device)
    return matrix_of(Pipeline(Settings(model_name_or_path, num_layers, **options)), *sides, where)


def _texts(texts: Any, side: str) -> list[str]:
    """The texts of a side, read once and checked."""
    if isinstance(texts, str):
        return [texts]
    unordered = isinstance(texts, (bytes, bytearray, Mapping, Set))
    if unordered or not isinstance(texts, Iterable):
        raise InvalidTypeError(
            f"got {type(texts).__name__} as {side}; wanted a string or an iterable of strings"
        )
    listed = list(texts)
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            raise InvalidTypeError(
                f"got {type(text).__name__} in row {row} of {side}; wanted a string"
            )
    if not listed:
        raise InvalidValueError(f"got no {side}; wanted at least one text")
    return [str.__str__(text) for text in listed]


def matrix_of(
    pipeline: Pipeline, candidates: list[str], references: list[str], device: torch.device
) -> dict[str, Tensor]:
    """The matrices, with the settings at work; see `score_matrix`."""
    lease = pipeline.lease
    distinct = list(dict.fromkeys([*candidates, *references]))
    texts = sorted(lease.tokenize(distinct), key=lambda text: len(text.tokens.ids))
    place = {text.text: i for i, text in enumerate(texts)}
    sides = [sorted({place[text] for text in side}) for side in (candidates, references)]
    frequencies = _frequencies([texts[place[text]] for text in references])
    weigh = pipeline.weigh(frequencies)
    shape = len(sides[0]), len(sides[1]), len(lease.layers), 3
    found = torch.zeros(shape, dtype=torch.float32, device="cpu")
    weightless = 0
    with torch.no_grad(), undisturbed(device), _Vectors(lease, texts, device) as vectors:
        row = 0
        for ours in _blocks(sides[0], texts):
            column = 0
            for others in _blocks(sides[1], texts):
                scores, equal = _match(pipeline, vectors, ours, others, weigh)
                found[row : row + len(ours), column : column + len(others)] = scores.cpu()
                weightless += equal
                column += len(others)
            row += len(ours)
    _warn(pipeline, [texts[place[text]].tokens for text in candidates],
          [texts[place[text]].tokens for text in references], weightless)  # fmt: skip
    ranks = [{each: i for i, each in enumerate(side)} for side in sides]
    order = [
        torch.tensor([rank[place[text]] for text in given], dtype=torch.int64)
        for rank, given in zip(ranks, (candidates, references))
    ]
    answer = pipeline.answer(found.flatten(0, 1), None, "none")
    assert isinstance(answer, dict)
    return {
        name: column.reshape(shape[:2])[order[0]][:, order[1]].to(device)
        for name, column in answer.items()
    }


def _frequencies(texts: Sequence[TokenizedText]) -> DocumentFrequencies:
    """In how many texts each token with a weight occurs."""
    kept = [[i for i, counts in zip(t.tokens.ids, t.tokens.token_mask) if counts] for t in texts]
    token = torch.tensor([i for ids in kept for i in ids], dtype=torch.int64, device="cpu")
    length = torch.tensor([len(ids) for ids in kept], dtype=torch.int64, device="cpu")
    return DocumentFrequencies.of(token, length)


def _blocks(side: list[int], texts: Sequence[TokenizedText]) -> Iterator[list[int]]:
    """Cut one side where its tokens would be too many for a block."""
    block: list[int] = []
    tokens = 0
    for text in side:
        size = len(texts[text].tokens.ids)
        if block and (tokens + size > _SIDE or len(block) == _TEXTS):
            yield block
            block, tokens = [], 0
        block.append(text)
        tokens += size
    if block:
        yield block


def _match(
    pipeline: Pipeline, vectors: _Vectors, ours: list[int], others: list[int], weigh: Weigh
) -> tuple[Tensor, int]:
    """Finished scores of a block, ``[candidates, references, layers, 3]``, and `weightless`."""
    settings = pipeline.settings
    encoded = vectors.take([*ours, *others])
    device = encoded.token.device
    first = torch.arange(len(ours), device=device).repeat_interleave(len(others))
    second = len(ours) + torch.arange(len(others), device=device).repeat(len(ours))
    matches = match_pairs(encoded, first, second, pipeline.rule)
    scores, equal = score_pairs(matches, weigh, float(settings.beta))
    same = [[one == other for other in others] for one in ours]
    # Equal texts are equal without rounding, as everywhere.
    exact = torch.tensor(same, device=device).flatten()[:, None, None] & (scores != EMPTY)
    finished = pipeline.finish(scores.masked_fill(exact, 1.0).float())
    return finished.reshape(len(ours), len(others), *finished.shape[1:]), int(equal.sum())


class _Vectors:
    """The vectors of all texts, each encoded once; large ones lie in a temporary file."""

    def __init__(self, lease: Lease, texts: Sequence[TokenizedText], device: torch.device) -> None:
        self._lease, self._texts, self._device = lease, texts, device
        self._starts = list(accumulate((len(t.tokens.ids) for t in texts), initial=0))
        self._folder = ExitStack()
        self._kept: Tensor | None = None

    def __enter__(self) -> _Vectors:
        with self._folder.pop_all() as undo:  # also if the encoder fails
            for first, last in self._chunks():
                part = self._lease.vectors(self._texts[first:last], self._device)
                if self._kept is None:
                    self._kept = self._room(part, undo)
                start, stop = self._starts[first], self._starts[last]
                self._kept[:, start:stop] = part.to("cpu")
                trim_heap()
            self._folder = undo.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._kept = None
        self._folder.close()

    def take(self, places: Sequence[int]) -> TokenVectors:
        """Some of the texts, on the device."""
        tokens = [self._texts[place].tokens for place in places]
        mask = [counts for t in tokens for counts in t.token_mask]
        ids = [i for t in tokens for i in t.ids]
        kept = torch.zeros(len(self._lease.layers), 0, 1) if self._kept is None else self._kept
        parts = [kept[:, self._starts[place] : self._starts[place + 1]] for place in places]
        device = self._device
        return TokenVectors(
            torch.cat(parts, 1).to(device),
            torch.tensor(ids, dtype=torch.int32, device=device),
            torch.tensor(mask, dtype=torch.bool, device=device),
            torch.tensor([len(t.ids) for t in tokens], dtype=torch.int64, device=device),
        )

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """First and last of texts whose vectors are made at one time; none without tokens."""
        first = next((i for i, t in enumerate(self._texts) if len(t.tokens.ids)), len(self._texts))
        while first < len(self._texts):
            limit = self._starts[first] + chunk_tokens(self._lease, self._device)
            last = max(first + 1, bisect_right(self._starts, limit) - 1)
            yield first, last
            first = last

    def _room(self, part: Tensor, undo: ExitStack) -> Tensor:
        """Room for all vectors, ``[layers, tokens, dim]``."""
        shape = part.shape[0], self._starts[-1], part.shape[2]
        size = shape[0] * shape[1] * shape[2]
        if size * part.element_size() <= IN_MEMORY:
            return torch.empty(shape, dtype=part.dtype, device="cpu")
        folder = undo.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
        name = os.path.join(folder, "vectors")
        return torch.from_file(name, shared=True, size=size, dtype=part.dtype).reshape(shape)


def _warn(
    pipeline: Pipeline, candidates: list[Tokens], references: list[Tokens], weightless: int
) -> None:
    """One warning of what is wrong with the texts; each side counts once, empty pairs count."""
    blank = [[not any(t.token_mask) for t in side] for side in (candidates, references)]
    empty = torch.tensor(blank[0])[:, None] | torch.tensor(blank[1])
    facts = [diagnosis.count_text(tokens) for tokens in (*candidates, *references)]
    counts = diagnosis.count_row(facts, False, False, False)
    named = dict(zip(diagnosis.COUNTS, counts)) | {
        "weightless": weightless,
        "empty_preds": sum(blank[0]) * len(references),
        "empty_targets": sum(blank[1]) * len(candidates),
    }
    ordered = torch.tensor([named[name] for name in diagnosis.COUNTS])
    pipeline.warn(diagnosis.collect_facts(empty.flatten(), ordered))
