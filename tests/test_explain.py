"""`explain` against plain loops on hidden states of transformers, and against `bert_score`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from bertscore_tm import (
    Encoder,
    HuggingFaceEncoder,
    IdfTable,
    Tokens,
    Weighting,
    bert_score,
    explain,
)
from bertscore_tm.alignment import AlignedText, Alignment
from bertscore_tm.errors import BERTScoreWarning, InvalidTypeError, InvalidValueError
from bertscore_tm.explaining import explain_rows
from bertscore_tm.pipeline import Pipeline
from bertscore_tm.rows import read_rows
from bertscore_tm.settings import Settings
from reference import Text, encode
from tiny import TEXT

Tiny = Callable[[str], str]
NAMES = ("precision", "recall", "f1")
KINDS = ("bert", "roberta", "t5", "xlm-roberta", "gpt2")  # wordpiece, bytes, sentencepiece
PRED, REF = "the dog sat on the mat at noon", TEXT[2]


def best(side: Text, other: Text, layer: int, special: bool) -> list[tuple[float, int] | None]:
    """For each token of a side its best cosine and the first place of that, in plain loops."""
    found: list[tuple[float, int] | None] = []
    for i, counts in enumerate(side.word):
        choices = [
            (float(side.vectors[layer, i] @ other.vectors[layer, j]), j)
            for j in range(len(other.ids))
            if other.word[j] or special
        ]
        found.append(max(choices, key=lambda c: (c[0], -c[1])) if counts else None)
    return found


def check_side(got: AlignedText, wanted: list[tuple[float, int] | None], weights: Any) -> None:
    """Similarity, match, weight and contribution of each token."""
    total = sum(w for w, one in zip(weights, wanted) if one is not None)
    assert len(got.tokens) == len(wanted)
    for token, one, weight in zip(got.tokens, wanted, weights):
        assert token.special == (one is None)
        if one is None:
            assert (token.weight, token.similarity, token.match, token.contribution) == (
                0.0, None, None, 0.0,
            )  # fmt: skip
            continue
        assert token.similarity == pytest.approx(one[0], abs=1e-5)
        assert token.match == one[1]
        assert token.weight == pytest.approx(weight, abs=1e-9)
        assert token.contribution == pytest.approx(one[0] * weight / total, abs=1e-5)


def same_scores(got: Alignment, pred: str, target: Any, *where: Any, **options: Any) -> None:
    """Exactly what the function gives."""
    if not isinstance(target, str):
        target = [target]
        pred = [pred]  # type: ignore[assignment]
    wanted = bert_score(pred, target, *where, **options)
    assert [got.precision, got.recall, got.f1] == [wanted[name].item() for name in NAMES]


def adds_up(alignment: Alignment) -> None:
    for pair in alignment.pairs:
        for side, score in ((pair.pred, pair.precision), (pair.target, pair.recall)):
            total = math.fsum(token.contribution for token in side.tokens)
            assert total == pytest.approx(score or 0.0, abs=1e-9)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("special", (True, False))
@pytest.mark.parametrize("kind", KINDS)
def test_tokens_have_the_values_of_plain_loops(tiny: Tiny, kind: str, special: bool) -> None:
    path = tiny(kind)
    got = explain(PRED, REF, path, 2, match_special_tokens=special)
    pred, ref = encode(path, PRED), encode(path, REF)
    check_side(got.pred, best(pred, ref, 2, special), [1.0] * len(pred.ids))
    check_side(got.target, best(ref, pred, 2, special), [1.0] * len(ref.ids))
    cosine = pred.vectors[2] @ ref.vectors[2].T
    assert torch.allclose(torch.tensor(got.similarity).double(), cosine, atol=1e-5)
    same_scores(got, PRED, REF, path, 2, match_special_tokens=special)
    adds_up(got)


def test_minilm(minilm: str) -> None:
    pred, ref = "A tall man walked slowly.", "The man was walking home, slowly"
    got = explain(pred, ref, "minilm", 6)
    one, two = encode(minilm, pred), encode(minilm, ref)
    check_side(got.pred, best(one, two, 6, True), [1.0] * len(one.ids))
    check_side(got.target, best(two, one, 6, True), [1.0] * len(two.ids))
    same_scores(got, pred, ref, "minilm", 6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_similarity_of_a_token_stands_in_the_matrix(tiny: Tiny, kind: str) -> None:
    got = explain(PRED, REF, tiny(kind), 2)
    for i, token in enumerate(got.pred.tokens):
        if token.match is not None:
            assert token.similarity == pytest.approx(got.similarity[i][token.match], abs=1e-6)
            assert token.similarity == pytest.approx(max(got.similarity[i]), abs=1e-6)
    for j, token in enumerate(got.target.tokens):
        if token.match is not None:
            assert token.similarity == pytest.approx(got.similarity[token.match][j], abs=1e-6)


OPTIONS: list[dict[str, Any]] = [
    {"beta": 2.0},
    {"empty_score": -1.0},
    {"idf": True},
    {"multi_reference": "best_f1"},
    {"multi_reference": "mean"},
    {"match_special_tokens": False, "multi_reference": "best_f1", "beta": 0.5},
    {"max_length": 8},
    {"max_length": 8, "overflow": "window"},
    {"embedding_cache": 0},
    {"dtype": "bfloat16"},
]


@pytest.mark.filterwarnings("ignore::bertscore_tm.BERTScoreWarning")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("target", [REF, [TEXT[3], REF, "", TEXT[5]]], ids=["one", "several"])
def test_scores_are_those_of_the_function(tiny: Tiny, options: Any, target: Any) -> None:
    got = explain(PRED, target, tiny("bert"), 2, **options)
    same_scores(got, PRED, target, tiny("bert"), 2, **options)
    adds_up(got)
    assert len(got.pairs) == (1 if isinstance(target, str) else 4)


def test_rescaling_changes_the_scores_but_not_the_pair(tiny: Tiny, tmp_path: Any) -> None:
    table = tmp_path / "base.csv"
    table.write_text("LAYER,P,R,F\n0,0,0,0\n1,0,0,0\n2,0.3,0.2,0.25\n3,0,0,0\n")
    options = {"rescale_with_baseline": True, "baseline_path": str(table)}
    raw, got = explain(PRED, REF, tiny("bert"), 2), explain(PRED, REF, tiny("bert"), 2, **options)
    same_scores(got, PRED, REF, tiny("bert"), 2, **options)
    assert got.f1 == pytest.approx((raw.f1 - 0.25) / 0.75, abs=1e-6)
    assert got.best == raw.best
    assert got.best.f1 == pytest.approx(raw.f1, abs=1e-6)


def test_signature_is_that_of_the_metric(tiny: Tiny) -> None:
    settings = Settings(tiny("bert"), 2, beta=2.0)
    assert explain(PRED, REF, tiny("bert"), 2, beta=2.0).signature == Pipeline(settings).signature()


# ---------------------------------------------------------------- weights


def test_weights_of_a_table(tiny: Tiny) -> None:
    path = tiny("bert")
    table = IdfTable.fit(TEXT, HuggingFaceEncoder(path))
    got = explain(PRED, REF, path, 2, idf=table)
    pred, ref = encode(path, PRED), encode(path, REF)
    df = [sum(i in encode(path, text).ids for text in TEXT) for i in pred.ids]
    weights = [math.log((len(TEXT) + 1) / (n + 1)) for n in df]
    check_side(got.pred, best(pred, ref, 2, True), weights)
    same_scores(got, PRED, REF, path, 2, idf=table)
    adds_up(got)


def test_weights_of_a_mapping(tiny: Tiny) -> None:
    path = tiny("bert")
    pred, ref = encode(path, PRED), encode(path, REF)
    weights = {pred.ids[1]: 0.5, pred.ids[2]: 3.0}
    got = explain(PRED, REF, path, 2, idf=weights)
    wanted = [weights.get(i, 3.0) for i in pred.ids]
    check_side(got.pred, best(pred, ref, 2, True), wanted)
    same_scores(got, PRED, REF, path, 2, idf=weights)


class Long(Weighting):
    """By the length of a piece."""

    name = "long"

    def weights(self, encoder: Any, references: Any) -> Any:
        return lambda token: torch.tensor([len(p) for p in encoder.pieces(token.tolist())])


def test_weights_of_a_custom_weighting(tiny: Tiny) -> None:
    path = tiny("bert")
    got = explain(PRED, REF, path, 2, idf=Long())
    pieces = HuggingFaceEncoder(path).pieces(encode(path, PRED).ids)
    assert [t.weight for t in got.pred.tokens[1:-1]] == [len(p) for p in pieces[1:-1]]
    same_scores(got, PRED, REF, path, 2, idf=Long())


@pytest.mark.filterwarnings("ignore::bertscore_tm.BERTScoreWarning")
def test_idf_of_one_reference_weighs_its_tokens_alike(tiny: Tiny) -> None:
    got = explain(PRED, REF, tiny("bert"), 2, idf=True)
    assert {t.weight for t in got.target.tokens if not t.special} == {1.0}  # log(2 / 2) is 0
    ids, known = encode(tiny("bert"), PRED).ids, encode(tiny("bert"), REF).ids
    wanted = [0.0 if i in known else math.log(2) for i in ids]
    assert [t.weight for t in got.pred.tokens[1:-1]] == pytest.approx(wanted[1:-1])


def test_rows_share_the_weights_of_all_their_references(tiny: Tiny) -> None:
    pipeline = Pipeline(Settings(tiny("bert"), 2, idf=True))
    preds, target = [PRED, "rain fell", TEXT[5]], [[REF, TEXT[4]], [TEXT[3]], [TEXT[6]]]
    cpu = torch.device("cpu")
    found = explain_rows(pipeline, read_rows(preds, target), cpu)
    wanted = bert_score(preds, target, tiny("bert"), 2, idf=True)
    for row, alignment in enumerate(found):
        scores = [alignment.precision, alignment.recall, alignment.f1]
        assert scores == [wanted[name][row].item() for name in NAMES]
        adds_up(alignment)
    (last,) = explain_rows(pipeline, read_rows(preds, target), cpu, [2])
    assert last == found[2]


# ---------------------------------------------------------------- several references


def test_the_pairs_that_gave_a_score_are_named(tiny: Tiny) -> None:
    targets = [TEXT[3], REF, "", "the dog"]
    got = explain(PRED, targets, tiny("bert"), 2)
    scores = [(pair.precision, pair.recall, pair.f1) for pair in got.pairs]
    assert scores[2] == (None, None, None)
    for k, name in enumerate(NAMES):
        column = [-math.inf if s[k] is None else s[k] for s in scores]
        assert got.taken[name] == (column.index(max(column)),)
        assert getattr(got, name) == pytest.approx(max(column), abs=1e-6)
    assert got.best is got.pairs[got.taken["f1"][0]]
    assert got.target.text == targets[got.taken["f1"][0]]
    one = explain(PRED, targets, tiny("bert"), 2, multi_reference="best_f1")
    assert set(one.taken.values()) == {got.taken["f1"]}
    mean = explain(PRED, targets, tiny("bert"), 2, multi_reference="mean")
    assert set(mean.taken.values()) == {(0, 1, 3)}


def test_it_works_where_nothing_may_be_learnt(tiny: Tiny) -> None:
    with torch.inference_mode():
        got = explain(PRED, [REF, TEXT[3]], tiny("bert"), 2)
    assert got == explain(PRED, [REF, TEXT[3]], tiny("bert"), 2)


# ---------------------------------------------------------------- edges


@pytest.mark.filterwarnings("ignore::bertscore_tm.BERTScoreWarning")
@pytest.mark.parametrize("kind", [*KINDS, "mbart", "bert-no-markers"])
@pytest.mark.parametrize("pred, target", [("", ""), ("", REF), (PRED, " \n"), (PRED, ["", ""])])
def test_empty_texts(tiny: Tiny, kind: str, pred: str, target: Any) -> None:
    got = explain(pred, target, tiny(kind), 2, empty_score=-0.5)
    assert (got.precision, got.recall, got.f1) == (-0.5,) * 3
    assert got.taken == {"precision": (), "recall": (), "f1": ()}
    assert got.best.f1 is None
    tokens = [*got.pred.tokens, *got.target.tokens]
    assert {(t.similarity, t.match, t.contribution) for t in tokens} <= {(None, None, 0.0)}
    json.dumps(got.to_dict(similarity=True), allow_nan=False)
    assert "nothing to score" in got.to_text()
    assert "nothing to score" in got.to_html()
    got.plot()


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_beside_itself(tiny: Tiny, kind: str) -> None:
    got = explain(PRED, PRED, tiny(kind), 2)
    assert (got.precision, got.recall, got.f1) == (1.0, 1.0, 1.0)
    counted = [(i, t) for i, t in enumerate(got.pred.tokens) if not t.special]
    assert [(t.match, t.similarity) for _, t in counted] == [(i, 1.0) for i, _ in counted]
    assert [got.similarity[i][i] for i, _ in counted] == [1.0] * len(counted)


def test_of_equals_the_first_is_the_match(tiny: Tiny) -> None:
    # At the embeddings of T5, which has no positions, equal tokens have equal vectors.
    got = explain("dog", "the dog the dog", tiny("t5"), 0)
    dogs = [i for i, t in enumerate(got.target.tokens) if t.text in "dog" and not t.special]
    matched = [t.match for t in got.pred.tokens if not t.special]
    assert matched == dogs[: len(matched)]


def test_what_was_cut_off_is_no_token(tiny: Tiny) -> None:
    with pytest.warns(BERTScoreWarning, match="cut|longer|trunc"):
        got = explain(PRED, REF, tiny("bert"), 2, max_length=7)
    assert len(got.pred.tokens) == 7
    full = explain(PRED, REF, tiny("bert"), 2)
    assert got.pred.lost == len(full.pred.tokens) - 7
    assert [(t.text, t.start) for t in got.pred.tokens[:6]] == [
        (t.text, t.start) for t in full.pred.tokens[:6]
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_windows_lose_nothing(tiny: Tiny, kind: str) -> None:
    text = " ".join(TEXT[:4])
    got = explain(text, REF, tiny(kind), 2, overflow="window", max_length=12)
    assert got.pred.lost == 0
    placed = [t for t in got.pred.tokens if t.start is not None]
    assert all(text[t.start : t.end] == t.text for t in placed)
    assert "".join(t.text for t in placed) == text.replace(" ", "")
    same_scores(got, text, REF, tiny(kind), 2, overflow="window", max_length=12)


class Letters(Encoder):
    """Every letter a token; it knows what they are called, or not."""

    name, version, tokenizer_id, depth = "letters", "1", "letters", 1

    def __init__(self, named: bool = True, spoiled: Sequence[Any] | None = None) -> None:
        self.table = torch.randn(2, 2000, 8, generator=torch.Generator().manual_seed(3))
        self.named, self.spoiled = named, spoiled

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        ids = [[ord(c) for c in text if c != " "] for text in texts]
        return [Tokens(each, [True] * len(each)) for each in ids]

    def hidden_states(self, input_ids: Tensor, mask: Tensor, layers: Sequence[int]) -> Tensor:
        return self.table[list(layers)][:, input_ids]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [chr(i) for i in ids] if self.named else super().pieces(ids)

    def spans(self, text: str) -> Any:
        return super().spans(text) if self.spoiled is None else self.spoiled


def test_an_own_encoder_gets_places_from_its_pieces() -> None:
    got = explain("a Bad cab", "abc", Letters(), 1)
    assert [(t.text, t.start, t.end) for t in got.pred.tokens] == [
        (c, i, i + 1) for i, c in enumerate("a Bad cab") if c != " "
    ]
    same_scores(got, "a Bad cab", "abc", Letters(), 1)
    assert "a Bad cab" in got.to_text(color=False)


def test_an_own_encoder_without_pieces_has_numbers() -> None:
    got = explain("ab 97", "ba", Letters(named=False), 1)
    assert [(t.text, t.start) for t in got.pred.tokens][:2] == [("97", None), ("98", None)]
    assert "97 → 97" in got.to_text(color=False)
    assert "data-i" in got.to_html()


@pytest.mark.parametrize(
    "spans, message",
    [
        ([(0, 1)], r"gave 2 pieces and 1 spans for 2 tokens; wanted one for each"),
        ([(0, 1), (1, 9)], r"gave a span beyond its text; wanted start and end .* 0 to 2, or None"),
        ([(1, 0), None], r"gave a span beyond its text"),
    ],
)
def test_spans_that_do_not_fit_are_named(spans: Any, message: str) -> None:
    with pytest.raises(InvalidValueError, match=f"encoder 'letters' {message}"):
        explain("ab", "ba", Letters(spoiled=spans), 1)


@pytest.mark.parametrize(
    "arguments, options, kind, message",
    [
        ((["a"], ["b"]), {}, InvalidTypeError, "got list as pred; wanted one text"),
        (("a", 3), {}, InvalidTypeError, "as target; wanted a string"),
        (("a", []), {}, InvalidValueError, "got no references in row 0"),
        (("a", "b"), {"score": "f1"}, InvalidTypeError, "got score= for explain, which gives"),
        (("a", "b"), {"batch_size": 3}, InvalidTypeError, "here this is batch_tokens"),
        (("a", "b"), {"num_layers": [1, 2]}, InvalidValueError,
         "got 2 layers to explain; wanted one, such as num_layers=1"),
        (("a", "b"), {"device": "nowhere"}, InvalidValueError, "nowhere"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wanted(
    tiny: Tiny, arguments: Any, options: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        explain(*arguments, tiny("bert"), **{"num_layers": 2, **options})


def test_json_holds_everything(tiny: Tiny) -> None:
    got = explain(PRED, [REF, ""], tiny("roberta"), 2)
    data = got.to_dict(similarity=True)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["pairs"][0]["similarity"] == got.similarity
    assert "similarity" not in got.to_dict()["pairs"][0]
    columns = data["pairs"][0]["pred"]["tokens"]
    assert columns["text"] == [t.text for t in got.pred.tokens]
    assert columns["match"] == [t.match for t in got.pred.tokens]


def test_a_custom_model_that_is_trained(tiny: Tiny) -> None:
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(tiny("bert-dropout")).train()
    encoder = HuggingFaceEncoder(model, AutoTokenizer.from_pretrained(tiny("bert-dropout")))
    got = explain(PRED, REF, encoder, 2)
    assert got.f1 == explain(PRED, REF, tiny("bert-dropout"), 2).f1
    assert model.training
    with torch.no_grad():
        next(model.parameters()).mul_(-1.0)
    after = explain(PRED, REF, encoder, 2)
    assert after.f1 != got.f1
    for i, token in enumerate(after.pred.tokens):  # the matrix is of these weights, too
        if token.match is not None:
            assert token.similarity == pytest.approx(after.similarity[i][token.match], abs=1e-6)


def test_an_alignment_is_the_same_under_autocast(tiny: Tiny) -> None:
    plain = explain(PRED, REF, tiny("bert"), 2, embedding_cache=0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert explain(PRED, REF, tiny("bert"), 2, embedding_cache=0) == plain
