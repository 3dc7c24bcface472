"""`BERTScore`, the stateful metric: ``self.log("val_bertscore", self.bertscore)``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torchmetrics import Metric

from .diagnosis import collect_facts
from .encoder import is_encoder
from .guard import undisturbed
from .pipeline import Pipeline
from .references import EMPTY, SCORE_NAMES
from .rows import References, Texts, read_rows
from .samples import SampleStates
from .settings import ABOUT, Settings, refuse_unknown
from .state import METRIC_OPTIONS, uncompiled
from .syncing import alone

if TYPE_CHECKING:
    import os

    from .baseline import Baseline
    from .settings import Dtype, Layers, Matching, Overflow, Reduction, Score
    from .weighting import IdfSetting


class BERTScore(SampleStates):
    """BERTScore of generated texts against references, over all batches and processes.

    ``update`` encodes the texts of this process and keeps a few numbers: without idf three scores a
    sample and layer, with ``idf=True`` a similarity and an id a token. ``compute`` is arithmetic on
    them. The encoder is no child module: it adds no parameters and no checkpoint keys, follows
    ``.to(device)``, and is shared by copies. Settings can be read: ``metric.num_layers``, or, where
    torchmetrics has another use for the name, ``metric.settings.dtype``.

    Attributes:
        settings: all settings, as they were given.
        warns: whether ``compute`` warns of trouble in the data. Set it to False where another
            metric sees the same texts and has said it.

    Examples:
        >>> from bertscore_tm import BERTScore
        >>> metric = BERTScore("minilm", 6)
        >>> metric.update(["a dog", "rain"], ["a cat", "rain fell"])
        >>> print(f"{metric.compute():.4f}")
        0.7074

    Source: Zhang et al., BERTScore: Evaluating Text Generation with BERT, ICLR 2020, and the
    package Tiiiger/bert_score.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    feature_network = "pipeline"
    # TorchScript looks at all other properties.
    __jit_unused_properties__: ClassVar[list[str]] = [
        *Metric.__jit_unused_properties__, "signature", "encoder", "layers", "depth"
    ]  # fmt: skip
    if TYPE_CHECKING:  # TorchScript cannot read it
        settings: Settings

    def __init__(
        self,
        model_name_or_path: Any = None,
        num_layers: Layers | None = None,
        *,
        score: Score | None = "f1",
        reduction: Reduction = "mean",
        lang: str | None = None,
        idf: IdfSetting = False,
        beta: float = 1.0,
        rescale_with_baseline: bool | Baseline = False,
        baseline_path: str | os.PathLike[str] | None = None,
        match_special_tokens: bool = True,
        matching: Matching = "greedy",
        multi_reference: str = "max",
        overflow: Overflow = "truncate",
        max_length: int | None = None,
        empty_score: float = 0.0,
        dtype: Dtype = "float32",
        revision: str | None = None,
        safetensors_only: bool = True,
        batch_tokens: int | None = None,
        compile: bool = False,  # noqa: A002 - named like PyTorch's
        embedding_cache: int | str = "512MB",
        verbose: bool = False,
        **kwargs: Any,
    ) -> None:
        """Check the settings and find the encoder; its weights are loaded with the first texts.

        Args:
            model_name_or_path: a hub name, a folder, the alias "minilm" (all-MiniLM-L6-v2), or an
                `Encoder`. None: the encoder for ``lang``.
            num_layers: the hidden state that is compared, 0 being the embedding output; several;
                "all"; or a `TunedLayer`, or its file. None: the layer that agrees best with people
                where that was measured, else two thirds of the depth.
            score: "f1", "precision", "recall", or None for all three.
            reduction: "mean" over the samples, or "none": one value a sample.
            lang: language code that chooses encoder and baseline, in any case ("en", "de", "zh",
                "en-sci").
            idf: weight tokens by inverse document frequency: True (from the references of this
                epoch, over all processes), an `IdfTable`, weights by token id (others get the
                largest of them), or a `Weighting`.
            beta: how many times as much recall counts in F1 as precision; 1: the harmonic mean.
            rescale_with_baseline: rescale with a packaged table, that of ``baseline_path``, or a
                `Baseline`.
            baseline_path: file with the header ``LAYER,P,R,F`` and a line for each layer.
            match_special_tokens: whether special tokens such as ``[CLS]``, which never have a
                weight, may be matched.
            matching: "greedy" (the paper's), or "mutual": a token whose match has a better one
                gets half the credit above the baseline, which the encoder must have.
            multi_reference: with several references "max" (of P, R and F1 each), "best_f1" (the
                reference with the best F1 gives all three) or "mean".
            overflow: texts above the limit: "truncate" (counted, one warning), "window" (nothing is
                lost) or "error".
            max_length: tokens, special ones included; never above what the encoder has positions
                for.
            empty_score: value of a sample with nothing to score, after rescaling.
            dtype: of the encoder: "float32", "bfloat16" or "float16". Results are always float32.
            revision: of an encoder on the model hub: a branch, a tag or a commit;
                ``name@revision`` says the same.
            safetensors_only: refuse weights in PyTorch's old format, a pickle, which can run code
                when it is loaded; False: trust it.
            batch_tokens: padded tokens in one forward pass; None: 2,048 on a CPU, 32,768 elsewhere.
            compile: `torch.compile` the encoder.
            embedding_cache: bytes of host memory ("512MB") for vectors of texts that come again, of
                all metrics of the process together; 0: this one keeps none.
            verbose: show a progress bar.
            kwargs: those of `torchmetrics.Metric`.

        Raises:
            EncoderLoadError: if the encoder cannot be found or loaded.
            InvalidTypeError: if an argument has the wrong type or is one of another package's.
            InvalidValueError: if an option, layer, language or baseline does not exist.
        """
        given = {name: value for name, value in locals().items() if name in ABOUT}
        refuse_unknown(kwargs, [*ABOUT, *METRIC_OPTIONS])
        settings = Settings(**given)
        super().__init__(**kwargs)
        self.settings, self.pipeline, self.warns = settings, Pipeline(settings), True
        self._facts: dict[str, int | float] = {}
        self.add_sample_states()

    def update(
        self, preds: Texts, target: References, sample_ids: Iterable[int] | None = None
    ) -> None:
        """Add a batch.

        Args:
            preds: a string or an iterable of strings.
            target: the same, or for each prediction an iterable of references.
            sample_ids: an integer for each prediction, its row in the data set. Rows with an id
                that was seen before count once, and ``reduction="none"`` returns the order of the
                ids. All updates have ids, or none.

        Raises:
            InvalidTypeError: if something is no text; side, row and type are named.
            InvalidValueError: if the numbers of rows differ, a row has no reference, only some
                updates have ids, or a text is too long under ``overflow="error"``. The state is as
                before after each error.
        """
        rows = read_rows(preds, target, sample_ids)
        if len(rows):
            self.refuse_mixed_rows(rows)
            with undisturbed(self.device):
                self.append_rows(rows, self.pipeline.match(rows, self.device))

    def compute(self) -> Tensor | dict[str, Tensor]:
        """The score of all samples so far, of all processes.

        A process without an update since the last call, not even one with nothing, returns its last
        value and syncs with nobody.

        Returns:
            float32: a scalar for one score and layer (``reduction="none"``: a vector,
            ``[samples]``), else a flat dict with the keys "f1", "layer_5" or "layer_5_f1". NaN, or
            an empty vector, if there are no samples.

        Raises:
            InvalidValueError: if a sample id came with different texts.
        """
        scores, self._facts = self._samples()
        # The value of a single batch, from forward, comes without warnings.
        if self.warns and self._should_unsync:
            self.pipeline.warn(self._facts)
        return self.pipeline.answer(scores, self.settings.score, self.settings.reduction)

    @torch.jit.unused
    @uncompiled
    def forward(
        self,
        preds: Texts,
        target: References,
        sample_ids: Iterable[int] | None = None,
        **more: Any,
    ) -> Any:
        """Add a batch and return its score; arguments and errors as in `update`."""
        if type(self).update is not BERTScore.update:  # it may take something else
            return super().forward(preds, target, sample_ids, **more)
        # torchmetrics may go through them twice, the first time without a state.
        rows = read_rows(preds, target, sample_ids)
        self.refuse_mixed_rows(rows)
        return super().forward(rows.preds, rows.groups, rows.ids)

    def _samples(self) -> tuple[Tensor, dict[str, int | float]]:
        """Finished scores of the samples, ``[samples, layers, 3]``, and facts about them."""
        with torch.no_grad():
            flat, _, counts = self.collect_samples(alone, 0)
            scores = flat.reshape(-1, len(self.pipeline.layers), len(SCORE_NAMES))
            facts = collect_facts(scores[:, 0, 0] == EMPTY, counts)
            return self.pipeline.finish(scores), facts

    def release(self) -> None:
        """Give back the memory of vectors and weights, unless other metrics use the weights.

        The next text loads them again. See also `release_memory`.
        """
        self.pipeline.lease.release()

    @property
    def signature(self) -> str:
        """One line that says how the score is made; equal for equal settings.

        A custom model stands in it with the weights that scored first since the last reset.
        """
        return self.pipeline.signature(int(self.weights_digest))

    @property
    def layers(self) -> tuple[int, ...]:
        """The hidden states that are compared."""
        return self.pipeline.layers

    @property
    def depth(self) -> int:
        """The highest hidden state of the encoder."""
        return self.pipeline.encoder.depth

    @property
    def encoder(self) -> Any:
        """The encoder: `HuggingFaceEncoder`, or the object that was given."""
        given = self.settings.model_name_or_path
        if is_encoder(given) and getattr(given, "sharing_key", None) is not None:
            return given  # an equal one may be run in its place
        return getattr(self.pipeline.encoder, "given", self.pipeline.encoder)

    def diagnostics(self) -> dict[str, int | float]:
        """What was seen in the data: after ``compute`` on all processes, before it on this one.

        Returns:
            "samples", "empty" (samples with nothing to score; "empty_preds" and "empty_targets" say
            on which side), "texts", "truncated" (texts), "lost_tokens", "unknown_share" (of the
            tokens, 0 to 1), "special_token_texts" (texts that spell out a special token),
            "weightless" (pairs with a side whose weights are all zero), "lookalikes" (predictions
            that differ from a reference only in Unicode form or white space, in other tokens);
            each sample counts once.
            "encoded_tokens" and "cache_hits" are of the encoder, which other metrics may share,
            since it was made.
        """
        facts = self._facts if self._computed is not None else self._samples()[1]
        engine = self.pipeline.lease.engine
        more = {"encoded_tokens": engine.encoded_tokens, "cache_hits": engine.cache_hits}
        return {**facts, **more}

    def __getattr__(self, name: str) -> Any:
        """Each setting can be read."""
        if name in ABOUT and "settings" in self.__dict__:
            return getattr(self.settings, name)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; settings never change.

        What FeatureShare wants to share is shared already: its wrapper is not needed.
        """
        if name in ABOUT:
            raise AttributeError(
                f"got a new value for the setting {name!r} of a metric; wanted another metric: "
                f"BERTScore(..., {name}=...)"
            )
        if name != self.feature_network or name not in self.__dict__:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        """The settings that differ from the defaults."""
        said = [f"{name}={value!r}" for name, value in self.settings.changed().items()]
        return f"{type(self).__name__}({', '.join(said)})"
