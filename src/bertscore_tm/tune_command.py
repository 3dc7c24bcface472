"""The command ``bertscore-tm tune``: the best layer of an encoder against human scores."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .checks import FLAGS
from .data_flags import add_reading_flags
from .errors import InvalidValueError
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .output import add_output_flag, check_output, format_of, write_output
from .references import SCORE_NAMES
from .textfiles import read_records, texts_at

if TYPE_CHECKING:
    from .labelled import Judged
    from .tuned import TunedLayer

FLAGS.update(resamples="--resamples", seed="--seed")


def add_tune(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "tune",
        help="choose the layer of an encoder that agrees best with people",
        description="Choose the layer of an encoder whose scores correlate best with human ones "
        "(Pearson). score takes the JSON file that -o writes as --num-layers FILE, and so does "
        "num_layers= in Python.",
    )
    parser.set_defaults(command=_tune)
    data = parser.add_argument_group("data")
    data.add_argument("data", nargs="+", metavar="FILE", help=".jsonl, .json, .tsv or .csv")
    data.add_argument("--candidate", metavar="NAME", default="candidate",
                      help="column or key of the texts that people judged")  # fmt: skip
    data.add_argument("--reference", metavar="NAME", nargs="+", default=["references"],
                      help="of the references: of lists, or several columns")  # fmt: skip
    data.add_argument("--human", metavar="NAME", default="human_score",
                      help="of the judgement; higher is better")  # fmt: skip
    data.add_argument("--group", metavar="NAME", help="of groups within which correlations are "
                      "taken, such as language pairs")  # fmt: skip
    data.add_argument("--cluster", metavar="NAME", help="of sets of rows that are resampled "
                      "together (default: rows with equal references)")  # fmt: skip
    add_reading_flags(data)
    settings = parser.add_argument_group("settings")
    settings.add_argument("--score", choices=SCORE_NAMES, default="f1", help="what is tuned")
    settings.add_argument(FLAGS["resamples"], type=int, metavar="N", default=1000,
                          help="for the intervals (default: 1000)")  # fmt: skip
    settings.add_argument(FLAGS["seed"], type=int, metavar="N", default=0,
                          help="of resamples and folds")  # fmt: skip
    add_setting_flags(settings, ("num_layers", "rescale_with_baseline", "baseline_path"))
    add_device_flag(settings)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format", choices=tuple(_FORMATS), help="default: what --output ends in, else text"
    )
    add_output_flag(output)


def _tune(options: argparse.Namespace) -> None:
    columns = _columns(options)
    write = _FORMATS[format_of(options.output, options.format, _FORMATS)]
    check_output(options)
    options.num_layers = "all"
    pipeline, device = pipeline_of(options, show=False)
    from .labelled import Judged
    from .rows import read_rows
    from .tuning import tune_rows

    preds, target, human, groups, clusters = columns
    judged: Judged = Judged(read_rows(preds, target), human, groups, clusters)
    how = (options.score, options.resamples, options.seed)
    write_output(write(tune_rows(pipeline, judged, device, *how)), options.output)


def _columns(
    options: argparse.Namespace,
) -> tuple[list[str], list[list[str]], list[float], list[str] | None, list[str] | None]:
    """Predictions, references, judgements, groups and sets of rows."""
    preds, target, human = [], [], []
    labels: dict[str, list[str]] = {name: [] for name in (options.group, options.cluster) if name}
    for place, record in _records(options):
        preds.append(texts_at(record, options.candidate, place, several=False))
        found = [texts_at(record, name, place) for name in options.reference]
        target.append(
            [text for each in found for text in ([each] if isinstance(each, str) else each)]
        )
        human.append(_number(record, options.human, place))
        for name, values in labels.items():
            values.append(str(_value(record, name, place)))
    groups, clusters = (labels.get(name) for name in (options.group, options.cluster))
    return preds, target, human, groups, clusters


def _records(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in options.data:
        yield from read_records(name, kind=options.input_format, quoting=options.quoting)


def _value(record: dict[str, Any], name: str, place: str) -> Any:
    if name not in record:
        texts_at(record, name, place)  # says what there is
    return record[name]


def _number(record: dict[str, Any], name: str, place: str) -> float:
    value = _value(record, name, place)
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        said = f"{place}: got {str(value)[:40]!r} at {name!r}"
        raise InvalidValueError(f"{said}; wanted a number, the judgement") from None


def _as_text(tuned: TunedLayer) -> str:
    return tuned.to_text()


def _as_json(tuned: TunedLayer) -> str:
    return json.dumps(tuned.to_dict(), indent=1) + "\n"


_FORMATS = {"text": _as_text, "json": _as_json}
