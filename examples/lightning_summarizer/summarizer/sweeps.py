"""The jobs of a sweep: what was swept, what came out, and which is the best."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from lightning.pytorch.utilities import rank_zero_only
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]  # it has no annotations

from bertscore_tm.lightning import LAYERS, SCORES, SIGNATURE, TEST

from .errors import SettingError
from .reports import best_of, numbers, read_tsv

UNLIKE = (
    "Layer, encoder or rule of the metric differ among these scores: they do not compare, and the "
    "highest need not be the best."
)
_NOT_SHOWN = ("overrides", "signature")


class BestJob(Callback):
    """Names the best job at the end of a sweep."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Say it, on one process."""
        folder = Path(config.hydra.sweep.dir)
        if getattr(rank_zero_only, "rank", 0) == 0:
            print(f"\n{summary(read_jobs(folder))}\nFolder of the sweep: {folder}", flush=True)


def read_jobs(folder: Path) -> list[dict[str, str]]:
    """A row for each job of a sweep, or for each layer that it evaluated; the best ones first.

    Args:
        folder: of the sweep: the one that has a folder for each job.

    Returns:
        "job", the keys that were swept, "encoder", "layer", the scores (of a training: those of
        its best epoch), and then "overrides" and "signature".

    Raises:
        SettingError: if a file of a job is not what it should be.
    """
    jobs = sorted(folder.glob("*/.hydra/overrides.yaml"), key=_place)
    overrides = {path.parents[1].name: _overrides(path) for path in jobs}
    keys = _swept(list(overrides.values()))
    rows = []
    for path in jobs:
        run, own = path.parents[1], overrides[path.parents[1].name]
        head = {"job": run.name, **{key: own.get(key, "") for key in keys}}
        tail = {"overrides": " ".join(f"{key}={value}" for key, value in own.items())}
        rows += [{**head, **row, **tail, "signature": sig} for sig, row in _results(run)]
    return sorted(rows, key=score_of, reverse=True)


def unfinished(folder: Path) -> list[str]:
    """The jobs of a sweep that have written no scores."""
    jobs = sorted(folder.glob("*/.hydra/overrides.yaml"), key=_place)
    return [path.parents[1].name for path in jobs if not (path.parents[1] / SIGNATURE).is_file()]


def score_of(row: dict[str, str]) -> float:
    """What jobs are compared by: the value that was monitored, or F1; without one, the lowest."""
    value = float(row.get("bertscore") or row.get("f1") or "nan")
    return value if value == value else float("-inf")


def summary(rows: Sequence[dict[str, str]]) -> str:
    """The best job, with its overrides and its value, in a line."""
    if not rows:
        return "No job has written scores."
    best = rows[0]
    scores = [name for name in best if name in ("bertscore", "f1")]
    what = swept(best) or best["overrides"]
    place = f" in epoch {best['epoch']}" if "epoch" in best else f" of layer {best['layer']}"
    value = f"{scores[0]} {score_of(best):.4f}{place}"
    kinds = {(row["signature"], row["layer"]) for row in rows}
    which = f"{best['job']} ({what}): {value}"
    return f"Highest value: job {which}\n{UNLIKE}" if len(kinds) > 1 else f"Best job: {which}"


def swept_keys(row: dict[str, str]) -> list[str]:
    """The keys that were swept: what stands between the job and its encoder."""
    return list(row)[1 : list(row).index("encoder")]


def swept(row: dict[str, str]) -> str:
    """Those keys with their values."""
    return " ".join(f"{key}={row[key]}" for key in swept_keys(row))


def shown(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Rows with the columns that a screen has room for, in the same order in all of them."""
    columns = list(dict.fromkeys(name for row in rows for name in row if name not in _NOT_SHOWN))
    return [{name: row.get(name, "") for name in columns} for row in rows]


def _results(run: Path) -> list[tuple[str, dict[str, str]]]:
    """Signature and scores: of the best epoch, of a test, or of each layer."""
    if not (run / SIGNATURE).is_file():  # it has failed, or goes on
        return []
    signature = (run / SIGNATURE).read_text(encoding="utf-8").strip()
    facts = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    encoder = facts.get("encoder", "?").split("@")[0]
    layer = facts.get("layers", "?").removesuffix("(default)")
    for name, prefix in ((SCORES, "val_"), (TEST, "test_")):
        if rows := read_tsv(run / name):
            best = best_of(rows, f"{prefix}bertscore", run / name)
            line = {key.removeprefix(prefix): value for key, value in (best or {}).items()}
            return [(signature, {"encoder": encoder, "layer": layer, **line})] if best else []
    rows = read_tsv(run / LAYERS)
    numbers(rows, "f1", run / LAYERS)
    numbers(rows, "layer", run / LAYERS)
    return [(signature, {"encoder": encoder, **row}) for row in rows]


def _overrides(path: Path) -> dict[str, str]:
    """What was given on the command line, or by the sweeper, without Hydra's own settings."""
    try:
        given = OmegaConf.to_container(OmegaConf.load(path))
    except (OmegaConfBaseException, YAMLError, OSError, ValueError) as error:
        raise SettingError(f"{path} is no list of overrides: {error}") from error
    pairs = [str(one).lstrip("+").partition("=") for one in given or []]
    return {key: value for key, _, value in pairs if not key.startswith("hydra.")}


def _swept(jobs: Sequence[dict[str, str]]) -> list[str]:
    """The keys whose values differ."""
    keys = list(dict.fromkeys(key for job in jobs for key in job))
    return [key for key in keys if len({job.get(key) for job in jobs}) > 1]


def _place(path: Path) -> tuple[int, str]:
    name = path.parents[1].name
    return (int(name) if name.isdigit() else sys.maxsize, name)
