"""Generators: sequence-to-sequence models with the tokenizer that goes with them."""

from __future__ import annotations

import json
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BertConfig,
    BertLMHeadModel,
    BertModel,
    EncoderDecoderModel,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from bertscore_tm.names import find

from .batches import Batches


class Generator(NamedTuple):
    """A model, and what makes its batches."""

    model: PreTrainedModel
    batches: Batches


def pretrained(
    name: str, max_source_tokens: int, max_target_tokens: int, prefix: str = ""
) -> Generator:
    """A trained model of the hub, or from a folder."""
    tokenizer = AutoTokenizer.from_pretrained(name)
    return Generator(
        AutoModelForSeq2SeqLM.from_pretrained(name),
        tokenizer,
        max_source_tokens,
        max_target_tokens,
        prefix=prefix,
    )


def tiny(
    tokenizer: str,
    vocab_size: int,
    max_source_tokens: int,
    max_target_tokens: int,
    d_model: int,
    d_ff: int,
    num_layers: int,
    num_heads: int,
    dropout: float,
    word_vectors: bool,
) -> Generator:
    """A small Pegasus with random weights.

    Args:
        tokenizer: a BERT-like encoder whose frequent words it knows ("minilm" is there offline).
        vocab_size: how many of them.
        max_source_tokens, max_target_tokens: see `Batches`.
        d_model, d_ff, num_layers, num_heads, dropout: as in transformers.
        word_vectors: begin with the encoder's word vectors, reduced to ``d_model`` dimensions.
    """
    words = frequent_words(tokenizer, vocab_size)
    config = PegasusConfig(
        vocab_size=len(words),
        d_model=d_model,
        encoder_ffn_dim=d_ff,
        decoder_ffn_dim=d_ff,
        encoder_layers=num_layers,
        decoder_layers=num_layers,
        encoder_attention_heads=num_heads,
        decoder_attention_heads=num_heads,
        dropout=dropout,
        max_position_embeddings=max(max_source_tokens, 2 * max_target_tokens),
        scale_embedding=True,
        init_std=d_model**-0.5,  # with the scale, words are as large as positions
        forced_eos_token_id=None,
        **_special_tokens(words),
    )
    model = PegasusForConditionalGeneration(config)
    if word_vectors:
        trained = (
            BertModel.from_pretrained(find(tokenizer).location)
            .get_input_embeddings()
            .weight[: len(words)]
        )
        model.get_input_embeddings().weight.data.copy_(
            reduced(trained.detach(), d_model) * config.init_std
        )
    return Generator(model, Batches(words, max_source_tokens, max_target_tokens, adds_start=True))


def reduced(vectors: Tensor, dim: int) -> Tensor:
    """Principal components with a standard deviation of 1: ``[words, width]`` to ``[words, dim]``, ``dim`` at most width."""
    centred = vectors - vectors.mean(0)
    components = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:dim].T
    return components / components.std()


def warm_started(
    encoder: str,
    vocab_size: int,
    max_source_tokens: int,
    max_target_tokens: int,
    encoder_layers: int,
    decoder_layers: int,
    freeze_encoder: bool,
) -> Generator:
    """The lower layers of a trained BERT-like encoder, and a new decoder that starts with its word vectors."""
    words = frequent_words(encoder, vocab_size)
    trained = BertModel.from_pretrained(find(encoder).location, num_hidden_layers=encoder_layers)
    trained.resize_token_embeddings(len(words))
    trained.requires_grad_(not freeze_encoder)
    config = BertConfig(
        **{
            **trained.config.to_dict(),
            "num_hidden_layers": decoder_layers,
            "is_decoder": True,
            "add_cross_attention": True,
        }
    )
    decoder = BertLMHeadModel(config)
    decoder.bert.embeddings.load_state_dict(trained.embeddings.state_dict())
    model = EncoderDecoderModel(encoder=trained, decoder=decoder)
    for name, token in _special_tokens(words).items():
        setattr(model.config, name, token)
        setattr(model.generation_config, name, token)
    return Generator(model, Batches(words, max_source_tokens, max_target_tokens, adds_start=True))


def frequent_words(name: str, vocab_size: int) -> PreTrainedTokenizerBase:
    """The tokenizer of a BERT-like encoder with the first words of its vocabulary, which is ordered by frequency.

    A small model spends most of its time on the words that it could have chosen.
    """
    whole = AutoTokenizer.from_pretrained(find(name).location)
    parts = json.loads(whole.backend_tokenizer.to_str())
    parts["model"]["vocab"] = {
        word: i for word, i in parts["model"]["vocab"].items() if i < vocab_size
    }
    parts["truncation"] = parts["padding"] = None  # of sentence embeddings
    names = ("pad_token", "cls_token", "sep_token", "unk_token", "mask_token")
    special = {token: getattr(whole, token) for token in names}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(parts)), **special
    )


def _special_tokens(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """BERT begins a text with [CLS] and ends it with [SEP]; so does the decoder."""
    return {
        "decoder_start_token_id": tokenizer.cls_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
