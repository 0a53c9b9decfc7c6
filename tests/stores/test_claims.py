"""Leases in the SQLite store: the conformance suite, and what only a file can show."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sourcebook.ports import Spent
from sourcebook.stores.queries import QUERIES
from sourcebook.stores.sqlite import SqliteStore
from tests.stores.conformance import SCOPE, SPACE, put, tree, units
from tests.stores.leases import Clock, LeaseConformance, claim, embed, filled

_fork = multiprocessing.get_context("fork")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "store.db", busy_timeout=5, clock=clock)
    yield opened
    opened.close()


class TestSqliteLeases(LeaseConformance):
    pass


def test_old_batches_become_one_row_a_day(store: SqliteStore, clock: Clock) -> None:
    filled(store, 1)
    for _ in range(3 * 96 * 4):
        embed(store, [], Spent("one", 1.0, 3, 0.5))
        clock.pass_s(900)
    rows = store.reader().execute("SELECT worker, count(*) FROM usage GROUP BY worker").fetchall()
    kept = dict(rows)
    assert kept[""] <= 13
    assert kept["one"] <= 256 + 5


def test_finding_what_is_missing_reads_no_vector(store: SqliteStore) -> None:
    """The vectors fill the file: a look through them would cost as much as reading it."""
    values = {"repository": 1, "space": 1, "now": "", "limit": 1}
    for name in ("claimable", "waiting", "count_pending", "pending"):
        plan = store.reader().execute(f"EXPLAIN QUERY PLAN {QUERIES[name]}", values).fetchall()
        steps = " | ".join(row[3] for row in plan)
        assert "SEARCH p USING COVERING INDEX passage_by_text" in steps, name
        assert "SEARCH v USING COVERING INDEX vector_key" in steps, name


def test_a_space_that_is_dropped_takes_its_leases_along(store: SqliteStore) -> None:
    filled(store, 2)
    keys = claim(store, "one")
    store.fail(SCOPE, SPACE, "one", {keys[0]: "no"})
    embed(store, [], Spent("one", 1.0, 3, 0.5))
    with store._connections.transaction() as db:
        db.execute("DELETE FROM space")
    for table in ("claim", "failure", "usage"):
        assert store.reader().execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_threads_share_one_store(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "s.db")
    put(store, tree("a", [f"text number {n}" for n in range(200)]))
    store.register_space(SCOPE, SPACE)
    barrier = threading.Barrier(4)

    def work(worker: int) -> list[str]:
        barrier.wait()
        mine: list[str] = []
        while held := claim(store, str(worker), 7):
            mine += held
        return mine

    with ThreadPoolExecutor(4) as pool:
        found = [key for keys in pool.map(work, range(4)) for key in keys]
    assert len(found) == len(set(found)) == 200
    store.close()


def claim_all(path: Path, worker: int, found: multiprocessing.Queue[list[str]]) -> None:
    store = SqliteStore.open(path)
    mine: list[str] = []
    while held := claim(store, str(worker), 5):
        mine += held
        store.put_vectors(SCOPE, SPACE, held, units(len(held)))
    found.put(mine)
    store.close()


def test_processes_share_one_file(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "s.db")
    put(store, tree("a", [f"text number {n}" for n in range(120)]))
    store.register_space(SCOPE, SPACE)
    store.close()
    found: multiprocessing.Queue[list[str]] = _fork.Queue()
    workers = [
        _fork.Process(target=claim_all, args=(tmp_path / "s.db", n, found)) for n in range(4)
    ]
    for each in workers:
        each.start()
    keys = [key for _ in workers for key in found.get(timeout=30)]
    for each in workers:
        each.join()
    assert len(keys) == len(set(keys)) == 120
