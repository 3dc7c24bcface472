"""A baseline for any encoder: the mean scores of random pairs of unrelated texts.

The paper's package took a million pairs of sentences of news (Tiiiger/bert_score, MIT licence).
Here pairs are drawn until the means are known well enough. Pairs that share a text are not
independent, so that the standard error is that of dyads (Aronow, Samii and Assenova,
"Cluster-robust variance estimation for dyadic data", Political Analysis 23, 2015):

    se² = sum of e_p e_q / m²      m pairs, e: score minus mean; over all p and q that share a text
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from . import baseline
from .checks import as_index, spelled
from .diagnosis import COUNTS, collect_facts
from .errors import InvalidTypeError, InvalidValueError, warn
from .machine import usable_device
from .pipeline import Pipeline
from .references import EMPTY
from .rows import Rows, read_list
from .settings import ABOUT, Settings, refuse_unknown

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import Options

_BLOCK = 500  # pairs between two looks at the standard error; also the least number
_ROUNDS = 8  # how often each text is used at most, where no number of pairs is given
_NO_PART = (
    "rescale_with_baseline", "baseline_path", "matching", "empty_score", "multi_reference",
)  # fmt: skip


class Baseline(baseline.Baseline):
    """Baseline values of one encoder and language.

    What `baseline.Baseline` is, which knows no encoder, and `fit`, which needs one.

    Attributes:
        values: precision, recall and F1 of every layer from 0, float64 ``[depth + 1, 3]``.
        name: what the signature calls it.
        errors: of a fitted one the standard errors of the values, float64 ``[depth + 1, 3]``.
        pairs: of a fitted one the number of pairs.
        texts: of a fitted one the number of distinct texts in these pairs.
    """

    errors: Tensor | None = None
    pairs: int | None = None
    texts: int | None = None

    @classmethod
    def fit(
        cls,
        texts: Iterable[str],
        encoder: Any,
        *,
        standard_error: float = 0.001,
        pairs: int | None = None,
        seed: int = 0,
        device: str | int | torch.device | None = None,
        **options: Unpack[Options],
    ) -> Baseline:
        """Measure an encoder on random pairs of texts, all layers in one pass.

        Texts are stripped, and of equal ones one is kept. No text is paired with itself, and no
        two twice.

        Args:
            texts: unrelated texts of the kind that is scored, usually sentences; some thousand.
            encoder: an encoder object, or a name, as in `BERTScore`.
            standard_error: pairs are added until that of the mean F1 of each layer is not above
                it, or each text was used eight times; then a warning says what was reached.
            pairs: how many pairs to take instead.
            seed: of the pairs.
            device: where to compute, as in `bert_score`.
            options: other settings of `BERTScore` that shape a score.

        Raises:
            EncoderLoadError: if the encoder cannot be found or loaded.
            InvalidTypeError: if something is no text, or an argument has the wrong type.
            InvalidValueError: if there are too few texts, or an argument does not fit.

        Example:
            >>> from bertscore_tm import Baseline
            >>> texts = ["a dog ran", "rain fell", "two cats sleep", "the price of bread rose"]
            >>> table = Baseline.fit(texts, "minilm", pairs=6)
            >>> [round(value, 3) for value in table.values[6].tolist()]
            [0.1, 0.084, 0.089]
        """
        _check(standard_error, pairs, seed)
        refuse_unknown(options, [name for name in ABOUT if name not in _NO_PART])
        listed, where = read_list(texts), usable_device(device)
        pipeline = Pipeline(Settings(encoder, "all", **options))
        return fit_baseline(cls, listed, pipeline, where, standard_error, pairs, seed)


def fit_baseline(
    cls: type[Baseline],
    texts: Iterable[str],
    pipeline: Pipeline,
    device: torch.device,
    standard_error: float,
    pairs: int | None,
    seed: int,
) -> Baseline:
    """The way from texts to a table, as `Baseline.fit` has it; ``pipeline`` is of all layers."""
    _check(standard_error, pairs, seed)
    if pipeline.weighting.needs_epoch:
        raise InvalidValueError(
            f"got {spelled('idf', pipeline.settings.idf)} for a baseline; wanted none or an idf "
            "table: those of random pairs would be the weights of no data"
        )
    listed = [text for text in dict.fromkeys(text.strip() for text in texts) if text]
    possible = len(listed) * (len(listed) - 1) // 2
    if possible < (pairs or 2):
        raise InvalidValueError(
            f"got {len(listed)} different texts to fit a baseline on, which make {possible} pairs; "
            f"wanted enough for {pairs or 2}"
        )
    found = _Means(len(listed))
    for block in _blocks(len(listed), pairs, random.Random(seed)):
        found.add(block, *_scores(pipeline, listed, block, device))
        if pairs is None and found.enough(standard_error):
            break
    return found.baseline(cls, pipeline, None if pairs else standard_error)


class _Means:
    """Sums over pairs, as they come."""

    def __init__(self, texts: int) -> None:
        self._texts = texts
        self.index: list[tuple[int, int]] = []
        self.scores: list[Tensor] = []
        self.counts = torch.zeros(len(COUNTS), dtype=torch.int64)
        self.empty: list[Tensor] = []

    def add(self, pairs: list[tuple[int, int]], scores: Tensor, counts: Tensor) -> None:
        """Add pairs; those with nothing to score are counted only."""
        empty = scores[:, 0, 0] == EMPTY
        self.empty.append(empty)
        self.counts += counts
        self.index += [pair for pair, none in zip(pairs, empty.tolist()) if not none]
        self.scores.append(scores[~empty].double())

    def moments(self) -> tuple[Tensor, Tensor]:
        """Means and their standard errors, ``[layers, 3]``."""
        scores = torch.cat(self.scores)  # [pairs, layers, 3]
        return scores.mean(0), dyadic_error(scores, torch.tensor(self.index), self._texts)

    def enough(self, wanted: float) -> bool:
        """Whether F1 of each layer is known as well as that."""
        return len(self.index) > 1 and bool((self.moments()[1][:, 2] <= wanted).all())

    def baseline(self, cls: type[Baseline], pipeline: Pipeline, wanted: float | None) -> Baseline:
        """The table, and one warning if there was trouble."""
        if len(self.index) < 2:
            raise InvalidValueError(
                f"got {len(self.index)} pairs in which both texts have words; wanted at least two"
            )
        pipeline.warn(collect_facts(torch.cat(self.empty), self.counts))
        means, errors = self.moments()
        worst = float(errors[:, 2].max())
        used = len({text for pair in self.index for text in pair})
        reached = float(f"{worst * 1.05:.2g}")  # never below it
        if wanted is not None and worst > wanted:
            warn(
                f"the baseline of {len(self.index):,} pairs of {used:,} texts has a standard error "
                f"of {worst:.2g} in F1; wanted {wanted:g}: give it more texts, or settle for "
                f"{spelled('standard_error', reached)}."
            )
        values = (means * 1e8).round() / 1e8  # as many digits as a table has
        table = cls(values)
        table.name = f"fitted@{table.digest}"
        table.errors, table.pairs, table.texts = errors, len(self.index), used
        return table


def dyadic_error(scores: Tensor, index: Tensor, texts: int) -> Tensor:
    """The standard error of the mean over pairs, some of which share a text.

    Args:
        scores: of pairs, float64 ``[pairs, ...]``.
        index: the two texts of each pair, int64 ``[pairs, 2]``.
        texts: how many there are.

    Returns:
        ``[...]``; that of independent pairs where it would come out below, as it can where the
        texts are few.
    """
    rest = scores - scores.mean(0)
    of_text = rest.new_zeros(texts, *rest.shape[1:])
    for side in index.T:
        of_text.index_add_(0, side, rest)
    apart = rest.square().sum(0)  # each pair is counted with both of its texts
    pairs = len(scores)
    variance = torch.maximum(of_text.square().sum(0) - apart, apart) / pairs**2
    return (variance * pairs / (pairs - 1)).sqrt()


def _blocks(texts: int, pairs: int | None, draw: random.Random) -> Iterator[list[tuple[int, int]]]:
    """Random pairs of different texts, none twice; each text comes once before any comes again."""
    seen: set[frozenset[int]] = set()
    block: list[tuple[int, int]] = []
    rounds = 0
    while (rounds < _ROUNDS) if pairs is None else (len(seen) < pairs):
        rounds += 1
        order = draw.sample(range(texts), texts)
        for pair in zip(order[::2], order[1::2]):
            if frozenset(pair) in seen or len(seen) == pairs:
                continue
            seen.add(frozenset(pair))
            block.append(pair)
            if len(block) == _BLOCK:
                yield block
                block = []
    if block:
        yield block


def _scores(
    pipeline: Pipeline, texts: list[str], pairs: list[tuple[int, int]], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Raw scores, ``[pairs, layers, 3]``, and what was counted, both in main memory."""
    rows = Rows([texts[one] for one, _ in pairs], [[texts[two]] for _, two in pairs], None)
    with torch.no_grad():
        scores, counts = pipeline.score(pipeline.match(rows, device))
    return scores.cpu(), counts.sum(0).cpu().long()


def _check(standard_error: Any, pairs: Any, seed: Any) -> None:
    wrong = isinstance(standard_error, bool) or not isinstance(standard_error, (int, float))
    if wrong or not 0 < standard_error < 1:
        raise InvalidValueError(
            f"got {spelled('standard_error', standard_error)}; wanted a number above 0 and below 1"
        )
    if pairs is not None and (as_index(pairs) or 0) < 2:
        kind = InvalidTypeError if as_index(pairs) is None else InvalidValueError
        raise kind(f"got {spelled('pairs', pairs)}; wanted a number of pairs from 2 on, or None")
    if as_index(seed) is None:
        raise InvalidTypeError(f"got {spelled('seed', seed)}; wanted an integer")
