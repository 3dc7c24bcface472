"""Idf tables and baselines: counting, files, messages."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch

from bertscore_tm import Baseline, BERTScore, IdfTable, Tokens, bert_score
from bertscore_tm.idf import DocumentFrequencies
from bertscore_tm.references import EMPTY
from bertscore_tm.weighting import WEIGHTINGS
from reference import bertscore, inverse_document_frequencies

Tiny = Callable[[str], str]
TEXTS = [
    "the cat sat on the mat",
    "the dog ran home",
    "rain fell on the old town",
    "the dog ran home",
    "rain",
]


class Letters:
    """An encoder as far as idf needs one: letters are tokens, and a "." in front is a marker."""

    name, version, tokenizer_id, depth, default_layers = "letters", "", "letters@1", 0, (0,)

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return [Tokens([0, *map(ord, text)], [False, *(True for _ in text)]) for text in texts]

    def hidden_states(self, *_: Any) -> torch.Tensor:
        raise AssertionError("idf needs no vectors")


# ---------------------------------------------------------------- document frequencies


def frequencies(texts: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    token = torch.tensor([i for text in texts for i in text], dtype=torch.int32)
    found = DocumentFrequencies.of(
        token, torch.tensor([len(text) for text in texts], dtype=torch.int32)
    )
    assert found.token.dtype == found.count.dtype == torch.int64
    assert found.documents == len(texts)
    return found.token.tolist(), found.count.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_document_frequencies_equal_a_counter(seed: int) -> None:
    draw = random.Random(seed)
    texts = [
        [draw.choice([0, 1, 2, 30_000, 250_000]) for _ in range(draw.randrange(6))]
        for _ in range(40)
    ]
    wanted = sorted(Counter(token for text in texts for token in set(text)).items())
    assert frequencies(texts) == ([token for token, _ in wanted], [count for _, count in wanted])


def test_document_frequencies_by_hand() -> None:
    assert frequencies([[5, 5, 5], [], [5, 2], [2]]) == ([2, 5], [2, 2])
    assert frequencies([]) == ([], [])
    assert frequencies([[], []]) == ([], [])


def test_document_frequencies_of_many_texts_and_large_ids() -> None:
    """Text number times vocabulary is beyond 32 bits."""
    texts = [[250_000, i % 3] for i in range(20_000)]
    assert frequencies(texts) == ([0, 1, 2, 250_000], [6667, 6667, 6666, 20_000])


# ---------------------------------------------------------------- IdfTable


def weight_of(table: IdfTable, *token: int) -> list[float]:
    got = table(torch.tensor(token, dtype=torch.int32))
    assert got.dtype == torch.float64
    return got.tolist()


def test_fit_by_hand() -> None:
    table = IdfTable.fit(iter(["ab", "aa", ""]), Letters())
    assert (table.documents, table.tokenizer, len(table)) == (
        3,
        "letters@1",
        2,
    )  # markers are not counted
    assert weight_of(table, ord("a"), ord("b"), ord("c")) == pytest.approx(
        [math.log(4 / 3), math.log(4 / 2), math.log(4)]
    )
    assert table.unseen == pytest.approx(math.log(4))


def test_a_token_of_every_text_weighs_nothing() -> None:
    table = IdfTable.fit(["a", "ab"], Letters())
    assert weight_of(table, ord("a")) == [0.0]


def test_fit_equals_the_formula(tiny: Tiny) -> None:
    from bertscore_tm import HuggingFaceEncoder

    encoder = HuggingFaceEncoder(tiny("bert"), num_layers=2)
    table = IdfTable.fit(TEXTS, encoder)
    wanted = inverse_document_frequencies(tiny("bert"), TEXTS)
    tokens = encoder.tokenize(TEXTS)
    words = sorted({i for t in tokens for i, word in zip(t.ids, t.words) if word})
    assert len(table) == len(words)
    assert weight_of(table, *words) == pytest.approx([wanted[i] for i in words])
    assert table.unseen == pytest.approx(wanted.unseen)


def test_scores_with_a_fitted_table_are_those_of_the_epoch(tiny: Tiny) -> None:
    """And with a table of other texts they are other ones."""
    from bertscore_tm import HuggingFaceEncoder

    encoder, preds = HuggingFaceEncoder(tiny("bert"), num_layers=2), [*TEXTS[1:], TEXTS[0]]
    got = bert_score(preds, TEXTS, encoder, idf=IdfTable.fit(TEXTS, encoder))
    wanted = bertscore(preds, TEXTS, tiny("bert"), 2, idf=True)
    for name, values in wanted.items():
        assert got[name].tolist() == pytest.approx(values, rel=0, abs=1e-5)
    other = bert_score(
        preds, TEXTS, encoder, idf=IdfTable.fit(["the old cat", "a dog", "rain"], encoder)
    )
    assert (other["f1"] - got["f1"]).abs().max() > 1e-4


def test_unseen_tokens() -> None:
    assert weight_of(IdfTable({5: 0.5, 9: 2.0}), 4, 5, 6, 9, 10, 0) == [
        2.0,
        0.5,
        2.0,
        2.0,
        2.0,
        2.0,
    ]
    assert weight_of(IdfTable({5: 0.5, 9: 2.0}, unseen=0.0), 4, 5, 100) == [0.0, 0.5, 0.0]
    assert weight_of(IdfTable({}, unseen=1.5), 4, 5) == [1.5, 1.5]
    assert weight_of(IdfTable({5: 0.5})) == []


def test_keys_in_any_order_and_kind() -> None:
    np = pytest.importorskip("numpy")
    table = IdfTable({np.int64(9): np.float32(2.0), 5: torch.tensor(0.5), 7: 1})
    assert weight_of(table, 5, 7, 9) == [0.5, 1.0, 2.0]


def test_digest() -> None:
    digest = IdfTable({1: 1.0, 2: 3.0}).digest
    assert re.fullmatch("[0-9a-f]{8}", digest)
    assert IdfTable({2: 3.0, 1: 1.0}).digest == digest
    others = [
        IdfTable({1: 1.0, 2: 3.0}, unseen=1.0),
        IdfTable({1: 1.0, 3: 3.0}),
        IdfTable({1: 1.0, 2: 2.9}),
        IdfTable({2: 3.0}),
    ]
    assert len({digest, *(table.digest for table in others)}) == 5


def test_a_saved_table_is_the_same(tmp_path: Path) -> None:
    table = IdfTable.fit(["ab", "bc", "d" * 3, ""], Letters())
    table.save(tmp_path / "table.json")
    loaded = IdfTable.load(str(tmp_path / "table.json"))
    token = list(range(90, 110))
    assert weight_of(loaded, *token) == weight_of(table, *token)
    facts = ("documents", "tokenizer", "unseen", "digest")
    assert [getattr(loaded, name) for name in facts] == [getattr(table, name) for name in facts]
    own = IdfTable({3: 0.1 + 0.2}, unseen=1e-300)
    own.save(tmp_path / "own.json")
    loaded = IdfTable.load(tmp_path / "own.json")
    assert (weight_of(loaded, 3, 4), loaded.documents, loaded.tokenizer) == (
        [0.1 + 0.2, 1e-300],
        None,
        None,
    )


def test_a_table_that_an_editor_saved_with_a_mark(tmp_path: Path) -> None:
    IdfTable({3: 0.5}).save(tmp_path / "table.json")
    text = (tmp_path / "table.json").read_text(encoding="utf-8")
    (tmp_path / "table.json").write_text(text, encoding="utf-8-sig")
    assert weight_of(IdfTable.load(tmp_path / "table.json"), 3) == [0.5]


@pytest.mark.parametrize(
    "arguments, kind, message",
    [
        (
            ({},),
            ValueError,
            "got an idf table without weights; wanted {token id: weight} with at least one entry",
        ),
        (
            ({"a": 1.0},),
            TypeError,
            "got the key 'a' in an idf table; wanted a token id (an integer)",
        ),
        (({True: 1.0},), TypeError, "got the key True in an idf table"),
        (({1.0: 1.0},), TypeError, "got the key 1.0 in an idf table"),
        (({1: "2"},), TypeError, "got the weight '2' for token 1 in an idf table; wanted a number"),
        (
            ({1: None},),
            TypeError,
            "got the weight None for token 1 in an idf table; wanted a number",
        ),
        (
            ({1: True},),
            TypeError,
            "got the weight True for token 1 in an idf table; wanted a number",
        ),
        (
            ({1: -0.5},),
            ValueError,
            "got the weight -0.5 for token 1 in an idf table; wanted a finite number that is not "
            "negative",
        ),
        (({1: math.nan},), ValueError, "got the weight nan for token 1"),
        (({1: math.inf},), ValueError, "got the weight inf for token 1"),
        (({1: 1.0}, -1.0), ValueError, "got the weight -1.0 for unseen tokens in an idf table"),
        (({1: 1.0}, math.nan), ValueError, "got the weight nan for unseen tokens in an idf table"),
        (
            ([1, 2],),
            TypeError,
            "got list as an idf table; wanted a mapping from token id to weight",
        ),
        ((torch.ones(2),), TypeError, "got Tensor as an idf table; wanted a mapping"),
        (
            ({10**30: 1.0},),
            ValueError,
            f"got the key {10**30} in an idf table; wanted a token id, an integer of 64 bits",
        ),
        (({int: 1.0},), TypeError, "got the key <class 'int'> in an idf table; wanted a token id"),
        (({1: 10**400},), ValueError, "for token 1 in an idf table; wanted a finite number"),
        (({1: torch.ones(2)},), TypeError, "for token 1 in an idf table; wanted a number"),
        (
            ({1: 1.0}, "x"),
            TypeError,
            "got the weight 'x' for unseen tokens in an idf table; wanted a number",
        ),
        (
            ({1: 1.0}, 1.0, "many"),
            TypeError,
            "got documents='many' for an idf table; wanted the number of texts",
        ),
        (
            ({1: 1.0}, 1.0, 3, "\x1b[31m"),
            TypeError,
            r"got tokenizer='\x1b[31m' for an idf table; wanted the tokenizer_id",
        ),
    ],
)
def test_wrong_weights(arguments: tuple[Any, ...], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        IdfTable(*arguments)


def test_nothing_to_fit_on() -> None:
    with pytest.raises(
        ValueError, match="got no texts to fit an idf table on; wanted at least one"
    ):
        IdfTable.fit([], Letters())


@pytest.mark.parametrize("texts", [None, 3, torch.tensor(3)])
def test_what_is_no_list_of_texts(texts: Any) -> None:
    with pytest.raises(TypeError, match=r"as texts of an idf table \(.*\); wanted strings"):
        IdfTable.fit(texts, Letters())


def test_a_class_is_no_encoder() -> None:
    with pytest.raises(TypeError, match="got type as encoder; wanted an object such as"):
        IdfTable.fit(["ab"], Letters)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"got type as encoder; wanted a hub name, a folder, .* or an object"
    ):
        BERTScore(Letters)


GOOD = {
    "format": "bertscore_tm idf 1",
    "documents": 3,
    "tokenizer": "t",
    "unseen": 1.0,
    "weights": {"3": 0.5},
}


def test_the_good_file_is_good(tmp_path: Path) -> None:
    """Else what is wrong with the bad ones might be something else."""
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    assert weight_of(IdfTable.load(tmp_path / "good.json"), 3, 4) == [0.5, 1.0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no json",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b"3",
        b'"text"',
        b"null",
        b"{}",
        b"[" * 100_000,
        *(
            json.dumps({**GOOD, **change}).encode()
            for change in (
                {"format": "bertscore_tm idf 2"},
                {"weights": [1, 2]},
                {"weights": {"a": 1.0}},
                {"weights": {"3": "x"}},
                {"weights": {"3": -1.0}},
                {"weights": {"3": math.nan}},
                {"weights": {"3": 10**400}},
                {"weights": {str(10**30): 1.0}},
                {"documents": "many"},
                {"tokenizer": "\x1b[31m"},
                {"unseen": "x"},
                {"unseen": math.inf},
                {"weights": {}, "unseen": None},
            )
        ),
        *(
            json.dumps({k: v for k, v in GOOD.items() if k != left_out}).encode()
            for left_out in GOOD
        ),
    ],
)
def test_files_that_are_no_table(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_bytes(content)
    wanted = (
        re.escape(f"{str(path)!r} is no idf table (") + r".*wanted a file that IdfTable\.save wrote"
    )
    with pytest.raises(ValueError, match=re.compile(wanted, re.DOTALL)):
        IdfTable.load(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        IdfTable.load(tmp_path / "nowhere.json")


def test_a_table_of_another_tokenizer(tiny: Tiny) -> None:
    table = IdfTable.fit(["ab"], Letters())
    with pytest.raises(
        ValueError,
        match=r"got an idf table of tokenizer letters@1, but encoder .* wanted a table fitted with",
    ):
        BERTScore(tiny("bert"), 2, idf=table)


@pytest.mark.parametrize("idf", ["yes", 1, 0.5, None, [1.0]])
def test_what_is_no_idf(idf: Any, tiny: Tiny) -> None:
    got = "idf='yes'" if idf == "yes" else f"{type(idf).__name__} as idf"
    wanted = f"wanted True, False, {', '.join(map(repr, WEIGHTINGS))}, an IdfTable, a mapping"
    with pytest.raises(TypeError, match=f"got {got}; {wanted}"):
        BERTScore(tiny("bert"), 2, idf=idf)


# ---------------------------------------------------------------- baselines

OWN = {"en/sentence-transformers/all-MiniLM-L6-v2.tsv"}  # fitted here, see PROVENANCE.md there
TABLES = sorted(Path(str(files("bertscore_tm") / "baselines")).rglob("*.tsv"))


def write(tmp_path: Path, content: str | bytes, name: str = "table.tsv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_there_are_as_many_tables_as_the_paper_s_package_has() -> None:
    assert len(TABLES) == 72 + len(OWN)


@pytest.mark.parametrize(
    "path", TABLES, ids=lambda path: "/".join(path.parts[path.parts.index("baselines") + 1 :])
)
def test_packaged_tables(path: Path) -> None:
    """Read here with other means; a table has a line for each layer, and means of unrelated
    texts."""
    parts = path.parts[path.parts.index("baselines") + 1 :]
    model = "/".join(parts[1:]).removesuffix(".tsv")
    table = Baseline.packaged(model, parts[0])
    assert table is not None
    assert table.name == f"{parts[0]}/{model}"
    lines = path.read_text().split()[1:]
    wanted = [[float(cell) for cell in line.split(",")] for line in lines]
    assert [row[0] for row in wanted] == list(range(len(wanted)))
    assert table.values.tolist() == [row[1:] for row in wanted]
    assert len(wanted) >= 5
    assert bool((table.values > -0.2).all())


def test_packaged_tables_are_those_of_the_paper_s_package() -> None:
    theirs = Path(pytest.importorskip("bert_score").__file__).parent / "rescale_baseline"
    ours = {
        "/".join(path.parts[path.parts.index("baselines") + 1 :]): path.read_text().split()
        for path in TABLES
    }
    assert {name: lines for name, lines in ours.items() if name not in OWN} == {
        path.relative_to(theirs).as_posix(): path.read_text().split()
        for path in theirs.rglob("*.tsv")
    }


def test_a_packaged_table_by_hand() -> None:
    """As in the paper's package, for the encoder and layer of its English default."""
    table = Baseline.packaged("roberta-large", "en")
    assert table is not None
    assert table.values.shape == (25, 3)
    assert table.values[17].tolist() == pytest.approx([0.8315, 0.8315, 0.8312], abs=1e-4)


@pytest.mark.parametrize(
    "model, lang",
    [
        ("roberta-large", "ur"),
        ("nobody/nothing", "en"),
        ("", "en"),
        ("../en/roberta-large", "en"),
        ("./roberta-large", "en"),
        ("microsoft/../roberta-large", "en"),
        ("/etc/passwd", "en"),
        ("microsoft\\deberta-base", "en"),
        ("microsoft", "en"),
    ],
)
def test_no_packaged_table(model: str, lang: str) -> None:
    assert Baseline.packaged(model, lang) is None


LINES = "0,0.1,0.2,0.3\n1,0.4,0.5,0.6\n"
VALUES = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]


@pytest.mark.parametrize(
    "content",
    [
        "LAYER,P,R,F\n" + LINES,
        "LAYER,P,R,F\n" + LINES.rstrip("\n"),
        ("LAYER,P,R,F\n" + LINES).replace("\n", "\r\n"),
        b"\xef\xbb\xbfLAYER,P,R,F\n" + LINES.encode(),
        "layer, p, r, f\n" + LINES.replace(",", " , "),
        "\n\nLAYER,P,R,F\n\n" + LINES + "\n\n",
        'LAYER,"P",R,F\n' + LINES.replace("0.1", '"0.1"'),
        "LAYER,P,R,F\n" + LINES.replace("1,0.4", "1.0,4e-1"),
    ],
    ids=["plain", "no-newline", "crlf", "mark", "spaces", "blank-lines", "quotes", "floats"],
)
def test_own_tables(content: str | bytes, tmp_path: Path) -> None:
    table = Baseline.load(write(tmp_path, content))
    assert table.values.tolist() == VALUES
    assert re.fullmatch(r"table\.tsv@[0-9a-f]{8}", table.name)


def test_the_name_tells_tables_apart(tmp_path: Path) -> None:
    one = Baseline.load(write(tmp_path, "LAYER,P,R,F\n" + LINES)).name
    assert Baseline.load(write(tmp_path, "layer,p,r,f\r\n" + LINES)).name == one
    assert (
        Baseline.load(write(tmp_path, "LAYER,P,R,F\n" + LINES.replace("0.1", "0.11"))).name != one
    )


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "begins with 'an empty file'; wanted the header LAYER,P,R,F"),
        ("\n\n", "begins with 'an empty file'"),
        (LINES, "begins with '0,0.1,0.2,0.3'; wanted the header LAYER,P,R,F"),
        ("LAYER\tP\tR\tF\n0\t0.1\t0.2\t0.3\n", "; wanted the header LAYER,P,R,F"),
        ("LAYER,R,P,F\n" + LINES, "begins with 'LAYER,R,P,F'"),
        ("LAYER,P,R\n0,0.1,0.2\n", "begins with 'LAYER,P,R'"),
        ("LAYER,P,R,F\n", "has no lines after its header; wanted one for each layer from 0"),
        (
            "LAYER,P,R,F\n1,0.1,0.2,0.3\n",
            "line 2: got '1,0.1,0.2,0.3'; wanted layer 0 and three finite numbers below 1",
        ),
        (
            "LAYER,P,R,F\n0,0.1,0.2,0.3\n2,0.1,0.2,0.3\n",
            "line 3: got '2,0.1,0.2,0.3'; wanted layer 1",
        ),
        ("LAYER,P,R,F\n0,0.1,0.2\n", "line 2: got '0,0.1,0.2'"),
        ("LAYER,P,R,F\n0,0.1,0.2,0.3,0.4\n", "line 2: got '0,0.1,0.2,0.3,0.4'"),
        ("LAYER,P,R,F\n0,nan,0.2,0.3\n", "line 2: got '0,nan,0.2,0.3'"),
        ("LAYER,P,R,F\n0,-inf,0.2,0.3\n", "line 2: got '0,-inf,0.2,0.3'"),
        ("LAYER,P,R,F\n0,0.1,1.0,0.3\n", "line 2: got '0,0.1,1.0,0.3'"),
        ("LAYER,P,R,F\ninf,0.1,0.2,0.3\n", "line 2: got 'inf,0.1,0.2,0.3'"),
        ("LAYER,P,R,F\n0,a,0.2,0.3\n", "line 2: got '0,a,0.2,0.3'"),
        ("LAYER,P,R,F\n0.5,0.1,0.2,0.3\n", "line 2: got '0.5,0.1,0.2,0.3'; wanted layer 0"),
        ("LAYER,P,R,F\n" + "x" * 200_000, "line 2: got 'xxx"),
        ("x" * 200_000, "begins with 'xxx"),
        ("LAYER,P,R,F\r0,0.1\r", "line 2: got '0,0.1'"),
        (b"LAYER,P,R,F\n0,\x00,0.2,0.3\n", "line 2: got '0,\\x00,0.2,0.3'"),
        (b"\x80\x81\x82\xff" * 9, "is not UTF-8 text ("),
        (b"\x1f\x8b\x08\x00\x00", "is not UTF-8 text ("),
        (b"\x00\x01\x02", "wanted the header LAYER,P,R,F"),
    ],
)
def test_wrong_tables(content: str | bytes, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(
        ValueError, match=re.escape(f"baseline {str(path)!r}") + ".*" + re.escape(message)
    ):
        Baseline.load(path)


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tsv"):
        Baseline.load(tmp_path / "nowhere.tsv")
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        Baseline.load(tmp_path)


@pytest.mark.parametrize(
    "values, message",
    [
        ([0.1, 0.2, 0.3], "got a baseline of shape [3]; wanted [layers, 3]"),
        ([[0.1, 0.2]], "got a baseline of shape [1, 2]"),
        (torch.empty(0, 3), "got a baseline of shape [0, 3]"),
        ([[0.1, 0.2, math.nan]], "got a baseline with a value that is not finite or not below 1"),
        ([[0.1, -math.inf, 0.2]], "got a baseline with a value that is not finite or not below 1"),
        ([[0.1, 0.2, 1.0]], "got a baseline with a value that is not finite or not below 1"),
        ([[0.1, 0.2, 0.3], [0.1]], "got list as baseline ("),
        ([[10**400, 0.2, 0.3]], "got list as baseline ("),
    ],
)
def test_wrong_values(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Baseline(values)


@pytest.mark.parametrize("values", [None, "x", {}, [["a", "b", "c"]], b"x", object()])
def test_values_that_are_no_numbers(values: Any) -> None:
    with pytest.raises(
        (TypeError, ValueError),
        match=r"as baseline \(.*\); wanted numbers, \[layers, 3\] for P, R and F",
    ):
        Baseline(values)


@pytest.mark.parametrize("load", [Baseline.load, IdfTable.load])
def test_paths_that_are_none(load: Callable[[Any], object]) -> None:
    for path in (None, 3, b"x", ["x"]):
        with pytest.raises(TypeError, match=r"as the file of .* wanted its path"):
            load(path)
    for path in ("a\0b", "\ud800"):
        with pytest.raises(ValueError, match="wanted"):
            load(path)


def test_rescale_by_hand() -> None:
    table = Baseline([[0.0, 0.0, 0.0], [0.5, 0.2, 0.6], [-0.25, 0.0, 0.9]])
    scores = torch.tensor(
        [
            [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
            [[0.75, 0.1, 0.3], [0.5, 0.5, 0.9]],
            [[EMPTY] * 3, [EMPTY] * 3],
        ],
        dtype=torch.float64,
    )
    wanted = [
        [[1, 1, 1], [1, 1, 1]],
        [[0.5, -0.125, -0.75], [0.6, 0.5, 0.0]],
        [[EMPTY] * 3, [EMPTY] * 3],
    ]
    got = table.rescale(scores, (1, 2))
    assert got.flatten().tolist() == pytest.approx(
        torch.tensor(wanted, dtype=torch.float64).flatten().tolist()
    )
    back = table.rescale(scores.flip(1), (2, 1)).flip(1)  # layers may come in any order
    assert torch.equal(back, got)


def test_own_values_are_copied() -> None:
    values = torch.tensor([[0.1, 0.2, 0.3]], requires_grad=True)
    table = Baseline(values)
    with torch.no_grad():
        values.zero_()
    assert table.values.flatten().tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert (table.values.dtype, table.values.requires_grad, table.name[:4]) == (
        torch.float64,
        False,
        "own@",
    )


def test_layers_that_a_table_lacks(tiny: Tiny) -> None:
    table = Baseline([[0.1] * 3] * 2, "mine")
    with pytest.raises(ValueError, match="baseline 'mine' has no layer 3; it holds layers 0 to 1"):
        table.rescale(torch.zeros(1, 1, 3), (3,))
    with pytest.raises(ValueError, match="baseline 'mine' has no layer 2; it holds layers 0 to 1"):
        BERTScore(tiny("bert"), "all", rescale_with_baseline=table)


def test_where_a_baseline_may_come_from(tiny: Tiny, tmp_path: Path) -> None:
    path = write(
        tmp_path, "LAYER,P,R,F\n" + "".join(f"{layer},0.1,0.2,0.3\n" for layer in range(4))
    )
    rows = ["rain fell", "two cats"], ["rain", "two cats sleep"]
    raw = bert_score(*rows, tiny("bert"), 2)
    table = Baseline([[0.1, 0.2, 0.3]] * 4)
    for options in (
        {"rescale_with_baseline": table},
        {"rescale_with_baseline": True, "baseline_path": path},
        {"rescale_with_baseline": True, "baseline_path": str(path)},
        {"rescale_with_baseline": True, "baseline_path": table},
    ):
        got = bert_score(*rows, tiny("bert"), 2, **options)
        for name, base in (("precision", 0.1), ("recall", 0.2), ("f1", 0.3)):
            assert got[name].tolist() == pytest.approx(
                [(value - base) / (1 - base) for value in raw[name].tolist()], abs=1e-6
            )


@pytest.mark.parametrize(
    "options, kind, message",
    [
        (
            {"rescale_with_baseline": "yes"},
            TypeError,
            "got rescale_with_baseline='yes'; wanted True, False or a Baseline",
        ),
        (
            {"baseline_path": "table.tsv"},
            ValueError,
            "got baseline_path without rescale_with_baseline=True",
        ),
        ({"rescale_with_baseline": True}, ValueError, "and no language (lang is not given)"),
        ({"rescale_with_baseline": True, "lang": "de"}, ValueError, "and language 'de'"),
        (
            {"rescale_with_baseline": True, "baseline_path": "nowhere.tsv"},
            FileNotFoundError,
            "nowhere.tsv",
        ),
    ],
)
def test_wrong_requests(
    options: dict[str, Any], kind: type[Exception], message: str, tiny: Tiny
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        BERTScore(tiny("bert"), 2, **options)
