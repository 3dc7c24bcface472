"""Texts through an encoder: batches of little padding, and each text its own vectors back.

The passes of all texts, longest first, as many at a time as a budget of padded tokens allows.
Results do not depend on it beyond rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from .encoder import Encoder, Tokens, Window
from .errors import InvalidTypeError, InvalidValueError

Pass: TypeAlias = tuple[int, int, Window]  # key of the text, number of the window, the window


def tokenize_texts(encoder: Encoder, texts: Sequence[str]) -> list[Tokens]:
    """The tokens of texts, checked: the encoder may be somebody's own.

    Raises:
        InvalidValueError: if the tokens do not fit together.
    """
    tokens = encoder.tokenize(texts) if texts else []
    said = f"encoder {encoder.name!r} gave"
    if len(tokens) != len(texts):
        raise InvalidValueError(
            f"{said} tokens of {len(tokens)} texts for {len(texts)}; wanted one for each"
        )
    for text in tokens:
        if len(text.ids) != len(text.token_mask):
            raise InvalidValueError(
                f"{said} {len(text.ids)} ids and a token mask of {len(text.token_mask)} for a "
                "text; wanted equally many"
            )
        if len(text.ids) and not 0 <= min(text.ids) <= max(text.ids) < 2**31:
            raise InvalidValueError(f"{said} a token id outside of 0 to 2**31 - 1; wanted others")
    return tokens


def cut_batches(passes: Sequence[Pass], budget: int) -> Iterator[list[Pass]]:
    """Cut passes where one more would exceed the budget, or padding cost more than another batch.

    Measured with MiniLM on a CPU: one batch more costs about as much as 64 tokens of padding, a
    32nd of the budget.
    """
    batch: list[Pass] = []
    padding = 0
    for item in sorted(passes, key=lambda item: -len(item[2].ids)):
        longest = len(batch[0][2].ids) if batch else 0
        padding += max(0, longest - len(item[2].ids))
        if batch and ((len(batch) + 1) * longest > budget or padding > budget // 32):
            yield batch
            batch, padding = [], 0
        batch.append(item)
    if batch:
        yield batch


def join_windows(
    texts: Mapping[int, object], parts: Mapping[tuple[int, int], Tensor]
) -> dict[int, Tensor]:
    """The vectors of each text from those of its windows, ``[layers, tokens, dim]``."""
    of_text: dict[int, list[Tensor]] = {key: [] for key in texts}
    for (key, _), part in sorted(parts.items()):
        of_text[key].append(part)
    return {key: p[0] if len(p) == 1 else torch.cat(p, 1) for key, p in of_text.items()}


def encode_batch(
    encoder: Encoder, ids: Sequence[Sequence[int]], layers: tuple[int, ...], device: torch.device
) -> Iterator[Tensor]:
    """One pass: the hidden states of each row without its padding, ``[layers, tokens, dim]``.

    Raises:
        InvalidTypeError: if the encoder gives something else than a tensor.
        InvalidValueError: if it has another shape than it should.
    """
    lengths = [len(row) for row in ids]
    cpu = torch.device("cpu")  # whatever the default device of the process is
    column = torch.arange(max(lengths), device=cpu)
    mask = column < torch.tensor(lengths, device=cpu)[:, None]
    padded = torch.zeros(mask.shape, dtype=torch.int64, device=cpu)
    padded[mask] = torch.tensor([i for row in ids for i in row], dtype=torch.int64, device=cpu)
    hidden = encoder.hidden_states(_sent(padded, device), _sent(mask.long(), device), layers)
    if not isinstance(hidden, Tensor):
        raise InvalidTypeError(
            f"encoder {encoder.name!r} gave {type(hidden).__name__} as hidden states; wanted a "
            "tensor"
        )
    shape = (len(layers), *mask.shape)
    if hidden.ndim != 4 or not hidden.shape[3] or hidden.shape[:3] != shape:
        raise InvalidValueError(
            f"encoder {encoder.name!r} gave hidden states of shape {list(hidden.shape)}; wanted "
            f"[{shape[0]}, {shape[1]}, {shape[2]}, dim]: layers, texts, longest text"
        )
    return (hidden[:, row, :length] for row, length in enumerate(lengths))


def moved_together(parts: Mapping[int, Tensor], device: torch.device) -> dict[int, Tensor]:
    """Bring vectors to a device, all in one transfer."""
    if all(part.device.type == device.type for part in parts.values()):
        return dict(parts)
    together = torch.cat(list(parts.values()), 1).to(device)
    return dict(zip(parts, together.split([part.shape[1] for part in parts.values()], 1)))


def _sent(tensor: Tensor, device: torch.device) -> Tensor:
    """Bring a tensor to a device without waiting for what that is doing."""
    pinned = tensor.pin_memory() if device.type == "cuda" else tensor
    return pinned.to(device, non_blocking=True)
