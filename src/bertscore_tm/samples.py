"""The samples that a metric holds: their states, and how these are joined over processes.

Of each sample there are some counts and, where given, an id and a digest of its texts. Without idf
there are its scores; with weights that are known only at the end of the epoch, its matches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.distributed import gather_all_tensors

from . import syncing
from .errors import InvalidValueError
from .pairs import Matched
from .pipeline import Pipeline
from .references import SCORE_NAMES
from .rows import Rows
from .signature import refuse_other_weights, same_fingerprint, same_weights
from .state import PackedMetric, has_rows, list_parts, moved


class SampleStates(PackedMetric):
    """A metric that holds samples; what it makes of them is the business of `BERTScore`."""

    if TYPE_CHECKING:  # TorchScript cannot read these
        pipeline: Pipeline
        fingerprint: Tensor
        weights_digest: Tensor
        counts: list[Tensor]
        scores: list[Tensor]
        sample_ids: list[Tensor]

    def add_sample_states(self) -> None:
        """Make the states. The fingerprint comes first: merging checks it before all else."""
        self._keeps_matches = self.pipeline.weighting.needs_epoch  # else scores
        # A subclass that makes something else of texts must not share the states of others.
        kind = type(self).update.__qualname__
        own = self.pipeline.fingerprint(kind=kind).to(self.device)
        self.add_state("fingerprint", own, same_fingerprint)
        nobody = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.add_state(
            "weights_digest", nobody, same_weights
        )  # of what has scored; 0 if that is fixed
        layers = len(self.pipeline.layers)
        nothing = Matched.empty(layers)
        self.add_packed("counts", nothing.counts)
        self.add_packed("scores", torch.zeros(0, layers * len(SCORE_NAMES), device="cpu").float())
        ids = torch.zeros(0, 2, dtype=torch.int64, device="cpu")  # id, digest of texts
        self.add_packed("sample_ids", ids)
        for name, value in nothing.pack().items() if self._keeps_matches else ():
            self.add_packed(name, value)

    def refuse_mixed_rows(self, rows: Rows) -> None:
        """Raise InvalidValueError if only some updates have ids.

        The cost of this must not grow with the number of updates.
        """
        if len(rows) and has_rows(self.counts) and (rows.ids is None) == has_rows(self.sample_ids):
            before, ids = _size(self.counts), _size(self.sample_ids) + len(rows.ids or [])
            syncing.refuse_mixed_ids(before + len(rows), ids)

    def append_rows(self, rows: Rows, matched: Matched) -> None:
        """Add rows of an update to the states."""
        added = {"counts": matched.counts}
        if self._keeps_matches:
            added |= matched.pack()
        else:
            scores, added["counts"] = self.pipeline.score(matched)
            added["scores"] = scores.flatten(1)
        if rows.ids is not None:
            pairs = list(zip(rows.ids, rows.digests()))
            added["sample_ids"] = torch.tensor(pairs, dtype=torch.int64, device=self.device)
        for name, value in added.items():
            getattr(self, name).append(value)
        if not self.pipeline.encoder.frozen and not int(self.weights_digest):
            self.weights_digest = torch.full_like(
                self.weights_digest, self.pipeline.encoder.weights_digest()
            )

    def collect_samples(self, gather: syncing.Gather, rank: int) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, ids and counts of all ranks, each sample once and in the order of the ids.

        They exchange ids, then, if weights need it, frequencies, then scores; never tokens.
        """
        size = [_size(self.counts), _size(self.sample_ids)]
        sizes = torch.tensor(size, dtype=torch.int64, device=self.device)
        rules = self.pipeline.fingerprint(("matches", "scores")).to(self.device)
        heads = torch.stack(
            gather(torch.cat([self.fingerprint, rules, self.weights_digest, sizes]))
        )
        same_fingerprint(heads[:, :-3])
        refuse_other_weights(heads[:, -3])
        rows, with_id = heads[:, -2:].sum(0).tolist()
        syncing.refuse_mixed_ids(rows, with_id)
        ids = [self.packed("sample_ids")] * len(heads)
        if with_id:
            ids = gather(ids[rank])
        owned = syncing.owned_rows(ids, rank, size[0])
        scores, counts = self.packed("scores"), self.packed("counts")
        if self._keeps_matches and not has_rows(self.scores):  # else they are finished
            matched = Matched.unpack({name: self.packed(name) for name in self._packed}, counts)
            side, references = matched.matches.ref, matched.references
            frequencies = syncing.epoch_frequencies(side, references, owned, gather)
            own, counts = self.pipeline.score(matched, frequencies)
            scores = own.flatten(1)
        summed = torch.stack(gather(counts[owned].sum(0, dtype=torch.int64))).sum(0)
        everything, all_ids = torch.cat(gather(scores)), torch.cat(ids)
        kept = syncing.each_once(all_ids) if with_id else slice(None)
        return everything[kept], all_ids[kept], summed

    def _sync_dist(
        self, dist_sync_fn: Callable[..., Any] = gather_all_tensors, process_group: Any = None
    ) -> None:
        group = process_group or self.process_group
        gather: syncing.Gather = lambda x: dist_sync_fn(x.contiguous(), group=group)  # noqa: E731
        scores, ids, summed = self.collect_samples(gather, syncing.own_rank(group))
        self._sync_others(dist_sync_fn, process_group)
        for name in self._packed:
            setattr(self, name, [])
        counts = torch.zeros(len(scores), len(summed), dtype=torch.int64, device=self.device)
        counts[:1] = summed  # one row stands for all
        self.scores, self.sample_ids, self.counts = [scores], [ids], [counts]

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add the samples of another metric with the same settings, or of its `metric_state`.

        Raises:
            InvalidValueError: if it was made in another way, only one of the two has sample ids, or
                idf is on and one of them is synced, its weights being fixed then. The state is as
                before.
        """
        self._refuse_if_synced()
        state: Any = incoming_state
        if isinstance(incoming_state, SampleStates):
            state = incoming_state.metric_state
        if isinstance(state, dict) and state.keys() >= self._defaults.keys():
            state = {name: moved(value, self.device) for name, value in state.items()}
            same_fingerprint(torch.stack([self.fingerprint, state["fingerprint"]]))
            refuse_other_weights(torch.cat([self.weights_digest, state["weights_digest"]]))
            sizes = [[_size(s[n]) for s in (state, self.metric_state)] for n in _ROWS]
            if all(sizes[0]):
                syncing.refuse_mixed_ids(*map(sum, sizes))
                if self._keeps_matches and (has_rows(state["scores"]) or has_rows(self.scores)):
                    raise InvalidValueError(
                        "got a state with idf weights that are fixed already, between sync and "
                        "unsync; wanted those of single processes: unsync() first"
                    )
        super().merge_state(state)
        self._computed, self._update_count = None, max(1, self._update_count)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        saved = state_dict.get(f"{prefix}fingerprint", self.fingerprint)
        same_fingerprint(torch.stack([self.fingerprint, saved.to(self.device)]))
        super()._load_from_state_dict(state_dict, prefix, *args)


_ROWS = ("counts", "sample_ids")


def _size(state: Any) -> int:
    return sum(len(part) for part in list_parts(state))
