"""How time and memory grow with the number of pairs, and what a sync of many ranks would carry.

    python benchmarks/scaling.py                  # 1,000 to 100,000 pairs; draws docs/scaling.svg
    python benchmarks/scaling.py --ranks 1000 --pairs 100000   # bytes and seconds of a sync,
    counted and reckoned

One layer of the encoder is run, so that the growth of everything else can be seen; the whole
encoder takes as many times as long.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import torch
from measures import run_child
from texts import from_docstrings

from bertscore_tm import BERTScore

RESULTS = Path(__file__).with_name("results") / "scaling.json"
PICTURE = Path(__file__).parents[1] / "docs" / "scaling.svg"
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)


def grow(model: str) -> None:
    found = []
    for pairs in SIZES:
        numbers = run_child("memory", "ours", str(pairs), model, "1")
        found.append(numbers)
        print(
            f"{pairs:7,} pairs: {numbers['seconds']:6.1f} s, {numbers['over_imports_mb']:.0f} MB "
            "over the imports",
            flush=True,
        )
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        draw(found)


def draw(found: list[dict[str, float]]) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "scaling"  # the same file from the same numbers
    from matplotlib import pyplot as plt

    pairs = [numbers["pairs"] for numbers in found]
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), constrained_layout=True)
    for axis, key, label in zip(
        axes, ("seconds", "over_imports_mb"), ("seconds", "MB over imports, weights included")
    ):
        axis.plot(pairs, [numbers[key] for numbers in found], marker="o")
        axis.set(xlabel="pairs of up to 8 words", ylabel=label, xscale="log")
        axis.grid(alpha=0.3)
    axes[0].set_yscale("log")
    axes[1].set_ylim(bottom=0)
    figure.savefig(PICTURE, metadata={"Date": None})


def sync(model: str, ranks: int, pairs: int, gigabytes: float, microseconds: float) -> None:
    """Counts what one rank hands to the others.

    A ring of all ranks then takes bytes over bandwidth plus a step for each rank.
    """
    preds, refs = from_docstrings(max(1, pairs // ranks))
    print(
        f"{ranks:,} ranks, {pairs:,} pairs in all; {gigabytes:g} GB/s and {microseconds:g} µs a "
        "step"
    )
    for idf in (False, True):
        sent: list[int] = []

        def gather(
            tensor: torch.Tensor, group: object = None, sent: list[int] = sent
        ) -> list[torch.Tensor]:
            sent.append(tensor.numel() * tensor.element_size())
            return [tensor]

        metric = BERTScore(
            model, idf=idf, dist_sync_fn=gather, distributed_available_fn=lambda: True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric.update(preds, refs, sample_ids=range(len(preds)))
            metric.compute()
        received = ranks * sum(sent)
        # torchmetrics tells the shapes first, in a gather of its own, so each counts twice.
        seconds = received / (gigabytes * 1e9) + 2 * len(sent) * ranks * microseconds / 1e6
        print(
            f"idf={idf}: {len(sent)} gathers, {sum(sent):,} bytes of each rank, "
            f"{received / 1e6:.1f} MB to each; {seconds:.2f} s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--ranks", type=int, help="reckon a sync of so many ranks instead")
    parser.add_argument("--pairs", type=int, default=100_000, help="of all ranks together")
    parser.add_argument("--gigabytes", type=float, default=10.0, help="a second, between two ranks")
    parser.add_argument(
        "--microseconds", type=float, default=10.0, help="of one step between two ranks"
    )
    options = parser.parse_args()
    if options.ranks:
        sync(options.model, options.ranks, options.pairs, options.gigabytes, options.microseconds)
    else:
        grow(options.model)


if __name__ == "__main__":
    main()
