"""Reading hidden states of a transformers encoder without running the layers above them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

_DEPTHS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")


class LayerReader:
    """Hidden state k of a model, for any k.

    Layer k means hidden state k of the whole model: 0 is the embedding output, and a final norm belongs to the last state only
    (the paper's package cuts some models at k and so applies the norm there too). The layers above are left out only where a
    comparison on a few tokens has shown that hidden state k stays the same.
    """

    def __init__(self, model: nn.Module, name: str, trim: bool = True, compiled: bool = False) -> None:
        """Wrap a model that is on its device, in eval mode if it is ours.

        Args:
            model: an encoder that takes ``input_ids``, ``attention_mask`` and ``output_hidden_states``.
            name: what error messages call it.
            trim: whether upper layers may be left out; a user's own model is run as it is.
            compiled: whether to run it through `torch.compile`.
        """
        self.model, self.name = model, name
        self._trim, self._compiled = trim, compiled
        self._views: dict[int, tuple[Any, bool]] = {}

    def __call__(self, input_ids: Tensor, attention_mask: Tensor, layers: Sequence[int]) -> Tensor:
        """Hidden states ``[layers, texts, longest, dim]``; arguments as in `Encoder.hidden_states`."""
        view, last_is_top = self._view(max(layers))
        if last_is_top and len(layers) == 1:
            hidden: Tensor = view(input_ids=input_ids, attention_mask=attention_mask)[0]
            return hidden[None]
        states = view(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True).hidden_states
        return torch.stack([states[layer] for layer in layers])

    def _view(self, top: int) -> tuple[Any, bool]:
        """The model without the layers above ``top``, and whether its last output is hidden state ``top``."""
        if top not in self._views:
            model, last_is_top = self._trimmed(top) if self._trim else (self.model, False)
            self._views[top] = (torch.compile(model, dynamic=True) if self._compiled else model, last_is_top)
        return self._views[top]

    def _trimmed(self, top: int) -> tuple[nn.Module, bool]:
        depth = self.depth()
        wanted, last = self._probe(self.model, top)
        for keep in range(top, min(top + 2, depth)):
            try:
                view = _cut(self.model, depth, keep)
                got, last_of_view = self._probe(view, top)
            except Exception:  # noqa: BLE001, S112 - a model that cannot be cut like this is run whole
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
        embedding = self.model.get_input_embeddings()
        ids = torch.arange(4, 12, device=embedding.weight.device)[None] % embedding.weight.shape[0]
        return model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)


def _cut(model: nn.Module, depth: int, keep: int) -> nn.Module:
    """A second module tree over the same weights, with only the first ``keep`` of its ``depth`` layers."""
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
