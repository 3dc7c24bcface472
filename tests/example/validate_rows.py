"""Validates rows on several processes and writes the value of the metric; run by a test.

    python validate_rows.py ROWS.jsonl FOLDER PROCESSES

The model writes the first words of the source, so that nothing but the way over the processes
can change the value.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from composing import composed  # first: puts the example on the path
from lightning import Trainer
from summarizer.module import Summarizer
from train import run


def write(self: Summarizer, batch: dict) -> list[str]:
    return [" ".join(source.split()[:9]) for source in batch["sources"]]


def main(rows: str, folder: str, processes: str) -> None:
    choices = [
        "task=validate",
        "data=files",
        f"data.val={rows}",
        "data.eval_batch_size=8",
        "logger=none",
    ]
    small = [
        "model.vocab_size=3000",
        "trainer.enable_progress_bar=false",
        f"trainer.devices={processes}",
    ]
    places = [f"paths.output_dir={folder}", "metric.idf=true", "trainer=ddp_cpu2"]
    Summarizer.write = write
    validate = Trainer.validate

    def validate_and_note(trainer: Trainer, *args, **options):
        results = validate(trainer, *args, **options)
        if trainer.is_global_zero:
            Path(folder, "results.json").write_text(json.dumps(results[0]))
        return results

    Trainer.validate = validate_and_note
    run(composed(*choices, *small, *places))


if __name__ == "__main__":
    main(*sys.argv[1:])
