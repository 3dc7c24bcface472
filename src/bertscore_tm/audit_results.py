"""What an audit found: plain data, a table of it, and what to do about what is missed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# A damage is missed if it scores at least as high as this share of what is right; or, where
# there is nothing to compare it with, if it costs less than this, of the 1 of an equal text.
MISSED_SHARE, MISSED_DROP = 0.5, 0.1
ADVICE = {
    "swapped words": "order of words: chrF or BLEU beside it (sacrebleu)",
    "negation": "negations: mismatch flags (--mismatches), or a model of entailment",
    "number": "numbers: mismatch flags (--mismatches), or an exact comparison of the numbers",
    "name": "names: mismatch flags (--mismatches), or the share of names that come back",
    "gender": "gender: mismatch flags (--mismatches)",
    "truncated half": "what is missing: recall instead of F1, or the ratio of lengths",
    "repeated phrase": "repetition: precision instead of F1, or the share of distinct 3-grams",
    "shuffled sentences": "order of sentences: ROUGE-L (rouge-score), or a look at the texts",
    "untranslated source": "untranslated text: identify the language of the candidates",
}


@dataclass(frozen=True)
class Noticed:
    """How a score answers to one kind of damage.

    Attributes:
        kind: of the damage.
        texts: how many references it applied to.
        drop: what it costs a reference against itself, on average; None without texts.
        candidates: how many candidates it applied to.
        candidate_drop: what it costs a candidate, on average; None without any.
        compared: how many pairs of a damaged reference and another reference there were.
        beats_reference: in how many of 1 the damaged text scores at least as high as that other
            reference; None without any.
        compared_candidates: how many damaged references had a candidate beside them.
        beats_candidate: in how many of 1 the damaged text scores at least as high as it.
        flagged: in how many of 1 the mismatch flag of that name is raised; None if there is none.
    """

    kind: str
    texts: int
    drop: float | None
    candidates: int
    candidate_drop: float | None
    compared: int
    beats_reference: float | None
    compared_candidates: int
    beats_candidate: float | None
    flagged: float | None

    @property
    def missed(self) -> bool:
        """Whether the score is no help against it."""
        shares = [s for s in (self.beats_reference, self.beats_candidate) if s is not None]
        if shares:
            return max(shares) >= MISSED_SHARE
        return self.drop is not None and self.drop < MISSED_DROP


@dataclass(frozen=True)
class Bias:
    """How far a score moves when candidate and reference are changed alike; it should not.

    Attributes:
        kind: "gender" or "name".
        texts: how many pairs both had something to change.
        moved: the mean distance, without sign; None without texts.
        mean: the mean difference, after minus before.
        largest: the largest distance.
    """

    kind: str
    texts: int
    moved: float | None
    mean: float | None
    largest: float | None


@dataclass(frozen=True)
class Audit:
    """What a configuration notices.

    Attributes:
        score: which one was audited: "precision", "recall" or "f1".
        rows: the number of rows.
        noticed: of each damage.
        biases: of gender and names; empty where there was nothing beside one reference a row.
        seed: of the damages.
        signature: of the configuration.
    """

    score: str
    rows: int
    noticed: tuple[Noticed, ...]
    biases: tuple[Bias, ...]
    seed: int
    signature: str

    def advice(self) -> dict[str, str]:
        """What to use beside the score, for each damage that it misses."""
        return {n.kind: ADVICE[n.kind] for n in self.noticed if n.missed}

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        noticed = [{**asdict(each), "missed": each.missed} for each in self.noticed]
        biases = [asdict(each) for each in self.biases]
        return {
            "signature": self.signature,
            "score": self.score,
            "rows": self.rows,
            "seed": self.seed,
            "damages": noticed,
            "biases": biases,
            "advice": self.advice(),
        }

    def to_text(self) -> str:
        """A table, and a line of advice for each damage that is missed."""
        heads = [
            "damage",
            "texts",
            "drop",
            "of candidates",
            ">= reference",
            ">= candidate",
            "flagged",
        ]
        rows = [
            [n.kind, str(n.texts), _number(n.drop), _number(n.candidate_drop),
             *map(_share, (n.beats_reference, n.beats_candidate, n.flagged))]
            for n in self.noticed
        ]  # fmt: skip
        lines = _table([heads, *rows])
        if self.biases:
            heads = ["same change on both sides", "texts", "moved", "mean", "largest"]
            values = [
                [b.kind, str(b.texts), *map(_number, (b.moved, b.mean, b.largest))]
                for b in self.biases
            ]
            lines += ["", *_table([heads, *values])]
        if advice := self.advice():
            lines += ["", "missed; use beside it"]
            lines += [f"  {kind}: {text}" for kind, text in advice.items()]
        return "\n".join([*lines, "", f"{self.score} of {self.rows} rows, seed {self.seed}",
                          self.signature]) + "\n"  # fmt: skip


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))])
        for row in rows
    ]
