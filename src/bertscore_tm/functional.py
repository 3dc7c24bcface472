"""`bert_score`, the function: scores of one list of texts, without a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor

from .diagnosis import collect_facts
from .errors import InvalidTypeError
from .idf import DocumentFrequencies
from .machine import usable_device
from .pairs import Matched
from .pipeline import Pipeline
from .references import EMPTY
from .rows import References, Rows, Texts, read_rows
from .settings import ABOUT, Settings, refuse_unknown
from .syncing import alone, epoch_frequencies

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import Layers, Options

# Scores by name, `[rows]`; the best matches; what weights of the epoch depend on, or None.
Scored: TypeAlias = tuple[dict[str, Tensor], Matched, DocumentFrequencies | None]


def bert_score(
    preds: Texts,
    target: References,
    model_name_or_path: Any = None,
    num_layers: Layers | None = None,
    *,
    device: str | int | torch.device | None = None,
    **options: Unpack[Options],
) -> dict[str, Tensor]:
    """BERTScore of each prediction.

    Args:
        preds: a string or an iterable of strings.
        target: the same, or for each prediction an iterable of references.
        model_name_or_path: the encoder, as in `BERTScore`.
        num_layers: the layer or layers, as in `BERTScore`.
        device: where to compute: "cpu", "cuda", the number of a GPU; None: on a GPU if there is
            one.
        options: the other settings of `BERTScore`, but for ``score`` and ``reduction``. With
            ``idf=True`` weights come from ``target``.

    Returns:
        "precision", "recall" and "f1", float32 ``[predictions]`` in the order of the input; with
        several layers "layer_5_precision" and so on.

    Raises:
        EncoderLoadError: if the encoder cannot be found or loaded.
        InvalidTypeError: if something is no text, or an argument has the wrong type.
        InvalidValueError: if the numbers of rows differ, or an option or a device does not exist.

    Examples:
        >>> from bertscore_tm import bert_score
        >>> scores = bert_score(["a dog", "rain"], ["a cat", "rain fell"], "minilm", 6)
        >>> [round(value, 4) for value in scores["f1"].tolist()]
        [0.6034, 0.8114]
    """
    refuse_options(options, "bert_score, which returns all three scores of each row")
    rows = read_rows(preds, target)
    where = usable_device(device)
    return score_rows(Pipeline(Settings(model_name_or_path, num_layers, **options)), rows, where)


def refuse_options(options: Mapping[str, object], asker: str) -> None:
    """Raise InvalidTypeError for options that a function of rows does not have."""
    for name in options.keys() & {"score", "reduction", "sample_ids"}:
        raise InvalidTypeError(f"got {name}= for {asker}; wanted BERTScore({name}=...) or none")
    refuse_unknown(options, list(ABOUT))


def score_rows(pipeline: Pipeline, rows: Rows, device: torch.device) -> dict[str, Tensor]:
    """The way from rows to their scores, as `bert_score` returns them."""
    return match_and_score(pipeline, rows, device)[0]


def match_and_score(pipeline: Pipeline, rows: Rows, device: torch.device) -> Scored:
    """The scores of rows, and what they were made of: best matches, and what weights depend on."""
    with torch.no_grad():
        matched = pipeline.match(rows, device)
        frequencies = None
        if pipeline.weighting.needs_epoch:
            everything = torch.ones(len(rows), dtype=torch.bool, device=device)
            side, references = matched.matches.ref, matched.references
            frequencies = epoch_frequencies(side, references, everything, alone)
        scores, counts = pipeline.score(matched, frequencies)
        pipeline.warn(collect_facts(scores[:, 0, 0] == EMPTY, counts.sum(0)))
        answer = pipeline.answer(pipeline.finish(scores), None, "none")
    assert isinstance(answer, dict)
    return answer, matched, frequencies


def score_block(
    pipeline: Pipeline,
    rows: Rows,
    device: torch.device,
    frequencies: DocumentFrequencies | None = None,
) -> tuple[dict[str, Tensor], int, list[int]]:
    """The scores of some rows of many, without a warning of what is wrong with them.

    Args:
        pipeline: the settings at work.
        rows: the rows.
        device: where to compute.
        frequencies: those of all rows, for a weighting that needs them.

    Returns:
        The scores, as `bert_score` gives them, the number of rows with nothing to score, and the
        sums of `diagnosis.COUNTS`.
    """
    with torch.no_grad():
        scores, counts = pipeline.score(pipeline.match(rows, device), frequencies)
        answer = pipeline.answer(pipeline.finish(scores), None, "none")
    assert isinstance(answer, dict)
    return answer, int((scores[:, 0, 0] == EMPTY).sum()), counts.sum(0).tolist()
