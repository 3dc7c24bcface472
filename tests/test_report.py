"""`report`: its data beside `bert_score` and plain loops, its page read by another parser, the
sheet for people, the command."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertscore_tm import Baseline, BERTScoreWarning, bert_score, explain, report, report_data
from bertscore_tm.annotation import system_codes
from bertscore_tm.cli import main
from bertscore_tm.errors import InvalidTypeError, InvalidValueError, TextFileNotFoundError
from bertscore_tm.picking import (
    best_first,
    in_random_order,
    in_turns,
    most_different_first,
    worst_first,
)
from bertscore_tm.report_page import as_report_page, with_short_texts
from bertscore_tm.textfiles import read_records
from tiny import TEXT

Tiny = Callable[[str], str]
NAMES = ("precision", "recall", "f1")
EVIL = "</script><script>alert(1)</script><!-- <b onclick='x'> & \" \\ \u2028 \u2029 \ud83d ]]>"
REFS = [*TEXT, "a small dog"]
NEW = [text.lower().replace("the", "a") for text in REFS]
OLD = [*REFS[1:], REFS[0]]


class Page(HTMLParser):
    """The tags of a page, and what stands in each script and style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": [], "title": [], "h1": []}
        self._open = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.inside:
            self.inside[self._open][-1] += data

    @property
    def data(self) -> Any:
        return json.loads(self.inside["script"][0])


@pytest.fixture
def two(tiny: Tiny) -> Any:
    return report({"new": NEW, "old": OLD}, REFS, tiny("bert"), 2, sources=REFS[::-1])


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "options", [{}, {"idf": True}, {"beta": 2.0, "match_special_tokens": False}]
)
def test_the_page_holds_what_bert_score_gives(tiny: Tiny, options: dict[str, Any]) -> None:
    targets = [[text, f"{text} and more"] for text in REFS]
    made = report({"new": NEW, "old": OLD}, targets, tiny("bert"), 2, **options)
    data = Page(made.to_html()).data
    assert data["references"] == targets
    assert data["sources"] is None
    assert data["cut"] is None
    for system, texts in zip(data["systems"], (NEW, OLD)):
        assert system["predictions"] == texts
        scores = bert_score(texts, targets, tiny("bert"), 2, **options)
        for name in NAMES:
            assert system[name] == pytest.approx(scores[name].tolist(), abs=1e-6)
            assert system["mean"][name] == pytest.approx(float(scores[name].mean()), abs=1e-6)
    assert [system["name"] for system in data["systems"]] == ["new", "old"]


def test_rescaled_scores_are_those_of_the_table(tiny: Tiny) -> None:
    baseline = Baseline(torch.full((4, 3), 0.25))
    made = report(NEW, REFS, tiny("bert"), 2, rescale_with_baseline=baseline).to_dict()
    plain = bert_score(NEW, REFS, tiny("bert"), 2)["f1"]
    assert made["systems"][0]["f1"] == pytest.approx(((plain - 0.25) / 0.75).tolist(), abs=2e-6)
    assert made["rescaled"]


def test_intervals_are_percentiles_of_resampled_means(two: Any) -> None:
    """A plain loop over the same draws."""
    n = len(REFS)
    drawn = torch.randint(n, (1000, n), generator=torch.Generator().manual_seed(0)).numpy()
    first, second = two.to_dict()["systems"]
    for system in (first, second):
        for name in NAMES:
            means = [np.mean([system[name][i] for i in rows]) for rows in drawn]
            wanted = np.percentile(means, [2.5, 97.5])
            assert system["interval"][name] == pytest.approx(wanted, abs=2e-6)
    apart = np.array(second["f1"]) - np.array(first["f1"])
    wanted = np.percentile([apart[rows].mean() for rows in drawn], [2.5, 97.5])
    assert second["difference"] == pytest.approx([apart.mean(), *wanted], abs=2e-6)
    assert first["difference"] is None


def test_the_interval_is_about_that_of_the_normal_distribution() -> None:
    values = torch.rand(400, generator=torch.Generator().manual_seed(1))
    scores = dict.fromkeys(NAMES, values)
    (found,) = report_data._intervals([scores], report_data.Wishes(resamples=4000))
    half = 1.96 * float(values.std()) / 20
    low, high = found["interval"]["f1"]
    mean = float(values.mean())
    assert (low, high) == pytest.approx((mean - half, mean + half), abs=0.1 * half)


def test_more_confidence_is_a_wider_interval_and_a_seed_repeats(tiny: Tiny) -> None:
    def interval(**options: Any) -> list[float]:
        made = report(OLD, REFS, tiny("bert"), 2, alignments=0, **options)
        return made.to_dict()["systems"][0]["interval"]["f1"]  # type: ignore[no-any-return]

    low, high = interval(confidence=0.5)
    lower, higher = interval(confidence=0.99)
    assert lower < low < high < higher
    assert interval(seed=3) == interval(seed=3) != interval(seed=4)


def test_lengths_are_tokens_of_the_prediction(tiny: Tiny) -> None:
    data = report(NEW, [[ref, "b"] for ref in REFS], tiny("bert"), 2).to_dict()
    counted = [
        sum(not t.special for t in explain(p, "a", tiny("bert"), 2).pred.tokens) for p in NEW
    ]
    assert data["systems"][0]["length"] == counted


# ---------------------------------------------------------------- alignments


@pytest.mark.parametrize("rule", ["max", "mean"])
def test_alignments_are_those_of_explain(tiny: Tiny, rule: str) -> None:
    targets = [[text, NEW[i], ""] for i, text in enumerate(REFS)]
    options: Any = {"multi_reference": rule}
    data = report({"new": NEW, "old": OLD}, targets, tiny("bert"), 2, **options).to_dict()
    assert len(data["alignments"]) == len(REFS)
    for row, of_systems in data["alignments"].items():
        for texts, pairs in zip((NEW, OLD), of_systems):
            whole = explain(texts[int(row)], targets[int(row)], tiny("bert"), 2, **options)
            given = {place for places in whole.taken.values() for place in places}
            assert {pair["reference"] for pair in pairs} == given
            for pair in pairs:
                one = whole.pairs[pair["reference"]]
                for packed, side in ((pair["pred"], one.pred), (pair["target"], one.target)):
                    parts = packed["parts"]
                    shown = "".join(part[0] for part in parts if part[2:3] != [1])
                    assert shown == side.text
                    found = {token[0]: token for part in parts for token in part[3:]}
                    assert sorted(found) == list(range(len(side.tokens)))
                    for place, token in enumerate(side.tokens):
                        if token.match is None:
                            assert found[place] == [place, int(token.special)]
                            continue
                        _, match, cosine, weight, adds = found[place]
                        assert match == token.match
                        values = (token.similarity, token.weight, token.contribution)
                        assert (cosine, weight, adds) == pytest.approx(values, abs=6e-5)


def test_the_rows_that_are_explained_are_worth_a_look(tiny: Tiny) -> None:
    some = report({"new": NEW, "old": OLD}, REFS, tiny("bert"), 2, alignments=5).to_dict()
    columns = [system["f1"] for system in some["systems"]]
    picked = [int(row) for row in some["alignments"]]
    columns.append(np.abs(np.subtract(*columns)).tolist())
    assert len(picked) == 5
    for column in columns:  # of rows that are equal but for rounding any will do
        assert max(column) in [column[row] for row in picked]
    for column in columns[:2]:
        assert min(column) in [column[row] for row in picked]
    assert report(NEW, REFS, tiny("bert"), 2, alignments=0).to_dict()["alignments"] == {}


def test_long_alignments_stop_where_there_is_no_room(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_data, "ALIGNMENT_SIZE", 2000)
    data = report(NEW, REFS, tiny("bert"), 2).to_dict()
    assert 1 <= len(data["alignments"]) < len(REFS)
    assert data["left_out"] == len(REFS) - len(data["alignments"])


def test_orders() -> None:
    one, two = [3.0, 1.0, 2.0, 1.0], [3.0, 5.0, 2.5, 0.0]
    assert worst_first(one) == [1, 3, 2, 0]
    assert best_first(one) == [0, 2, 1, 3]
    assert most_different_first([one, two]) == [1, 3, 2, 0]
    assert sorted(in_random_order(9, 1)) == list(range(9))
    assert in_random_order(9, 1) == in_random_order(9, 1) != in_random_order(9, 2)
    assert in_turns([[1, 3, 2, 0], [0, 2, 3, 1]], 3) == [1, 0, 3]
    assert in_turns([[1, 0], [1, 0]], 9) == [1, 0]
    assert in_turns([], 2) == []


# ---------------------------------------------------------------- what was noticed


def test_notes_name_the_rows(tiny: Tiny) -> None:
    preds = ["", "the cat", "the cat " * 60, "[CLS] the cat", "the\u00a0 cat", "漢字漢字漢"]
    target = ["the cat", "", "the cat", "the cat", "the cat", "漢字"]
    with pytest.warns(BERTScoreWarning, match="2 of 6 samples have nothing to score"):
        data = report(preds, target, tiny("bert"), 2).to_dict()
    (system,) = data["systems"]
    notes = system["notes"]
    assert notes["0"] == ["no prediction"]
    assert notes["1"] == ["no reference"]
    assert notes["2"] == ["truncated"]
    assert notes["3"] == ["special tokens"]
    assert notes["5"] == ["unknown words"]
    assert (system["facts"]["empty"], system["facts"]["truncated"]) == (2, 1)
    assert system["f1"][:2] == [0.0, 0.0]


# ---------------------------------------------------------------- the page


def test_markup_in_texts_stays_text(tiny: Tiny) -> None:
    harmless = report({"one": NEW}, REFS, tiny("bert"), 2, sources=REFS).to_html()
    texts = [EVIL, *NEW[1:]]
    page = report({EVIL: texts}, [EVIL, *REFS[1:]], tiny("bert"), 2, sources=texts, title=EVIL)
    found = Page(page.to_html())
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in Page(harmless).tags]
    assert found.data["systems"][0]["name"] == EVIL
    assert found.data["systems"][0]["predictions"] == texts == found.data["sources"]
    assert found.data["references"][0] == [EVIL]
    shown = EVIL.replace("\ud83d", "\ufffd")
    assert found.inside["title"] == found.inside["h1"] == [shown]
    inside = page.to_html().partition('id="data">')[2].partition("</script>")[0]
    assert not {*inside} & {*"<>&\u2028\u2029\ud83d"}
    page.to_html().encode()


def test_the_page_may_run_its_own_script_and_load_nothing(two: Any) -> None:
    page = Page(two.to_html())
    policy = next(a["content"] for tag, a in page.tags if "http-equiv" in a)
    digest = {
        kind: base64.b64encode(hashlib.sha256(page.inside[kind][-1].encode()).digest()).decode()
        for kind in ("script", "style")
    }
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest['style']}'; "
        f"script-src 'sha256-{digest['script']}'"
    )
    assert not any({"src", "href", "style"} & {*attributes} for _, attributes in page.tags)
    assert "http://www.w3.org/2000/svg" in page.inside["script"][1]  # a name, not an address
    assert re.findall(r"https?://[^\"]+", two.to_html()) == ["http://www.w3.org/2000/svg"]


def test_texts_are_cut_where_a_page_would_be_too_large(two: Any) -> None:
    data = two.to_dict()
    data["systems"][0]["predictions"] = ["x" * 10_000] * len(REFS)
    data["systems"][1]["predictions"] = ["ش" * 10_000] * len(REFS)
    assert with_short_texts(data, 10**6)["cut"] is None
    short = with_short_texts(data, 300_000)
    assert short["cut"] == 4000
    assert {*map(len, short["systems"][1]["predictions"])} == {4001}
    assert short["references"] == data["references"]
    assert with_short_texts(data, 1)["cut"] == 120
    assert len(data["systems"][0]["predictions"][0]) == 10_000
    assert Page(as_report_page(data)).data["systems"][0]["predictions"][0] == "x" * 10_000


def test_saved_and_as_text(two: Any, tmp_path: Path) -> None:
    two.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == two.to_html()
    system = two.to_dict()["systems"][1]
    low, high = system["interval"]["f1"]
    line = two.to_text().splitlines()[1]
    assert line.startswith("old  P ")
    assert line.endswith(f"F1 {system['mean']['f1']:.4f} [{low:.4f}, {high:.4f}]")
    assert two.to_text().splitlines()[2] == two.to_dict()["signature"]
    assert json.loads(two.to_json()) == two.to_dict()


# ---------------------------------------------------------------- the sheet for people


def read_sheet(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


def test_the_sheet_holds_texts_and_no_score(two: Any) -> None:
    text = two.annotation_sheet(4, seed=1)
    rows = read_sheet(text)
    header = ["row", "system", "source", "reference", "candidate", "human_score"]
    assert list(rows[0]) == header
    assert len(rows) == 8
    codes = dict(zip(system_codes(["new", "old"], 1), (NEW, OLD)))
    assert sorted(codes) == ["system_1", "system_2"]
    for row in rows:
        place = int(row["row"]) - 1
        assert row["candidate"] == codes[row["system"]][place]
        assert (row["reference"], row["source"]) == (REFS[place], REFS[::-1][place])
        assert row["human_score"] == ""
    assert "new" not in {row["system"] for row in rows}
    assert text == two.annotation_sheet(4, seed=1) != two.annotation_sheet(4, seed=2)
    columns = np.array([system["f1"] for system in two.to_dict()["systems"]])
    picked = {int(row["row"]) - 1 for row in rows}
    assert {columns.mean(0).argmin(), columns.mean(0).argmax()} <= picked
    assert np.abs(columns[0] - columns[1]).argmax() in picked


def test_the_order_of_the_sheet_does_not_tell_the_score(two: Any) -> None:
    worst = int(np.argmin(np.add(*[system["f1"] for system in two.to_dict()["systems"]])))
    first = {int(read_sheet(two.annotation_sheet(4, seed))[0]["row"]) - 1 for seed in range(12)}
    assert len(first - {worst}) > 1


def test_the_sheet_comes_back_as_it_was(tiny: Tiny, tmp_path: Path) -> None:
    strange = ['a "quoted" dog', "tabs\there", "two\nlines", "'", '"', "ab\ud83d", *NEW[6:]]
    targets = [["a dog", "another"], *([text] for text in REFS[1:])]
    made = report(strange, targets, tiny("bert"), 2).annotation_sheet(100)
    (tmp_path / "sheet.tsv").write_text(made, encoding="utf-8", newline="")
    rows = {int(row["row"]) - 1: row for _, row in read_records(str(tmp_path / "sheet.tsv"))}
    assert sorted(rows) == list(range(len(strange)))
    assert [rows[i]["candidate"].replace("\ufffd", "\ud83d") for i in range(6)] == strange[:6]
    assert [rows[0][f"reference_{i}"] for i in (1, 2)] == ["a dog", "another"]
    assert rows[1]["reference_2"] == rows[0]["human_score"] == ""


# ---------------------------------------------------------------- the command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, texts in (("new", NEW), ("old", OLD), ("refs", REFS), ("src", REFS[::-1])):
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder: Path, tiny: Tiny, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def call(*arguments: str) -> tuple[int, str, str]:
        data = ["-c", "new.txt", "old.txt", "-r", "refs.txt"]
        code = main(["report", *data, "-m", tiny("bert"), "-n", "2", *arguments])
        return code, *capsys.readouterr()

    return call


def test_the_command_writes_the_page_of_the_function(
    run: Callable[..., Any], folder: Path, tiny: Tiny
) -> None:
    arguments = ("--source", "src.txt", "--title", "T", "--alignments", "3", "-o", "page.html")
    assert run(*arguments) == (0, "", "")
    systems = {"new.txt": NEW, "old.txt": OLD}
    made = report(systems, REFS, tiny("bert"), 2, sources=REFS[::-1], title="T", alignments=3)
    assert (folder / "page.html").read_text("utf-8") == made.to_html()
    assert (
        run("--seed", "2", "--resamples", "200", "--confidence", "0.9")[1]
        == report(systems, REFS, tiny("bert"), 2, seed=2, resamples=200, confidence=0.9).to_text()
    )
    assert run("-o", "data.json")[0] == 0
    written = json.loads((folder / "data.json").read_text("utf-8"))
    assert written == report(systems, REFS, tiny("bert"), 2).to_dict()


def test_the_command_writes_a_sheet_and_says_who_is_who(
    run: Callable[..., Any], folder: Path
) -> None:
    sheet = ("--annotate", "3", "--annotate-output", "sheet.tsv")
    code, _, err = run(*sheet, "-o", "page.html")
    assert code == 0
    assert len(read_sheet((folder / "sheet.tsv").read_text("utf-8"))) == 6
    codes = dict(zip(system_codes(["a", "b"]), ("new.txt", "old.txt")))
    said = ", ".join(f"{code} is {codes[code]!r}" for code in sorted(codes))
    assert err == f"bertscore-tm: wrote sheet.tsv: fill in human_score; {said}\n"


def test_a_file_that_comes_twice_is_two_systems(
    folder: Path, tiny: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["-c", "new.txt", "new.txt", "-r", "refs.txt", "-m", tiny("bert"), "-n", "2"]
    assert main(["report", *data]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("new.txt (2)  P ")
    assert lines[1].removeprefix("new.txt (2)") == lines[0].removeprefix("new.txt")


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--annotate", "3"], "got --annotate alone; wanted --annotate-output, too"),
        (["--annotate-output", "x.tsv"], "got --annotate-output alone; wanted --annotate, too"),
        (
            ["--annotate", "0", "--annotate-output", "x.tsv"],
            "got --annotate 0; wanted a whole number of samples, at least 1",
        ),
        (
            ["--alignments", "-1"],
            "got --alignments -1; wanted a whole number of samples, at least 0",
        ),
        (["--resamples", "9"], "got --resamples 9; wanted a whole number, at least 100"),
        (["--source-column", "x"], "got --source-column alone; wanted --source FILE, too"),
        (["--source", "short.txt"], "got 1 sources for 13 predictions; wanted the same number"),
        (["--source", "none.txt"], "[Errno 2] No such file or directory: 'none.txt'"),
        (["--source", "refs.jsonl"], "'refs.jsonl', row 1: got a list; wanted one source a line"),
        (
            ["--annotate", "1", "--annotate-output", "src.txt", "--source", "src.txt"],
            "got 'src.txt' as --annotate-output, which is read; wanted another file",
        ),
        (
            ["--annotate", "1", "--annotate-output", "x.tsv", "-o", "./x.tsv", "--format", "html"],
            "got './x.tsv' as --output and as --annotate-output; wanted two files",
        ),
        (
            ["-o", "page.pdf"],
            "got 'page.pdf' as --output, which cannot be written as .pdf; wanted a name in .json, "
            ".html, any other for plain text, or --format",
        ),
        (["-n", "1,2"], "got 2 layers to report on; wanted one, such as --num-layers 1"),
    ],
)
def test_errors_of_the_command(
    run: Callable[..., Any], folder: Path, arguments: list[str], message: str
) -> None:
    (folder / "short.txt").write_text("one\n")
    (folder / "refs.jsonl").write_text('["a", "b"]\n' * len(REFS))
    code, out, err = run(*arguments)
    assert (code, out, err) == (2, "", f"bertscore-tm: error: {message}\n")


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ((NEW, REFS[:2]), InvalidValueError, "got 13 predictions and 2 targets; wanted the same"),
        (({"a": NEW, "b": NEW[:2]}, REFS), InvalidValueError, "got 2 predictions and 13 targets"),
        (([], []), InvalidValueError, "got no predictions to report on; wanted at least one"),
        (({}, []), InvalidTypeError, r"got \[\] as names of systems; wanted at least one, each a"),
        (({1: NEW}, REFS), InvalidTypeError, r"got \[1\] as names of systems; wanted at least one"),
    ],
)
def test_errors_of_data(tiny: Tiny, arguments: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        report(*arguments, tiny("bert"), 2)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"sources": "a"}, InvalidTypeError, "got str as sources; wanted a text for each"),
        ({"sources": 3}, InvalidTypeError, "got int as sources; wanted a text for each"),
        ({"sources": [1] * 13}, InvalidTypeError, "got int in row 0 of sources; wanted a text"),
        ({"sources": ["a"]}, InvalidValueError, "got 1 sources for 13 predictions; wanted the"),
        ({"title": 3}, InvalidTypeError, "got int as title; wanted a text"),
        ({"alignments": True}, InvalidValueError, "got alignments=True; wanted a whole number of"),
        ({"alignments": -1}, InvalidValueError, "got alignments=-1; wanted a whole number of"),
        ({"resamples": 1}, InvalidValueError, "got resamples=1; wanted a whole number, at least"),
        ({"confidence": 1}, InvalidValueError, "got confidence=1; wanted a number between 0"),
        ({"seed": "x"}, InvalidValueError, "got seed='x'; wanted a whole number, at least 0"),
        ({"score": "f1"}, InvalidTypeError, "got score= for report, which shows all three scores"),
        ({"num_layers": [1, 2]}, InvalidValueError, "got 2 layers to report on; wanted one, such"),
    ],
)
def test_errors_of_options(tiny: Tiny, options: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        report(NEW, REFS, tiny("bert"), **{"num_layers": 2, **options})


def test_errors_of_results(two: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="got number=0; wanted a whole number of samples"):
        two.annotation_sheet(0)
    with pytest.raises(TextFileNotFoundError, match="No such file or directory"):
        two.save(tmp_path / "none" / "page.html")


def test_the_block_of_the_document_runs(
    minilm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[1] / "docs" / "report.md").read_text("utf-8")
    space: dict[str, Any] = {}
    exec(compile(text.partition("```python\n")[2].partition("```")[0], "report.md", "exec"), space)
    data = Page((tmp_path / "report.html").read_text("utf-8")).data
    assert [system["name"] for system in data["systems"]] == ["new", "old"]
    for name in re.findall(r"`(\w+)`", text.partition("is plain data:")[2].partition("numbers")[0]):
        assert name in data or name in data["systems"][0], name
