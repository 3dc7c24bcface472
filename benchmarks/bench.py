"""Measures speed and memory beside bert-score and torchmetrics, in turns, and writes
benchmarks/RESULTS.md.

python benchmarks/bench.py                                     # on docstrings, which every reader
has python benchmarks/bench.py --candidates a.txt --references b.txt --name own python
benchmarks/bench.py --only first_pass later_epochs
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import measures
import report
import torch
import transformers
from texts import from_docstrings, from_files


def machine() -> dict[str, str]:
    """What a reader needs to know to compare."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    name = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )
    has = [
        flag
        for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
        if any(flag in line.split() for line in lines)
    ]
    packages = ("torch", "torchmetrics", "transformers", "tokenizers", "bert-score", "bertscore_tm")
    return {
        "cpu": f"{name}, {torch.get_num_threads()} threads, {' '.join(has)}",
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--candidates", type=Path, help="one text a line; without it docstrings are used"
    )
    parser.add_argument(
        "--references", type=Path, help="one text a line, in the order of the candidates"
    )
    parser.add_argument("--name", default="docstrings", help="of the data, for the results")
    parser.add_argument(
        "--pairs",
        type=int,
        default=400,
        help="how many of them (400); below a hundred all is noise",
    )
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--layer", type=int, default=5, help="hidden state (5)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="times that everything is repeated (3)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent, help="folder of RESULTS.md and results/"
    )
    parser.add_argument(
        "--only", nargs="+", choices=list(measures.ALL), default=list(measures.ALL), help="all"
    )
    options = parser.parse_args()
    if (options.candidates is None) != (options.references is None):
        parser.error("got one of --candidates and --references; wanted both or neither")
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    given = options.candidates and from_files(options.candidates, options.references)
    preds, refs = given or from_docstrings(options.pairs)
    pairs = (preds[: options.pairs], refs[: options.pairs])
    setting = measures.Setting(pairs, options.model, options.layer, options.rounds)
    results = options.out / "results"
    results.mkdir(parents=True, exist_ok=True)
    file = results / f"{options.name}.json"
    saved = json.loads(file.read_text()) if file.exists() else {}
    for name in options.only:
        print(f"{name} ...", end=" ", flush=True)
        begun = time.perf_counter()
        numbers = measures.ALL[name](setting)
        saved[name] = {
            "command": " ".join(["python", *sys.argv]),
            "data": options.name,
            "pairs": len(pairs[0]),
            "model": options.model,
            "layer": options.layer,
            "machine": machine(),
            **numbers,
        }
        file.write_text(json.dumps(saved, indent=1) + "\n")
        print(
            f"({time.perf_counter() - begun:.0f} s): {report.line(name, saved[name])}", flush=True
        )
    report.write(results, options.out / "RESULTS.md")


if __name__ == "__main__":
    main()
