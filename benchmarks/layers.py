"""Which layer of an encoder agrees best with people, on several public sets side by side.

    python benchmarks/layers.py --model minilm --data folder

The folder holds judgements as JSON lines with "candidate", "references" (a list) and
"human_score"; `docs/layers.md` names the sets, their sources and what came out. One set alone is

    bertscore-tm tune set.jsonl --group lang --model minilm
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bertscore_tm import TunedLayer, tune

# The field that correlations are taken apart by, where there is one.
GROUPS = {"wmt17_da_to_en": "lang", "grade_dialogue": "dataset"}


def tuned_on(path: Path, model: str, score: str = "f1") -> TunedLayer:
    """The choice on one set."""
    lines = path.read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    group = GROUPS.get(path.stem)
    return tune(
        [row["candidate"] for row in rows],
        [row["references"] for row in rows],
        [float(row["human_score"]) for row in rows],
        model,
        groups=None if group is None else [row[group] for row in rows],
        score=score,  # type: ignore[arg-type]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--data", type=Path, required=True, help="a folder, or one file")
    parser.add_argument("--score", default="f1")
    options = parser.parse_args()
    one = options.data.is_file()
    for path in [options.data] if one else sorted(options.data.glob("*.jsonl")):
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        if not {"candidate", "references", "human_score"} <= json.loads(first).keys():
            print(f"{path.name}: no such fields, left out\n")
            continue
        print(f"{path.name}\n{tuned_on(path, options.model, options.score).to_text()}")


if __name__ == "__main__":
    main()
