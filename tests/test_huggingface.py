"""Loading, limits, windows, layers and sharing of Hugging Face encoders."""

from __future__ import annotations

import gc
import json
import logging
import pickle
import re
import shutil
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers.utils import logging as hub_logging

from bertscore_tm import (
    BERTScore,
    BERTScoreWarning,
    HuggingFaceEncoder,
    bert_score,
    huggingface,
    loading,
    names,
    pretrained,
)
from bertscore_tm.errors import EncoderLoadError, EncoderNotFoundError, InvalidValueError
from bertscore_tm.layers import choose_layers, config_depth
from bertscore_tm.tokenizing import position_limit
from bertscore_tm.weights import folder_digest
from reference import bertscore, encode, load
from tiny import KINDS, LAYERS, POSITIONS, SPACED, TEXT, quiet_transformers

Tiny = Callable[[str], str]
CPU = torch.device("cpu")
NAMES = ("precision", "recall", "f1")
ROWS = ["two cats sleep", "rain fell"], ["two cats sleep quietly on the sofa", "rain"]


def encoder_of(path: str, **options: Any) -> HuggingFaceEncoder:
    return HuggingFaceEncoder(path, num_layers=options.pop("num_layers", 2), **options)


def ids_of(encoder: HuggingFaceEncoder, text: str) -> list[int]:
    return list(encoder.tokenize([text])[0].ids)


def custom_model(path: str) -> Any:
    """A model that was loaded by the user, without dropout."""
    with quiet_transformers():
        return transformers.AutoModel.from_pretrained(path).eval()


def custom_tokenizer(path: str, **options: Any) -> Any:
    return transformers.AutoTokenizer.from_pretrained(path, **options)


def near(got: dict[str, Tensor], wanted: dict[str, Tensor], tolerance: float = 1e-6) -> None:
    for name in NAMES:
        assert got[name].tolist() == pytest.approx(wanted[name].tolist(), rel=0, abs=tolerance), (
            name
        )


def copied(path: str, folder: Path) -> Path:
    """An encoder that no other test has loaded."""
    return Path(shutil.copytree(path, folder))


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "kind, limit",
    [
        ("bert", POSITIONS),
        ("bert-no-limit", POSITIONS),  # from the position table
        ("roberta", POSITIONS),
        ("roberta-no-limit", POSITIONS),  # its table has 66 places, two of which are never used
        ("gpt2", POSITIONS),
        ("distilbert", POSITIONS),
        ("modernbert", POSITIONS),
        ("xlnet", 128),  # no position table; its tokenizer says so
        ("t5", 128),
        ("t5-bytes", None),
    ],
)
def test_limits(kind: str, limit: int | None, tiny: Tiny) -> None:
    encoder = encoder_of(tiny(kind))
    assert encoder.limit == limit
    (tokens,) = encoder.tokenize(["rain " * 1_000])
    if limit is None:
        assert (len(tokens.ids), tokens.lost) == (
            5_000,
            0,
        )  # bytes, less the last space, and one special token
    else:
        assert len(tokens.ids) == limit
        assert tokens.lost > 0


@pytest.mark.parametrize("kind", ["bert", "roberta-no-limit", "t5", "gpt2"])
def test_a_custom_limit(kind: str, tiny: Tiny) -> None:
    assert encoder_of(tiny(kind), max_length=10).limit == 10
    assert encoder_of(tiny(kind), max_length=10**6).limit == encoder_of(tiny(kind)).limit
    full, short = encoder_of(tiny(kind)), encoder_of(tiny(kind), max_length=10)
    (cut,) = short.tokenize(["the cat sat on the mat, and the dog ran home"])
    whole = ids_of(full, "the cat sat on the mat, and the dog ran home")
    after = 0 if kind == "gpt2" else 1  # the special token at the end stays
    assert list(cut.ids) == whole[: 10 - after] + whole[len(whole) - after :]
    assert cut.lost == len(whole) - 10


def test_the_least_limit_wins(tiny: Tiny, tmp_path: Path) -> None:
    folder = copied(tiny("bert"), tmp_path / "enc")
    settings = folder / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "model_max_length": 20}))
    assert encoder_of(str(folder)).limit == 20
    assert encoder_of(str(folder), max_length=30).limit == 20
    assert encoder_of(str(folder), max_length=12).limit == 12


def test_truncation_side(tiny: Tiny) -> None:
    """A tokenizer that cuts on the left keeps the end of a text."""
    tokenizer = custom_tokenizer(tiny("bert"), truncation_side="left")
    (cut,) = HuggingFaceEncoder(tiny("bert"), tokenizer, 2, max_length=4).tokenize(
        ["the dog ran home"]
    )
    whole = ids_of(encoder_of(tiny("bert")), "the dog ran home")
    assert list(cut.ids) == [whole[0], *whole[-3:]]


def test_a_text_that_just_fits(tiny: Tiny) -> None:
    encoder = encoder_of(tiny("bert"), overflow="error")
    word = "the"
    assert len(ids_of(encoder, word)) == 3  # one piece and two special tokens
    (tokens,) = encoder.tokenize([f"{word} " * (POSITIONS - 2)])
    assert (len(tokens.ids), tokens.lost) == (POSITIONS, 0)
    with pytest.raises(
        ValueError,
        match=f"got a text of {POSITIONS + 1} tokens; the limit is {POSITIONS}: shorten it",
    ):
        encoder.tokenize([word, f"{word} " * (POSITIONS - 1)])


@pytest.mark.parametrize(
    "kind, max_length, error, message",
    [
        (
            "bert",
            2,
            ValueError,
            "got max_length=2; wanted at least 3, because the tokenizer adds 2 special tokens",
        ),
        ("bert", 1, ValueError, "got max_length=1; wanted at least 3"),
        ("bert", 0, ValueError, "got max_length=0; wanted a positive number of tokens, or None"),
        ("bert", -5, ValueError, "got max_length=-5; wanted a positive number of tokens, or None"),
        (
            "gpt2",
            0,
            ValueError,
            "got max_length=0; wanted a positive number of tokens, or None",
        ),
        (
            "t5",
            1,
            ValueError,
            "got max_length=1; wanted at least 2, because the tokenizer adds 1 special tokens",
        ),
        (
            "bert",
            "10",
            TypeError,
            "got max_length='10'; wanted a positive number of tokens or None",
        ),
        (
            "bert",
            10.0,
            TypeError,
            "got max_length=10.0; wanted a positive number of tokens or None",
        ),
        (
            "bert",
            True,
            TypeError,
            "got max_length=True; wanted a positive number of tokens or None",
        ),
    ],
)
def test_wrong_limits(
    kind: str, max_length: Any, error: type[Exception], message: str, tiny: Tiny
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        encoder_of(tiny(kind), max_length=max_length)


def test_room_for_one_word(tiny: Tiny) -> None:
    for kind, least in (("bert", 3), ("t5", 2), ("gpt2", 1)):
        (tokens,) = encoder_of(tiny(kind), max_length=least).tokenize(["rain rain rain"])
        assert sum(tokens.token_mask) == 1, kind


@pytest.mark.parametrize(
    "config, limit",
    [
        ({"max_position_embeddings": 512, "model_type": "bert"}, 512),
        ({"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}, 512),
        ({"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}, 512),
        ({"max_position_embeddings": 514, "model_type": "mpnet", "pad_token_id": 1}, 512),
        ({"max_position_embeddings": 514, "model_type": "camembert", "pad_token_id": 1}, 512),
        ({"max_position_embeddings": 4098, "model_type": "longformer", "pad_token_id": 1}, 4096),
        ({"max_position_embeddings": -1, "model_type": "deberta"}, None),
        ({"max_position_embeddings": None, "model_type": "t5"}, None),
        ({"model_type": "t5"}, None),
        ({"max_position_embeddings": 512}, 512),
    ],
)
def test_position_tables(config: dict[str, Any], limit: int | None) -> None:
    """RoBERTa and its kin count positions from the padding id on."""
    assert position_limit(types.SimpleNamespace(**config)) == limit


# ---------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    "kind", ["roberta-no-prefix", "roberta-generic-no-prefix", "gpt2-no-prefix"]
)
@pytest.mark.parametrize("given", [False, True], ids=["from-folder", "custom-object"])
def test_prefix_space(kind: str, given: bool, tiny: Tiny) -> None:
    """Asked for while loading.

    A custom tokenizer, with which that has no effect any more, gets the space with the text.
    """
    tokenizer = custom_tokenizer(tiny(kind)) if given else None
    encoder = HuggingFaceEncoder(tiny(kind), tokenizer, 2)
    with_space, without = custom_tokenizer(tiny(SPACED[kind])), custom_tokenizer(tiny(kind))
    for text in ("dog ran", "The quick brown fox", "12 eggs"):
        assert ids_of(encoder, text) == with_space(text)["input_ids"] != without(text)["input_ids"]
        assert ids_of(encoder, f"  {text}\n") == with_space(text)["input_ids"]
    assert not any(encoder.tokenize([""])[0].token_mask)  # no lone space
    assert "+prefix_space@" in encoder.tokenizer_id
    first, later = encoder.tokenize(["dog", "the dog"])
    words = [[i for i, word in zip(t.ids, t.token_mask) if word] for t in (first, later)]
    assert words[1][-len(words[0]) :] == words[0]


def test_prefix_space_of_a_tokenizer_whose_option_has_no_effect(tiny: Tiny) -> None:
    """One that is asked for the space, says that it has it, and does not put it."""
    from tokenizers.pre_tokenizers import ByteLevel

    tokenizer = custom_tokenizer(tiny("roberta-generic-no-prefix"))
    tokenizer.add_prefix_space = True
    tokenizer.backend_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    wanted = custom_tokenizer(tiny("roberta"))("dog ran")["input_ids"]
    assert tokenizer("dog ran")["input_ids"] != wanted
    assert (
        ids_of(HuggingFaceEncoder(tiny("roberta-generic-no-prefix"), tokenizer, 2), "dog ran")
        == wanted
    )


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "t5", "t5-bytes"])
def test_no_space_where_none_belongs(kind: str, tiny: Tiny) -> None:
    encoder = encoder_of(tiny(kind))
    for text in ("dog ran", "The quick brown fox"):
        assert ids_of(encoder, text) == custom_tokenizer(tiny(kind))(text)["input_ids"]
    assert "+prefix_space" not in encoder.tokenizer_id


@pytest.mark.parametrize("kind", ["bert-left-padding", "bert-no-pad", "bert-no-limit"])
def test_odd_settings_of_the_tokenizer(kind: str, tiny: Tiny) -> None:
    """Nothing is padded by the tokenizer, so neither its side nor its padding token matters."""
    near(bert_score(*ROWS, tiny(kind), 2), bert_score(*ROWS, tiny("bert"), 2))


def test_special_tokens_that_a_text_spells_out(tiny: Tiny) -> None:
    encoder = encoder_of(tiny("bert"))
    text, plain, unknown = encoder.tokenize(
        ["rain [SEP] fell [PAD]", "rain fell", "[UNK] [MASK] rain"]
    )
    sep, pad = (custom_tokenizer(tiny("bert")).convert_tokens_to_ids(t) for t in ("[SEP]", "[PAD]"))
    inner = list(text.ids[1:-1])
    assert [i for i in inner if i not in (sep, pad)] == list(plain.ids[1:-1])
    assert [word for i, word in zip(inner, text.token_mask[1:-1])] == [
        i not in (sep, pad) for i in inner
    ]
    assert (text.literal, plain.literal, unknown.literal) == (True, False, False)
    assert list(unknown.token_mask) == [False, *[True] * (len(unknown.ids) - 2), False]
    assert (text.unknown, unknown.unknown) == (0, 1)


def test_unknown_words(tiny: Tiny) -> None:
    (tokens,) = encoder_of(tiny("bert")).tokenize(["rain 東 fell 京"])
    assert tokens.unknown == 2
    (tokens,) = encoder_of(tiny("gpt2")).tokenize(["rain 東 fell 京"])  # bytes: nothing is unknown
    assert tokens.unknown == 0


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5", "t5-bytes"])
def test_lone_surrogates(kind: str, tiny: Tiny) -> None:
    """No encoding can carry them; what belongs together is put together."""
    encoder = encoder_of(tiny(kind))
    lone, replaced, pair, whole = encoder.tokenize(
        ["rain \ud800 fell", "rain \ufffd fell", "a \ud83d\ude42 b", "a 🙂 b"]
    )
    assert list(lone.ids) == list(replaced.ids)
    assert list(pair.ids) == list(whole.ids)


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5", "gpt2"])
def test_texts_are_stripped(kind: str, tiny: Tiny) -> None:
    encoder = encoder_of(tiny(kind))
    assert ids_of(encoder, " \t rain fell \n") == ids_of(encoder, "rain fell")
    assert ids_of(encoder, "  \n") == ids_of(encoder, "")
    assert not any(encoder.tokenize(["   "])[0].token_mask)


def test_the_name_of_a_tokenizer_tells_how_it_splits(tiny: Tiny) -> None:
    one = encoder_of(tiny("bert")).tokenizer_id
    assert encoder_of(tiny("bert-dropout")).tokenizer_id == one  # another model, the same tokenizer
    lower = custom_tokenizer(tiny("bert"))
    lower.add_tokens(["quick brown"])
    others = [
        HuggingFaceEncoder(tiny("bert"), lower, 2),
        encoder_of(tiny("roberta")),
        encoder_of(tiny("bert-no-markers")),
    ]
    assert len({one, *(encoder.tokenizer_id for encoder in others)}) == 4
    assert re.fullmatch(r"\w+@[0-9a-f]{8}", one)


def test_a_tokenizer_by_name(tiny: Tiny) -> None:
    near(
        bert_score(*ROWS, HuggingFaceEncoder(tiny("bert"), tiny("bert-dropout"), 2)),
        bert_score(*ROWS, tiny("bert"), 2),
    )
    with pytest.raises(FileNotFoundError, match=r"the encoder folder '\./nowhere' was not found"):
        HuggingFaceEncoder(tiny("bert"), "./nowhere", 2)


# ---------------------------------------------------------------- windows

LONG = " ".join(TEXT)


def context(place: int, first: int, stop: int, length: int) -> int:
    """Tokens on the poorer side of a token in a pass over `first` to `stop`.

    Nothing is missing at the ends of a text.
    """
    left = place - first if first else length
    right = stop - 1 - place if stop < length else length
    return min(left, right)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "t5"])
@pytest.mark.parametrize("limit", [3, 4, 7, 10, 33, 64])
def test_windows_give_each_token_once(kind: str, limit: int, tiny: Tiny) -> None:
    whole = encoder_of(tiny(kind), max_length=limit, overflow="window")
    special = len(ids_of(whole, ""))
    for text in (LONG, "rain " * (limit - special + 1), "the dog " * 40):
        (tokens,) = whole.tokenize([text])
        assert tokens.lost == 0
        kept = [i for window in tokens.windows for i in window.ids[window.start : window.stop]]
        assert (
            kept
            == list(tokens.ids)
            == custom_tokenizer(tiny(kind), add_prefix_space=True)(text.strip())["input_ids"]
        )
        assert all(len(window.ids) == limit for window in tokens.windows)
        room, body = limit - special, len(tokens.ids) - special
        before = 0 if kind in ("gpt2", "t5") else 1
        starts = [*range(0, body - room, max(1, room // 2)), body - room]
        assert len(starts) == len(tokens.windows)
        place = 0
        for n, window in enumerate(tokens.windows):
            for j in range(window.start, window.stop):
                inside = j - before
                if 0 <= inside < room:
                    chances = [
                        context(place, s, s + room, body) for s in starts if s <= place < s + room
                    ]
                    assert context(place, starts[n], starts[n] + room, body) >= max(chances) - 1
                    assert starts[n] + inside == place
                    place += 1
        assert place == body


def test_windows_are_passes_over_parts_of_the_text(tiny: Tiny) -> None:
    """Vectors of a long text are those of its parts, each run alone through the whole model."""
    encoder = encoder_of(tiny("bert"), max_length=16, overflow="window")
    (tokens,) = encoder.tokenize([LONG])
    _, model = load(tiny("bert"))
    parts = []
    for window in tokens.windows:
        ids = torch.tensor([list(window.ids)])
        with torch.no_grad():
            states = model(
                input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True
            ).hidden_states
        parts.append(states[2][0, window.start : window.stop])
    a = nn.functional.normalize(torch.cat(parts).double(), dim=-1)
    b = encode(tiny("bert"), "rain fell").vectors[2]
    words = [i for i, word in enumerate(tokens.token_mask) if word]
    p = (a[words] @ b.T).amax(1).mean().item()
    r = (a @ b[1:-1].T).amax(0).mean().item()
    got = bert_score(LONG, "rain fell", encoder)
    assert got["precision"].item() == pytest.approx(p, rel=0, abs=1e-5)
    assert got["recall"].item() == pytest.approx(r, rel=0, abs=1e-5)


@pytest.mark.parametrize("max_length", [5, 16, 100])
def test_windows_without_context_are_one_pass(max_length: int, tiny: Tiny) -> None:
    """T5's embedding output knows neither neighbours nor places.

    In windows or not, it must be the same.
    """
    rows = [LONG[:200], "rain fell"], ["two cats sleep", LONG[100:300]]
    cut = bert_score(*rows, tiny("t5"), 0, max_length=max_length, overflow="window")
    near(cut, bert_score(*rows, tiny("t5"), 0, overflow="error"))


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "t5"])
def test_windows_of_a_text_that_fits(kind: str, tiny: Tiny) -> None:
    window, plain = encoder_of(tiny(kind), overflow="window"), encoder_of(tiny(kind))
    assert window.tokenize(TEXT[:3]) == plain.tokenize(TEXT[:3])
    near(bert_score(*ROWS, window), bert_score(*ROWS, plain))


def test_windows_lose_nothing_and_say_nothing(tiny: Tiny) -> None:
    """The end of a long text counts, where truncation makes the same of both."""
    start = "the " * POSITIONS
    pred, targets = (
        start + "two cats sleep",
        [start + "two cats sleep quietly", start + "rain fell on the town"],
    )
    with pytest.warns(BERTScoreWarning, match="4 texts were truncated"):
        cut = bert_score([pred, pred], targets, tiny("bert"), 2)["f1"]
    assert cut.tolist() == pytest.approx([1.0, 1.0], abs=1e-6)
    whole = bert_score([pred, pred], targets, tiny("bert"), 2, overflow="window")["f1"]
    assert bool((whole < 1 - 1e-4).all())
    assert (whole[0] - whole[1]).abs() > 1e-4


# ---------------------------------------------------------------- custom models


def test_a_custom_model(tiny: Tiny) -> None:
    encoder = HuggingFaceEncoder(custom_model(tiny("bert")), custom_tokenizer(tiny("bert")), 2)
    near(bert_score(*ROWS, encoder), bert_score(*ROWS, tiny("bert"), 2))
    assert encoder.name == "custom:BertModel"


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_a_custom_encoder_decoder(kind: str, tiny: Tiny) -> None:
    encoder = HuggingFaceEncoder(custom_model(tiny(kind)), custom_tokenizer(tiny(kind)), 2)
    near(bert_score(*ROWS, encoder), bert_score(*ROWS, tiny(kind), 2))


def test_a_custom_model_is_left_as_it_is(tiny: Tiny) -> None:
    """Modes of all modules, dtype, device, gradients and weights; and dropout plays no part."""
    model = custom_model(tiny("bert-dropout")).train()
    model.encoder.layer[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    modes = [module.training for module in model.modules()]
    grads = [p.requires_grad for p in model.parameters()]
    near(
        bert_score(*ROWS, HuggingFaceEncoder(model, custom_tokenizer(tiny("bert")), 2)),
        bert_score(*ROWS, tiny("bert-dropout"), 2),
    )
    assert [module.training for module in model.modules()] == modes
    assert {True, False} == set(modes)
    assert [p.requires_grad for p in model.parameters()] == grads
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert {(p.device.type, p.dtype) for p in model.parameters()} == {("cpu", torch.float32)}


def test_a_custom_model_keeps_its_dtype(tiny: Tiny) -> None:
    model = custom_model(tiny("bert")).to(torch.float64)
    got = bert_score(*ROWS, HuggingFaceEncoder(model, custom_tokenizer(tiny("bert")), 2))
    assert {p.dtype for p in model.parameters()} == {torch.float64}
    assert got["f1"].dtype == torch.float32
    near(got, bert_score(*ROWS, tiny("bert"), 2), 1e-5)


def test_a_custom_model_needs_a_tokenizer(tiny: Tiny) -> None:
    message = "got a custom model without a tokenizer; wanted HuggingFaceEncoder(model, tokenizer)"
    with pytest.raises(ValueError, match=re.escape(message)):
        HuggingFaceEncoder(custom_model(tiny("bert")))


def test_a_custom_model_needs_a_depth(tiny: Tiny) -> None:
    model = nn.Linear(2, 2)
    model.config = types.SimpleNamespace(is_encoder_decoder=False)  # type: ignore[assignment]
    model.get_input_embeddings = lambda: None  # type: ignore[assignment]
    with pytest.raises(
        ValueError,
        match="the configuration of encoder 'custom:Linear' does not say how many layers it has",
    ):
        HuggingFaceEncoder(model, custom_tokenizer(tiny("bert")))


# ---------------------------------------------------------------- loading


def spied(function: Callable[..., Any], name: str, seen: list[str]) -> Callable[..., Any]:
    def spy(*args: Any, **options: Any) -> Any:
        seen.append(name)
        return function(*args, **options)

    return spy


@contextmanager
def counted_loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What `from_pretrained` of the two factories was asked for."""
    seen: list[str] = []
    with monkeypatch.context() as patch:
        for factory in (transformers.AutoTokenizer, transformers.AutoModel):
            patch.setattr(
                factory, "from_pretrained", spied(factory.from_pretrained, factory.__name__, seen)
            )
        yield seen


def test_weights_are_loaded_once(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(copied(tiny("bert"), tmp_path / "enc"))
    with counted_loads(monkeypatch) as seen:
        encoder = HuggingFaceEncoder(folder, num_layers=2)
        assert seen.count("AutoModel") == 0  # not before the first text
        for layers in (1, 2, "all"):
            bert_score(*ROWS, folder, layers)
            bert_score(*ROWS, folder, layers, max_length=50)
        bert_score(*ROWS, encoder)
        assert seen.count("AutoModel") == 1
        assert seen.count("AutoTokenizer") == 1
        bert_score(*ROWS, folder, 2, dtype="bfloat16")
        assert seen.count("AutoModel") == 2
        bert_score(*ROWS, folder, 2)
        assert seen.count("AutoModel") == 2


def test_weights_that_were_exchanged_are_loaded_again(tiny: Tiny, tmp_path: Path) -> None:
    """Training writes its checkpoint into the same folder."""
    folder = copied(tiny("bert"), tmp_path / "enc")
    before = bert_score(*ROWS, str(folder), 2)
    with quiet_transformers():
        model = custom_model(str(folder))
        with torch.no_grad():
            for p in model.parameters():
                p.mul_(1.5)
        model.save_pretrained(folder)
    wanted = bert_score(*ROWS, HuggingFaceEncoder(model, custom_tokenizer(str(folder)), 2))
    after = bert_score(*ROWS, str(folder), 2)
    near(after, wanted)
    assert not torch.allclose(after["f1"], before["f1"], atol=1e-4)


# PyTorch 2.1 cannot multiply in float16 on a CPU.
UNITS = {"bfloat16": ("amx_bf16", "avx512_bf16"), "float16": ("amx_fp16", "avx512_fp16")}
HALF = ["bfloat16", *(["float16"] if not torch.__version__.startswith("2.1.") else [])]


@pytest.mark.parametrize(
    "dtype, worst, mean",
    [(d, *{"bfloat16": (5e-3, 5e-4), "float16": (1e-3, 2e-4)}[d]) for d in HALF],
)
def test_half_precision_is_close(dtype: str, worst: float, mean: float, minilm: str) -> None:
    preds, target = TEXT, [*TEXT[1:], TEXT[0]]
    plain, half = (
        bert_score(preds, target, minilm, 6),
        bert_score(preds, target, minilm, 6, dtype=dtype),
    )
    for name in NAMES:
        assert half[name].dtype == torch.float32
        difference = half[name] - plain[name]
        assert 0 < difference.abs().max() < worst
        assert difference.mean().abs() < mean


def test_sums_stay_in_float32(minilm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What passes through all layers is added up in float32, which has less of an error."""
    preds, target = TEXT, [*TEXT[1:], TEXT[0]]
    exact = bert_score(preds, target, minilm, 6)["f1"]
    errors = []
    for mixed in (True, False):
        with monkeypatch.context() as patch:
            if not mixed:
                patch.setattr(pretrained, "has_products_in", lambda dtype, device: False)
            pretrained.drop_kept_models()
            encoder = HuggingFaceEncoder(minilm, num_layers=6, dtype="bfloat16")
            got = bert_score(preds, target, encoder, embedding_cache=0)["f1"]
            ids = torch.tensor([[101, 2003, 102]])
            states = encoder.hidden_states(ids, torch.ones_like(ids), (0, 3))
            assert states.dtype == (torch.float32 if mixed else torch.bfloat16)
            errors.append((got - exact).abs().mean().item())
            pretrained.drop_kept_models()
    assert 0 < errors[0] < 0.8 * errors[1]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")  # DeBERTa of transformers 4
@pytest.mark.parametrize(
    "kind, mixed", [("t5", True), ("gpt2", True), ("deberta-v2", True), ("deberta", False)]
)
def test_bfloat16_of_other_families(kind: str, mixed: bool, tiny: Tiny, tmp_path: Path) -> None:
    """DeBERTa masks with the least float32 and is run in bfloat16 as a whole."""
    folder = tiny(kind) if kind != "deberta" else str(tmp_path / kind)
    if kind == "deberta":
        config = transformers.DebertaConfig(
            vocab_size=len(custom_tokenizer(tiny("bert"))), hidden_size=32, num_hidden_layers=2,
            num_attention_heads=2, intermediate_size=64, relative_attention=True,
            pos_att_type=["c2p", "p2c"],
        )  # fmt: skip
        transformers.DebertaModel(config).save_pretrained(folder)
        custom_tokenizer(tiny("bert")).save_pretrained(folder)
    exact = bert_score(*ROWS, folder, 2)["f1"]
    encoder = HuggingFaceEncoder(folder, num_layers=2, dtype="bfloat16")
    rough = bert_score(*ROWS, encoder)["f1"]
    assert 0 < (rough - exact).abs().max() < 0.02
    ids = torch.tensor([[2, 8, 9, 3]])
    states = encoder.hidden_states(ids, torch.ones_like(ids), (1,))
    if mixed or transformers.__version__ >= "5":  # the 4 masks it with what bfloat16 holds
        assert states.dtype == (torch.float32 if mixed else torch.bfloat16)


@pytest.mark.parametrize("dtype, unit", [(dtype, unit) for dtype in HALF for unit in UNITS[dtype]])
def test_a_cpu_without_units_for_a_dtype_says_so(
    dtype: str, unit: str, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = {"architecture": "x86_64", "avx2": True, unit: False}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has, raising=False)
    folder = copied(tiny("bert"), tmp_path / "slow")
    with pytest.warns(
        BERTScoreWarning,
        match=rf"this CPU has no units for {dtype}; "
        r"dtype='float32' is faster here, and exact",
    ):
        bert_score(*ROWS, folder, 2, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bert_score(*ROWS, folder, 2, dtype=dtype)  # once for a set of weights
        bert_score(*ROWS, copied(folder, tmp_path / "exact"), 2)
        has[unit] = True
        bert_score(*ROWS, copied(folder, tmp_path / "fast"), 1, dtype=dtype)
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"architecture": "aarch64"})
        bert_score(*ROWS, copied(folder, tmp_path / "other"), 1, dtype=dtype)


def test_weights_in_half_precision_are_used_in_float32(tiny: Tiny) -> None:
    encoder = encoder_of(tiny("bert-half"))
    ids = torch.tensor([[2, 8, 9, 3]])
    assert encoder.hidden_states(ids, torch.ones_like(ids), (1,)).dtype == torch.float32


@pytest.mark.parametrize(
    "option, message",
    [
        (
            {"dtype": "float64"},
            "got dtype='float64'; wanted 'float32', 'bfloat16' or 'float16'",
        ),
        ({"dtype": torch.float32}, "got dtype=torch.float32; wanted 'float32', 'bfloat16' or"),
        ({"overflow": "cut"}, "got overflow='cut'; wanted 'truncate', 'window' or 'error'"),
    ],
)
def test_wrong_options(option: dict[str, Any], message: str, tiny: Tiny) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        HuggingFaceEncoder(tiny("bert"), **option)


def spoil(folder: Path, what: str) -> None:
    (weights,) = folder.glob("*.safetensors")
    if what == "no weights":
        weights.unlink()
    elif what == "cut weights":
        weights.write_bytes(weights.read_bytes()[:5_000])
    elif what == "bad weights":
        weights.write_bytes(b"\xff" * 100)
    elif what == "empty weights":
        weights.write_bytes(b"")
    elif what == "bad configuration":
        (folder / "config.json").write_text('{"model_type": "bert",')
    elif what == "unknown model":
        (folder / "config.json").write_text('{"model_type": "no-such-model"}')
    elif what == "no configuration":
        (folder / "config.json").unlink()
    elif what == "no tokenizer":
        for file in folder.glob("*token*"):
            file.unlink()
        for file in folder.glob("vocab*"):
            file.unlink()
    else:
        assert what == "bad tokenizer"
        (folder / "tokenizer.json").write_text("{")


@pytest.mark.parametrize(
    "what, kind, message",
    [
        (
            "no weights",
            EncoderNotFoundError,
            r"the encoder folder .* holds a configuration but no "
            r"weights \(no \*\.safetensors, no",
        ),
        ("cut weights", EncoderLoadError, r"could not load the weights of the encoder in folder"),
        ("bad weights", EncoderLoadError, r"could not load the weights of the encoder in folder"),
        ("empty weights", EncoderLoadError, r"could not load the weights of the encoder in folder"),
        (
            "bad configuration",
            EncoderLoadError,
            r"could not load the configuration of the encoder in "
            r"folder",
        ),
        (
            "unknown model",
            EncoderLoadError,
            r"could not load the configuration of the encoder in folder",
        ),
        (
            "no configuration",
            EncoderLoadError,
            r"the encoder folder .* has no config\.json; wanted a folder that save_",
        ),
        (
            "no tokenizer",
            EncoderLoadError,
            r"could not load the tokenizer of the encoder in folder",
        ),
        (
            "bad tokenizer",
            EncoderLoadError,
            r"could not load the tokenizer of the encoder in folder",
        ),
    ],
)
def test_broken_folders(
    what: str, kind: type[Exception], message: str, tiny: Tiny, tmp_path: Path
) -> None:
    folder = copied(tiny("bert"), tmp_path / "enc")
    spoil(folder, what)
    with pytest.raises(kind, match=message) as error:
        bert_score(*ROWS, str(folder), 2)
    assert repr(str(folder)) in str(error.value)
    assert "wanted a folder that save_pretrained wrote" in str(error.value)
    assert "\n" not in str(error.value)


def test_only_what_cannot_be_seen_before_fails_late(tiny: Tiny, tmp_path: Path) -> None:
    """A wrong folder is an error where the metric is made."""
    for what in (
        "no weights",
        "bad configuration",
        "no configuration",
        "no tokenizer",
        "bad tokenizer",
    ):
        folder = copied(tiny("bert"), tmp_path / what.replace(" ", "-"))
        spoil(folder, what)
        with pytest.raises(OSError, match="encoder"):
            BERTScore(str(folder), 2)


def test_code_in_a_folder_is_never_run(tiny: Tiny, tmp_path: Path) -> None:
    folder = copied(tiny("bert"), tmp_path / "enc")
    entries = json.loads((folder / "config.json").read_text())
    entries |= {
        "model_type": "made-up",
        "auto_map": {"AutoConfig": "made_up.Config", "AutoModel": "made_up.Model"},
    }
    (folder / "config.json").write_text(json.dumps(entries))
    (folder / "made_up.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    with pytest.raises(OSError, match="could not load the configuration of the encoder in folder"):
        BERTScore(str(folder), 2)
    assert not (tmp_path / "ran").exists()


# ---------------------------------------------------------------- revisions


@pytest.mark.parametrize("way", ["folder", "path", "alias"])
def test_a_folder_has_no_revisions(way: str, tiny: Tiny, minilm: str) -> None:
    """Nor has an alias that is read from one."""
    given = {"folder": tiny("bert"), "path": Path(tiny("bert")), "alias": "minilm"}[way]
    name = "sentence-transformers/all-MiniLM-L6-v2" if way == "alias" else tiny("bert")
    message = (
        f"got revision='main' for {name!r}, which is read from the folder "
        f"{minilm if way == 'alias' else tiny('bert')!r} and has no revisions; wanted none, or "
        "another model"
    )
    with pytest.raises(InvalidValueError, match=f"^{re.escape(message)}$"):
        HuggingFaceEncoder(given, revision="main")
    assert HuggingFaceEncoder(given).depth > 0


def test_a_custom_model_has_no_revisions(tiny: Tiny) -> None:
    model, tokenizer = custom_model(tiny("bert")), custom_tokenizer(tiny("bert"))
    message = "got dtype, compile or revision beside a custom model, which is run as it is; wanted"
    with pytest.raises(InvalidValueError, match=message):
        HuggingFaceEncoder(model, tokenizer, revision="main")


@pytest.fixture
def hub(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str | None]]:
    """What is asked (part, name, revision) of a hub where each name means the same tiny encoder."""
    asked: list[tuple[str, str, str | None]] = []
    folder = names.find_source(tiny("bert"))

    def note(part: str, place: names.Source, revision: str | None) -> None:
        assert place == names.Source(place.name, place.name, False)
        asked.append((part, place.name, revision))

    def load_config(place: names.Source, revision: str | None) -> Any:
        note("configuration", place, revision)
        return loading.load_config(folder, None)

    def load_tokenizer(place: names.Source, revision: str | None) -> Any:
        note("tokenizer", place, revision)
        return loading.load_tokenizer(folder, None)

    def load_model(place: names.Source, revision: str | None, safetensors_only: bool) -> Any:
        note("weights", place, revision)
        return loading.load_model(folder, None, safetensors_only)

    monkeypatch.setattr(pretrained, "load_config", load_config)
    monkeypatch.setattr(pretrained, "load_model", load_model)
    monkeypatch.setattr(pretrained, "loaded_commit", lambda place, revision, config: "c0ffee" * 6)
    monkeypatch.setattr(huggingface, "load_tokenizer", load_tokenizer)
    return asked


Asked = list[tuple[str, str, str | None]]


@pytest.mark.parametrize("revision", [None, "v2"])
def test_a_revision_is_that_of_model_and_tokenizer(hub: Asked, revision: str, tiny: Tiny) -> None:
    encoder = HuggingFaceEncoder("some/model", num_layers=2, revision=revision)
    right = pytest.approx(bertscore(*ROWS, tiny("bert"), 2)["f1"], abs=1e-5)
    assert bert_score(*ROWS, encoder)["f1"].tolist() == right
    parts = ("configuration", "tokenizer", "weights")
    assert hub == [(part, "some/model", revision) for part in parts]
    assert (encoder.name, encoder.version) == ("some/model", "c0ffee" * 2)


def test_a_tokenizer_of_another_name_has_revisions_of_its_own(hub: Asked) -> None:
    """The first time, and when it is loaded again after a journey."""
    encoder = HuggingFaceEncoder("some/model", "other/tokenizer", 2, revision="v2")
    assert hub == [("configuration", "some/model", "v2"), ("tokenizer", "other/tokenizer", None)]
    hub.clear()
    back = pickle.loads(pickle.dumps(encoder))
    assert back.tokenize(["rain"]) == encoder.tokenize(["rain"])
    assert hub == [("tokenizer", "other/tokenizer", None)]
    hub.clear()
    plain = HuggingFaceEncoder("some/model", num_layers=2, revision="v2")
    pickle.loads(pickle.dumps(plain)).tokenize(["rain"])
    assert hub[1:] == [("tokenizer", "some/model", "v2")] * 2


# ---------------------------------------------------------------- pickles


def test_a_pickle_of_a_changed_tokenizer_is_refused(
    tiny: Tiny, tmp_path: Path, process: Any
) -> None:
    """Nobody sees other tokens than those that the signature names."""
    folder = copied(tiny("bert"), tmp_path / "enc")
    metric = BERTScore(str(folder), 2)
    saved, before = pickle.dumps(metric), metric.encoder.tokenizer_id
    same = pickle.loads(saved)
    same.update(*ROWS)
    del metric, same
    gc.collect()
    settings = folder / "tokenizer_config.json"
    entries = {**json.loads(settings.read_text()), "truncation_side": "left"}
    settings.write_text(json.dumps(entries))
    back, now = pickle.loads(saved), HuggingFaceEncoder(str(folder)).tokenizer_id
    assert before in back.signature
    message = (
        f"encoder {str(folder)!r} was saved with tokenizer {before}, but {str(folder)!r} now has "
        f"{now}; wanted the same: make the encoder anew"
    )
    for _ in range(2):
        with pytest.raises(InvalidValueError, match=f"^{re.escape(message)}$"):
            back.update(*ROWS)
    assert back.diagnostics()["samples"] == 0


# ---------------------------------------------------------------- quiet


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record.getMessage())


@pytest.fixture
def noisy(tiny: Tiny, tmp_path: Path) -> Iterator[tuple[str, Records]]:
    """A folder about which transformers has something to say, and what it says.

    It is about unused and missing weights.
    """
    folder, kept = copied(tiny("bert"), tmp_path / "masked"), Records()
    with quiet_transformers():
        transformers.BertForMaskedLM(
            transformers.AutoConfig.from_pretrained(folder)
        ).save_pretrained(folder)
    root, level, bar = (
        logging.getLogger("transformers"),
        hub_logging.get_verbosity(),
        hub_logging.is_progress_bar_enabled(),
    )
    root.addHandler(kept)
    hub_logging.set_verbosity_info()
    hub_logging.enable_progress_bar()
    yield str(folder), kept
    root.removeHandler(kept)
    hub_logging.set_verbosity(level)
    if not bar:
        hub_logging.disable_progress_bar()


def test_loading_is_quiet(noisy: tuple[str, Records], capfd: pytest.CaptureFixture[str]) -> None:
    folder, records = noisy
    bert_score(*ROWS, folder, 2)
    assert records.seen == []
    assert capfd.readouterr() == ("", "")
    transformers.AutoModel.from_pretrained(folder)
    assert records.seen != []


@pytest.mark.parametrize("bar", [True, False])
@pytest.mark.parametrize("level", [logging.DEBUG, logging.WARNING, logging.ERROR])
def test_settings_of_transformers_are_as_before(
    noisy: tuple[str, Records], level: int, bar: bool
) -> None:
    hub_logging.set_verbosity(level)
    if not bar:
        hub_logging.disable_progress_bar()
    bert_score(*ROWS, noisy[0], 2)
    assert (hub_logging.get_verbosity(), hub_logging.is_progress_bar_enabled()) == (level, bar)
    spoil(Path(noisy[0]), "bad configuration")
    with pytest.raises(OSError, match="could not load"):
        bert_score(*ROWS, noisy[0], 2)
    assert (hub_logging.get_verbosity(), hub_logging.is_progress_bar_enabled()) == (level, bar)


# ---------------------------------------------------------------- layers

FINAL_NORM = [kind for kind in ("modernbert", "gpt2", "t5") if kind in KINDS]
BLOCKS = {
    "bert": "BertLayer",
    "modernbert": "ModernBertEncoderLayer",
    "gpt2": "GPT2Block",
    "t5": "T5Block",
}


def batch() -> tuple[Tensor, Tensor]:
    """Two rows, the second with padding."""
    ids = torch.tensor([[7, 12, 30, 41, 9, 17], [8, 25, 11, 0, 0, 0]])
    mask = torch.ones_like(ids)
    mask[1, 3:] = 0
    return ids, mask


@pytest.mark.parametrize("kind", [*FINAL_NORM, "bert", "roberta", "mpnet", "xlnet"])
def test_layer_k_is_hidden_state_k_of_the_whole_model(kind: str, tiny: Tiny) -> None:
    """One at a time, where layers above may be left out, and all at once."""
    ids, mask = batch()
    _, model = load(tiny(kind))
    with torch.no_grad():
        states = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    assert len(states) == LAYERS + 1
    encoder = encoder_of(tiny(kind))
    for layers in ([0], [1], [2], [3], [3, 0], [1, 2], [0, 1, 2, 3]):
        got = encoder.hidden_states(ids, mask, layers)
        assert got.shape == (len(layers), *states[0].shape)
        for state, layer in zip(got, layers):
            assert torch.allclose(
                state[mask.bool()], states[layer][mask.bool()], rtol=0, atol=1e-5
            ), (layers, layer)


@pytest.mark.parametrize("kind", FINAL_NORM)
def test_a_final_norm_would_show(kind: str, tiny: Tiny) -> None:
    """Else the test above could not tell hidden state 2 from that of a model cut at 2."""
    _, model = load(tiny(kind))
    norm = next(
        getattr(model, name)
        for name in ("final_norm", "ln_f", "final_layer_norm")
        if hasattr(model, name)
    )
    ids, mask = batch()
    with torch.no_grad():
        state = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states[
            2
        ]
        assert (
            nn.functional.normalize(norm(state), dim=-1) - nn.functional.normalize(state, dim=-1)
        ).abs().max() > 0.01


@contextmanager
def counted_blocks(name: str) -> Iterator[list[str]]:
    """The blocks of a class that are run."""
    seen: list[str] = []
    hook = nn.modules.module.register_module_forward_pre_hook(
        lambda module, _: seen.append(name) if type(module).__name__ == name else None
    )
    try:
        yield seen
    finally:
        hook.remove()


@pytest.mark.parametrize("kind", BLOCKS)
def test_layers_above_are_not_run(kind: str, tiny: Tiny) -> None:
    """One more may be.

    It keeps a final norm away from the state that is wanted, or there is no model of no layers.
    """
    encoder, (ids, mask) = encoder_of(tiny(kind)), batch()
    for layers in ([0], [1], [2], [3], [0, 1]):
        encoder.hidden_states(
            ids, mask, layers
        )  # the first time some tokens are run to see what may be left out
        with counted_blocks(BLOCKS[kind]) as seen:
            encoder.hidden_states(ids, mask, layers)
        more = 1 if max(layers) == 0 or (kind in FINAL_NORM and max(layers) < LAYERS) else 0
        assert max(layers) <= len(seen) <= max(layers) + more, layers


def test_all_layers_are_one_pass(tiny: Tiny) -> None:
    metric = BERTScore(tiny("bert"), "all", embedding_cache=0)
    metric.update(*ROWS)
    with counted_blocks("BertLayer") as seen:
        metric.update(*ROWS)
    assert len(seen) == LAYERS  # four texts in one batch


def test_a_custom_model_is_run_whole(tiny: Tiny) -> None:
    encoder, (ids, mask) = (
        HuggingFaceEncoder(custom_model(tiny("bert")), custom_tokenizer(tiny("bert")), 1),
        batch(),
    )
    encoder.hidden_states(ids, mask, [1])  # the first time a few tokens are run as well
    with counted_blocks("BertLayer") as seen:
        encoder.hidden_states(ids, mask, [1])
    assert len(seen) == LAYERS


def test_a_cut_model_shares_the_weights(tiny: Tiny, tmp_path: Path) -> None:
    """Leaving layers out costs no memory."""
    encoder, (ids, mask) = encoder_of(str(copied(tiny("bert"), tmp_path / "enc"))), batch()
    for layer in range(LAYERS + 1):
        encoder.hidden_states(ids, mask, [layer])
    reader = encoder._model._weights(CPU)
    kept = {p.data_ptr() for p in reader.model.parameters()}
    views = [view for view, _ in reader._views.values()]
    assert {1, 2, 3} <= {len(view.encoder.layer) for view in views}
    assert {p.data_ptr() for view in views for p in view.parameters()} <= kept


@pytest.mark.parametrize(
    "num_layers, default, wanted",
    [
        (None, None, (8,)),
        (None, 10, (10,)),
        (None, 40, (12,)),  # the table is about a deeper encoder of that name
        (0, None, (0,)),
        (12, None, (12,)),
        ("all", None, tuple(range(13))),
        ([3, 1], None, (3, 1)),
        (range(2, 5), None, (2, 3, 4)),
        (iter([5]), None, (5,)),
        (torch.tensor(4), None, (4,)),
    ],
)
def test_choice_of_layers(num_layers: Any, default: int | None, wanted: tuple[int, ...]) -> None:
    got = choose_layers(num_layers, 12, default, "enc")
    assert got == wanted
    assert all(type(layer) is int for layer in got)


def test_layers_from_numpy_and_from_a_config() -> None:
    assert choose_layers(pytest.importorskip("numpy").int64(3), 12, None, "enc") == (3,)
    assert choose_layers(
        pytest.importorskip("omegaconf").OmegaConf.create([1, 2]), 12, None, "enc"
    ) == (1, 2)


@pytest.mark.parametrize("depth, layer", [(1, 1), (2, 1), (3, 2), (6, 4), (12, 8), (24, 16)])
def test_two_thirds_of_the_depth(depth: int, layer: int) -> None:
    assert choose_layers(None, depth, None, "enc") == (layer,)


@pytest.mark.parametrize(
    "num_layers, kind, message",
    [
        (
            99,
            ValueError,
            "got layer 99; encoder 'enc' has hidden states 0 (the embedding output) to 12",
        ),
        (
            -1,
            ValueError,
            "got layer -1; encoder 'enc' has hidden states 0 (the embedding output) to 12",
        ),
        ([1, 13], ValueError, "got layer 13;"),
        ("last", ValueError, "got num_layers='last'; wanted an integer, several, 'all' or None"),
        ("6", ValueError, "got num_layers='6'; wanted an integer, several, 'all' or None"),
        ([], ValueError, "got num_layers=[]; wanted at least one layer, and each only once"),
        (
            [2, 2],
            ValueError,
            "got num_layers=[2, 2]; wanted at least one layer, and each only once",
        ),
        (True, TypeError, "got num_layers=True; wanted an integer, several, 'all' or None"),
        ([1, 2.0], TypeError, "got num_layers=[1, 2.0]; wanted an integer, several, 'all' or None"),
        (["1"], TypeError, "got num_layers=['1']; wanted an integer, several, 'all' or None"),
        (6.0, TypeError, "got num_layers=6.0; wanted an integer, several, 'all' or None"),
    ],
)
def test_wrong_layers(num_layers: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        choose_layers(num_layers, 12, None, "enc")


@pytest.mark.parametrize("kind", ["bert", "t5", "bart", "gpt2", "distilbert", "xlm", "xlnet"])
def test_depth_from_the_configuration(kind: str, tiny: Tiny) -> None:
    config = transformers.AutoConfig.from_pretrained(tiny(kind))
    assert config_depth(config, "enc") == LAYERS == encoder_of(tiny(kind)).depth


# ---------------------------------------------------------------- versions and sharing


def saved(folder: Path, seed: int) -> str | None:
    """The version of a folder with one file of random weights."""
    folder.mkdir(exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    weights = {
        "a": torch.randn(40, 30, generator=generator),
        "b": torch.randn(25, generator=generator),
    }
    pytest.importorskip("safetensors.torch").save_file(weights, str(folder / "model.safetensors"))
    return folder_digest(folder)


def test_versions_of_weights(tmp_path: Path) -> None:
    """Equal for a copy, another one for weights of the same shapes."""
    first = saved(tmp_path / "one", 1)
    assert first is not None
    assert re.fullmatch("[0-9a-f]{8}", first)
    assert folder_digest(copied(str(tmp_path / "one"), tmp_path / "copy")) == first
    assert saved(tmp_path / "two", 2) != first


def test_weights_that_lack_tensors_are_refused(tiny: Tiny, tmp_path: Path) -> None:
    """They would be random, and others in each process."""
    safetensors = pytest.importorskip("safetensors.torch")
    folder = copied(tiny("bert"), tmp_path / "enc")
    file = Path(folder) / "model.safetensors"
    tensors = safetensors.load_file(file)
    gone = [name for name in tensors if "layer.1.attention" in name]
    safetensors.save_file(
        {name: t for name, t in tensors.items() if name not in gone}, file, {"format": "pt"}
    )
    with pytest.raises(
        OSError,
        match=rf"lack {len(gone)} of the tensors "
        r".*layer\.1\.attention.*would be random; wanted all",
    ):
        bert_score(*ROWS, folder, 2)


def test_a_changed_configuration_is_another_encoder(tiny: Tiny, tmp_path: Path) -> None:
    folder = copied(tiny("bert"), tmp_path / "enc")
    before = bert_score(*ROWS, folder, 2)["f1"]
    version = HuggingFaceEncoder(folder).version
    config = json.loads((Path(folder) / "config.json").read_text())
    (Path(folder) / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 10.0}))
    assert HuggingFaceEncoder(folder).version != version
    assert not torch.allclose(bert_score(*ROWS, folder, 2)["f1"], before, atol=1e-4)
    (Path(folder) / "config.json").write_text(json.dumps({**config, "transformers_version": "0.0"}))
    assert HuggingFaceEncoder(folder).version == version


def test_weights_that_are_a_pickle_need_trust(tiny: Tiny, tmp_path: Path) -> None:
    folder = copied(tiny("bert"), tmp_path / "enc")
    torch.save(custom_model(folder).state_dict(), Path(folder) / "pytorch_model.bin")
    wanted = bert_score(*ROWS, folder, 2)
    for file in Path(folder).glob("*.safetensors"):
        file.unlink()
    for make in (HuggingFaceEncoder, BERTScore):
        with pytest.raises(
            OSError,
            match=r"as a pickle \(\*\.bin\), which can run "
            r"code.*HuggingFaceEncoder\(folder, safetensors_only",
        ):
            make(folder)
    trusting = HuggingFaceEncoder(folder, num_layers=2, safetensors_only=False)
    near(bert_score(*ROWS, trusting), wanted)


def test_versions_of_names_shapes_and_shards(tmp_path: Path) -> None:
    save_file = pytest.importorskip("safetensors.torch").save_file
    a, seen = torch.arange(600.0), []
    for n, files in enumerate(
        (
            {"model.safetensors": {"a": a}},
            {"model.safetensors": {"b": a}},
            {"model.safetensors": {"a": a.reshape(20, 30)}},
            {"model.safetensors": {"a": a.double()}},
            {"model.safetensors": {"a": torch.cat([a[:-1], a[:1]])}},  # the last number only
            {"model-1.safetensors": {"a": a}, "model-2.safetensors": {"b": a}},
            {"model-1.safetensors": {"a": a}, "model-2.safetensors": {"b": a + 1}},
        )
    ):
        folder = tmp_path / str(n)
        folder.mkdir()
        for name, tensors in files.items():
            save_file(
                {key: value.contiguous() for key, value in tensors.items()}, str(folder / name)
            )
        seen.append(folder_digest(folder))
    assert len(set(seen)) == len(seen)


def test_a_folder_without_weights_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert folder_digest(tmp_path) is None


def test_versions_show_in_the_signature(tiny: Tiny, tmp_path: Path) -> None:
    copy, other = copied(tiny("bert"), tmp_path / "copy"), copied(tiny("bert"), tmp_path / "other")
    with quiet_transformers():
        transformers.BertModel(transformers.AutoConfig.from_pretrained(other)).save_pretrained(
            other
        )
    versions = [encoder_of(str(folder)).version for folder in (tiny("bert"), copy, other)]
    assert versions[0] == versions[1] != versions[2]
    assert "|layers:2|" in BERTScore(str(copy), 2).signature
    assert BERTScore(str(copy), 2).signature.startswith(f"encoder:{copy}@{versions[0]}|")


def test_states_of_copied_folders_mix_and_those_of_other_weights_do_not(
    tiny: Tiny, tmp_path: Path
) -> None:
    """The same weights may lie elsewhere on another machine."""
    copy = BERTScore(str(copied(tiny("bert"), tmp_path / "copy")), 2)
    metric = BERTScore(tiny("bert"), 2)
    metric.update("rain", "rain")
    copy.update("rain", "rain")
    metric.merge_state(copy)
    with quiet_transformers():
        folder = copied(tiny("bert"), tmp_path / "other")
        transformers.BertModel(transformers.AutoConfig.from_pretrained(folder)).save_pretrained(
            folder
        )
    other = BERTScore(str(folder), 2)
    other.update("rain", "rain")
    with pytest.raises(ValueError, match="made in another way"):
        metric.merge_state(other)


def engine_of(*args: Any, **options: Any) -> Any:
    return BERTScore(*args, **options).pipeline.lease.engine


def test_equal_encoders_share_one_engine(tiny: Tiny, tmp_path: Path) -> None:
    """Whatever the layers, and whatever else is asked of it."""
    one = engine_of(tiny("bert"), 2)
    shared: Sequence[dict[str, Any]] = [
        {"score": "recall"},
        {"reduction": "none"},
        {"idf": True},
        {"multi_reference": "mean"},
        {"match_special_tokens": False},
        {"rescale_with_baseline": False},
        {"max_length": POSITIONS + 100},
        {"beta": 2.0},
        {"batch_tokens": 100},
        {"embedding_cache": 0},
    ]
    assert all(engine_of(tiny("bert"), 2, **options) is one for options in shared)
    assert all(engine_of(tiny("bert"), layers) is one for layers in ([2], 1, [0, 3], "all", None))
    assert engine_of(str(Path(tiny("bert")) / ".." / "bert"), 2) is one
    apart: Sequence[dict[str, Any]] = [
        {"max_length": 10},
        {"overflow": "window"},
        {"dtype": "bfloat16"},
        {"compile": True},
    ]
    assert not any(engine_of(tiny("bert"), 2, **options) is one for options in apart)
    assert engine_of(str(copied(tiny("bert"), tmp_path / "copy")), 2) is not one


def test_what_is_asked_of_a_shared_engine_is_of_each_metric(tiny: Tiny, process: Any) -> None:
    first = BERTScore(tiny("bert"), 2, batch_tokens=100, embedding_cache=0)
    second = BERTScore(tiny("bert"), [3, 0], batch_tokens=7, embedding_cache="1MB")
    leases = [metric.pipeline.lease for metric in (first, second)]
    assert leases[0].engine is leases[1].engine
    assert [lease.layers for lease in leases] == [(2,), (3, 0)]
    assert [lease.budget(CPU) for lease in leases] == [100, 7]
    assert [lease.cache_bytes for lease in leases] == [0, 1_000_000]
    assert [lease.layers_to_run() for lease in leases] == [(2,), (0, 3)]
    assert BERTScore(tiny("bert"), 2).pipeline.lease.budget(CPU) == 2_048


def test_custom_encoders_are_shared_by_identity(tiny: Tiny) -> None:
    model, tokenizer = custom_model(tiny("bert")), custom_tokenizer(tiny("bert"))
    encoder = HuggingFaceEncoder(model, tokenizer, 2)
    one = engine_of(encoder)
    assert engine_of(encoder) is one
    assert engine_of(HuggingFaceEncoder(model, tokenizer, 2)) is not one


def test_sharing_changes_no_name(minilm: str) -> None:
    """The alias and the folder are one encoder; each metric still says how it was asked for."""
    folder, alias = BERTScore(minilm, 6), BERTScore("minilm", 6)
    assert folder.pipeline.lease.engine is alias.pipeline.lease.engine
    assert folder.signature.startswith(f"encoder:{minilm}@")
    assert alias.signature.startswith("encoder:sentence-transformers/all-MiniLM-L6-v2@")
