"""What may be handed to `update`, what is said about the rest, and how rows become matches."""

from __future__ import annotations

import enum
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from bertscore_tm import BERTScore, BERTScoreWarning, Tokens, bert_score, pairs
from bertscore_tm.encoder import as_encoder
from bertscore_tm.leases import Lease, lease_encoder
from bertscore_tm.pairs import match_rows
from bertscore_tm.rows import Rows, read_rows

PREDS, TARGET = ["a dog", "rain"], ["a cat", "rain fell"]


class Letters:
    """An own encoder: every letter is a token with a fixed random vector, and a marker stands in
    front of each text."""

    name, version, tokenizer_id, depth, default_layers = "letters", "1", "letters@1", 1, (1,)

    def __init__(self) -> None:
        self.table = torch.randn(2, 128, 4, generator=torch.Generator().manual_seed(1))
        self.encoded: list[tuple[int, ...]] = []

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return [Tokens([1, *map(ord, text)], [False, *(True for _ in text)]) for text in texts]

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        self.encoded += [
            tuple(row[mask.bool()].tolist()) for row, mask in zip(input_ids, attention_mask)
        ]
        return self.table[list(layers)][:, input_ids]


def lease_of(encoder: Letters, layers: tuple[int, ...]) -> Lease:
    return lease_encoder(as_encoder(encoder), layers, None, 0)


# ---------------------------------------------------------------- forms


class Once:
    """Can be read a single time, and counts."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items, self.reads = items, 0

    def __iter__(self) -> Iterator[Any]:
        self.reads += 1
        assert self.reads == 1, "read twice"
        return iter(self.items)


def numpy_array(items: Sequence[str]) -> Any:
    return pytest.importorskip("numpy").array(items)


def numpy_objects(items: Sequence[str]) -> Any:
    return pytest.importorskip("numpy").array(items, dtype=object)


def pandas_column(items: Sequence[str]) -> Any:
    return pytest.importorskip("pandas").Series(items, index=range(5, 5 + len(items)))


def config_list(items: Sequence[Any]) -> Any:
    return pytest.importorskip("omegaconf").OmegaConf.create(list(items))


def generator(items: Sequence[Any]) -> Any:
    return (item for item in items)


FORMS: list[Callable[[Sequence[str]], Any]] = [
    list, tuple, deque, iter, generator, Once, numpy_array, numpy_objects, pandas_column,
    config_list,
]  # fmt: skip


@pytest.mark.parametrize("of_preds", FORMS, ids=lambda form: form.__name__)
def test_forms_of_predictions(of_preds: Callable[[Sequence[str]], Any]) -> None:
    assert read_rows(of_preds(PREDS), TARGET) == Rows(PREDS, [["a cat"], ["rain fell"]], None)


@pytest.mark.parametrize("of_target", FORMS, ids=lambda form: form.__name__)
def test_forms_of_targets(of_target: Callable[[Sequence[str]], Any]) -> None:
    rows = read_rows(PREDS, of_target(TARGET))
    assert rows == Rows(PREDS, [["a cat"], ["rain fell"]], None)
    assert all(type(text) is str for group in rows.groups for text in group)  # not numpy.str_


@pytest.mark.parametrize("of_group", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize(
    "of_groups", [list, tuple, generator, Once], ids=lambda form: form.__name__
)
def test_forms_of_groups(
    of_group: Callable[[Sequence[str]], Any], of_groups: Callable[[Sequence[Any]], Any]
) -> None:
    target = of_groups([of_group(["a cat", "a dog"]), of_group(["rain fell"])])
    assert read_rows(PREDS, target) == Rows(PREDS, [["a cat", "a dog"], ["rain fell"]], None)


def test_a_group_needs_no_order() -> None:
    """Unlike the rows, whose order says which prediction belongs to which target."""
    (group,) = read_rows(["a dog"], [{"a cat", "a dog"}]).groups
    assert sorted(group) == ["a cat", "a dog"]


def test_a_config_list_of_lists() -> None:
    target = config_list([["a cat", "a dog"], "rain fell"])
    assert read_rows(config_list(PREDS), target).groups == [["a cat", "a dog"], ["rain fell"]]


def test_a_two_dimensional_array_is_groups() -> None:
    assert read_rows(PREDS, numpy_array([["a", "b"], ["c", "d"]])).groups == [
        ["a", "b"],
        ["c", "d"],
    ]  # type: ignore[list-item]


@pytest.mark.parametrize(
    "preds, target, groups",
    [
        ("a dog", "a cat", [["a cat"]]),
        ("a dog", ["a cat"], [["a cat"]]),
        ("a dog", ["a cat", "a dog"], [["a cat", "a dog"]]),
        ("a dog", ("a cat", "a dog"), [["a cat", "a dog"]]),
        ("a dog", [["a cat", "a dog"]], [["a cat", "a dog"]]),
        ("a dog", [("a cat",)], [["a cat"]]),
        (["a dog"], "a cat", [["a cat"]]),
        (["a dog"], ["a cat"], [["a cat"]]),
        (["a dog"], [["a cat", "a dog"]], [["a cat", "a dog"]]),
    ],
)
def test_bare_strings(preds: Any, target: Any, groups: list[list[str]]) -> None:
    assert read_rows(preds, target) == Rows(["a dog"], groups, None)


def test_texts_come_as_they_are() -> None:
    """Not stripped, not cut at line ends: that is the tokenizer's affair."""
    odd = ["", "  ", "a\nb", "\ud800", "e\u0301"]
    assert read_rows(odd, odd).preds == odd


def test_nothing() -> None:
    assert read_rows([], []) == Rows([], [], None)
    assert read_rows(iter(()), ()) == Rows([], [], None)
    assert len(read_rows([], [], [])) == 0


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "preds, target, kind, message",
    [
        # a side as a whole
        (
            None,
            TARGET,
            TypeError,
            "got None as preds; wanted a string or an iterable of strings, in order",
        ),
        (3, TARGET, TypeError, "got int ('3') as preds; wanted a string or an iterable of strings"),
        (b"a dog", TARGET, TypeError, "got bytes (\"b'a dog'\") as preds"),
        ({"a dog": 1}, TARGET, TypeError, "got dict ("),
        ({"a dog"}, ["a cat"], TypeError, "got set ("),
        (frozenset(["a dog"]), ["a cat"], TypeError, "got frozenset ("),
        (
            torch.tensor(1),
            TARGET,
            TypeError,
            "got Tensor ('tensor(1)') as preds, which cannot be iterated (",
        ),
        (
            PREDS,
            None,
            TypeError,
            "got None as target; wanted a string, an iterable of strings, or for each prediction "
            "its ref",
        ),
        (PREDS, 3.5, TypeError, "got float ('3.5') as target"),
        (PREDS, bytearray(b"a"), TypeError, "got bytearray ("),
        (PREDS, {"a": "b"}, TypeError, "got dict (\"{'a': 'b'}\") as target"),
        # a row
        (
            ["a", None],
            ["a", "b"],
            TypeError,
            "got None in row 1 of preds; wanted a string (an empty one if nothing was generated)",
        ),
        ([3, "a"], ["a", "b"], TypeError, "got int ('3') in row 0 of preds"),
        ([["a"], "b"], ["a", "b"], TypeError, "got list (\"['a']\") in row 0 of preds"),
        ([b"a"], ["a"], TypeError, "got bytes (\"b'a'\") in row 0 of preds"),
        (torch.arange(2), ["a", "b"], TypeError, "got Tensor ('tensor(0)') in row 0 of preds"),
        (
            ["a", "b"],
            ["a", None],
            TypeError,
            "got None in row 1 of target; wanted a string or an iterable of strings",
        ),
        (["a", "b"], [float("nan"), "a"], TypeError, "got float ('nan') in row 0 of target"),
        (["a", "b"], ["a", b"b"], TypeError, "got bytes (\"b'b'\") in row 1 of target"),
        (["a", "b"], ["a", {"x": "b"}], TypeError, "got dict (\"{'x': 'b'}\") in row 1 of target"),
        (["a", "b"], torch.arange(2), TypeError, "got Tensor ('tensor(0)') in row 0 of target"),
        # a reference in a group
        (
            ["a", "b"],
            ["a", ["b", None]],
            TypeError,
            "got None as reference 1 in row 1 of target; wanted a string",
        ),
        (
            ["a", "b"],
            [["a", 7], "b"],
            TypeError,
            "got int ('7') as reference 1 in row 0 of target; wanted a string",
        ),
        (
            ["a"],
            [[["a"]]],
            TypeError,
            "got list (\"['a']\") as reference 0 in row 0 of target; wanted a string",
        ),
        ("a", ["a", ["b"]], TypeError, "got list (\"['b']\") as reference 1 in row 0 of target"),
        ("a", [None], TypeError, "got None in row 0 of target"),
        # numbers
        (["a", "b"], ["a"], ValueError, "got 2 predictions and 1 targets; wanted the same number"),
        (
            ["a"],
            ["a", "b"],
            ValueError,
            "(several references of one prediction go into a list of their own)",
        ),
        (["a", "b"], "a", ValueError, "got 2 predictions and 1 targets"),
        ([], ["a"], ValueError, "got 0 predictions and 1 targets"),
        (
            ["a b", "c"],
            [["a b"], []],
            ValueError,
            "got no references in row 1 of target; wanted at least one (an empty string",
        ),
        ("a", [], ValueError, "got no references in row 0 of target"),
        ("a", [[]], ValueError, "got no references in row 0 of target"),
    ],
)
def test_what_is_refused(preds: Any, target: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        read_rows(preds, target)


def test_long_values_are_cut_in_messages() -> None:
    with pytest.raises(TypeError) as error:
        read_rows([["x" * 10_000]], ["a"])
    assert len(str(error.value)) < 200


# ---------------------------------------------------------------- ids


@pytest.mark.parametrize(
    "ids",
    [
        [7, 3],
        (7, 3),
        iter([7, 3]),
        Once([7, 3]),
        torch.tensor([7, 3]),
        torch.tensor([7, 3], dtype=torch.int32),
        [torch.tensor(7), torch.tensor([3])[0]],
    ],
    ids=["list", "tuple", "iterator", "once", "tensor", "tensor32", "tensors"],
)
def test_forms_of_ids(ids: Any) -> None:
    got = read_rows(PREDS, TARGET, ids).ids
    assert got == [7, 3]
    assert all(type(i) is int for i in got)


def test_ids_from_arrays() -> None:
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    for ids in (
        np.array([7, 3]),
        [np.int64(7), np.int32(3)],
        pd.Series([7, 3], index=[5, 6]),
        config_list([7, 3]),
    ):
        assert read_rows(PREDS, TARGET, ids).ids == [7, 3]


def test_one_id() -> None:
    assert read_rows("a dog", "a cat", 7).ids == [7]
    assert read_rows("a dog", "a cat", torch.tensor(7)).ids == [7]
    assert read_rows("a dog", "a cat", [-(2**63)]).ids == [-(2**63)]
    assert read_rows("a dog", "a cat", [2**63 - 1]).ids == [2**63 - 1]


@pytest.mark.parametrize(
    "ids, kind, message",
    [
        (
            [1, "2"],
            TypeError,
            "got str in row 1 of sample_ids; wanted an integer, the row's place in the data set",
        ),
        ("12", TypeError, "got str in row 0 of sample_ids"),
        (["a", "b"], TypeError, "got str in row 0 of sample_ids"),
        ([1, None], TypeError, "got None in row 1 of sample_ids"),
        ([1, 2.0], TypeError, "got float ('2.0') in row 1 of sample_ids"),
        ([1, True], TypeError, "got bool ('True') in row 1 of sample_ids"),
        (torch.tensor([1.0, 2.0]), TypeError, "got float ('1.0') in row 0 of sample_ids"),
        (torch.tensor([True, False]), TypeError, "got bool ('True') in row 0 of sample_ids"),
        (
            torch.zeros(2, 2, dtype=torch.int64),
            TypeError,
            "got list ('[0, 0]') in row 0 of sample_ids",
        ),
        (1.5, TypeError, "got float ('1.5') in row 0 of sample_ids"),
        (
            [1, 2**63],
            ValueError,
            f"got {2**63} in row 1 of sample_ids; wanted an integer of 64 bits",
        ),
        ([-(2**63) - 1, 1], ValueError, "wanted an integer of 64 bits"),
        ([1], ValueError, "got 1 sample_ids for 2 predictions; wanted one for each"),
        ([1, 2, 3], ValueError, "got 3 sample_ids for 2 predictions"),
        ([], ValueError, "got 0 sample_ids for 2 predictions"),
        (5, ValueError, "got 1 sample_ids for 2 predictions"),
    ],
)
def test_ids_that_are_refused(ids: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        read_rows(PREDS, TARGET, ids)


# ---------------------------------------------------------------- from rows to matches


TEXTS = ["ab", "a", "", "hello", "abcabc", "zz top", "b"]
GROUPS = [
    ["ba"],
    ["a", "", "abc"],
    ["x"],
    [""],
    ["hello world", "hell"],
    ["zz top"],
    ["b", "b", "a"],
]


def test_scores_equal_a_loop() -> None:
    """The whole way, for an encoder whose vectors are known; several references, empty texts,
    repeated texts."""
    encoder = Letters()
    vectors = encoder.table[1].double()
    vectors = vectors / vectors.norm(dim=-1, keepdim=True)

    def one(pred: str, ref: str) -> tuple[float, float, float] | None:
        if not (pred and ref):
            return None
        a, b = ([1, *map(ord, text)] for text in (pred, ref))
        p = sum(max(float(vectors[i] @ vectors[j]) for j in b) for i in a[1:]) / len(pred)
        r = sum(max(float(vectors[i] @ vectors[j]) for j in a) for i in b[1:]) / len(ref)
        return p, r, (2 * p * r / (p + r) if p > 0 and r > 0 else 0.0)

    with pytest.warns(UserWarning, match="2 of 7 samples have nothing to score"):
        got = bert_score(TEXTS, GROUPS, encoder)
    for row, (pred, group) in enumerate(zip(TEXTS, GROUPS)):
        scores = [score for score in (one(pred, ref) for ref in group) if score]
        wanted = [max(column) for column in zip(*scores)] or [0.0] * 3
        assert [got[name][row].item() for name in ("precision", "recall", "f1")] == pytest.approx(
            wanted, rel=0, abs=1e-6
        )


@pytest.mark.parametrize("chunk", [1, 5, 13, 40, 10_000])
def test_chunks_change_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = read_rows(TEXTS, GROUPS)
    whole = match_rows(lease_of(Letters(), (0, 1)), rows, torch.device("cpu"))
    monkeypatch.setattr(pairs, "chunk_tokens", lambda lease, device: chunk)
    cut = match_rows(lease_of(Letters(), (0, 1)), rows, torch.device("cpu"))
    for a, b in ((whole.matches.pred, cut.matches.pred), (whole.matches.ref, cut.matches.ref)):
        assert torch.equal(a.token, b.token)
        assert torch.equal(a.length, b.length)
        assert torch.allclose(a.similarity, b.similarity, rtol=0, atol=1e-6)
    assert torch.equal(whole.references, cut.references)
    assert torch.equal(whole.counts, cut.counts)


def test_chunks_hold_no_more_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pair alone may be larger."""
    monkeypatch.setattr(pairs, "chunk_tokens", lambda lease, device: 30)
    held = []
    run = pairs.match_pairs
    monkeypatch.setattr(
        pairs,
        "match_pairs",
        lambda texts, *a: held.append((len(texts.length), len(texts.token))) or run(texts, *a),
    )
    texts = ["a" * n for n in range(1, 20)]
    match_rows(
        lease_of(Letters(), (1,)), read_rows(texts, [t + "b" for t in texts]), torch.device("cpu")
    )
    assert len(held) > 5
    assert all(tokens <= 30 for number, tokens in held if number > 2)
    assert max(number for number, _ in held) > 2


def test_a_text_is_encoded_once() -> None:
    """However often it comes in an update, on either side, and in the next one."""
    encoder = Letters()
    metric = BERTScore(encoder)
    metric.update(["a", "b", "a", "c"], ["b", "a", "c", ["a", "d"]])
    assert len(encoder.encoded) == len(set(encoder.encoded)) == 4
    metric.update(["a", "e"], ["d", "e f"])
    assert len(encoder.encoded) == len(set(encoder.encoded)) == 6
    assert metric.diagnostics()["encoded_tokens"] == sum(map(len, encoder.encoded))


def test_a_text_is_encoded_once_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "chunk_tokens", lambda lease, device: 4)
    encoder = Letters()
    bert_score(["a", "b", "a", "c"], ["b", "a", "c", ["a", "d"]], encoder)
    assert len(encoder.encoded) == len(set(encoder.encoded)) == 4


def test_counts() -> None:
    class Odd(Letters):
        def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
            return [
                Tokens(
                    [1, *map(ord, t)],
                    [False, *(True for _ in t)],
                    lost=t.count("-"),
                    unknown=t.count("?"),
                    literal="#" in t,
                )
                for t in texts
            ]

    metric = BERTScore(Odd())
    metric.update(["a?", "b--", "b--", "", "a?"], ["c#", "d", "??", "a", ["e-", "f"]])
    with pytest.warns(BERTScoreWarning) as seen:
        metric.compute()
    facts = metric.diagnostics()
    words = 2 + 3 + 3 + 0 + 2 + 2 + 1 + 2 + 1 + 2 + 1
    wanted = {
        "samples": 5,
        "empty": 1,
        "truncated": 3,
        "lost_tokens": 5,
        "special_token_texts": 1,
        "weightless": 0,
    }
    assert {name: facts[name] for name in wanted} == wanted
    assert facts["unknown_share"] == pytest.approx(4 / words)
    (said,) = seen
    for part in (
        "1 of 5 samples",
        "3 texts were truncated",
        "5 tokens lost",
        "21% of the words",
        "1 texts spell out",
    ):
        assert part in str(said.message), part


def test_chunks_are_smaller_for_more_layers() -> None:
    """What is bounded is the size of the vectors, of all layers together."""
    one, three = (lease_of(Letters(), layers) for layers in ((0,), (0, 1, 1)))
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert 2 * pairs.chunk_tokens(one, cpu) == 3 * pairs.chunk_tokens(three, cpu) > 0
    assert pairs.chunk_tokens(one, gpu) > pairs.chunk_tokens(one, cpu)


def test_an_enumeration_of_strings_is_its_text() -> None:
    class Answer(str, enum.Enum):
        CAT = "the cat sat"

    rows = read_rows([Answer.CAT], [[Answer.CAT, "x"]])
    assert rows.preds == ["the cat sat"]
    assert rows.groups == [["the cat sat", "x"]]


@pytest.mark.parametrize("ids", [{5, 1}, {5: "a", 1: "b"}], ids=["set", "dict"])
def test_ids_without_an_order(ids: Any) -> None:
    with pytest.raises(TypeError, match="as sample_ids; wanted integers in the order of the rows"):
        read_rows(["a", "b"], ["a", "b"], ids)
