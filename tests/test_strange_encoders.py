"""Encoders that are not like BERT: padding gets in, they are nested, almost folders."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

from bertscore_tm import BERTScore, BERTScoreError, HuggingFaceEncoder, bert_score
from bertscore_tm.errors import EncoderLoadError, InvalidValueError
from bertscore_tm.halves import encoder_half, table_of_positions
from bertscore_tm.layers import config_depth
from bertscore_tm.padding import Mixing, find_mixing
from bertscore_tm.tokenizing import position_limit
from tiny import (
    BERT,
    LAYERS,
    POSITIONS,
    _randomize,
    _seq2seq,
    _sizes,
    _wordpiece,
    quiet_transformers,
)

PREDS = ["two cats sleep", "rain", "the dog ran home", "hello world, this is a small test"]
TARGETS = [
    "two cats sleep quietly on the sofa",
    "rain fell on the old town all night long",
    "dog",
    "hello world, this is a small test of a small encoder",
]
LONG = "rain fell on the town and the cat ran home " * 20


def tokenizer(limit: int = POSITIONS) -> Any:
    with quiet_transformers():
        made = _wordpiece("BertTokenizer", *BERT)
    made.model_max_length = limit
    return made


# ---------------------------------------------------------------- the encoders


def fnet(tok: Any) -> Any:
    sizes = {k: v for k, v in _sizes(tok).items() if k != "num_attention_heads"}
    return tf.FNetModel(tf.FNetConfig(**sizes))


def convbert(tok: Any) -> Any:
    return tf.ConvBertModel(tf.ConvBertConfig(**_sizes(tok, embedding_size=32, conv_kernel_size=5)))


def squeezebert(tok: Any) -> Any:
    groups = {f"{name}_groups": 1 for name in ("q", "k", "v", "post_attention", "intermediate")}
    return tf.SqueezeBertModel(
        tf.SqueezeBertConfig(**_sizes(tok, embedding_size=32, **groups, output_groups=1))
    )


def led(tok: Any) -> Any:
    sizes = {k: v for k, v in _seq2seq(tok).items() if k != "max_position_embeddings"}
    tables = {"max_encoder_position_embeddings": POSITIONS, "max_decoder_position_embeddings": 32}
    return tf.LEDModel(tf.LEDConfig(**sizes, **tables, attention_window=8))


def bert2bert(tok: Any) -> Any:
    half = tf.BertConfig(**_sizes(tok))
    pair = tf.EncoderDecoderConfig.from_encoder_decoder_configs(half, tf.BertConfig(**_sizes(tok)))
    return tf.EncoderDecoderModel(pair)


def clip(tok: Any) -> Any:
    text = {**_sizes(tok), "bos_token_id": 2, "eos_token_id": 3}
    shape = {"image_size": 8, "patch_size": 4, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = {"hidden_size": 16, "intermediate_size": 16, **shape}
    return tf.CLIPModel(tf.CLIPConfig(text_config=text, vision_config=vision))


def t5gemma(tok: Any) -> Any:
    heads = {"num_key_value_heads": 1, "head_dim": 16, "sliding_window": 8}
    kinds = ["full_attention", "sliding_attention", "full_attention"]
    half = {**_sizes(tok), **heads, "layer_types": kinds}
    return tf.T5GemmaModel(tf.T5GemmaConfig(encoder=half, decoder=half, vocab_size=len(tok)))


STRANGE: dict[str, Callable[[Any], Any]] = {
    "fnet": fnet,
    "convbert": convbert,
    "squeezebert": squeezebert,
    "led": led,
    "bert2bert": bert2bert,
    "clip": clip,
    "t5gemma": t5gemma,
}
if not hasattr(tf, "T5GemmaModel"):  # came with transformers 4.54
    del STRANGE["t5gemma"]
MIXED = ("fnet", "convbert")
# PyTorch 2.1 multiplies no float16 on a CPU.
HALF = ["bfloat16", *(["float16"] if not torch.__version__.startswith("2.1.") else [])]


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function from a name in `STRANGE` to the folder of that encoder, written once."""
    folder = tmp_path_factory.mktemp("strange")

    def written(kind: str) -> Path:
        path = folder / kind
        if not path.exists():
            tok = tokenizer()
            with quiet_transformers():
                model = STRANGE[kind](tok)
                _randomize(model)
                model.save_pretrained(path)
                tok.save_pretrained(path)
        return path

    return written


def whole_model(folder: Path) -> Any:
    """As its user loads it, without dropout."""
    paired = json.loads((folder / "config.json").read_text())["model_type"] == "encoder-decoder"
    with quiet_transformers():
        factory = tf.EncoderDecoderModel if paired else tf.AutoModel
        return factory.from_pretrained(folder).eval()


def states_alone(folder: Path, text: str, limit: int = POSITIONS) -> Tensor:
    """All hidden states of one text in a pass of its own, ``[layers + 1, tokens, dim]``."""
    model = whole_model(folder)
    if hasattr(model, "text_model"):
        half = model.text_model
    elif model.config.is_encoder_decoder:
        half = model.get_encoder()
    else:
        half = model
    ids = tokenizer()(text, truncation=True, max_length=limit)["input_ids"]
    with torch.no_grad():
        given = {"input_ids": torch.tensor([ids]), "output_hidden_states": True}
        states = half(**given).hidden_states
    return torch.stack([state[0] for state in states])


def score_alone(folder: Path, pred: str, target: str, layer: int) -> float:
    """F1 of one pair, each text alone."""
    a, b = (
        nn.functional.normalize(states_alone(folder, text)[layer].double(), dim=-1)
        for text in (pred, target)
    )
    similarity = a @ b.T
    p, r = similarity[1:-1].amax(1).mean().item(), similarity[:, 1:-1].amax(0).mean().item()
    return 2 * p * r / (p + r) if p > 0 and r > 0 else 0.0


def batch(folder: Path, texts: list[str]) -> tuple[Tensor, Tensor]:
    rows = [list(t.ids) for t in HuggingFaceEncoder(folder).tokenize(texts)]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return ids, (torch.arange(longest) < torch.tensor([[len(row)] for row in rows])).long()


# ---------------------------------------------------------------- alone and in a batch


@pytest.mark.parametrize("way", ["folder", "custom", "function"])
@pytest.mark.parametrize("layer", [0, 1, LAYERS])
@pytest.mark.parametrize("kind", STRANGE)
def test_a_score_is_that_of_the_pair_alone(kind: str, layer: int, way: str, strange: Any) -> None:
    folder = strange(kind)
    wanted = [score_alone(folder, *pair, layer) for pair in zip(PREDS, TARGETS, strict=True)]
    if way == "custom":
        encoder = HuggingFaceEncoder(whole_model(folder), tokenizer(), layer)
    else:
        encoder = HuggingFaceEncoder(folder, num_layers=layer)
    if way == "function":
        got = bert_score(PREDS, TARGETS, str(folder), layer)["f1"]
    else:
        metric = BERTScore(encoder, reduction="none", embedding_cache=0)
        metric.update(PREDS, TARGETS)
        got = metric.compute()
    assert got.tolist() == pytest.approx(wanted, rel=0, abs=1e-5)


@pytest.mark.parametrize("layers", [[0], [1, 3], [0, 1, 2, 3]])
@pytest.mark.parametrize("kind", MIXED)
def test_several_layers_of_what_lets_padding_in(kind: str, layers: list[int], strange: Any) -> None:
    folder = strange(kind)
    encoder = HuggingFaceEncoder(folder, num_layers=layers)
    texts = [*PREDS, *TARGETS, PREDS[0]]
    ids, mask = batch(folder, texts)
    hidden = encoder.hidden_states(ids, mask, layers)
    assert hidden.shape == (len(layers), *ids.shape, 32)
    for row, text in enumerate(texts):
        wanted = states_alone(folder, text)[layers]
        assert torch.allclose(hidden[:, row, : wanted.shape[1]], wanted, atol=2e-4)
        assert not hidden[:, row, wanted.shape[1] :].any()


@pytest.mark.parametrize("kind", MIXED)
def test_rows_of_one_length_go_together(kind: str, strange: Any) -> None:
    """No pass for each row, where lengths are the same; and none with padding."""
    folder = strange(kind)
    encoder = HuggingFaceEncoder(folder, num_layers=2)
    ids, mask = batch(folder, [*PREDS, PREDS[0], TARGETS[2], "rain fell"])
    encoder.hidden_states(ids, mask, (2,))
    model = encoder._model._weights(ids.device).model  # type: ignore[union-attr]
    seen: list[tuple[int, ...]] = []
    hook = nn.modules.module.register_module_forward_pre_hook(
        lambda module, given: (
            seen.append(tuple(given[0].shape[:2]))
            if type(module).__name__ in ("FNetLayer", "ConvBertLayer")
            else None
        )
    )
    encoder.hidden_states(ids, mask, (2,))
    hook.remove()
    lengths = mask.sum(1).tolist()
    wanted = sorted((lengths.count(n), n) for n in set(lengths))
    assert sorted(seen) == sorted(wanted * 2)
    assert model is not None


@pytest.mark.parametrize("dtype", ["float32", *HALF])
@pytest.mark.parametrize("kind", ["bert", "deberta-v2-conv", "roberta", "t5", "xlnet", "gpt2"])
def test_what_keeps_padding_out_is_run_in_batches(kind: str, dtype: str, tiny: Any) -> None:
    encoder = HuggingFaceEncoder(tiny(kind), num_layers=2, dtype=dtype)
    ids, mask = torch.tensor([[2, 8, 9, 3]]), torch.ones(1, 4, dtype=torch.int64)
    encoder.hidden_states(ids, mask, (2,))
    assert encoder._model._reader.mixing is Mixing.NOTHING  # type: ignore[union-attr]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", MIXED)
def test_padding_that_gets_in_is_found_in_every_dtype(kind: str, dtype: str, strange: Any) -> None:
    encoder = HuggingFaceEncoder(strange(kind), num_layers=2, dtype=dtype)
    metric = BERTScore(encoder, reduction="none", embedding_cache=0)
    metric.update(PREDS, TARGETS)
    together = metric.compute()
    for row, pair in enumerate(zip(PREDS, TARGETS, strict=True)):
        metric.reset()
        metric.update(*pair)
        assert metric.compute().item() == pytest.approx(together[row].item(), abs=1e-2)
    assert encoder._model._reader.mixing is Mixing.PADDING  # type: ignore[union-attr]


def test_the_probe_is_run_once_for_a_custom_model(strange: Any) -> None:
    model = whole_model(strange("convbert"))
    encoder = HuggingFaceEncoder(model, tokenizer(), 2)
    ids, mask = batch(strange("convbert"), PREDS[:1])
    encoder.hidden_states(ids, mask, (2,))
    passes = []
    hook = model.register_forward_pre_hook(lambda *_: passes.append(1))
    encoder.hidden_states(ids, mask, (2,))
    hook.remove()
    assert len(passes) == 1


@pytest.mark.slow
def test_compiled(strange: Any) -> None:
    plain = bert_score(PREDS, TARGETS, str(strange("convbert")), 2)["f1"]
    compiled = bert_score(PREDS, TARGETS, str(strange("convbert")), 2, compile=True)["f1"]
    assert compiled.tolist() == pytest.approx(plain.tolist(), abs=1e-5)


def test_what_cannot_be_compiled_is_run_as_it_is(strange: Any, monkeypatch: Any) -> None:
    """As FNet, whose Fourier transform is beyond the compiler."""

    def compiled(model: nn.Module, **_: Any) -> Any:
        def refuse(*args: Any, **options: Any) -> Any:
            raise torch._dynamo.exc.Unsupported("complex numbers")

        copy = type("Compiled", (nn.Module,), {"forward": refuse})
        return copy()

    import torch._dynamo

    plain = bert_score(PREDS, TARGETS, str(strange("fnet")), 1)["f1"]
    monkeypatch.setattr(torch, "compile", compiled)
    with pytest.warns(UserWarning, match="PyTorch cannot compile encoder .*run as it is"):
        got = bert_score(PREDS, TARGETS, str(strange("fnet")), 1, compile=True)["f1"]
    assert got.tolist() == plain.tolist()


def test_what_the_probe_finds() -> None:
    """Encoders of one line: each token's vector is its id, and something of the others."""

    def one(ids: Tensor) -> Tensor:
        return torch.stack([ids.float(), torch.ones_like(ids).float()], -1)

    def found(run: Callable[[Tensor, Tensor], Tensor]) -> Mixing:
        return find_mixing(lambda ids, mask: [one(ids), run(ids, mask)], 100, torch.device("cpu"))

    def masked(ids: Tensor, mask: Tensor) -> Tensor:
        return one(ids) + (one(ids) * mask[..., None]).sum(1, keepdim=True)

    def fails(ids: Tensor, mask: Tensor) -> Tensor:
        if len(ids) > 1:
            raise RuntimeError("one at a time")
        return one(ids)

    assert found(lambda ids, mask: one(ids)) is Mixing.NOTHING
    assert found(masked) is Mixing.NOTHING
    assert found(lambda ids, mask: one(ids).cumsum(1)) is Mixing.NOTHING
    assert found(lambda ids, mask: one(ids) + one(ids).sum(1, keepdim=True)) is Mixing.PADDING
    assert found(lambda ids, mask: one(ids) + ids.shape[1]) is Mixing.PADDING
    assert found(lambda ids, mask: one(ids) + one(ids).roll(-1, 1)) is Mixing.PADDING
    assert found(lambda ids, mask: one(ids) + one(ids).sum()) is Mixing.NEIGHBOURS
    assert found(fails) is Mixing.NEIGHBOURS
    assert found(lambda ids, mask: one(ids) * torch.rand(())) is Mixing.CHANCE


def test_an_encoder_that_draws_is_refused(tiny: Any) -> None:
    """Dropout that no mode switches off."""
    with quiet_transformers():
        model = tf.AutoModel.from_pretrained(tiny("bert"))
    model.embeddings.register_forward_hook(lambda m, i, out: nn.functional.dropout(out, 0.5))
    encoder = HuggingFaceEncoder(model, tokenizer(), 2)
    message = (
        "gave other vectors for the same tokens each time it was run: something in it is drawn"
    )
    with pytest.raises(InvalidValueError, match=message):
        bert_score(PREDS, TARGETS, encoder)


# ---------------------------------------------------------------- nested ones, poolers, positions


def test_a_pooler_stays_where_it_is_called(strange: Any, tiny: Any) -> None:
    ids, mask = torch.tensor([[2, 8, 9, 3]]), torch.ones(1, 4, dtype=torch.int64)
    for folder, stays in ((strange("squeezebert"), True), (tiny("bert"), False)):
        encoder = HuggingFaceEncoder(folder, num_layers=2)
        encoder.hidden_states(ids, mask, (2,))
        reader = encoder._model._reader  # type: ignore[union-attr]
        assert (reader.model.pooler is not None) == stays


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("way", ["folder", "custom"])
def test_long_texts_without_a_limit_of_the_tokenizer(kind: str, way: str, strange: Any) -> None:
    folder, tok = strange(kind), tokenizer(10**30)
    given = folder if way == "folder" else whole_model(folder)
    encoder = HuggingFaceEncoder(given, tok, LAYERS)
    assert encoder.limit == POSITIONS
    with pytest.warns(UserWarning, match="2 texts were truncated"):
        got = bert_score([LONG, "rain"], ["rain fell", LONG], encoder)["f1"]
    wanted = [score_alone(folder, LONG, "rain fell", LAYERS), score_alone(folder, "rain", LONG, 3)]
    assert got.tolist() == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize(
    "config, limit",
    [
        ({"max_encoder_position_embeddings": 64, "max_position_embeddings": 32}, 64),
        ({"max_source_positions": 100}, 100),
        ({"n_positions": 20}, 20),
        ({"n_ctx": 21}, 21),
        ({"n_positions": 512, "relative_attention_num_buckets": 32}, None),  # old T5: no table
        ({"max_position_embeddings": -1, "n_positions": 40}, 40),
        ({"max_position_embeddings": 514, "model_type": "mpnet", "pad_token_id": 0}, 512),
    ],
)
def test_names_of_positions(config: dict[str, Any], limit: int | None) -> None:
    assert position_limit(types.SimpleNamespace(**config)) == limit


def test_positions_and_depth_from_the_model_where_the_configuration_is_silent(
    strange: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found before weights are loaded, on a model without numbers."""
    from bertscore_tm import pretrained

    folder = shutil.copytree(strange("squeezebert"), tmp_path / "enc")
    silent = tf.SqueezeBertConfig.from_pretrained(folder)
    monkeypatch.setattr(pretrained, "position_limit", lambda config: None)
    encoder = HuggingFaceEncoder(folder, tokenizer(10**30), 2)
    assert (encoder.depth, encoder.limit) == (LAYERS, POSITIONS)
    assert HuggingFaceEncoder(whole_model(folder), tokenizer(10**30), 2).limit == POSITIONS
    model = whole_model(folder)
    del silent.num_hidden_layers
    with pytest.raises(InvalidValueError, match="does not say how many layers"):
        config_depth(types.SimpleNamespace(model_type="x"), "enc")
    assert config_depth(types.SimpleNamespace(model_type="x"), "enc", model) == LAYERS


@pytest.mark.parametrize("kind", ["roberta", "bart", "bert", "gpt2", "xlm", "distilbert", "mpnet"])
def test_tables_of_positions_in_models(kind: str, tiny: Any) -> None:
    with quiet_transformers():
        model = tf.AutoModel.from_pretrained(tiny(kind))
    assert table_of_positions(encoder_half(model)) == POSITIONS


@pytest.mark.parametrize("kind", ["t5", "xlnet", "deberta-v2", "modernbert"])
def test_models_without_tables(kind: str, tiny: Any) -> None:
    with quiet_transformers():
        model = tf.AutoModel.from_pretrained(tiny(kind))
    assert table_of_positions(encoder_half(model)) is None


def test_what_is_no_encoder_of_text_is_refused(tmp_path: Path) -> None:
    tok = tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2}
    with quiet_transformers():
        model = tf.ViTModel(
            tf.ViTConfig(**sizes, num_attention_heads=2, image_size=8, patch_size=4)
        )
        model.save_pretrained(tmp_path)
        tok.save_pretrained(tmp_path)
    for encoder in (HuggingFaceEncoder(tmp_path), HuggingFaceEncoder(model, tok)):
        with pytest.raises(InvalidValueError, match="cannot be run on token ids alone") as error:
            bert_score(PREDS, TARGETS, encoder)
        assert "wrap another in a subclass of bertscore_tm.Encoder" in str(error.value)
        assert isinstance(error.value, BERTScoreError)


# ---------------------------------------------------------------- a hub that lies in its cache


class Cache:
    """A cache of the hub as it lies on disk, made by hand: ``models--org--name``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, commit: str, files: Path, *references: str) -> Path:
        place = self.folder / f"models--{name.replace('/', '--')}"
        snapshot = place / "snapshots" / commit
        shutil.copytree(files, snapshot)
        for reference in references:
            file = place / "refs" / reference
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(commit)
        return snapshot


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cache]:
    import huggingface_hub
    from transformers.utils import hub

    from bertscore_tm import loading

    folder = tmp_path / "hub"
    folder.mkdir()
    for module in (huggingface_hub.constants, hub, huggingface_hub.file_download):
        for name in ("HF_HUB_CACHE", "TRANSFORMERS_CACHE"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, str(folder))
    loading._config.cache_clear()
    loading._tokenizer.cache_clear()
    yield Cache(folder)
    loading._config.cache_clear()
    loading._tokenizer.cache_clear()


def other_weights(folder: Path, to: Path) -> Path:
    """The same configuration and tokenizer, and other numbers."""
    shutil.copytree(folder, to)
    with quiet_transformers():
        model = tf.AutoModel.from_pretrained(folder)
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.5)
        model.save_pretrained(to)
    return to


def as_pickle(folder: Path, to: Path) -> Path:
    """The same weights as a pickle only."""
    with quiet_transformers():
        weights = tf.AutoModel.from_pretrained(folder).state_dict()
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*.safetensors"))
    torch.save(weights, to / "pytorch_model.bin")
    return to


def f1(encoder: Any, layer: int | None = 2, **options: Any) -> list[float]:
    return list(bert_score(PREDS, TARGETS, encoder, layer, **options)["f1"].tolist())


def test_two_encoders_of_the_hub_are_told_apart(tiny: Any, tmp_path: Path, cache: Cache) -> None:
    one, two = "a" * 40, "b" * 40
    other = other_weights(Path(tiny("bert")), tmp_path / "other")
    cache.add("org/one", one, Path(tiny("bert")), "main")
    cache.add("org/two", two, other, "main")
    metrics = [BERTScore(name, 2) for name in ("org/one", "org/two")]
    assert [m.encoder.version for m in metrics] == ["a" * 12, "b" * 12]
    assert metrics[0].signature.startswith(f"encoder:org/one@{'a' * 12}|")
    prints = [m.pipeline.fingerprint().tolist() for m in metrics]
    assert prints[0] != prints[1]
    assert metrics[0].pipeline.lease.engine is not metrics[1].pipeline.lease.engine
    for metric in metrics:
        metric.update(PREDS, TARGETS)
    with pytest.raises(ValueError, match="made in another way"):
        metrics[0].merge_state(metrics[1])
    assert f1("org/one") == pytest.approx(f1(tiny("bert")), abs=1e-6)
    assert f1("org/two") == pytest.approx(f1(str(other)), abs=1e-6)
    assert f1("org/one") != pytest.approx(f1("org/two"), abs=1e-4)


def test_unknown_versions_of_two_names_are_not_equal(
    tiny: Any, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bertscore_tm import pretrained

    for name in ("org/one", "org/two"):
        cache.add(name, "a" * 40, Path(tiny("bert")), "main")
    monkeypatch.setattr(pretrained, "loaded_commit", lambda *_: None)
    metrics = [BERTScore(name, 2) for name in ("org/one", "org/two")]
    assert [m.encoder.version for m in metrics] == ["unknown"] * 2
    assert metrics[0].encoder.identity != metrics[1].encoder.identity
    prints = [m.pipeline.fingerprint().tolist() for m in metrics]
    assert prints[0] != prints[1]
    for metric in metrics:
        metric.update(PREDS, TARGETS)
    with pytest.raises(ValueError, match="made in another way"):
        metrics[0].merge_state(metrics[1])


@pytest.mark.parametrize("way", ["argument", "name", "setting", "flag"])
@pytest.mark.parametrize("revision", ["v1.0", "dev", "refs/pr/2", "b" * 40])
def test_revisions(
    revision: str, way: str, tiny: Any, tmp_path: Path, cache: Cache, capsys: Any
) -> None:
    """Branches, tags, pull requests and commits: the commit is what counts."""
    other = other_weights(Path(tiny("bert")), tmp_path / "other")
    cache.add("org/one", "a" * 40, Path(tiny("bert")), "main")
    references = ("v1.0", "dev", "refs/pr/2")
    cache.add("org/one", "b" * 40, other, *references)
    wanted = f1(str(other))
    if way == "flag":
        from bertscore_tm.cli import main

        (tmp_path / "p").write_text("\n".join(PREDS))
        (tmp_path / "t").write_text("\n".join(TARGETS))
        words = ["-c", str(tmp_path / "p"), "-r", str(tmp_path / "t"), "-m", "org/one", "-n", "2"]
        main(["score", *words, "--revision", revision])
        assert f"org/one@{'b' * 12}" in capsys.readouterr().out
        return
    if way == "argument":
        encoder = HuggingFaceEncoder("org/one", num_layers=2, revision=revision)
    elif way == "name":
        encoder = HuggingFaceEncoder(f"org/one@{revision}", num_layers=2)
    else:
        encoder = BERTScore("org/one", 2, revision=revision).encoder  # type: ignore[assignment]
    assert (encoder.name, encoder.version) == ("org/one", "b" * 12)
    assert f1(encoder) == pytest.approx(wanted, abs=1e-6)
    assert HuggingFaceEncoder("org/one").version == "a" * 12


def test_a_branch_that_moves_between_construction_and_loading(
    tiny: Any, tmp_path: Path, cache: Cache
) -> None:
    """The version in the signature is that of the weights which score."""
    other = other_weights(Path(tiny("bert")), tmp_path / "other")
    cache.add("org/one", "a" * 40, Path(tiny("bert")), "main")
    encoder = HuggingFaceEncoder("org/one", num_layers=2)
    cache.add("org/one", "b" * 40, other, "main")
    assert encoder.version == "a" * 12
    assert f1(encoder) == pytest.approx(f1(tiny("bert")), abs=1e-6)
    back = pickle.loads(pickle.dumps(encoder))
    assert f1(back) == pytest.approx(f1(tiny("bert")), abs=1e-6)
    assert HuggingFaceEncoder("org/one").version == "b" * 12


@pytest.mark.parametrize(
    "name, revision, message",
    [
        ("org/one@", None, "got the encoder 'org/one@' without a revision behind its @"),
        ("org/one@v1", "v2", "got revision='v2' beside 'org/one@v1'; wanted one revision"),
        ("minilm@main", None, "got revision='main' for 'sentence-transformers/all-MiniLM-L6-v2'"),
    ],
)
def test_wrong_revisions(name: str, revision: str | None, message: str, minilm: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        HuggingFaceEncoder(name, revision=revision)


def test_a_folder_with_an_at(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(tiny("bert"), tmp_path / "run@3")
    monkeypatch.chdir(tmp_path)
    for name in ("run@3", "./run@3", str(tmp_path / "run@3")):
        assert HuggingFaceEncoder(name).version == HuggingFaceEncoder(tiny("bert")).version


# ---------------------------------------------------------------- weights that are a pickle


@pytest.mark.parametrize("make", [HuggingFaceEncoder, BERTScore])
def test_a_pickle_of_the_hub_is_refused_at_once(
    make: Any, tiny: Any, tmp_path: Path, cache: Cache
) -> None:
    """And the advice works, in the same process, for who follows it and nobody else."""
    cache.add("org/old", "a" * 40, as_pickle(Path(tiny("bert")), tmp_path / "old"), "main")
    message = r"'org/old' has its weights as a pickle only .*safetensors_only=False"
    with pytest.raises(EncoderLoadError, match=message):
        make("org/old")
    wanted = pytest.approx(f1(tiny("bert")), abs=1e-6)
    metric = BERTScore("org/old", 2, safetensors_only=False)
    assert f1("org/old", safetensors_only=False) == wanted
    assert f1(HuggingFaceEncoder("org/old", num_layers=2, safetensors_only=False)) == wanted
    with pytest.raises(EncoderLoadError, match=message):
        make("org/old")
    assert metric.signature.startswith(f"encoder:org/old@{'a' * 12}|")


def test_trust_is_of_one_encoder(tiny: Any, tmp_path: Path) -> None:
    """Equal weights, another trust: they do not share what was loaded."""
    folder = tmp_path / "both"
    shutil.copytree(tiny("bert"), folder)
    one, two = HuggingFaceEncoder(folder), HuggingFaceEncoder(folder, safetensors_only=False)
    assert one.sharing_key != two.sharing_key
    assert one.identity == two.identity
    ids = torch.tensor([[2, 8, 9, 3]])
    for encoder in (one, two):
        encoder.hidden_states(ids, torch.ones_like(ids), (1,))
    assert one._model._reader is not two._model._reader  # type: ignore[union-attr]


def test_a_pickle_is_refused_where_only_names_of_files_are_asked(
    tiny: Any, tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the network there, and only configuration and tokenizer in the cache yet."""
    from bertscore_tm import loading

    folder = tmp_path / "bare"
    shutil.copytree(tiny("bert"), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    cache.add("org/bare", "a" * 40, folder, "main")
    listed: list[str] = ["config.json", "pytorch_model.bin"]
    asked = []

    class Api:
        def list_repo_files(self, name: str, revision: str | None) -> list[str]:
            asked.append((name, revision))
            if not listed:
                raise ConnectionError("no route to host")
            return listed

    monkeypatch.setattr(loading, "HfApi", Api)
    with pytest.raises(OSError, match="'org/bare' has a configuration but no weights of PyTorch"):
        HuggingFaceEncoder("org/bare")
    assert not asked
    monkeypatch.setattr(loading, "hub_answers", lambda: True)
    monkeypatch.setattr(loading, "load_tokenizer", lambda *_: None)
    loading._listed_files.cache_clear()
    with pytest.raises(OSError, match="as a pickle only"):
        HuggingFaceEncoder("org/bare")
    assert asked == [("org/bare", "a" * 40)]
    for names, message in (
        (["flax_model.msgpack"], r"flax_model.msgpack \(Flax's: "),
        (["model.gguf"], r"model.gguf \(of llama.cpp"),
    ):
        listed[:] = names
        loading._listed_files.cache_clear()
        with pytest.raises(OSError, match=message):
            HuggingFaceEncoder("org/bare")
    for names in (["model.safetensors"], ["model-00001-of-2.safetensors", "pytorch_model.bin"], []):
        listed[:] = names
        loading._listed_files.cache_clear()
        assert HuggingFaceEncoder("org/bare").version == "a" * 12
    loading._listed_files.cache_clear()


class Net:
    """The network: a hub that answers or not, and how often it was asked."""

    def __init__(self, answers: bool) -> None:
        self.answers, self.asked, self.now = answers, 0, 1000.0

    def head(self, url: str, timeout: float) -> None:
        assert url.startswith("https://")
        assert timeout <= 10
        self.asked += 1
        if not self.answers:
            raise ConnectionError("Name or service not known")


@pytest.fixture
def net(request: Any, monkeypatch: pytest.MonkeyPatch) -> Net:
    from huggingface_hub import utils

    from bertscore_tm import loading

    made = Net(request.param)
    monkeypatch.setattr(loading, "is_offline_mode", lambda: False)
    monkeypatch.setattr(loading, "_silent_until", 0.0)
    monkeypatch.setattr(utils, "get_session", lambda: made, raising=False)
    monkeypatch.setattr(loading, "monotonic", lambda: made.now)
    return made


@pytest.mark.parametrize("net", [False], indirect=True)
def test_without_a_network_a_name_fails_at_once_and_the_cache_works(
    net: Net, cache: Cache, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No flag is needed: transformers alone asks six times for each file, half a minute."""
    cache.add("org/here", "a" * 40, Path(tiny("bert")), "main")
    began = time.perf_counter()
    for _ in range(2):
        with pytest.raises(OSError, match="could not be found or reached"):
            HuggingFaceEncoder("org/nowhere")
    assert f1("org/here") == pytest.approx(f1(tiny("bert")), abs=1e-6)
    assert time.perf_counter() - began < 10
    assert net.asked == 1
    net.now += 61  # and it is tried again
    with pytest.raises(OSError, match="could not be found or reached"):
        HuggingFaceEncoder("org/nowhere")
    assert net.asked == 2


@pytest.mark.parametrize("net", [True], indirect=True)
def test_a_hub_that_answers_is_used(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked once; what is loaded is then left to transformers."""
    from bertscore_tm import loading
    from bertscore_tm.names import Source

    seen = []

    class Factory:
        @staticmethod
        def from_pretrained(name: str, **options: Any) -> object:
            seen.append(options)
            return object()

    for _ in range(2):
        loading._load("configuration", Source("org/name", "org/name", False), Factory, None)
    assert seen == [{"trust_remote_code": False}] * 2
    assert net.asked == 1


def test_the_flag_that_trusts(tiny: Any, tmp_path: Path, capsys: Any) -> None:
    from bertscore_tm.cli import main

    folder = as_pickle(Path(tiny("bert")), tmp_path / "old")
    (tmp_path / "p").write_text("\n".join(PREDS))
    (tmp_path / "t").write_text("\n".join(TARGETS))
    words = ["score", "-c", str(tmp_path / "p"), "-r", str(tmp_path / "t"), "-m", str(folder)]
    with pytest.raises(SystemExit):
        raise SystemExit(main([*words, "-n", "2"]))
    assert "say --trust-pickle" in capsys.readouterr().err
    assert not main([*words, "-n", "2", "--trust-pickle"])
    assert "F1" in capsys.readouterr().out.upper()


# ---------------------------------------------------------------- adapters beside weights

ADAPTER = {"peft_type": "LORA", "base_model_name_or_path": "org/base", "r": 2}


def with_adapter(folder: Path, to: Path, seed: int = 0, **more: Any) -> Path:
    from safetensors.torch import save_file

    shutil.copytree(folder, to)
    (to / "adapter_config.json").write_text(json.dumps({**ADAPTER, **more}))
    drawn = torch.randn(4, 4, generator=torch.Generator().manual_seed(seed))
    save_file({"lora_A": drawn}, str(to / "adapter_model.safetensors"))
    return to


def has_peft(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    from bertscore_tm import places

    monkeypatch.setattr(places, "find_spec", lambda name: object() if there else None)


def test_an_adapter_without_peft_is_refused(
    tiny: Any, tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder gave other numbers with peft and without, under one signature."""
    has_peft(monkeypatch, False)
    folder = with_adapter(Path(tiny("bert")), tmp_path / "enc")
    cache.add("org/tuned", "a" * 40, folder, "main")
    for name in (str(folder), "org/tuned"):
        with pytest.raises(EncoderLoadError, match=r"an adapter beside its weights .*'pip install"):
            BERTScore(name, 2)
    for file in folder.glob("adapter_*"):  # as the message says
        file.unlink()
    assert f1(str(folder)) == pytest.approx(f1(tiny("bert")), abs=1e-6)


def test_an_adapter_is_part_of_the_version(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_peft(monkeypatch, True)
    bert = Path(tiny("bert"))
    base = other_weights(bert, tmp_path / "base")
    folders = [
        bert,
        with_adapter(bert, tmp_path / "one"),
        with_adapter(bert, tmp_path / "two", seed=1),
        with_adapter(bert, tmp_path / "three", r=4),
        with_adapter(bert, tmp_path / "four", base_model_name_or_path=str(bert)),
        with_adapter(bert, tmp_path / "five", base_model_name_or_path=str(base)),
    ]
    versions = [HuggingFaceEncoder(folder).version for folder in folders]
    assert len({*versions}) == len(folders)
    again = with_adapter(bert, tmp_path / "again")
    assert HuggingFaceEncoder(again).version == versions[1]


def test_a_folder_of_an_adapter_only(tiny: Any, tmp_path: Path) -> None:
    folder = with_adapter(Path(tiny("bert")), tmp_path / "enc")
    (folder / "config.json").unlink()
    (folder / "model.safetensors").unlink()
    with pytest.raises(EncoderLoadError, match=r"holds an adapter of peft .*merge_and_unload"):
        BERTScore(str(folder), 2)
    shutil.copy(Path(tiny("bert")) / "config.json", folder)
    with pytest.raises(EncoderLoadError, match=r"no weights .*its adapter .* save the merged"):
        BERTScore(str(folder), 2)


# ---------------------------------------------------------------- folders that are almost encoders

STATE_OF_A_TRAINER = ("training_args.bin", "optimizer.bin", "scheduler.pt", "optimizer.pt")


def bare(folder: Path, to: Path, *files: str) -> Path:
    """An encoder's folder without its weights, and with some files."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*.safetensors"))
    for file in files:
        (to / file).write_bytes(b"something")
    return to


@pytest.mark.parametrize(
    "files, message",
    [
        (STATE_OF_A_TRAINER, r"no weights \(no \*\.safetensors, no pytorch_model\*\.bin\)"),
        (("training_args.bin",), r"no weights"),
        (("optimizer.pt", "rng_state.pth"), r"no weights"),
        (("tf_model.h5",), r"no weights .*tf_model\.h5 \(TensorFlow's: .*from_tf"),
        (("flax_model.msgpack",), r"no weights .*flax_model\.msgpack \(Flax's: .*from_flax"),
        (("model-Q4_K_M.gguf",), r"no weights .*gguf \(of llama\.cpp: .*gguf_file"),
        (("model.onnx",), r"no weights .*model\.onnx \(of ONNX"),
        (("global_step100",), r"no weights .*DeepSpeed: .*zero_to_fp32"),
        (("pytorch_model_fsdp_0",), r"no weights .*FSDP: .*merge-weights"),
    ],
)
def test_folders_without_weights(
    files: tuple[str, ...], message: str, tiny: Any, tmp_path: Path
) -> None:
    folder = bare(Path(tiny("bert")), tmp_path / "enc", *files)
    with pytest.raises(FileNotFoundError, match=message) as error:
        BERTScore(str(folder), 2)
    assert "pickle" not in str(error.value)
    assert "wanted a folder that save_pretrained wrote" in str(error.value)
    with pytest.raises(FileNotFoundError, match=message):
        HuggingFaceEncoder(folder, safetensors_only=False)


@pytest.mark.parametrize("kind", ["model.safetensors", "pytorch_model.bin"])
def test_shards_that_are_missing(kind: str, tiny: Any, tmp_path: Path) -> None:
    stem, _, ending = kind.rpartition(".")
    shards = [f"{stem}-0000{i}-of-00003.{ending}" for i in (1, 2, 3)]
    folder = bare(Path(tiny("bert")), tmp_path / "enc", shards[0])
    index = {"weight_map": {f"weight{i}": shard for i, shard in enumerate(shards)}}
    (folder / f"{kind}.index.json").write_text(json.dumps(index))
    message = rf"lacks 2 of the files that {kind}\.index\.json names \({stem}-00002-of-00003"
    with pytest.raises(FileNotFoundError, match=message):
        HuggingFaceEncoder(folder, safetensors_only=ending == "safetensors")


def test_a_checkpoint_of_a_trainer_without_tokenizer(tiny: Any, tmp_path: Path) -> None:
    patterns = shutil.ignore_patterns("*token*", "vocab*", "special*")
    folder = shutil.copytree(tiny("bert"), tmp_path / "checkpoint-500", ignore=patterns)
    with pytest.raises(EncoderLoadError, match=r"load the tokenizer .*tokenizer='bert-"):
        BERTScore(str(folder), 2)
    encoder = HuggingFaceEncoder(folder, tokenizer=tiny("bert"), num_layers=2)  # as it says
    assert f1(encoder) == pytest.approx(f1(tiny("bert")), abs=1e-6)


@pytest.mark.parametrize(
    "name, modules",
    [
        ("0_Transformer", None),
        ("0_Transformer", [{"idx": 0, "path": "0_Transformer"}, {"idx": 1, "path": "1_Pooling"}]),
        ("encoder", [{"idx": 0, "name": "0", "path": "encoder"}]),
        ("0_Transformer", "broken"),
    ],
)
def test_the_layout_of_sentence_transformers(
    name: str, modules: Any, tiny: Any, tmp_path: Path
) -> None:
    """The folder below is used, which holds the transformer."""
    shutil.copytree(tiny("bert"), tmp_path / "enc" / name)
    (tmp_path / "enc" / "1_Pooling").mkdir()
    (tmp_path / "enc" / "1_Pooling" / "config.json").write_text("{}")
    if modules is not None:
        (tmp_path / "enc" / "modules.json").write_text(json.dumps(modules))
    metric = BERTScore(str(tmp_path / "enc"), 2)
    assert f1(metric.encoder) == pytest.approx(f1(tiny("bert")), abs=1e-6)
    assert metric.signature.startswith(f"encoder:{tmp_path / 'enc'}@{metric.encoder.version}|")
    assert metric.encoder.version == HuggingFaceEncoder(tiny("bert")).version


def test_a_folder_of_checkpoints(tiny: Any, tmp_path: Path) -> None:
    for step in (500, 1000, 90):
        shutil.copytree(tiny("bert"), tmp_path / "run" / f"checkpoint-{step}")
    with pytest.raises(EncoderLoadError, match="but 'checkpoint-1000' in it has; wanted that: '"):
        BERTScore(str(tmp_path / "run"), 2)
    for file in ("model.gguf", "tf_model.h5"):
        folder = tmp_path / file.replace(".", "-")
        folder.mkdir()
        (folder / file).write_bytes(b"")
        with pytest.raises(EncoderLoadError, match=f"has no config.json, and weights .*{file}"):
            BERTScore(str(folder), 2)


# ---------------------------------------------------------------- random numbers of the caller


def generators() -> list[Any]:
    import numpy as np

    numpy: Any = np.random.get_state()
    drawn = [numpy[1].tolist(), numpy[2]]
    return [torch.get_rng_state().tolist(), random.getstate(), *drawn]


@pytest.mark.parametrize("way", ["folder", "custom", "convbert", "blank", "idf"])
def test_no_generator_is_moved(way: str, tiny: Any, tmp_path: Path, strange: Any) -> None:
    """By anything: a folder without pooler is completed with numbers that are drawn."""
    folder = tmp_path / "enc"
    with quiet_transformers():
        if way == "convbert":
            shutil.copytree(strange("convbert"), folder)
        else:
            model = tf.BertModel.from_pretrained(tiny("bert"), add_pooling_layer=False)
            model.save_pretrained(folder)
            tokenizer().save_pretrained(folder)
        custom = whole_model(folder).train()
    before = generators()
    given: Any = str(folder)
    if way == "custom":
        given = HuggingFaceEncoder(custom, tokenizer(), 2)
    metric = BERTScore(given, 2, idf=way == "idf")
    steps: list[Callable[[], Any]] = [
        lambda: metric.update(PREDS, TARGETS),
        lambda: metric.compute(),
        lambda: metric.signature,
        lambda: metric.reset(),
        lambda: metric(PREDS, TARGETS),
        lambda: pickle.loads(pickle.dumps(metric)),
        lambda: bert_score(PREDS, TARGETS, given, 2),
        lambda: __import__("bertscore_tm.loading").loading.blank_model(tf.BertConfig()),
    ]
    assert generators() == before
    for number, step in enumerate(steps):
        step()
        assert generators() == before, number


# ---------------------------------------------------------------- custom models


def custom_bert(tiny: Any) -> Any:
    with quiet_transformers():
        return tf.AutoModel.from_pretrained(tiny("bert")).eval()


def alone_and_together(encoder: HuggingFaceEncoder) -> tuple[list[float], list[float]]:
    metric = BERTScore(encoder, reduction="none", embedding_cache=0)
    metric.update(PREDS, TARGETS)
    together = metric.compute().tolist()
    alone = []
    for pair in zip(PREDS, TARGETS, strict=True):
        metric.reset()
        metric.update(*pair)
        alone += metric.compute().tolist()
    return alone, together


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_quantized_model(tiny: Any) -> None:
    """Scaled with the whole batch: each row is run alone, so that its number is its own."""
    model = custom_bert(tiny)
    plain = f1(HuggingFaceEncoder(model, tokenizer(), 2))
    try:
        quantized = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    except RuntimeError as error:
        pytest.skip(str(error))
    encoder = HuggingFaceEncoder(quantized, tokenizer(), 2)
    alone, together = alone_and_together(encoder)
    assert together == pytest.approx(alone, abs=1e-6)
    assert together == pytest.approx(plain, abs=0.05)
    assert together != pytest.approx(plain, abs=1e-6)
    other = HuggingFaceEncoder(custom_bert(tiny), tokenizer(), 2)
    assert encoder.version != other.version


def extra_state(tiny: Any) -> Any:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
            self.register_buffer("mask", torch.ones(3, dtype=torch.bool))
            self.register_buffer("empty", torch.zeros(0))

        def get_extra_state(self) -> Any:
            return {"steps": 3, "names": ["a"]}

        def set_extra_state(self, state: Any) -> None:
            pass

    model = custom_bert(tiny)
    model.extra = Counted()
    return model


def hooked(tiny: Any) -> Any:
    """Hooks that only look."""
    model = custom_bert(tiny)
    model.encoder.layer[0].register_forward_hook(lambda *_: None)
    model.register_forward_pre_hook(lambda *_: None)
    return model


def tied(tiny: Any) -> Any:
    model = custom_bert(tiny)
    for name in ("query", "key"):
        getattr(model.encoder.layer[2].attention.self, name).weight = getattr(
            model.encoder.layer[2].attention.self, name
        ).weight
    model.again = model.embeddings.word_embeddings
    return model


def mixed_modes(tiny: Any) -> Any:
    model = custom_bert(tiny).train()
    model.encoder.layer[1].eval()
    return model


def headed(tiny: Any) -> Any:
    with quiet_transformers():
        return tf.BertForSequenceClassification.from_pretrained(tiny("bert"))


def tuples(tiny: Any) -> Any:
    model = custom_bert(tiny)
    model.config.return_dict = False
    return model


def frozen_half(tiny: Any) -> Any:
    return custom_bert(tiny).requires_grad_(False)


def in_place_compiled(tiny: Any) -> Any:
    model = custom_bert(tiny)
    model.compile(backend="eager")
    return model


def compiled(tiny: Any) -> Any:
    return torch.compile(custom_bert(tiny), backend="eager")


CUSTOM = (extra_state, hooked, tied, mixed_modes, headed, tuples, frozen_half, compiled)
if not torch.__version__.startswith("2.1."):  # which transformers cannot be compiled with
    CUSTOM += (in_place_compiled,)


@pytest.mark.parametrize("make", CUSTOM, ids=lambda make: make.__name__)
def test_custom_models(make: Callable[[Any], Any], tiny: Any) -> None:
    encoder = HuggingFaceEncoder(make(tiny), tokenizer(), 2)
    alone, together = alone_and_together(encoder)
    assert together == pytest.approx(f1(tiny("bert")), abs=1e-5)
    assert alone == pytest.approx(together, abs=1e-5)
    assert encoder.name.startswith("custom:Bert")


@pytest.mark.parametrize("name", [*HALF, "float64"])
def test_custom_models_in_other_dtypes(name: str, tiny: Any) -> None:
    dtype = getattr(torch, name)
    encoder = HuggingFaceEncoder(custom_bert(tiny).to(dtype), tokenizer(), 2)
    alone, together = alone_and_together(encoder)
    tolerance = 0.05 if dtype != torch.float64 else 1e-5
    assert together == pytest.approx(f1(tiny("bert")), abs=tolerance)
    assert alone == pytest.approx(together, abs=tolerance)


def test_custom_models_that_cannot_be_run(tiny: Any) -> None:
    """Numbers that are nowhere; a wrapper that hides what it holds."""
    blank = custom_bert(tiny).to("meta")
    with pytest.raises(InvalidValueError, match="on the meta device, which holds no numbers"):
        HuggingFaceEncoder(blank, tokenizer(), 2)
    with pytest.raises(BERTScoreError, match="as custom model; wanted a model of transformers"):
        HuggingFaceEncoder(nn.Sequential(custom_bert(tiny)), tokenizer(), 2)


def test_a_compiled_model_has_the_version_of_the_plain_one(tiny: Any) -> None:
    one = HuggingFaceEncoder(custom_bert(tiny), tokenizer(), 2)
    two = HuggingFaceEncoder(compiled(tiny), tokenizer(), 2)
    assert (one.name, one.version) == (two.name, two.version)
