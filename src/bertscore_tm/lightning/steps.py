"""What a step of a module gives to the callbacks: its texts, and a metric of its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import InvalidTypeError, InvalidValueError
from ..metric import BERTScore

# What makes a metric: `functools.partial(BERTScore, "minilm")` for instance, or one as a pattern.
Maker = BERTScore | Callable[..., BERTScore]


class StepTexts(NamedTuple):
    """The texts of a step.

    Attributes:
        preds: a text for each row.
        targets: its reference or references.
        sources: what it was made from, if that is known.
        ids: the place of each row in the data set, if that is known.
    """

    preds: Sequence[str]
    targets: Sequence[str | Sequence[str]]
    sources: Sequence[str] | None
    ids: Sequence[int] | None


def texts_of(outputs: Any, batch: Any) -> StepTexts:
    """The texts of a step: what it returned, and what is not there from its batch.

    Raises:
        InvalidValueError: if there are no predictions or no targets.
    """
    found: dict[str, Any] = {}
    for part in (batch, outputs):  # what was returned comes first
        if isinstance(part, Mapping):
            found |= {name: part[name] for name in StepTexts._fields if name in part}
    for name in ("preds", "targets"):
        if name not in found:
            raise InvalidValueError(
                f"got no {name!r} from a step, which returned {_said(outputs)} for {_said(batch)}; "
                'wanted a step that returns {"preds": [texts], "targets": [references]}'
            )
    ids = found.get("ids")
    if ids is not None:
        ids = [int(one) for one in ids]
    return StepTexts(found["preds"], found["targets"], found.get("sources"), ids)


def _said(value: Any) -> str:
    """A value by its kind, and the names in it."""
    names = f" with {', '.join(map(str, value)) or 'nothing'}" if isinstance(value, Mapping) else ""
    return f"{type(value).__name__}{names}"


def make_like(maker: Maker, **changes: Any) -> BERTScore:
    """A new metric with some settings of its own.

    Raises:
        InvalidTypeError: if what should make it does not.
    """
    if isinstance(maker, BERTScore):
        return type(maker)(**{**maker.settings.changed(), **changes})
    made = maker(**changes) if callable(maker) else maker
    if not isinstance(made, BERTScore):
        raise InvalidTypeError(
            f"got metric={maker!r}; wanted a BERTScore, or what makes one, such as "
            'functools.partial(BERTScore, "minilm")'
        )
    return made


def settings_of(metric: BERTScore) -> dict[str, Any]:
    """What `explain` and `report` need to score as a metric does: they give all three scores."""
    changed = metric.settings.changed()
    return {name: value for name, value in changed.items() if name not in ("score", "reduction")}
