"""From rows to batches and from tokens to texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from .data.text import Row

_IGNORED = -100  # label of positions without a loss


class Batches:
    """A tokenizer and how a generator wants its texts.

    Args:
        tokenizer: that of the model.
        max_source_tokens: the rest of a source is cut off.
        max_target_tokens: the rest of a target is cut off in training.
        prefix: put before each source; T5 wants "summarize: ".
        adds_start: whether the tokenizer begins a text with the token that the decoder begins
            with; labels leave it out.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        max_source_tokens: int,
        max_target_tokens: int,
        prefix: str = "",
        adds_start: bool = False,
    ) -> None:
        self.tokenizer, self.prefix, self.adds_start = tokenizer, prefix, adds_start
        self.max_source_tokens, self.max_target_tokens = max_source_tokens, max_target_tokens

    def collate(self, rows: list[Row]) -> dict[str, Any]:
        """A batch: what the model takes, and the texts and ids that the metric takes."""
        # A tokenizer that sees all of a very long text only to cut it costs more than the model:
        # 8 characters a token are enough.
        sources = [self.prefix + row["source"][: 8 * self.max_source_tokens] for row in rows]
        inputs = self._tokens(self.max_source_tokens, text=sources)
        labels = self._tokens(
            self.max_target_tokens, text_target=[row["targets"][0] for row in rows]
        )
        ids = labels["input_ids"].masked_fill(labels["attention_mask"] == 0, _IGNORED)
        return {
            "input_ids": inputs["input_ids"],  # [rows, source tokens]
            "attention_mask": inputs["attention_mask"],
            "labels": ids[:, 1:].contiguous() if self.adds_start else ids,  # [rows, target tokens]
            "ids": torch.tensor([row["id"] for row in rows]),
            "sources": [row["source"] for row in rows],
            "targets": [row["targets"] for row in rows],
        }

    def decode(self, tokens: Tensor) -> list[str]:
        """Texts of generated tokens."""
        texts: list[str] = self.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [text.strip() for text in texts]

    def _tokens(self, length: int, **texts: list[str]) -> Mapping[str, Tensor]:
        tokens: Mapping[str, Tensor] = self.tokenizer(
            **texts, padding=True, truncation=True, max_length=length, return_tensors="pt"
        )
        return tokens
