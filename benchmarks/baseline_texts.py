"""The texts behind the packaged baseline of all-MiniLM-L6-v2: sentences of several kinds, mixed.

    python benchmarks/baseline_texts.py --data folder -o texts.txt
    bertscore-tm baseline -t texts.txt -m minilm --embedding-cache 4GB -o table.tsv

The folder holds, as JSON lines or plain lines, what `src/bertscore_tm/baselines/PROVENANCE.md`
names with its source and licence:

    human/mlqe_multiref_et-en.jsonl      "references", the first of which is taken
    corpora/scitldr.jsonl                "document" (abstracts), "summary"
    corpora/mts_dialog.jsonl             "document" (talks), "summary" (notes)
    multilingual/tatoeba-*-en.tsv        the second column
    multilingual/en.txt                  articles 1 to 30 of the declaration of human rights
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

# As many sentences of each kind, so that none decides alone.
LARGEST = 1_250


def sentences(text: str) -> list[str]:
    """Cut where a full stop, a question mark or an exclamation mark is followed by a capital."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)


def kinds(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """The name of each kind, and its sentences."""
    references = _records(folder / "human" / "mlqe_multiref_et-en.jsonl")
    yield "encyclopaedia", [row["references"][0] for row in references]
    papers = _records(folder / "corpora" / "scitldr.jsonl")
    yield "abstracts", [each for row in papers for each in sentences(row["document"])]
    yield "summaries", [row["summary"] for row in papers]
    talks = _records(folder / "corpora" / "mts_dialog.jsonl")
    turns = [turn for row in talks for turn in row["document"].splitlines()]
    yield "talks", [re.sub(r"^\w+:\s*", "", turn) for turn in turns]
    yield "notes", [each for row in talks for each in sentences(row["summary"])]
    pairs = sorted((folder / "multilingual").glob("tatoeba-*-en.tsv"))
    yield "phrases", [line.split("\t")[1] for path in pairs for line in _lines(path)]
    yield "law", [each for line in _lines(folder / "multilingual" / "en.txt")
                  for each in sentences(line)]  # fmt: skip


def chosen(folder: Path, largest: int = LARGEST, seed: int = 0) -> dict[str, list[str]]:
    """Different sentences of three words and more of each kind, drawn where there are too many."""
    found = {}
    for name, texts in kinds(folder):
        plain = dict.fromkeys(" ".join(text.split()) for text in texts)
        long = [text for text in plain if text.count(" ") >= 2]
        found[name] = random.Random(seed).sample(long, min(largest, len(long)))
    return found


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kind", help="only one of them")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    found = chosen(options.data)
    if options.kind:
        found = {options.kind: found[options.kind]}
    for name, texts in found.items():
        words = sum(len(text.split()) for text in texts) / len(texts)
        print(f"{name}: {len(texts):,} sentences, {words:.1f} words each")
    texts = [text for part in found.values() for text in part]
    options.output.write_text("\n".join(texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
