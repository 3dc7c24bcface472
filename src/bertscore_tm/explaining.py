"""`explain`: from a pair of texts to what each of its tokens adds to the score.

The scores, similarities and weights are those of the metric, by the way that it goes itself. The
matrix of cosines, of which the metric keeps the largest only, is made once more from the same
vectors.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from .alignment import AlignedPair, AlignedText, AlignedToken, Alignment
from .checks import spelled
from .encoder import Encoder
from .engine import TokenizedText
from .errors import InvalidTypeError, InvalidValueError
from .functional import Scored, match_and_score, refuse_options
from .guard import undisturbed
from .machine import usable_device
from .matching import Side, cosines, first_best
from .pipeline import Pipeline
from .references import EMPTY, RULES, SCORE_NAMES
from .rows import Rows, read_rows
from .scoring import Weigh, score_pairs, token_weights
from .settings import Settings
from .spans import Span, plain_piece

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import Options


def explain(
    pred: str,
    target: str | Iterable[str],
    model_name_or_path: Any = None,
    num_layers: int | None = None,
    *,
    device: str | int | torch.device | None = None,
    **options: Unpack[Options],
) -> Alignment:
    """How a prediction gets its scores: which token matches which, and what each one adds.

    Args:
        pred: the prediction.
        target: its reference, or its references.
        model_name_or_path: the encoder, as in `BERTScore`.
        num_layers: the layer, as in `BERTScore`.
        device: where to compute, as in `bert_score`.
        options: the other settings of `BERTScore`, but for ``score`` and ``reduction``. With
            ``idf=True`` weights come from ``target`` alone, so that those of one reference are all
            equal; the weights of a set are ``idf=IdfTable.fit(references, encoder)``.

    Returns:
        The scores, as `bert_score` gives them, and what they are made of.

    Raises:
        EncoderLoadError: if the encoder cannot be found or loaded.
        InvalidTypeError: if something is no text, or an argument has the wrong type.
        InvalidValueError: if there are no references or several layers, or an option or a device
            does not exist.

    Examples:
        >>> from bertscore_tm import explain
        >>> alignment = explain("a dog", "a cat", "minilm", 6)
        >>> dog = alignment.pred.tokens[2]
        >>> dog.text, alignment.target.tokens[dog.match].text, round(dog.similarity, 2)
        ('dog', 'cat', 0.47)
    """
    if not isinstance(pred, str):
        raise InvalidTypeError(
            f"got {type(pred).__name__} as pred; wanted one text, for explain looks at one row"
        )
    refuse_options(options, "explain, which gives all three scores")
    rows = read_rows(pred, target)
    where = usable_device(device)
    pipeline = Pipeline(Settings(model_name_or_path, num_layers, **options))
    return explain_rows(pipeline, rows, where)[0]


def explain_rows(
    pipeline: Pipeline, rows: Rows, device: torch.device, wanted: Collection[int] | None = None
) -> list[Alignment]:
    """The alignments of rows, whose references are the set that idf weights come from.

    Args:
        pipeline: the settings at work.
        rows: predictions and references.
        device: where to compute.
        wanted: the places of the rows to explain; None: all.

    Raises:
        InvalidValueError: if the settings say several layers.
    """
    refuse_several_layers(pipeline, "explain")
    found = match_and_score(pipeline, rows, device)
    return list(
        align_rows(pipeline, rows, device, found, range(len(rows)) if wanted is None else wanted)
    )


def refuse_several_layers(pipeline: Pipeline, task: str) -> None:
    """Raise InvalidValueError where alignments would be those of several layers."""
    if len(pipeline.layers) != 1:
        raise InvalidValueError(
            f"got {len(pipeline.layers)} layers to {task}; wanted one, such as "
            f"{spelled('num_layers', pipeline.layers[0])}"
        )


def align_rows(
    pipeline: Pipeline, rows: Rows, device: torch.device, found: Scored, wanted: Iterable[int]
) -> Iterator[Alignment]:
    """The alignments of some rows, one at a time: each holds a matrix.

    Args:
        pipeline: the settings at work, of one layer.
        rows: predictions and references.
        device: where to compute.
        found: what `match_and_score` gave for all rows.
        wanted: the places of the rows to explain.
    """
    scores, matched, frequencies = found
    weigh = pipeline.weigh(frequencies)
    values = [scores[name].tolist() for name in SCORE_NAMES]
    with torch.no_grad():
        sides = [_token_values(side, weigh) for side in (matched.matches.pred, matched.matches.ref)]
        beta = float(pipeline.settings.beta)
        of_pairs = score_pairs(matched.matches, weigh, beta)[0][:, 0]  # [pairs, 3]
    signature = pipeline.signature()
    stops = list(accumulate(map(len, rows.groups)))
    for row in wanted:
        own = slice(stops[row] - len(rows.groups[row]), stops[row])
        scored = of_pairs[own]
        values_of_pairs = list(zip(scored.tolist(), *(side[own] for side in sides)))
        texts = rows.preds[row], rows.groups[row]
        pairs = tuple(_align(pipeline, *texts, values_of_pairs, device))
        taken = _taken(scored, pipeline.settings.multi_reference)
        precision, recall, f1 = (value[row] for value in values)
        yield Alignment(precision, recall, f1, signature, pairs, taken)


class _Values(NamedTuple):
    """Of the tokens with a weight of one side of a pair, in order."""

    similarity: list[float]
    weight: list[float]
    contribution: list[float]


def _token_values(side: Side, weigh: Weigh) -> list[_Values]:
    """What each token of each pair is worth."""
    weight, pair, total, _ = token_weights(side, weigh)
    similarity = side.similarity[:, 0].to(weight.dtype)
    contribution = similarity * weight / total[pair]
    columns = [
        [part.tolist() for part in column.split(side.length.tolist())]
        for column in (similarity, weight, contribution)
    ]
    return [_Values(*parts) for parts in zip(*columns)]


def _taken(scores: Tensor, rule: str) -> dict[str, tuple[int, ...]]:
    """Which pairs the scores of a row come from: those with which they change.

    So it is true of any rule; of one without slopes all pairs that are not empty are said.

    Args:
        scores: of the pairs of one row, `EMPTY` where there is nothing to score, ``[pairs, 3]``.
        rule: its name in `RULES`.
    """
    with torch.inference_mode(False), torch.enable_grad():
        leaf = scores.clone().requires_grad_()
        joined = RULES[rule](leaf[None, :, None])[0, 0]
        if not joined.requires_grad:  # a rule that torch cannot follow
            joined = leaf.where(leaf != EMPTY, 0.0).sum(0)
        slopes = [torch.autograd.grad(value, leaf, retain_graph=True)[0] for value in joined]
    full = (scores[:, 0] != EMPTY)[:, None]
    places = [((slope != 0) & full).any(1).nonzero().flatten().tolist() for slope in slopes]
    return {name: tuple(place) for name, place in zip(SCORE_NAMES, places)}


def _align(
    pipeline: Pipeline,
    pred: str,
    references: Sequence[str],
    values: Sequence[tuple[list[float], _Values, _Values]],
    device: torch.device,
) -> list[AlignedPair]:
    """The pairs of one row; ``values``: scores of each, and what its tokens are worth."""
    distinct = list(dict.fromkeys([pred, *references]))
    texts = pipeline.lease.tokenize(distinct)
    sizes = [len(text.tokens.ids) for text in texts]
    matchable = pipeline.settings.match_special_tokens
    with torch.no_grad(), undisturbed(device):
        vectors = pipeline.lease.vectors(texts, device)[0].split(sizes)
        known = {
            name: _seen(pipeline.encoder, text, part)
            for name, text, part in zip(distinct, texts, vectors)
        }
        return [
            _pair(known[pred], known[reference], matchable, *each)
            for reference, each in zip(references, values)
        ]


class _Text(NamedTuple):
    """A text as the encoder sees it."""

    text: str
    counts: Tensor  # bool [tokens]
    vectors: Tensor  # [tokens, dim]
    words: list[tuple[str, Span | None]]  # text and place of each token
    lost: int


def _seen(encoder: Encoder, text: TokenizedText, vectors: Tensor) -> _Text:
    tokens, whole = text.tokens, text.text
    spans, pieces = encoder.spans(whole), encoder.pieces(tokens.ids)
    size = len(tokens.ids)
    if not len(spans) == len(pieces) == size:
        raise InvalidValueError(
            f"encoder {encoder.name!r} gave {len(pieces)} pieces and {len(spans)} spans for "
            f"{size} tokens; wanted one for each"
        )
    if not all(span is None or 0 <= span[0] <= span[1] <= len(whole) for span in spans):
        raise InvalidValueError(
            f"encoder {encoder.name!r} gave a span beyond its text; wanted start and end of each "
            f"token, from 0 to {len(whole)}, or None"
        )
    words = [
        (plain_piece(piece) if span is None else whole[span[0] : span[1]], span)
        for piece, span in zip(pieces, spans)
    ]
    counts = torch.tensor(list(tokens.token_mask), dtype=torch.bool, device=vectors.device)
    return _Text(whole, counts, vectors, words, tokens.lost)


def _pair(
    pred: _Text,
    target: _Text,
    matchable: bool,
    scores: list[float],
    pred_values: _Values,
    target_values: _Values,
) -> AlignedPair:
    cosine = cosines(pred.vectors, target.vectors)
    if pred.text == target.text:
        cosine.fill_diagonal_(1.0)  # as in the score: without rounding
    opened = [torch.ones_like(t.counts) if matchable else t.counts for t in (pred, target)]
    matches = first_best(cosine, opened[1]), first_best(cosine.T, opened[0])
    empty = scores[0] == EMPTY
    one, two = (
        _aligned(text, values, None if empty else match.tolist())
        for text, values, match in zip((pred, target), (pred_values, target_values), matches)
    )
    rows = tuple(array("f", row) for row in cosine.tolist())
    precision, recall, f1 = (None if empty else score for score in scores)
    return AlignedPair(precision, recall, f1, one, two, rows)


def _aligned(side: _Text, values: _Values, match: list[int] | None) -> AlignedText:
    """A side with its values; without matches, where nothing is scored."""
    counted = iter(zip(*values))
    tokens = []
    for place, ((text, span), counts) in enumerate(zip(side.words, side.counts.tolist())):
        similarity, weight, contribution = next(counted) if counts else (None, 0.0, 0.0)
        found: tuple[float | None, int | None, float] = (None, None, 0.0)
        if counts and match is not None:
            found = similarity, match[place], contribution
        start, end = (None, None) if span is None else span
        tokens.append(AlignedToken(text, start, end, not counts, weight, *found))
    return AlignedText(side.text, tuple(tokens), side.lost)
