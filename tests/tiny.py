"""Tiny random encoders on disk, one a family, each with a tokenizer of its family trained here:
nothing is downloaded.

`build(kind, folder)` writes one. Weights are large (std 0.4), norms and biases random too: a wrong
layer, mask or position, or one norm more or less, moves a score far more than a tolerance.
"""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers
import torch
import transformers as tf
from tokenizers import models, pre_tokenizers, processors, trainers
from transformers.utils import logging

LAYERS = 3
POSITIONS = 64  # words and markers that fit, where a kind has a limit at all

TEXT = [
    "The quick brown fox jumps over the lazy dog.",
    "Pack my box with five dozen liquor jugs!",
    "the cat sat on the mat, and the dog ran home",
    "rain fell on the old town all night long",
    "two cats sleep quietly on the green sofa",
    "trains leave the station at noon, don't they?",
    "hello world, this is a small test of a small encoder",
    "A tall man walked slowly to the market near the sea.",
    "she bought bread, milk and 12 eggs for 3 people",
    "the lamp is broken; the door will not open today",
    "children play in the garden behind the house",
    "nobody knows why the river runs so fast in spring",
]

Tokenizer = tf.PreTrainedTokenizerBase
OLD = int(tf.__version__.split(".")[0]) < 5  # transformers 4


# ---------------------------------------------------------------- tokenizers


@cache
def _trained(style: str, specials: tuple[str, ...]) -> dict[str, Any]:
    """The "model" entry of a tokenizer.json, trained on `TEXT` with `specials` as its first ids:
    the same in every process."""
    options: dict[str, Any] = {"show_progress": False, "special_tokens": list(specials)}
    unknown = next((s for s in specials if "unk" in s.lower()), None)
    if style == "wordpiece":
        tok = tokenizers.Tokenizer(models.WordPiece(unk_token=unknown))
        tok.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
        tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        # The trainer numbers letters within words as a hash table has them, and breaks ties by
        # number: so they are given.
        options["special_tokens"] += [
            f"##{letter}" for letter in sorted({*"".join(TEXT).lower()} - {" "})
        ]
        trainer = trainers.WordPieceTrainer(vocab_size=160, **options)
    elif style == "bytes":
        tok = tokenizers.Tokenizer(models.BPE())
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=380, initial_alphabet=alphabet, **options)
    else:  # "unigram", as SentencePiece makes them
        tok = tokenizers.Tokenizer(models.Unigram())
        tok.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=160, unk_token=unknown, **options)
    tok.train_from_iterator(TEXT, trainer)
    made: dict[str, Any] = json.loads(tok.to_str())["model"]
    if (
        style == "unigram"
    ):  # the scores, and so the order, differ from run to run: frequencies instead, no two alike
        text, first = "".join(f"▁{line}" for line in TEXT).replace(" ", "▁"), len(specials)
        pieces = enumerate(sorted(piece for piece, _ in made["vocab"][first:]))
        made["vocab"][first:] = [
            (piece, round(math.log(text.count(piece) / len(text)) - i / 997, 6))
            for i, piece in pieces
        ]
    return made


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder that goes with the process."""
    return tempfile.TemporaryDirectory(prefix="tiny-")


def _of_class(
    name: str, vocabulary: dict[str, Any], files: dict[str, bytes], **options: Any
) -> Tokenizer:
    """A tokenizer of the class `name`.

    transformers 5 has one class, which takes the vocabulary. transformers 4 has a slow one, which
    takes files, and a fast one,
    which it makes of the slow one: saved, they leave what either loads, so that bert-score runs
        with the slow one, as it does.
    """
    if not OLD:
        return getattr(tf, name)(**vocabulary, **options)
    folder = Path(tempfile.mkdtemp(dir=_scratch().name))
    for argument, content in files.items():
        (folder / argument).write_bytes(content)
    return getattr(tf, f"{name}Fast")(
        **{argument: str(folder / argument) for argument in files}, **options
    )


def _wordpiece(name: str, *specials: str) -> Tokenizer:
    vocab = dict(_trained("wordpiece", specials)["vocab"])
    lines = "".join(f"{piece}\n" for piece in sorted(vocab, key=vocab.__getitem__))
    return _of_class(name, {"vocab": vocab}, {"vocab_file": lines.encode()})


def _bytes(name: str, *specials: str, **options: Any) -> Tokenizer:
    made = _trained("bytes", specials)
    vocab, merges = dict(made["vocab"]), [tuple(pair) for pair in made["merges"]]
    lines = "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in merges)
    files = {"vocab_file": json.dumps(vocab).encode(), "merges_file": lines.encode()}
    return _of_class(
        name, {"vocab": vocab, "merges": merges}, files, **{"add_prefix_space": True, **options}
    )


def _unigram(name: str, *specials: str, head: tuple[str, ...] = (), **options: Any) -> Tokenizer:
    """`head`: what a file of SentencePiece starts with, where the class makes `specials` of
    something else."""
    vocab = [(piece, score) for piece, score in _trained("unigram", specials)["vocab"]]
    file = [(piece, 0.0) for piece in head or specials] + vocab[len(specials) :]
    return _of_class(
        name,
        {"vocab": vocab},
        {"vocab_file": _sentencepiece(file, len(head or specials))},
        **options,
    )


def _sentencepiece(vocab: list[tuple[str, float]], specials: int) -> bytes:
    """A file of SentencePiece that holds `vocab` and changes no character; its first `specials`
    entries are no text."""
    from sentencepiece import sentencepiece_model_pb2 as proto

    model = proto.ModelProto()
    kinds = proto.ModelProto.SentencePiece
    for i, (piece, score) in enumerate(vocab):
        kind = (
            kinds.NORMAL
            if i >= specials
            else kinds.UNKNOWN
            if "unk" in piece.lower()
            else kinds.CONTROL
        )
        model.pieces.add(piece=piece, score=score, type=kind)
        if kind == kinds.UNKNOWN:
            model.trainer_spec.unk_id, model.trainer_spec.unk_piece = i, piece
    model.trainer_spec.model_type = proto.TrainerSpec.UNIGRAM
    model.normalizer_spec.name = "identity"
    content: bytes = model.SerializeToString()
    return content


def _generic(
    style: str, template: str, names: dict[str, str], specials: tuple[str, ...], **options: Any
) -> Tokenizer:
    """A tokenizer that belongs to no family: a tokenizer.json and the names of its special
    tokens."""
    made = _trained(style, specials)
    if style == "wordpiece":
        tok = tokenizers.Tokenizer(
            models.WordPiece(vocab=made["vocab"], unk_token=names["unk_token"])
        )
        tok.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
        tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        tok = tokenizers.Tokenizer(
            models.BPE(vocab=made["vocab"], merges=[tuple(m) for m in made["merges"]])
        )
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(
            add_prefix_space=options.setdefault("add_prefix_space", True)
        )
    tok.add_special_tokens(list(specials))
    marks = [(mark, specials.index(mark)) for mark in template.split() if mark != "$A"]
    tok.post_processor = processors.TemplateProcessing(single=template, special_tokens=marks)
    return tf.PreTrainedTokenizerFast(tokenizer_object=tok, **names, **options)


BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
FAIRSEQ_NAMES = dict(
    zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), FAIRSEQ, strict=True)
)
SPM_HEAD = ("<unk>", "<s>", "</s>")  # of the files of the families that number as fairseq does
MARKED = {**FAIRSEQ_NAMES, "cls_token": "<s>", "sep_token": "</s>"}


# ---------------------------------------------------------------- models


def _ids(tok: Tokenizer) -> dict[str, Any]:
    return {f"{name}_token_id": getattr(tok, f"{name}_token_id") for name in ("pad", "bos", "eos")}


def _sizes(tok: Tokenizer, **more: Any) -> dict[str, Any]:
    """The names that most configurations share."""
    sizes = {
        "vocab_size": len(tok),
        "hidden_size": 32,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
    }
    return {
        **sizes,
        "intermediate_size": 64,
        "max_position_embeddings": POSITIONS,
        **_ids(tok),
        **more,
    }


def _seq2seq(tok: Tokenizer) -> dict[str, Any]:
    encoder = {"encoder_layers": LAYERS, "encoder_attention_heads": 2, "encoder_ffn_dim": 64}
    decoder = {"decoder_layers": 1, "decoder_attention_heads": 2, "decoder_ffn_dim": 64}
    sizes = {"vocab_size": len(tok), "d_model": 32, "max_position_embeddings": POSITIONS}
    return {**sizes, **encoder, **decoder, **_ids(tok)}


def _randomize(model: torch.nn.Module) -> None:
    """Every weight random: matrices around 0, norm scales around 1, biases small."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.4, generator=generator)
            elif name.endswith("bias"):
                weight.normal_(0, 0.1, generator=generator)
            else:
                weight.uniform_(0.5, 1.5, generator=generator)


class Kind(NamedTuple):
    """How one kind is made; `limit` is the number of tokens that fit: by its position table, else
    by its tokenizer."""

    tokenizer: Callable[[], Tokenizer]
    model: Callable[[Tokenizer], torch.nn.Module]
    limit: int | None = POSITIONS
    settings: dict[str, Any] = {}  # changed entries of tokenizer_config.json, None removes one  # noqa: RUF012
    half: bool = False  # weights saved in float16


def _bert(tok: Tokenizer, **more: Any) -> torch.nn.Module:
    return tf.BertModel(tf.BertConfig(**_sizes(tok, **more)))


def _roberta(tok: Tokenizer) -> torch.nn.Module:
    return tf.RobertaModel(tf.RobertaConfig(**_sizes(tok, max_position_embeddings=POSITIONS + 2)))


def _distilbert(tok: Tokenizer) -> torch.nn.Module:
    size = {"vocab_size": len(tok), "dim": 32, "n_layers": LAYERS, "n_heads": 2, "hidden_dim": 64}
    size = {**size, "max_position_embeddings": POSITIONS, "pad_token_id": tok.pad_token_id}
    return tf.DistilBertModel(tf.DistilBertConfig(**size))


def _deberta(tok: Tokenizer, **more: Any) -> torch.nn.Module:
    shape = {
        "relative_attention": True,
        "position_buckets": 8,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
    }
    kind = {"pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "type_vocab_size": 0}
    return tf.DebertaV2Model(tf.DebertaV2Config(**_sizes(tok, **shape, **kind, **more)))


def _xlnet(tok: Tokenizer) -> torch.nn.Module:
    size = {"vocab_size": len(tok), "d_model": 32, "n_layer": LAYERS, "n_head": 2, "d_inner": 64}
    return tf.XLNetModel(tf.XLNetConfig(**size, **_ids(tok)))


def _t5(tok: Tokenizer) -> torch.nn.Module:
    size = {
        "vocab_size": len(tok),
        "d_model": 32,
        "d_kv": 16,
        "d_ff": 64,
        "num_layers": LAYERS,
        "num_heads": 2,
    }
    return tf.T5Model(
        tf.T5Config(**size, pad_token_id=tok.pad_token_id, eos_token_id=tok.eos_token_id)
    )


def _gpt2(tok: Tokenizer) -> torch.nn.Module:
    size = {
        "vocab_size": len(tok),
        "n_embd": 32,
        "n_layer": LAYERS,
        "n_head": 2,
        "n_positions": POSITIONS,
    }
    return tf.GPT2Model(
        tf.GPT2Config(**size, bos_token_id=tok.bos_token_id, eos_token_id=tok.eos_token_id)
    )


def _modernbert(tok: Tokenizer) -> torch.nn.Module:
    ids = {"cls_token_id": tok.cls_token_id, "sep_token_id": tok.sep_token_id}
    local = {
        "local_attention": 8,
        "global_attn_every_n_layers": 3,
    }  # local layers see 4 tokens each way
    return tf.ModernBertModel(tf.ModernBertConfig(**_sizes(tok, **ids, **local)))


def _xlm(tok: Tokenizer) -> torch.nn.Module:
    size = {"vocab_size": len(tok), "emb_dim": 32, "n_layers": LAYERS, "n_heads": 2}
    ids = {
        "pad_index": tok.pad_token_id,
        "pad_token_id": tok.pad_token_id,
        "bos_index": 0,
        "eos_index": 2,
    }
    return tf.XLMModel(tf.XLMConfig(**size, **ids, unk_index=3, max_position_embeddings=POSITIONS))


def _bert_tokenizer() -> Tokenizer:
    return _wordpiece("BertTokenizer", *BERT)


def _gpt2_tokenizer(**options: Any) -> Tokenizer:
    return _bytes("GPT2Tokenizer", "<|endoftext|>", **options)


def _deberta_tokenizer() -> Tokenizer:
    return _unigram("DebertaV2Tokenizer", *BERT)


def _roberta_tokenizer(**options: Any) -> Tokenizer:
    return _bytes("RobertaTokenizer", *FAIRSEQ, **options)


def _camembert_tokenizer() -> Tokenizer:
    unused = ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED")
    return _unigram("CamembertTokenizer", *unused, "<s>", "</s>", "<mask>", head=SPM_HEAD)


def _xlnet_tokenizer() -> Tokenizer:
    specials = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>")
    return _unigram("XLNetTokenizer", *specials)


def _xlm_tokenizer() -> Tokenizer:  # the markers of the slow XLMTokenizer, which wants sacremoses
    names = {**MARKED, "cls_token": "</s>"}
    return _generic("wordpiece", "<s> $A </s>", names, FAIRSEQ)


KINDS: dict[str, Kind] = {
    "bert": Kind(_bert_tokenizer, _bert),
    "roberta": Kind(_roberta_tokenizer, _roberta),
    "xlm-roberta": Kind(
        lambda: _unigram("XLMRobertaTokenizer", *FAIRSEQ, head=SPM_HEAD),
        lambda tok: tf.XLMRobertaModel(
            tf.XLMRobertaConfig(**_sizes(tok, max_position_embeddings=POSITIONS + 2))
        ),
    ),
    "distilbert": Kind(lambda: _wordpiece("DistilBertTokenizer", *BERT), _distilbert),
    "albert": Kind(
        lambda: _unigram("AlbertTokenizer", "<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"),
        lambda tok: tf.AlbertModel(tf.AlbertConfig(**_sizes(tok, embedding_size=16))),
    ),
    "electra": Kind(
        _bert_tokenizer,
        lambda tok: tf.ElectraModel(tf.ElectraConfig(**_sizes(tok, embedding_size=16))),
    ),
    "mpnet": Kind(
        lambda: _wordpiece("MPNetTokenizer", "<s>", "<pad>", "</s>", "[UNK]", "<mask>"),
        lambda tok: tf.MPNetModel(
            tf.MPNetConfig(**_sizes(tok, max_position_embeddings=POSITIONS + 2))
        ),
    ),
    "deberta-v2": Kind(_deberta_tokenizer, _deberta),
    "camembert": Kind(
        _camembert_tokenizer,
        lambda tok: tf.CamembertModel(
            tf.CamembertConfig(**_sizes(tok, max_position_embeddings=POSITIONS + 2))
        ),
    ),
    "xlnet": Kind(_xlnet_tokenizer, _xlnet, limit=128),
    "t5": Kind(
        lambda: _unigram(
            "T5Tokenizer", "<pad>", "</s>", "<unk>", extra_ids=4, add_prefix_space=True
        ),
        _t5,
        limit=128,
    ),
    "bart": Kind(
        lambda: _bytes("BartTokenizer", *FAIRSEQ),
        lambda tok: tf.BartModel(tf.BartConfig(**_seq2seq(tok))),
    ),
    "mbart": Kind(
        lambda: _unigram("MBartTokenizer", *FAIRSEQ, head=SPM_HEAD, src_lang="en_XX"),
        lambda tok: tf.MBartModel(tf.MBartConfig(**_seq2seq(tok))),
    ),
    "gpt2": Kind(_gpt2_tokenizer, _gpt2),
    "modernbert": Kind(lambda: _generic("bytes", "<s> $A </s>", MARKED, FAIRSEQ), _modernbert),
    "xlm": Kind(_xlm_tokenizer, _xlm),
}
"""One kind a family. Byte-level tokenizers are saved with a prefix space."""

if not hasattr(tf, "ModernBertModel"):  # before 4.48
    del KINDS["modernbert"]
FAMILIES = tuple(KINDS)

KINDS |= {
    "bert-left-padding": Kind(_bert_tokenizer, _bert, settings={"padding_side": "left"}),
    "bert-no-limit": Kind(_bert_tokenizer, _bert, settings={"model_max_length": None}),
    "bert-no-markers": Kind(
        lambda: _generic("wordpiece", "$A", {"unk_token": "[UNK]", "pad_token": "[PAD]"}, BERT),
        _bert,
    ),
    "bert-no-pad": Kind(
        lambda: _generic(
            "wordpiece",
            "[CLS] $A [SEP]",
            {f"{n}_token": f"[{n.upper()}]" for n in ("unk", "cls", "sep")},
            BERT,
        ),
        _bert,
    ),
    "bert-dropout": Kind(
        _bert_tokenizer,
        lambda tok: _bert(tok, hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5),
    ),
    "bert-half": Kind(_bert_tokenizer, _bert, half=True),
    "deberta-v2-conv": Kind(_deberta_tokenizer, lambda tok: _deberta(tok, conv_kernel_size=3)),
    "roberta-no-prefix": Kind(lambda: _roberta_tokenizer(add_prefix_space=False), _roberta),
    "roberta-generic-no-prefix": Kind(
        lambda: _generic("bytes", "<s> $A </s>", MARKED, FAIRSEQ, add_prefix_space=False), _roberta
    ),
    "roberta-no-limit": Kind(_roberta_tokenizer, _roberta, settings={"model_max_length": None}),
    "gpt2-no-prefix": Kind(lambda: _gpt2_tokenizer(add_prefix_space=False), _gpt2),
    "t5-bytes": Kind(
        lambda: tf.ByT5Tokenizer(extra_ids=0), _t5, limit=None
    ),  # a tokenizer in pure Python
}
"""And awkward ones."""

SPACED = {
    "roberta-no-prefix": "roberta",
    "roberta-generic-no-prefix": "roberta",
    "gpt2-no-prefix": "gpt2",
}
"""Kinds saved without a prefix space, and the kind with the same weights and vocabulary that has
it."""


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No bars and no messages of transformers within, nor PyTorch's on what transformers 4 uses of
    it."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", r"`torch\.jit\.script` is deprecated", DeprecationWarning
            )
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def build(kind: str, folder: Path) -> Path:
    """Write `kind` below `folder` and return its path; what is there already is kept."""
    path = folder / kind
    if path.exists():
        return path
    made = KINDS[kind]
    with quiet_transformers():
        tokenizer = made.tokenizer()
        tokenizer.model_max_length = made.limit or 10**30
        model = made.model(tokenizer)
        _randomize(model)
        (model.half() if made.half else model).save_pretrained(path)
        tokenizer.save_pretrained(path)
    settings = path / "tokenizer_config.json"
    entries = {**json.loads(settings.read_text()), **made.settings}
    settings.write_text(
        json.dumps({name: value for name, value in entries.items() if value is not None})
    )
    return path
