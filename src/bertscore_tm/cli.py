"""The command line: ``bertscore-tm score -c predictions.txt -r references.txt``."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from . import __version__
from .idf import IdfTable
from .metric import BERTScore
from .scoring import NAMES
from .textfiles import join_references, printable, read_texts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: what stands after the command's name; None: that of this process.

    Returns:
        0, or 2 after an error that is the user's to mend; the message then stands on standard error.
    """
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        with suppress(io.UnsupportedOperation):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at its end
        return 0
    except (OSError, ValueError, TypeError, ArithmeticError, MemoryError) as error:
        said = str(error).replace("model_name_or_path", "--model").replace(" or lang (", " or --lang (")
        print(f"bertscore-tm: error: {printable(said)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # as a shell has it
    return 0


def _warned(message: Warning | str, *where: Any, **more: Any) -> None:
    """A line without the place in the code, which is nobody's business here."""
    print(f"bertscore-tm: warning: {printable(str(message).removeprefix('BERTScore: '))}", file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    """Its messages quote what was given, which may hold commands to the terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="bertscore-tm", description="BERTScore of generated texts against references.")
    parser.add_argument("--version", action="version", version=f"bertscore-tm {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    score = commands.add_parser(
        "score",
        help="score predictions against references",
        description="Score predictions against references, one text a line. Files: plain lines, .tsv with a header, .jsonl; each "
        "may end in .gz; - is standard input.",
    )
    score.set_defaults(command=_score)
    data = score.add_argument_group("data")
    data.add_argument(
        "-c", "--candidates", nargs="+", required=True, metavar="FILE", help="predictions; several files: several systems"
    )
    data.add_argument(
        "-r", "--references", nargs="+", required=True, metavar="FILE", help="references; several files: several a line"
    )
    data.add_argument("--candidate-column", metavar="NAME", help="column or key of the predictions in .tsv and .jsonl files")
    data.add_argument("--reference-column", metavar="NAME", help="column or key of the references (a list: several references)")
    _add_settings(score.add_argument_group("settings"))
    output = score.add_argument_group("output")
    output.add_argument("--per-sample", action="store_true", help="also a line for each prediction: P, R and F1")
    output.add_argument("--format", choices=("text", "json", "tsv"), default="text", help="default: text")
    output.add_argument("-o", "--output", metavar="FILE", help="write there instead of standard output")
    output.add_argument("--quiet", action="store_true", help="no progress bar, even on a terminal")
    return parser


def _add_settings(group: Any) -> None:
    group.add_argument("-m", "--model", metavar="NAME", help="encoder: hub name, folder, or the alias minilm")
    group.add_argument("-l", "--lang", metavar="CODE", help="language: chooses the encoder if none is named, and the baseline")
    group.add_argument(
        "-n", "--num-layers", type=_layers, metavar="K", help="hidden state (0: embeddings), several with commas, or all"
    )
    group.add_argument(
        "--idf",
        nargs="?",
        const=True,
        default=False,
        metavar="TABLE",
        help="weight by idf: of these references, or a saved table",
    )
    group.add_argument("--rescale-with-baseline", action="store_true", help="rescale with the packaged table or --baseline-path")
    group.add_argument("--baseline-path", metavar="FILE", help="own table: LAYER,P,R,F")
    group.add_argument("--no-match-special-tokens", action="store_true", help="markers such as [CLS] may not be matched")
    group.add_argument("--multi-reference", choices=("max", "best_f1", "mean"), default="max", help="default: max")
    group.add_argument(
        "--overflow", choices=("truncate", "window", "error"), default="truncate", help="long texts; default: truncate"
    )
    group.add_argument("--max-length", type=int, metavar="N", help="tokens of a text")
    group.add_argument(
        "--dtype", choices=("float32", "bfloat16", "float16"), default="float32", help="of the encoder; default: float32"
    )
    group.add_argument("--batch-tokens", type=int, metavar="N", help="padded tokens in one pass")
    group.add_argument("--device", metavar="NAME", help="cpu, cuda, cuda:1 ...; default: a GPU if there is one")


def _layers(text: str) -> int | list[int] | str:
    if text == "all":
        return text
    try:
        layers = [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"got {text!r}; wanted a layer, several with commas between, or all") from None
    return layers if len(layers) > 1 else layers[0]


def _score(options: argparse.Namespace) -> None:
    if (options.candidates + options.references).count("-") > 1:
        raise ValueError("got - more than once; wanted standard input for one file only")
    systems = [[str(text) for text in _single(name, options.candidate_column)] for name in options.candidates]
    references = join_references([read_texts(name, options.reference_column) for name in options.references], options.references)
    for name, texts in zip(options.candidates, systems):
        if len(texts) != len(references):
            raise ValueError(
                f"{name!r} has {len(texts)} predictions for {len(references)} lines of references; wanted the same number"
            )
    if not references:
        raise ValueError(f"got no texts in {', '.join(map(repr, options.references))}; wanted one a line")
    _check_output(options)
    metric = _metric(options)
    results = []
    for name, texts in zip(options.candidates, systems):
        metric.reset()
        metric.update(texts, references)
        scores = metric.compute()
        results.append((name, scores if isinstance(scores, dict) else {}))
    text = _FORMATS[options.format](results, metric.signature, options.per_sample)
    if options.output is None:
        sys.stdout.write(text)
    else:
        with open(options.output, "w", encoding="utf-8") as stream:
            stream.write(text)


def _check_output(options: argparse.Namespace) -> None:
    """Notice before the work what would fail after it."""
    output = options.output
    if output is None:
        if sys.stdout is None:  # the shell's >&-
            raise OSError("standard output is closed; wanted an open one, or --output")
        return
    read: list[Any] = [*options.candidates, *options.references, options.idf, options.baseline_path]
    if isinstance(options.model, str) and os.path.isdir(options.model):
        read += [entry.path for entry in os.scandir(options.model)]
    if "-" in read and sys.stdin is not None:
        with suppress(OSError, ValueError):  # a stream without a file
            read.append(sys.stdin.fileno())
    if os.path.isfile(output) and any(_same(output, name) for name in read if isinstance(name, (str, int)) and name is not True):
        raise ValueError(f"got {output!r} as --output, which is read; wanted another file")
    if os.path.exists(output) and not os.path.isfile(output) and not os.path.isdir(output):
        return  # a pipe must not be opened twice
    try:
        open(output, "a", encoding="utf-8").close()
    except ValueError as error:  # a NUL
        raise ValueError(f"got {output!r} as --output ({error}); wanted the name of a file") from error


def _same(output: str, name: str | int) -> bool:
    return os.path.exists(name) and os.path.samestat(os.stat(output), os.stat(name))


def _single(name: str, column: str | None) -> list[str]:
    texts = []
    for number, text in enumerate(read_texts(name, column), 1):
        if not isinstance(text, str):
            raise ValueError(f"{name!r}, row {number}: got a list; wanted one prediction a line")
        texts.append(text)
    return texts


def _metric(options: argparse.Namespace) -> BERTScore:
    import torch

    metric = BERTScore(
        options.model,
        options.num_layers,
        score=None,
        reduction="none",
        lang=options.lang,
        idf=IdfTable.load(options.idf) if isinstance(options.idf, str) else options.idf,
        rescale_with_baseline=options.rescale_with_baseline,
        baseline_path=options.baseline_path,
        match_special_tokens=not options.no_match_special_tokens,
        multi_reference=options.multi_reference,
        overflow=options.overflow,
        max_length=options.max_length,
        dtype=options.dtype,
        batch_tokens=options.batch_tokens,
        verbose=not options.quiet and sys.stderr is not None and sys.stderr.isatty(),
    )
    try:
        device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if device.type == "meta":
            raise RuntimeError("it holds no numbers")
        return metric.to(device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"got --device {options.device}, which cannot be used here ({str(error).splitlines()[0]}); wanted cpu or cuda"
        ) from error


Results = list[tuple[str, dict[str, Any]]]


def _as_text(results: Results, signature: str, per_sample: bool) -> str:
    """A line for each system and layer; before it, on request, one for each sample."""
    lines = []
    for name, scores in results:
        for prefix in _prefixes(scores):
            columns = [scores[prefix + part] for part in NAMES]
            label = " ".join(filter(None, [printable(name) if len(results) > 1 else "", prefix.rstrip("_")]))
            if per_sample:
                for row in zip(*(column.tolist() for column in columns)):
                    lines.append("\t".join(f"{value:.6f}" for value in row) + (f"\t{label}" if label else ""))
            mean = "  ".join(f"{part[0].upper()}{'1' if part == 'f1' else ''} {_mean(c):.6f}" for part, c in zip(NAMES, columns))
            lines.append(f"{label + '  ' if label else ''}{mean}")
    return "\n".join([*lines, signature]) + "\n"


def _as_tsv(results: Results, signature: str, per_sample: bool) -> str:
    """A header, then a line for each system, or for each sample; the signature follows as a comment."""
    lines: list[str] = []
    for name, scores in results:
        if not lines:
            lines.append("\t".join(["system", *(["row"] if per_sample else []), *scores]))
        if per_sample:
            rows = zip(*(column.tolist() for column in scores.values()))
            lines += ["\t".join([printable(name), str(i), *(f"{v:.6f}" for v in row)]) for i, row in enumerate(rows)]
        else:
            lines.append("\t".join([printable(name), *(f"{_mean(column):.6f}" for column in scores.values())]))
    return "\n".join([*lines, f"# {signature}"]) + "\n"


def _as_json(results: Results, signature: str, per_sample: bool) -> str:
    """One object; a mean of no samples is null."""
    systems = []
    for name, scores in results:
        means = {key: _mean(column) if len(column) else None for key, column in scores.items()}
        samples = {"samples": {key: column.tolist() for key, column in scores.items()}} if per_sample else {}
        systems.append({"system": name, **means, **samples})
    return json.dumps({"signature": signature, "systems": systems}, indent=1) + "\n"  # ASCII: nothing commands a terminal


def _prefixes(scores: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(key[: -len(part)] for key in scores for part in NAMES if key.endswith(part)))


def _mean(column: Any) -> float:
    return float(column.double().mean())


_FORMATS = {"text": _as_text, "json": _as_json, "tsv": _as_tsv}
