"""The command ``bertscore-tm baseline``: a table for rescaling from files of texts."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from .checks import FLAGS
from .data_flags import add_text_flags, read_text_files
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .output import add_output_flag, check_output, format_of, write_output

if TYPE_CHECKING:
    from .baseline_fitting import Baseline

FLAGS.update(standard_error="--standard-error", pairs="--pairs", seed="--seed")
# What plays no part in the mean score of random pairs.
NO_PART = ("num_layers", "rescale_with_baseline", "baseline_path", "empty_score", "multi_reference")


def add_baseline(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "baseline",
        help="fit the table that scores are rescaled with",
        description="Fit the table that scores are rescaled with: the mean precision, recall and "
        "F1 of random pairs of texts, for all layers of an encoder. score reads it with "
        "--rescale-with-baseline --baseline-path TABLE.",
    )
    parser.set_defaults(command=_baseline)
    data = parser.add_argument_group("data")
    add_text_flags(data)
    data.add_argument(
        FLAGS["standard_error"], type=float, metavar="X", default=0.001,
        help="add pairs until that of the mean F1 of each layer is not above it (default: 0.001)",
    )  # fmt: skip
    data.add_argument(FLAGS["pairs"], type=int, metavar="N", help="take so many pairs instead")
    data.add_argument(FLAGS["seed"], type=int, metavar="N", default=0, help="of the pairs")
    settings = parser.add_argument_group("settings")
    add_setting_flags(settings, NO_PART)
    add_device_flag(settings)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format",
        choices=tuple(_FORMATS),
        help="json: with standard errors; else LAYER,P,R,F; default: what --output ends in",
    )
    add_output_flag(output)


def _baseline(options: argparse.Namespace) -> None:
    texts = read_text_files(options)
    write = _FORMATS[format_of(options.output, options.format, _FORMATS)]
    check_output(options)
    options.num_layers = "all"
    pipeline, device = pipeline_of(options, show=False)
    from .baseline_fitting import Baseline, fit_baseline

    how = (options.standard_error, options.pairs, options.seed)
    table = fit_baseline(Baseline, texts, pipeline, device, *how)
    write_output(write(table, pipeline.signature()), options.output)
    assert table.errors is not None
    print(
        f"bertscore-tm: {table.pairs:,} pairs of {table.texts:,} texts; standard error of F1 at "
        f"most {float(table.errors[:, 2].max()):.2g}",
        file=sys.stderr,
    )


def _as_table(table: Baseline, signature: str) -> str:
    return table.to_csv()


def _as_json(table: Baseline, signature: str) -> str:
    assert table.errors is not None
    rows = zip(table.values.tolist(), table.errors.tolist())
    names = ("precision", "recall", "f1")
    layers = [
        {"layer": layer, **dict(zip(names, values)), "standard_error": dict(zip(names, errors))}
        for layer, (values, errors) in enumerate(rows)
    ]
    said = {"signature": signature, "pairs": table.pairs, "texts": table.texts, "layers": layers}
    return json.dumps(said, indent=1) + "\n"


_FORMATS = {"text": _as_table, "csv": _as_table, "tsv": _as_table, "json": _as_json}
