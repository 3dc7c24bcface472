"""Where tokens stand in a text: `Encoder.spans`, and the segments in which a text is shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from bertscore_tm import HuggingFaceEncoder
from bertscore_tm.alignment import AlignedText, AlignedToken
from bertscore_tm.segments import isolated, segments_of
from bertscore_tm.spans import (
    belongs_to_last,
    plain_piece,
    settled_spans,
    spans_by_decoding,
    spans_by_letters,
)

Tiny = Callable[[str], str]
KINDS = ("bert", "roberta", "gpt2", "roberta-no-prefix", "t5", "xlm-roberta", "albert", "mbart")
KINDS += ("modernbert", "deberta-v2", "xlnet", "t5-bytes")
SCRIPTS = {
    "english": "The quick brown fox, 12 jumps",
    "urdu": "ایک آدمی بازار گیا۔",
    "arabic": "ذَهَبَ الرَّجُلُ إلى السوق",
    "hebrew": "שָׁלוֹם עולם",
    "chinese": "他走得很慢，回家了",
    "hindi": "हिन्दी में क्षमा",
    "thai": "เขาเดินไปตลาดน้ำ",
    "emoji": "👩‍👩‍👧 ok 👍🏽 ❤️ 🇵🇰",
    "composed": "Café Noël naïve",
    "decomposed": unicodedata.normalize("NFD", "Café Noël naïve"),
    "blanks": " \t the  cat\u00a0sat\n on ",
    "ligature": "ﬁne ½ ①",
    "surrogate": "a \ud800 b",
    "markers": "a [SEP] b </s> <s> c",
}


def spans_of(encoder: HuggingFaceEncoder, text: str) -> list[Any]:
    (tokens,), spans = encoder.tokenize([text]), encoder.spans(text)
    assert len(spans) == len(tokens.ids)
    return list(spans)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("kind", KINDS)
def test_spans_lie_in_the_text_and_rise(tiny: Tiny, kind: str, script: str) -> None:
    text = SCRIPTS[script]
    encoder = HuggingFaceEncoder(tiny(kind))
    placed = [span for span in spans_of(encoder, text) if span is not None]
    assert placed
    for start, end in placed:
        assert 0 <= start <= end <= len(text)
        assert text[start:end] == text[start:end].strip()
    starts = [start for start, _ in placed]
    assert starts == sorted(starts)


@pytest.mark.parametrize("script", [name for name in SCRIPTS if name != "surrogate"])
@pytest.mark.parametrize("kind", ["roberta", "gpt2", "modernbert", "t5-bytes"])
def test_tokens_of_bytes_cover_the_text(tiny: Tiny, kind: str, script: str) -> None:
    """Nothing is unknown to them: each character that is no white space has a token."""
    if (kind, script) == ("t5-bytes", "markers"):
        pytest.skip("what its tokens decode to is not this text: places are guesses")
    text = SCRIPTS[script]
    spans = [span for span in spans_of(HuggingFaceEncoder(tiny(kind)), text) if span is not None]
    covered = {place for span in spans for place in range(*span)}
    assert covered >= {i for i, c in enumerate(text) if not c.isspace()}


@pytest.mark.parametrize("kind", KINDS)
def test_words_stand_where_they_stand(tiny: Tiny, kind: str) -> None:
    text = "  \tthe dog ran home "
    spans = spans_of(HuggingFaceEncoder(tiny(kind)), text)
    words = [text[a:b] for a, b in (span for span in spans if span is not None)]
    assert "".join(words) == "thedogranhome"
    assert spans[next(i for i, span in enumerate(spans) if span)][0] == 3


def test_a_vocabulary_without_case_and_accents_keeps_the_text(tiny: Tiny) -> None:
    encoder = HuggingFaceEncoder(tiny("bert"))  # it lowers letters and strips accents
    for text in ("Thé DÓG", unicodedata.normalize("NFD", "Thé DÓG")):
        words = [text[a:b] for a, b in (s for s in spans_of(encoder, text) if s is not None)]
        assert "".join(words) == text.replace(" ", "")


def test_bytes_of_one_character_share_its_span(tiny: Tiny) -> None:
    for kind in ("roberta", "t5-bytes"):
        spans = spans_of(HuggingFaceEncoder(tiny(kind)), "xé好")
        assert [s for s in spans if s is not None][-5:] == [(1, 2)] * 2 + [(2, 3)] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_bare_mark_of_a_space_has_no_letters(tiny: Tiny, kind: str) -> None:
    encoder = HuggingFaceEncoder(tiny(kind))
    text = "好 好"
    (tokens,) = encoder.tokenize([text])
    for piece, span in zip(encoder.pieces(tokens.ids), encoder.spans(text)):
        if piece in ("Ġ", "▁"):
            assert span is not None
            assert span[0] == span[1]


@pytest.mark.parametrize("left", [False, True])
def test_spans_of_a_text_that_is_cut(tiny: Tiny, left: bool) -> None:
    encoder = HuggingFaceEncoder(tiny("bert"), max_length=5)
    if left:
        encoder.tokenizer._tokenizer.truncation_side = "left"
    text = "the cat the dog the mat"
    whole = spans_of(HuggingFaceEncoder(tiny("bert")), text)[1:-1]
    try:
        assert spans_of(encoder, text) == [None, *(whole[-3:] if left else whole[:3]), None]
    finally:
        encoder.tokenizer._tokenizer.truncation_side = "right"


# ---------------------------------------------------------------- the rules, one by one


def test_marks_of_vocabularies() -> None:
    assert [plain_piece(p) for p in ("##ing", "▁the", "Ġthe", "lo@@", "w</w>", "a#", "▁")] == [
        "ing", "the", "the", "lo", "w", "a#", "",
    ]  # fmt: skip


def test_white_space_and_dropped_marks_are_settled() -> None:
    text = " cafe\u0301 \u200dok"
    spans = settled_spans(text, [(0, 5), (6, 7), (8, 10)], ["Ġcafe", "Ġ", "ok"])
    assert spans == [(1, 6), (7, 7), (8, 10)]
    # A mark that has a token of its own is not its neighbour's.
    assert settled_spans("e\u0301", [(0, 1), (1, 2)], ["e", "x"]) == [(0, 1), (1, 2)]


def test_spans_from_decoded_beginnings() -> None:
    assert spans_by_decoding(["a", "a", "aé", "aé!"]) == [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert spans_by_decoding([]) == []


def test_letters_are_looked_for_in_order() -> None:
    assert spans_by_letters("The thin man", ["the", "th", "##in", "man"]) == [
        (0, 3), (4, 6), (6, 8), (9, 12),
    ]  # fmt: skip
    assert spans_by_letters("a cat sat on it", ["[UNK]", "it"]) == [None, None]
    assert spans_by_letters("İ x", ["x", ""]) == [(2, 3), (3, 3)]  # lower case is longer there


@pytest.mark.parametrize(
    "text, place, joined",
    [
        ("e\u0301", 1, True),
        ("हि", 1, True),
        ("न्दी", 2, True),  # after a virama
        ("👩‍👧", 1, True),
        ("👩‍👧", 2, True),
        ("👍🏽", 1, True),
        ("🇵🇰", 1, True),
        ("ab", 1, False),
        ("好好", 1, False),
        ("ab", 0, False),
        ("ab", 2, False),
    ],
)
def test_where_no_reader_would_cut(text: str, place: int, joined: bool) -> None:
    assert belongs_to_last(text, place) is joined


# ---------------------------------------------------------------- segments


def side(text: str, *tokens: tuple[int | None, int | None], lost: int = 0) -> AlignedText:
    made = [
        AlignedToken(
            "[X]" if a is None else text[a:b], a, b, a is None, 1.0, None, None, 0.0
        )
        for a, b in tokens
    ]  # fmt: skip
    return AlignedText(text, tuple(made), lost)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("kind", KINDS)
def test_segments_lose_nothing(tiny: Tiny, kind: str, script: str) -> None:
    if (kind, script) == ("t5-bytes", "markers"):
        pytest.skip("what its tokens decode to is not this text: not all places are known")
    text = SCRIPTS[script]
    encoder = HuggingFaceEncoder(tiny(kind))
    spans = [s if s is not None else (None, None) for s in spans_of(encoder, text)]
    (tokens,) = encoder.tokenize([text])
    assert len(tokens.ids) == len(spans)
    found = segments_of(side(text, *spans))
    shown = [s for s in found if not s.added]
    assert "".join(s.text for s in shown) == text
    assert sorted(i for s in found for i in s.tokens) == list(range(len(spans)))
    place = 0
    for segment in shown:
        assert not segment.tokens or not belongs_to_last(text, place) or place == 0
        place += len(segment.text)


def test_tokens_of_one_character_are_one_segment() -> None:
    found = segments_of(side("é a", (None, None), (0, 0), (0, 1), (0, 1), (2, 3), (None, None)))
    assert [(s.text, s.tokens) for s in found] == [
        ("[X]", (0,)), ("é", (1, 2, 3)), (" ", ()), ("a", (4,)), ("[X]", (5,)),
    ]  # fmt: skip


def test_what_was_cut_off_is_said() -> None:
    right = segments_of(side("a bc d", (0, 1), lost=2))
    assert [(s.text, s.cut) for s in right] == [("a", False), (" bc d", True)]
    left = segments_of(side("a bc d", (5, 6), lost=2))
    assert [(s.text, s.cut) for s in left] == [("a bc ", True), ("d", False)]
    none = segments_of(side(" a ", (1, 2)))
    assert [s.cut for s in none] == [False] * 3


def test_tokens_that_are_added_stand_around_the_text(tiny: Tiny) -> None:
    encoder = HuggingFaceEncoder(tiny("mbart"))  # its language code has a weight
    spans = [s or (None, None) for s in spans_of(encoder, "a dog")]
    found = segments_of(side("a dog", *spans))
    assert [s.added for s in found] == [False] * 3 + [True] * 2
    assert "".join(s.text for s in found[:3]) == "a dog"
    nothing = segments_of(side("  ", (None, None), (None, None)))
    assert [(s.text, s.added) for s in nothing] == [("[X]", True), ("[X]", True), ("  ", False)]


def test_without_places_tokens_follow_each_other() -> None:
    token = AlignedToken("ab", None, None, False, 1.0, None, None, 0.0)
    found = segments_of(AlignedText("ab ab", (token, token), 0))
    assert "".join(s.text for s in found) == "ab ab "


def test_directions_are_isolated() -> None:
    assert isolated("abc") == "abc"
    assert isolated("שלום") == "\u2068שלום\u2069"
