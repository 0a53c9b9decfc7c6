"""What a store does on a failing disk: a small share of `benchmarks/faults.py`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.disk import KINDS, Disk, Fault, why_not
from tests.faults.faults import (
    History,
    broken,
    damaged_logs,
    lost_power,
    record,
    with_log,
)
from tests.faults.world import OPERATIONS, Operation, World

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "possible here")
FAULTS, CUTS, LOGS = 5, 20, 12
NEVER = 10**9


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World.build(tmp_path_factory.mktemp("world"))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with Disk(tmp_path) as disk:
        yield disk


@pytest.fixture(scope="module")
def history(world: World, tmp_path_factory: pytest.TempPathFactory) -> History:
    with Disk(tmp_path_factory.mktemp("history")) as disk:
        return record(world, disk, rounds=1)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_a_failed_write_leaves_all_or_nothing(
    world: World, disk: Disk, operation: Operation
) -> None:
    untouched = broken(world, operation, disk, Fault(NEVER, "EIO"))
    assert untouched.problems == []
    assert not untouched.reached
    for n in range(FAULTS):
        nth = 1 + n * (untouched.count - 1) // (FAULTS - 1)
        fault = Fault(nth, KINDS[n % len(KINDS)], lasting=n % 2 == 0)
        outcome = broken(world, operation, disk, fault)
        assert outcome.reached
        assert outcome.problems == [], fault


def test_a_power_cut_loses_no_acknowledged_commit(world: World, history: History) -> None:
    for cut, wrong in lost_power(world, history, random.Random(20), CUTS):
        assert wrong == [], (cut.at, cut.loss)


def test_commits_that_were_not_synced_would_be_missed(world: World, history: History) -> None:
    """That the test above can fail: a disk that ignores syncs loses commits."""
    ignoring = [entry for entry in history.disk.log if entry.operation != "sync"]
    careless = History(Disk(history.disk.folder, log=ignoring), history.states)
    found = list(lost_power(world, careless, random.Random(20), CUTS))
    assert any(wrong for _, wrong in found)


def test_a_damaged_log_gives_a_whole_earlier_state(world: World, tmp_path: Path) -> None:
    path, history = with_log(world, tmp_path)
    for damage, wrong in damaged_logs(world, path, history, random.Random(3), LOGS):
        assert wrong == [], damage
