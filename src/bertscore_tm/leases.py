"""Leases: what each metric asks of the engine of its encoder, and the one cache of the process.

A distinct text goes through an encoder once, however many metrics, scores or layers look at it: the
pass gives the layers that any live metric wants, and one cache of the process, as large as the
largest that a live metric asks for, keeps them for whoever comes next.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor

from .batching import moved_together, tokenize_texts
from .cache import Cache
from .encoder import Encoder, Tokens
from .engine import UNLIMITED, Engine, Key, KnownText, TokenizedText, select_layers
from .errors import OutOfMemoryError
from .machine import trim_heap


class Lease:
    """What one metric asks of an engine.

    Attributes:
        engine: the engine.
        layers: the hidden states that the metric compares.
        cache_bytes: what it allows the cache of the process to take; 0: it does not use it.
    """

    def __init__(
        self, engine: Engine, layers: tuple[int, ...], batch_tokens: int | None, cache_bytes: int
    ) -> None:
        """Ask for layers; use `lease_encoder`."""
        self.engine, self.layers = engine, layers
        self.cache_bytes = cache_bytes if engine.encoder.frozen else 0
        self._batch_tokens = batch_tokens

    def layers_to_run(self) -> tuple[int, ...]:
        """The layers that a pass gives: with the cache those of all metrics that use it, too."""
        if not self.cache_bytes:
            return tuple(sorted(self.layers))
        return _process.layers_wanted(self.engine.key)

    def budget(self, device: torch.device) -> int:
        """Padded tokens in one pass."""
        usual = self._batch_tokens or (2_048 if device.type == "cpu" else 32_768)
        return min(self.engine.room, usual)

    def tokenize(self, texts: Sequence[str]) -> list[TokenizedText]:
        """Split distinct texts into tokens; those in the cache come with their vectors."""
        known = [self._known(text) for text in texts]
        self.engine.cache_hits += sum(found is not None for found in known)
        missing = [text for text, found in zip(texts, known) if found is None]
        new = iter(tokenize_texts(self.engine.encoder, missing))
        return [
            TokenizedText(text, next(new))
            if found is None
            else TokenizedText(text, found.tokens, found)
            for text, found in zip(texts, known)
        ]

    def vectors(self, texts: Sequence[TokenizedText], device: torch.device) -> Tensor:
        """Hidden states of texts, one after the other, on the device; the cache is read and fed.

        Returns:
            ``[layers, tokens, dim]``.
        """
        known: dict[int, Tensor] = {}
        new: dict[int, TokenizedText] = {}
        for place, text in enumerate(texts):
            # What is not known yet may be by now: an earlier chunk of this update has encoded it.
            if found := text.known or self._known(text.text):
                known[place] = found.select(self.layers)
            elif len(text.tokens.ids):
                new[place] = text
        layers = self.layers_to_run()
        encoded = self.engine.encode(new, layers, device, self.budget(device))
        self._keep(new, encoded, layers)
        parts = {key: select_layers(part, layers, self.layers) for key, part in encoded.items()}
        parts |= moved_together(known, device)
        ordered = [parts[place] for place in sorted(parts)]
        nothing = torch.zeros(len(self.layers), 0, 1, device=device)
        return torch.cat(ordered, 1) if ordered else nothing

    def give_way(self, device: torch.device, pairs: int, reason: str) -> None:
        """Make do with less memory after it ran out: the cache first, then half as much in a pass.

        Raises:
            OutOfMemoryError: if passes are at their smallest, and a single pair of texts is in
                hand.
        """
        engine = self.engine
        if device.type == "cpu" and self.cache_in_use():
            _process.halve()
        elif self.budget(device) > 1:
            engine.room = max(1, min(self.budget(device), engine.tried or UNLIMITED) // 2)
        elif pairs == 1:
            engine.room = UNLIMITED  # the next texts may be shorter
            _process.restore()
            said = (reason.strip().splitlines() or ["no reason given"])[0]
            raise OutOfMemoryError(
                f"ran out of memory on {device} with a single pair of texts in hand ({said}); "
                "wanted a smaller encoder, dtype bfloat16, a lower max_length, or more room beside "
                "what else is there"
            )
        if device.type == "cuda":
            torch.cuda.empty_cache()

    def release(self) -> None:
        """Give back the vectors that were kept and, unless others lease them, the weights."""
        clear_vectors(self.engine.key)
        if _process.is_only(self):
            self.engine.encoder.release()
        trim_heap()

    def cache_in_use(self) -> bool:
        """Whether the cache of the process holds anything."""
        return _process.cache.used > 0

    def _known(self, text: str) -> KnownText | None:
        if not self.cache_bytes:
            return None
        key = (self.engine.key, text)
        found = _process.cache.get(key)
        if found is not None and not set(self.layers) <= set(found.layers):
            _process.cache.discard(key)  # made before this metric was: it lacks layers
            return None
        return found

    def _keep(
        self,
        texts: Mapping[int, TokenizedText],
        parts: Mapping[int, Tensor],
        layers: tuple[int, ...],
    ) -> None:
        if not self.cache_bytes:
            return
        _process.settle()  # threads may have leased and ended meanwhile
        host = moved_together({key: parts[key] for key in texts}, torch.device("cpu"))
        for key, text in texts.items():
            size = host[key].numel() * host[key].element_size()
            make = partial(_copied, text.tokens, layers, host[key])
            _process.cache.put((self.engine.key, text.text), make, size)


def _copied(tokens: Tokens, layers: tuple[int, ...], vectors: Tensor) -> KnownText:
    """With a copy of its own: a part of a batch would hold the whole batch in memory."""
    return KnownText(tokens, layers, vectors.clone())


class _Process:
    """What all engines of the process share: the cache, and who is there to want what."""

    def __init__(self) -> None:
        self.cache: Cache[KnownText] = Cache(0)
        self._engines: weakref.WeakValueDictionary[Key, Engine] = weakref.WeakValueDictionary()
        self._leases: dict[int, weakref.ref[Lease]] = {}
        self._lock = threading.Lock()
        self._ceiling = UNLIMITED  # of the cache, after memory ran out
        self._pruning_is_due = False

    def lease(self, encoder: Encoder, key: Key, layers: tuple[int, ...], *sizes: Any) -> Lease:
        with self._lock:
            engine = self._engines.get(key) or Engine(encoder, key)
            self._engines[key] = engine
            lease = Lease(engine, layers, *sizes)
            self._leases[id(lease)] = weakref.ref(lease)
            self.cache.budget = self.budget()
        weakref.finalize(lease, self._ended, id(lease)).atexit = False
        if self._pruning_is_due:
            self.prune()
        return lease

    def layers_wanted(self, key: Key) -> tuple[int, ...]:
        wanting = [each for each in self._live() if each.cache_bytes]
        return tuple(sorted({k for each in wanting if each.engine.key == key for k in each.layers}))

    def is_only(self, lease: Lease) -> bool:
        return all(each is lease for each in self._live() if each.engine is lease.engine)

    def settle(self) -> None:
        self.cache.budget = self.budget()
        if self._pruning_is_due:
            self.prune()

    def prune(self) -> None:
        """Keep only what live metrics want."""
        wanted: dict[Hashable, tuple[int, ...]] = {}

        def change(key: Any, known: KnownText) -> tuple[KnownText, int] | None:
            engine = key[0]
            if engine not in wanted:
                wanted[engine] = self.layers_wanted(engine)
            layers = tuple(layer for layer in known.layers if layer in wanted[engine])
            if layers and layers != known.layers:
                known = KnownText(known.tokens, layers, known.select(layers).clone())
            size = known.vectors.numel() * known.vectors.element_size()
            return (known, size) if layers else None

        self._pruning_is_due = not self.cache.revise(change)

    def halve(self) -> None:
        self._ceiling = self.cache.budget // 2
        self.cache.budget = self._ceiling
        self.cache.clear()

    def restore(self) -> None:
        self._ceiling = UNLIMITED
        self.cache.budget = self.budget()

    def budget(self) -> int:
        asked = max((each.cache_bytes for each in self._live()), default=0)
        return min(asked, self._ceiling)

    def _live(self) -> list[Lease]:
        found = (reference() for reference in list(self._leases.values()))
        return [lease for lease in found if lease is not None]

    def _ended(self, number: int) -> None:
        self._leases.pop(number, None)
        self.cache.budget = self.budget()
        self.prune()


_process = _Process()
# Names of encoders that share with nobody else, by identity: equal objects may encode differently.
_names: dict[int, tuple[weakref.ref[Any], str]] = {}


def lease_encoder(
    encoder: Encoder,
    layers: tuple[int, ...],
    batch_tokens: int | None,
    cache_bytes: int,
    key: Key | None = None,
) -> Lease:
    """Lease the engine of an encoder; of equal encoders the first is used by all.

    Args:
        encoder: the encoder.
        layers: the hidden states to read.
        batch_tokens: padded tokens in one pass; None: 2,048 on a CPU, 32,768 elsewhere.
        cache_bytes: bytes that the cache of the process may take; 0: it is not used.
        key: of a pickled lease, that leads back to its engine where that still lives.
    """
    own = key or encoder.sharing_key or (_name_of(getattr(encoder, "given", encoder)),)
    return _process.lease(encoder, own, layers, batch_tokens, cache_bytes)


def clear_vectors(key: Key | None = None) -> None:
    """Forget the vectors that were kept: of one engine, or all; hand memory back to the system."""
    if key is None:
        _process.cache.clear()
    else:
        _process.cache.discard_all(lambda of: of[0] == key)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _name_of(encoder: Any) -> str:
    """A name that no other object has or will have, here or in another process."""
    known = _names.get(id(encoder))
    if known is not None and known[0]() is encoder:
        return known[1]
    name = uuid.uuid4().hex
    with suppress(TypeError):  # what cannot be referred to weakly is not shared
        _names[id(encoder)] = (weakref.ref(encoder), name)
        weakref.finalize(encoder, _names.pop, id(encoder), None).atexit = False
    return name
