"""Agreement with people: coefficients against scipy and plain loops, and what intervals cover."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bertscore_tm.agreement import Agreement, Bootstrap, agree, agree_on_ranks
from bertscore_tm.coefficients import (
    all_pairs,
    calibrate,
    kendall,
    pairwise_accuracy,
    pearson,
    spearman,
)
from bertscore_tm.errors import BERTScoreWarning, InvalidTypeError, InvalidValueError

stats = pytest.importorskip("scipy.stats")
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
OURS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
FEW = Bootstrap(100)


def data(rows: int, seed: int = 0, ties: bool = True) -> tuple[np.ndarray[Any, Any], ...]:
    """Scores of two metrics and of people, with ties in all of them."""
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 5, rows).astype(float)
    good, bad = human + rng.normal(0, 1, rows), human + rng.normal(0, 4, rows)
    return (good.round(1), bad.round(0), human) if ties else (good, bad, human)


def found(answer: Sequence[Agreement], statistic: str, metric: str, level: str) -> Agreement:
    (one,) = (
        a for a in answer if (a.statistic, a.metric, a.level) == (statistic, metric, level)
    )  # fmt: skip
    return one


def resampled(rows: int, seed: int = 0) -> tuple[Tensor, list[np.ndarray[Any, Any]]]:
    """Weights, and the same as places: the data themselves, then some draws."""
    rng = np.random.default_rng(seed)
    places = [np.arange(rows), *(rng.integers(0, rows, rows) for _ in range(5))]
    counts = [np.bincount(each, minlength=rows) for each in places]
    return torch.tensor(np.array(counts)).double(), places


def accuracy_by_hand(x: Any, y: Any, pairs: Any, threshold: float) -> float:
    """The share of pairs in which metric and people say the same: better, worse or equal."""
    right = 0
    for i, j in pairs:
        metric = 0 if abs(x[i] - x[j]) <= threshold else np.sign(x[i] - x[j])
        right += metric == np.sign(y[i] - y[j])
    return right / len(pairs)


def best_by_hand(x: Any, y: Any, items: Sequence[Sequence[int]]) -> float:
    """The best accuracy that any threshold gives, a mean over items."""
    pairs = [[*itertools.combinations(item, 2)] for item in items]
    thresholds = {0.0, *(abs(x[i] - x[j]) for item in pairs for i, j in item)}
    return max(
        float(np.mean([accuracy_by_hand(x, y, item, each) for item in pairs]))
        for each in thresholds
    )


# ---------------------------------------------------------------- coefficients


@pytest.mark.parametrize("rows", [4, 30, 200])
@pytest.mark.parametrize("name", SCIPY)
def test_weights_are_copies(name: str, rows: int) -> None:
    x, _, y = data(rows)
    weights, places = resampled(rows)
    with np.errstate(all="ignore"):
        wanted = [SCIPY[name](x[each], y[each])[0] for each in places if len({*y[each]}) > 1]
    got = OURS[name](torch.tensor(x), torch.tensor(y), weights)
    kept = [len({*y[each]}) > 1 for each in places]
    assert got[kept].tolist() == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("name", SCIPY)
def test_rows_of_their_own(name: str) -> None:
    """As the means of systems are in each resample."""
    x = torch.tensor(np.array([data(9, seed)[1] for seed in range(6)]))
    y = torch.tensor(np.array([data(9, seed)[2] for seed in range(6)]))
    got = OURS[name](x, y, torch.ones(6, 9).double())
    wanted = [SCIPY[name](a.numpy(), b.numpy())[0] for a, b in zip(x, y)]
    assert got.tolist() == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("name", SCIPY)
def test_nothing_agrees_with_a_constant(name: str) -> None:
    y = torch.arange(5.0).double()
    weights = torch.tensor([[1.0, 1, 1, 1, 1], [5, 0, 0, 0, 0]]).double()
    for value in (0.0, 0.1, 1e9 / 3):
        assert OURS[name](torch.full((5,), value).double(), y, weights).isnan().all()
    assert OURS[name](y + 0.1, y, weights).isnan().tolist() == [False, True]


def test_large_and_small_numbers_correlate() -> None:
    y = torch.tensor([1.0, 2, 4, 3]).double()
    weights = torch.ones(1, 4).double()
    wanted = float(stats.pearsonr([1, 2, 3, 4], y.numpy())[0])
    for scale, shift in ((1e-12, 0), (1e12, 0), (1, 1e6)):
        x = torch.tensor([1.0, 2, 3, 4]).double() * scale + shift
        assert float(pearson(x, y, weights)) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 2.0])
def test_accuracy_of_all_pairs(threshold: float) -> None:
    x, _, y = data(25)
    weights, places = resampled(25)
    got = pairwise_accuracy(torch.tensor(x), torch.tensor(y), weights, threshold)
    for value, each in zip(got.tolist(), places):
        # Copies of one row are no pair.
        pairs = [(i, j) for i, j in itertools.combinations(each, 2) if i != j]
        assert value == pytest.approx(accuracy_by_hand(x, y, pairs, threshold), abs=1e-12)


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_threshold(seed: int, ties: bool) -> None:
    x, bad, y = data(14, seed, ties)
    i, j = all_pairs(14, torch.Generator())
    assert [*zip(i.tolist(), j.tolist())] == [*itertools.combinations(range(14), 2)]
    for metric in (x, bad, -x):
        dx = torch.tensor(metric)[i] - torch.tensor(metric)[j]
        dy = torch.tensor(y)[i] - torch.tensor(y)[j]
        threshold = calibrate(dx, dy, torch.ones(len(i)).double())
        pairs = [*zip(i.tolist(), j.tolist())]
        got = accuracy_by_hand(metric, y, pairs, threshold)
        assert got == pytest.approx(best_by_hand(metric, y, [range(14)]), abs=1e-12)


def test_very_many_pairs_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertscore_tm.coefficients._PAIRS", 5000)
    i, j = all_pairs(1000, torch.Generator().manual_seed(0))
    assert len(i) == 100 * 99 // 2
    assert (i != j).all()
    assert int(torch.cat([i, j]).max()) > 900
    monkeypatch.setattr("bertscore_tm.coefficients._CELLS", 64)  # blocks of one row
    test_accuracy_of_all_pairs(0.3)
    test_weights_are_copies("kendall", 30)


# ---------------------------------------------------------------- segments, systems, groups


@pytest.mark.parametrize("name", SCIPY)
def test_segments_and_groups(name: str) -> None:
    good, bad, human = data(90)
    groups = ["de", "cs", "ru"] * 30
    answer = agree({"good": good, "bad": bad}, human, groups=groups, bootstrap=FEW)
    for metric, x in (("good", good), ("bad", bad)):
        one = found(answer, name, metric, "segment")
        each = {g: SCIPY[name](x[k::3], human[k::3])[0] for k, g in enumerate(("de", "cs", "ru"))}
        assert one.groups == pytest.approx(each, abs=1e-12)
        assert one.value == pytest.approx(np.mean([*each.values()]), abs=1e-12)
        assert one.value is not None
        assert one.low is not None
        assert one.high is not None
        assert one.low < one.value < one.high
    assert {a.level for a in answer} == {"segment"}


@pytest.mark.parametrize("pairs", ["auto", "segment", "all"])
def test_accuracy_within_segments(pairs: str) -> None:
    """12 segments of 4 systems and one of a single row, shuffled."""
    good, bad, human = data(49)
    segments = np.random.default_rng(5).permutation([*np.repeat(range(12), 4), 99])
    answer = agree(
        {"good": good, "bad": bad}, human, segments=segments.tolist(), pairs=pairs, bootstrap=FEW
    )
    items = [np.flatnonzero(segments == s) for s in range(12)]
    for metric, x in (("good", good), ("bad", bad)):
        one = found(answer, "accuracy", metric, "segment")
        best = best_by_hand(x, human, [range(49)] if pairs == "all" else items)
        assert one.value == pytest.approx(best, abs=1e-12)
        assert one.thresholds is not None
        assert [*one.thresholds] == ["all"]


def test_without_segments_all_pairs_of_a_group_count() -> None:
    _, bad, human = data(40)
    few = agree({"bad": bad}, human, segments=[0, 0, *range(1, 39)], bootstrap=FEW)
    groups = agree({"bad": bad}, human, groups=["a", "b"] * 20, bootstrap=FEW)
    wanted = best_by_hand(bad, human, [range(40)])
    assert found(few, "accuracy", "bad", "segment").value == pytest.approx(wanted, abs=1e-12)
    halves = [best_by_hand(bad, human, [range(k, 40, 2)]) for k in (0, 1)]
    one = found(groups, "accuracy", "bad", "segment")
    assert one.value == pytest.approx(np.mean(halves), abs=1e-12)


def test_systems() -> None:
    good, bad, human = data(120)
    names = [f"s{i % 6}" for i in range(120)]
    answer = agree({"good": good, "bad": bad}, human, systems=names, bootstrap=FEW)
    means = {metric: [x[k::6].mean() for k in range(6)] for metric, x in
             (("good", good), ("bad", bad), ("human", human))}  # fmt: skip
    for metric in ("good", "bad"):
        for name, one in SCIPY.items():
            wanted = one(means[metric], means["human"])[0]
            got = found(answer, name, metric, "system")
            assert got.value == pytest.approx(wanted, abs=1e-12)
        pairs = [*itertools.combinations(range(6), 2)]
        wanted = accuracy_by_hand(means[metric], means["human"], pairs, 0)
        got = found(answer, "accuracy", metric, "system")
        assert got.value == pytest.approx(wanted, abs=1e-12)
        assert got.thresholds is None


def test_two_systems_are_no_level() -> None:
    good, _, human = data(40)
    answer = agree({"good": good}, human, systems=["a", "b"] * 20, bootstrap=FEW)
    assert {a.level for a in answer} == {"segment"}


def test_relative_ranks() -> None:
    """WMT's formula: an equal score is as wrong as a worse one."""
    better = {"good": [3.0, 2, 1, 5], "bad": [1.0, 1, 1, 1]}
    worse = {"good": [1.0, 1, 1, 7], "bad": [0.0, 1, 2, 3]}
    good, bad = agree_on_ranks(better, worse, bootstrap=FEW)
    assert (good.value, bad.value) == ((2 - 2) / 4, (1 - 3) / 4)
    assert good.difference is None
    assert bad.difference == pytest.approx(0.5)
    halves = agree_on_ranks(better, worse, groups=["a", "a", "a", "b"], bootstrap=FEW)
    assert halves[0].groups == pytest.approx({"a": 1 / 3, "b": -1})
    assert halves[0].value == pytest.approx(-1 / 3)


# ---------------------------------------------------------------- intervals


def by_hand(
    statistic: Callable[..., Any], x: Any, y: Any, clusters: Any, resamples: int
) -> np.ndarray[Any, Any]:
    """A bootstrap of whole clusters, in a plain loop."""
    rng = np.random.default_rng(9)
    places = [np.flatnonzero(clusters == c) for c in sorted({*clusters})]
    values = []
    for _ in range(resamples):
        drawn = np.concatenate([places[k] for k in rng.integers(0, len(places), len(places))])
        values.append([statistic(one[drawn], y[drawn])[0] for one in x])
    return np.array(values)


@pytest.mark.parametrize("name", SCIPY)
def test_intervals_are_those_of_a_plain_bootstrap_of_clusters(name: str) -> None:
    good, bad, human = data(120)
    human += np.repeat(
        np.random.default_rng(4).normal(0, 2, 30), 4
    )  # rows of a cluster go together
    clusters = np.repeat(np.arange(30), 4)
    drawn = by_hand(SCIPY[name], (good, bad), human, clusters, 800)
    answer = agree(
        {"good": good, "bad": bad}, human, segments=clusters.tolist(), bootstrap=Bootstrap(2000)
    )
    for k, metric in enumerate(("good", "bad")):
        one = found(answer, name, metric, "segment")
        wanted = np.percentile(drawn[:, k], [2.5, 97.5])
        error = 0.25 * drawn[:, k].std()
        assert [one.low, one.high] == pytest.approx([*wanted], abs=error)
    gaps = drawn[:, 0] - drawn[:, 1]
    one = found(answer, name, "bad", "segment")
    assert [one.difference_low, one.difference_high] == pytest.approx(
        [*np.percentile(gaps, [2.5, 97.5])], abs=0.25 * gaps.std()
    )


def test_copies_of_a_row_tell_nothing_new() -> None:
    """Four copies of each row: as wide as the rows alone if drawn together, else half as wide."""
    good, _, human = data(60)
    width = []
    for copies, clusters in ((1, None), (4, np.repeat(np.arange(60), 4).tolist()), (4, None)):
        rows = (np.repeat(good, copies), np.repeat(human, copies))
        answer = agree(
            {"good": rows[0]}, rows[1], clusters=clusters, pairs="all", bootstrap=Bootstrap(2000)
        )
        one = found(answer, "pearson", "good", "segment")
        assert one.low is not None
        assert one.high is not None
        width.append(one.high - one.low)
    assert width[1] == pytest.approx(width[0], rel=0.1)
    assert width[2] == pytest.approx(width[0] / 2, rel=0.15)


def test_groups_keep_their_size() -> None:
    """Ten rows beside a thousand: never lost in a draw, whatever the seed."""
    good, _, human = data(1010)
    groups = ["small"] * 10 + ["large"] * 1000
    one = agree({"good": good}, human, groups=groups, bootstrap=Bootstrap(200))[0]
    assert one.low is not None
    assert one.value is not None
    assert one.low < one.value


def test_differences_are_corrected_for_their_number() -> None:
    good, bad, human = data(80)
    rng = np.random.default_rng(0)
    others = {f"m{i}": bad + rng.normal(0, 1, 80) for i in range(3)}
    answer = agree({"good": good, **others}, human, bootstrap=Bootstrap(300))
    first, *rest = [a for a in answer if a.statistic == "pearson"]
    assert (first.difference, first.p_value, first.adjusted_p) == (None, None, None)
    for one in rest:
        assert first.value is not None
        assert one.value is not None
        assert one.difference == pytest.approx(first.value - one.value, abs=1e-12)
        assert one.p_value == pytest.approx(1 / 301)  # no draw is as far
        assert one.adjusted_p == pytest.approx(3 / 301)


def test_the_seed_decides() -> None:
    good, bad, human = data(40)
    scores = {"good": good, "bad": bad}
    assert agree(scores, human, bootstrap=FEW) == agree(scores, human, bootstrap=FEW)
    assert agree(scores, human, bootstrap=FEW) != agree(
        scores, human, bootstrap=Bootstrap(100, seed=1)
    )


@pytest.mark.slow
def test_intervals_cover() -> None:
    """300 sets of 50 clusters of 3 rows that share a part; the truth is that of a large set."""
    rng = np.random.default_rng(7)

    def draw(clusters: int) -> tuple[Any, Any]:
        shared = np.repeat(rng.normal(size=clusters), 3)
        human = shared + rng.normal(size=3 * clusters)
        return human + rng.normal(0, 1.5, 3 * clusters), human

    x, y = draw(100_000)
    truth = {name: one(x, y)[0] for name, one in SCIPY.items()}
    truth["accuracy"] = np.mean((x[0::3] - x[1::3]) * (y[0::3] - y[1::3]) > 0)  # no ties here
    segments = np.repeat(np.arange(50), 3).tolist()
    covered = dict.fromkeys(truth, 0)
    for _ in range(300):
        x, y = draw(50)
        for one in agree({"x": x}, y, segments=segments, bootstrap=Bootstrap(400)):
            assert one.low is not None
            assert one.high is not None
            covered[one.statistic] += one.low <= truth[one.statistic] <= one.high
    print(covered)
    # 95%: plus or minus 2.5 by chance; percentiles of so few clusters are a little short.
    assert all(0.90 <= count / 300 <= 0.98 for count in covered.values()), covered


def test_the_block_of_the_page_gives_what_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[1] / "docs" / "agreement.md").read_text("utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    exec(compile(block, "agreement.md", "exec"), {})
    assert f"It prints `{capsys.readouterr().out.strip()}`" in page


# ---------------------------------------------------------------- what does not fit


def test_groups_without_a_correlation_are_left_out_with_a_warning() -> None:
    good, _, human = data(40)
    human[1::2] = 3.0  # group b
    with pytest.warns(BERTScoreWarning, match="in 1 of 2 groups some agreement is not defi"):
        answer = agree({"good": good}, human, groups=["a", "b"] * 20, bootstrap=FEW)
    one = found(answer, "pearson", "good", "segment")
    wanted = stats.pearsonr(good[::2], human[::2])[0]
    assert one.groups == {"a": pytest.approx(wanted), "b": None}
    assert one.value == pytest.approx(wanted)


@pytest.mark.filterwarnings("ignore:.*in 1 of 1 groups some")
def test_a_constant_metric_is_undefined() -> None:
    good, _, human = data(20)
    answer = agree({"good": good, "none": [1.0] * 20}, human, bootstrap=FEW)
    one = found(answer, "pearson", "none", "segment")
    nothing = (one.value, one.low, one.high, one.difference, one.p_value, one.adjusted_p)
    assert nothing == (None,) * 6
    assert found(answer, "pearson", "good", "segment").value is not None
    accuracy = found(answer, "accuracy", "none", "segment").value
    pairs = [*itertools.combinations(human, 2)]
    assert accuracy == pytest.approx(np.mean([a == b for a, b in pairs]))


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        (({"a": [1, 2, 3]}, [1, 2]), {}, "got 2 human scores for 3 rows; wanted one a row"),
        (({"a": [1, 2]}, [1, 2]), {}, "and at least 3 rows"),
        (({"a": [1, 2, 3]}, [1, 2, math.inf]), {}, "got inf in sample 2 of human; wanted finite"),
        (
            ({"a": [1, 2, 3]}, [1, 2, 3]),
            {"pairs": "x"},
            "got pairs='x'; wanted 'auto', 'segment' or 'all'",
        ),
        (({"a": [1, 2, 3]}, [1, 2, 3]), {"groups": ["a"]}, "got 1 groups for 3 rows; wanted one a"),
        (
            ({"a": [1, 2, 3]}, [1, 2, 3]),
            {"segments": [1, 1, 2], "clusters": [1, 2, 3]},
            "got clusters that cut segments; wanted all rows of a segment in one cluster",
        ),
    ],
)
def test_what_does_not_fit(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        agree(*arguments, **options)


def test_ranks_that_do_not_fit() -> None:
    with pytest.raises(
        InvalidValueError, match=r"got better of a \(2 rows\) and worse of b \(2 ro"
    ):
        agree_on_ranks({"a": [1, 2]}, {"b": [1, 2]})
    with pytest.raises(InvalidTypeError, match="got list as better; wanted a mapping"):
        agree_on_ranks([1, 2], {"b": [1, 2]})  # type: ignore[arg-type]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_draw_without_a_system_says_nothing_of_it(sign: int) -> None:
    """Systems of few segments are absent from some draws."""
    human = [1.0, 1.1, 1.2, 2.0, 2.1, 3.0]
    metric = {"m": [sign * value for value in human]}
    found = agree(
        metric, human, segments=range(6), systems=list("AAABBC"), bootstrap=Bootstrap(1000)
    )
    of_systems = {each.statistic: each for each in found if each.level == "system"}
    for name in ("spearman", "kendall"):
        each = of_systems[name]
        assert (each.value, each.low, each.high) == pytest.approx((sign, sign, sign))
    accuracy = of_systems["accuracy"]
    wanted = float(sign > 0)
    assert (accuracy.value, accuracy.low, accuracy.high) == pytest.approx((wanted,) * 3)


def test_a_row_without_a_system_makes_none() -> None:
    human = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    systems = ["A", "A", "B", "B", "C", "C", "", None]
    with pytest.warns(
        BERTScoreWarning, match="2 of 8 rows name no system and are left out of that"
    ):
        found = agree({"m": human}, human, systems=systems, bootstrap=Bootstrap(100))
    assert any(each.level == "system" for each in found)
    with pytest.warns(BERTScoreWarning, match="4 of 8 rows"):
        found = agree(
            {"m": human}, human, systems=["A", "A", "B", "B", "", "", " ", ""],
            bootstrap=Bootstrap(100),
        )  # fmt: skip
    assert not any(each.level == "system" for each in found)  # two are too few


def test_systems_with_equal_means_are_ties() -> None:
    metric = [0.1, 0.3, 0.9, 0.2, 0.2, 0.9, 0.3, 0.1, 0.9]
    found = agree(
        {"m": metric}, [1, 1, 3] * 3, systems=["A", "B", "C"] * 3,
        segments=[0, 0, 0, 1, 1, 1, 2, 2, 2], bootstrap=Bootstrap(100),
    )  # fmt: skip
    of_systems = {each.statistic: each.value for each in found if each.level == "system"}
    assert of_systems["accuracy"] == of_systems["spearman"] == pytest.approx(1.0)
