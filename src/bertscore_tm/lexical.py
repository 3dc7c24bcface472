"""What BERTScore is compared with: BLEU, chrF, ROUGE and token overlap of each row.

BLEU and chrF come from sacrebleu, ROUGE from rouge-score, both imported with the first row that
they score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from .checks import FLAGS, one_of, spelled
from .errors import InvalidTypeError, InvalidValueError, MissingPackageError, warn

LEXICAL = ("bleu", "chrf", "rouge1", "rougeL", "overlap")
TOKENIZERS = ("13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab")  # none is downloaded
FLAGS.update(others="--others", tokenize="--tokenize")

Row = Callable[[str, Sequence[str]], float]


def lexical_scores(
    preds: Sequence[str],
    target: Sequence[Sequence[str]],
    names: Sequence[str] = LEXICAL,
    tokenize: str | None = None,
) -> dict[str, list[float]]:
    """Scores of each row, as the libraries give them; of several references as they have it.

    Args:
        preds: predictions.
        target: the references of each.
        names: some of `LEXICAL`. "bleu" is sacrebleu's sentence score with effective order, "chrf"
            its chrF; "rouge1" and "rougeL" are F-measures without stemming; "overlap" is F1 of the
            lower-cased tokens as a bag, with the best reference.
        tokenize: a tokenizer of sacrebleu for all but chrF; None: 13a for BLEU and overlap, and
            rouge-score's own for ROUGE, which knows a to z and digits only: where most letters
            of the references are others, ROUGE takes 13a, with a warning.

    Raises:
        InvalidTypeError: if the names are no list of texts.
        InvalidValueError: if a name does not exist.
        MissingPackageError: if a library is not installed.
    """
    rows = scorers(names, tokenize, [text for group in target for text in group])
    return {
        name: [score(pred, group) for pred, group in zip(preds, target)]
        for name, score in rows.items()
    }


def scorers(
    names: Sequence[str], tokenize: str | None = None, references: Sequence[str] = ()
) -> dict[str, Row]:
    """For each name a function of a prediction and its references; see `lexical_scores`."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InvalidTypeError(
            f"got {spelled('others', names)}; wanted a list with some of {', '.join(LEXICAL)}"
        )
    for name in names:
        if name not in LEXICAL:
            raise InvalidValueError(
                f"got {spelled('others', name)}; wanted some of {', '.join(LEXICAL)}"
            )
    one_of(*TOKENIZERS, None)("tokenize", tokenize)
    if not names:
        return {}
    bleu, chrf, tokens = _sacrebleu(tokenize or "13a")
    made: dict[str, Row] = {"bleu": bleu, "chrf": chrf}
    if "overlap" in names:
        made["overlap"] = lambda pred, group: max(
            _overlap(tokens(pred), tokens(text)) for text in group
        )
    if any(name.startswith("rouge") for name in names):
        foreign = tokenize is None and not _mostly_ascii(references)
        if foreign:
            warn(
                "most letters of the references are beyond a to z, which is all that rouge-score's "
                "tokenizer knows; ROUGE takes sacrebleu's 13a instead "
                f"({spelled('tokenize')} sets another)"
            )
        made |= _rouge(names, tokens if tokenize or foreign else None)
    return {name: made[name] for name in names}


def _sacrebleu(tokenize: str) -> tuple[Row, Row, Callable[[str], list[str]]]:
    """BLEU, chrF, and the tokens of a text, lower-cased."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise _missing("metrics beside BERTScore", "sacrebleu") from error
    try:
        bleu: Any = BLEU(effective_order=True, tokenize=tokenize)
    except RuntimeError as error:
        package = f"sacrebleu[{tokenize.partition('-')[0]}]"
        raise _missing(f"the tokenizer {tokenize}", package) from error
    chrf: Any = CHRF()
    return (
        lambda pred, group: float(bleu.sentence_score(pred, group).score),
        lambda pred, group: float(chrf.sentence_score(pred, group).score),
        lambda text: str(bleu.tokenizer(text)).lower().split(),
    )


def _rouge(names: Sequence[str], tokens: Callable[[str], list[str]] | None) -> dict[str, Row]:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise _missing("rouge1, rougeL", "rouge-score") from error

    def row(kind: str) -> Row:
        scorer: Any = RougeScorer([kind], tokenizer=_Tokens(tokens) if tokens else None)
        return lambda pred, group: float(scorer.score_multi(group, pred)[kind].fmeasure)

    return {name: row(name) for name in names if name.startswith("rouge")}


class _Tokens:
    """A tokenizer in the shape that rouge-score takes."""

    def __init__(self, tokens: Callable[[str], list[str]]) -> None:
        self.tokenize = tokens


def _overlap(pred: list[str], reference: list[str]) -> float:
    """F1 of two bags of tokens."""
    shared = (Counter(pred) & Counter(reference)).total()
    return 2 * shared / (len(pred) + len(reference)) if shared else 0.0


def _mostly_ascii(texts: Sequence[str]) -> bool:
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    return 2 * sum(letter.isascii() for letter in letters) >= len(letters)


def _missing(what: str, package: str) -> MissingPackageError:
    return MissingPackageError(
        f"got no {package}, which is needed for {what}; wanted: pip install {package}, or "
        f"{spelled('others')} without them"
    )
