"""How a run is started: quietly, and not as a sweep that starts itself again."""

from __future__ import annotations

import logging
import os
import warnings

from lightning import Trainer
from lightning.pytorch.strategies.launchers import _SubprocessScriptLauncher


def start_quietly() -> None:
    """Leave out what libraries say about themselves."""
    import transformers

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # data loaders fork
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\).* is deprecated")
    warnings.filterwarnings("ignore", message=r".*does not have many workers")
    logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(_no_advertisement)


def _no_advertisement(record: logging.LogRecord) -> bool:
    return "Tip: For seamless" not in record.getMessage()


def refuse_subprocesses(trainer: Trainer) -> None:
    """Stop a sweep whose strategy would start the whole sweep in each of its processes.

    Lightning's "ddp" starts the other processes of a run by repeating the command line. With ``-m`` each of them would begin
    with the first job of the sweep, and wait for the others for ever.

    Raises:
        RuntimeError: if the trainer has such a strategy; the message says what to use.
    """
    launcher = trainer.strategy.launcher
    if (
        isinstance(launcher, _SubprocessScriptLauncher)
        and not launcher.cluster_environment.creates_processes_externally
    ):
        raise RuntimeError(
            "-m does not go together with this trainer: its strategy starts its processes by repeating the command line, and "
            "each would start the whole sweep. Use one of these instead:\n"
            "  trainer=cpu or trainer=gpu              one process a run (launch=joblib runs several at a time)\n"
            "  trainer=ddp_spawn_cpu2, or trainer.strategy=ddp_spawn   processes without a command line\n"
            "  torchrun --nproc-per-node 2 train.py -m ... hydra.sweep.dir=multirun/NAME   processes started beforehand"
        )
