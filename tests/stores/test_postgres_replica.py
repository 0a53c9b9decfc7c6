"""A primary and a replica of it: which one answers what, and what is left when the primary dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from sourcebook.engine import Engine
from sourcebook.errors import StoreReadOnly, StoreUnavailable
from sourcebook.indexing import Pace
from sourcebook.model import PreparedQuery
from sourcebook.ports import Within
from sourcebook.stores.postgres import replica as module
from sourcebook.stores.postgres.store import PostgresStore
from sourcebook.testing.embedding import WordEmbedder
from sourcebook.testing.surface import make_engine
from sourcebook.worker import Worker
from tests.postgres import FAST, Server, replica, temporary
from tests.stores.conformance import SCOPE, SPACE, bodies, head, put, tree, units


class Pair(NamedTuple):
    primary: Server
    replica: Server


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with temporary() as primary, replica(primary) as follower:
        yield Pair(primary, follower)


def follow(pair: Pair, *, on: bool = True) -> None:
    """Let the replica go on, or hold it where it is."""
    with psycopg.connect(pair.replica.url(), autocommit=True) as db:
        db.execute(f"SELECT pg_wal_replay_{'resume' if on else 'pause'}()".encode())


def reached(pair: Pair, revision: int) -> None:
    for _ in range(600):
        with psycopg.connect(pair.replica.url()) as db:
            row = db.execute("SELECT to_regclass('sourcebook.repository') IS NOT NULL").fetchone()
            if row == (True,):
                row = db.execute("SELECT max(head) FROM sourcebook.repository").fetchone()
                if row is not None and row[0] == revision:
                    return
        time.sleep(0.05)
    pytest.fail("the replica does not follow")


def caught_up(pair: Pair) -> None:
    with psycopg.connect(pair.primary.url()) as primary:
        (last,) = primary.execute("SELECT pg_current_wal_lsn()::text").fetchone() or ()
    with psycopg.connect(pair.replica.url(), autocommit=True) as db:
        for _ in range(600):
            if db.execute("SELECT pg_last_wal_replay_lsn() >= %s", (last,)).fetchone() == (True,):
                return
            time.sleep(0.05)
    pytest.fail("the replica does not follow")


def follows(store: PostgresStore, revision: int) -> bool:
    """Whether the replica answers for that revision."""
    assert store._replica is not None
    with ExitStack() as opened:
        return store._replica.read(opened, SCOPE, revision) is not None


def test_reads_go_to_a_replica_that_has_the_revision_and_survive_the_primary(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_REST_S", 0.0)
    store = PostgresStore.open(pair.primary.url(), busy_timeout=3, read_url=pair.replica.url())
    put(store, tree("a", ["red fox"]))
    store.register_space(SCOPE, SPACE)
    (todo,) = store.pending(SCOPE, SPACE)
    store.put_vectors(SCOPE, SPACE, [todo.text_hash], units(1))
    reached(pair, 1)
    assert follows(store, 1)
    assert not follows(store, 2)

    follow(pair, on=False)
    put(store, tree("b", ["blue sky"]))
    assert not follows(store, 2)
    assert bodies(store, 2) == {"red fox", "blue sky"}
    assert bodies(store, 1) == {"red fox"}
    query = PreparedQuery("", "", ("red", "blue"))
    assert len(store.sparse_search(SCOPE, query, 9, Within(2))) == 2
    follow(pair)
    reached(pair, 2)

    with pytest.raises(StoreUnavailable), store.commit(SCOPE) as writer:
        writer.put(tree("c", ["never seen"]))
        pair.primary.stop("immediate")
        writer.put(tree("d", ["never seen"]))
    assert bodies(store, 2) == {"red fox", "blue sky"}
    assert len(store.sparse_search(SCOPE, query, 9, Within(2))) == 2
    assert len(store.dense_search(SCOPE, SPACE, units(1)[0], 9, Within(1)).matches) == 1
    with pytest.raises(StoreUnavailable):
        head(store)

    pair.primary.start(*FAST)
    assert head(store) == 2
    assert put(store, tree("c", ["after"])) == 3
    reached(pair, 3)
    assert "after" in bodies(store, 3)

    pair.replica.stop("immediate")
    assert bodies(store, 3) == {"red fox", "blue sky", "after"}
    pair.replica.start(*FAST)
    store.close()


def test_a_replica_alone_is_read_and_not_written(pair: Pair) -> None:
    owner = PostgresStore.open(pair.primary.url())
    last = put(owner, tree("e", ["once more"]))
    owner.close()
    reached(pair, last)
    store = PostgresStore.open(pair.replica.url(), busy_timeout=3)
    assert store.read_only
    assert "once more" in bodies(store, last)
    with pytest.raises(Exception, match="can only be read"):
        put(store, tree("f", ["no"]))
    store.close()


def test_a_replica_alone_answers_and_verifies_without_the_primary(
    pair: Pair, tmp_path: Path
) -> None:
    def engine_on(server: Server) -> Engine:
        store = PostgresStore.open(server.url(), busy_timeout=3)
        return make_engine(store, {"words": WordEmbedder()})

    (tmp_path / "a.txt").write_text("Owls hunt at night.")
    writing = engine_on(pair.primary)
    writing.ingest(tmp_path / "a.txt")
    caught_up(pair)
    pair.primary.stop("immediate")
    engine = engine_on(pair.replica)
    answer = engine.search("owls")
    assert [hit.text for hit in answer.results] == ["Owls hunt at night."]
    assert not answer.degraded
    assert engine.verify(answer.results[0].citation).valid
    assert engine.store.keys(None) == []
    with pytest.raises(StoreReadOnly):
        engine.create_baseline("spring")
    with pytest.raises(StoreUnavailable):
        writing.search("owls")
    pair.primary.start(*FAST)
    assert not writing.search("owls").degraded
    for each in (writing, engine):
        each.store.close()


def test_a_worker_goes_on_when_the_primary_is_back(pair: Pair, tmp_path: Path) -> None:
    store = PostgresStore.open(pair.primary.url(), busy_timeout=3)
    engine = make_engine(store, {"words": WordEmbedder()})
    (tmp_path / "a.txt").write_text("Owls hunt at night.")
    engine.ingest(tmp_path / "a.txt")
    worker = Worker(lambda: [engine], Pace(first_pause_s=0.05, longest_pause_s=0.2))
    running = threading.Thread(target=worker.run)
    running.start()
    pair.primary.stop("immediate")
    time.sleep(0.5)
    pair.primary.start(*FAST)
    with store.commit(engine.scope) as writer:
        writer.put(tree("b", ["bats too"]))
    for _ in range(600):
        if not engine.lag()[0]:
            break
        time.sleep(0.05)
    worker.stop.set()
    running.join()
    assert engine.lag() == (0, 0)
    assert worker.stored >= 1
    store.close()
