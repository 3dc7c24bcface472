"""Generators: a sequence-to-sequence model, its tokenizer, and the way from rows to batches and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BertConfig,
    BertLMHeadModel,
    BertModel,
    EncoderDecoderModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Config,
    T5ForConditionalGeneration,
)

from bertscore_tm.names import find

from .data.text import Row

_IGNORED = -100  # label of positions without a loss


class Generator:
    """A model and its tokenizer.

    Args:
        model: a sequence-to-sequence model of transformers.
        tokenizer: its tokenizer.
        max_source_tokens: the rest of a source is cut off.
        max_target_tokens: the rest of a target is cut off in training.
        prefix: put before each source; T5 wants "summarize: ".
        adds_start: whether the tokenizer begins a text with the token that the decoder begins with; labels leave it out.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        max_source_tokens: int,
        max_target_tokens: int,
        prefix: str = "",
        adds_start: bool = False,
    ) -> None:
        self.model, self.tokenizer, self.prefix, self.adds_start = model, tokenizer, prefix, adds_start
        self.max_source_tokens, self.max_target_tokens = max_source_tokens, max_target_tokens

    def collate(self, rows: list[Row]) -> dict[str, Any]:
        """A batch: what the model takes, and the texts and ids that the metric takes."""
        # A tokenizer that sees all of a very long text only to cut it costs more than the model: 8 characters a token are enough.
        sources = [self.prefix + row["source"][: 8 * self.max_source_tokens] for row in rows]
        inputs = self._tokens(self.max_source_tokens, text=sources)
        labels = self._tokens(self.max_target_tokens, text_target=[row["targets"][0] for row in rows])
        ids = labels["input_ids"].masked_fill(labels["attention_mask"] == 0, _IGNORED)
        return {
            "input_ids": inputs["input_ids"],  # [rows, source tokens]
            "attention_mask": inputs["attention_mask"],
            "labels": ids[:, 1:] if self.adds_start else ids,  # [rows, target tokens]
            "ids": torch.tensor([row["id"] for row in rows]),
            "sources": [row["source"] for row in rows],
            "targets": [row["targets"] for row in rows],
        }

    def decode(self, tokens: Tensor) -> list[str]:
        """Texts of generated tokens."""
        texts: list[str] = self.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [text.strip() for text in texts]

    def _tokens(self, length: int, **texts: list[str]) -> Mapping[str, Tensor]:
        return self.tokenizer(**texts, padding=True, truncation=True, max_length=length, return_tensors="pt")


def pretrained(name: str, max_source_tokens: int, max_target_tokens: int, prefix: str = "") -> Generator:
    """A trained model of the hub, or from a folder."""
    tokenizer = AutoTokenizer.from_pretrained(name)
    return Generator(
        AutoModelForSeq2SeqLM.from_pretrained(name), tokenizer, max_source_tokens, max_target_tokens, prefix=prefix
    )


def tiny(
    tokenizer: str,
    max_source_tokens: int,
    max_target_tokens: int,
    d_model: int,
    d_ff: int,
    num_layers: int,
    num_heads: int,
    dropout: float,
) -> Generator:
    """A small T5 with random weights and the tokenizer of a BERT-like encoder ("minilm" is there offline)."""
    words = AutoTokenizer.from_pretrained(find(tokenizer).location)
    config = T5Config(
        vocab_size=len(words),
        d_model=d_model,
        d_kv=d_model // num_heads,
        d_ff=d_ff,
        num_layers=num_layers,
        num_heads=num_heads,
        dropout_rate=dropout,
        feed_forward_proj="gated-gelu",
        **_special_tokens(words),
    )
    return Generator(T5ForConditionalGeneration(config), words, max_source_tokens, max_target_tokens, adds_start=True)


def warm_started(
    encoder: str,
    max_source_tokens: int,
    max_target_tokens: int,
    encoder_layers: int,
    decoder_layers: int,
    freeze_encoder: bool,
) -> Generator:
    """The lower layers of a trained BERT-like encoder, and a new decoder that starts with its word vectors."""
    words = AutoTokenizer.from_pretrained(find(encoder).location)
    trained = BertModel.from_pretrained(find(encoder).location, num_hidden_layers=encoder_layers)
    trained.requires_grad_(not freeze_encoder)
    config = BertConfig(
        **{**trained.config.to_dict(), "num_hidden_layers": decoder_layers, "is_decoder": True, "add_cross_attention": True}
    )
    decoder = BertLMHeadModel(config)
    decoder.bert.embeddings.load_state_dict(trained.embeddings.state_dict())
    model = EncoderDecoderModel(encoder=trained, decoder=decoder)
    for name, token in _special_tokens(words).items():
        setattr(model.config, name, token)
        setattr(model.generation_config, name, token)
    return Generator(model, words, max_source_tokens, max_target_tokens, adds_start=True)


def _special_tokens(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """BERT begins a text with [CLS] and ends it with [SEP]; so does the decoder."""
    return {
        "decoder_start_token_id": tokenizer.cls_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
