"""The base class of encoders, objects that are no subclass, and the example."""

from __future__ import annotations

import pickle
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import bertscore_tm
from bertscore_tm import (
    BERTScore,
    BERTScoreError,
    Encoder,
    HuggingFaceEncoder,
    Tokenizer,
    Tokens,
    bert_score,
    errors,
)
from bertscore_tm.encoder import as_encoder, is_encoder

ROOT = Path(__file__).parents[1]
PREDS = ["a dog ran home", "rain", "the cat sat on the mat and slept all day long", "one [SEP] two"]
TARGETS = ["the cat slept all day", "rain fell", "a cat slept on a mat", "two"]


class Few(Encoder):
    """No more than an encoder must have: a token a letter."""

    name, version, tokenizer_id, depth = "few", "1", "letters", 3

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return [Tokens(list(map(ord, text)), [True] * len(text)) for text in texts]

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        angle = input_ids[..., None] * torch.tensor([0.1, 0.23, 0.37])
        return torch.stack([torch.cos(angle + layer) for layer in layers])


class Duck:
    """The same, without the base class."""

    name, version, tokenizer_id, depth = "few", "1", "letters", 3
    tokenize, hidden_states = Few.tokenize, Few.hidden_states


def test_defaults() -> None:
    few = Few()
    assert few.default_layers == (2,)
    assert few.frozen
    assert (few.limit, few.overflow, few.dtype, few.layer_is_guessed) == (None, "own", "own", False)
    assert few.identity == "few@1"
    assert few.pieces([7, 8]) == ["7", "8"]
    few.release()

    class Module(Few, nn.Module):
        pass

    assert not Module().frozen


@pytest.mark.parametrize("kind", [Few, Duck])
def test_what_an_encoder_must_have_is_enough(kind: Any) -> None:
    encoder = kind()
    metric = BERTScore(encoder, reduction="none")
    metric.update(["abc", "x"], ["abd", "x"])
    assert metric.layers == (2,)
    assert metric.encoder is encoder
    assert metric.encoder is metric.clone().encoder
    got = metric.compute()
    assert got[1] == pytest.approx(1, abs=1e-6)
    # By hand: each letter's best cosine in the other text.
    angle = torch.tensor([0.1, 0.23, 0.37], dtype=torch.float64)
    vector = {c: torch.cos(ord(c) * angle + 2) for c in "abcd"}
    cosine = {
        (a, b): float(torch.cosine_similarity(vector[a], vector[b], dim=0))
        for a in "abc"
        for b in "abd"
    }
    p = sum(max(cosine[a, b] for b in "abd") for a in "abc") / 3
    r = sum(max(cosine[a, b] for a in "abc") for b in "abd") / 3
    assert got[0] == pytest.approx(2 * p * r / (p + r), abs=1e-6)
    assert "encoder:few@1|tokenizer:letters|layers:2|" in metric.signature


def test_objects_that_are_no_subclass_get_the_defaults() -> None:
    duck = Duck()
    adapted = as_encoder(duck)
    assert isinstance(adapted, Encoder)
    assert (adapted.default_layers, adapted.limit, adapted.overflow) == ((2,), None, "own")
    duck.limit = 9  # what it has comes first, also later
    duck.version = "2"
    assert (adapted.limit, adapted.version, adapted.identity) == (9, "2", "few@2")
    few = Few()
    assert as_encoder(few) is few


def test_what_is_no_encoder() -> None:
    assert is_encoder(Few())
    assert is_encoder(Duck())
    for thing in (Few, Duck, "few", None, 3, nn.Linear(1, 1), object()):
        assert not is_encoder(thing), thing

    class Half(Encoder):
        def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
            return []

    with pytest.raises(TypeError, match=r"abstract.*hidden_states"):
        Half()  # type: ignore[abstract]


@pytest.mark.parametrize(
    "wrong, kind, message",
    [
        ({"name": None}, TypeError, "encoder Few has name=None; wanted a text"),
        ({"version": 1}, TypeError, "encoder Few has version=1; wanted a text"),
        (
            {"version": ""},
            ValueError,
            "encoder 'few' has an empty version; wanted one that tells it",
        ),
        ({"depth": "3"}, TypeError, "encoder Few has depth='3'; wanted an integer"),
    ],
)
def test_members_are_checked(wrong: dict[str, Any], kind: type[Exception], message: str) -> None:
    few = Few()
    few.__dict__.update(wrong)
    with pytest.raises(kind, match=message):
        BERTScore(few)


# ---------------------------------------------------------------- the example


@pytest.fixture(scope="module")
def plain_bert() -> Any:
    sys.path.insert(0, str(ROOT / "examples" / "encoders"))
    try:
        from plain_bert import PlainBert
    finally:
        sys.path.pop(0)
    return PlainBert


def test_the_example_is_short() -> None:
    lines = (ROOT / "examples/encoders/plain_bert.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40


@pytest.mark.filterwarnings("ignore:.*spell out special tokens")
@pytest.mark.parametrize("layer", range(7))
def test_the_example_equals_the_model_of_transformers(
    plain_bert: Any, minilm: str, layer: int
) -> None:
    got = bert_score(PREDS, TARGETS, plain_bert(minilm), layer)
    wanted = bert_score(PREDS, TARGETS, minilm, layer)
    for name, values in wanted.items():
        assert torch.allclose(got[name], values, rtol=0, atol=1e-6), name


def test_the_example_in_a_batch_and_over_the_limit(plain_bert: Any, minilm: str) -> None:
    long = "the cat sat on the mat " * 200
    metric = BERTScore(plain_bert(minilm), [3, 6], score="f1", reduction="none")
    metric.update([*PREDS, long], [*TARGETS, "a cat"])
    with pytest.warns(UserWarning, match="1 texts were truncated to 512 tokens"):
        got = metric.compute()
    with pytest.warns(UserWarning, match="1 texts were truncated to 512 tokens"):
        wanted = bert_score([*PREDS, long], [*TARGETS, "a cat"], minilm, [3, 6])
    for layer in (3, 6):
        assert torch.allclose(got[f"layer_{layer}"], wanted[f"layer_{layer}_f1"], rtol=0, atol=1e-6)


def test_the_tokenizer_part_is_that_of_the_package(minilm: str) -> None:
    import transformers

    mine = Tokenizer(transformers.AutoTokenizer.from_pretrained(minilm), 512)
    theirs = HuggingFaceEncoder(minilm)
    assert mine(PREDS) == theirs.tokenize(PREDS)
    assert (mine.identity, mine.limit) == (theirs.tokenizer_id, theirs.limit)
    ids = mine(["a dog ran"])[0].ids
    assert mine.pieces(ids) == ["[CLS]", "a", "dog", "ran", "[SEP]"]


# ---------------------------------------------------------------- errors


def test_errors_are_one_tree() -> None:
    """And each is the built-in that older code names."""
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    assert bertscore_tm.BERTScoreWarning in kinds
    for kind in kinds:
        assert kind.__doc__
        if kind not in (errors.BERTScoreWarning, BERTScoreError):
            assert issubclass(kind, BERTScoreError)
            assert any(base.__module__ == "builtins" for base in kind.__bases__), kind


@pytest.mark.parametrize(
    "call, kinds",
    [
        (lambda: BERTScore("minilm", 99), (BERTScoreError, ValueError)),
        (lambda: BERTScore(3), (BERTScoreError, TypeError)),
        (lambda: BERTScore("./nowhere"), (BERTScoreError, OSError, FileNotFoundError)),
        (lambda: BERTScore("no/such-model"), (BERTScoreError, OSError)),
        (lambda: bertscore_tm.IdfTable.load("./nowhere"), (BERTScoreError, FileNotFoundError)),
        (lambda: bertscore_tm.Baseline.load("/"), (BERTScoreError, OSError)),
        (lambda: bert_score([1], ["a"], "minilm"), (BERTScoreError, TypeError)),
        (lambda: bert_score(["a"], ["a"], "minilm", device="x"), (BERTScoreError, ValueError)),
        (lambda: bert_score(["a"], ["a"], "minilm", device=1.5), (BERTScoreError, TypeError)),
    ],
)  # fmt: skip
def test_one_except_catches_what_a_user_can_mend(
    call: Any, kinds: tuple[type[Exception], ...]
) -> None:
    with pytest.raises(BERTScoreError) as error:
        call()
    for kind in kinds:
        assert isinstance(error.value, kind)


@pytest.mark.parametrize("device", ["cuda:99", "meta", "nonsense", "", -1, 99])
def test_devices_that_are_not_here(device: Any) -> None:
    with pytest.raises(
        ValueError,
        match=r"got device=.*, which cannot be used here \(.*\); wanted "
        r"'cpu'",
    ):
        bert_score(["a"], ["b"], "minilm", device=device)


def test_a_bug_is_seen_as_a_bug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from bertscore_tm import cli, data_flags

    (tmp_path / "a.txt").write_text("a dog\n")

    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("not ours")

    monkeypatch.setattr(data_flags, "read_texts", broken)
    with pytest.raises(ValueError, match="not ours"):
        cli.main(
            ["score", "-c", str(tmp_path / "a.txt"), "-r", str(tmp_path / "a.txt"), "-m", "minilm"]
        )


# ---------------------------------------------------------------- weights that change


@pytest.fixture
def trained(tiny: Any) -> tuple[Any, Any]:
    import transformers

    path = tiny("bert")
    return (
        transformers.AutoModel.from_pretrained(path),
        transformers.AutoTokenizer.from_pretrained(path),
    )


def step(model: nn.Module, by: float = 0.01) -> None:
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(by)


def test_the_version_is_that_of_the_weights_that_scored(trained: Any) -> None:
    model, tokenizer = trained
    metric = BERTScore(HuggingFaceEncoder(model, tokenizer, 2))
    made = metric.signature
    step(model)
    assert metric.signature != made  # nothing has scored yet: the weights as they are now
    metric.update(["a dog"], ["a cat"])
    scored = metric.signature
    step(model)
    assert metric.signature == scored
    metric(["rain"], ["rain fell"])
    assert metric.signature == scored  # the first since the last reset
    metric.reset()
    metric.update(["a dog"], ["a cat"])
    assert metric.signature not in (made, scored)


def test_other_weights_are_not_merged(trained: Any) -> None:
    model, tokenizer = trained
    encoder = HuggingFaceEncoder(model, tokenizer, 2)
    one, same, empty, other = (BERTScore(encoder) for _ in range(4))
    for metric in (one, same):
        metric.update(["a dog"], ["a cat"])
    step(model)
    other.update(["rain"], ["rain fell"])
    before = one.compute()
    with pytest.raises(ValueError, match="custom encoder with different weights; wanted the same"):
        one.merge_state(other)
    assert one.compute() == before
    one.merge_state(same)
    one.merge_state(empty)
    assert one.compute() == pytest.approx(float(before), abs=1e-7)


@pytest.mark.parametrize("difference, refused", [(0, False), (1, True)])
def test_ranks_score_with_the_same_weights(trained: Any, difference: int, refused: bool) -> None:
    """Another rank answers with what this one sends, but for the digest of its weights."""
    model, tokenizer = trained
    step(model, 0.5)  # drawn differently on each rank, before DDP makes them equal

    def two_ranks(tensor: Tensor, group: Any = None) -> list[Tensor]:
        other = tensor.clone()
        if tensor.ndim == 1 and tensor.dtype == torch.int64 and len(tensor) > 10:
            other[-3] += difference  # fingerprints, weights, rows, ids
        return [tensor, other]

    metric = BERTScore(
        HuggingFaceEncoder(model, tokenizer, 2),
        dist_sync_fn=two_ranks,
        distributed_available_fn=lambda: True,
    )
    metric.update(["a dog"], ["a cat"])
    if refused:
        with pytest.raises(ValueError, match="score after the ranks have been made equal"):
            metric.compute()
    else:
        assert 0 < float(metric.compute()) < 1


def test_a_folder_that_was_saved_again_is_another_encoder(tiny: Any, tmp_path: Path) -> None:
    """Its weights must not be loaded under the version that the metric was made with."""
    import transformers

    folder = tmp_path / "enc"
    shutil.copytree(tiny("bert"), folder)
    metric = BERTScore(str(folder), 2)
    model = transformers.AutoModel.from_pretrained(folder)
    step(model, 0.1)
    model.save_pretrained(folder)
    with pytest.raises(OSError, match=r"not those that were there when .*; wanted a new metric"):
        metric.update(["a dog"], ["a cat"])
    other = BERTScore(str(folder), 2)
    other.update(["a dog"], ["a cat"])
    assert other.signature != metric.signature


def test_a_pickled_custom_model_is_a_snapshot(trained: Any) -> None:
    """Trained meanwhile, the live model must not score in its place."""
    model, tokenizer = trained
    encoder = HuggingFaceEncoder(model, tokenizer, 2)
    before = bert_score(PREDS[:3], TARGETS[:3], encoder)["f1"]
    saved = pickle.dumps(encoder)
    alive = BERTScore(encoder)
    alive.update(PREDS[:3], TARGETS[:3])
    step(model, 0.5)
    after = bert_score(PREDS[:3], TARGETS[:3], encoder)["f1"]
    assert not torch.allclose(before, after, rtol=0, atol=1e-4)
    again = bert_score(PREDS[:3], TARGETS[:3], pickle.loads(saved))["f1"]
    assert torch.allclose(again, before, rtol=0, atol=1e-6)
