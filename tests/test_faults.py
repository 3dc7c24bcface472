"""When something goes wrong on one rank, all get the right value or an error and can go on.

Starting processes is dear, so one start runs many scenarios of faults.py, each in a process group
of its own; every test then looks at what its scenario returned on each rank. Values are compared
with those of one process, which test_sync.py holds against the formula.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from bertscore_tm import BERTScore, HuggingFaceEncoder
from distributed import run
from faults import OTHERS, QUICK, SHARES, WAITING, dying, everything
from test_sync import IDF, Seen, both, near, single

pytestmark = pytest.mark.filterwarnings(
    "ignore:BERTScore. . pairs have a side whose idf weights are all zero"
)

ALL = sorted(row for share in SHARES for row in share)
BROKEN = (
    r"(RuntimeError|DistBackendError|DistNetworkError): [\s\S]*([Tt]imed out|[Cc]onnection|reset)"
)
"""What PyTorch says when a rank is late or gone."""
MIXED = (
    "InvalidValueError: got the state of a BERTScore that was made in another way (encoder, "
    "layers, tokenizer, length, idf or rules"
)
OTHER_WEIGHTS = (
    "InvalidValueError: got scores of a custom encoder with different weights; wanted the same on "
    "all ranks and in all merged metrics"
)
BAD = (
    "InvalidTypeError: got None in row 1 of preds; wanted a string (an empty one if nothing was "
    "generated)"
)
Paths = tuple[str, str]


@pytest.fixture(scope="module")
def paths(tiny: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Paths:
    """An encoder and one with slightly other weights, in folders of one name."""
    path = tiny("bert")
    other = tmp_path_factory.mktemp("other") / Path(path).name
    shutil.copytree(path, other)
    model = AutoModel.from_pretrained(path)
    with torch.no_grad():
        for weight in model.parameters():
            weight *= 1.01
    model.save_pretrained(other)
    return path, str(other)


# With gloo, PyTorch 2.1 at times never returns from destroy_process_group, which the scenarios
# call.
if torch.__version__.startswith("2.1."):
    pytest.skip("PyTorch 2.1 hangs where a process group is destroyed", allow_module_level=True)


@pytest.fixture(scope="module")
def seen(paths: Paths, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(2, run(everything, 2, QUICK, paths, str(tmp_path_factory.mktemp("quick"))))


@pytest.fixture(scope="module")
def waited(paths: Paths, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(2, run(everything, 2, WAITING, paths, str(tmp_path_factory.mktemp("waiting"))))


def f1(path: str, rows: list[int] = ALL, kind: str = "plain") -> list[float]:
    return single(path, rows, idf=IDF[kind])["f1"]


def matches(pattern: str, said: str) -> bool:
    return re.match(pattern, said) is not None


@pytest.mark.parametrize("way", ["update", "forward"])
@both
def test_a_rank_goes_on_after_a_bad_batch(seen: Seen, kind: str, way: str, paths: Paths) -> None:
    for rank, (said, got) in enumerate(seen(f"batch-{way}-{kind}")):
        assert said == (BAD if rank == 0 else "")
        near(got, f1(paths[0], kind=kind))


@both
def test_a_rank_goes_on_after_its_encoder_failed(seen: Seen, kind: str, paths: Paths) -> None:
    for rank, (said, got) in enumerate(seen(f"encoder-{kind}")):
        assert said == [
            ["RuntimeError: the device is gone", "no error but None"][rank],
            "no error but None",
        ]
        near(got, f1(paths[0], ALL[2:], kind))


@both
def test_a_rank_that_leaves_is_an_error(seen: Seen, kind: str, paths: Paths) -> None:
    _check_absent(seen(f"leaves-{kind}"), kind, paths)


@pytest.mark.slow
@both
def test_a_rank_that_never_computes_is_an_error(waited: Seen, kind: str, paths: Paths) -> None:
    _check_absent(waited(f"stays-{kind}"), kind, paths)


@pytest.mark.slow
def test_a_rank_that_misses_a_step_is_an_error(waited: Seen, paths: Paths) -> None:
    _check_absent(waited("step"), "idf", paths)


def _check_absent(told: list[Any], kind: str, paths: Paths) -> None:
    """Then the rank that waited has what it had, and with all ranks there the value is right."""
    order = [row for share in SHARES for row in (*share[1:], share[0])]
    for rank, (said, own, got) in enumerate(told):
        assert matches(BROKEN if rank == 1 else "$", said), said
        near(own, f1(paths[0], SHARES[rank][1:], kind))
        near(got, f1(paths[0], order, kind))


@pytest.mark.slow
def test_a_rank_that_never_computes_a_collection_is_an_error(waited: Seen, paths: Paths) -> None:
    for rank, (said, got) in enumerate(waited("collection")):
        assert matches(BROKEN if rank == 1 else "$", said), said
        near(got, single(paths[0]))


@pytest.mark.parametrize("what", OTHERS)
def test_other_weights_and_rules_on_one_rank_are_an_error_on_all(
    seen: Seen, what: str, paths: Paths
) -> None:
    for rank, (said, own) in enumerate(seen(f"other-{what}")):
        assert said.startswith(OTHER_WEIGHTS if what == "custom-weights" else MIXED), said
        assert len(own) == len(SHARES[rank])


def test_ranks_may_ask_for_other_scores(seen: Seen, paths: Paths) -> None:
    for rank, (said, own) in enumerate(seen("score")):
        name = ("recall", "f1")[rank]
        near(json.loads(said.removeprefix("no error but ")), single(paths[0])[name])
        near(own, single(paths[0], SHARES[rank])[name])


@pytest.mark.slow
@both
def test_a_rank_that_computes_more_often_waits_in_vain(
    waited: Seen, kind: str, paths: Paths
) -> None:
    for rank, (first, said, got) in enumerate(waited(f"often-{kind}")):
        assert len(first) == 2 - rank
        for value in first:
            near(value, f1(paths[0], [share[0] for share in SHARES], kind))
        assert matches(BROKEN if rank == 0 else "$", said), said
        near(got, f1(paths[0], ALL, kind))


def test_a_rank_without_more_rows_says_so_with_an_empty_batch(seen: Seen, paths: Paths) -> None:
    for first, second in seen("empty-batch"):
        near(first, f1(paths[0], SHARES[0][1:] + SHARES[1][1:]))
        near(second, f1(paths[0], [*SHARES[0][1:], 0, *SHARES[1][1:]]))


@pytest.mark.slow
def test_a_rank_that_does_not_returns_its_last_value_and_the_other_waits_in_vain(
    waited: Seen,
) -> None:
    """As with all metrics of torchmetrics.

    `compute` without an update since the last one talks to nobody.
    """
    (_, said), (first, second) = waited("no-batch")
    assert matches(BROKEN, said), said
    assert second == first


@both
def test_a_process_group_that_was_made_again(seen: Seen, kind: str, paths: Paths) -> None:
    firsts = [share[0] for share in SHARES]
    for rank, (values, stale, own) in enumerate(seen(f"jobs-{kind}")):
        for got, rows in zip(values, (firsts, SHARES[rank], ALL, ALL, firsts), strict=True):
            near(got, f1(paths[0], rows, kind))
        assert stale.startswith("ValueError: Group ")
        assert "is not registered" in stale
        near(own, f1(paths[0], SHARES[rank]))


@both
def test_sync_by_hand(seen: Seen, kind: str, paths: Paths) -> None:
    for rank, (values, errors, value) in enumerate(seen(f"hand-{kind}")):
        for got, rows in zip(values, (SHARES[rank], ALL, SHARES[rank], SHARES[rank]), strict=True):
            near(got, f1(paths[0], rows, kind))
        late = (
            "got new samples while the state is that of all processes, between `sync` and "
            "`unsync`; wanted `unsync()` first"
        )
        assert [error.removeprefix("TorchMetricsUserError: ") for error in errors] == [
            "The Metric has already been synced.",
            late,
            "The Metric shouldn't be synced when performing ``forward``. HINT: Did you forget to "
            "call ``unsync`` ?.",
            late,
            "The Metric has already been un-synced.",
            "The Metric has already been synced.",
        ]
        near(value, f1(paths[0], ALL, kind))


def test_a_rank_outside_of_the_group(seen: Seen, paths: Paths) -> None:
    said = (
        "InvalidValueError: got a process_group that this process (rank 1 of 2) does not belong "
        "to; wanted one of its own groups, or "
    )
    for rank, (computed, synced, own, everybody) in enumerate(seen("no-member")):
        assert computed.startswith(said if rank == 1 else "no error but ["), computed
        assert synced.startswith(said if rank == 1 else "no error but None"), synced
        near(own, f1(paths[0], SHARES[rank]))
        near(everybody, f1(paths[0]))


@pytest.mark.slow
def test_ranks_that_die(paths: Paths, tmp_path: Path) -> None:
    """Whoever lives gets an error at once, has what it had, goes on with those that are left."""
    first, second, third = run(dying, 3, paths[0], str(tmp_path), limit=15.0, mortal=(1, 2))
    assert second is third is None
    said, value, own = first
    assert len(said) == 2
    for error in said:
        assert matches(BROKEN, error), error
    near(value, f1(paths[0], ALL, "idf"))
    near(own, f1(paths[0], SHARES[0], "idf"))


def test_a_head_that_is_random_on_each_rank_is_no_other_encoder(paths: Paths) -> None:
    """A checkpoint without a pooler, as that of roberta-large, gets a new one in each process."""
    states = []
    for seed in range(2):
        model = AutoModel.from_pretrained(paths[0])
        with torch.no_grad():
            model.pooler.dense.weight.normal_(generator=torch.Generator().manual_seed(seed))
        metric = BERTScore(
            HuggingFaceEncoder(model, AutoTokenizer.from_pretrained(paths[0])), 2, reduction="none"
        )
        metric.update(["the cat sat"], ["a cat"])
        states.append(metric)
    states[0].merge_state(states[1])
    assert len(states[0].compute()) == 2
