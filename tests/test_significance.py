"""`compare` against scipy, sacrebleu and closed forms, and what its intervals cover."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bertscore_tm import bert_score, compare
from bertscore_tm.cli import main
from bertscore_tm.errors import InvalidTypeError, InvalidValueError
from bertscore_tm.resampling import bootstrap_p, draws, holm, interval
from bertscore_tm.significance import Comparison, Difference

Tiny = Callable[[str], str]


def systems(samples: int, gap: float = 0.02, seed: int = 0, names: str = "ab") -> dict[str, Tensor]:
    """Scores that go together, each system better than the one before it."""
    generator = torch.Generator().manual_seed(seed)
    shared = torch.rand(samples, generator=generator)
    return {
        name: shared + 0.1 * torch.randn(samples, generator=generator) + gap * place
        for place, name in enumerate(names)
    }


def only(found: Comparison) -> Difference:
    (difference,) = found.differences
    return difference


# ---------------------------------------------------------------- against scipy and sacrebleu


def test_the_interval_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    scores = systems(80)
    gap = (scores["a"].double() - scores["b"].double()).numpy()
    wanted = stats.bootstrap((gap,), np.mean, method="percentile", n_resamples=20_000, rng=1)
    found = only(compare(scores, resamples=20_000))
    error = 0.1 * wanted.standard_error
    assert found.difference == pytest.approx(gap.mean(), abs=1e-12)
    assert found.low == pytest.approx(wanted.confidence_interval.low, abs=error)
    assert found.high == pytest.approx(wanted.confidence_interval.high, abs=error)
    alone = stats.bootstrap((scores["a"].numpy(),), np.mean, method="percentile", rng=1)
    ends = compare(scores).systems[0]
    assert [ends.low, ends.high] == pytest.approx([*alone.confidence_interval], abs=0.004)


@pytest.mark.parametrize("samples", [2, 5, 11])
def test_few_samples_are_randomised_exactly(samples: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    scores = systems(samples, 0.1)
    pair = tuple(each.double().numpy() for each in scores.values())
    wanted = stats.permutation_test(
        pair, lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert only(compare(scores)).randomisation_p == pytest.approx(wanted.pvalue, abs=1e-12)


@pytest.mark.parametrize("gap", [0.0, 0.015, 0.03])
def test_many_samples_are_randomised_as_by_scipy(gap: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    scores = systems(150, gap)
    pair = tuple(each.double().numpy() for each in scores.values())
    wanted = stats.permutation_test(
        pair,
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=10_000,
        vectorized=True,
        rng=2,
    )
    found = only(compare(scores)).randomisation_p
    assert found == pytest.approx(wanted.pvalue, abs=4 * math.sqrt(0.25 / 10_000))


def test_the_p_value_of_the_bootstrap_is_that_of_sacrebleu() -> None:
    significance = pytest.importorskip("sacrebleu.significance")
    drawn = 0.1 + torch.randn(999, generator=torch.Generator().manual_seed(3)).double()
    for observed in (0.5, -1.0, 2.5):
        centred = np.abs(drawn.numpy() - drawn.numpy().mean())
        wanted = significance._compute_p_value(centred, abs(observed))
        assert bootstrap_p(observed, drawn) == pytest.approx(wanted, abs=1e-12)


def test_draws_are_multinomial() -> None:
    counts = torch.cat([*draws(7, 4000, torch.Generator().manual_seed(0))])
    assert counts.shape == (4000, 7)
    assert (counts.sum(1) == 7).all()
    # Each count is binomial(7, 1/7): mean 1, variance 6/7.
    assert counts.mean(0).tolist() == pytest.approx([1.0] * 7, abs=0.06)
    assert counts.var(0).tolist() == pytest.approx([6 / 7] * 7, abs=0.08)


def test_percentiles_are_those_of_numpy() -> None:
    drawn = torch.randn(1001, generator=torch.Generator().manual_seed(0)).double()
    wanted = np.percentile(drawn.numpy(), [5, 95])
    with_gaps = torch.cat([drawn, torch.tensor([torch.nan]).double()])
    assert interval(with_gaps, 0.9) == pytest.approx(tuple(wanted), abs=1e-12)


@pytest.mark.parametrize(
    "given, wanted",
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # the textbook's
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.2], [0.2]),
        ([], []),
    ],
)
def test_holm(given: list[float], wanted: list[float]) -> None:
    assert holm(given) == pytest.approx(wanted)


# ---------------------------------------------------------------- closed forms


def test_what_would_show_is_the_formula_of_a_paired_z_test() -> None:
    scores = systems(60)
    gap = (scores["a"] - scores["b"]).double()
    wanted = (1.959964 + 0.841621) * float(gap.std()) / math.sqrt(60)
    assert only(compare(scores)).detectable == pytest.approx(wanted, rel=1e-6)


def test_a_difference_that_would_show_shows_four_times_of_five() -> None:
    rng = np.random.default_rng(0)
    size, spread = 80, 0.3
    true = (1.959964 + 0.841621) * spread / math.sqrt(size)
    found = [
        only(compare({"a": rng.normal(true, spread, size), "b": np.zeros(size)}, resamples=400))
        for _ in range(400)
    ]
    share = np.mean([each.randomisation_p <= 0.05 for each in found])
    assert share == pytest.approx(0.8, abs=0.06)
    assert np.mean([each.detectable for each in found]) == pytest.approx(true, rel=0.02)


def test_wins_ties_and_losses() -> None:
    found = only(compare({"a": [1, 2, 3, 4.0000005, 0], "b": [0, 1, 3, 4, 1]}))
    assert (found.wins, found.ties, found.losses) == (2, 2, 1)


def test_equal_systems_cannot_be_told_apart() -> None:
    found = only(compare({"a": [0.1, 0.2, 0.7] * 20, "b": [0.1, 0.2, 0.7] * 20}))
    assert (found.difference, found.low, found.high, found.detectable) == (0, 0, 0, 0)
    assert (found.bootstrap_p, found.randomisation_p, found.adjusted_p) == (1, 1, 1)
    assert found.ties == 60


def test_pairs_and_their_correction() -> None:
    scores = systems(200, 0.015, names="abc")
    found = compare(scores)
    assert [each.name for each in found.systems] == ["a", "b", "c"]
    assert [(d.first, d.second) for d in found.differences] == [("a", "b"), ("a", "c"), ("b", "c")]
    p_values = [each.randomisation_p for each in found.differences]
    assert [each.adjusted_p for each in found.differences] == holm(p_values)
    against = compare(scores, against="b")
    assert [(d.first, d.second) for d in against.differences] == [("a", "b"), ("c", "b")]
    turned = compare(dict(reversed(scores.items())))
    assert turned.differences[0].difference == -found.differences[2].difference


# ---------------------------------------------------------------- what intervals cover


def test_intervals_cover_and_tests_keep_their_level() -> None:
    """400 data sets with a skewed difference of mean 0.1, and as many without any."""
    rng = np.random.default_rng(1)
    covered = wrong = 0
    for _ in range(400):
        noise = rng.exponential(0.2, 100) - 0.2
        both = {"a": noise + 0.1, "b": np.zeros(100)}
        found = only(compare(both, resamples=400))
        covered += found.low <= 0.1 <= found.high
        level = only(compare({"a": noise, "b": np.zeros(100)}, resamples=400))
        wrong += level.randomisation_p <= 0.05
    assert 0.91 <= covered / 400 <= 0.98  # 95%: plus or minus 2.2 by chance, skew costs about one
    assert 0.02 <= wrong / 400 <= 0.085


# ---------------------------------------------------------------- as a function


def test_the_seed_decides() -> None:
    scores = systems(50)
    assert compare(scores) == compare(scores)
    assert compare(scores) != compare(scores, seed=1)


def test_any_vector_will_do() -> None:
    scores = systems(30)
    wanted = compare({name: each.double() for name, each in scores.items()})
    assert compare({name: each.double().numpy() for name, each in scores.items()}) == wanted
    assert compare({name: each.double().tolist() for name, each in scores.items()}) == wanted


@pytest.mark.slow
def test_three_thousand_samples_take_less_than_three_seconds() -> None:
    scores = systems(3000)
    compare(systems(10))
    begin = time.process_time()
    compare(scores)
    assert time.process_time() - begin < 3


@pytest.mark.parametrize(
    "scores, options, message",
    [
        ({"a": [1, 2]}, {}, "got 1 system; wanted at least two"),
        ({"a": [1], "b": [2]}, {}, "got 1 sample a system; wanted at least two"),
        ({}, {}, "got an empty scores; wanted a value for each sample"),
        ({"a": [1, 2], "b": [1]}, {}, r"different lengths \('a' has 2, 'b' has 1\); wanted"),
        ({"a": [1, math.nan], "b": [1, 2]}, {}, r"got nan in sample 1 of scores\['a'\]; wanted"),
        ({"a": [[1, 2]], "b": [1, 2]}, {}, r"got the shape \[1, 2\] as scores\['a'\]; wanted one"),
        ({"a": [1, 2], "b": [1, 2]}, {"against": "c"}, "got against='c'; wanted one of a, b"),
        ({"a": [1, 2], "b": [1, 2]}, {"resamples": 99}, "got resamples=99; wanted a whole number"),
        (
            {"a": [1, 2], "b": [1, 2]},
            {"seed": -1},
            "got seed=-1; wanted a whole number, at least 0",
        ),
        ({"a": [1, 2], "b": [1, 2]}, {"confidence": 95}, "got confidence=95; wanted a number betw"),
    ],
)
def test_what_cannot_be_compared(scores: Any, options: Any, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        compare(scores, **options)


@pytest.mark.parametrize(
    "scores, message",
    [
        ([[1, 2], [3, 4]], "got list as scores; wanted a mapping"),
        ({1: [1, 2], "b": [1, 2]}, "got dict as scores; wanted a mapping of names"),
        ({"a": ["x", "y"], "b": [1, 2]}, r"got list as scores\['a'\] \(.*\); wanted a number for"),
    ],
)
def test_what_is_no_scores(scores: Any, message: str) -> None:
    with pytest.raises(InvalidTypeError, match=message):
        compare(scores)


# ---------------------------------------------------------------- as a command

PREDS = {"one.txt": ["two cats sleep", "rain fell", "the dog ran home"] * 5}
PREDS["two.txt"] = ["hello world", "rain fell on the town", "the cat"] * 5
TARGET = ["two cats sleep quietly", "rain fell on the old town", "the dog ran home"] * 5


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, texts in {**PREDS, "refs.txt": TARGET}.items():
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("score", ["f1", "precision"])
def test_the_command_compares_what_the_function_scores(
    files: Path, tiny: Tiny, capsys: pytest.CaptureFixture[str], score: str
) -> None:
    where = ("-m", tiny("bert"), "-n", "2")
    arguments = ["compare", "-c", *PREDS, "-r", "refs.txt", *where, "--score", score]
    assert main([*arguments, "--format", "json", "--resamples", "500"]) == 0
    out = json.loads(capsys.readouterr().out)
    wanted = compare(
        {name: bert_score(texts, TARGET, tiny("bert"), 2)[score] for name, texts in PREDS.items()},
        resamples=500,
    )
    signature = out.pop("signature")
    assert signature.startswith("encoder:")
    assert out.pop("score") == score
    assert [each["name"] for each in out["systems"]] == [*PREDS]
    for got, want in zip(out["systems"], wanted.systems):  # the cache changes the last bit
        assert [*got.values()][1:] == pytest.approx([want.mean, want.low, want.high], abs=1e-6)
    (got,), want = out["differences"], only(wanted)
    assert {*got} == {field.name for field in fields(want)}
    for name, value in got.items():
        assert value == pytest.approx(getattr(want, name), abs=1e-5), name
    assert main([*arguments, "--resamples", "500", "-o", "found.txt"]) == 0
    text = (files / "found.txt").read_text("utf-8")
    assert text.endswith(f"\n{signature}\n")
    better = "one.txt is better" if want.difference > 0 else "two.txt is better"
    verdict = better if want.adjusted_p <= 0.05 else "they cannot be told apart"
    assert f"one.txt - two.txt: {verdict}\n" in text
    assert f"\nscore: {score}\n" in text
    assert f"wins {want.wins}  ties {want.ties}  losses {want.losses}" in text
    (line,) = re.findall(r"^  difference (\S+)  \[(\S+), (\S+)\]  smallest.* (\S+)$", text, re.M)
    values = [want.difference, want.low, want.high, want.detectable]
    assert [float(part) for part in line] == pytest.approx(values, abs=1e-5)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("-c", "one.txt"), "got 'one.txt' as --candidates; wanted a file for each of at least tw"),
        (("-c", "one.txt", "two.txt", "one.txt"), "wanted a file for each of at least two systems"),
        (("-c", *PREDS, "--against", "x"), "got --against x; wanted one of one.txt, two.txt"),
        (("-c", *PREDS, "--resamples", "9"), "got --resamples 9; wanted a whole number, at least"),
        (("-c", *PREDS, "-n", "1,2"), "got 2 layers; wanted one (--num-layers K)"),
    ],
)
def test_what_the_command_refuses(
    files: Path, tiny: Tiny, capsys: Any, arguments: tuple[str, ...], message: str
) -> None:
    assert main(["compare", "-r", "refs.txt", "-m", tiny("bert"), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_block_of_the_page_runs(minilm: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[1] / "docs" / "compare.md").read_text("utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    exec(compile(block, "compare.md", "exec"), {})
    assert capsys.readouterr().out.endswith("\n0.125\n")
