"""What a sync of many ranks would carry: bytes are counted, seconds are reckoned.

python benchmarks/many_ranks.py --ranks 1000 --pairs 100000
"""

from __future__ import annotations

import argparse
import warnings

import torch
from texts import from_docstrings

from bertscore_tm import BERTScore


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
    parser.add_argument("--ranks", type=int, default=1_000)
    parser.add_argument("--pairs", type=int, default=100_000, help="of all ranks together")
    parser.add_argument("--gigabytes", type=float, default=10.0, help="a second, between two ranks")
    parser.add_argument(
        "--microseconds", type=float, default=10.0, help="of one step between two ranks"
    )
    options = parser.parse_args()
    sync(options.model, options.ranks, options.pairs, options.gigabytes, options.microseconds)


if __name__ == "__main__":
    main()
