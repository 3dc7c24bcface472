"""How to read hidden states of a model without running the layers above them."""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from .errors import InvalidValueError, warn
from .guard import products_in
from .halves import device_of, text_config
from .layers import DEPTHS
from .machine import out_of_memory
from .padding import PROBE, Mixing, find_mixing, split_rows

# The weights never change, so the compiler may lay them out as the processor likes them best.
_FROZEN: dict[str, Any] = {"freezing": True}


class LayerReader:
    """Hidden state k of a model, for any k.

    Layer k means hidden state k of the whole model: 0 is the embedding output, and a final norm
    belongs to the last state only (the paper's package cuts some models at k and so applies the
    norm there too). The layers above are left out only where a comparison on a few tokens has shown
    that hidden state k stays the same.

    Attributes:
        model: the model.
        mixing: what vectors depend on beside their text; None: it is found with the first batch.
    """

    def __init__(
        self,
        model: nn.Module,
        name: str,
        trim: bool = True,
        compiled: bool = False,
        mixing: Mixing | None = None,
        products: torch.dtype | None = None,
    ) -> None:
        """Wrap a model that is on its device, in eval mode if it is ours.

        Args:
            model: an encoder that takes ``input_ids``, ``attention_mask`` and
                ``output_hidden_states``.
            name: what error messages call it.
            trim: whether upper layers may be left out; a custom model is run as it is.
            compiled: whether to run it through `torch.compile`.
            mixing: what vectors depend on beside their text, if that is known.
            products: dtype of products (linear layers, attention), of 16 bits; sums and norms stay
                in float32. None: all in the dtype of the weights.
        """
        self.model, self.name, self.mixing, self._products = model, name, mixing, products
        self._trim, self._compiled = trim, compiled
        self._lock = threading.Lock()
        self._views: dict[int, tuple[Any, bool]] = {}
        taken = inspect.signature(model.forward).parameters
        any_name = any(each.kind is each.VAR_KEYWORD for each in taken.values())
        self._takes_mask = any_name or "attention_mask" in taken

    def __call__(self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]) -> Tensor:
        """Hidden states ``[layers, texts, longest, dim]``; see `Encoder.hidden_states`.

        Raises:
            InvalidValueError: if the model cannot be run as an encoder, or draws what it gives.
        """
        with self._lock:
            self._check_mixing()
            try:
                return self._read_apart(input_ids, attention_mask, layers)
            except Exception as error:
                named = type(error).__module__.startswith(("torch._dynamo", "torch._inductor"))
                if not self._compiled or not named or out_of_memory(error):
                    raise
                warn(
                    f"PyTorch cannot compile encoder {self.name!r} ({type(error).__name__}); it is "
                    "run as it is, which gives the same."
                )
                self._compiled = False
                self._views.clear()
                return self._read_apart(input_ids, attention_mask, layers)

    def _read_apart(
        self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]
    ) -> Tensor:
        """Hidden states of a batch, its rows apart where they would get into each other."""
        view, last_is_top = self._view(max(layers))
        with _methods_kept(view):
            if self.mixing is None or self.mixing == Mixing.NOTHING:
                return self._read(view, last_is_top, input_ids, attention_mask, layers)
            hidden: Tensor | None = None
            for rows, length in split_rows(attention_mask.sum(1).tolist(), self.mixing):
                ids, mask = input_ids[rows, :length], attention_mask[rows, :length]
                part = self._read(view, last_is_top, ids, mask, layers)
                if hidden is None:
                    hidden = part.new_zeros(len(layers), *input_ids.shape, part.shape[3])
                hidden[:, rows, :length] = part
            return torch.zeros(len(layers), *input_ids.shape, 1) if hidden is None else hidden

    def _check_mixing(self) -> None:
        if self.mixing is None:
            self.mixing = find_mixing(
                self._probe_states, self._words(), self._device(), self._products
            )
        if self.mixing == Mixing.CHANCE:
            raise InvalidValueError(
                f"encoder {self.name!r} gave other vectors for the same tokens each time it was "
                "run: something in it is drawn; wanted one that gives the same, with its dropout "
                "as modules that eval() switches off"
            )

    def _read(
        self,
        view: Any,
        last_is_top: bool,
        input_ids: Tensor,
        attention_mask: Tensor,
        layers: Sequence[int],
    ) -> Tensor:
        if last_is_top and len(layers) == 1:
            hidden: Tensor = self._output(view, input_ids, attention_mask)[0]
            return hidden[None]
        states = self._output(
            view, input_ids, attention_mask, output_hidden_states=True
        ).hidden_states
        if max(layers) >= len(states):
            self.check_depth(max(layers), len(states) - 1)
        if len({states[layer].shape for layer in layers}) > 1:
            shapes = [list(states[layer].shape) for layer in layers]
            raise InvalidValueError(
                f"encoder {self.name!r} gives vectors of several widths in the layers {layers}: "
                f"{shapes}; wanted one width: choose one layer at a time"
            )
        return torch.stack([states[layer] for layer in layers])

    def _output(self, view: Any, input_ids: Tensor, mask: Tensor, **options: Any) -> Any:
        if self._takes_mask:
            options["attention_mask"] = mask
        if getattr(self.model.config, "return_dict", True) is False:
            options["return_dict"] = True
        with products_in(self._products, input_ids.device):
            return view(input_ids=input_ids, **options)

    def _view(self, top: int) -> tuple[Any, bool]:
        """The model without layers above ``top``; whether its last output is that state."""
        if top not in self._views:
            model, last_is_top = self._trimmed(top) if self._trim else (self.model, False)
            self._views[top] = (
                torch.compile(model, dynamic=True, options=_FROZEN) if self._compiled else model,
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
        """The highest hidden state, found by running a few tokens.

        Raises:
            InvalidValueError: if the model cannot be run as an encoder.
        """
        return len(self._run_probe(self.model).hidden_states) - 1

    def check_depth(self, said: int, has: int) -> None:
        """Raise InvalidValueError if there are more or fewer hidden states than is said."""
        if said != has:
            raise InvalidValueError(
                f"encoder {self.name!r} gives hidden states 0 to {has} where its configuration "
                f"says {said}; wanted one for each layer: wrap such a model in a subclass of "
                "bertscore_tm.Encoder"
            )

    def drop_pooler(self) -> None:
        """Leave out a pooler, which no hidden state passes through, unless the model calls it."""
        model: Any = self.model
        pooler = getattr(model, "pooler", None)
        if pooler is None:
            return
        model.pooler = None
        try:
            self._run_probe(model)
        except InvalidValueError:
            model.pooler = pooler

    def _probe(self, model: nn.Module, layer: int) -> tuple[Tensor, Tensor]:
        output = self._run_probe(model)
        return output.hidden_states[layer], output[0]

    def _run_probe(self, model: nn.Module) -> Any:
        ids = torch.arange(4, 4 + PROBE, device=self._device())[None] % self._words()
        return self._checked_output(model, ids, torch.ones_like(ids))

    def _probe_states(self, input_ids: Tensor, attention_mask: Tensor) -> Sequence[Tensor]:
        with _methods_kept(self.model):
            states: Sequence[Tensor] = self._checked_output(
                self.model, input_ids, attention_mask
            ).hidden_states
            return states

    def _checked_output(self, model: nn.Module, ids: Tensor, mask: Tensor) -> Any:
        """What a model gives for a few tokens, with all its hidden states."""
        try:
            output = self._output(model, ids, mask, output_hidden_states=True)
            shapes = [list(state.shape[:-1]) for state in output.hidden_states]
            if any(shape != list(ids.shape) for shape in shapes):
                raise ValueError(f"hidden states of {shapes} vectors for {list(ids.shape)} tokens")
        except Exception as error:
            if out_of_memory(error):
                raise
            line = (str(error).strip().splitlines() or ["no reason given"])[0]
            raise InvalidValueError(
                f"encoder {self.name!r} cannot be run on token ids alone "
                f"({type(error).__name__}: {line!r}); wanted a model that takes input_ids and "
                "attention_mask and gives hidden states, a vector for each token: wrap another in "
                "a subclass of bertscore_tm.Encoder"
            ) from error
        return output

    def _words(self) -> int:
        """Token ids that may be tried."""
        return getattr(text_config(self.model.config), "vocab_size", None) or 12

    def _device(self) -> torch.device:
        return device_of(self.model)


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
            for name in DEPTHS:
                if isinstance(getattr(holder, name, None), int) and getattr(holder, name) == depth:
                    setattr(holder, name, keep)
    return view
