"""The half that reads text: of an encoder-decoder, of a model of text and pictures; and its places.

transformers nests configurations: a T5Gemma or a bert2bert keeps that of its encoder inside, a CLIP
that of its text half.
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn

# What a configuration calls the configuration of the part that reads text, and a model that part.
_CONFIGS = ("encoder", "text_config", "text_encoder")
_PARTS = ("text_model", "language_model", "text_encoder")
# What models of transformers call a table of positions.
_TABLES = re.compile(
    r"(wpe|wpos|(absolute_)?pos(ition|itions|itional)?_embed(ding|dings)?|embed_positions"
    r"|positions_embed)$"
)


def text_config(config: Any) -> Any:
    """The configuration of what reads text; of one that is not nested itself."""
    for name in _CONFIGS:
        part = getattr(config, name, None)
        if hasattr(part, "to_dict"):
            return text_config(part)
    return config


def encoder_half(model: Any) -> Any:
    """The encoder of an encoder-decoder, the text half of what also sees or hears, or all of it."""
    # T5 may be saved as encoder only, and load as both
    both = hasattr(model, "encoder") and hasattr(model, "decoder")
    paired = both or getattr(model.config, "is_encoder_decoder", False)
    # An encoder may share the configuration of its pair, and is then half already.
    if paired and hasattr(model, "get_encoder"):
        half = model.get_encoder()
        return half if half is model or not hasattr(half, "config") else encoder_half(half)
    if text_config(model.config) is not model.config:
        for holder in (model, getattr(model, "base_model", model)):
            for name in _PARTS:
                part = getattr(holder, name, None)
                if isinstance(part, nn.Module) and hasattr(part, "config"):
                    return encoder_half(part)
    return model


def table_of_positions(model: nn.Module) -> int | None:
    """Tokens that the tables of positions in a model have places for; None: there are none.

    A table with a padding place is counted from the place behind it, as RoBERTa's is.
    """
    limits = []
    for name, module in model.named_modules():
        if _TABLES.search(name) and isinstance(module, nn.Embedding):
            before = getattr(module, "offset", 0)
            if module.padding_idx is not None:
                before = module.padding_idx + 1
            limits.append(module.num_embeddings - before)
    return min(limits, default=None)


def device_of(model: nn.Module) -> torch.device:
    """Where a model is; of one without numbers the CPU."""
    for tensors in (model.parameters(), model.buffers()):
        for tensor in tensors:
            return tensor.device
    return torch.device("cpu")
