"""Tables of token weights on the command line: beside a plain count by hand."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertscore_tm import HuggingFaceEncoder, IdfTable, bert_score
from bertscore_tm.cli import main

Tiny = Callable[[str], str]
TEXTS = ["a dog ran home", "a cat and a dog", "rain fell on the town", "the dog", ""]


@pytest.fixture
def texts(tmp_path: Path) -> str:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS[:4]) + "\n\n")
    return str(tmp_path / "texts.txt")


@pytest.fixture
def table(texts: str, tmp_path: Path, tiny: Tiny, capsys: pytest.CaptureFixture[str]) -> str:
    path = str(tmp_path / "idf.json")
    assert main(["idf", "fit", "-t", texts, "-m", tiny("bert"), "-o", path]) == 0
    assert re.search(r"\d+ tokens of 5 texts; score with --idf ", capsys.readouterr().err)
    return path


def split(tiny: Tiny, text: str) -> list[str]:
    """The pieces of a text, by transformers' own tokenizer."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny("bert")).tokenize(text)  # type: ignore[no-any-return]


def counted(tiny: Tiny) -> Counter[str]:
    """In how many texts each piece is."""
    return Counter(piece for text in TEXTS for piece in {*split(tiny, text)})


def test_the_table_is_that_of_a_count_by_hand(table: str, tiny: Tiny) -> None:
    loaded, encoder = IdfTable.load(table), HuggingFaceEncoder(tiny("bert"))
    found = {
        encoder.pieces([token])[0]: (weight, documents)
        for token, weight, documents in loaded.entries()
    }
    count = counted(tiny)
    assert {piece: documents for piece, (_, documents) in found.items()} == count
    for piece, (weight, _) in found.items():
        assert weight == pytest.approx(math.log(6 / (count[piece] + 1)))
    assert loaded.digest == IdfTable.fit(TEXTS, encoder).digest
    assert [entry[1] for entry in loaded.entries()] == sorted(
        (entry[1] for entry in loaded.entries()), reverse=True
    )


def test_counts_come_back_exactly_from_weights() -> None:
    """Also where they are many: a weight has the digits for it."""
    import torch

    from bertscore_tm import DocumentFrequencies

    count = torch.tensor([1, 2, 12_345, 999_999, 10**7])
    frequencies = DocumentFrequencies(torch.arange(5), count, 10**7)
    entries = IdfTable.from_frequencies(frequencies).entries()
    assert [(token, documents) for token, _, documents in entries] == list(
        enumerate(count.tolist())
    )


def test_given_weights_have_no_counts() -> None:
    assert IdfTable({5: 1.0, 7: 2.0, 6: 2.0}).entries() == [
        (6, 2.0, None),
        (7, 2.0, None),
        (5, 1.0, None),
    ]


def test_a_look_into_it(table: str, tiny: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["idf", "show", table, "-m", tiny("bert"), "--top", "2"]) == 0
    out = capsys.readouterr().out
    loaded = IdfTable.load(table)
    count = counted(tiny)
    once = sum(number == 1 for number in count.values())
    assert out.startswith(f"{len(count)} tokens of 5 texts, {once} of them in one text only; ")
    assert f"table@{loaded.digest}" in out
    assert f"a token that is not in it weighs {math.log(6):.4f}" in out
    piece, most = count.most_common(1)[0]
    smallest = out[out.index("smallest weights") :].splitlines()[2:4]
    assert len(smallest) == 2
    assert re.fullmatch(rf" *{math.log(6 / (most + 1)):.4f} +{most}  \d+  {piece}", smallest[0])


def test_a_look_without_an_encoder(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["idf", "show", table, "--format", "json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert seen["documents"] == 5
    assert {each["piece"] for each in seen["largest"]} == {None}
    assert seen["largest"][0]["documents"] == 1
    assert "texts" not in seen


def test_what_other_texts_have_that_it_does_not(
    table: str, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.txt").write_text("the dog sleep\nhello dog hello\n")
    given = ["idf", "show", table, "-m", tiny("bert"), "-t", str(tmp_path / "other.txt")]
    assert main([*given, "--format", "json"]) == 0
    of = json.loads(capsys.readouterr().out)["texts"]
    pieces = [each for text in ("the dog sleep", "hello dog hello") for each in split(tiny, text)]
    known = {each for text in TEXTS for each in split(tiny, text)}
    unseen = [each for each in pieces if each not in known]
    distinct = list(dict.fromkeys(unseen))
    assert of == {
        "texts": 2,
        "tokens": len(pieces),
        "unseen": len(unseen),
        "unseen_pieces": distinct,
        "unseen_distinct": len(distinct),
    }
    assert main(given) == 0
    said = rf"2 texts: {len(unseen)} of {len(pieces)} tokens \(\d+\.\d%\) are not in the table, "
    assert re.search(rf"{said}{len(distinct)} different ones\nsuch as s ", capsys.readouterr().out)


def test_score_takes_it(
    table: str, tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.txt").write_text("a dog ran\n")
    (tmp_path / "r.txt").write_text("the dog ran home\n")
    texts = ["-c", str(tmp_path / "p.txt"), "-r", str(tmp_path / "r.txt"), "-n", "2"]
    assert main(["score", *texts, "-m", tiny("bert"), "--idf", table]) == 0
    scores = bert_score(
        ["a dog ran"], ["the dog ran home"], tiny("bert"), 2, idf=IdfTable.load(table)
    )
    assert f"F1 {scores['f1'].item():.6f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given, message",
    [
        (["show", "{table}", "--top", "0"], "got --top 0; wanted a number of tokens from 1 on"),
        (["show", "{table}", "-t", "{texts}"], "got texts without an encoder; wanted --model"),
        (["show", "{texts}"], "is no idf table"),
        (["show", "{table}", "-m", "{other}"], "got an idf table of tokenizer"),
        (["show", "{table}", "-o", "{table}"], "as --output, which is read; wanted another file"),
        (["fit", "-t", "{texts}", "-m", "{bert}", "-o", "{texts}"], "as --output, which is read"),
    ],
)
def test_wrong_commands(
    given: list[str],
    message: str,
    table: str,
    texts: str,
    tiny: Tiny,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, Any] = {"table": table, "texts": texts}
    names |= {"bert": tiny("bert"), "other": tiny("roberta")}
    assert main(["idf", *(each.format(**names) for each in given)]) == 2
    assert message in capsys.readouterr().err
