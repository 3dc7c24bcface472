"""Custom encoders and custom models: what they must give, and what may change under them."""

from __future__ import annotations

import gc
import pickle
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchmetrics import MetricCollection
from transformers import AutoModel, AutoTokenizer

from bertscore_tm import BERTScore, Encoder, HuggingFaceEncoder, IdfTable, Tokens, bert_score
from bertscore_tm.errors import InvalidValueError
from bertscore_tm.guard import undisturbed

PREDS = ["the cat sat on the mat", "a dog ran home", "rain"]
REFS = ["the dog ran", "a cat ran home", "rain fell on the town"]
Tiny = Callable[[str], str]


class Words:
    """Every letter a token; `spoil` makes it break one promise."""

    name, version, tokenizer_id, depth, default_layers = "toy", "1", "toy", 1, (1,)

    def __init__(self, seed: int = 0, spoil: str = "") -> None:
        self.table = torch.randn(2, 200, 8, generator=torch.Generator().manual_seed(seed))
        self.spoil = spoil

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        tokens = [Tokens(list(map(ord, text)), [True] * len(text)) for text in texts]
        if self.spoil == "too few texts":
            return tokens[:-1]
        if self.spoil == "too long a mask":
            return [Tokens(t.ids, [*t.token_mask, True]) for t in tokens]
        if self.spoil == "large ids":
            return [Tokens([i + 2**31 for i in t.ids], t.token_mask) for t in tokens]
        return tokens

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        states = self.table[list(layers)][:, input_ids]
        return states[0] if self.spoil == "no layer axis" else states


@pytest.mark.parametrize(
    "spoil, message",
    [
        ("too few texts", "encoder 'toy' gave tokens of 1 texts for 2; wanted one for each"),
        (
            "too long a mask",
            "encoder 'toy' gave 2 ids and a token mask of 3 for a text; wanted equally",
        ),
        ("large ids", "encoder 'toy' gave a token id outside of 0 to 2"),
        (
            "no layer axis",
            "encoder 'toy' gave hidden states of shape .* wanted .* layers, texts, longest text",
        ),
    ],
)
def test_a_broken_promise_is_named(spoil: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BERTScore(Words(spoil=spoil)).update(["ab"], ["cd"])


def test_an_encoder_needs_a_version() -> None:
    encoder = Words()
    encoder.version = ""
    with pytest.raises(
        ValueError, match="encoder 'toy' has an empty version; wanted one that tells it from others"
    ):
        BERTScore(encoder)


def test_default_layers_must_exist() -> None:
    encoder = Words()
    encoder.default_layers = (7,)
    with pytest.raises(ValueError, match=r"got layer 7; encoder 'toy' has hidden states 0 .* to 1"):
        BERTScore(encoder)


def test_a_pickle_never_comes_back_with_another_encoder() -> None:
    for seed in range(20):  # objects are made where others were, so they get their ids
        metric = BERTScore(Words(seed), reduction="none")
        metric.update(PREDS, REFS)
        wanted, saved = metric.compute(), pickle.dumps(BERTScore(metric.encoder, reduction="none"))
        del metric
        gc.collect()
        others = [BERTScore(Words(seed + 100)) for _ in range(5)]
        back = pickle.loads(saved)
        back.update(PREDS, REFS)
        assert torch.equal(back.compute(), wanted)
        del others


# ---------------------------------------------------------------- several layers, one pass


class Counted(Encoder):
    """Every letter a token, six layers; `passes`: how often each text went through it."""

    name, version, tokenizer_id, depth = "counted", "1", "letters", 6

    def __init__(self) -> None:
        self.table = torch.randn(7, 200, 8, generator=torch.Generator().manual_seed(3))
        self.passes: Counter[str] = Counter()

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return [Tokens(list(map(ord, text)), [True] * len(text)) for text in texts]

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        for ids, mask in zip(input_ids, attention_mask):
            self.passes["".join(map(chr, ids[mask.bool()].tolist()))] += 1
        return self.table[list(layers)][:, input_ids]


ALL = [*PREDS, *REFS]
TOKENS = sum(map(len, ALL))
ONE_LAYER = TOKENS * 8 * 4  # bytes of their vectors
ORDERS = list(permutations((3, 5, 6)))


def alone(layer: int, **options: Any) -> Any:
    """The value of a metric that shares nothing."""
    metric = BERTScore(Counted(), layer, embedding_cache=0, **options)
    metric.update(PREDS, REFS)
    return metric.compute()


def close(got: Any, wanted: Any) -> None:
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-6)


def cached_layers(process: Any, of: Any = None) -> set[tuple[int, ...]]:
    """The sets of layers that texts have in the cache; of the encoder of a metric, or of all."""
    entries = [*process.cache._once.items(), *process.cache._entries.items()]
    engine = None if of is None else of.pipeline.lease.engine.key
    return {found[0].layers for key, found in entries if engine in (None, key[0])}


@pytest.mark.parametrize("idf", [False, True], ids=["plain", "idf"])
@pytest.mark.parametrize("made", ORDERS, ids=str)
def test_metrics_on_several_layers_encode_each_text_once(
    made: tuple[int, ...], idf: bool, process: Any
) -> None:
    """In whatever order they are made and updated."""
    right = {layer: alone(layer, reduction="none", idf=idf) for layer in made}
    for updated in ORDERS:
        encoder = Counted()
        metrics = {k: BERTScore(encoder, k, reduction="none", idf=idf) for k in made}
        for layer in updated:
            metrics[layer].update(PREDS, REFS)
        assert encoder.passes == Counter(ALL)
        for layer, metric in metrics.items():
            close(metric.compute(), right[layer])
            assert metric.diagnostics()["encoded_tokens"] == TOKENS
            assert cached_layers(process, metric) == {(3, 5, 6)}


@pytest.mark.parametrize("made", ORDERS, ids=str)
def test_a_collection_on_several_layers_encodes_each_text_once(
    made: tuple[int, ...], process: Any
) -> None:
    encoder = Counted()
    metrics = MetricCollection({f"layer_{k}": BERTScore(encoder, k) for k in made})
    for _ in range(2):
        for pred, ref in zip(PREDS, REFS):
            metrics.update([pred], [ref])
        for layer in made:
            close(metrics.compute()[f"layer_{layer}"], alone(layer))
        metrics.reset()
    assert encoder.passes == Counter(ALL)
    step = metrics(PREDS, REFS)
    assert encoder.passes == Counter(ALL)
    assert {name: value.item() for name, value in step.items()} == pytest.approx(
        {f"layer_{layer}": alone(layer).item() for layer in made}, abs=1e-6
    )


def test_overlapping_layers_share_the_pass(process: Any) -> None:
    encoder = Counted()
    every = BERTScore(encoder, "all", score="recall", reduction="none")
    some = BERTScore(encoder, [5, 3], score="recall", reduction="none")
    for metric in (some, every):
        metric.update(PREDS, REFS)
    assert encoder.passes == Counter(ALL)
    for layer in (5, 3):
        right = alone(layer, score="recall", reduction="none")
        close(some.compute()[f"layer_{layer}"], right)
        close(every.compute()[f"layer_{layer}"], right)


def test_layers_of_a_real_encoder_share_the_pass(minilm: str, process: Any) -> None:
    metrics = [BERTScore(minilm, layer, reduction="none") for layer in (5, 3, 6)]
    for metric in reversed(metrics):
        metric.update(PREDS, REFS)
    encoder = metrics[0].encoder
    tokens = sum(len(text.ids) for text in encoder.tokenize(ALL))
    for metric in metrics:
        assert metric.encoder is encoder
        assert metric.diagnostics()["encoded_tokens"] == tokens
        (layer,) = metric.layers
        wanted = bert_score(PREDS, REFS, minilm, layer, embedding_cache=0)["f1"]
        close(metric.compute(), wanted)
        tokens += sum(len(text.ids) for text in encoder.tokenize(ALL))  # without the cache


def test_the_cache_holds_the_layers_that_live_metrics_want(process: Any) -> None:
    encoder = Counted()
    metrics = {layer: BERTScore(encoder, layer) for layer in (3, 5, 6)}
    for metric in metrics.values():
        metric.update(PREDS, REFS)
    assert cached_layers(process) == {(3, 5, 6)}
    assert process.cache.used == 3 * ONE_LAYER
    del metrics[5], metric
    gc.collect()
    assert cached_layers(process) == {(3, 6)}
    assert process.cache.used == 2 * ONE_LAYER
    for layer, metric in metrics.items():  # what is left is right
        metric.reset()
        metric.update(PREDS, REFS)
        close(metric.compute(), alone(layer))
    assert encoder.passes == Counter(ALL)
    del metrics[3], metric
    gc.collect()
    assert cached_layers(process) == {(6,)}
    assert process.cache.used == ONE_LAYER
    copied = metrics.pop(6).clone()  # a copy wants what its original did
    gc.collect()
    assert process.cache.used == ONE_LAYER
    del copied
    gc.collect()
    assert (process.cache.used, len(process.cache)) == (0, 0)


def test_a_metric_that_comes_later_is_right_and_shares_from_then_on(process: Any) -> None:
    encoder = Counted()
    first = BERTScore(encoder, 3)
    first.update(PREDS, REFS)
    assert cached_layers(process) == {(3,)}
    second = BERTScore(encoder, 5)
    second.update(PREDS, REFS)
    assert cached_layers(process) == {(3, 5)}
    assert set(encoder.passes.values()) == {2}
    first.reset()
    for metric in (first, second):
        metric.update(PREDS, REFS)
    assert set(encoder.passes.values()) == {2}
    close(first.compute(), alone(3))
    close(second.compute(), alone(5))


def test_a_metric_without_cache_adds_no_layers_to_it(process: Any) -> None:
    encoder = Counted()
    kept, other = BERTScore(encoder, 3), BERTScore(encoder, [5, 6], embedding_cache=0)
    kept.update(PREDS, REFS)
    other.update(PREDS, REFS)
    assert cached_layers(process) == {(3,)}
    assert process.cache.used == ONE_LAYER


# ---------------------------------------------------------------- sample ids


LOCAL = re.escape(
    "got the sample id 0 twice with different texts; wanted ids that name a row of the whole data "
    "set. Causes: ids of a batch or of a rank (let the dataset return its index); no reset() "
    "since the last epoch; one metric for two data sets or loaders (give each its own)"
)


@pytest.fixture(params=["bfloat16", "custom encoder", "custom model"])
def make(request: pytest.FixtureRequest, tiny: Tiny) -> Callable[..., BERTScore]:
    """Makes metrics whose scores of a text may differ in the last bits from batch to batch."""
    if request.param == "bfloat16":
        return partial(BERTScore, tiny("bert"), 2, dtype="bfloat16", embedding_cache=0)
    if request.param == "custom encoder":
        return partial(BERTScore, Words())
    return partial(BERTScore, HuggingFaceEncoder(*custom(tiny)), 2)


@pytest.mark.parametrize("idf", [False, True], ids=["plain", "idf"])
def test_ids_of_a_batch_are_an_error(make: Callable[..., BERTScore], idf: bool) -> None:
    metric = make(idf=idf)
    for pred, ref in zip(PREDS, REFS):
        metric.update([pred], [ref], sample_ids=[0])
    for _ in range(2):
        with pytest.raises(InvalidValueError, match=f"^{LOCAL}$"):
            metric.compute()
    metric.reset()
    metric.update(PREDS, REFS, sample_ids=range(3))
    assert metric.compute().isfinite()


@pytest.mark.parametrize("idf", [False, True], ids=["plain", "idf"])
def test_an_id_that_returns_with_its_texts_counts_once(
    make: Callable[..., BERTScore], idf: bool
) -> None:
    metric, once = make(idf=idf, reduction="none"), make(idf=idf, reduction="none")
    once.update(PREDS, REFS, sample_ids=range(3))
    for rows in ([2], [0, 1, 2], [1], [2, 0]):
        metric.update([PREDS[i] for i in rows], [REFS[i] for i in rows], sample_ids=rows)
    torch.testing.assert_close(metric.compute(), once.compute(), rtol=0, atol=1e-2)
    assert metric.sample_ids[0].shape == (1, 2)
    facts = metric.diagnostics()
    assert (facts["samples"], facts["texts"]) == (3, 6)


@pytest.mark.parametrize(
    "again",
    [
        (["a dog"], ["a cat"]),  # the sides exchanged
        (["a cat"], ["a dog "]),
        (["a cat"], [["a dog", "a dog"]]),
        (["a cat"], [["a", " dog"]]),
        (["a cata"], [" dog"]),
        (["A cat"], ["a dog"]),
    ],
)
def test_other_texts_under_an_id_are_an_error(again: Any) -> None:
    metric = BERTScore(Words())
    metric.update(["a cat"], ["a dog"], sample_ids=[0])
    metric.update(*again, sample_ids=[0])
    with pytest.raises(InvalidValueError, match=f"^{LOCAL}$"):
        metric.compute()


def test_the_same_texts_in_another_container_are_the_same() -> None:
    metric = BERTScore(Words())
    metric.update("a cat", "a dog", sample_ids=7)  # type: ignore[arg-type]
    metric.update(("a cat",), [["a dog"]], sample_ids=torch.tensor([7]))
    metric.update(iter(["a cat"]), (ref for ref in ["a dog"]), sample_ids=[7])
    assert metric.compute() == bert_score("a cat", "a dog", Words())["f1"]
    assert metric.diagnostics()["samples"] == 1


# ---------------------------------------------------------------- what may change


class Trained(nn.Module):
    """A custom encoder that is a module: its vectors may change."""

    name, version, tokenizer_id, depth, default_layers = "trained", "1", "toy", 0, (0,)

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(200, 8)

    tokenize = Words.tokenize
    spoil = ""

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        return self.table(input_ids)[None]


def test_what_is_trained_is_not_remembered() -> None:
    encoder = Trained()
    metric = BERTScore(encoder)
    before = metric(PREDS, REFS)
    with torch.no_grad():
        encoder.table.weight.normal_()
    after = metric(PREDS, REFS)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(
        after, bert_score(PREDS, REFS, encoder, embedding_cache=0)["f1"].mean()
    )


def custom(tiny: Tiny, kind: str = "bert") -> tuple[Any, Any]:
    folder = str(tiny(kind))
    return AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


TORCH = tuple(map(int, torch.__version__.split(".")[:2]))


@pytest.mark.parametrize("change", [*(["fused step"] if TORCH >= (2, 4) else []), "data", "dtype"])
def test_a_custom_model_is_scored_as_it_is_now(tiny: Tiny, change: str) -> None:
    model, tokenizer = custom(tiny)
    metric = BERTScore(HuggingFaceEncoder(model, tokenizer), 2)
    metric(PREDS, REFS)
    if change == "fused step":
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, fused=True)
        model(**tokenizer(PREDS, return_tensors="pt", padding=True)).last_hidden_state.pow(
            2
        ).mean().backward()
        optimizer.step()
    elif change == "data":
        for parameter in model.parameters():
            parameter.data = parameter.data + 0.3
    else:
        model.to(torch.bfloat16)
    fresh = BERTScore(HuggingFaceEncoder(model, tokenizer), 2, embedding_cache=0)(PREDS, REFS)
    torch.testing.assert_close(metric(PREDS, REFS), fresh, atol=1e-6, rtol=0)


def test_a_custom_model_keeps_its_dtype_and_says_so(tiny: Tiny) -> None:
    model, tokenizer = custom(tiny)
    metric = BERTScore(HuggingFaceEncoder(model.to(torch.bfloat16), tokenizer), 2)
    assert "dtype:bfloat16" in metric.signature
    for i, (pred, ref) in enumerate(zip(PREDS, REFS)):
        metric.update([pred], [ref], sample_ids=[i])
    metric.update(PREDS, REFS, sample_ids=range(3))  # in another batch the last bits differ
    assert metric.compute().isfinite()
    assert metric.diagnostics()["samples"] == 3


@pytest.mark.parametrize("options", [{"dtype": "bfloat16"}, {"compile": True}])
def test_a_custom_model_is_run_as_it_is(tiny: Tiny, options: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError,
        match="got dtype, compile or revision beside a custom model, which is run as it is; "
        "wanted none of them",
    ):
        HuggingFaceEncoder(*custom(tiny), **options)


def test_what_is_no_model_or_tokenizer(tiny: Tiny) -> None:
    model, tokenizer = custom(tiny)
    with pytest.raises(
        TypeError, match="got Linear as custom model; wanted a model of transformers"
    ):
        HuggingFaceEncoder(nn.Linear(2, 2), tokenizer)
    with pytest.raises(
        TypeError, match="got int as tokenizer; wanted one of transformers, or its name"
    ):
        HuggingFaceEncoder(model, 3)


def test_a_custom_model_in_two_threads(tiny: Tiny) -> None:
    """Neither thread takes the other's eval mode for the model's own."""
    model, tokenizer = custom(tiny, "bert-dropout")
    model.train()
    encoder = HuggingFaceEncoder(model, tokenizer)
    wanted = bert_score(PREDS, REFS, encoder, 2)["f1"]
    got: list[Tensor] = []

    def work() -> None:
        for _ in range(10):
            got.append(bert_score(PREDS, REFS, encoder, 2)["f1"])

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(module.training for module in model.modules())
    assert len(got) == 20
    assert all(torch.allclose(value, wanted, atol=1e-6) for value in got)


def test_tokenizers_that_split_differently_are_told_apart(tiny: Tiny) -> None:
    folder = str(tiny("bert"))
    plain = HuggingFaceEncoder(folder)
    left = HuggingFaceEncoder(folder, AutoTokenizer.from_pretrained(folder, truncation_side="left"))
    more = []
    for word in ("foxy", "zzz"):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.add_tokens([word])
        more.append(HuggingFaceEncoder(folder, tokenizer))
    ids = [encoder.tokenizer_id for encoder in (plain, left, *more)]
    assert len(set(ids)) == 4
    assert HuggingFaceEncoder(folder).tokenizer_id == plain.tokenizer_id


@pytest.mark.parametrize("switch", ["cuda", "mkldnn", "old"])
def test_precision_switches_neither_matter_nor_change(tiny: Tiny, switch: str) -> None:
    new = {
        "cuda": torch.backends.cuda.matmul,
        "mkldnn": getattr(torch.backends.mkldnn, "matmul", None),
    }
    if TORCH < (2, 9):  # older ones assert that they know the name, or have none
        new = {}
        if switch != "old":
            pytest.skip("this PyTorch has the old switch only")
    wanted = bert_score(PREDS, REFS, str(tiny("bert")), 2, embedding_cache=0)["f1"]
    states = [part.fp32_precision for part in new.values()]
    try:
        if switch == "old":
            torch.set_float32_matmul_precision("medium")
        else:
            new[switch].fp32_precision = "tf32"
        before = [part.fp32_precision for part in new.values()]
        got = bert_score(PREDS, REFS, str(tiny("bert")), 2, embedding_cache=0)["f1"]
        assert torch.equal(got, wanted)
        assert [
            part.fp32_precision for part in new.values() if hasattr(part, "fp32_precision")
        ] == before
        with undisturbed(torch.device("cpu")):
            assert all(
                part.fp32_precision == "ieee"
                for part in new.values()
                if hasattr(part, "fp32_precision")
            )
    finally:
        if switch == "old":
            torch.set_float32_matmul_precision("highest")
        for part, state in zip([p for p in new.values() if hasattr(p, "fp32_precision")], states):
            part.fp32_precision = state


def test_an_idf_table_is_fitted_on_texts(minilm: str) -> None:
    encoder = HuggingFaceEncoder(minilm, num_layers=6)
    assert IdfTable.fit("the cat sat", encoder).documents == 1
    with pytest.raises(
        TypeError, match="got NoneType in row 1 of the texts of an idf table; wanted a string"
    ):
        IdfTable.fit(["a", None], encoder)  # type: ignore[list-item]
    with pytest.raises(
        TypeError, match="got str as encoder; wanted an object such as HuggingFaceEncoder"
    ):
        IdfTable.fit(["a"], "minilm")  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["score", "reduction", "sample_ids"])
def test_the_function_has_no_state(option: str) -> None:
    with pytest.raises(
        TypeError, match=f"got {option}= for bert_score, which returns all three scores of each row"
    ):
        bert_score(["a"], ["b"], "minilm", **{option: "x"})


def test_a_loaded_state_is_not_shared(tiny: Tiny) -> None:
    first, second, third = (BERTScore(str(tiny("bert")), 2) for _ in range(3))
    first.persistent(True)
    first.update(PREDS, REFS)
    saved = first.state_dict()
    for metric in (second, third):
        metric.load_state_dict(saved)
    second.update(PREDS[:1], REFS[:1])
    assert [metric.diagnostics()["samples"] for metric in (first, second, third)] == [3, 4, 3]


def test_merging_into_a_fresh_metric_is_silent(tiny: Tiny) -> None:
    full, fresh = (BERTScore(str(tiny("bert")), 2) for _ in range(2))
    full.update(PREDS, REFS)
    fresh.merge_state(full)
    assert torch.equal(fresh.compute(), full.compute())  # warnings are errors here


def test_a_slip_in_a_name_gets_a_hint() -> None:
    with pytest.raises(
        TypeError,
        match=r"got the unknown argument 'num_layer'; did you mean "
        r"'num_layers'\?",
    ):
        BERTScore("minilm", num_layer=5)
    with pytest.raises(TypeError, match="got the unknown argument 'idff'; did you mean 'idf'"):
        bert_score(["a"], ["b"], "minilm", idff=True)
    with pytest.raises(
        TypeError,
        match="got the unknown argument 'xyzzy'; wanted some of model_name_or_path, num_layers",
    ):
        BERTScore("minilm", xyzzy=1)
