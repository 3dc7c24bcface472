"""What `explain` says of a pair of texts: plain data, and the forms in which it can be had."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class AlignedToken:
    """A token of one side.

    Attributes:
        text: as it stands in the text; where nobody knows its place, what the vocabulary calls it.
            Empty for a token that is white space only. Tokens of one character share it.
        start: where it begins in the text that was given, in characters; None: not known, or it
            stands nowhere, as ``[CLS]``.
        end: where it ends.
        special: whether it is a special token, which has no weight.
        weight: how much it counts.
        similarity: cosine with its match, in [-1, 1]; None: it has none.
        match: the place of that among the tokens of the other side, the first of several equals;
            None: it was not matched, as it is special or its pair has nothing to score.
        contribution: what it adds to the precision or recall of its pair, before rescaling.
    """

    text: str
    start: int | None
    end: int | None
    special: bool
    weight: float
    similarity: float | None
    match: int | None
    contribution: float


@dataclass(frozen=True)
class AlignedText:
    """One side of a pair.

    Attributes:
        text: as it was given.
        tokens: as the encoder saw them, special ones included.
        lost: tokens that were cut off, as the text is longer than the encoder allows; they played
            no part and are not among ``tokens``.
    """

    text: str
    tokens: tuple[AlignedToken, ...]
    lost: int

    def to_dict(self) -> dict[str, Any]:
        """As plain data; of the tokens a list for each attribute."""
        names = [part.name for part in fields(AlignedToken)]
        columns = {name: [getattr(token, name) for token in self.tokens] for name in names}
        return {"text": self.text, "tokens": columns, "lost": self.lost}


@dataclass(frozen=True)
class AlignedPair:
    """A prediction and one reference.

    Attributes:
        precision: before rescaling; None: the pair has nothing to score. The contributions of the
            tokens of ``pred`` add up to it.
        recall: the same, of the tokens of ``target``.
        f1: the same, made of both.
        pred: the prediction.
        target: the reference.
        rows: the cosines of each token of ``pred`` with all tokens of ``target``.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    pred: AlignedText
    target: AlignedText
    rows: tuple[array[float], ...]

    @property
    def similarity(self) -> list[list[float]]:
        """The cosines, ``[tokens of pred][tokens of target]``, special tokens included."""
        return [row.tolist() for row in self.rows]

    def to_dict(self, similarity: bool = False) -> dict[str, Any]:
        """As plain data, on request with the cosines."""
        scores = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        sides = {"pred": self.pred.to_dict(), "target": self.target.to_dict()}
        return {**scores, **sides, **({"similarity": self.similarity} if similarity else {})}


@dataclass(frozen=True)
class Alignment:
    """How a prediction got its scores: token by token, for each of its references.

    Attributes:
        precision: as the metric gives it, rescaled where that is asked for.
        recall: the same.
        f1: the same.
        signature: one line that says how the scores were made.
        pairs: the prediction with each of its references, in their order.
        taken: for "precision", "recall" and "f1", the places of the pairs that it was taken from:
            one of them, all in a mean, several equals, none where nothing is scored.
    """

    precision: float
    recall: float
    f1: float
    signature: str
    pairs: tuple[AlignedPair, ...]
    taken: Mapping[str, tuple[int, ...]]

    @property
    def best(self) -> AlignedPair:
        """The pair that F1 was taken from; the first, where that is several or none."""
        return self.pairs[self.taken["f1"][0] if self.taken["f1"] else 0]

    @property
    def pred(self) -> AlignedText:
        """The prediction beside the reference of `best`."""
        return self.best.pred

    @property
    def target(self) -> AlignedText:
        """The reference of `best`."""
        return self.best.target

    @property
    def similarity(self) -> list[list[float]]:
        """The cosines of `best`, ``[tokens of pred][tokens of target]``."""
        return self.best.similarity

    def to_dict(self, similarity: bool = False) -> dict[str, Any]:
        """As plain data that JSON can hold, on request with the cosines of all pairs of tokens."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "signature": self.signature,
            "taken": {name: list(places) for name, places in self.taken.items()},
            "pairs": [pair.to_dict(similarity) for pair in self.pairs],
        }

    def to_text(self, color: bool | None = None) -> str:
        """For a terminal: each token with its match.

        Args:
            color: whether to use colours; None: if standard output is a terminal, and the
                environment has no ``NO_COLOR``.
        """
        from .text_view import as_text

        return as_text(self, color)

    def to_html(self, shared: bool = True) -> str:
        """A fragment of HTML that needs nothing else: pointing at a token shows its match.

        Args:
            shared: with the styles and the script that all fragments of a page share; a page of
                many needs them once, `bertscore_tm.html_view.SHARED`.
        """
        from .html_view import as_html

        return as_html(self, shared)

    def plot(self, ax: Any = None) -> tuple[Any, Any]:
        """Draw the cosines of `best` as a heatmap, with the matches of both sides.

        Args:
            ax: the axes of matplotlib to draw on; None: those of a new figure, which belongs to
                nobody else: ``figure.savefig(...)`` writes it, nothing shows it.

        Returns:
            The figure and its axes.

        Raises:
            MissingPackageError: if matplotlib is not installed.
        """
        from .plotting import heatmap

        return heatmap(self, ax)

    def _repr_html_(self) -> str:
        return self.to_html()
