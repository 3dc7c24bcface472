"""Matching and scoring against loops and against numbers worked out by hand. No encoder takes
part."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from bertscore_tm import matching, scoring
from bertscore_tm.matching import (
    Matches,
    MatchingRule,
    Side,
    TokenVectors,
    best_similarity,
    match_pairs,
    unit_vectors,
)
from bertscore_tm.references import EMPTY, RULES, over_references
from bertscore_tm.scoring import f_beta, score_pairs, weighted_mean

Random = Callable[..., Tensor]


@pytest.fixture
def random() -> Random:
    generator = torch.Generator().manual_seed(3)
    return lambda *shape: torch.randn(*shape, generator=generator)


def embedded(
    random: Random,
    lengths: Sequence[int],
    layers: int = 2,
    dim: int = 5,
    words: Sequence[bool] | None = None,
) -> TokenVectors:
    """Random texts; by default the first and the last token of each are markers."""
    total = sum(lengths)
    word = [0 < i < n - 1 for n in lengths for i in range(n)] if words is None else list(words)
    return TokenVectors(
        random(layers, total, dim),
        torch.arange(100, 100 + total, dtype=torch.int32),
        torch.tensor(word, dtype=torch.bool),
        torch.tensor(lengths, dtype=torch.int64),
    )


def by_hand(
    texts: TokenVectors, side: int, other: int, layer: int, special: bool
) -> tuple[list[float], list[int]]:
    """For each word of one text its best cosine among the tokens of another, and its id; in loops,
    in float64."""
    ends = [0, *texts.length.cumsum(0).tolist()]
    best, ids = [], []
    for i in range(ends[side], ends[side + 1]):
        if not texts.counts[i]:
            continue
        x = texts.vectors[layer, i].double()
        cosines = []
        for j in range(ends[other], ends[other + 1]):
            if texts.counts[j] or special:
                y = texts.vectors[layer, j].double()
                cosines.append(float(x @ y / x.norm() / y.norm()))
        best.append(max(cosines, default=-1.0))
        ids.append(int(texts.token[i]))
    return best, ids


def check(texts: TokenVectors, pairs: Sequence[tuple[int, int]], special: bool) -> Matches:
    """Match `pairs` and compare all that comes out with loops."""
    index = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    got = match_pairs(texts, index[:, 0], index[:, 1], MatchingRule(special))
    for side, place in ((got.pred, 0), (got.ref, 1)):
        assert side.length.dtype == torch.int32
        assert side.similarity.dtype == torch.float32
        for layer in range(len(texts.vectors)):
            rows = [by_hand(texts, pair[place], pair[1 - place], layer, special) for pair in pairs]
            assert side.length.tolist() == [len(ids) for _, ids in rows]
            assert side.token.tolist() == [i for _, ids in rows for i in ids]
            wanted = [value for best, _ in rows for value in best]
            assert side.similarity[:, layer].tolist() == pytest.approx(wanted, rel=0, abs=1e-6)
    return got


# ---------------------------------------------------------------- matching


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("layers", [1, 3])
def test_matching_equals_a_loop(special: bool, layers: int, random: Random) -> None:
    texts = embedded(random, [4, 7, 3, 12, 2, 5], layers)
    check(texts, [(0, 1), (2, 3), (3, 2), (5, 5), (1, 0), (4, 0), (0, 4)], special)


def mutual_by_hand(
    texts: TokenVectors, side: int, other: int, layer: int, special: bool, floor: float
) -> list[float]:
    """The same where a token whose match has a better one gets half of what is above the floor."""
    ends = [0, *texts.length.cumsum(0).tolist()]

    def opened(text: int) -> list[int]:
        return [i for i in range(ends[text], ends[text + 1]) if texts.counts[i] or special]

    def cosine(i: int, j: int) -> float:
        x, y = texts.vectors[layer, i].double(), texts.vectors[layer, j].double()
        return float(x @ y / x.norm() / y.norm())

    found = []
    for i in range(ends[side], ends[side + 1]):
        if texts.counts[i] and not opened(other):
            found.append(-1.0)
        elif texts.counts[i]:
            j = max(opened(other), key=lambda j: cosine(i, j))
            chosen = max(opened(side), key=lambda k: cosine(k, j))
            s = cosine(i, j)
            credit = s if chosen == i else floor + (s - floor) / 2
            found.append(credit if s > floor else s)
    return found


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("block", [4_000_000, 7])
def test_mutual_matching_equals_a_loop(
    special: bool, block: int, random: Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "BLOCK", block)
    texts = embedded(random, [4, 7, 3, 12, 2, 5], 2)
    pairs = [(0, 1), (2, 3), (3, 2), (1, 0), (4, 0), (0, 4)]
    floor = torch.tensor([[0.1, 0.2], [-0.3, 0.0]])
    index = torch.tensor(pairs)
    got = match_pairs(texts, index[:, 0], index[:, 1], MatchingRule(special, floor))
    greedy = match_pairs(texts, index[:, 0], index[:, 1], MatchingRule(special))
    for side, other, place in ((got.pred, greedy.pred, 0), (got.ref, greedy.ref, 1)):
        assert torch.equal(side.token, other.token)
        assert torch.equal(side.length, other.length)
        assert (side.similarity < other.similarity - 1e-3).any()  # the rule does something
        for layer in range(2):
            low = float(floor[layer, place])
            wanted = [
                value
                for pair in pairs
                for value in mutual_by_hand(
                    texts, pair[place], pair[1 - place], layer, special, low
                )
            ]
            assert side.similarity[:, layer].tolist() == pytest.approx(wanted, rel=0, abs=1e-6)


def test_a_word_that_stands_twice_has_two_mutual_matches() -> None:
    """Equal vectors, as in layer 0 of encoders without positions: neither is the lesser match."""
    vectors = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]])
    counts = torch.ones(5, dtype=torch.bool)
    texts = TokenVectors(vectors, torch.arange(5, dtype=torch.int32), counts, torch.tensor([3, 2]))
    rule = MatchingRule(True, torch.zeros(1, 2))
    got = match_pairs(texts, torch.tensor([0]), torch.tensor([1]), rule)
    assert got.pred.similarity.flatten().tolist() == [1.0, 1.0, 1.0]
    assert got.ref.similarity.flatten().tolist() == [1.0, 1.0]


def test_markers_decide_some_matches(random: Random) -> None:
    """Else the rule for special tokens would not be tested above."""
    texts = embedded(random, [4, 7, 3, 12])
    pairs = [(0, 1), (2, 3)]
    assert not torch.equal(
        check(texts, pairs, True).ref.similarity, check(texts, pairs, False).ref.similarity
    )


def test_cosine_by_hand() -> None:
    vectors = torch.tensor([[[3.0, 0.0], [0.0, 0.5], [2.0, 2.0], [-1.0, 0.0]]])
    texts = TokenVectors(
        vectors,
        torch.tensor([7, 8, 9, 6], dtype=torch.int32),
        torch.ones(4, dtype=torch.bool),
        torch.tensor([2, 2]),
    )
    got = match_pairs(texts, torch.tensor([0]), torch.tensor([1]))
    half = math.sqrt(0.5)  # (1, 0) and (0, 1) against (1, 1) / sqrt 2
    assert got.pred.similarity.flatten().tolist() == pytest.approx([half, half])
    assert got.ref.similarity.flatten().tolist() == pytest.approx([half, 0.0], abs=1e-7)
    assert (got.pred.token.tolist(), got.ref.token.tolist()) == ([7, 8], [9, 6])


def test_a_negative_best_match_stays_negative() -> None:
    """Padding, whose similarity would be 0, is no match: the shorter of two pairs in one block
    keeps its -1."""
    vectors = torch.tensor([[[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    texts = TokenVectors(
        vectors,
        torch.arange(5, dtype=torch.int32),
        torch.ones(5, dtype=torch.bool),
        torch.tensor([1, 1, 3]),
    )
    got = match_pairs(texts, torch.tensor([0, 0]), torch.tensor([1, 2]))
    assert got.pred.similarity.flatten().tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("block", [1, 2, 7, 40, 200])
@pytest.mark.parametrize("special", [True, False])
def test_blocks_change_nothing(
    block: int, special: bool, random: Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = embedded(random, [4, 7, 3, 12, 2, 5])
    pairs = [(0, 1), (2, 3), (3, 2), (5, 5), (1, 0)]
    whole = check(texts, pairs, special)
    monkeypatch.setattr(matching, "BLOCK", block)
    cut = check(texts, pairs, special)
    for a, b in ((whole.pred, cut.pred), (whole.ref, cut.ref)):
        assert torch.allclose(a.similarity, b.similarity, rtol=0, atol=1e-6)


@pytest.mark.parametrize("block", [100, 200, 1_000])
def test_blocks_hold_no_more_than_they_may(
    block: int, random: Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One pair alone may be larger; several together not. Similarities of a long pair are made in
    parts."""
    texts = embedded(random, [4, 7, 3, 12, 2, 5])
    pairs = torch.tensor([(0, 1), (2, 3), (3, 2), (5, 5), (1, 0), (4, 4), (4, 0)])
    seen: list[tuple[int, int]] = []
    product = torch.bmm

    def bmm(a: Tensor, b: Tensor) -> Tensor:
        seen.append((len(a), max(a.numel() + b.numel(), a.shape[0] * a.shape[1] * b.shape[2])))
        return product(a, b)

    monkeypatch.setattr(torch, "bmm", bmm)
    monkeypatch.setattr(matching, "BLOCK", block)
    match_pairs(texts, pairs[:, 0], pairs[:, 1])
    assert all(elements <= block for together, elements in seen if together > 1)
    assert max(together for together, _ in seen) > 1
    assert len(seen) > 2 or block == 1_000  # two layers: at least two products


def test_no_pairs() -> None:
    """The caller has none where all rows are empty; the joined shapes must still be right."""
    none = torch.empty(0, dtype=torch.int64)
    side = Side(torch.empty(0, 2), none.int(), none.int())
    assert Side.cat([side, side]).similarity.shape == (0, 2)
    assert Side.cat([side]).take(none).length.tolist() == []


def test_texts_without_words_or_without_tokens(random: Random) -> None:
    """A text of markers only, one with no token at all, and a whole block of such."""
    texts = embedded(random, [4, 2, 0, 3])
    got = check(texts, [(0, 3), (1, 0), (2, 0), (0, 2), (2, 2), (1, 2)], True)
    assert got.pred.length.tolist() == [2, 0, 0, 2, 0, 0]
    scores, _ = score_pairs(got)
    assert (scores == EMPTY).all(-1).all(-1).tolist() == [False, True, True, True, True, True]
    check(texts, [(2, 2), (1, 2)], False)


def test_nothing_open_is_minus_one() -> None:
    vectors = unit_vectors(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]))
    closed, open_ = torch.zeros(1, 2, dtype=torch.bool), torch.ones(1, 2, dtype=torch.bool)
    a, b = best_similarity(vectors, vectors, closed, open_)
    assert (a.tolist(), b.tolist()) == ([[1.0, 1.0]], [[-1.0, -1.0]])


def test_similarity_never_leaves_its_range(random: Random) -> None:
    """Rounding makes some products of a vector with itself larger than 1."""
    vectors = random(1, 4_000, 3)
    assert bool((unit_vectors(vectors) * unit_vectors(vectors)).sum(-1).gt(1).any())
    texts = TokenVectors(
        vectors,
        torch.arange(4_000, dtype=torch.int32),
        torch.ones(4_000, dtype=torch.bool),
        torch.full((1_000,), 4),
    )
    index = torch.arange(1_000)
    for side in (match_pairs(texts, index, index).pred, match_pairs(texts, index, index).ref):
        assert side.similarity.max() <= 1.0
        assert side.similarity.min() >= 1.0 - 1e-6


def test_unit_vectors(random: Random) -> None:
    vectors = random(2, 3, 4) * 1e-3
    assert unit_vectors(vectors).norm(dim=-1).flatten().tolist() == pytest.approx(
        [1.0] * 6, abs=1e-6
    )
    assert unit_vectors(torch.zeros(2, 4)).tolist() == torch.zeros(2, 4).tolist()
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        assert unit_vectors(vectors.to(dtype)).dtype == torch.float32
    large = unit_vectors(
        torch.full((1, 400), 60_000.0, dtype=torch.float16)
    )  # a norm in float16 would be infinite
    assert large.norm().item() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none(bad: float, random: Random) -> None:
    texts = embedded(random, [4, 5])
    texts.vectors[1, 6, 2] = bad
    with pytest.raises(
        FloatingPointError, match=r"infinite or not a number.*use dtype bfloat16 or float32"
    ):
        match_pairs(texts, torch.tensor([0]), torch.tensor([1]))


def test_take(random: Random) -> None:
    side = Side(
        random(6, 2),
        torch.arange(6, dtype=torch.int32),
        torch.tensor([2, 0, 3, 1], dtype=torch.int32),
    )
    taken = side.take(torch.tensor([2, 1, 0, 2]))
    assert taken.token.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert taken.length.tolist() == [3, 0, 2, 3]
    assert torch.equal(taken.similarity, side.similarity[taken.token.long()])


# ---------------------------------------------------------------- scoring


def side(similarity: Sequence[float], token: Sequence[int], length: Sequence[int]) -> Side:
    return Side(
        torch.tensor(similarity, dtype=torch.float32).reshape(len(token), -1),
        torch.tensor(token, dtype=torch.int32),
        torch.tensor(length, dtype=torch.int32),
    )


def weights(table: dict[int, float]) -> scoring.Weigh:
    return lambda token: torch.tensor([table[int(i)] for i in token], dtype=torch.float64)


def test_weighted_mean_by_hand() -> None:
    one = side([0.5, 1.0, 0.25, 0.75], [1, 2, 3, 4], [2, 2])
    mean, weightless = weighted_mean(one)
    assert mean.flatten().tolist() == pytest.approx([0.75, 0.5])
    mean, weightless = weighted_mean(one, weights({1: 3.0, 2: 1.0, 3: 0.0, 4: 2.0}))
    assert mean.flatten().tolist() == pytest.approx([(0.5 * 3 + 1) / 4, 0.75])
    assert mean.dtype == torch.float64
    assert weightless.tolist() == [False, False]


def test_a_side_without_weight_counts_equally() -> None:
    mean, weightless = weighted_mean(
        side([0.5, 1.0, 0.2, 0.4], [1, 2, 3, 3], [2, 0, 2]), weights({1: 0.0, 2: 0.0, 3: 1.0})
    )
    assert mean[[0, 2], 0].tolist() == pytest.approx([0.75, 0.3])
    assert weightless.tolist() == [
        True,
        False,
        False,
    ]  # a side without words is empty, not weightless


def test_which_pairs_were_weighted_equally() -> None:
    """Either side is enough; an empty pair is none of them."""
    zero = weights({1: 0.0, 2: 1.0})
    pred, ref = (
        side([0.5, 0.5, 0.5], [1, 2, 1], [1, 1, 1, 0]),
        side([0.5, 0.5, 0.5], [2, 1, 2], [1, 1, 0, 1]),
    )
    scores, weightless = score_pairs(Matches(pred, ref), zero)
    assert weightless.tolist() == [True, True, False, False]
    assert (scores == EMPTY).all(-1).flatten().tolist() == [False, False, True, True]


def test_scores_equal_a_loop(random: Random) -> None:
    lengths_p, lengths_r = [3, 0, 2, 1, 4], [2, 3, 0, 5, 1]
    sides = [
        side(random(sum(n), 2).tanh().flatten().tolist(), [i % 4 for i in range(sum(n))], n)
        for n in (lengths_p, lengths_r)
    ]
    table = {0: 0.5, 1: 2.0, 2: 0.0, 3: 1.25}
    got, _ = score_pairs(Matches(*sides), weights(table))
    for pair, (n, m) in enumerate(zip(lengths_p, lengths_r)):
        if not (n and m):
            assert bool((got[pair] == EMPTY).all())
            continue
        for layer in range(2):
            means = []
            for part, lengths in zip(sides, (lengths_p, lengths_r)):
                first = sum(lengths[:pair])
                rows = range(first, first + lengths[pair])
                w = [table[int(part.token[i])] for i in rows]
                w = w if sum(w) else [1.0] * len(w)
                means.append(
                    sum(a * float(part.similarity[i, layer]) for a, i in zip(w, rows)) / sum(w)
                )
            p, r = means
            harmonic = 2 / (1 / p + 1 / r) if p > 0 and r > 0 else 0.0
            assert got[pair, layer].tolist() == pytest.approx([p, r, harmonic], rel=0, abs=1e-12)


def test_long_sides_lose_no_digits() -> None:
    """A float32 sum of a million values would be off by more."""
    one = side([0.1] * 1_000_000, [1] * 1_000_000, [1_000_000])
    assert weighted_mean(one)[0].item() == pytest.approx(float(torch.tensor(0.1)), rel=0, abs=1e-12)


@pytest.mark.parametrize(
    "p, r, wanted",
    [
        (1.0, 1.0, 1.0),
        (0.5, 0.25, 1 / 3),
        (1e-30, 1e-30, 1e-30),
        (0.0, 0.0, 0.0),
        (0.0, 0.7, 0.0),
        (0.7, 0.0, 0.0),
        (-0.2, 0.7, 0.0),
        (0.7, -0.2, 0.0),
        (0.5, -0.5, 0.0),  # where the formula divides by zero
        (-0.3, -0.3, 0.0),
    ],
)
def test_f1(p: float, r: float, wanted: float) -> None:
    got = f_beta(torch.tensor([p], dtype=torch.float64), torch.tensor([r], dtype=torch.float64))
    assert got.tolist() == pytest.approx([wanted], rel=1e-12, abs=0)


def test_f1_lies_between_its_parts() -> None:
    values = torch.linspace(0.001, 1, 50, dtype=torch.float64)
    p, r = values[:, None].expand(50, 50), values[None, :].expand(50, 50)
    got = f_beta(p, r)
    assert bool((got <= torch.maximum(p, r) + 1e-12).all())
    assert bool((got >= torch.minimum(p, r) - 1e-12).all())


# ---------------------------------------------------------------- several references

A, B, C = (0.9, 0.3, 0.45), (0.5, 0.7, 0.5833), (0.6, 0.6, 0.6)
E = (EMPTY,) * 3


def join(rows: Sequence[Sequence[float]], counts: Sequence[int], rule: str) -> list[list[float]]:
    scores = torch.tensor(rows, dtype=torch.float64).reshape(-1, 1, 3)
    return over_references(scores, torch.tensor(counts, dtype=torch.int32), rule)[:, 0].tolist()


@pytest.mark.parametrize(
    "rule, wanted",
    [
        ("max", [(0.9, 0.7, 0.6), B, (0.9, 0.3, 0.45)]),
        ("best_f1", [C, B, A]),
        ("mean", [(2.0 / 3, 1.6 / 3, (0.45 + 0.5833 + 0.6) / 3), B, A]),
    ],
)
def test_rules_by_hand(rule: str, wanted: Sequence[Sequence[float]]) -> None:
    got = join([A, B, C, B, A], [3, 1, 1], rule)
    assert got == [pytest.approx(row) for row in wanted]


@pytest.mark.parametrize("rule", list(RULES))
def test_empty_references_are_left_out(rule: str) -> None:
    assert join([E, A, E, E, E, E], [3, 2, 1], rule) == [pytest.approx(A), list(E), list(E)]


@pytest.mark.parametrize("rule", list(RULES))
def test_negative_scores_are_no_empty_ones(rule: str) -> None:
    low = (-0.9, -0.5, 0.0)
    assert join([E, low, low], [2, 1], rule) == [pytest.approx(low)] * 2


@pytest.mark.parametrize("rule", list(RULES))
def test_one_reference_each_changes_nothing(rule: str) -> None:
    assert join([A, E, C], [1, 1, 1], rule) == [list(A), list(E), list(C)]


def test_no_samples() -> None:
    assert over_references(torch.empty(0, 2, 3), torch.empty(0, dtype=torch.int32)).shape == (
        0,
        2,
        3,
    )


def test_each_layer_has_its_own_best_reference() -> None:
    scores = torch.tensor([[A, B], [C, A]], dtype=torch.float64)  # two references, two layers
    got = over_references(scores, torch.tensor([2]), "best_f1")
    assert got[0].tolist() == [list(C), list(B)]


@pytest.mark.parametrize("rule", list(RULES))
def test_rules_equal_a_loop(rule: str, random: Random) -> None:
    counts = [1, 4, 2, 1, 3]
    scores = random(sum(counts), 2, 3).double()
    scores[2], scores[5] = EMPTY, EMPTY
    got = over_references(scores, torch.tensor(counts), rule)
    first = 0
    for sample, count in enumerate(counts):
        for layer in range(2):
            rows = [row for row in scores[first : first + count, layer].tolist() if row[0] != EMPTY]
            if rule == "best_f1":
                wanted = max(rows, key=lambda row: row[2])
            else:
                wanted = [
                    max(column) if rule == "max" else sum(column) / len(column)
                    for column in zip(*rows)
                ]
            assert got[sample, layer].tolist() == pytest.approx(wanted)
        first += count
