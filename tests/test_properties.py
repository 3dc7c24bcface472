"""Laws that hold for all texts, on random texts of few words.

Order, batches, padding, splits, ranks, sides, repetitions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from bertscore_tm import (
    Baseline,
    BERTScore,
    BERTScoreWarning,
    IdfTable,
    Tokens,
    bert_score,
    references,
)
from reference import Idf, Text, Triple, bertscore, choose, score_pair

pytestmark = pytest.mark.filterwarnings(
    "ignore::bertscore_tm.BERTScoreWarning"
)  # of empty rows and few references

NAMES = ("precision", "recall", "f1")
WORDS = "the a cat dog rain fell sat ran home on".split()
START, END, FIRST = 1, 2, 3  # ids; 0 is padding
DEPTH, DIM = 2, 6
RULES = tuple(references.RULES)

_profile = {"derandomize": True, "database": None, "deadline": None, "print_blob": False}
check = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], **_profile)  # type: ignore[arg-type]
check_slowly = settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow], **_profile)  # type: ignore[arg-type]


class WordEncoder:
    """A token a word.

    Its vector: that of the word, of its place and of the whole text, so that all of these matter.
    All numbers are positive, as are then all cosines. What stands at a padded place is large:
    whoever lets it in will notice.
    """

    name, version, tokenizer_id, depth, default_layers = "words", "1", "words", DEPTH, (1,)

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(7)
        self.word = torch.rand(DEPTH + 1, FIRST + len(WORDS), DIM, generator=generator) ** 3
        self.place = torch.rand(64, DIM, generator=generator) ** 3

    def ids(self, text: str) -> list[int]:
        return [START, *(FIRST + WORDS.index(word) for word in text.split()), END]

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return [Tokens(ids, [i >= FIRST for i in ids]) for ids in map(self.ids, texts)]

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        word = self.word[list(layers)][:, input_ids]  # [layers, texts, longest, dim]
        mask = attention_mask[None, :, :, None]
        context = (word * mask).sum(2, keepdim=True) / mask.sum(2, keepdim=True)
        hidden = word + 0.3 * self.place[: input_ids.shape[1]] + 0.5 * context
        return torch.where(mask == 1, hidden, 1e3)


ENCODER = WordEncoder()


@cache
def encode(text: str) -> Text:
    """One text alone, in float64."""
    ids = ENCODER.ids(text)
    word = ENCODER.word[:, ids].double()
    vectors = word + 0.3 * ENCODER.place[: len(ids)].double() + 0.5 * word.mean(1, keepdim=True)
    return Text(ids, vectors / vectors.norm(dim=-1, keepdim=True), [i >= FIRST for i in ids])


class Row(NamedTuple):
    pred: str
    refs: tuple[str, ...]


def first_principles(
    rows: Sequence[Row], layer: int, idf: bool, match_special: bool, rule: str, empty: float = 0.0
) -> dict[str, list[float]]:
    table = None
    if idf:
        texts = [ref for row in rows for ref in row.refs]
        frequency = Counter(i for ref in texts for i in set(encode(ref).ids))
        table = Idf({i: math.log((len(texts) + 1) / (df + 1)) for i, df in frequency.items()})
        table.unseen = math.log(len(texts) + 1)
    triples: list[Triple] = []
    for pred, refs in rows:
        scores = [
            score_pair(encode(pred), encode(ref), layer, table, match_special) for ref in refs
        ]
        full = [score for score in scores if score is not None]
        triples.append(choose(full, rule) if full else (empty, empty, empty))
    return {name: [triple[k] for triple in triples] for k, name in enumerate(NAMES)}


texts = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
full_texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
rows_of = st.lists(
    st.builds(Row, texts, st.lists(texts, min_size=1, max_size=3).map(tuple)),
    min_size=1,
    max_size=8,
)
pairs_of = st.lists(st.builds(Row, texts, texts.map(lambda ref: (ref,))), min_size=1, max_size=8)
full_pairs_of = st.lists(
    st.builds(Row, full_texts, full_texts.map(lambda ref: (ref,))), min_size=1, max_size=8
)
options_of = st.fixed_dictionaries(
    {
        "idf": st.booleans(),
        "match_special_tokens": st.booleans(),
        "multi_reference": st.sampled_from(RULES),
    }
)


def metric_of(encoder: Any = ENCODER, layers: Any = 1, **options: Any) -> BERTScore:
    return BERTScore(encoder, layers, **{"score": None, "reduction": "none", **options})


def update(metric: BERTScore, rows: Sequence[Row], ids: Sequence[int] | None = None) -> BERTScore:
    metric.update([row.pred for row in rows], [list(row.refs) for row in rows], ids)
    return metric


def scores_of(
    rows: Sequence[Row], encoder: Any = ENCODER, **options: Any
) -> dict[str, list[float]]:
    return numbers(update(metric_of(encoder, **options), rows))


def numbers(metric: BERTScore) -> dict[str, list[float]]:
    value = metric.compute()
    assert isinstance(value, dict)
    return {name: tensor.tolist() for name, tensor in value.items()}


def near(
    got: dict[str, list[float]], wanted: dict[str, list[float]], tolerance: float = 2e-6
) -> None:
    assert got.keys() == wanted.keys()
    for name in wanted:
        assert got[name] == pytest.approx(wanted[name], rel=0, abs=tolerance), name


# ---------------------------------------------------------------- the right number


@check
@given(rows_of, options_of, st.integers(0, DEPTH))
def test_equals_first_principles(rows: list[Row], options: dict[str, Any], layer: int) -> None:
    wanted = first_principles(
        rows, layer, options["idf"], options["match_special_tokens"], options["multi_reference"]
    )
    near(scores_of(rows, layers=layer, **options), wanted, 1e-5)


@check
@given(rows_of, options_of)
def test_the_function_gives_the_same(rows: list[Row], options: dict[str, Any]) -> None:
    got = bert_score(
        [row.pred for row in rows], [row.refs for row in rows], ENCODER, 1, device="cpu", **options
    )
    near({name: value.tolist() for name, value in got.items()}, scores_of(rows, **options), 0)


@check
@given(rows_of, options_of)
def test_never_a_nan_and_never_above_one(rows: list[Row], options: dict[str, Any]) -> None:
    for values in scores_of(rows, **options).values():
        assert all(0.0 <= value <= 1.0 for value in values)
    mean = update(metric_of(reduction="mean", score="f1", **options), rows).compute()
    assert isinstance(mean, Tensor)
    assert bool(torch.isfinite(mean))


@check
@given(rows_of, st.floats(-2.0, 2.0), st.booleans())
def test_rows_with_nothing_to_score(rows: list[Row], empty: float, rescale: bool) -> None:
    baseline: Any = Baseline([[0.5, 0.4, 0.3]] * (DEPTH + 1)) if rescale else False
    got = scores_of(rows, empty_score=empty, rescale_with_baseline=baseline)
    plain = scores_of(rows)
    for k, name in enumerate(NAMES):
        b = (0.5, 0.4, 0.3)[k] if rescale else 0.0
        for row, value, raw in zip(rows, got[name], plain[name]):
            nothing = not row.pred or not any(row.refs)
            assert value == pytest.approx(empty if nothing else (raw - b) / (1 - b), abs=2e-6)


# ---------------------------------------------------------------- the same number


@check
@given(rows_of, options_of, st.randoms(use_true_random=False))
def test_order(rows: list[Row], options: dict[str, Any], random: Any) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)
    straight, mixed = scores_of(rows, **options), scores_of([rows[i] for i in order], **options)
    near(mixed, {name: [values[i] for i in order] for name, values in straight.items()})


@check
@given(rows_of, options_of, st.integers(1, 60))
def test_batch_size(rows: list[Row], options: dict[str, Any], batch_tokens: int) -> None:
    near(
        scores_of(rows, batch_tokens=batch_tokens, embedding_cache=0, **options),
        scores_of(rows, **options),
    )


@check
@given(rows_of, options_of)
def test_padding(rows: list[Row], options: dict[str, Any]) -> None:
    """A very long row beside them changes nothing without idf."""
    options = {**options, "idf": False}
    long = Row("the cat sat on " * 8, ("a dog ran home " * 7,))
    beside = scores_of([*rows, long], embedding_cache=0, **options)
    near({name: values[:-1] for name, values in beside.items()}, scores_of(rows, **options))


@check
@given(rows_of, options_of, st.integers(0, 5000))
def test_cache(rows: list[Row], options: dict[str, Any], cache_bytes: int) -> None:
    """Some, all or none of the vectors come from the cache."""
    metric = metric_of(embedding_cache=cache_bytes, batch_tokens=77, **options)
    first = numbers(update(metric, rows))
    metric.reset()
    near(numbers(update(metric, rows)), first)
    near(first, scores_of(rows, **options))


@check
@given(rows_of, options_of, st.lists(st.integers(0, 8), max_size=4))
def test_split_into_updates(rows: list[Row], options: dict[str, Any], cuts: list[int]) -> None:
    metric = metric_of(**options)
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for start, end in pairwise(ends):
        update(metric, rows[start:end])
    near(numbers(metric), scores_of(rows, **options))


@check
@given(rows_of, options_of, st.integers(1, 4))
def test_k_updates_are_one(rows: list[Row], options: dict[str, Any], k: int) -> None:
    metric = metric_of(**options)
    for _ in range(k):
        update(metric, rows)
    near(numbers(metric), scores_of(rows * k, **options))


@check
@given(rows_of, options_of, st.lists(st.integers(0, 3), min_size=8, max_size=8), st.booleans())
def test_split_over_ranks(
    rows: list[Row], options: dict[str, Any], rank: list[int], forward: bool
) -> None:
    """A rank may have none, and may have computed before."""
    ranks = [metric_of(**options) for _ in range(4)]
    for i, row in enumerate(rows):
        add = ranks[rank[i]] if forward else ranks[rank[i]].update
        add([row.pred], [list(row.refs)], [i])
    first = ranks[0]
    update(first, [])
    for other in ranks[1:]:
        first.merge_state(other)
    near(numbers(first), scores_of(rows, **options))


@check
@given(rows_of, options_of, st.lists(st.integers(0, 7), max_size=12))
def test_repeated_ids_count_once(
    rows: list[Row], options: dict[str, Any], repeated: list[int]
) -> None:
    again = [i % len(rows) for i in repeated]
    order = [*reversed(range(len(rows))), *again]
    metric = metric_of(**options)
    for i in order:
        update(metric, [rows[i]], [10 * i])
    near(numbers(metric), scores_of(rows, **options))
    once = metric_of(**options)
    update(once, [rows[i] for i in order], [10 * i for i in order])
    near(numbers(once), scores_of(rows, **options))


@check
@given(rows_of, options_of)
def test_layers_share_one_pass(rows: list[Row], options: dict[str, Any]) -> None:
    got = scores_of(rows, layers="all", **options)
    for layer in range(DEPTH + 1):
        near(
            {name: got[f"layer_{layer}_{name}"] for name in NAMES},
            scores_of(rows, layers=layer, **options),
        )


# ---------------------------------------------------------------- sides, identity, weights


@check
@given(pairs_of, st.booleans())
def test_swapped_sides_swap_precision_and_recall(pairs: list[Row], special: bool) -> None:
    straight = scores_of(pairs, match_special_tokens=special)
    swapped = scores_of(
        [Row(row.refs[0], (row.pred,)) for row in pairs], match_special_tokens=special
    )
    near(
        swapped,
        {"precision": straight["recall"], "recall": straight["precision"], "f1": straight["f1"]},
        1e-7,
    )


@check
@given(st.lists(full_texts, min_size=1, max_size=8), options_of)
def test_identical_texts_score_one(words: list[str], options: dict[str, Any]) -> None:
    for values in scores_of([Row(text, (text,)) for text in words], **options).values():
        assert all(value <= 1.0 and value == pytest.approx(1.0, abs=1e-6) for value in values)


@check
@given(rows_of, st.booleans(), st.sampled_from(RULES), st.sampled_from([0.5, 1.0, 7.25]))
def test_a_uniform_table_is_no_idf(
    rows: list[Row], special: bool, rule: str, weight: float
) -> None:
    options = {"match_special_tokens": special, "multi_reference": rule}
    plain = scores_of(rows, **options)
    near(scores_of(rows, idf={FIRST: weight}, **options), plain)  # all others get the largest one
    near(scores_of(rows, idf=dict.fromkeys(range(FIRST + len(WORDS)), weight), **options), plain)
    near(scores_of(rows, idf=IdfTable({}, unseen=weight), **options), plain)


@check
@given(rows_of, st.booleans(), st.sampled_from(RULES))
def test_the_table_of_the_references_is_idf(rows: list[Row], special: bool, rule: str) -> None:
    options = {"match_special_tokens": special, "multi_reference": rule}
    table = IdfTable.fit((ref for row in rows for ref in row.refs), ENCODER)
    near(scores_of(rows, idf=table, **options), scores_of(rows, idf=True, **options), 1e-6)


@check
@given(full_pairs_of, st.booleans(), st.booleans())
def test_f1_is_the_harmonic_mean(pairs: list[Row], idf: bool, special: bool) -> None:
    got = scores_of(pairs, idf=idf, match_special_tokens=special)
    for p, r, f in zip(*(got[name] for name in NAMES)):
        assert f == pytest.approx(2 * p * r / (p + r), abs=1e-6)
        assert min(p, r) - 1e-6 <= f <= max(p, r) + 1e-6


@check
@given(rows_of, st.booleans())
def test_best_f1_and_mean_lie_below_max(rows: list[Row], idf: bool) -> None:
    by_rule = {rule: scores_of(rows, idf=idf, multi_reference=rule) for rule in RULES}
    assert by_rule["best_f1"]["f1"] == pytest.approx(by_rule["max"]["f1"], abs=1e-6)
    for name in NAMES:
        for best, one, middle in zip(*(by_rule[rule][name] for rule in RULES)):
            assert max(one, middle) <= best + 1e-6


@check
@given(rows_of, options_of)
def test_more_tokens_to_match_never_lower_a_score(rows: list[Row], options: dict[str, Any]) -> None:
    options.pop("match_special_tokens")
    options["multi_reference"] = "max"
    more, fewer = scores_of(rows, **options), scores_of(rows, match_special_tokens=False, **options)
    for name in NAMES:
        assert all(a >= b - 1e-6 for a, b in zip(more[name], fewer[name]))


# ---------------------------------------------------------------- the same with a real encoder


@pytest.fixture(scope="module")
def path(tiny: Callable[[str], str]) -> str:
    return tiny("bert")


slowly_rows = st.lists(
    st.builds(Row, texts, st.lists(texts, min_size=1, max_size=2).map(tuple)),
    min_size=1,
    max_size=5,
)


@check_slowly
@given(rows=slowly_rows, options=options_of)
def test_bert_equals_the_reference(path: str, rows: list[Row], options: dict[str, Any]) -> None:
    wanted = bertscore([row.pred for row in rows], [row.refs for row in rows], path, 2, **options)
    near(scores_of(rows, path, layers=2, **options), wanted, 1e-5)


@check_slowly
@given(rows=slowly_rows, options=options_of, batch_tokens=st.integers(1, 60), cut=st.integers(0, 5))
def test_bert_in_any_batches(
    path: str, rows: list[Row], options: dict[str, Any], batch_tokens: int, cut: int
) -> None:
    metric = metric_of(path, 2, batch_tokens=batch_tokens, embedding_cache=0, **options)
    update(metric, rows[:cut])
    update(metric, rows[cut:])
    near(numbers(metric), scores_of(rows, path, layers=2, **options), 1e-5)


@check_slowly
@given(pairs=pairs_of)
def test_bert_has_two_equal_sides(path: str, pairs: list[Row]) -> None:
    straight = scores_of(pairs, path, layers=2)
    swapped = scores_of([Row(row.refs[0], (row.pred,)) for row in pairs], path, layers=2)
    near(
        swapped,
        {"precision": straight["recall"], "recall": straight["precision"], "f1": straight["f1"]},
        1e-6,
    )


def test_the_warnings_that_are_left_out_here_exist() -> None:
    with pytest.warns(BERTScoreWarning, match="1 of 2 samples have nothing to score"):
        scores_of([Row("", ("a",)), Row("a", ("a",))])
