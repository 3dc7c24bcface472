"""How a command is started: where its configurations are, and how it ends."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from lightning import Trainer
from lightning.pytorch.strategies.launchers import _SubprocessScriptLauncher

from .errors import EXPECTED, JobFailed, one_line

_FULL = "HYDRA_FULL_ERROR"


class MetricGroup(SearchPathPlugin):
    """Puts the configurations of the package, the group ``metric``, into the list of ``--help``."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add them behind those of the example."""
        search_path.append("bertscore_tm", "pkg://bertscore_tm.configs")


@dataclass
class _Command:
    """What this process was started for.

    Attributes:
        full: whether errors are shown with all that led to them.
        failed: the jobs of a sweep that have failed.
    """

    full: bool
    failed: list[str]


_command: _Command | None = None


def start(main: Callable[[], object]) -> None:
    """Run a command of Hydra. What the user can mend ends as one line on stderr and status 1.

    With HYDRA_FULL_ERROR=1 everything is shown.
    """
    global _command
    command = _command = _Command(os.environ.get(_FULL) == "1", [])
    Plugins.instance().register(MetricGroup)
    os.environ[_FULL] = "1"  # Hydra then leaves errors to us
    try:
        main()
    except (*EXPECTED, JobFailed) as error:
        if command.full:
            raise
        if not isinstance(error, JobFailed):  # which has said it
            _say(error)
        sys.exit(1)
    finally:
        if not command.full:
            del os.environ[_FULL]
    if command.failed:
        sys.exit(1)


@contextmanager
def job() -> Iterator[None]:
    """A run, or a job of a sweep, whose error is said at once: the other jobs go on.

    Raises:
        JobFailed: for an error in a job that a launcher has started in another process.
        SystemExit: for an error in a run.
    """
    full = os.environ.pop(_FULL, None)  # processes that are started within get what the user set
    try:
        yield
    except EXPECTED as error:
        if _command is not None and _command.full:
            raise
        if not in_sweep():
            if _command is None:
                raise
            _say(error)
            _remove_if_empty()
            sys.exit(1)
        name = f"job {HydraConfig.get().job.num}"  # Hydra has printed its overrides
        _say(error, f"{name}: ")
        if _command is None:
            raise JobFailed(name) from error
        _command.failed.append(name)
    finally:
        if full is not None:
            os.environ[_FULL] = full


def _remove_if_empty() -> None:
    """Remove the folder of a run that has written nothing. Hydra makes it before the run begins.

    `collect.py` counts the jobs of a sweep by their folders: these stay.
    """
    if not HydraConfig.initialized():
        return
    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    own, log = folder / (hydra.output_subdir or ""), folder / f"{hydra.job.name}.log"
    notes = {log, *(own / f"{name}.yaml" for name in ("config", "hydra", "overrides"))}
    found = {path for place in {folder, own} if place.is_dir() for path in place.iterdir()} - {own}
    if folder != Path.cwd() and found <= notes and not (log.is_file() and log.stat().st_size):
        for path in found:
            path.unlink(missing_ok=True)
        for path in (own, folder):
            with suppress(OSError):  # it is gone
                path.rmdir()


def _say(error: BaseException, where: str = "") -> None:
    print(f"{Path(sys.argv[0]).name}: {where}{one_line(error)}", file=sys.stderr, flush=True)


def in_sweep() -> bool:
    """Whether Hydra runs one of several jobs."""
    return HydraConfig.initialized() and HydraConfig.get().mode is RunMode.MULTIRUN


def start_quietly() -> None:
    """Leave out what libraries say about themselves."""
    import transformers

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # data loaders fork
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\).* is deprecated")
    warnings.filterwarnings("ignore", message=r".*does not have many workers")
    logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(_is_news)
    logging.getLogger("lightning.fabric.utilities.seed").setLevel(logging.WARNING)


def _is_news(record: logging.LogRecord) -> bool:
    idle = [
        "Tip: For seamless",
        "GPU available: False",
        "TPU available: False",
        "Loading `train_dataloader` to estimate",
    ]
    return not any(words in record.getMessage() for words in idle)


def refuse_subprocesses(trainer: Trainer) -> None:
    """Stop a sweep whose strategy would start the whole sweep in each of its processes.

    Lightning's "ddp" starts the other processes of a run by repeating the command line. With
    ``-m`` each of them would begin with the first job of the sweep, and wait for the others for
    ever.

    Raises:
        RuntimeError: if the trainer has such a strategy; the message says what to use.
    """
    launcher = trainer.strategy.launcher
    if (
        isinstance(launcher, _SubprocessScriptLauncher)
        and not launcher.cluster_environment.creates_processes_externally
    ):
        raise RuntimeError(
            "-m does not go together with this trainer, whose strategy repeats the command line to "
            "start its processes: each would start the whole sweep; wanted one process a run "
            "(trainer=cpu or trainer=gpu; launch=joblib runs several at a time), processes without "
            "a command line (trainer=ddp_spawn_cpu2, or trainer.strategy=ddp_spawn), or processes "
            "started beforehand (torchrun --nproc-per-node 2 train.py -m ... "
            "hydra.sweep.dir=multirun/NAME)"
        )
