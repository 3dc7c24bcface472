"""Which language a code means, and the encoder for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from bertscore_tm import BERTScore
from bertscore_tm.languages import default_encoder, language_code

Tiny = Callable[[str], str]


@pytest.mark.parametrize(
    "code, wanted",
    [
        ("en", "en"),
        ("EN", "en"),
        (" De ", "de"),
        ("pt-BR", "pt"),
        ("pt_BR", "pt"),
        ("zh-Hant-TW", "zh"),
        ("zh-Hans", "zh"),
        ("es-419", "es"),
        ("en-sci", "en-sci"),
        ("EN-Sci", "en-sci"),
        ("ceb", "ceb"),
        ("sw", "sw"),
        ("yi", "yi"),
    ],
)
def test_languages(code: str, wanted: str) -> None:
    assert language_code(code) == wanted


@pytest.mark.parametrize(
    "code",
    [
        "",
        " ",
        "e",
        "xx",
        "xx-nowhere",
        "english",
        "en-",
        "-en",
        "en-scientific",
        "en-1",
        "e n",
        "qqq",
        None,
        3,
        b"en",
        ["en"],
    ],
)
def test_what_is_no_language(code: Any) -> None:
    message = (
        f"got lang={code!r}, which is no language code that is known here; wanted an ISO 639-1"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        language_code(code)


@pytest.mark.parametrize(
    "lang, model",
    [
        ("en", "roberta-large"),
        ("zh", "bert-base-chinese"),
        ("tr", "dbmdz/bert-base-turkish-cased"),
        ("en-sci", "allenai/scibert_scivocab_uncased"),
        ("de", "bert-base-multilingual-cased"),
        ("ur", "bert-base-multilingual-cased"),
    ],
)
def test_encoders_of_languages(lang: str, model: str) -> None:
    """The paper's package has these."""
    assert default_encoder(lang) == model


@pytest.mark.parametrize(
    "lang, model", [("zh-TW", "bert-base-chinese"), ("UR", "bert-base-multilingual-cased")]
)
def test_the_language_chooses_the_encoder(lang: str, model: str) -> None:
    try:
        named = BERTScore(lang=lang).signature
    except OSError as error:  # it is not at hand
        named = str(error)
    assert model in named


def test_neither_encoder_nor_language() -> None:
    with pytest.raises(
        ValueError, match=r"got neither an encoder nor a language; .*\('en' chooses roberta-large\)"
    ):
        BERTScore()


def test_the_language_of_a_given_encoder_changes_no_score(tiny: Tiny) -> None:
    assert BERTScore(tiny("bert"), 2, lang="de").signature == BERTScore(tiny("bert"), 2).signature
