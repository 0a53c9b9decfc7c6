"""Retention in one file that several processes have open: nobody reads a mixture, nothing is lost
by a crash, and the file gets smaller."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcebook.errors import RevisionDropped, StoreError
from sourcebook.history import steady
from sourcebook.model import PreparedQuery, ReadContext
from sourcebook.ports import Within
from sourcebook.stores.queries import QUERIES
from sourcebook.stores.sqlite import SqliteStore
from tests.stores.conformance import SCOPE, SPACE, head, put, tree
from tests.stores.past import WORDS, embed, reads

_fork = multiprocessing.get_context("fork")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(path)
    yield opened
    opened.close()


def grow(store: SqliteStore, revisions: int, seed: int = 0) -> None:
    """Documents that come, change and go at random."""
    rng = random.Random(seed)
    for number in range(revisions):
        with store.commit(SCOPE) as writer:
            for element in rng.sample("abcdef", 2):
                if rng.random() < 0.25:
                    writer.end(element)
                else:
                    writer.put(tree(element, rng.sample(WORDS, 3)))
            writer.put(tree("clock", [f"tick{number} red"]))
    embed(store, SCOPE)


def test_another_process_that_has_old_revisions_in_memory(path: Path, store: SqliteStore) -> None:
    """The lanes of dropped revisions are there to derive others from, with rows that the store no
    longer has."""
    grow(store, 12)
    store.create_baseline(SCOPE, "kept", 4)
    other = SqliteStore.open(path)
    for revision in (3, 5, 6, 10):
        reads(other, SCOPE, revision)
    store.retain(SCOPE, 9)
    fresh = SqliteStore.open(path)
    for revision in (4, 9, 10, 11, 12):
        expected = reads(fresh, SCOPE, revision)
        assert reads(other, SCOPE, revision) == expected
        assert reads(store, SCOPE, revision) == expected
    with pytest.raises(RevisionDropped):
        reads(other, SCOPE, 5)
    grow(other, 3, seed=1)
    assert reads(store, SCOPE, 15) == reads(SqliteStore.open(path), SCOPE, 15)
    other.close()


def test_the_lane_of_a_dropped_revision_is_no_start_for_another(
    path: Path, store: SqliteStore
) -> None:
    """Made by hand: revision 2 alone shows `zebra`, and its lane is the only one in memory."""
    query = PreparedQuery("", "", ("zebra",))
    put(store, tree("a", ["red"]))
    put(store, tree("a", ["red", "zebra"]))
    put(store, tree("a", ["red", "fox"]))
    other = SqliteStore.open(path)
    assert len(other.sparse_search(SCOPE, query, 9, Within(2))) == 1
    store.retain(SCOPE, 3)
    assert other.sparse_search(SCOPE, query, 9, Within(3)) == []
    other.close()


def test_readers_beside_retention_see_all_or_are_told(path: Path, store: SqliteStore) -> None:
    grow(store, 14)
    expected = {r: reads(store, SCOPE, r) for r in range(1, 15)}
    stop, wrong, told, right = threading.Event(), [], [0], [0]

    def read(opened: SqliteStore, seed: int) -> None:
        rng = random.Random(seed)
        while not stop.is_set():
            revision = rng.randint(1, 14)
            try:
                with steady(opened, SCOPE, revision):
                    seen = reads(opened, SCOPE, revision)
                if seen != expected[revision]:
                    wrong.append(revision)
                right[0] += 1
            except RevisionDropped:
                told[0] += 1
            except Exception as error:  # noqa: BLE001  whatever else it is, it is wrong
                wrong.append(repr(error))

    stores = [store, SqliteStore.open(path), SqliteStore.open(path)]
    threads = [threading.Thread(target=read, args=(s, n)) for n, s in enumerate(stores)]
    for thread in threads:
        thread.start()
    for bound in range(2, 14):
        store.retain(SCOPE, bound)
        time.sleep(0.05)
    store.vacuum()
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert told[0] > 0
    assert right[0] > 0


def test_the_published_pointer_is_never_between_two(path: Path, store: SqliteStore) -> None:
    put(store, tree("a", ["red one"]))
    put(store, tree("a", ["red two"]))
    for name, revision in (("v1", 1), ("v2", 2)):
        store.create_baseline(SCOPE, name, revision)
    store.publish(SCOPE, "v1")
    done, seen, wrong = threading.Event(), set(), []

    def hammer(selector: str) -> None:
        reader = SqliteStore.open(path)
        while not done.is_set():
            at = reader.resolve(SCOPE, ReadContext(selector))  # type: ignore[arg-type]
            words = PreparedQuery("", "", ("red",))
            (found,) = reader.sparse_search(SCOPE, words, 9, Within(at.revision))
            (passage,) = reader.passages(SCOPE, at.revision, [found.passage])
            seen.add((at.selector, at.baseline_id, at.revision, passage.text))
            if len(seen) > 2:
                wrong.append(at)
        reader.close()

    for selector in ("published", "default"):
        seen.clear()
        done.clear()
        threads = [threading.Thread(target=hammer, args=(selector,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for turn in range(60):
            store.publish(SCOPE, ("v2", "v1")[turn % 2])
        done.set()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert seen == {("published", "v1", 1, "red one"), ("published", "v2", 2, "red two")}


def drop_for_ever(path: Path) -> None:
    store = SqliteStore.open(path)
    rng = random.Random(time.monotonic_ns())
    while True:
        grow(store, 2, seed=rng.randrange(10**6))
        store.retain(SCOPE, head(store) - 3)
        if rng.random() < 0.3:
            store.vacuum()


def test_killed_while_it_drops(path: Path) -> None:
    """Rows and what is remembered of revisions go together: nothing is there without its parts, and
    every revision that is not called dropped can be read."""
    rng = random.Random(5)
    for _ in range(12):
        child = _fork.Process(target=drop_for_ever, args=(path,))
        child.start()
        time.sleep(0.15 + rng.random() * 0.25)
        child.kill()
        child.join()
        store = SqliteStore.open(path)
        db = store.reader()
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        repository = {"repository": 1}
        for name in ("nodes", "links", "passages"):
            check = QUERIES[f"drop_{name}"].replace("DELETE", "SELECT count(*)", 1)
            assert db.execute(check, repository).fetchone() == (0,), name
        embed(store, SCOPE)
        kept = [r.number for r in store.log(SCOPE) if not r.dropped]
        for revision in rng.sample(kept, min(len(kept), 3)):
            nodes = store.nodes(SCOPE, revision, limit=1000)
            assert all(store.text(SCOPE, node) is not None for node in nodes)
            assert len(store.quality(SCOPE, "1", [n.version_id for n in nodes])) == len(
                {n.version_id for n in nodes}
            )
            whole = store.coverage(SCOPE, SPACE, Within(revision))
            assert whole.passages == whole.vectors == store.counts(SCOPE, revision)["passages"]
        store.close()
    assert len(kept) < len(SqliteStore.open(path).log(SCOPE))


def test_a_vacuum_gives_room_back_beside_an_open_reader(path: Path, store: SqliteStore) -> None:
    for number in range(30):
        put(store, tree("a", [f"{number} " + "word " * 20_000]))
    other = SqliteStore.open(path)
    assert len(other.nodes(SCOPE, 30)) == 2
    store.retain(SCOPE, 30)
    store.vacuum()
    assert path.stat().st_size < 1_000_000
    assert [len(s.nodes(SCOPE, 30)) for s in (store, other)] == [2, 2]
    assert put(other, tree("b", ["new"])) == 31
    other.close()


def test_a_store_that_is_being_written_is_not_vacuumed(path: Path, store: SqliteStore) -> None:
    put(store, tree("a", ["one"]))
    other = SqliteStore.open(path, busy_timeout=0.1)
    with store.commit(SCOPE) as writer:
        writer.put(tree("b", ["two"]))
        with pytest.raises(StoreError, match="writing"):
            other.vacuum()
        with pytest.raises(StoreError, match="writing"):
            other.retain(SCOPE, 1)
    other.close()


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("nodes_between", "node_born"),
        ("nodes_ended_between", "node_died"),
        ("relations_between", "link_born"),
        ("relations_ended_between", "link_died"),
        ("drop_nodes", "node_died"),
        ("drop_links", "link_died"),
        ("drop_passages", "COVERING INDEX passage_seen"),
        ("drop_passages", "revision_kept"),
    ],
)
def test_a_difference_costs_what_changed(store: SqliteStore, name: str, index: str) -> None:
    """No plan reads a whole table; what is found is found by birth or end."""
    grow(store, 5)
    values = dict.fromkeys(("repository", "revision", "low", "high", "kind", "readable"), 1)
    plan = [row[3] for row in store.reader().execute(f"EXPLAIN QUERY PLAN {QUERIES[name]}", values)]
    assert any(index in step for step in plan), plan
    assert not [step for step in plan if step.startswith("SCAN") and "json_each" not in step], plan
