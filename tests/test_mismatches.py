"""Flags beside the score: what contradicts a reference and what does not, judged by hand."""

from __future__ import annotations

import csv
import io
import json
import time
from decimal import Decimal
from pathlib import Path

import pytest

from bertscore_tm import BERTScoreError, find_mismatches
from bertscore_tm.cli import main
from bertscore_tm.errors import InvalidTypeError
from bertscore_tm.mismatches import KINDS
from bertscore_tm.numerals import find_numbers

# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "text, value",
    [
        *((text, 12000) for text in (
            "12,000", "12 000", "12\u00a0000", "12.000", "12'000", "12 thousand", "12k",
            "twelve thousand", "१२०००", "१२,०००", "١٢٬٠٠٠", "１２０００", "1.2万", "1万2千",
            "12 тысяч",
        )),
        *((text, 1_500_000) for text in (
            "1.5 million", "1,500,000", "1.500.000", "15,00,000", "one and a half million", "1.5m",
            "1,5 Millionen", "1.5 mln", "15 लाख",
        )),
        ("one hundred and five", 105), ("twenty-one", 21), ("two dozen", 24), ("3.14", "3.14"),
        ("nineteen ninety-nine", 1999), ("half a million", 500_000), ("2½", "2.5"), ("0,5", "0.5"),
        ("١٢٫٥", "12.5"), ("-5", -5), ("21st", 21), ("third", 3), ("the first", 1),
        ("3億", 300_000_000),
        ("1,234.56", "1234.56"), ("1.234,56", "1234.56"), ("nine hundred thousand", 900_000),
    ],
)  # fmt: skip
def test_a_number_is_read_in_every_script(text: str, value: int | str) -> None:
    (number,) = find_numbers(text)
    assert Decimal(value) in number.values


@pytest.mark.parametrize(
    "text",
    ["hundreds of them", "several hundred", "a few thousand", "no one", "one of them", "B12",
     "MH370",
     "COVID-19", "a second later", "one third of it", "for the first time", "a couple of dozen"],
)  # fmt: skip
def test_what_states_no_number(text: str) -> None:
    assert find_numbers(text) == []


@pytest.mark.parametrize(
    "candidate, reference, differs",
    [
        ("It cost 12,000 dollars.", "It cost 12 000 dollars.", False),
        ("It cost 12,000 dollars.", "It cost 12 dollars.", True),
        ("It cost 12,000 dollars.", "It cost twelve thousand dollars.", False),
        ("50% of them", "fifty per cent of them", False),
        ("50% of them", "15% of them", True),
        ("in 1999", "in 1998", True),
        ("the 1990s", "the 90s", False),
        ("the third man", "the 3rd man", False),
        ("the third man", "the second man", True),
        ("at 3 pm", "at 15:00", False),
        ("at 3:30 pm", "at 3:30 am", True),
        ("about 100 people", "104 people", False),
        ("6.4 percent", "6.37 percent", False),
        ("two men", "men", False),  # what is missing contradicts nothing
        ("men", "two men", False),
        ("35 centimetres of rain", "13.75 inches of rain", False),  # the same in other units
        ("१२ लोग", "12 लोग", False),
        ("१२ लोग", "१३ लोग", True),
        ("３人", "4人", True),
        ("one man", "two men", True),
    ],
)
def test_numbers(candidate: str, reference: str, differs: bool) -> None:
    assert find_mismatches(candidate, reference)["number"] is differs
    assert find_mismatches(reference, candidate)["number"] is differs


# ---------------------------------------------------------------- negation, names, gender

CASES = [
    ("negation", "He did not go home.", "He went home.", True),
    ("negation", "She can't swim.", "She can swim.", True),
    ("negation", "Nobody came to the party.", "Everyone came to the party.", True),
    ("negation", "It is never cold there.", "It is always cold there.", True),
    ("negation", "No, he came.", "Yes, he came.", True),
    ("negation", "He is unhappy.", "He is not happy.", False),
    ("negation", "He failed to win.", "He did not win.", False),
    ("negation", "He did n't win.", "He did not win.", False),
    ("negation", "He not only sings.", "He sings.", False),
    ("negation", "There is no doubt that he sings.", "He certainly sings.", False),
    ("negation", "The dog sleeps.", "The dog sleeps. It is not hungry.", False),
    ("name", "John went to Paris.", "Mary went to Paris.", True),
    ("name", "They met in Berlin.", "They met in Rome.", True),
    ("name", "It rained on Monday.", "It rained on Tuesday.", True),
    ("name", "Barack Obama met Merkel.", "Barack Obama met Putin.", True),
    ("name", "The French president spoke.", "The president of France spoke.", False),
    ("name", "He lives in Kiev.", "He lives in Kyiv.", False),
    ("name", "Mr Smith is ill.", "Smith is ill.", False),
    ("name", "The dog sleeps.", "A dog sleeps.", False),
    ("name", "all in small letters by john", "all in small letters by mary", None),
    ("gender", "He is the best.", "She is the best.", True),
    ("gender", "The mother of the boy", "The father of the boy", True),
    ("gender", "She gave him her book.", "She gave him his book.", True),
    ("gender", "A person came.", "She came.", False),
    ("gender", "He told his wife.", "He told his wife that she may go.", False),
]


@pytest.mark.parametrize("kind, candidate, reference, differs", CASES)
def test_english(kind: str, candidate: str, reference: str, differs: bool | None) -> None:
    assert find_mismatches(candidate, reference, "en")[kind] is differs
    assert find_mismatches(reference, candidate, "en")[kind] is differs


def test_equal_texts_do_not_differ() -> None:
    for _, *texts, _ in CASES:
        for text in texts:
            assert not any(find_mismatches(str(text), str(text), "en").values())


def test_one_reference_that_agrees_is_enough() -> None:
    assert find_mismatches("two dogs", ["two dogs", "three dogs"])["number"] is False
    assert find_mismatches("two dogs", ["four dogs", "three dogs"])["number"] is True


def test_other_languages_are_not_judged_but_for_numbers() -> None:
    flags = find_mismatches("Der Hund hat nicht 3 Katzen.", "Der Hund hat 4 Katzen.")
    assert flags == {"number": True, "negation": None, "name": None, "gender": None}
    assert find_mismatches("He left.", "She left.", "de")["gender"] is None
    assert find_mismatches("He left.", "She left.", "en-GB")["gender"] is True


def test_errors() -> None:
    with pytest.raises(BERTScoreError, match="got int to compare; wanted texts"):
        find_mismatches("a", [3])  # type: ignore[list-item]
    with pytest.raises(BERTScoreError, match="got no references; wanted at least one"):
        find_mismatches("a", [])
    with pytest.raises(BERTScoreError, match="no language code"):
        find_mismatches("a", "b", "xx")


# ---------------------------------------------------------------- columns


@pytest.mark.parametrize("form", ["text", "csv", "jsonl", "json"])
def test_columns_of_the_command(
    form: str, minilm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    candidates, references = tmp_path / "c.txt", tmp_path / "r.txt"
    candidates.write_text("He sold 12 cars.\nDer Hund hat 3 Katzen\n", "utf-8")
    references.write_text("He sold 13 cars.\nDer Hund hat 3 Katzen\n", "utf-8")
    files = ["-c", str(candidates), "-r", str(references)]
    assert main(["score", *files, "-m", minilm, "-n", "6", "--mismatches", "--format", form]) == 0
    out = capsys.readouterr().out
    wanted = [(True, False, False, False), (False, None, None, None)]
    names = [f"{kind}_mismatch" for kind in KINDS]
    if form == "text":
        first, second, _, counts, _ = out.splitlines()
        assert first.endswith("mismatch: number")
        assert "mismatch" not in second
        assert counts == "mismatches  number 1/2  negation 0/1  name 0/1  gender 0/1"
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        cells = {True: "1", False: "0", None: ""}
        assert [[row[n] for n in names] for row in rows] == [[cells[v] for v in w] for w in wanted]
    elif form == "jsonl":
        rows = [json.loads(line) for line in out.splitlines()]
        assert [tuple(row[name] for name in names) for row in rows] == wanted
    else:
        (system,) = json.loads(out)["systems"]
        assert list(zip(*(system["samples"][name] for name in names))) == wanted


@pytest.mark.parametrize("text", ["He saw Rome 5 times . " * 2_000, "not " * 30_000])
def test_texts_that_go_round_in_circles_are_not_read(text: str) -> None:
    """Aligning them would take minutes, and say nothing."""
    begun = time.process_time()
    assert set(find_mismatches(text, "He saw Paris 6 times.", "en").values()) == {None}
    assert set(find_mismatches("He saw Paris 6 times.", text).values()) == {None}
    assert time.process_time() - begun < 2
    few = "He saw Rome 5 times . " * 3
    assert find_mismatches(few, "He saw Rome 6 times .", "en")["number"]


def test_no_references_at_all() -> None:
    with pytest.raises(InvalidTypeError, match="got NoneType to compare; wanted texts"):
        find_mismatches("a", None)  # type: ignore[arg-type]
