"""`report`: one or several systems scored, and all that a page shows of them, as plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .annotation import annotation_sheet
from .decoding import printable
from .errors import InvalidTypeError
from .functional import refuse_options
from .machine import usable_device
from .output import write_output
from .pipeline import Pipeline
from .references import SCORE_NAMES
from .report_data import Wishes, check_number, collect_data
from .report_page import as_report_page
from .rows import References, Texts, read_rows
from .settings import Settings

if TYPE_CHECKING:
    import os

    import torch
    from typing_extensions import Unpack

    from .settings import Options


@dataclass(frozen=True)
class Report:
    """What is known of some systems: scores, intervals, texts, alignments of some rows.

    Attributes:
        data: what JSON can hold; docs/report.md names its parts.
    """

    data: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The data, whole: a page shortens the texts of very large sets."""
        return dict(self.data)

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.data, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """A page that needs nothing else, to be opened from a disk."""
        return as_report_page(self.data)

    def to_text(self) -> str:
        """The means with their intervals, a line for each system, and the signature."""
        several = len(self.data["systems"]) > 1
        lines = []
        for system in self.data["systems"]:
            values = [
                f"{label} {system['mean'][name]:.4f} "
                f"[{system['interval'][name][0]:.4f}, {system['interval'][name][1]:.4f}]"
                for label, name in zip(("P", "R", "F1"), SCORE_NAMES)
            ]
            lines.append("  ".join([*([printable(system["name"])] if several else []), *values]))
        return "\n".join([*lines, self.data["signature"]]) + "\n"

    def annotation_sheet(self, number: int, seed: int = 0) -> str:
        """Samples for people to score, as a table with tabs.

        Args:
            number: how many rows: worst, best, most different between the systems, random. The
                table has a line for each system.
            seed: of what is random.

        Raises:
            InvalidValueError: if the number is below 1.
        """
        check_number("number", number, 1)
        return annotation_sheet(self.data, number, seed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Raises:
            TextFileError: if that fails.
        """
        write_output(self.to_html(), str(path))


def report(
    preds: Texts | Mapping[str, Iterable[str]],
    target: References,
    model_name_or_path: Any = None,
    num_layers: int | None = None,
    *,
    sources: Iterable[str] | None = None,
    title: str = "BERTScore report",
    alignments: int = 100,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    device: str | int | torch.device | None = None,
    **options: Unpack[Options],
) -> Report:
    """Scores of systems with what explains them, for a page that one can look at.

    Args:
        preds: the predictions of one system, or a mapping of names to those of several.
        target: their references, the same for all.
        model_name_or_path: the encoder, as in `BERTScore`.
        num_layers: the layer, as in `BERTScore`.
        sources: what the predictions were made of, a text a row, if that is to be shown.
        title: of the page.
        alignments: of how many rows the page shows which token matches which: in turns the worst
            and the best of each system, those in which systems differ most, and random ones.
        resamples: of the bootstrap that gives intervals of the means.
        confidence: of these intervals.
        seed: of resamples and random rows.
        device: where to compute, as in `bert_score`.
        options: the other settings of `BERTScore`, but for ``score`` and ``reduction``.

    Raises:
        EncoderLoadError: if the encoder cannot be found or loaded.
        InvalidTypeError: if something is no text, or an argument has the wrong type.
        InvalidValueError: if the numbers of rows differ, there are none or several layers, or an
            option or a device does not exist.

    Examples:
        >>> from bertscore_tm import report
        >>> found = report({"new": ["a dog"], "old": ["rain"]}, ["a cat"], "minilm", 6)
        >>> [round(system["mean"]["f1"], 4) for system in found.to_dict()["systems"]]
        [0.6034, 0.1406]
    """
    wishes = Wishes(title, alignments, resamples, confidence, seed)
    refuse_options(options, "report, which shows all three scores of each row")
    named = dict(preds) if isinstance(preds, Mapping) else {"system": preds}
    if not named or not all(isinstance(name, str) for name in named):
        raise InvalidTypeError(
            f"got {list(named)[:3]!r} as names of systems; wanted at least one, each a text"
        )
    systems = {}
    for name, texts in named.items():
        systems[name] = read_rows(texts, target)
        target = systems[name].groups  # an iterator gives them once
    where = usable_device(device)
    pipeline = Pipeline(Settings(model_name_or_path, num_layers, **options))
    return Report(collect_data(pipeline, list(systems.items()), where, sources, wishes))
