"""`bert_score`, the function: scores of one list of texts, without a state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import diagnosis, syncing
from .arguments import refuse_unknown
from .pairs import References, Texts, read_rows
from .scorer import Scorer
from .scoring import EMPTY


def bert_score(
    preds: Texts,
    target: References,
    model_name_or_path: Any = None,
    num_layers: Any = None,
    *,
    device: str | torch.device | None = None,
    **options: Any,
) -> dict[str, Tensor]:
    """BERTScore of each prediction.

    Args:
        preds: a string or an iterable of strings.
        target: the same, or for each prediction an iterable of references.
        model_name_or_path: the encoder, as in `BERTScore`.
        num_layers: the layer or layers, as in `BERTScore`.
        device: where to compute; None: on a GPU if there is one.
        options: the other settings of `BERTScore`, but for ``score`` and ``reduction``: ``lang``, ``idf`` (True: from
            ``target``), ``rescale_with_baseline``, ``baseline_path``, ``match_special_tokens``, ``multi_reference``,
            ``overflow``, ``max_length``, ``empty_score``, ``dtype``, ``batch_tokens``, ``compile``, ``embedding_cache`` and
            ``verbose``.

    Returns:
        "precision", "recall" and "f1", float32 ``[predictions]`` in the order of the input; with several layers
        "layer_5_precision" and so on.

    Raises:
        OSError: if the encoder cannot be found or loaded.
        TypeError: if something is no text, or an argument has the wrong type.
        ValueError: if the numbers of rows differ or an option does not exist.

    Example:
        >>> from bertscore_tm import bert_score
        >>> scores = bert_score(["a dog", "rain"], ["a cat", "rain fell"], "minilm", 6)
        >>> [round(value, 4) for value in scores["f1"].tolist()]
        [0.6034, 0.8114]
    """
    for name in options.keys() & {"score", "reduction", "sample_ids"}:
        raise TypeError(
            f"got {name}= for bert_score, which returns all three scores of each row; wanted BERTScore({name}=...) or none"
        )
    refuse_unknown(options, Scorer)
    rows = read_rows(preds, target)
    scorer = Scorer(model_name_or_path, num_layers, **options)
    try:
        where = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
    except (RuntimeError, TypeError, ValueError) as error:
        kind = ValueError if isinstance(device, str) else TypeError
        raise kind(f"got device={device!r}; wanted 'cpu', 'cuda', a torch.device or None") from error
    with torch.no_grad():
        matched = scorer.match(rows, where)
        table = scorer.table
        if scorer.epoch_idf:
            everything = torch.ones(len(rows), dtype=torch.bool, device=where)
            table = syncing.epoch_idf(matched.matches.ref, matched.references, everything, syncing.alone)
        scores, weightless = scorer.scores(matched, table)
        scorer.warn(diagnosis.facts(scores[:, 0, 0] == EMPTY, matched.counts + weightless))
        answer = scorer.answer(scorer.finish(scores), None, "none")
    assert isinstance(answer, dict)
    return answer
