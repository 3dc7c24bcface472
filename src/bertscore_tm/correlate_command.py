"""The command ``bertscore-tm correlate``: agreement with people, from a file of judgements."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .checks import FLAGS
from .data_flags import add_reading_flags
from .errors import InvalidValueError, warn
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .lexical import LEXICAL, TOKENIZERS
from .output import check_output, format_of, write_output
from .report_flags import (
    REPORTS,
    add_report_flags,
    add_resampling_flags,
    add_score_flag,
    one_layer,
    written,
)
from .textfiles import read_records, texts_at

if TYPE_CHECKING:
    from .correlating import Judged

Record = dict[str, Any]
Records = list[tuple[str, Record]]  # each with its place, for messages
# What a field is called if nothing else is said; the first that the file has.
_USUAL = {"references": ("references", "reference"), "system": ("system",)}


def add_correlate(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "correlate",
        help="measure how well scores agree with people",
        description="Measure how well BERTScore agrees with human scores, or with which of two "
        "texts people held for better, beside BLEU, chrF, ROUGE and token overlap. The file is a "
        ".jsonl, .json, .csv or .tsv with a row for each judged text; fields are columns or keys, "
        "and a.b is the key b of an object a.",
    )
    parser.set_defaults(command=_correlate, references=None)
    # As a list, and under this name, because check_output looks at files there.
    parser.add_argument(
        "candidates", nargs=1, metavar="FILE", help="judgements; - is standard input"
    )
    _add_field_flags(parser.add_argument_group("fields"))
    _add_statistics_flags(parser.add_argument_group("statistics"))
    settings = parser.add_argument_group("settings")
    add_setting_flags(settings)
    add_device_flag(settings)
    add_report_flags(parser.add_argument_group("output"))


def _add_field_flags(fields: Any) -> None:
    for flag, text in (
        ("--candidate", "the text (default: candidate)"),
        ("--human", "its score, higher is better (default: human_score); empty: left out"),
        ("--better", "of relative ranks: the better text, instead of candidate and human"),
        ("--worse", "of relative ranks: the worse text (default: worse)"),
        ("--system", "who made it (default: system, if there is such a field)"),
        ("--segment", "what it was made from (default: rows with the same references)"),
        ("--cluster", "what is drawn together, as documents (default: segments)"),
    ):
        fields.add_argument(flag, metavar="NAME", help=text)
    fields.add_argument(
        "--references",
        "--reference",
        nargs="+",
        dest="reference_fields",
        metavar="NAME",
        help="its references: texts or lists of texts (default: references, or reference)",
    )
    fields.add_argument(
        "--group",
        "--language",
        metavar="NAME",
        help="statistics are made in each group, and averaged (default: one group)",
    )
    add_reading_flags(fields)


def _add_statistics_flags(statistics: Any) -> None:
    add_score_flag(statistics, "compared with the other metrics")
    statistics.add_argument(
        FLAGS["others"],
        nargs="*",
        choices=LEXICAL,
        default=list(LEXICAL),
        metavar="NAME",
        help=f"metrics beside it (default: {' '.join(LEXICAL)})",
    )
    statistics.add_argument(
        FLAGS["tokenize"], choices=TOKENIZERS, help="sacrebleu's tokenizer for all but chrF"
    )
    statistics.add_argument(
        "--pairs",
        choices=("auto", "segment", "all"),
        default="auto",
        help="which pairs the accuracy asks for: of a segment, all of a group, or (auto) of a "
        "segment if half of the rows have another one of their segment",
    )
    add_resampling_flags(statistics, 1000)


def _correlate(options: argparse.Namespace) -> None:
    (name,) = options.candidates
    records = [*read_records(name, kind=options.input_format, quoting=options.quoting)]
    if not records:
        raise InvalidValueError(f"got no rows in {name!r}; wanted a row for each judged text")
    form = format_of(options.output, options.format, REPORTS)
    check_output(options)
    judged = read_judgements(records, options)
    from .agreement import Bootstrap
    from .correlating import Asked, check, correlate_rows

    bootstrap = Bootstrap(options.resamples, options.confidence, options.seed)
    asked = Asked(options.score, options.others, options.tokenize, options.pairs, bootstrap)
    check(judged, asked)
    pipeline, device = pipeline_of(options, show=not options.quiet)
    one_layer(pipeline)
    found = correlate_rows(pipeline, judged, asked, device)
    write_output(written(found, form, found.signature), options.output)


def read_judgements(records: Records, options: argparse.Namespace) -> Judged:
    """The rows of a file, with the fields that were named or are usual."""
    first = records[0][1]
    ranks = options.better is not None or options.worse is not None
    if not ranks and options.candidate is None and "candidate" not in first:
        ranks = "better" in first and "worse" in first
    if ranks and (options.candidate is not None or options.human is not None):
        raise InvalidValueError(
            "got --candidate or --human beside --better and --worse; wanted one text with a "
            "score, or two texts a row"
        )
    human = None
    if not ranks:
        records, human = _with_scores(records, options.human or "human_score")
    pred = (options.better or "better") if ranks else (options.candidate or "candidate")
    references = options.reference_fields or [_usual("references", first) or "references"]
    from .correlating import Judged
    from .rows import Rows

    rows = Rows(
        [_text(record, pred, place) for place, record in records],
        [_references(record, references, place) for place, record in records],
        None,
    )
    system = options.system or (None if ranks else _usual("system", first))
    worse = [_text(record, options.worse or "worse", place) for place, record in records]\
        if ranks else None  # fmt: skip
    named = (system, options.group, options.segment, options.cluster)
    return Judged(rows, human, worse, *(_labels(records, name) for name in named))


def _with_scores(records: Records, key: str) -> tuple[Records, list[float]]:
    """The rows that have a score, and their scores."""
    values = [(_field(record, key, place), place, record) for place, record in records]
    kept = [each for each in values if not _is_empty(each[0])]
    if not kept:
        raise InvalidValueError(
            f"got no value of {key!r} in any of {len(records)} rows; wanted scores of people"
        )
    if len(kept) < len(records):
        warn(f"{len(records) - len(kept)} of {len(records)} rows have no {key} and are left out")
    return [each[1:] for each in kept], [_number(value, key, place) for value, place, _ in kept]


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _number(value: Any, key: str, place: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidValueError(f"{place}: got {value!r:.60} at {key!r}; wanted a number, as 3.5")
    return number


def _text(record: Record, key: str, place: str) -> str:
    return texts_at({key: _field(record, key, place)}, key, place, several=False)


def _references(record: Record, keys: Sequence[str], place: str) -> list[str]:
    """The texts of one or more fields."""
    found: list[str] = []
    for key in keys:
        texts = texts_at({key: _field(record, key, place)}, key, place)
        found += [texts] if isinstance(texts, str) else texts
    return found


def _labels(records: Records, key: str | None) -> list[str] | None:
    return None if key is None else [str(_field(record, key, place)) for place, record in records]


def _field(record: Record, key: str, place: str) -> Any:
    """The value of a key, or of ``b`` in the object ``a`` for ``a.b``."""
    if key not in record and "." in key:
        outer, _, inner = key.partition(".")
        if isinstance(record.get(outer), dict):
            return _field(record[outer], inner, f"{place}, in {outer!r}")
    if key not in record:
        texts_at(record, key, place)  # raises, with what there is
    return record[key]


def _usual(field: str, record: Record) -> str | None:
    return next((name for name in _USUAL[field] if name in record), None)
