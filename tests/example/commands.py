"""Commands of the example, run as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from composing import EXAMPLE

TINY = [
    "data.packages=[torchmetrics]",
    "data.max_train=16",
    "data.max_val=5",
    "data.max_test=5",
    "model.vocab_size=3000",
    "generation.generation.max_new_tokens=6",
    "trainer.max_epochs=1",
    "trainer.log_every_n_steps=1",
    "trainer.enable_progress_bar=false",
]


def places(folder: Path, data_dir: Path) -> list[str]:
    return [f"paths.output_dir={folder}", f"paths.data_dir={data_dir}"]


def outcome(
    script: str | Path, *arguments: str, folder: Path | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a command; `folder` is where it is given, `settings` are variables of the environment."""
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, **settings}
    line = [sys.executable, str(EXAMPLE / script), *arguments]
    return subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=500, cwd=folder
    )


def command(script: str | Path, *arguments: str, folder: Path | None = None) -> str:
    """What a command prints that must succeed."""
    done = outcome(script, *arguments, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
