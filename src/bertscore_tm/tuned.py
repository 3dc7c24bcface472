"""The layer that was chosen for an encoder, and why: plain data, kept in a file of JSON."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .errors import InvalidTypeError, InvalidValueError, file_errors

_FORMAT = "bertscore_tm tuned layer 1"


@dataclass(frozen=True)
class LayerAgreement:
    """How one layer agrees with people. Intervals hold 95% of the resamples.

    Attributes:
        layer: the hidden state.
        precision: Pearson correlation with the human scores, in [-1, 1]; of several groups the
            mean of theirs.
        recall: the same of recall.
        f1: the same of F1.
        low: end of the interval of the score that was tuned.
        high: its other end.
        behind: by how much that score agrees less than that of the chosen layer.
        behind_low: end of the interval of this difference.
        behind_high: its other end.
        chosen: the share of resamples in which this layer agrees best.
    """

    layer: int
    precision: float
    recall: float
    f1: float
    low: float
    high: float
    behind: float
    behind_low: float
    behind_high: float
    chosen: float

    @property
    def tied(self) -> bool:
        """Whether it could not be told apart from the chosen layer, or is that layer."""
        return self.behind_low <= 0


@dataclass(frozen=True)
class TunedLayer:
    """The layer of an encoder that agrees best with people; ``num_layers`` takes it as it is.

    Attributes:
        layer: the hidden state.
        encoder: the name of the encoder.
        version: its version.
        signature: of the run that it was chosen in, with all layers.
        score: what was tuned: "f1", "precision" or "recall".
        rows: number of judged texts.
        clusters: number of sets of rows that were resampled as one, those with equal references.
        groups: number of groups within which correlations were taken.
        held_out: correlation of the layer that is best on all folds but one, on that fold; the
            mean over the folds.
        folds: the layer that was best without each fold.
        resamples: number of bootstrap resamples.
        seed: of folds and resamples.
        layers: what was found of each layer, from 0.
    """

    layer: int
    encoder: str
    version: str
    signature: str = field(repr=False)
    score: str = field(repr=False)
    rows: int = field(repr=False)
    clusters: int = field(repr=False)
    groups: int = field(repr=False)
    held_out: float = field(repr=False)
    folds: tuple[int, ...] = field(repr=False)
    resamples: int = field(repr=False)
    seed: int = field(repr=False)
    layers: tuple[LayerAgreement, ...] = field(repr=False)

    def __index__(self) -> int:
        """The layer: so it can stand wherever a layer can."""
        return self.layer

    @property
    def ties(self) -> list[int]:
        """The other layers that could not be told apart from the chosen one."""
        return [each.layer for each in self.layers if each.tied and each.layer != self.layer]

    def check(self, name: str, version: str) -> None:
        """Raise InvalidValueError for an encoder that has neither this name nor this version."""
        if name != self.encoder and version != self.version:
            raise InvalidValueError(
                f"got the layer that was tuned for encoder {self.encoder!r} ({self.version}) with "
                f"encoder {name!r} ({version}); wanted that one, or num_layers={self.layer}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with the layers that could not be told apart."""
        data = {**asdict(self), "folds": list(self.folds), "ties": self.ties}
        return {"format": _FORMAT, **data, "layers": [asdict(each) for each in self.layers]}

    def to_text(self) -> str:
        """A table for people."""
        said = f"{self.rows:,} rows in {self.clusters:,} sets and {self.groups:,} groups"
        lines = [f"{said}; Pearson r, 95% intervals of {self.score}", ""]
        lines.append(
            "layer  precision  recall      f1   interval           behind the best    best"
        )
        for each in self.layers:
            mark = "*" if each.layer == self.layer else "=" if each.tied else " "
            lines.append(
                f"{each.layer:4d} {mark}  {each.precision:8.3f}  {each.recall:6.3f}  {each.f1:6.3f}"
                f"   {each.low:6.3f} {each.high:6.3f}   {each.behind:6.3f} "
                f"({each.behind_low:6.3f} {each.behind_high:6.3f})  {each.chosen:4.0%}"
            )
        ties = ", ".join(map(str, self.ties)) or "none"
        folds = ", ".join(map(str, self.folds))
        lines += ["", f"layer {self.layer}; could not be told apart (=): {ties}"]
        lines.append(f"held out: r {self.held_out:.3f}; chosen without each fold: {folds}")
        return "\n".join([*lines, self.signature]) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON (UTF-8)."""
        with file_errors(path):
            Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TunedLayer:
        """Read what `save` wrote.

        Raises:
            TextFileError: if the file cannot be read.
            InvalidTypeError: if ``path`` is no path.
            InvalidValueError: if it is something else.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidTypeError(
                f"got {type(path).__name__} as the file of a tuned layer; wanted its path"
            )
        try:
            with file_errors(path):
                data = json.loads(Path(path).read_text(encoding="utf-8-sig"))
            if data.pop("format") != _FORMAT:
                raise InvalidValueError("it has another format")
            del data["ties"]
            layers = tuple(LayerAgreement(**each) for each in data.pop("layers"))
            folds = tuple(data.pop("folds"))
            found = cls(**data, folds=folds, layers=layers)
            if not all(isinstance(each, str) for each in (found.encoder, found.version)):
                raise InvalidTypeError("its encoder is no text")
            if type(found.layer) is not int or found.layer not in [x.layer for x in layers]:
                raise InvalidValueError(f"its layer is {str(found.layer)[:20]!r}")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            reason = str(error)[:200]  # it may quote much of the file
            raise InvalidValueError(
                f"{os.fspath(path)!r} holds no tuned layer ({reason}); wanted a file that "
                "bertscore-tm tune or TunedLayer.save wrote"
            ) from error
        return found
