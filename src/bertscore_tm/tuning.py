"""Which layer of an encoder agrees best with people.

All layers come from one pass. Correlations are taken within groups (language pairs, data sets) and
averaged, as at WMT; rows with equal references are resampled together, since what is hard about one
of them is hard about all (cluster bootstrap, percentiles).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .checks import as_index, one_of, spelled
from .errors import InvalidTypeError, InvalidValueError, warn
from .functional import refuse_options, score_rows
from .labelled import Judged
from .machine import usable_device
from .pipeline import Pipeline
from .references import SCORE_NAMES
from .rows import References, Texts, read_rows
from .settings import Settings
from .tuned import LayerAgreement, TunedLayer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import Options, Score

_FOLDS = 5  # of `judged.LEAST` sets and more
_AT_ONCE = 20_000_000  # weights of resamples that are held at one time: 160 MB


def tune(
    preds: Texts,
    target: References,
    human: Iterable[float],
    model_name_or_path: Any = None,
    *,
    groups: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    score: Score = "f1",
    resamples: int = 1000,
    seed: int = 0,
    device: str | int | torch.device | None = None,
    **options: Unpack[Options],
) -> TunedLayer:
    """The layer of an encoder whose scores correlate best with human ones.

    Args:
        preds: the texts that people judged.
        target: the reference of each, or its references.
        human: the judgement of each; higher is better.
        model_name_or_path: the encoder, as in `BERTScore`.
        groups: for each row the group within which correlations are taken, such as its language
            pair; None: one group.
        clusters: for each row the set of rows that it is resampled with; None: those of equal
            references.
        score: what is tuned: "f1", "precision" or "recall".
        resamples: number of bootstrap resamples, for the intervals.
        seed: of resamples and folds.
        device: where to compute, as in `bert_score`.
        options: the other settings of `BERTScore`, as in `bert_score`.

    Returns:
        The layer, with what was found of each: ``num_layers`` takes it, and its ``save`` writes
        a file whose name ``num_layers`` takes, too.

    Raises:
        EncoderLoadError: if the encoder cannot be found or loaded.
        InvalidTypeError: if something is no text or no number, or an argument has the wrong type.
        InvalidValueError: if the numbers of rows differ, there are too few, or all scores of
            people are equal.
    """
    refuse_options(options, "tune, which looks at the scores of each row")
    where = usable_device(device)
    judged = Judged(read_rows(preds, target), human, groups, clusters)
    pipeline = Pipeline(Settings(model_name_or_path, "all", **options))
    return tune_rows(pipeline, judged, where, score, resamples, seed)


def tune_rows(
    pipeline: Pipeline,
    judged: Judged,
    device: torch.device,
    score: str = "f1",
    resamples: int = 1000,
    seed: int = 0,
) -> TunedLayer:
    """The way from judged rows to the layer, as `tune` has it; ``pipeline`` is of all layers."""
    _check(score, resamples, seed)
    flat = _flat_groups(judged)
    if len(flat) == int(judged.group.max()) + 1:
        raise InvalidValueError(
            "got human scores that are all equal in each group; wanted some that differ"
        )
    scores = score_rows(pipeline, judged.rows, device)
    columns = {
        name: torch.stack([scores[f"layer_{k}_{name}"].double().cpu() for k in pipeline.layers], 1)
        for name in SCORE_NAMES
    }
    generator = torch.Generator().manual_seed(seed)
    layers, best = _compared(columns, score, judged, resamples, generator)
    if not getattr(layers[best], score) > 0:
        warn("no layer agrees with the human scores at all; are higher ones better there?")
    if flat:
        warn(f"{len(flat)} groups whose human scores are all equal were left out.")
    held_out, folds = _held_out(columns[score], judged, generator)
    return TunedLayer(
        layer=pipeline.layers[best],
        encoder=pipeline.encoder_name,
        version=pipeline.encoder.version,
        signature=pipeline.signature(),
        score=score,
        rows=len(judged.rows),
        clusters=len(judged.cluster.unique()),
        groups=len(judged.group.unique()),
        held_out=held_out,
        folds=tuple(pipeline.layers[place] for place in folds),
        resamples=resamples,
        seed=seed,
        layers=layers,
    )


def _compared(
    columns: dict[str, Tensor],
    score: str,
    judged: Judged,
    resamples: int,
    generator: torch.Generator,
) -> tuple[tuple[LayerAgreement, ...], int]:
    """What is found of each layer, and the place of the best.

    Args:
        columns: the scores by name, float64 ``[rows, layers]``, of all layers from 0.
        score: which of them decides.
        judged: the rows.
        resamples: how many to draw.
        generator: draws them.
    """
    r = {name: agreement(column, judged)[0] for name, column in columns.items()}  # [layers]
    best = int(_best(r[score]))
    drawn = _resampled(columns[score], judged, resamples, generator)  # [resamples, layers]
    low, high = _interval(drawn)
    behind_low, behind_high = _interval(drawn[:, [best]] - drawn)
    won = _best(drawn)
    found = tuple(
        LayerAgreement(
            layer=layer,
            **{name: float(column[layer]) for name, column in r.items()},
            low=float(low[layer]),
            high=float(high[layer]),
            behind=float(r[score][best] - r[score][layer]),
            behind_low=float(behind_low[layer]),
            behind_high=float(behind_high[layer]),
            chosen=float((won == layer).double().mean()),
        )
        for layer in range(len(low))
    )
    return found, best


def pearson(scores: Tensor, human: Tensor, weights: Tensor | None = None) -> Tensor:
    """Pearson correlations of columns of scores with human ones.

    Args:
        scores: float64 ``[rows, columns]``.
        human: float64 ``[rows]``.
        weights: how often each row counts, float64 ``[resamples, rows]``; None: once.

    Returns:
        ``[resamples, columns]``, one resample without weights; NaN where a side does not vary.
    """
    w = scores.new_ones(1, len(scores)) if weights is None else weights
    x, y = scores - scores.mean(0), (human - human.mean())[:, None]
    total = w.sum(1, keepdim=True)
    mean_x, mean_y = w @ x / total, w @ y / total
    var_x, var_y = w @ x.square() / total - mean_x**2, w @ y.square() / total - mean_y**2
    r = (w @ (x * y) / total - mean_x * mean_y) / (var_x * var_y).sqrt()
    floor = 1e-12 * x.square().mean(0), 1e-12 * y.square().mean(0)  # of rounding
    return torch.where((var_x > floor[0]) & (var_y > floor[1]), r, math.nan).clamp(-1, 1)


def agreement(scores: Tensor, judged: Judged, weights: Tensor | None = None) -> Tensor:
    """The mean of the correlations within the groups, but for groups where one is not defined.

    Shapes as in `pearson`.
    """
    found = []
    for group in judged.group.unique().tolist():
        own = (judged.group == group).nonzero().flatten()
        part = None if weights is None else weights[:, own]
        found.append(pearson(scores[own], judged.human[own], part))
    return torch.stack(found).nanmean(0)


def _flat_groups(judged: Judged) -> list[int]:
    """The groups in which people said the same of every row."""
    of_groups = ((group, judged.human[judged.group == group]) for group in judged.group.unique())
    return [int(group) for group, human in of_groups if bool((human == human[0]).all())]


def _best(r: Tensor) -> Tensor:
    """The place of the largest along the last dimension; what is not defined is the smallest."""
    return r.nan_to_num(nan=-2.0).argmax(-1)


def _resampled(scores: Tensor, judged: Judged, number: int, generator: torch.Generator) -> Tensor:
    """Correlations of resamples of sets of rows, drawn within each group, ``[number, layers]``."""
    step = max(1, _AT_ONCE // len(scores))
    parts = []
    for first in range(0, number, step):
        some = min(step, number - first)
        weights = scores.new_zeros(some, len(scores))
        for group in judged.group.unique().tolist():
            own = (judged.group == group).nonzero().flatten()
            names, place = judged.cluster[own].unique(return_inverse=True)
            drawn = torch.randint(len(names), (some, len(names)), generator=generator)
            counts = scores.new_zeros(some, len(names))
            counts.scatter_add_(1, drawn, torch.ones_like(counts))
            weights[:, own] = counts[:, place]
        parts.append(agreement(scores, judged, weights))
    return torch.cat(parts)


def _held_out(
    scores: Tensor, judged: Judged, generator: torch.Generator
) -> tuple[float, list[int]]:
    """What the choice is worth on rows that it was not made on.

    Returns:
        The mean over the folds of the correlation there, and the layer chosen without each fold.
    """
    names, place = judged.cluster.unique(return_inverse=True)
    fold = torch.randperm(len(names), generator=generator)[place] % _FOLDS
    found, chosen = [], []
    for number in range(_FOLDS):
        inside = (fold == number).double()[None]
        layer = int(_best(agreement(scores, judged, 1 - inside)[0]))
        chosen.append(layer)
        found.append(float(agreement(scores, judged, inside)[0, layer]))
    defined = [r for r in found if not math.isnan(r)]
    return (sum(defined) / len(defined) if defined else math.nan), chosen


def _check(score: Any, resamples: Any, seed: Any) -> None:
    one_of(*SCORE_NAMES)("score", score)
    if (as_index(resamples) or 0) < 100:
        raise InvalidValueError(f"got {spelled('resamples', resamples)}; wanted at least 100")
    if as_index(seed) is None:
        raise InvalidTypeError(f"got {spelled('seed', seed)}; wanted an integer")


def _interval(values: Tensor) -> Tensor:
    """Where 95% of the resamples of each column lie, ``[2, columns]``."""
    return values.nanquantile(values.new_tensor([0.025, 0.975]), dim=0)
