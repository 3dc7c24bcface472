"""Weightings: how much each token counts. They are values: a name, and weights from references.

A weighting of your own is a subclass of `Weighting`, given as ``idf=``. One that others should
reach by name, also on the command line, is a line in `WEIGHTINGS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .checks import spelled
from .encoder import Encoder
from .errors import InvalidTypeError, InvalidValueError
from .idf import DocumentFrequencies, IdfTable
from .machine import widest_float
from .scoring import Weigh, equal_weights


class Weighting(ABC):
    """How much each token counts.

    Attributes:
        name: what the signature calls it, not empty. Weightings of one name must weigh alike: the
            fingerprint, which keeps states apart that must not be mixed, tells them by it.
        needs_epoch: whether the weights are known only when all references of the epoch are, over
            all processes. Matches are then kept until ``compute``: 8 bytes a token.
    """

    name: str = ""
    needs_epoch: bool = False

    @abstractmethod
    def weights(self, encoder: Encoder, references: DocumentFrequencies | None) -> Weigh:
        """The weights of tokens.

        Args:
            encoder: the encoder, for instance for `Encoder.pieces`, the texts of token ids.
            references: in how many references each token occurs, over the epoch and all
                processes; None unless ``needs_epoch``.

        Returns:
            A function from token ids, int32 ``[tokens]``, to weights that are finite and not
            negative, float ``[tokens]``.
        """


class Uniform(Weighting):
    """All tokens alike: no idf."""

    name = "no"

    def weights(self, encoder: Encoder, references: DocumentFrequencies | None) -> Weigh:
        """The weight 1."""
        return equal_weights


class EpochIdf(Weighting):
    """By rarity in the references of the epoch, over all processes."""

    name, needs_epoch = "epoch", True

    def weights(self, encoder: Encoder, references: DocumentFrequencies | None) -> Weigh:
        """``log((N + 1) / (df + 1))``."""
        assert references is not None
        return IdfTable.from_frequencies(references)


class FromTable(Weighting):
    """Weights that are known beforehand."""

    def __init__(self, table: IdfTable) -> None:
        """Weigh by a table; its name tells its content."""
        self.table, self.name = table, f"table@{table.digest}"

    def weights(self, encoder: Encoder, references: DocumentFrequencies | None) -> Weigh:
        """Those of the table.

        Raises:
            InvalidValueError: if it was fitted with another tokenizer.
        """
        if self.table.tokenizer not in (None, encoder.tokenizer_id):
            raise InvalidValueError(
                f"got an idf table of tokenizer {self.table.tokenizer}, but encoder "
                f"{encoder.name!r} has {encoder.tokenizer_id}; wanted a table fitted with the same "
                "tokenizer: IdfTable.fit(texts, encoder)"
            )
        return self.table


# Weightings that are reached by name; False is the first, True the second.
WEIGHTINGS: dict[str, type[Weighting]] = {
    "uniform": Uniform,
    "epoch": EpochIdf,
}

IdfSetting: TypeAlias = bool | str | IdfTable | Mapping[int, float] | Weighting


def choose_weighting(idf: Any) -> Weighting:
    """The weighting that the setting ``idf`` means.

    Raises:
        InvalidTypeError: if it means none, or there is none of this name.
        InvalidValueError: if an own one has no name, or that of another.
    """
    if isinstance(idf, bool):
        return WEIGHTINGS["epoch" if idf else "uniform"]()
    if isinstance(idf, str):
        if idf in WEIGHTINGS:
            return WEIGHTINGS[idf]()
        near = get_close_matches(idf, WEIGHTINGS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InvalidTypeError(f"got {spelled('idf', idf)}; {_wanted()}{hint}")
    if isinstance(idf, Weighting):
        if not (isinstance(idf.name, str) and idf.name.strip() and idf.name.isprintable()):
            raise InvalidValueError(
                f"got a weighting {type(idf).__name__} with the name {idf.name!r}; wanted one line "
                "of text that tells it from others"
            )
        taken = {kind.name for kind in WEIGHTINGS.values() if not isinstance(idf, kind)}
        if idf.name in taken or (idf.name.startswith("table@") and not isinstance(idf, FromTable)):
            raise InvalidValueError(
                f"got a weighting {type(idf).__name__} with the name {idf.name!r}, which is that "
                "of another; wanted one of its own: states are told apart by it"
            )
        return idf
    if isinstance(idf, (IdfTable, Mapping)):
        return FromTable(idf if isinstance(idf, IdfTable) else IdfTable(idf))
    raise InvalidTypeError(f"got {type(idf).__name__} as idf; {_wanted()}")


def _wanted() -> str:
    names = ", ".join(map(repr, WEIGHTINGS))
    return (
        f"wanted True, False, {names}, an IdfTable, a mapping from token id to weight, or an "
        "object of a subclass of bertscore_tm.Weighting"
    )


def checked_weights(
    weighting: Weighting, encoder: Encoder, references: DocumentFrequencies | None = None
) -> Weigh:
    """The weights of a weighting, which may be somebody's own, checked where they are used."""
    weigh = weighting.weights(encoder, references)
    if isinstance(weigh, IdfTable) or weigh is equal_weights:
        return weigh

    def checked(token: Tensor) -> Tensor:
        weight = torch.as_tensor(weigh(token))
        said = f"the weighting {weighting.name!r} gave"
        if weight.shape != token.shape:
            raise InvalidValueError(
                f"{said} weights of shape {list(weight.shape)}; wanted {list(token.shape)}, one "
                "for each token id"
            )
        weight = weight.to(token.device, widest_float(token.device))
        if not bool(((weight >= 0) & (weight < 1e100)).all()):
            raise InvalidValueError(
                f"{said} a weight that is negative or not finite; wanted numbers from 0 on"
            )
        return weight

    return checked
