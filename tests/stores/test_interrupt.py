"""Nobody waits any more: the statement that runs in the database ends, and the connection is of use
to the next one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sourcebook import asker
from sourcebook.model import ReadContext, Scope
from sourcebook.serve.failures import OutOfTime
from sourcebook.serve.turns import Turns, Visit
from sourcebook.stores.postgres.store import PostgresStore
from sourcebook.stores.sqlite import SqliteStore

SCOPE = Scope("acme", "o", "r")
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
LONG_S = 60


def ended(run: Callable[[], Any], visit: Visit) -> float:
    """How long the work of a visit that ends early took."""
    started = time.monotonic()
    known = asker.known_by(visit.check, visit.deadline, visit.on_leave)
    with pytest.raises(OutOfTime), Turns().turn(visit), known:
        run()
    return time.monotonic() - started


def late() -> Visit:
    return Visit(time.monotonic() + 0.3)


def leaving() -> Visit:
    visit = Visit()
    threading.Timer(0.3, visit.leave).start()
    return visit


@pytest.mark.parametrize("visit", [late, leaving])
@pytest.mark.parametrize("writes", [False, True])
def test_sqlite_is_interrupted(tmp_path: Path, visit: Callable[[], Visit], writes: bool) -> None:
    store = SqliteStore.open(tmp_path / "store.db")

    def read() -> None:
        with store._connections.translating():
            store.reader().execute(ENDLESS).fetchone()

    def write() -> None:
        with store._connections.transaction() as db:
            db.execute(f"CREATE TABLE t AS {ENDLESS}")

    assert ended(write if writes else read, visit()) < LONG_S
    with store.commit(SCOPE) as writer:
        assert writer.revision == 0


@pytest.mark.parametrize("visit", [late, leaving])
@pytest.mark.parametrize("writes", [False, True])
def test_postgres_is_cancelled(postgres_url: str, visit: Callable[[], Visit], writes: bool) -> None:
    store = PostgresStore.open(postgres_url)

    def sleep() -> None:
        begun = store._primary.writing("acme") if writes else store._primary.reading("acme")
        with begun as session:
            session.db.execute(f"SELECT pg_sleep({LONG_S})")

    assert ended(sleep, visit()) < LONG_S
    assert store.resolve(SCOPE, ReadContext()).revision == 0
    store.close()
