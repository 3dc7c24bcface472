"""Scores as columns of batches: what `map` of datasets and `map_batches` of Ray Data call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import InvalidTypeError, InvalidValueError
from .functional import refuse_options, score_rows
from .machine import usable_device
from .pipeline import Pipeline
from .rows import read_rows
from .settings import Settings
from .tables import listed, nearest

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

    from .settings import Layers, Options


class ScoreColumns:
    """Adds precision, recall and F1 to batches of columns.

    An object is a function of a batch, a mapping from names to columns. It is small when it is
    pickled: the encoder is loaded with the first batch, once in each process or actor.

    Examples:
        >>> from bertscore_tm import ScoreColumns
        >>> add_scores = ScoreColumns("minilm", 6, candidate="output", reference="target")
        >>> batch = add_scores({"output": ["a dog", "rain"], "target": ["a cat", "rain fell"]})
        >>> [round(float(value), 4) for value in batch["f1"]]
        [0.6034, 0.8114]
    """

    def __init__(
        self,
        model_name_or_path: Any = None,
        num_layers: Layers | None = None,
        *,
        candidate: str = "prediction",
        reference: str = "reference",
        prefix: str = "",
        device: str | int | torch.device | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Check the settings; nothing is loaded.

        Args:
            model_name_or_path: the encoder, as in `BERTScore`.
            num_layers: the layer or layers, as in `BERTScore`.
            candidate: column of the predictions.
            reference: column of the references; each a text or a list of texts.
            prefix: of the names of the new columns.
            device: where to compute, as in `bert_score`.
            options: the other settings of `BERTScore`, but for ``score`` and ``reduction``.

        Raises:
            InvalidTypeError: if an argument has the wrong type.
            InvalidValueError: if an option does not exist, or needs all rows at once.
        """
        refuse_options(options, "ScoreColumns, which adds all three scores")
        self._settings = Settings(model_name_or_path, num_layers, **options)
        if options.get("idf") in (True, "epoch"):
            raise InvalidValueError(
                "got idf=True for batches, each of which would have weights of its own; wanted "
                "idf=IdfTable.fit(references, encoder)"
            )
        self._columns, self._prefix, self._device = (candidate, reference), prefix, device
        self._pipeline: Pipeline | None = None

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The batch with three columns more, float32 arrays of numpy.

        Raises:
            InvalidTypeError: if the batch is no mapping.
            InvalidValueError: if it lacks a column.
        """
        if not isinstance(batch, Mapping):
            raise InvalidTypeError(
                f"got {type(batch).__name__} as a batch; wanted a mapping from names to columns "
                '(datasets: batched=True; Ray Data: batch_format="numpy")'
            )
        for name in self._columns:
            if name not in batch:
                raise InvalidValueError(
                    f"got a batch without {name!r}; it has {listed(batch)}{nearest(name, batch)}"
                )
        preds, target = (list(batch[name]) for name in self._columns)
        rows = read_rows(preds, [t if isinstance(t, str) else list(t) for t in target])
        if self._pipeline is None:
            self._pipeline = Pipeline(self._settings)
        scores = score_rows(self._pipeline, rows, usable_device(self._device))
        named = {f"{self._prefix}{name}": column.cpu().numpy() for name, column in scores.items()}
        return {**batch, **named}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pipeline": None}
