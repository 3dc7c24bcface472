"""`correlate`: from rows that people judged to a table of how well metrics agree with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import torch

from .agreement import Agreement, Bootstrap, agree, agree_on_ranks
from .checks import one_of
from .clusters import Labels, codes
from .decoding import printable
from .errors import InvalidValueError
from .functional import refuse_options, score_rows
from .judged import LEAST, PAIRS
from .lexical import LEXICAL, lexical_scores, scorers
from .machine import usable_device
from .pipeline import Pipeline
from .references import SCORE_NAMES
from .resampling import read_vector
from .rows import References, Rows, Texts, read_rows
from .settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import Options

_CELL = 25  # characters of a value with its interval and mark


@dataclass(frozen=True)
class Judged:
    """Rows and what people say of them.

    Attributes:
        rows: texts and references; with ``worse`` those that people held for better.
        human: a score a row; None: there is ``worse``.
        worse: of each row another text for the same references that they held for worse.
        systems: see `agreement.agree`, as the others.
        groups: labels, or None.
        segments: labels; None: rows with the same references are one segment.
        clusters: labels, or None.
    """

    rows: Rows
    human: Any = None
    worse: list[str] | None = None
    systems: Labels | None = None
    groups: Labels | None = None
    segments: Labels | None = None
    clusters: Labels | None = None


@dataclass(frozen=True)
class Asked:
    """What is wanted of them.

    Attributes:
        score: which of BERTScore's scores stands first; differences are those to it.
        others: metrics beside it, some of `lexical.LEXICAL`.
        tokenize: see `lexical.lexical_scores`.
        pairs: see `agreement.agree`.
        bootstrap: how intervals are drawn.
    """

    score: str = "f1"
    others: Sequence[str] = LEXICAL
    tokenize: str | None = None
    pairs: str = "auto"
    bootstrap: Bootstrap = field(default_factory=Bootstrap)


@dataclass(frozen=True)
class Correlation:
    """What `correlate` finds.

    Attributes:
        rows: how many were used.
        segments: how many segments they have.
        clusters: how many are drawn in a resample.
        groups: their names.
        bootstrap: how intervals were drawn.
        signature: of BERTScore.
        agreements: for each level and statistic the metrics, in one order.
    """

    rows: int
    segments: int
    clusters: int
    groups: tuple[str, ...]
    bootstrap: Bootstrap
    signature: str
    agreements: tuple[Agreement, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def to_text(self) -> str:
        """A table for each level, and one of the groups where there are several."""
        drawn = self.bootstrap
        alpha = 1 - drawn.confidence
        lines = [
            f"{self.rows} rows, {self.segments} segments, {len(self.groups)} "
            f"group{'s' * (len(self.groups) > 1)}; intervals of {drawn.confidence:.0%}: "
            f"{drawn.resamples} resamples of {self.clusters} clusters, seed {drawn.seed}",
            f"< > below or above {self.agreements[0].metric}, p at most {alpha:.2g} after Holm",
        ]
        for level, found in groupby(self.agreements, lambda each: each.level):
            tables = {name: [*rows] for name, rows in groupby(found, lambda each: each.statistic)}
            lines += ["", *_table(level, tables, alpha)]
            if len(self.groups) > 1:
                statistic, first = next(iter(tables.items()))
                lines += ["", *_by_group(statistic, first, self.groups)]
        return "\n".join(lines) + "\n"


def correlate(
    preds: Texts,
    target: References,
    human: Iterable[float] | None = None,
    model_name_or_path: Any = None,
    num_layers: int | None = None,
    *,
    worse: Texts | None = None,
    systems: Labels | None = None,
    groups: Labels | None = None,
    segments: Labels | None = None,
    clusters: Labels | None = None,
    score: str = "f1",
    others: Sequence[str] = LEXICAL,
    tokenize: str | None = None,
    pairs: str = "auto",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    device: str | int | torch.device | None = None,
    **options: Unpack[Options],
) -> Correlation:
    """How well BERTScore agrees with people, beside BLEU, chrF, ROUGE and token overlap.

    Args:
        preds: predictions; with ``worse`` those that people held for the better ones.
        target: their references, as in `bert_score`.
        human: a score for each, higher is better.
        model_name_or_path: the encoder, as in `BERTScore`.
        num_layers: the layer, as in `BERTScore`.
        worse: for each row another prediction that people held for worse, instead of ``human``.
        systems: for each row which system made it; gives a level of systems.
        groups: for each row its language, for example: statistics are averaged over groups.
        segments: for each row its input; None: rows with the same references belong together.
        clusters: for each row what is drawn together in the bootstrap, as its document; None: its
            segment.
        score: "f1", "precision" or "recall": what the other metrics are compared to.
        others: some of "bleu", "chrf", "rouge1", "rougeL" and "overlap".
        tokenize: a tokenizer of sacrebleu, as in `lexical.lexical_scores`.
        pairs: "auto", "segment" or "all", as in `agreement.agree`.
        resamples: of the bootstrap.
        confidence: of the intervals.
        seed: of the bootstrap.
        device: where to compute, as in `bert_score`.
        options: the other settings of `BERTScore`, but for ``score`` and ``reduction``.

    Raises:
        EncoderLoadError: if the encoder cannot be found or loaded.
        InvalidTypeError: if something is no text or no number.
        InvalidValueError: if numbers of rows differ, or a value does not exist.
        MissingPackageError: if sacrebleu or rouge-score is not installed.
    """
    refuse_options(options, "correlate")
    judged = Judged(
        read_rows(preds, target),
        human,
        None if worse is None else read_rows(worse, target).preds,
        systems,
        groups,
        segments,
        clusters,
    )
    asked = Asked(score, others, tokenize, pairs, Bootstrap(resamples, confidence, seed))
    check(judged, asked)
    where = usable_device(device)
    settings = Settings(model_name_or_path, num_layers, **options)
    return correlate_rows(Pipeline(settings), judged, asked, where)


def check(judged: Judged, asked: Asked) -> None:
    """Raise what is wrong with rows or wishes before there is an encoder."""
    count = len(judged.rows)
    if (judged.human is None) == (judged.worse is None):
        got = "neither" if judged.human is None else "both"
        raise InvalidValueError(f"got {got} human scores and worse texts; wanted one of the two")
    if judged.human is not None:
        numbers = len(read_vector(judged.human, "human"))
        if numbers != count:
            raise InvalidValueError(
                f"got {numbers} human scores for {count} predictions; wanted one for each"
            )
        if count < LEAST:
            raise InvalidValueError(f"got {count} judged rows; wanted at least {LEAST}")
    one_of(*SCORE_NAMES)("score", asked.score)
    one_of(*PAIRS)("pairs", asked.pairs)
    scorers(asked.others, asked.tokenize)
    for what in ("systems", "groups", "segments", "clusters"):
        codes(getattr(judged, what), count, what)


def correlate_rows(
    pipeline: Pipeline, judged: Judged, asked: Asked, device: torch.device
) -> Correlation:
    """The way from rows to the table."""
    if len(pipeline.layers) > 1:
        raise InvalidValueError(f"got {len(pipeline.layers)} layers; wanted one")
    rows = judged.rows
    if judged.worse is not None:
        rows = Rows([*rows.preds, *judged.worse], rows.groups * 2, None)
    scores = metric_scores(pipeline, rows, asked, device)
    return tabulate(scores, judged, asked, pipeline.signature())


def metric_scores(
    pipeline: Pipeline, rows: Rows, asked: Asked, device: torch.device
) -> dict[str, Any]:
    """A score a row of each metric; the first is what the others are compared to."""
    first = [asked.score, *(name for name in SCORE_NAMES if name != asked.score)]
    found = score_rows(pipeline, rows, device)
    others = lexical_scores(rows.preds, rows.groups, asked.others, asked.tokenize)
    return {**{f"bertscore_{name}": found[name] for name in first}, **others}


def tabulate(scores: dict[str, Any], judged: Judged, asked: Asked, signature: str) -> Correlation:
    """From scores, of relative ranks first all of the better texts, to the table."""
    count = len(judged.rows)
    segments = judged.segments or [tuple(group) for group in judged.rows.groups]
    clusters = judged.clusters or segments
    if judged.worse is None:
        agreements = agree(
            scores,
            judged.human,
            segments=segments,
            clusters=clusters,
            groups=judged.groups,
            systems=judged.systems,
            pairs=asked.pairs,
            bootstrap=asked.bootstrap,
        )
    else:
        better = {name: values[:count] for name, values in scores.items()}
        worse = {name: values[count:] for name, values in scores.items()}
        agreements = agree_on_ranks(
            better, worse, clusters=clusters, groups=judged.groups, bootstrap=asked.bootstrap
        )
    names = tuple(codes(judged.groups, count, "groups")[1])
    drawn = len({*clusters})
    return Correlation(
        count, len({*segments}), drawn, names, asked.bootstrap, signature, agreements
    )


def _table(level: str, tables: dict[str, list[Agreement]], alpha: float) -> list[str]:
    names = [each.metric for each in next(iter(tables.values()))]
    width = max(map(len, [level, *names]))
    cells = [[_cell(each, alpha) for each in found] for found in tables.values()]
    lines = [f"{level:<{width}}  " + "  ".join(f"{name:<{_CELL}}" for name in tables)]
    for row, name in enumerate(names):
        lines.append(
            f"{name:<{width}}  " + "  ".join(f"{column[row]:<{_CELL}}" for column in cells)
        )
    return [line.rstrip() for line in lines]


def _cell(each: Agreement, alpha: float) -> str:
    if each.value is None or each.low is None or each.high is None:
        return "undefined"
    mark = ""
    if each.difference is not None and each.adjusted_p is not None and each.adjusted_p <= alpha:
        mark = " <" if each.difference > 0 else " >"
    return f"{each.value:6.3f} [{each.low:6.3f}, {each.high:6.3f}]{mark}"


def _by_group(statistic: str, found: list[Agreement], groups: Sequence[str]) -> list[str]:
    shown = [printable(group) for group in groups]
    width = max(map(len, [statistic, *shown]))
    lines = [f"{statistic:<{width}}  " + "  ".join(f"{each.metric:>9}" for each in found)]
    for group, name in zip(groups, shown):
        values = [each.groups[group] for each in found]
        cells = [
            f"{'-' if value is None else format(value, '.3f'):>{max(9, len(each.metric))}}"
            for value, each in zip(values, found)
        ]
        lines.append(f"{name:<{width}}  " + "  ".join(cells))
    return lines
