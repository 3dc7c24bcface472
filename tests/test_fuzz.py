"""Hostile and odd input: never NaN from finite input, never an error that is not ours, and after an
error all is as before.

One set of targets, run twice: 500 cases in the quick tests, 20,000 in the slow ones. Derandomized:
a failure repeats.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bertscore_tm
from bertscore_tm import Baseline, BERTScore, IdfTable, bert_score
from bertscore_tm.cli import main
from bertscore_tm.references import RULES
from bertscore_tm.textfiles import read_texts
from hostile import WORDS, finite, ours

pytestmark = pytest.mark.filterwarnings(
    "ignore::bertscore_tm.BERTScoreWarning"
)  # odd texts are empty, long or unknown

NAMES = ("precision", "recall", "f1")


class Bench(NamedTuple):
    """What the targets share."""

    folder: Path
    model: str
    metrics: dict[tuple[Any, ...], BERTScore]

    def metric(self, encoder: Any = WORDS, **options: Any) -> BERTScore:
        key = (str(encoder), *options.items())
        if key not in self.metrics:
            own: dict[str, Any] = {"embedding_cache": "1MB", "score": None, "reduction": "none"}
            self.metrics[key] = BERTScore(encoder, 1, **own, **options)
        self.metrics[key].reset()
        return self.metrics[key]


# ---------------------------------------------------------------- texts

# fmt: off
POOL = [
    "", " ", "the cat", "a cat , . "
                        "12", "rain fell", "Übung 東京 "
                                           "привет", "\t \r\n \x0b \x85 \u2028 \u3000", "\0",
    "\ufeff", "\u202e", "\ud800", "\udfff\ud83d", "\ud83d\ude00", "e\u0301" * 9, "🏳️‍🌈",
    "[CLS]", "[SEP] [PAD]", "[UNK]", "[MASK] x", "<s> </s>",
    "<pad>", "<unk> <mask>", "<|endoftext|>", "##a Ġ ▁", "<b>x</b>", "&amp;&#0;", "%s {} \\",
    "\x1b[31m", "a" * 300,
]
# fmt: on
pool = st.sampled_from(POOL)
texts = pool | st.text(
    st.characters(exclude_categories=()), max_size=9
)  # of all characters, lone surrogates, too
texts |= st.tuples(pool, pool).map(" ".join) | st.tuples(pool, st.integers(1, 200)).map(
    lambda case: case[0] * case[1]
)
rows = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=2)), min_size=1, max_size=3)
rules = st.sampled_from(list(RULES))
settings_of = st.fixed_dictionaries(
    {"idf": st.booleans(), "match_special_tokens": st.booleans(), "multi_reference": rules}
)


def score_texts(metric: BERTScore, case: list[tuple[str, list[str]]]) -> None:
    preds = [pred for pred, _ in case]
    metric.update(preds * 2, [*(refs for _, refs in case), *preds])
    values = metric.compute()
    assert isinstance(values, dict)
    finite(values)
    assert [len(value) for value in values.values()] == [2 * len(case)] * 3
    for value in values["f1"].tolist()[
        len(case) :
    ]:  # of equal texts: nothing to score, or the same
        assert value == 0 or value == pytest.approx(1, abs=1e-5)


def words(bench: Bench, case: Any) -> None:
    score_texts(bench.metric(**case[1]), case[0])


def tiny_models(bench: Bench, case: Any) -> None:
    rows, options, kind, overflow = case
    score_texts(bench.metric(str(bench.folder / kind), overflow=overflow, **options), rows)


# ---------------------------------------------------------------- containers

# fmt: off
ODD: list[Any] = [
    None, math.nan, b"bytes", 3, -1, 2**63, 10**400, True, 1.5, 1j, np.str_("np"), np.int64(4),
    pd.NA, Path("a"), np.array(3),
    np.array([1, 2]), torch.tensor([1, 2]), torch.tensor([]), torch.tensor(5), int, object(),
]
# fmt: on
leaves = texts | st.sampled_from(ODD)
FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda items: (item for item in items),
    "array": lambda items: np.array([str(item) for item in items]),
    "objects": lambda items: np.array([*items, None], dtype=object)[:-1],
    "series": lambda items: pd.Series(items, dtype=object),
    "set": lambda items: {str(item) for item in items},
    "dict": lambda items: {str(item): item for item in items},
    "joined": lambda items: " ".join(map(str, items)),
    "numbers": lambda items: torch.arange(len(items)),
    "floats": lambda items: np.arange(len(items)) / 2,
}
forms = st.sampled_from(["list", "list", *FORMS])
nested = st.recursive(
    leaves, lambda inner: st.tuples(forms, st.lists(inner, max_size=3)), max_leaves=4
)
good_ids = st.tuples(
    st.just("list"),
    st.lists(st.integers(-3, 9) | st.sampled_from([2**63 - 1, np.int64(4)]), max_size=3),
)


def built(case: Any) -> Any:
    return FORMS[case[0]]([built(item) for item in case[1]]) if isinstance(case, tuple) else case


def containers(bench: Bench, case: Any) -> None:
    preds, target, ids, forward, idf = case
    metric = bench.metric(idf=idf)
    metric.update(["the cat"], ["a cat"])
    with ours(metric):
        (metric if forward else metric.update)(built(preds), built(target), built(ids))
        finite(metric.compute())
    with ours():
        IdfTable.fit(built(preds), WORDS)


# ---------------------------------------------------------------- options

others = [0, 1, 2, "all", "a\0b", "~nobody/x", "x" * 5000, "\x1b[31m"]
odd = leaves | st.lists(leaves, max_size=2) | st.floats() | st.integers() | st.sampled_from(others)
VALID: dict[str, Any] = {
    "num_layers": [None, 0, 2, [0, 1], "all", np.array([1, 2]), torch.tensor(1)],
    "score": [None, *NAMES],
    "reduction": ["mean", "none"],
    "lang": [None, "en", "pt-BR", "EN"],
    "idf": [
        True,
        False,
        {3: 0.5},
        IdfTable({4: 2.0}, unseen=0.0),
        dict.fromkeys(range(100), 1e99),
        {3: 5e-324},
    ],
    "rescale_with_baseline": [
        False,
        *(Baseline([[value] * 3] * 3) for value in (0.9, -1e308, 0.99999)),
    ],
    "match_special_tokens": [True, False],
    "multi_reference": list(RULES),
    "empty_score": [0, -1.5, Fraction(1, 3), np.float32(0.5)],
    "batch_tokens": [None, 1, 50, np.int64(7)],
    "embedding_cache": [0, "1MB", 300],
}
SETTINGS = [
    *VALID,
    "verbose",
    "baseline_path",
    "overflow",
    "max_length",
    "dtype",
    "compile",
    "model",
    "truncation",
    "num_layer",
    "",
]
option_cases = st.tuples(
    st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(values) for name, values in VALID.items()}
    ),
    st.dictionaries(st.sampled_from(SETTINGS), odd, max_size=2),
)


def options(bench: Bench, case: Any, make: Callable[..., BERTScore] = BERTScore) -> None:
    valid, wrong = case
    given = {**valid, **wrong}
    with ours() if wrong else contextlib.nullcontext():
        metric = make(WORDS, **given)
        metric.update(["the cat", ""], [["a cat", "cat"], ["rain"]])
        finite(metric.compute(), -1e38, 1e38)
    with ours():
        given = {name: value for name, value in given.items() if name not in ("score", "reduction")}
        finite(
            bert_score(["the cat", ""], [["a cat", "cat"], ["rain"]], WORDS, device="cpu", **given),
            -1e38,
            1e38,
        )
    for value in wrong.values():
        for take in (
            Baseline,
            Baseline.load,
            IdfTable,
            IdfTable.load,
            lambda v: IdfTable({3: v}),
            lambda v: IdfTable({}, v),
        ):
            with ours():
                take(value)


def hydra_configs(bench: Bench, case: Any) -> None:
    """As a Hydra project makes the metric: lists and mappings are those of OmegaConf, errors are
    wrapped."""
    hydra = pytest.importorskip("hydra.utils")

    def make(encoder: Any, **given: Any) -> BERTScore:
        try:
            metric: BERTScore = hydra.instantiate(
                {"_target_": "bertscore_tm.BERTScore", **given}, encoder
            )
        except Exception as error:  # noqa: BLE001 - hydra's own, of which ours is the cause
            raise error.__cause__ or error from None
        return metric

    plain = (str, int, float, bool, list, dict, type(None))
    valid, wrong = (
        {name: value for name, value in part.items() if name and type(value) in plain}
        for part in case
    )
    options(
        bench, (valid, {name: value for name, value in wrong.items() if value != 10**400}), make
    )  # YAML has no such number


# ---------------------------------------------------------------- files

FIELDS = {
    "format": "bertscore_tm idf 1",
    "documents": 3,
    "tokenizer": "words",
    "unseen": 1.5,
    "weights": {"3": 0.5, "4": 1.0},
}
TEMPLATES = [
    b"LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.4,0.5,0.6\n",
    json.dumps(FIELDS).encode(),
    b"pred\tref\nthe cat\ta cat\nrain\tit rained\n",
    b'{"pred": "the cat", "ref": ["a cat", "cat"]}\n{"pred": "", "ref": ["x"]}\n',
    "the cat\n\nrain fell\nÜbung 東京\n".encode(),
    b"",
]
# fmt: off
SPLICES = [
    b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\n", b"nan", b"-inf", b"1e999",
    b"9" * 400, b'"', b"\t", b",",
    b"{}", b"null", b"\\ud800", b"x" * 140_000, b"\x1b[31m", b"1e308", b"-5e-324", b"true", b"0x1",
    b"1_0", b"\xd9\xa3",
    b"[" * 3000, b"\x1f\x8b\x08",
]
# fmt: on
change = st.tuples(
    st.integers(0, 99), st.integers(0, 8), st.sampled_from(SPLICES) | st.binary(max_size=6)
)
contents = st.tuples(st.sampled_from(TEMPLATES), st.lists(change, max_size=3)) | st.tuples(
    st.binary(max_size=60), st.just([])
)
packings = st.sampled_from(["as is", "as is", "as is", "crlf", "utf-16", "gz", "cut gz"])
endings = st.sampled_from(["txt", "tsv", "jsonl", "txt.gz", "tsv.gz", "json", "csv"])
columns = st.none() | st.sampled_from(["ref", "x", "\x1b"])
places = st.none() | st.sampled_from(
    ["", "/", "/dev/null", "no\0where", "\ud800", "/nowhere", "n" * 5000]
)


def written(path: Path, content: Any, packing: str) -> str:
    data, changes = content
    for place, cut, splice in changes:
        start = place * len(data) // 99
        data = data[:start] + splice + data[start + cut :]
    if packing == "crlf":
        data = data.replace(b"\n", b"\r\n")
    elif packing == "utf-16":
        data = data.decode("utf-8", "replace").encode("utf-16")
    elif packing != "as is":
        data = gzip.compress(data, 1)[: None if packing == "gz" else -7]
    path.write_bytes(data)
    return str(path)


def files(bench: Bench, case: Any) -> None:
    content, packing, ending, column, place = case
    path = written(bench.folder / f"data.{ending}", content, packing) if place is None else place
    with ours():
        table = Baseline.load(path)
        assert bool((torch.isfinite(table.values) & (table.values < 1)).all())
    with ours():
        idf = IdfTable.load(path)
        assert bool(torch.isfinite(idf(torch.arange(9))).all())
        idf.save(bench.folder / "again.json")
        assert IdfTable.load(bench.folder / "again.json").digest == idf.digest
    with ours():
        for text in read_texts(path, column):
            assert isinstance(text, str) or (text and all(isinstance(one, str) for one in text))


# ---------------------------------------------------------------- command line

ARGUMENTS = """
--idf --idf={} --rescale-with-baseline --baseline-path={} --candidate-column=pred
--reference-column=ref --per-sample -n=9 -n=all
--format=json --format=tsv -n=\x1b[31m -l=de -l=\x1b[31m --max-length=2 --max-length=5
--overflow=error --overflow=window -o=
-o={} --dtype=bfloat16 --device=meta --device=\x1b[31m -o=a\0b --\x1b[31m --batch-tokens=0
-m=\x1b[31m -m=./nowhere
-m=~nobody/x -c \x1b[31m --multi-reference=mean --no-match-special-tokens
""".split()


def command_line(bench: Bench, case: Any) -> None:
    content, packing, ending, given, same = case
    path = written(bench.folder / f"preds.{ending}", content, packing)
    references = path if same else written(bench.folder / "refs.txt", (TEMPLATES[4], ()), "as is")
    given = [argument.format(bench.folder / "preds.json") for argument in given]
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", bertscore_tm.BERTScoreWarning)
        try:
            code: Any = main(
                ["score", "-c", path, "-r", references, "-n", "1", "-m", bench.model, *given]
            )
        except SystemExit as stop:
            code = stop.code
    said = err.getvalue().splitlines()
    assert (code, bool(said)) in ((0, False), (2, True))
    assert all(
        line.isprintable()
        for line in (out.getvalue().replace("\t", " ") + err.getvalue()).split("\n")
    )
    if code == 2:
        assert out.getvalue() == ""
        assert said[-1].startswith(("bertscore-tm: error: ", "bertscore-tm score: error: "))
        assert len(said) == 1 or said[0].startswith("usage: ")
    assert not re.search(r"\b(nan|NaN|inf|Infinity)\b", out.getvalue())


# ---------------------------------------------------------------- all of them

models = st.sampled_from(["bert", "roberta"]), st.sampled_from(["truncate", "window"])
TARGETS: dict[Callable[..., None], tuple[int, Any]] = {
    words: (40, st.tuples(rows, settings_of)),
    tiny_models: (10, st.tuples(rows, settings_of, *models)),
    containers: (
        50,
        st.tuples(nested, nested, st.none() | good_ids | nested, st.booleans(), st.booleans()),
    ),
    options: (35, option_cases),
    hydra_configs: (10, option_cases),
    files: (335, st.tuples(contents, packings, endings, columns, places)),
    command_line: (
        20,
        st.tuples(
            contents,
            packings,
            endings,
            st.lists(st.sampled_from(ARGUMENTS), max_size=3),
            st.booleans(),
        ),
    ),
}


@pytest.fixture(scope="module")
def bench(tiny: Callable[[str], str]) -> Bench:
    return Bench(Path(tiny("roberta")).parent, tiny("bert"), {})


def test_the_number_of_cases() -> None:
    assert sum(share for share, _ in TARGETS.values()) == 500


@pytest.mark.parametrize("times", [1, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_fuzz(target: Callable[[Bench, Any], None], times: int, bench: Bench) -> None:
    share, cases = TARGETS[target]

    @settings(
        max_examples=share * times,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def run(case: Any) -> None:
        target(bench, case)

    run()


# A million characters in one word and in many, ten thousand repeats of what may stand for no word.
LONG = [
    "x" * 10**6,
    "the cat sat " * 83_334,
    *(text * 10_000 for text in ("rain ", "[CLS] ", "<s></s>", "\0", "e\u0301", "東")),
]


@pytest.mark.parametrize("text", LONG, ids=lambda text: ascii(text[:7]))
@pytest.mark.parametrize(
    "encoder", ["words", "truncate", pytest.param("window", marks=pytest.mark.slow)]
)
def test_very_long_texts(encoder: str, text: str, bench: Bench) -> None:
    metric = bench.metric() if encoder == "words" else bench.metric(bench.model, overflow=encoder)
    metric.update([text, "a cat"], ["the cat", text])
    finite(metric.compute())
