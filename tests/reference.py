"""BERTScore as the paper writes it: plain, slow, one text at a time.

What the package is measured against.

Zhang et al., "BERTScore: Evaluating Text Generation with BERT" (ICLR 2020), section 3. The hidden
states are float32, from the whole model, without padding; everything after them is float64. Imports
nothing from the package.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from tiny import quiet_transformers

Triple = tuple[float, float, float]  # precision, recall, F1


class Text(NamedTuple):
    """One encoded text.

    `ids` (n), unit vectors of every layer (layers + 1, n, d), and which tokens are words (n).
    """

    ids: list[int]
    vectors: Tensor
    word: list[bool]


@cache
def load(path: str, **tokenizer_options: Any) -> tuple[Any, Any]:
    """The tokenizer and the full model (of a seq2seq model its encoder), float32, no dropout."""
    with quiet_transformers():
        model = AutoModel.from_pretrained(path).float().eval()
        tokenizer = AutoTokenizer.from_pretrained(path, **tokenizer_options)
    return tokenizer, model.get_encoder() if model.config.is_encoder_decoder else model


@cache
def encode(path: str, text: str, max_length: int | None = None, **tokenizer_options: Any) -> Text:
    """`text` alone through the model.

    Start, end and padding tokens are no words, wherever they stand. Nor is anything else that a
    tokenizer adds to an empty text, such as mBART's language code.
    """
    tokenizer, model = load(path, **tokenizer_options)
    cut = {"truncation": True, "max_length": max_length} if max_length else {}
    ids: list[int] = tokenizer(text.strip(), **cut)["input_ids"]
    special = {
        getattr(tokenizer, f"{name}_token_id") for name in ("cls", "sep", "bos", "eos", "pad")
    }
    if not ids:  # no tokens at all: nothing for the model
        return Text([], torch.zeros(0, 0, 0), [])
    with torch.no_grad():
        states = model(
            input_ids=torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            output_hidden_states=True,
        ).hidden_states
    vectors = torch.stack([state[0].double() for state in states])  # (layers + 1, n, d)
    return Text(
        ids,
        vectors / vectors.norm(dim=-1, keepdim=True),
        [bool(text.strip()) and i not in special for i in ids],
    )


class Idf(dict[int, float]):
    """Weights by token id; `unseen` is that of an id in no reference."""

    unseen: float

    def __missing__(self, _: int) -> float:
        return self.unseen


def inverse_document_frequencies(path: str, references: Sequence[str], **options: Any) -> Idf:
    """idf(w) = log((N + 1) / (df(w) + 1)) over N references, each counted as often as it occurs."""
    n = len(references)
    frequency = Counter(i for text in references for i in set(encode(path, text, **options).ids))
    table = Idf({i: math.log((n + 1) / (df + 1)) for i, df in frequency.items()})
    table.unseen = math.log(n + 1)
    return table


def weighted_best_match(
    side: Text, other: Text, layer: int, idf: Idf | None, match_special: bool
) -> float:
    """Mean over the words of `side`, by weight, of the best cosine among the tokens of `other`."""
    rows = [i for i, word in enumerate(side.word) if word]
    columns = [j for j, word in enumerate(other.word) if word or match_special]
    best = (side.vectors[layer, rows] @ other.vectors[layer, columns].T).max(dim=1).values
    weights = torch.tensor(
        [1.0 if idf is None else idf[side.ids[i]] for i in rows], dtype=torch.float64
    )
    if float(weights.sum()) == 0:  # no reference tells these words apart: they count alike
        weights = torch.ones_like(weights)
    return float((best * weights).sum() / weights.sum())


def score_pair(
    pred: Text, target: Text, layer: int, idf: Idf | None, match_special: bool
) -> Triple | None:
    """P, R and F1 of one pair; None where one side has no word."""
    if not (any(pred.word) and any(target.word)):
        return None
    p = weighted_best_match(pred, target, layer, idf, match_special)
    r = weighted_best_match(target, pred, layer, idf, match_special)
    return (
        p,
        r,
        (2 * p * r / (p + r) if p > 0 and r > 0 else 0.0),
    )  # the harmonic mean is one of positive numbers


def choose(scores: Sequence[Triple], multi_reference: str) -> Triple:
    """One triple from those against several references."""
    if multi_reference == "best_f1":
        return max(scores, key=lambda s: s[2])
    join = {"max": max, "mean": lambda column: sum(column) / len(column)}[multi_reference]
    p, r, f = (float(join(column)) for column in zip(*scores, strict=True))
    return p, r, f


def bertscore(
    preds: Sequence[str],
    target: Sequence[str | Sequence[str]],
    path: str,
    layer: int,
    *,
    idf: bool = False,
    match_special_tokens: bool = True,
    multi_reference: str = "max",
    baseline: Triple | None = None,
    empty_score: float = 0.0,
    max_length: int | None = None,
    **tokenizer_options: Any,
) -> dict[str, list[float]]:
    """One value a row under "precision", "recall" and "f1"; `baseline` is that of `layer`."""
    options: dict[str, Any] = {"max_length": max_length, **tokenizer_options}
    groups = [[refs] if isinstance(refs, str) else list(refs) for refs in target]
    table = (
        inverse_document_frequencies(path, [ref for refs in groups for ref in refs], **options)
        if idf
        else None
    )
    rows: list[Triple] = []
    for pred, refs in zip(preds, groups, strict=True):
        one = encode(path, pred, **options)
        scores = [
            score_pair(one, encode(path, ref, **options), layer, table, match_special_tokens)
            for ref in refs
        ]
        full = [s for s in scores if s is not None]
        if not full:
            rows.append((empty_score,) * 3)
            continue
        row = choose(full, multi_reference)
        if baseline is not None:
            p, r, f = ((x - b) / (1 - b) for x, b in zip(row, baseline, strict=True))
            row = (p, r, f)
        rows.append(row)
    return {name: [row[k] for row in rows] for k, name in enumerate(("precision", "recall", "f1"))}
