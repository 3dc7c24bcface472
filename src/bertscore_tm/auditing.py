"""`audit`: what a configuration notices on the user's own texts.

References are damaged and scored against what they were. A damaged text that scores at
least as high as a second reference, or as the candidate, is one that the score misses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from .audit_results import Audit, Bias, Noticed
from .checks import as_index, one_of, spelled
from .damages import DAMAGES, damage, name_swap, replace_words
from .diagnosis import collect_facts
from .english_words import is_english
from .errors import InvalidTypeError, InvalidValueError
from .functional import refuse_options
from .gender import swap_gender
from .languages import language_code
from .machine import usable_device
from .mismatches import KINDS, find_mismatches
from .pipeline import Pipeline
from .references import EMPTY, SCORE_NAMES
from .rows import References, Rows, Texts, read_rows
from .settings import Settings
from .syncing import alone, epoch_frequencies

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .settings import Options

UNTRANSLATED = "untranslated source"


class Row(NamedTuple):
    """The texts of one row; candidate and source may be missing."""

    reference: str
    others: list[str]
    candidate: str | None
    source: str | None


def audit(
    references: References,
    candidates: Texts | None = None,
    sources: Texts | None = None,
    model_name_or_path: Any = None,
    num_layers: int | None = None,
    *,
    score: str = "f1",
    seed: int = 0,
    device: str | int | torch.device | None = None,
    **options: Unpack[Options],
) -> Audit:
    """What a configuration notices: damaged references against whole ones.

    The first reference of each row is damaged in every way that applies to it, and scored against
    itself as it was. Beside it stand the other references of the row, and its candidate.

    Args:
        references: a text, or several, a row.
        candidates: of a system, one a row; None: there are none.
        sources: what was translated, one a row; None: there are none.
        model_name_or_path: the encoder, as in `BERTScore`.
        num_layers: the layer, as in `BERTScore`.
        score: "precision", "recall" or "f1".
        seed: of the damages: what is damaged, and how, does not depend on other rows.
        device: where to compute, as in `bert_score`.
        options: the other settings of `BERTScore`, but for ``score`` and ``reduction``. ``lang``
            also says whether the rules of English apply; None: where a text looks like English.

    Returns:
        Plain data, with `to_text` and `to_dict`.

    Raises:
        EncoderLoadError: if the encoder cannot be found or loaded.
        InvalidTypeError: if something is no text, or an argument has the wrong type.
        InvalidValueError: if the numbers of rows differ, there are no rows, or several layers.

    Examples:
        >>> from bertscore_tm import audit
        >>> found = audit(["She sold 12 cars."], ["She did sell 12 cars."], None, "minilm", 6)
        >>> {each.kind: each.texts for each in found.noticed if each.texts}
        {'swapped words': 1, 'number': 1, 'gender': 1, 'truncated half': 1, 'repeated phrase': 1}
    """
    refuse_options(options, "audit, which has a score= of its own")
    rows = read_texts_of(references, candidates, sources)
    where = usable_device(device)
    pipeline = Pipeline(Settings(model_name_or_path, num_layers, **options))
    return audit_rows(pipeline, rows, where, score, seed)


def read_texts_of(
    references: References, candidates: Texts | None, sources: Texts | None
) -> list[Row]:
    """Check the texts of all rows and put them together.

    Rows whose first reference is blank are left out.
    """
    groups = (
        read_rows([""] * len(references), references).groups
        if (isinstance(references, Sequence) and not isinstance(references, str))
        else read_rows("", references).groups
    )
    more: list[Sequence[str | None]] = []
    for name, texts in (("candidates", candidates), ("sources", sources)):
        if texts is None:
            more.append([None] * len(groups))
            continue
        listed = [texts] if isinstance(texts, str) else list(texts)
        if len(listed) != len(groups):
            raise InvalidValueError(
                f"got {len(listed)} {name} for {len(groups)} rows of references; wanted one a row"
            )
        more.append(read_rows(listed, groups).preds)
    found = []
    for group, candidate, source in zip(groups, *more):
        first, others = group[0], [text for text in group[1:] if text.strip()]
        if first.strip():
            others = [text for text in others if text.strip() != first.strip()]
            found.append(Row(first, others, candidate, source))
    if not found:
        raise InvalidValueError("got no references with a text; wanted at least one")
    return found


class _Scored:
    """Pairs to be scored in one pass, each once."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str], int] = {}
        self.values: list[float] = []

    def add(self, pred: str, reference: str) -> int:
        """The place of a pair."""
        return self.places.setdefault((pred, reference), len(self.places))

    def score(
        self, pipeline: Pipeline, texts: Sequence[Row], device: torch.device, score: str
    ) -> None:
        """Score all pairs; idf weights come from the references of the rows, as everywhere."""
        own = [[row.reference, *row.others] for row in texts]
        preds = [row.reference for row in texts] + [pred for pred, _ in self.places]
        groups = own + [[reference] for _, reference in self.places]
        with torch.no_grad():
            matched = pipeline.match(Rows(preds, groups, None), device)
            frequencies = None
            if pipeline.weighting.needs_epoch:
                owned = torch.arange(len(preds), device=device) < len(own)
                side, count = matched.matches.ref, matched.references
                frequencies = epoch_frequencies(side, count, owned, alone)
            scores, counts = pipeline.score(matched, frequencies)
        mine = slice(len(own))
        pipeline.warn(collect_facts(scores[mine, 0, 0] == EMPTY, counts[mine].sum(0)))
        values: Tensor = pipeline.finish(scores)[len(own) :, 0, SCORE_NAMES.index(score)]
        self.values = values.tolist()


class _Case(NamedTuple):
    """One damaged reference: places of its pair and of those that it is compared with."""

    damaged: int
    whole: int
    others: list[int]
    candidate: int | None
    flagged: bool | None


def audit_rows(
    pipeline: Pipeline, texts: Sequence[Row], device: torch.device, score: str, seed: int
) -> Audit:
    """Audit rows with the settings at work; see `audit`."""
    one_of(*SCORE_NAMES)("score", score)
    if as_index(seed) is None:
        raise InvalidTypeError(f"got seed={seed!r}; wanted an integer")
    if len(pipeline.layers) != 1:
        raise InvalidValueError(
            f"got {len(pipeline.layers)} layers to audit; wanted one, such as "
            f"{spelled('num_layers', pipeline.layers[0])}"
        )
    lang = pipeline.settings.lang
    code = None if lang is None else language_code(lang)
    pairs = _Scored()
    kinds = [*DAMAGES] + ([UNTRANSLATED] if any(row.source for row in texts) else [])
    cases = {kind: _cases(kind, texts, pairs, seed, code) for kind in kinds}
    losses = {kind: _losses(kind, texts, pairs, seed, code) for kind in kinds}
    swaps = {kind: _swaps(kind, texts, pairs, seed, code) for kind in ("gender", "name")}
    pairs.score(pipeline, texts, device, score)
    noticed = tuple(_noticed(kind, cases[kind], losses[kind], pairs.values) for kind in kinds)
    beside = any(row.others or row.candidate is not None for row in texts)
    biases = tuple(_bias(k, swaps[k], pairs.values) for k in swaps) if beside else ()
    return Audit(score, len(texts), noticed, biases, seed, pipeline.signature())


def _english(text: str, code: str | None) -> bool:
    return is_english(text) if code is None else code in ("en", "en-sci")


def _cases(
    kind: str, texts: Sequence[Row], pairs: _Scored, seed: int, code: str | None
) -> list[_Case]:
    """Where a damage applies to the reference of a row."""
    found = []
    for number, row in enumerate(texts):
        whole, english = row.reference, _english(row.reference, code)
        damaged = (
            row.source if kind == UNTRANSLATED else damage(whole, kind, f"{seed}|{number}", english)
        )
        if damaged is None or not damaged.strip() or damaged.strip() == whole.strip():
            continue
        flag = find_mismatches(damaged, whole, code)[kind] if kind in KINDS else None
        others = [pairs.add(other, whole) for other in row.others]
        has = row.candidate is not None and row.candidate.strip() not in ("", whole.strip())
        candidate = pairs.add(row.candidate or "", whole) if has else None
        found.append(
            _Case(pairs.add(damaged, whole), pairs.add(whole, whole), others, candidate, flag)
        )
    return found


def _losses(
    kind: str, texts: Sequence[Row], pairs: _Scored, seed: int, code: str | None
) -> list[tuple[int, int]]:
    """Where a damage applies to a candidate: the places of the whole and the damaged one."""
    found = []
    for number, row in enumerate(texts):
        text = row.candidate
        if text is None or not text.strip() or kind == UNTRANSLATED:
            continue
        damaged = damage(text, kind, f"{seed}|{number}", _english(text, code))
        if damaged is not None:
            found.append((pairs.add(text, row.reference), pairs.add(damaged, row.reference)))
    return found


def _swaps(
    kind: str, texts: Sequence[Row], pairs: _Scored, seed: int, code: str | None
) -> list[tuple[int, int]]:
    """Pairs before and after the same change of both sides."""
    found = []
    for number, row in enumerate(texts):
        beside = [*row.others] + ([row.candidate] if row.candidate else [])
        for place, text in enumerate(beside):
            if not _english(row.reference, code):
                continue
            both = text, row.reference
            if kind == "gender":
                changed = [swap_gender(each) for each in both]
            else:
                new = name_swap(both, Random(f"{seed}|{number}|{place}|name"))
                changed = [replace_words(each, new) if new else None for each in both]
            if changed[0] and changed[1]:
                found.append((pairs.add(*both), pairs.add(changed[0], changed[1])))
    return found


def _noticed(
    kind: str, cases: Sequence[_Case], losses: Sequence[tuple[int, int]], values: list[float]
) -> Noticed:
    others = [(values[case.damaged], values[other]) for case in cases for other in case.others]
    beside = [(values[c.damaged], values[c.candidate]) for c in cases if c.candidate is not None]
    return Noticed(
        kind,
        len(cases),
        _mean(values[case.whole] - values[case.damaged] for case in cases),
        len(losses),
        _mean(values[whole] - values[damaged] for whole, damaged in losses),
        len(others),
        _mean(float(damaged >= other) for damaged, other in others),
        len(beside),
        _mean(float(damaged >= candidate) for damaged, candidate in beside),
        _mean(float(case.flagged) for case in cases if case.flagged is not None),
    )


def _bias(kind: str, swaps: Sequence[tuple[int, int]], values: list[float]) -> Bias:
    moves = [values[after] - values[before] for before, after in swaps]
    sizes = [abs(move) for move in moves]
    return Bias(kind, len(swaps), _mean(sizes), _mean(moves), max(sizes, default=None))


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None
