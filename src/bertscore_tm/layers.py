"""Which hidden states there are, which are wanted, and how to read them without those above."""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from .checks import spelled
from .errors import InvalidTypeError, InvalidValueError

_DEPTHS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")


class LayerReader:
    """Hidden state k of a model, for any k.

    Layer k means hidden state k of the whole model: 0 is the embedding output, and a final norm
    belongs to the last state only (the paper's package cuts some models at k and so applies the
    norm there too). The layers above are left out only where a comparison on a few tokens has shown
    that hidden state k stays the same.
    """

    def __init__(
        self, model: nn.Module, name: str, trim: bool = True, compiled: bool = False
    ) -> None:
        """Wrap a model that is on its device, in eval mode if it is ours.

        Args:
            model: an encoder that takes ``input_ids``, ``attention_mask`` and
                ``output_hidden_states``.
            name: what error messages call it.
            trim: whether upper layers may be left out; a custom model is run as it is.
            compiled: whether to run it through `torch.compile`.
        """
        self.model, self.name = model, name
        self._trim, self._compiled = trim, compiled
        self._lock = threading.Lock()
        self._views: dict[int, tuple[Any, bool]] = {}

    def __call__(self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]) -> Tensor:
        """Hidden states ``[layers, texts, longest, dim]``; see `Encoder.hidden_states`."""
        with self._lock:
            view, last_is_top = self._view(max(layers))
            with _methods_kept(view):
                return self._read(view, last_is_top, input_ids, attention_mask, layers)

    def _read(
        self,
        view: Any,
        last_is_top: bool,
        input_ids: Tensor,
        attention_mask: Tensor,
        layers: Sequence[int],
    ) -> Tensor:
        if last_is_top and len(layers) == 1:
            hidden: Tensor = view(input_ids=input_ids, attention_mask=attention_mask)[0]
            return hidden[None]
        states = view(
            input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True
        ).hidden_states
        return torch.stack([states[layer] for layer in layers])

    def _view(self, top: int) -> tuple[Any, bool]:
        """The model without layers above ``top``; whether its last output is that state."""
        if top not in self._views:
            model, last_is_top = self._trimmed(top) if self._trim else (self.model, False)
            self._views[top] = (
                torch.compile(model, dynamic=True) if self._compiled else model,
                last_is_top,
            )
        return self._views[top]

    def _trimmed(self, top: int) -> tuple[nn.Module, bool]:
        depth = self.depth()
        wanted, last = self._probe(self.model, top)
        for keep in range(top, min(top + 2, depth)):
            try:
                view = _cut(self.model, depth, keep)
                got, last_of_view = self._probe(view, top)
            except Exception:  # noqa: BLE001 - a model that cannot be cut like this is run whole
                continue
            if torch.equal(got, wanted):
                return view, keep == top and torch.equal(last_of_view, wanted)
        return self.model, top == depth and torch.equal(last, wanted)

    def depth(self) -> int:
        """The highest hidden state, found by running a few tokens."""
        return len(self._run_probe(self.model).hidden_states) - 1

    def _probe(self, model: nn.Module, layer: int) -> tuple[Tensor, Tensor]:
        output = self._run_probe(model)
        return output.hidden_states[layer], output[0]

    def _run_probe(self, model: nn.Module) -> Any:
        size = getattr(self.model.config, "vocab_size", None) or 12
        ids = torch.arange(4, 12, device=next(self.model.parameters()).device)[None] % size
        return model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)


@contextmanager
def _methods_kept(model: nn.Module) -> Iterator[None]:
    """After an error, methods as before.

    To record hidden states, many models of transformers exchange those of their layers. That is
    also why one pass at a time goes through a model.
    """
    before = [(module, module.__dict__.get("forward")) for module in model.modules()]
    try:
        yield
    except BaseException:
        for module, forward in before:
            module.__dict__.pop("forward", None)
            if forward is not None:
                module.__dict__["forward"] = forward
        raise


def _cut(model: nn.Module, depth: int, keep: int) -> nn.Module:
    """A second module tree over the same weights, with the first ``keep`` layers of ``depth``."""
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    view = copy.deepcopy(model, shared)
    for module in list(view.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.ModuleList) and len(child) == depth:
                setattr(module, name, nn.ModuleList(list(child)[:keep]))
        for holder in (module, getattr(module, "config", None)):
            for name in _DEPTHS:
                if isinstance(getattr(holder, name, None), int) and getattr(holder, name) == depth:
                    setattr(holder, name, keep)
    return view


def choose_layers(
    num_layers: int | Sequence[int] | str | None, depth: int, default: int | None, name: str
) -> tuple[int, ...]:
    """Turn the argument ``num_layers`` into hidden states.

    Args:
        num_layers: an integer, several, "all", or None.
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


def config_depth(config: Any, name: str) -> int:
    """The highest hidden state, as a configuration says; of an encoder-decoder that of its encoder.

    Raises:
        InvalidValueError: if it does not say.
    """
    wanted = (
        ("encoder_layers", "num_encoder_layers")
        if getattr(config, "is_encoder_decoder", False)
        else ()
    )
    for attribute in (*wanted, "num_hidden_layers", "num_layers", "n_layers", "n_layer"):
        depth = getattr(config, attribute, None)
        if isinstance(depth, int) and not isinstance(depth, bool):
            return depth
    raise InvalidValueError(
        f"the configuration of encoder {name!r} does not say how many layers "
        "it has (num_hidden_layers)"
    )
