"""Tiny random sequence-to-sequence models on disk, each with a tokenizer of its family."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import sentencepiece
import transformers as tf

from tiny import KINDS, TEXT, quiet_transformers

POSITIONS = 64


def save(kind: str, folder: Path) -> Path:
    """Write "t5", "bart", "marian" or "bert" below a folder; what is there is kept."""
    path = folder / kind
    if not path.exists():
        with quiet_transformers():
            tokenizer = _tokenizer(kind, folder)
            model = _MODELS[kind](tokenizer)
            model.save_pretrained(path)
            tokenizer.save_pretrained(path)
    return path


def _tokenizer(kind: str, folder: Path) -> Any:
    if kind == "marian":
        return _marian_tokenizer(folder / "marian-pieces")
    return KINDS[kind].tokenizer()


def _t5(tokenizer: Any) -> Any:
    config = tf.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    return tf.T5ForConditionalGeneration(config)


def _sizes(tokenizer: Any) -> dict[str, Any]:
    halves = ("encoder", "decoder")
    return {
        "vocab_size": len(tokenizer),
        "d_model": 32,
        "max_position_embeddings": POSITIONS,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        **{f"{half}_layers": 2 for half in halves},
        **{f"{half}_attention_heads": 2 for half in halves},
        **{f"{half}_ffn_dim": 64 for half in halves},
    }


def _bart(tokenizer: Any) -> Any:
    end = tokenizer.eos_token_id
    more = {"bos_token_id": tokenizer.bos_token_id, "decoder_start_token_id": end}
    config = tf.BartConfig(**_sizes(tokenizer), **more, forced_eos_token_id=end)
    return tf.BartForConditionalGeneration(config).half()  # some are saved so


def _marian(tokenizer: Any) -> Any:
    more = {"decoder_start_token_id": tokenizer.pad_token_id, "forced_eos_token_id": None}
    return tf.MarianMTModel(tf.MarianConfig(**_sizes(tokenizer), **more))


def _bert(tokenizer: Any) -> Any:
    size = {"vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 1}
    return tf.BertModel(tf.BertConfig(**size, num_attention_heads=2, intermediate_size=64))


_MODELS = {"t5": _t5, "bart": _bart, "marian": _marian, "bert": _bert}


def _marian_tokenizer(folder: Path) -> Any:
    folder.mkdir(parents=True)
    pieces = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=pieces, vocab_size=110, minloglevel=2
    )
    reader = sentencepiece.SentencePieceProcessor(model_proto=pieces.getvalue())
    words = [reader.id_to_piece(i) for i in range(len(reader))]
    words = ["</s>", "<unk>", *(word for word in words if word not in ("</s>", "<unk>", "<s>"))]
    (folder / "vocab.json").write_text(json.dumps({w: i for i, w in enumerate([*words, "<pad>"])}))
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(pieces.getvalue())
    return tf.MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
        source_lang="de",
        target_lang="en",
    )
