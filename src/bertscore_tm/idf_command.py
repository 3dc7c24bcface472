"""The commands ``bertscore-tm idf fit`` and ``idf show``: tables of token weights."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .checks import FLAGS
from .data_flags import add_text_flags, read_text_files
from .decoding import printable
from .errors import InvalidValueError
from .flags import add_device_flag, add_setting_flags, pipeline_of
from .output import add_output_flag, check_output, format_of, write_output
from .settings import ABOUT

if TYPE_CHECKING:
    from .encoder import Encoder
    from .idf import IdfTable

FLAGS.update(top="--top")
# The settings that say how an encoder splits a text into tokens.
_SPLITTING = ("model_name_or_path", "lang", "overflow", "max_length", "revision")
_OTHERS = tuple(name for name in ABOUT if name not in (*_SPLITTING, "safetensors_only"))


def add_idf(commands: Any) -> None:
    """Add the commands."""
    parser = commands.add_parser(
        "idf",
        help="fit a table of token weights, or look into one",
        description="Tables of inverse document frequencies: log((N + 1) / (df + 1)) for a token "
        "that df of N texts have. score and others take one as --idf TABLE.",
    )
    kinds = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    said = "count the tokens of texts, usually references"
    fit = kinds.add_parser("fit", help=said, description=f"{said[0].upper()}{said[1:]}.")
    fit.set_defaults(command=_fit, device="cpu")
    add_text_flags(fit.add_argument_group("data"))
    settings = fit.add_argument_group("settings")
    add_setting_flags(settings, _OTHERS)
    fit.add_argument("-o", "--output", required=True, metavar="TABLE", help="the file to write")

    show = kinds.add_parser("show", help="look into a table",
                            description="Look into a table: its size, and the tokens with the "
                            "largest and smallest weights.")  # fmt: skip
    show.set_defaults(command=_show)
    show.add_argument("table", metavar="TABLE", help="a file that idf fit wrote")
    show.add_argument(FLAGS["top"], type=int, default=10, metavar="N",
                      help="how many tokens of each end (default: 10)")  # fmt: skip
    add_text_flags(show.add_argument_group("texts of which to say what the table has not seen"),
                   required=False)  # fmt: skip
    settings = show.add_argument_group("settings: the encoder, without which tokens are numbers")
    add_setting_flags(settings, _OTHERS)
    add_device_flag(settings)
    output = show.add_argument_group("output")
    output.add_argument(
        "--format", choices=tuple(_FORMATS), help="default: what --output ends in, else text"
    )
    add_output_flag(output)


def _fit(options: argparse.Namespace) -> None:
    texts = read_text_files(options)
    check_output(options)
    pipeline, _ = pipeline_of(options, show=False)
    from .idf import IdfTable

    table = IdfTable.fit(texts, pipeline.encoder)
    table.save(options.output)
    print(
        f"bertscore-tm: {len(table):,} tokens of {table.documents:,} texts; "
        f"score with --idf {printable(options.output)}",
        file=sys.stderr,
    )


def _show(options: argparse.Namespace) -> None:
    if options.top < 1:
        raise InvalidValueError(f"got --top {options.top}; wanted a number of tokens from 1 on")
    if options.texts and not (options.model_name_or_path or options.lang):
        raise InvalidValueError("got texts without an encoder; wanted --model, to split them")
    texts = read_text_files(options) if options.texts else []
    write = _FORMATS[format_of(options.output, options.format, _FORMATS)]
    check_output(options)
    from .idf import IdfTable

    table, encoder = IdfTable.load(options.table), None
    if options.model_name_or_path or options.lang:
        options.idf = options.table  # of another tokenizer it is refused
        encoder = pipeline_of(options, show=False)[0].encoder
    write_output(write(_looked_into(table, encoder, options.top, texts)), options.output)


def _looked_into(
    table: IdfTable, encoder: Encoder | None, top: int, texts: Sequence[str]
) -> dict[str, Any]:
    """What there is to see, as plain data."""
    entries = table.entries()
    seen: dict[str, Any] = {
        "documents": table.documents,
        "tokens": len(table),
        "in_one_text": sum(documents == 1 for _, _, documents in entries),
        "tokenizer": table.tokenizer,
        "digest": table.digest,
        "unseen_weight": table.unseen,
    }
    ends = {"largest": entries[:top], "smallest": entries[::-1][:top]}
    for name, part in ends.items():
        tokens = [token for token, _, _ in part]
        pieces = [None] * len(part) if encoder is None else encoder.pieces(tokens)
        seen[name] = [
            {"token": token, "piece": piece, "weight": weight, "documents": documents}
            for piece, (token, weight, documents) in zip(pieces, part)
        ]
    if encoder is not None and texts:
        known = {token for token, _, _ in entries}
        split = encoder.tokenize(texts)
        found = [i for t in split for i, counts in zip(t.ids, t.token_mask) if counts]
        unseen = [i for i in found if i not in known]
        first = list(dict.fromkeys(unseen))
        seen["texts"] = {
            "texts": len(texts),
            "tokens": len(found),
            "unseen": len(unseen),
            "unseen_pieces": encoder.pieces(first[:top]),
            "unseen_distinct": len(first),
        }
    return seen


def _as_text(seen: dict[str, Any]) -> str:
    documents = "given weights" if seen["documents"] is None else f"{seen['documents']:,} texts"
    lines = [
        f"{seen['tokens']:,} tokens of {documents}, {seen['in_one_text']:,} of them in one text "
        f"only; tokenizer {seen['tokenizer']}; table@{seen['digest']}",
        f"a token that is not in it weighs {seen['unseen_weight']:.4f}",
    ]
    for name in ("largest", "smallest"):
        lines += ["", f"{name} weights", "  weight    texts  token"]
        for each in seen[name]:
            count = "" if each["documents"] is None else f"{each['documents']:,}"
            piece = "" if each["piece"] is None else f"  {printable(each['piece'])}"
            lines.append(f"{each['weight']:8.4f} {count:>8}  {each['token']}{piece}")
    if "texts" in seen:
        of = seen["texts"]
        share = of["unseen"] / of["tokens"] if of["tokens"] else 0.0
        lines += ["", f"{of['texts']:,} texts: {of['unseen']:,} of {of['tokens']:,} tokens "
                  f"({share:.1%}) are not in the table, {of['unseen_distinct']:,} different "
                  "ones"]  # fmt: skip
        if of["unseen_pieces"]:
            lines.append(f"such as {printable(' '.join(of['unseen_pieces']))}")
    return "\n".join(lines) + "\n"


def _as_json(seen: dict[str, Any]) -> str:
    return json.dumps(seen, indent=1) + "\n"


_FORMATS = {"text": _as_text, "json": _as_json}
