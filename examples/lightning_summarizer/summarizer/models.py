"""Generators: sequence-to-sequence models with the tokenizer that goes with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import (
    AutoConfig,
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

from bertscore_tm import HuggingFaceEncoder
from bertscore_tm.loading import hub_answers

from .batches import Batches


class Generator(NamedTuple):
    """A model, in training mode, and what makes its batches."""

    model: PreTrainedModel
    batches: Batches


def pretrained(
    name: str, max_source_tokens: int, max_target_tokens: int, prefix: str = ""
) -> Generator:
    """A trained model of the hub, or from a folder, in float32 (some are saved in half of it).

    Args:
        name: of the model.
        max_source_tokens, max_target_tokens, prefix: see `Batches`; never above what the model
            has positions for.

    Raises:
        OSError: if there is no such model.
        ValueError: if it is no sequence-to-sequence model, or does not say how it begins a text.
    """
    here = {"local_files_only": Path(name).is_dir() or not hub_answers()}
    try:
        model = AutoModelForSeq2SeqLM.from_pretrained(name, **here).float().train()
    except OSError as error:
        reason = (str(error).splitlines() or [""])[0]
        raise OSError(
            f"got name={name}, which cannot be loaded ({reason}); wanted a folder that "
            "save_pretrained wrote, or a model of the hub and a network that reaches it"
        ) from error
    except ValueError as error:  # lists all classes that would do
        if "Unrecognized configuration class" not in str(error):
            raise
        kind = AutoConfig.from_pretrained(name, **here).model_type
        raise ValueError(
            f"got name={name}, a model of the kind {kind!r}; wanted one that goes from sequence to "
            "sequence, such as T5, BART, Marian or Pegasus"
        ) from error
    tokenizer = AutoTokenizer.from_pretrained(name, **here)
    start = model.config.decoder_start_token_id
    if start is None:
        raise ValueError(
            f"got name={name}, whose config.json has no decoder_start_token_id; wanted the token "
            "that the decoder begins with: add it to that file"
        )
    # The model moves the labels to the right itself, behind this token, which they lack.
    adds_start = tokenizer(text_target="a")["input_ids"][0] == start
    longest_source, longest_target = positions(model)
    sizes = min(max_source_tokens, longest_source), min(max_target_tokens, longest_target)
    return Generator(model, Batches(tokenizer, *sizes, prefix=prefix, adds_start=adds_start))


def positions(model: PreTrainedModel) -> tuple[int, int]:
    """The tokens that a source and a target may have; models such as T5 know no limit."""
    config: Any = model.config
    whole = getattr(config, "max_position_embeddings", None)
    longest = []
    for half in ("encoder", "decoder"):
        part = getattr(config, half, None)  # of two models that were put together
        own = getattr(part, "max_position_embeddings", None)
        longest.append(own or getattr(config, f"max_{half}_position_embeddings", whole) or 10**9)
    return longest[0], longest[1]


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
        trained = _bert(tokenizer).get_input_embeddings().weight[: len(words)]
        own: Any = model.get_input_embeddings()
        own.weight.data.copy_(reduced(trained.detach(), d_model) * config.init_std)
    batches = Batches(words, max_source_tokens, max_target_tokens, adds_start=True)
    return Generator(model.train(), batches)


def reduced(vectors: Tensor, dim: int) -> Tensor:
    """Principal components with a standard deviation of 1: ``[words, width]`` to ``[words, dim]``.

    Raises:
        ValueError: if ``dim`` is above the width.
    """
    if dim > vectors.shape[1]:
        raise ValueError(
            f"got d_model={dim} for word vectors of {vectors.shape[1]} dimensions; wanted no more "
            "than these, or word_vectors=false"
        )
    centred = vectors - vectors.mean(0)
    axes: Tensor = torch.linalg.svd(centred, full_matrices=False).Vh[:dim]
    components = centred @ axes.T
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
    """The lower layers of a trained BERT-like encoder, and a new decoder with its word vectors."""
    words = frequent_words(encoder, vocab_size)
    trained = _bert(encoder, encoder_layers)
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
    longest, _ = positions(model)
    sizes = min(max_source_tokens, longest), min(max_target_tokens, longest)
    return Generator(model.train(), Batches(words, *sizes, adds_start=True))


def _bert(name: str, layers: int | None = None) -> Any:
    """The encoder behind a name, or its lower layers.

    Raises:
        ValueError: if it is no BERT, or has fewer layers.
    """
    location = HuggingFaceEncoder(name).location
    config = AutoConfig.from_pretrained(location)
    if config.model_type != "bert":
        raise ValueError(
            f"got {name}, an encoder of the kind {config.model_type!r}; wanted a BERT: minilm, "
            "bert-base-uncased or others of this kind"
        )
    if layers is not None and layers > config.num_hidden_layers:
        raise ValueError(
            f"got encoder_layers={layers} of {name}, which has {config.num_hidden_layers}; wanted "
            "no more than these"
        )
    config.num_hidden_layers = layers or config.num_hidden_layers
    return BertModel.from_pretrained(location, config=config)


def frequent_words(name: str, vocab_size: int) -> PreTrainedTokenizerBase:
    """The tokenizer of a BERT-like encoder with the first words of its vocabulary.

    These are the frequent ones. A small model spends most of its time on the words that it could
    have chosen.

    Raises:
        ValueError: if the special tokens are not among them, or the tokenizer has none.
    """
    whole = AutoTokenizer.from_pretrained(HuggingFaceEncoder(name).location)
    parts = json.loads(whole.backend_tokenizer.to_str())
    names = ("pad_token", "cls_token", "sep_token", "unk_token", "mask_token")
    special = {token: getattr(whole, token) for token in names}
    if parts["model"]["type"] != "WordPiece" or None in special.values():
        raise ValueError(
            f"got {name}, whose tokenizer is not that of a BERT; wanted such as minilm"
        )
    numbers: Any = whole.convert_tokens_to_ids(list(special.values()))
    last = max(numbers)
    if vocab_size <= last:
        raise ValueError(
            f"got vocab_size={vocab_size}; wanted more than {last}, the number of the last special "
            f"token of {name} (some thousands, so that there are words too)"
        )
    vocab = parts["model"]["vocab"]
    parts["model"]["vocab"] = {word: i for word, i in vocab.items() if i < vocab_size}
    parts["truncation"] = parts["padding"] = None  # of sentence embeddings
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(parts)), **special
    )


def _special_tokens(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """BERT begins a text with [CLS] and ends it with [SEP]; so does the decoder."""
    return {
        "decoder_start_token_id": tokenizer.cls_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
