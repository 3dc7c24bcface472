"""What an `Alignment` looks like: as text, as HTML, as a picture, from the command line."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bertscore_tm import bert_score, explain
from bertscore_tm.alignment import Alignment
from bertscore_tm.cli import main
from bertscore_tm.errors import MissingPackageError
from bertscore_tm.html_view import SHARED, as_page
from bertscore_tm.levels import LEVELS, floor_of, level_of
from tiny import TEXT

Tiny = Callable[[str], str]
PRED, REF = "the dog sat on the mat at noon", TEXT[2]
EVIL = "<script>alert(\"1\")</script> & </span><b onclick='x'>"
TAGS = {"style", "script", "div", "p", "b", "small", "span", "bdi", "details", "summary", "output"}


class Fragment(HTMLParser):
    """The tags of a fragment, its text without styles and scripts, and the spans of tokens."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.tokens: list[dict[str, str | None]] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        if "data-i" in dict(attrs):
            self.tokens.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & {*self.open}:
            self.text += data


@pytest.fixture
def alignment(tiny: Tiny) -> Alignment:
    return explain(PRED, REF, tiny("bert"), 2)


# ---------------------------------------------------------------- levels


def test_levels_go_from_the_least_alike_to_one(alignment: Alignment) -> None:
    pair = alignment.best
    floor = min(value for row in alignment.similarity for value in row)
    assert floor_of(pair) == pytest.approx(floor)
    for place, token in enumerate(pair.pred.tokens):
        level = level_of(pair.pred, (place,), floor)
        if token.similarity is None:
            assert level is None
        else:
            assert level == round(LEVELS * (token.similarity - floor) / (1 - floor))


# ---------------------------------------------------------------- text


def test_text_names_each_token_and_its_match(alignment: Alignment) -> None:
    text = alignment.to_text(color=False)
    assert "\x1b" not in text
    assert text.startswith(
        f"P {alignment.precision:.6f}  R {alignment.recall:.6f}  F1 {alignment.f1:.6f}\n"
    )
    assert text.endswith(f"{alignment.signature}\n")
    assert f"\n  {PRED}\n" in text
    for side, other in (
        (alignment.pred, alignment.target),
        (alignment.target, alignment.pred),
    ):
        for token in side.tokens:
            if token.match is not None:
                words = f"{token.text} → {other.tokens[token.match].text}"
                line = rf"^ *{token.similarity:.4f} .* {token.contribution:.4f} .* {words}$"
                assert re.search(line.replace("[", r"\[").replace("]", r"\]"), text, re.M), line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "environment, terminal, colored",
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_is_for_terminals(
    alignment: Alignment,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    terminal: bool,
    colored: bool,
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal() if terminal else io.StringIO())
    assert ("\x1b[" in alignment.to_text()) is colored
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" in alignment.to_text(color=True)


def test_colour_changes_no_letter(alignment: Alignment) -> None:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", alignment.to_text(color=True))
    assert plain == alignment.to_text(color=False)


def test_texts_command_no_terminal(tiny: Tiny) -> None:
    text = explain("a \x1b[31m dog \u202e x", "a dog", tiny("roberta"), 2).to_text(color=False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)
    assert r"\x1b" in text


def test_directions_stay_apart_in_a_line(minilm: str) -> None:
    text = explain("שלום", "سلام", "minilm", 6).to_text(color=False)
    assert "\u2068ש\u2069 → " in text
    assert "\u2068שלום\u2069" in text


# ---------------------------------------------------------------- HTML


@pytest.mark.filterwarnings("ignore:.*are unknown to the encoder")
@pytest.mark.parametrize("kind", ["bert", "roberta", "t5"])
def test_markup_is_escaped(tiny: Tiny, kind: str) -> None:
    html = explain(EVIL, [f"a {EVIL}", "dog"], tiny(kind), 2).to_html()
    found = Fragment(html)
    assert found.tags <= TAGS
    assert html.count("<script") == html.count("</script>") == 1
    assert "onclick='" not in html
    assert EVIL in found.text


def test_html_shows_the_text_and_the_scores(alignment: Alignment) -> None:
    found = Fragment(alignment.to_html())
    for value in (alignment.precision, alignment.recall, alignment.f1):
        assert f"{value:.4f}" in found.text
    assert f"[CLS]{PRED}[SEP]" in found.text
    assert alignment.signature in found.text
    assert alignment._repr_html_() == alignment.to_html()


def test_tokens_can_be_reached_and_know_their_match(alignment: Alignment) -> None:
    tokens = Fragment(alignment.to_html()).tokens
    assert len(tokens) == len(alignment.pred.tokens) + len(alignment.target.tokens)
    for shown, token in zip(tokens, alignment.pred.tokens):
        assert shown["tabindex"] == "0"
        assert shown.get("data-m") == (None if token.match is None else str(token.match))
        assert str(shown["title"]).startswith(token.text)


def test_a_page_of_many_shares_style_and_script(alignment: Alignment) -> None:
    assert alignment.to_html() == SHARED + alignment.to_html(shared=False)
    assert len(alignment.to_html(shared=False)) < 200 * 2 * len(alignment.pred.tokens) + 2000
    assert "<style" not in alignment.to_html(shared=False)


def test_html_asks_nothing_of_the_network(alignment: Alignment) -> None:
    assert not re.search(r"https?:|src=|href=|@import|url\(", alignment.to_html())


def test_words_are_not_torn_apart(tiny: Tiny) -> None:
    """Pieces of one word follow each other without a gap; the text keeps its own direction."""
    for text in ("ذَهَبَ الرَّجُلُ", "שלום עולם", "हिन्दी में", "👩‍👩‍👧 👍🏽"):
        html = explain(text, "a dog", tiny("roberta"), 2).to_html()
        first = html[html.index('<p class="text" dir="auto">') :]
        first = first[: first.index("</p>")]
        assert re.sub(r"<bdi.*?</bdi>|<[^>]*>", "", first) == text
    for name in ("margin", "padding", "inline-block"):
        assert not re.search(rf"data-i\][^}}]*{name}", SHARED)


def test_halves_of_characters_can_be_written(tiny: Tiny, tmp_path: Path) -> None:
    made = explain("a \ud800 dog", "a dog", tiny("bert"), 2)
    (tmp_path / "a.html").write_text(as_page(made), encoding="utf-8")
    made.to_text(color=True).encode()
    json.dumps(made.to_dict())


def test_references_without_a_score_are_folded(tiny: Tiny) -> None:
    made = explain(PRED, [PRED, REF], tiny("bert"), 2, multi_reference="best_f1")
    html = made.to_html()
    assert html.count("<details open>") == 1
    assert html.count("<details>") == 1
    assert "Reference 1: gives precision, recall, f1" in html
    assert "Reference 2: gives no score" in html


@pytest.mark.filterwarnings("ignore::bertscore_tm.BERTScoreWarning")
def test_what_was_cut_off_is_shown_as_such(tiny: Tiny) -> None:
    made = explain(PRED, REF, tiny("bert"), 2, max_length=6)
    assert f"tokens cut off: {made.pred.lost}" in made.to_text(color=False)
    assert " [cut off: " in made.to_text(color=False)
    assert "\x1b[2;9m" in made.to_text(color=True)
    assert '<span class="cut">' in made.to_html()


# ---------------------------------------------------------------- pictures


def test_a_picture_of_the_matrix(alignment: Alignment) -> None:
    figure, ax = alignment.plot()
    assert ax.images[0].get_array().tolist() == alignment.similarity
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        token.text for token in alignment.target.tokens
    ]
    figure.savefig(io.BytesIO(), format="png")


def test_a_picture_on_given_axes_and_none_left_over(alignment: Alignment) -> None:
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    own = Figure().subplots()
    before = pyplot.get_fignums()
    figure, ax = alignment.plot(ax=own)
    assert ax is own
    assert figure is own.figure
    alignment.plot()
    assert pyplot.get_fignums() == before


def test_dollars_begin_no_formula(tiny: Tiny) -> None:
    figure, _ = explain("a $ b $", "$x_$", tiny("roberta"), 2).plot()
    figure.savefig(io.BytesIO(), format="png")


def test_without_matplotlib(alignment: Alignment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackageError, match="wanted: pip install matplotlib"):
        alignment.plot()
    assert issubclass(MissingPackageError, ImportError)


# ---------------------------------------------------------------- the command


@pytest.fixture
def run(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "preds.txt").write_text("rain fell\nthe dog ran\na cat\n")
    (tmp_path / "refs.txt").write_text(f"{TEXT[3]}\nthe dog ran home\n{TEXT[4]}\n")
    (tmp_path / "more.txt").write_text("rain\na dog\ncats\n")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["explain", *arguments, "-m", tiny("bert"), "-n", "2"])
        return code, *capsys.readouterr()

    return call


FILES = ("-c", "preds.txt", "-r", "refs.txt")


def test_two_texts(run: Any, tiny: Tiny) -> None:
    code, out, err = run(PRED, REF)
    assert (code, err) == (0, "")
    assert out == explain(PRED, REF, tiny("bert"), 2).to_text(color=False)
    assert run(PRED, REF, "a dog")[1] == (
        explain(PRED, [REF, "a dog"], tiny("bert"), 2).to_text(color=False)
    )


@pytest.mark.parametrize("idf", [(), ("--idf",)])
@pytest.mark.parametrize("files", [FILES, (*FILES, "more.txt")])
def test_a_row_of_files_has_the_score_of_score(
    run: Any, tiny: Tiny, idf: tuple[str, ...], files: tuple[str, ...]
) -> None:
    code, out, err = run(*files, "--row", "2", "--format", "json", *idf)
    assert (code, err) == (0, "")
    got = json.loads(out)
    preds = Path("preds.txt").read_text().splitlines()
    columns = [Path(name).read_text().splitlines() for name in files[3:]]
    target = [list(row) for row in zip(*columns)]
    wanted = bert_score(preds, target, tiny("bert"), 2, idf=bool(idf))
    assert got["f1"] == pytest.approx(wanted["f1"][1].item(), abs=1e-6)  # another batch
    assert got["pairs"][0]["pred"]["text"] == preds[1]


def test_the_file_says_the_format(run: Any, tmp_path: Path) -> None:
    for name, start in (("a.html", "<!doctype html>"), ("a.json", "{"), ("a.txt", "P 0.")):
        assert run(PRED, REF, "-o", name) == (0, "", "")
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    run(PRED, REF, "-o", "b.json", "--format", "html")
    Fragment((tmp_path / "a.html").read_text().partition("<body>")[2].replace("</body></html>", ""))
    assert (tmp_path / "b.json").read_text().startswith("<!doctype")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "got no row to explain; wanted PRED REF, or --candidates FILE"),
        (("a",), "got a prediction alone; wanted a reference, too: PRED REF"),
        (("--idf", "a", "b"), "--idf took 'a' as its table; wanted it last"),
        (("a", "b", "--row", "1"), "got a text beside files or a row"),
        (("a", "b", *FILES), "got a text beside files or a row"),
        (FILES, "got no row to explain"),
        ((*FILES, "--row", "0"), "got --row 0; wanted a row from 1 to 3, as many as 'preds.txt'"),
        ((*FILES, "--row", "4"), "got --row 4; wanted a row from 1 to 3"),
        (("-c", "preds.txt", "more.txt", "-r", "refs.txt", "--row", "1"),
         "got 2 files of predictions; wanted one"),
        (("-c", "no.txt", "-r", "refs.txt", "--row", "1"), "no.txt"),
        ((*FILES, "--row", "1", "-o", "refs.txt"), "got 'refs.txt' as --output, which is read"),
        (("a", "b", "-o", "a.csv"),
         "got 'a.csv' as --output, which cannot be written as .csv; wanted a name in .json, .html"),
        (("a", "b", "-o", "a.html.gz"), "which cannot be written as .gz; wanted a name in .json"),
        (("a", "b", "--num-layers", "1,2"), "got 2 layers to explain; wanted one, such as "),
        (("a", "b", "--idf", "nothing"), "got --idf nothing"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(
    tiny: Tiny, run: Any, capsys: Any, arguments: tuple[str, ...], message: str
) -> None:
    code = main(["explain", "-m", tiny("bert"), *arguments])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("bertscore-tm: error: ")
    assert message in err
    assert err.count("\n") == 1
