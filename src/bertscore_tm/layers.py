"""Which hidden states there are, and which are wanted."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

from torch import nn

from .checks import spelled
from .errors import InvalidTypeError, InvalidValueError
from .halves import text_config

# What configurations call the number of layers.
DEPTHS = ("num_hidden_layers", "num_layers", "n_layers", "n_layer")


def choose_layers(
    num_layers: SupportsIndex | Sequence[int] | str | None,
    depth: int,
    default: int | None,
    name: str,
) -> tuple[int, ...]:
    """Turn the argument ``num_layers`` into hidden states.

    Args:
        num_layers: an integer or what has an ``__index__``, several, "all", or None.
        depth: the highest hidden state.
        default: the tuned layer, or None: two thirds of the depth, rounded.
        name: what the message calls the encoder.

    Raises:
        InvalidTypeError: if it is something else.
        InvalidValueError: if a layer does not exist or is named twice; the message names the range.
    """
    if num_layers is None:
        return (min(depth, default) if default is not None else round(depth * 2 / 3),)
    if isinstance(num_layers, str):
        if num_layers != "all":
            raise InvalidValueError(
                f"got {spelled('num_layers', num_layers)}; wanted an integer, "
                "several, 'all' or None"
            )
        return tuple(range(depth + 1))
    listed: Any = (
        num_layers.tolist() if hasattr(num_layers, "tolist") else num_layers
    )  # of arrays and tensors
    listed = (
        list(listed) if isinstance(listed, Iterable) and not isinstance(listed, bytes) else [listed]
    )
    try:
        if any(isinstance(layer, bool) for layer in listed):
            raise TypeError
        layers = tuple(map(operator.index, listed))
    except TypeError:
        raise InvalidTypeError(
            f"got {spelled('num_layers', num_layers)}; wanted an integer, several, 'all' or None"
        ) from None
    if not layers or len(set(layers)) < len(layers):
        raise InvalidValueError(
            f"got {spelled('num_layers', num_layers)}; wanted at least one "
            "layer, and each only once"
        )
    for layer in layers:
        if not 0 <= layer <= depth:
            raise InvalidValueError(
                f"got layer {layer}; encoder {name!r} has hidden states 0 (the "
                f"embedding output) to {depth}"
            )
    return layers


def config_depth(config: Any, name: str, model: nn.Module | None = None) -> int:
    """The highest hidden state, as a configuration says; of an encoder-decoder that of its encoder.

    Args:
        config: the configuration; of a nested one its encoder or text half counts.
        name: what the message calls the encoder.
        model: where to count the layers if the configuration does not say.

    Raises:
        InvalidValueError: if nothing says.
    """
    config = text_config(config)
    wanted = (
        ("encoder_layers", "num_encoder_layers")
        if getattr(config, "is_encoder_decoder", False)
        else ()
    )
    for attribute in (*wanted, *DEPTHS):
        depth = getattr(config, attribute, None)
        if isinstance(depth, int) and not isinstance(depth, bool):
            return depth
    lists = [] if model is None else [m for m in model.modules() if isinstance(m, nn.ModuleList)]
    if lists:
        return max(map(len, lists))
    raise InvalidValueError(
        f"the configuration of encoder {name!r} does not say how many layers "
        "it has (num_hidden_layers)"
    )
