"""Damages by hand, and what an audit says of them, counted again from `bert_score`."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest

from bertscore_tm import BERTScoreError, IdfTable, audit, bert_score, find_mismatches
from bertscore_tm.audit_results import ADVICE, Noticed
from bertscore_tm.cli import main
from bertscore_tm.damages import DAMAGES, damage
from bertscore_tm.gender import swap_gender
from bertscore_tm.huggingface import HuggingFaceEncoder

Tiny = Callable[[str], str]
TEXT = "John Smith did not sell 12,000 cars on Monday. His wife was happy about it."
REFERENCES = [
    ["The dog ran home with his two cats.", "A dog ran to the house with his two cats."],
    ["She is in the old town.", "He sat in the small town."],
    ["Rain fell on Monday. The cat slept.", "It rained on Monday. The cat was asleep."],
    ["", "rain"],
]
CANDIDATES = ["The dog ran with his cats.", "She was in town.", "Rain fell. The cat slept.", "rain"]
SOURCES = ["Der Hund lief heim.", "Sie ist in der Stadt.", "Regen fiel.", ""]


# ---------------------------------------------------------------- damages


@pytest.mark.parametrize(
    "kind, text, wanted",
    [
        ("negation", "He did not go.", "He did go."),
        ("negation", "He can't swim.", "He can swim."),
        ("negation", "She won’t come.", "She will come."),
        ("negation", "Nobody came.", "Somebody came."),
        ("negation", "She is here.", "She is not here."),
        ("negation", "They can swim.", "They cannot swim."),
        ("negation", "She sings.", None),
        ("gender", "His wife saw her.", "Her husband saw him."),
        ("gender", "The book is hers, MR Smith.", "The book is his, MRS Smith."),
        ("gender", "The dog sleeps.", None),
        ("truncated half", "one two three four five", "one two three"),
        ("truncated half", "one two", None),
        ("truncated half", "太郎は京都へ行きました花子は東京", "太郎は京都へ行き"),
        ("shuffled sentences", "It rained. The cat slept.", "The cat slept. It rained."),
        ("shuffled sentences", "猫が寝た。雨が降る。", "雨が降る。猫が寝た。"),
        ("shuffled sentences", "It rained. It rained.", None),
        ("swapped words", "one two three", None),
        ("number", "no number here", None),
        ("name", "The dog sleeps.", None),
        ("repeated phrase", "one two three", None),
    ],
)
def test_damages_by_hand(kind: str, text: str, wanted: str | None) -> None:
    assert damage(text, kind) == wanted


@pytest.mark.parametrize("seed", range(10))
def test_a_damage_changes_what_it_is_about_and_nothing_else(seed: int) -> None:
    swapped, number, name, repeated = (
        str(damage(TEXT, kind, seed))
        for kind in ("swapped words", "number", "name", "repeated phrase")
    )
    letters = "".join(c for c in TEXT.lower() if c.isalnum())
    assert sorted(c for c in swapped.lower() if c.isalnum()) == sorted(letters)
    assert sum(a != b for a, b in zip(swapped.split(), TEXT.split())) == 2
    assert sum(a != b for a, b in zip(number, TEXT)) == 1
    assert find_mismatches(number, TEXT)["number"]
    assert sum(a != b for a, b in zip(name.split(), TEXT.split())) == 1
    words = repeated.split()
    assert len(words) == len(TEXT.split()) + 6
    assert any(
        words[i : i + 3] == words[i + 3 : i + 6] == words[i + 6 : i + 9] for i in range(len(words))
    )


def test_digits_stay_in_their_script() -> None:
    changed = str(damage("१२ लोग", "number"))
    assert changed != "१२ लोग"
    assert all("०" <= c <= "९" for c in changed.split()[0])


def test_one_seed_gives_one_result_and_english_is_asked_for() -> None:
    for kind in DAMAGES:
        assert damage(TEXT, kind, 3) == damage(TEXT, kind, 3)
    assert {damage(TEXT, "swapped words", seed) for seed in range(20)} != {TEXT}
    assert damage(TEXT, "negation", english=False) is None
    assert damage(TEXT, "number", english=False) is not None


def test_a_swap_of_gender_undone() -> None:
    text = "The king told his mother that he had seen the actress and her brother."
    assert swap_gender(str(swap_gender(text))) == text


# ---------------------------------------------------------------- the audit


@pytest.mark.parametrize("score", ["f1", "recall"])
@pytest.mark.parametrize("idf", [False, True])
def test_the_audit_counted_again(score: str, idf: bool, tiny: Tiny) -> None:
    model = tiny("bert")
    found = audit(REFERENCES, CANDIDATES, SOURCES, model, 2, score=score, seed=5, idf=idf)
    whole = [r for group in REFERENCES[:3] for r in group]
    weights: Any = IdfTable.fit(whole, HuggingFaceEncoder(model)) if idf else False

    def value(pred: str, reference: str) -> float:
        return float(bert_score([pred], [reference], model, 2, idf=weights)[score][0])

    assert found.rows == 3  # the blank reference is left out
    assert [each.kind for each in found.noticed] == [*DAMAGES, "untranslated source"]
    for each in found.noticed:
        drops, others, beside, losses = [], [], [], []
        for row, ((first, second), candidate) in enumerate(zip(REFERENCES[:3], CANDIDATES)):
            seed = f"5|{row}"
            damaged = damage(first, each.kind, seed) if each.kind in DAMAGES else SOURCES[row]
            if damaged is not None:
                drops.append(1 - value(damaged, first))
                others.append(value(damaged, first) >= value(second, first))
                beside.append(value(damaged, first) >= value(candidate, first))
            if each.kind in DAMAGES and (worse := damage(candidate, each.kind, seed)):
                losses.append(value(candidate, first) - value(worse, first))
        assert each.texts == each.compared == each.compared_candidates == len(drops)
        assert each.candidates == len(losses)
        if drops:
            assert each.drop == pytest.approx(mean(drops), abs=1e-5)
            assert each.beats_reference == pytest.approx(mean(others))
            assert each.beats_candidate == pytest.approx(mean(beside))
        else:
            assert each.drop is each.beats_reference is None
        if losses:
            assert each.candidate_drop == pytest.approx(mean(losses), abs=1e-5)
    gender = next(bias for bias in found.biases if bias.kind == "gender")
    moves = []
    for (first, second), candidate in zip(REFERENCES[:3], CANDIDATES):
        for text in (second, candidate):
            if swap_gender(text) and swap_gender(first):
                after = value(str(swap_gender(text)), str(swap_gender(first)))
                moves.append(abs(after - value(text, first)))
    assert gender.texts == len(moves) > 0
    assert gender.moved == pytest.approx(mean(moves), abs=1e-5)
    assert gender.largest == pytest.approx(max(moves), abs=1e-5)


def test_minilm_misses_swapped_words(minilm: str) -> None:
    references = [
        ["She sold the red car to her old uncle.", "The red car was sold to her uncle by her."]
    ]
    found = audit(references, None, None, minilm, 6)
    swapped = found.noticed[0]
    assert (swapped.texts, swapped.compared, swapped.missed) == (1, 1, True)
    assert found.advice()["swapped words"] == ADVICE["swapped words"]


def test_without_anything_beside_there_is_no_bias(tiny: Tiny) -> None:
    found = audit(["The dog ran home with his cats."], None, None, tiny("bert"), 2)
    assert found.biases == ()
    assert all(each.beats_reference is each.beats_candidate is None for each in found.noticed)


def test_what_is_missed() -> None:
    def noticed(drop: float | None, other: float | None, candidate: float | None) -> bool:
        return Noticed("number", 1, drop, 0, None, 1, other, 1, candidate, None).missed

    assert noticed(0.3, 0.6, None)
    assert noticed(0.3, 0.1, 0.5)
    assert not noticed(0.01, 0.4, 0.4)
    assert noticed(0.05, None, None)
    assert not noticed(0.2, None, None)
    assert not noticed(None, None, None)


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        ((["a"], ["b", "c"]), {}, "got 2 candidates for 1 rows of references"),
        ((["a"], None, ["b", "c"]), {}, "got 2 sources for 1 rows of references"),
        ((["a"], [3]), {}, "got int"),
        ((["", " "],), {}, "got no references with a text"),
        ((["a"],), {"score": "f2"}, "wanted 'precision', 'recall' or 'f1'"),
        ((["a"],), {"seed": 0.5}, "got seed=0.5; wanted an integer"),
        ((["a"],), {"num_layers": [1, 2]}, "got 2 layers to audit; wanted one"),
        ((["a"],), {"reduction": "mean"}, "got reduction= for audit"),
    ],
)
def test_errors(arguments: Any, options: Any, message: str, tiny: Tiny) -> None:
    options = {"num_layers": 2, **options}
    with pytest.raises(BERTScoreError, match=message):
        audit(*arguments, model_name_or_path=tiny("bert"), **options)


# ---------------------------------------------------------------- the command


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for i in (0, 1):
        texts = [group[i] for group in REFERENCES[:3]]
        (tmp_path / f"r{i}.txt").write_text("\n".join(texts) + "\n", "utf-8")
    (tmp_path / "c.txt").write_text("\n".join(CANDIDATES[:3]) + "\n", "utf-8")
    (tmp_path / "s.txt").write_text("\n".join(SOURCES[:3]) + "\n", "utf-8")
    return tmp_path


def test_the_command(files: Path, tiny: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    base = ["audit", "-r", "r0.txt", "r1.txt", "-m", tiny("bert"), "-n", "2"]
    more = ["-c", "c.txt", "--source", "s.txt", "--seed", "5"]
    assert main([*base, *more, "-o", "out.json"]) == 0
    groups = [group[:] for group in REFERENCES[:3]]
    wanted = audit(groups, CANDIDATES[:3], SOURCES[:3], tiny("bert"), 2, seed=5)
    assert json.loads((files / "out.json").read_text("utf-8")) == json.loads(
        json.dumps(wanted.to_dict())
    )
    assert main([*base, *more]) == 0
    out = capsys.readouterr().out
    assert out == wanted.to_text()
    assert out.splitlines()[0].split()[:3] == ["damage", "texts", "drop"]
    assert out.splitlines()[-1] == wanted.signature
    assert main(base) == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["-c", "c.txt"], "got no references to audit; wanted --references FILE"),
        (["-r", "r0.txt", "-c", "c.txt", "c.txt"], "got 2 files of predictions; wanted one"),
        (["-r", "r0.txt", "--source", "no.txt"], "no.txt"),
        (["-r", "r0.txt", "--source", "s.txt", "-o", "s.txt"], "which is read; wanted another"),
    ],
)
def test_errors_of_the_command(
    arguments: list[str], message: str, files: Path, tiny: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *arguments, "-m", tiny("bert"), "-n", "2"]) == 2
    assert message in capsys.readouterr().err


def test_the_blocks_of_the_page(minilm: str) -> None:
    page = (Path(__file__).parents[1] / "docs" / "audit.md").read_text("utf-8")
    first, second = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(first, "audit.md", "exec"), {})
        exec(compile(second, "audit.md", "exec"), {})
    flags, best = printed.getvalue().splitlines()
    assert f"# {flags}" in first
    assert best in second


def test_chance_is_the_only_source_of_chance() -> None:
    for function in DAMAGES.values():
        assert function(TEXT, Random(1)) == function(TEXT, Random(1))
