"""`BERTScore`, the stateful metric: ``self.log("val_bertscore", self.bertscore)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.distributed import gather_all_tensors

from . import diagnosis, signature, syncing
from .arguments import refuse_unknown
from .baseline import Baseline
from .diagnosis import COUNTS
from .guard import undisturbed
from .idf import IdfTable
from .matching import Matches, Side
from .pairs import Matched, References, Texts, read_rows
from .scorer import Scorer
from .scoring import EMPTY, NAMES
from .state import METRIC_OPTIONS, PackedMetric, moved, parts, uncompiled

# The packed states of idf=True.
_SIMILARITIES = ("pred_similarity", "ref_similarity")
_INTEGERS = ("pred_token", "ref_token", "pred_length", "ref_length", "references")


class BERTScore(PackedMetric):
    """BERTScore of generated texts against references, over all batches and processes.

    ``update`` encodes the texts of this process and keeps a few numbers: without idf three scores a sample and layer, with
    ``idf=True`` a similarity and an id a word. ``compute`` is arithmetic on them. The encoder is no child module: it adds no
    parameters and no checkpoint keys, follows ``.to(device)``, and is shared by copies.

    Example:
        >>> from bertscore_tm import BERTScore
        >>> metric = BERTScore("minilm", 6)
        >>> metric.update(["a dog", "rain"], ["a cat", "rain fell"])
        >>> print(f"{metric.compute():.4f}")
        0.7074

    Source: Zhang et al., BERTScore: Evaluating Text Generation with BERT, ICLR 2020, and the package Tiiiger/bert_score.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    feature_network = "encoder"
    fingerprint: Tensor
    counts: Tensor
    scores: list[Tensor]
    sample_ids: list[Tensor]

    def __init__(
        self,
        model_name_or_path: Any = None,
        num_layers: int | Sequence[int] | str | None = None,
        *,
        score: str | None = "f1",
        reduction: str = "mean",
        lang: str | None = None,
        idf: bool | IdfTable | Mapping[int, float] = False,
        rescale_with_baseline: bool | Baseline = False,
        baseline_path: str | None = None,
        match_special_tokens: bool = True,
        multi_reference: str = "max",
        overflow: str = "truncate",
        max_length: int | None = None,
        empty_score: float = 0.0,
        dtype: str = "float32",
        batch_tokens: int | None = None,
        compile: bool = False,  # noqa: A002
        embedding_cache: int | str = "512MB",
        verbose: bool = False,
        **kwargs: Any,
    ) -> None:
        """Check the settings and find the encoder; its weights are loaded with the first texts.

        Args:
            model_name_or_path: a hub name, a folder, the alias "minilm" (all-MiniLM-L6-v2), or an object with the methods of
                `Encoder`. None: the encoder for ``lang``.
            num_layers: the hidden state that is compared, 0 being the embedding output; several; or "all". None: the layer
                that agrees best with people where that was measured, else two thirds of the depth.
            score: "f1", "precision", "recall", or None for all three.
            reduction: "mean" over the samples, or "none": one value a sample.
            lang: language code that chooses encoder and baseline, in any case ("en", "de", "zh", "en-sci").
            idf: weight words by inverse document frequency: True (from the references of this epoch, over all processes), an
                `IdfTable`, or weights by token id (others get the largest of them).
            rescale_with_baseline: rescale with a packaged table, that of ``baseline_path``, or a `Baseline`.
            baseline_path: file with the header ``LAYER,P,R,F`` and a line for each layer.
            match_special_tokens: whether markers such as ``[CLS]``, which never have a weight, may be matched.
            multi_reference: with several references "max" (of P, R, F1 each), "best_f1" (the reference with the best F1 gives
                all three) or "mean".
            overflow: texts above the limit: "truncate" (counted, one warning), "window" (nothing is lost) or "error".
            max_length: tokens, markers included; never above what the encoder has positions for.
            empty_score: value of a sample with nothing to score, after rescaling.
            dtype: of the encoder: "float32", "bfloat16" or "float16". Results are always float32.
            batch_tokens: padded tokens in one forward pass; None: 2,048 on a CPU, 32,768 elsewhere.
            compile: `torch.compile` the encoder.
            embedding_cache: bytes of host memory ("512MB") for vectors of texts that come again; 0: none.
            verbose: show a progress bar.
            kwargs: those of `torchmetrics.Metric`.

        Raises:
            OSError: if the encoder cannot be found or loaded.
            TypeError: if an argument has the wrong type or is one of another package's.
            ValueError: if an option, layer, language or baseline does not exist.
        """
        refuse_unknown(kwargs, BERTScore, METRIC_OPTIONS)
        if score is not None and not (isinstance(score, str) and score in NAMES):
            raise ValueError(f"got score={score!r}; wanted 'f1', 'precision', 'recall' or None")
        if not isinstance(reduction, str) or reduction not in ("mean", "none"):
            raise ValueError(f"got reduction={reduction!r}; wanted 'mean' or 'none'")
        super().__init__(**kwargs)
        self.scorer = Scorer(
            model_name_or_path,
            num_layers,
            lang=lang,
            idf=idf,
            rescale_with_baseline=rescale_with_baseline,
            baseline_path=baseline_path,
            match_special_tokens=match_special_tokens,
            multi_reference=multi_reference,
            overflow=overflow,
            max_length=max_length,
            empty_score=empty_score,
            dtype=dtype,
            batch_tokens=batch_tokens,
            compile=compile,
            embedding_cache=embedding_cache,
            verbose=verbose,
        )
        self.score, self.reduction, self.warns = score, reduction, True
        self._facts: dict[str, int | float] = {}
        self._add_states()

    def _add_states(self) -> None:
        # The fingerprint comes first: merging checks it before anything is changed.
        self.add_state("fingerprint", self.scorer.fingerprint().to(self.device), signature.same_fingerprint)
        self.add_state("counts", torch.zeros(len(COUNTS), dtype=torch.int64, device=self.device), "sum")
        layers = len(self.scorer.layers)
        self.add_packed("scores", (0, layers * len(NAMES)), torch.float32)
        self.add_packed("sample_ids", (0,), torch.int64)
        for name in _SIMILARITIES if self.scorer.epoch_idf else ():
            self.add_packed(name, (0, layers), torch.float32)
        for name in _INTEGERS if self.scorer.epoch_idf else ():
            self.add_packed(name, (0,), torch.int32)

    def update(self, preds: Texts, target: References, sample_ids: Iterable[int] | None = None) -> None:
        """Add a batch.

        Args:
            preds: a string or an iterable of strings.
            target: the same, or for each prediction an iterable of references.
            sample_ids: an integer for each prediction, its row in the data set. Rows with an id that was seen before count
                once, and ``reduction="none"`` returns the order of the ids. All updates have ids, or none.

        Raises:
            TypeError: if something is no text; side, row and type are named.
            ValueError: if the numbers of rows differ, a row has no reference, only some updates have ids, or a text is too
                long under ``overflow="error"``. The state is as before after each error.
        """
        rows = read_rows(preds, target, sample_ids)
        if len(rows):
            self._check_ids(len(rows), len(rows.ids or []))
            with undisturbed(self.device):
                self._append(rows.ids, self.scorer.match(rows, self.device))

    def _check_ids(self, rows: int, ids: int) -> None:
        syncing.check_ids(_rows(self.metric_state) + rows, sum(map(len, parts(self.sample_ids))) + ids)

    def _append(self, ids: list[int] | None, matched: Matched) -> None:
        counts, added = matched.counts, {}
        if self.scorer.epoch_idf:
            m = matched.matches
            added = dict(zip(_SIMILARITIES, (m.pred.similarity, m.ref.similarity)))
            added |= zip(_INTEGERS, (m.pred.token, m.ref.token, m.pred.length, m.ref.length, matched.references))
        else:
            scores, weightless = self.scorer.scores(matched, self.scorer.table)
            counts, added["scores"] = counts + weightless, scores.flatten(1)
        if ids is not None:
            added["sample_ids"] = torch.tensor(ids, dtype=torch.int64, device=self.device)
        self.counts = self.counts + counts
        for name, value in added.items():
            getattr(self, name).append(value)

    def compute(self) -> Tensor | dict[str, Tensor]:
        """The score of all samples so far, of all processes.

        A process without an update since the last call, not even one with nothing, returns its last value and syncs with nobody.

        Returns:
            float32: a scalar for one score and layer (``reduction="none"``: a vector, ``[samples]``), else a flat dict with the
            keys "f1", "layer_5" or "layer_5_f1". NaN, or an empty vector, if there are no samples.

        Raises:
            ValueError: if a sample id came with two different scores.
        """
        scores, self._facts = self._samples()
        if self.warns and self._should_unsync:  # the value of a single batch, from forward, comes without warnings
            self.scorer.warn(self._facts)
        return self.scorer.answer(scores, self.score, self.reduction)

    @uncompiled
    def forward(self, preds: Texts, target: References, sample_ids: Iterable[int] | None = None) -> Any:
        """Add a batch and return its score; arguments and errors as in `update`."""
        rows = read_rows(preds, target, sample_ids)  # torchmetrics may go through them twice, the first time without a state
        self._check_ids(len(rows), len(rows.ids or []))
        return super().forward(rows.preds, rows.groups, rows.ids)

    def _samples(self) -> tuple[Tensor, dict[str, int | float]]:
        """Finished scores of the samples, each once and in the order of the ids, ``[samples, layers, 3]``; facts about them."""
        with torch.no_grad():
            flat, ids, counts = self._collect(syncing.alone, 0)
            scores = syncing.each_once(flat, ids, self.scorer.tolerance).reshape(-1, len(self.scorer.layers), len(NAMES))
            return self.scorer.finish(scores), diagnosis.facts(scores[:, 0, 0] == EMPTY, counts)

    def _collect(self, gather: syncing.Gather, rank: int) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, ids and counts of all ranks. With idf they exchange ids, then frequencies, then scores; never words."""
        rows = _rows(self.metric_state)
        sizes = torch.tensor([rows, sum(map(len, self.sample_ids))], dtype=torch.int64, device=self.device)
        rule = signature.fingerprint({"references": self.scorer.multi_reference}).to(self.device)  # each joins its own
        heads = torch.stack(gather(torch.cat([self.fingerprint, rule, sizes])))
        signature.same_fingerprint(heads[:, :-2])
        syncing.check_ids(*heads[:, -2:].sum(0).tolist())
        ids = gather(self.packed("sample_ids")) if int(heads[:, -1].sum()) else [self.packed("sample_ids")] * len(heads)
        scores, counts = self.packed("scores"), self.counts
        if self.scorer.epoch_idf and int(heads[:, -2].sum()):
            matched = self._matched()
            mine = syncing.owned(ids, rank, rows)[rows - len(matched.references) :]
            table = syncing.epoch_idf(matched.matches.ref, matched.references, mine, gather)
            own, weightless = self.scorer.scores(matched, table)
            scores, counts = torch.cat([scores, own.flatten(1)]), counts + weightless
        return torch.cat(gather(scores)), torch.cat(ids), torch.stack(gather(counts)).sum(0)

    def _matched(self) -> Matched:
        """The packed states of ``idf=True`` as one."""
        *sides, references = map(self.packed, (*_SIMILARITIES, *_INTEGERS))  # of predictions and references in turn
        return Matched(Matches(Side(*sides[::2]), Side(*sides[1::2])), references, self.counts)

    def _sync_dist(self, dist_sync_fn: Callable[..., Any] = gather_all_tensors, process_group: Any = None) -> None:
        group = process_group or self.process_group
        scores, ids, counts = self._collect(lambda x: dist_sync_fn(x.contiguous(), group=group), syncing.own_rank(group))
        for name in self._empty:
            setattr(self, name, [])
        self.scores, self.sample_ids, self.counts = [scores], [ids], counts

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add the samples of another metric with the same settings, or of its `metric_state`.

        Raises:
            ValueError: if it was made in another way, or only one of the two has sample ids; the state is as before.
        """
        state: Any = incoming_state.metric_state if isinstance(incoming_state, BERTScore) else incoming_state
        if isinstance(state, dict) and state.keys() >= self._defaults.keys():
            state = {name: moved(value, self.device) for name, value in state.items()}
            signature.same_fingerprint(torch.stack([self.fingerprint, state["fingerprint"]]))
            self._check_ids(_rows(state), sum(map(len, parts(state["sample_ids"]))))
        super().merge_state(state)
        self._computed, self._update_count = None, max(1, self._update_count)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        saved = state_dict.get(f"{prefix}fingerprint", self.fingerprint)
        signature.same_fingerprint(torch.stack([self.fingerprint, saved.to(self.device)]))
        super()._load_from_state_dict(state_dict, prefix, *args)

    @property
    def signature(self) -> str:
        """One line that says how the score is made; equal for equal settings."""
        return self.scorer.signature()

    def diagnostics(self) -> dict[str, int | float]:
        """What was seen in the data: after ``compute`` on all processes, before it on this one.

        Returns:
            "samples", "empty" (samples with nothing to score), "truncated" (texts), "lost_tokens", "unknown_share" (of the words,
            0 to 1), "special_token_texts" (texts that spell out a marker), "weightless" (pairs with a side whose weights are all
            zero), "encoded_tokens" and "cache_hits" (of the encoder, which other metrics may share, since it was made).
        """
        facts = self._facts if self._computed is not None else self._samples()[1]
        embedder = self.scorer.embedder
        return {**facts, "encoded_tokens": embedder.encoded_tokens, "cache_hits": embedder.cache.hits}

    @property
    def layers(self) -> tuple[int, ...]:
        """The hidden states that are compared."""
        return self.scorer.layers

    @property
    def depth(self) -> int:
        """The highest hidden state of the encoder."""
        return self.scorer.encoder.depth

    @property
    def encoder(self) -> Any:
        """What is shared between metrics, for `torchmetrics.wrappers.FeatureShare`."""
        return self.scorer.embedder

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; the encoder is shared already, so FeatureShare's wrapper around it is not needed."""
        if name != self.feature_network:
            super().__setattr__(name, value)


def _rows(state: Mapping[str, Any]) -> int:
    return sum(len(part) for name in ("scores", "references") for part in parts(state.get(name, [])))
