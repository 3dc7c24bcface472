"""The choice of a layer: beside scipy, plain loops and simulations; and the file that holds it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from bertscore_tm import (
    BERTScore,
    BERTScoreError,
    BERTScoreWarning,
    HuggingFaceEncoder,
    TunedLayer,
    bert_score,
    tune,
)
from bertscore_tm.cli import main
from bertscore_tm.labelled import Judged
from bertscore_tm.rows import Rows
from bertscore_tm.tuned import LayerAgreement
from bertscore_tm.tuning import _held_out, _resampled, agreement, pearson

Tiny = Callable[[str], str]
WORDS = "a dog ran home rain fell on the town two cats sleep quietly hello world".split()


def judged_texts(rows: int = 60, seed: int = 0) -> tuple[list[str], list[str], list[float]]:
    """Predictions, references and scores with something of a relation."""
    generator = torch.Generator().manual_seed(seed)

    def draw(limit: int) -> int:
        return int(torch.randint(limit, (), generator=generator))

    target = [[WORDS[draw(15)] for _ in range(6)] for _ in range(rows)]
    preds, human = [], []
    for words in target:
        wrong = draw(7)
        preds.append(" ".join([*words[: 6 - wrong], *(WORDS[draw(15)] for _ in range(wrong))]))
        human.append(5.0 - wrong + float(torch.randn((), generator=generator)))
    return preds, [" ".join(words) for words in target], human


@pytest.fixture(scope="module")
def found(tiny: Tiny) -> TunedLayer:
    return tune(*judged_texts(), tiny("bert"), resamples=200)


def test_correlations_are_those_of_scipy(found: TunedLayer, tiny: Tiny) -> None:
    stats = pytest.importorskip("scipy.stats")
    preds, target, human = judged_texts()
    scores = bert_score(preds, target, tiny("bert"), "all")
    for each in found.layers:
        for name in ("precision", "recall", "f1"):
            column = scores[f"layer_{each.layer}_{name}"].double().numpy()
            wanted = stats.pearsonr(column, human).statistic
            assert getattr(each, name) == pytest.approx(wanted, abs=1e-9)
        assert each.low < each.f1 < each.high
    f1 = [each.f1 for each in found.layers]
    assert f1.index(max(f1)) == found.layer
    assert [each.behind for each in found.layers] == pytest.approx([max(f1) - r for r in f1])
    assert sum(each.chosen for each in found.layers) == pytest.approx(1)
    assert (found.rows, found.clusters, found.groups, found.resamples) == (60, 60, 1, 200)


def test_the_other_scores_can_be_tuned(tiny: Tiny) -> None:
    one = tune(*judged_texts(), tiny("bert"), score="recall", resamples=100)
    recall = [each.recall for each in one.layers]
    assert recall.index(max(recall)) == one.layer
    assert one.score == "recall"


def test_groups_are_taken_apart_and_averaged(tiny: Tiny) -> None:
    """One group is judged on another scale: together they would hardly correlate."""
    stats = pytest.importorskip("scipy.stats")
    preds, target, human = judged_texts()
    human = [value + 100 * (row % 2) for row, value in enumerate(human)]
    one = tune(preds, target, human, tiny("bert"), resamples=100, groups=[r % 2 for r in range(60)])
    scores = bert_score(preds, target, tiny("bert"), "all")
    for each in one.layers:
        column = scores[f"layer_{each.layer}_f1"].tolist()
        both = [stats.pearsonr(column[i::2], human[i::2]).statistic for i in (0, 1)]
        assert each.f1 == pytest.approx(sum(both) / 2, abs=1e-6)
    assert one.groups == 2


def test_weights_count_rows_as_often() -> None:
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(9, 3, generator=generator, dtype=torch.float64) + 50
    human = torch.randn(9, generator=generator, dtype=torch.float64) * 1e-3 + 9
    weights = torch.randint(0, 4, (5, 9), generator=generator).double()
    for row, weight in zip(pearson(scores, human, weights), weights):
        often = weight.long()
        x, y = scores.repeat_interleave(often, 0), human.repeat_interleave(often)
        wanted = [torch.corrcoef(torch.stack([column, y]))[0, 1] for column in x.T]
        assert row.tolist() == pytest.approx([float(r) for r in wanted], abs=1e-9)


def test_no_correlation_where_nothing_varies() -> None:
    human = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert bool(pearson(torch.full((3, 1), 0.3, dtype=torch.float64), human).isnan().all())
    assert bool(pearson(human[:, None], torch.full_like(human, 7.1)).isnan().all())


def judged_of(human: torch.Tensor, cluster: Any = None, group: Any = None) -> Judged:
    rows = [str(row) for row in range(len(human))]
    return Judged(Rows(rows, [[row] for row in rows], None), human, group, cluster)


@pytest.mark.parametrize("size", [1, 4])
def test_intervals_hold_the_truth_as_often_as_they_say(size: int) -> None:
    """Rows come in sets of ``size`` whose members are much alike; the true correlation is 0.6."""
    generator = torch.Generator().manual_seed(size)
    inside = naive = 0
    for _ in range(200):
        pair = torch.randn(2, 80, generator=generator, dtype=torch.float64)
        x = pair[0].repeat_interleave(size)
        y = 0.6 * x + 0.8 * pair[1].repeat_interleave(size)
        judged = judged_of(y, torch.arange(80).repeat_interleave(size))
        drawn = _resampled(x[:, None], judged, 300, generator)[:, 0]
        low, high = drawn.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
        inside += low < 0.6 < high
        drawn = _resampled(x[:, None], judged_of(y), 300, generator)[:, 0]
        low, high = drawn.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
        naive += low < 0.6 < high
    assert inside / 200 > 0.9
    assert (naive / 200 > 0.9) == (size == 1)  # rows alone promise too much


def test_resamples_keep_the_size_of_each_group() -> None:
    human = torch.arange(30, dtype=torch.float64)
    judged = judged_of(human, None, [row % 3 for row in range(30)])
    seen: list[torch.Tensor] = []

    def spy(scores: torch.Tensor, judged: Judged, weights: torch.Tensor) -> torch.Tensor:
        seen.append(weights)
        return agreement(scores, judged, weights)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bertscore_tm.tuning.agreement", spy)
        _resampled(human[:, None], judged, 10, torch.Generator().manual_seed(0))
    for group in range(3):
        assert torch.cat(seen)[:, group::3].sum(1).tolist() == [10.0] * 10


def test_the_held_out_folds_by_hand() -> None:
    """Each set of rows is in one fold; the layer comes from the rest, its value from the fold."""
    generator = torch.Generator().manual_seed(0)
    human = torch.randn(40, generator=generator, dtype=torch.float64)
    noise = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    scores = human[:, None] + noise * torch.tensor([1.0, 1.2], dtype=torch.float64)
    cluster = [row // 2 for row in range(40)]
    value, chosen = _held_out(scores, judged_of(human, cluster), torch.Generator().manual_seed(5))
    fold = torch.randperm(20, generator=torch.Generator().manual_seed(5)) % 5
    found = []
    for number in range(5):
        inside = [row for row in range(40) if fold[row // 2] == number]
        rest = [row for row in range(40) if fold[row // 2] != number]
        r = [float(torch.corrcoef(torch.stack([c[rest], human[rest]]))[0, 1]) for c in scores.T]
        best = r.index(max(r))
        assert chosen[number] == best
        column = scores[inside, best]
        found.append(float(torch.corrcoef(torch.stack([column, human[inside]]))[0, 1]))
    assert value == pytest.approx(sum(found) / 5)


def test_a_layer_that_is_better_is_told_apart() -> None:
    generator = torch.Generator().manual_seed(0)
    human = torch.randn(300, generator=generator, dtype=torch.float64)
    noise = torch.randn(300, 2, generator=generator, dtype=torch.float64)
    scores = human[:, None] + noise * torch.tensor([0.5, 2.0], dtype=torch.float64)
    drawn = _resampled(scores, judged_of(human), 300, generator)
    assert float((drawn[:, 0] - drawn[:, 1]).quantile(0.025)) > 0


def test_equal_references_are_one_set(tiny: Tiny) -> None:
    preds, target, human = judged_texts(40)
    target = [target[row // 2] for row in range(40)]
    judged = Judged(Rows(preds, [[each] for each in target], None), human)
    assert judged.cluster.tolist() == [row // 2 for row in range(40)]
    assert Judged(judged.rows, human, None, range(40)).cluster.tolist() == list(range(40))


def test_the_seed_decides(tiny: Tiny, found: TunedLayer) -> None:
    again = tune(*judged_texts(), tiny("bert"), resamples=200, batch_tokens=16)
    assert replace(again, layers=(), held_out=0) == replace(found, layers=(), held_out=0)
    for one, two in zip(again.layers, found.layers):
        assert vars(one) == pytest.approx(vars(two), abs=1e-5)
    other = tune(*judged_texts(), tiny("bert"), resamples=200, seed=1)
    assert [x.f1 for x in other.layers] == [x.f1 for x in found.layers]
    assert [x.low for x in other.layers] != [x.low for x in found.layers]


def test_a_scale_that_is_upside_down(tiny: Tiny) -> None:
    preds, target, human = judged_texts()
    with pytest.warns(BERTScoreWarning, match="no layer agrees .* are higher ones better there"):
        tune(preds, target, [-value for value in human], tiny("bert"), resamples=100)


def test_groups_without_a_difference_are_left_out(tiny: Tiny) -> None:
    preds, target, human = judged_texts()
    groups = [row < 20 for row in range(60)]
    part = [1.0 if own else value for own, value in zip(groups, human)]
    with pytest.warns(BERTScoreWarning, match="1 groups whose human scores are all equal were"):
        one = tune(preds, target, part, tiny("bert"), resamples=100, groups=groups)
    two = tune(preds[20:], target[20:], human[20:], tiny("bert"), resamples=100)
    assert [x.f1 for x in one.layers] == pytest.approx([x.f1 for x in two.layers])


ROWS = judged_texts(20)


@pytest.mark.parametrize(
    "change, kind, message",
    [
        ({"human": [1.0]}, ValueError, "got 1 human scores for 20 rows; wanted as many"),
        ({"human": [math.nan] * 20}, ValueError, "got nan in row 0 of human; wanted a finite"),
        ({"human": ["5"] * 20}, TypeError, "got str in row 0 of human; wanted a number"),
        ({"human": 5}, TypeError, "got int as human; wanted a number for each row"),
        ({"human": [2.0] * 20}, ValueError, "got human scores that are all equal in each group"),
        ({"groups": [1]}, ValueError, "got 1 groups for 20 rows; wanted as many"),
        ({"clusters": [1] * 20}, ValueError, "got 1 sets of rows .* wanted at least 10"),
        (
            {"groups": [*"ab" * 5, *"c" * 10], "clusters": [*range(10), *"x" * 10]},
            ValueError,
            "got 1 groups whose rows all have the same references, such as 'c'; wanted",
        ),
        ({"resamples": 5}, ValueError, "got resamples=5; wanted at least 100"),
        ({"seed": "x"}, TypeError, "got seed='x'; wanted an integer"),
        ({"score": "f2"}, ValueError, "got score='f2'; wanted 'precision', 'recall' or 'f1'"),
        ({"reduction": "mean"}, TypeError, "got reduction= for tune"),
        ({"nonsense": 1}, TypeError, "got the unknown argument 'nonsense'"),
    ],
)
def test_wrong_requests(
    change: dict[str, Any], kind: type[Exception], message: str, tiny: Tiny
) -> None:
    given: dict[str, Any] = dict(zip(("preds", "target", "human"), ROWS))
    with pytest.raises(kind, match=message) as error:
        tune(**{**given, "model_name_or_path": tiny("bert"), **change})
    assert isinstance(error.value, BERTScoreError)


# ---------------------------------------------------------------- the file


def test_a_saved_layer_is_the_same(found: TunedLayer, tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    found.save(path)
    assert TunedLayer.load(path) == found
    assert json.loads(path.read_text())["ties"] == found.ties


def test_the_metric_takes_the_layer_and_its_file(
    found: TunedLayer, tiny: Tiny, tmp_path: Path
) -> None:
    path = tmp_path / "tuned.json"
    found.save(path)
    wanted = bert_score(["a dog"], ["the dog ran"], tiny("bert"), found.layer)["f1"]
    for given in (found, str(path), path):
        metric = BERTScore(tiny("bert"), given)
        assert metric.layers == (found.layer,)
        assert f"layers:{found.layer}|" in metric.signature
        assert bert_score(["a dog"], ["the dog ran"], tiny("bert"), given)["f1"] == wanted
    path.unlink()
    metric.update(["a dog"], ["the dog ran"])  # the file has been read
    assert metric.compute() == pytest.approx(float(wanted))
    assert BERTScore(HuggingFaceEncoder(tiny("bert")), found).layers == (found.layer,)


def test_a_layer_of_another_encoder(found: TunedLayer, tiny: Tiny) -> None:
    message = rf"got the layer that was tuned for encoder .* wanted that one, or .*={found.layer}"
    with pytest.raises(ValueError, match=message):
        BERTScore(tiny("roberta"), found)
    moved = replace(found, encoder="elsewhere")  # the same weights in another folder
    assert BERTScore(tiny("bert"), moved).layers == (found.layer,)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"format": "other"}', "nonsense", "[" * 9999, "LAYER,P,R,F\n"],
)
def test_files_that_are_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"holds no tuned layer .* wanted a file that bert"):
        TunedLayer.load(path)


@pytest.mark.parametrize("change", [{"layer": 99}, {"layer": "2"}, {"encoder": 5}, {"more": 1}])
def test_files_with_something_else_in_them(
    change: dict[str, Any], found: TunedLayer, tmp_path: Path
) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(json.dumps({**found.to_dict(), **change}))
    with pytest.raises(BERTScoreError, match="holds no tuned layer"):
        BERTScore("minilm", str(path))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        BERTScore("minilm", str(tmp_path / "nowhere.json"))
    with pytest.raises(TypeError, match="got int as the file of a tuned layer; wanted its path"):
        TunedLayer.load(5)  # type: ignore[arg-type]


def test_what_the_table_says() -> None:
    one = LayerAgreement(0, 0.1, 0.2, 0.3, 0.2, 0.4, 0.05, -0.01, 0.1, 0.2)
    two = LayerAgreement(1, 0.1, 0.2, 0.35, 0.2, 0.4, 0.0, 0.0, 0.0, 0.8)
    three = LayerAgreement(2, 0.1, 0.2, 0.15, 0.1, 0.2, 0.2, 0.1, 0.3, 0.0)
    tuned = TunedLayer(
        1, "e", "v", "encoder:e@v", "f1", 1200, 60, 1, 0.33, (1, 0), 100, 0, (one, two, three)
    )
    assert tuned.ties == [0]
    text = tuned.to_text()
    for part in (
        "1,200 rows in 60 sets",
        "0 =",
        "1 *",
        "2  ",
        "apart (=): 0\n",
        "held out: r 0.33",
    ):
        assert part in text
    assert text.endswith("encoder:e@v\n")


# ---------------------------------------------------------------- the command


def test_the_command(
    found: TunedLayer, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    preds, target, human = judged_texts()
    rows = [
        {"candidate": p, "references": [t], "human_score": h, "lang": "en"}
        for p, t, h in zip(preds, target, human)
    ]
    (tmp_path / "one.jsonl").write_text("\n".join(map(json.dumps, rows[:30])))
    (tmp_path / "two.jsonl").write_text("\n".join(map(json.dumps, rows[30:])))
    table = ["p\tr\th", *(f"{p}\t{t}\t{h!r}" for p, t, h in zip(preds, target, human))]
    (tmp_path / "all.tsv").write_text("\n".join(table))
    more = ["-m", tiny("bert"), "--resamples", "200"]
    files = [str(tmp_path / name) for name in ("one.jsonl", "two.jsonl")]
    assert main(["tune", *files, *more]) == 0
    assert capsys.readouterr().out == found.to_text()
    fields = ["--candidate", "p", "--reference", "r", "--human", "h"]
    output = str(tmp_path / "tuned.json")
    assert main(["tune", str(tmp_path / "all.tsv"), *fields, *more, "-o", output]) == 0
    assert TunedLayer.load(output) == found
    assert main(["tune", *files, *more, "--group", "lang", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.to_dict()

    (tmp_path / "p.txt").write_text("a dog\n")
    (tmp_path / "r.txt").write_text("the dog ran\n")
    texts = ["-c", str(tmp_path / "p.txt"), "-r", str(tmp_path / "r.txt")]
    assert main(["score", *texts, "-m", tiny("bert"), "--num-layers", output]) == 0
    assert f"layers:{found.layer}|" in capsys.readouterr().out
    assert main(["score", *texts, "-m", tiny("bert"), "-n", output, "-o", output]) == 2
    assert "as --output, which is read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more, message",
    [
        (["--human", "score"], "has no key 'score'; it has candidate, human_score, references"),
        (["--group", "language"], "has no key 'language'"),
        (["--human", "candidate"], "got 'a b' at 'candidate'; wanted a number, the judgement"),
        (["--resamples", "3"], "got --resamples 3; wanted at least 100"),
        ([], "got human scores that are all equal in each group; wanted some that differ"),
        (
            ["--cluster", "human_score"],
            "got 1 sets of rows with references of their own; wanted at least 10",
        ),
        (["-o", "{data}", "--format", "json"], "as --output, which is read; wanted another file"),
    ],
)
def test_wrong_commands(
    more: list[str], message: str, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.jsonl"
    row = {"candidate": "a b", "human_score": 1}
    rows = [json.dumps({**row, "references": [f"a {number}"]}) for number in range(12)]
    data.write_text("\n".join(rows))
    extra = [each.format(data=data) for each in more]
    assert main(["tune", str(data), "-m", tiny("bert"), *extra]) == 2
    assert re.search(re.escape(message), capsys.readouterr().err)
