"""`correlate`, function and command: judged rows in, a table out; and the metrics beside BERTScore,
against their libraries."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertscore_tm import Correlation, bert_score, correlate
from bertscore_tm.agreement import Bootstrap, agree, agree_on_ranks
from bertscore_tm.cli import main
from bertscore_tm.errors import (
    BERTScoreWarning,
    InvalidTypeError,
    InvalidValueError,
    MissingPackageError,
)
from bertscore_tm.lexical import LEXICAL, lexical_scores

Tiny = Callable[[str], str]
Run = Callable[..., tuple[int, str, str]]
TARGET = ["two cats sleep quietly", "rain fell on the old town", "the dog ran home", "a new day"]
PREDS = {
    "good": ["two cats sleep", "rain fell on the town", "the dog ran home", "a day"],
    "fair": ["cats sleep", "rain fell", "a dog", "new"],
    "poor": ["hello world", "the old", "home", "the the the"],
}
HUMAN = {"good": [5, 4, 5, 3], "fair": [3, 4, 2, 2], "poor": [1, 2, 2, 1]}
ROWS = [
    {"row": row + 1, "system": name, "reference": TARGET[row], "candidate": preds[row],
     "human_score": HUMAN[name][row]}
    for name, preds in PREDS.items() for row in range(4)
]  # fmt: skip
COLUMNS: dict[str, list[Any]] = {key: [row[key] for row in ROWS] for key in ROWS[0]}


def values(found: Correlation, statistic: str, level: str = "segment") -> dict[str, float | None]:
    chosen = (a for a in found.agreements if (a.statistic, a.level) == (statistic, level))
    return {a.metric: a.value for a in chosen}


# ---------------------------------------------------------------- the metrics beside BERTScore


def test_the_metrics_are_those_of_their_libraries() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rouge1", "rougeL"])
    preds = ["The dog, it ran home.", "rain", ""]
    target = [["A dog ran home!", "The dog was home."], ["Rain fell"], ["x"]]
    found = lexical_scores(preds, target)
    assert [*found] == [*LEXICAL]
    for row, (pred, group) in enumerate(zip(preds, target)):
        bleu = sacrebleu.sentence_bleu(pred, group, use_effective_order=True).score
        assert found["bleu"][row] == bleu
        assert found["chrf"][row] == sacrebleu.sentence_chrf(pred, group).score
        for name in ("rouge1", "rougeL"):
            best = max(scorer.score(text, pred)[name].fmeasure for text in group)
            assert found[name][row] == best


def test_overlap_is_f1_of_the_bags_of_tokens() -> None:
    pred, reference = "the dog , the cat".split(), "the cat and a dog ,".split()
    shared = sum(min(Counter(pred)[word], reference.count(word)) for word in {*pred})
    precision, recall = shared / len(pred), shared / len(reference)
    wanted = 2 * precision * recall / (precision + recall)
    found = lexical_scores(["The dog, the cat"], [["x", "the cat and a dog,"]], ["overlap"])
    assert found["overlap"] == [pytest.approx(wanted)]
    assert lexical_scores([""], [[""]], ["overlap"])["overlap"] == [0.0]


def test_rouge_beyond_ascii() -> None:
    texts = ["नमस्ते दुनिया", "नमस्ते जी"]
    with pytest.warns(BERTScoreWarning, match=r"ROUGE takes sacrebleu's 13a instead \(tokenize se"):
        found = lexical_scores(texts[:1], [texts[1:]], ["rouge1"])
    assert found["rouge1"] == [0.5]
    assert lexical_scores(["我爱你"], [["我爱他"]], ["rouge1", "overlap"], "zh") == {
        "rouge1": [pytest.approx(2 / 3)],
        "overlap": [pytest.approx(2 / 3)],
    }


def test_nothing_beside_is_nothing() -> None:
    assert lexical_scores(["a"], [["b"]], []) == {}


@pytest.mark.parametrize("package", ["sacrebleu", "rouge_score"])
def test_a_library_that_is_missing(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    spelled = package.replace("_", "-")
    with pytest.raises(
        MissingPackageError, match=f"got no {spelled}, .*; wanted: pip install {spelled}, or"
    ):
        correlate(["a"] * 3, ["b"] * 3, [1, 2, 3], "minilm")


# ---------------------------------------------------------------- the function


@pytest.mark.filterwarnings("ignore:.*some agreement is not defined")
def test_the_function_puts_the_parts_together(tiny: Tiny) -> None:
    found = correlate(
        COLUMNS["candidate"], COLUMNS["reference"], COLUMNS["human_score"], tiny("bert"), 2,
        systems=COLUMNS["system"], groups=["a", "b"] * 6, resamples=200, score="recall",
    )  # fmt: skip
    scores = bert_score(COLUMNS["candidate"], COLUMNS["reference"], tiny("bert"), 2)
    wanted = agree(
        {
            "bertscore_recall": scores["recall"],
            "bertscore_precision": scores["precision"],
            "bertscore_f1": scores["f1"],
            **lexical_scores(COLUMNS["candidate"], [[text] for text in COLUMNS["reference"]]),
        },
        COLUMNS["human_score"],
        segments=COLUMNS["reference"],
        groups=["a", "b"] * 6,
        systems=COLUMNS["system"],
        bootstrap=Bootstrap(200),
    )
    assert [(a.level, a.statistic, a.metric) for a in found.agreements] == [
        (a.level, a.statistic, a.metric) for a in wanted
    ]
    for got, want in zip(found.agreements, wanted):
        assert got.value == pytest.approx(want.value, abs=1e-5)
        assert (got.low, got.high) == pytest.approx((want.low, want.high), abs=1e-5)
        assert got.groups == pytest.approx(want.groups, abs=1e-5)
    assert {a.level for a in wanted} == {"segment", "system"}
    assert (found.rows, found.segments, found.clusters, found.groups) == (12, 4, 4, ("a", "b"))
    assert found.signature == correlate(
        ["a", "b", "c"], ["a"] * 3, [1, 2, 3], tiny("bert"), 2, others=(), resamples=100
    ).signature  # fmt: skip


def test_the_function_of_ranks(tiny: Tiny) -> None:
    found = correlate(
        PREDS["good"], TARGET, None, tiny("bert"), 2, worse=PREDS["poor"], resamples=100
    )
    one, two = (bert_score(PREDS[name], TARGET, tiny("bert"), 2) for name in ("good", "poor"))
    wanted = agree_on_ranks(
        {"f1": one["f1"]}, {"f1": two["f1"]}, bootstrap=Bootstrap(100)
    )  # fmt: skip
    assert values(found, "darr", "rank")["bertscore_f1"] == wanted[0].value
    assert values(found, "darr", "rank")["overlap"] == 1.0


def test_clusters_are_drawn(tiny: Tiny) -> None:
    found = correlate(
        COLUMNS["candidate"], COLUMNS["reference"], COLUMNS["human_score"], tiny("bert"), 2,
        clusters=[TARGET.index(text) // 2 for text in COLUMNS["reference"]],
        segments=[f"s{text}" for text in COLUMNS["reference"]], resamples=100, others=["chrf"],
    )  # fmt: skip
    assert (found.segments, found.clusters) == (4, 2)
    # Two clusters: a draw is the one, the other, or the data themselves.
    lows = {a.low for a in found.agreements if a.statistic == "pearson"}
    assert None not in lows


THREE = (["a"] * 3, ["b"] * 3, [1, 2, 3])


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        ((["a"], ["b"], [1]), {}, "got 1 judged rows; wanted at least 3"),
        ((["a"], ["b"]), {}, "got neither human scores and worse texts; wanted one of the two"),
        ((["a"], ["b"], [1]), {"worse": ["c"]}, "got both human scores and worse texts; wanted on"),
        ((["a"], ["b"], [1, 2]), {}, "got 2 human scores for 1 predictions; wanted one for each"),
        (THREE, {"score": "x"}, "got score='x'; wanted 'precision', 'recall' or"),
        (THREE, {"others": ["x"]}, "got others='x'; wanted some of bleu, chrf, rou"),
        (THREE, {"tokenize": "x"}, "got tokenize='x'; wanted '13a', 'intl', 'zh'"),
        (
            THREE,
            {"systems": ["x", "y"]},
            "got 2 systems for 3 rows; wanted one a row",
        ),
        (THREE, {"pairs": "x"}, "got pairs='x'; wanted"),
        (THREE, {"resamples": 1}, "got resamples=1; wanted a whole number, at leas"),
        ((*THREE, "minilm", [1, 2]), {}, "got 2 layers; wanted one"),
    ],
)
def test_what_does_not_fit(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        correlate(*arguments, **options)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"others": "bleu"}, "got others='bleu'; wanted a list with some of bleu"),
        ({"reduction": "none"}, "got reduction= for correlate"),
        ({"human": ["x"]}, r"got list as human \(.*\); wanted a number for each sample"),
    ],
)
def test_what_has_the_wrong_type(options: Any, message: str) -> None:
    with pytest.raises(InvalidTypeError, match=message):
        correlate(*THREE[:2], **{"human": [1, 2, 3], **options})


# ---------------------------------------------------------------- the command


@pytest.fixture
def run(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["correlate", "-m", tiny("bert"), "-n", "2", "--resamples", "100", *arguments])
        return code, *capsys.readouterr()

    return call


def write(name: str, rows: list[dict[str, Any]]) -> None:
    if name.endswith("l"):
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        lines = [rows[0].keys(), *(row.values() for row in rows)]
        text = "".join(
            "\t".join("" if v is None else str(v) for v in line) + "\n" for line in lines
        )
    Path(name).write_text(text, encoding="utf-8")


@pytest.fixture
def wanted(tiny: Tiny) -> Correlation:
    return correlate(
        COLUMNS["candidate"], COLUMNS["reference"], COLUMNS["human_score"], tiny("bert"), 2,
        systems=COLUMNS["system"], resamples=100,
    )  # fmt: skip


def same(out: str, wanted: Correlation) -> None:
    got, want = json.loads(out), json.loads(json.dumps(wanted.to_dict()))
    assert len(got["agreements"]) == len(want["agreements"])
    for one, two in zip(got.pop("agreements"), want.pop("agreements")):
        for key in ("level", "statistic", "metric"):
            assert one[key] == two[key]
        for key in ("value", "low", "high", "difference", "p_value"):
            assert one[key] == pytest.approx(two[key], abs=1e-5), (one["metric"], key)
    assert got == want


@pytest.mark.filterwarnings("default::bertscore_tm.BERTScoreWarning")
def test_a_table_that_people_filled_in(run: Run, wanted: Correlation) -> None:
    """With the columns of the sheet that is handed out; some rows were not judged."""
    blank = [{**ROWS[0], "human_score": empty} for empty in (None, " ")]
    rows = [{"row": r["row"], "system": r["system"], "source": "s", **r} for r in [*ROWS, *blank]]
    write("sheet.tsv", rows)
    code, out, err = run("sheet.tsv", "--format", "json")
    assert code == 0
    assert err == "bertscore-tm: warning: 2 of 14 rows have no human_score and are left out\n"
    same(out, wanted)


def test_fields_by_name(run: Run, wanted: Correlation) -> None:
    rows = [
        {"mt": r["candidate"], "refs": {"one": r["reference"], "two": [r["reference"]]},
         "people": {"fluency": r["human_score"]}, "who": r["system"]}
        for r in ROWS
    ]  # fmt: skip
    write("data.jsonl", rows)
    names = ("--candidate", "mt", "--references", "refs.one", "refs.two", "--system", "who")
    code, out, err = run(
        "data.jsonl", *names, "--human", "people.fluency", "--segment", "refs.one", "-o", "out.json"
    )
    assert (code, out, err) == (0, "", "")
    same(Path("out.json").read_text("utf-8"), wanted)


def test_text(run: Run, wanted: Correlation) -> None:
    rows = [{**row, "lang": "de" if row["row"] % 2 else "cs"} for row in ROWS]
    write("data.jsonl", rows)
    code, out, err = run("data.jsonl", "--language", "lang", "--others", "chrf")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("12 rows, 4 segments, 2 groups; intervals of 95%: 100 resamples")
    assert lines[3].split() == ["segment", "pearson", "spearman", "kendall", "accuracy"]
    assert [line.split()[0] for line in lines[4:8]] == [
        "bertscore_f1", "bertscore_precision", "bertscore_recall", "chrf",
    ]  # fmt: skip
    assert re.match(r"bertscore_f1 +0\.\d+ \[ ?-?\d\.\d+, +\d\.\d+\]", lines[4])
    assert [line.split()[0] for line in lines[9:12]] == ["pearson", "de", "cs"]
    assert lines[-1] == wanted.signature


def test_nothing_beside(run: Run) -> None:
    write("data.jsonl", ROWS)
    code, out, _ = run("data.jsonl", "--others", "--format", "json", "--score", "precision")
    assert code == 0
    names = [a["metric"] for a in json.loads(out)["agreements"]]
    assert names[:4] == [
        "bertscore_precision", "bertscore_recall", "bertscore_f1", "bertscore_precision",
    ]  # fmt: skip


@pytest.mark.parametrize("named", [True, False])
def test_relative_ranks(run: Run, named: bool, tiny: Tiny) -> None:
    first, second = ("up", "down") if named else ("better", "worse")
    rows = [
        {"references": [ref], first: good, second: poor, "system": "x"}
        for ref, good, poor in zip(TARGET, PREDS["good"], PREDS["poor"])
    ]
    write("ranks.jsonl", rows)
    flags = ("--better", "up", "--worse", "down") if named else ()
    code, out, err = run("ranks.jsonl", *flags, "--format", "json")
    assert (code, err) == (0, "")
    same(
        out,
        correlate(PREDS["good"], TARGET, None, tiny("bert"), 2, worse=PREDS["poor"], resamples=100),
    )


@pytest.mark.parametrize(
    "rows, arguments, message",
    [
        ([], (), "got no rows in 'x.jsonl'; wanted a row for each judged text"),
        ([{"a": 1}], (), "'x.jsonl', line 1 has no key 'human_score'; it has a"),
        (ROWS, ("--human", "human"), "no key 'human'; it has row, system, reference, candidate"),
        (ROWS, ("--human", "system"), "line 1: got 'good' at 'system'; wanted a number, as 3.5"),
        (ROWS, ("--candidate", "row"), "line 1: got '1'; wanted a text at 'row', not a number"),
        (ROWS, ("--group", "x"), "line 1 has no key 'x'"),
        (ROWS, ("--group", "row.x"), "line 1 has no key 'row.x'"),
        (ROWS, ("--better", "candidate", "--human", "row"), "got --candidate or --human beside"),
        (ROWS, ("--resamples", "5"), "got --resamples 5; wanted"),
        ([{**ROWS[0], "human_score": ""}], (), "got no value of 'human_score' in any of 1 rows"),
        ([{**ROWS[0], "human_score": True}], (), "line 1: got True at 'human_score'"),
        ([{**ROWS[0], "human_score": "1e999"}], (), "got '1e999' at 'human_score'"),
        (ROWS[:2], (), "got 2 judged rows; wanted at least 3"),
        ([{"q": {"a": 1}}], ("--human", "q.b"), "line 1, in 'q' has no key 'b'; it has a"),
    ],
)  # fmt: skip
def test_what_the_command_refuses(run: Run, rows: Any, arguments: Any, message: str) -> None:
    write("x.jsonl", rows)
    code, out, err = run("x.jsonl", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_file_without_columns(run: Run) -> None:
    Path("x.txt").write_text("a\n")
    assert "'x.txt' has no columns; wanted a .csv, .tsv" in run("x.txt")[2]
    write("data.jsonl", ROWS)
    assert "got 'data.jsonl' as --output, which is read" in run(
        "data.jsonl", "--format", "json", "-o", "data.jsonl"
    )[2]  # fmt: skip
