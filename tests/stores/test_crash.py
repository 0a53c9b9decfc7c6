"""A process that is killed at any moment loses nothing that it reported, and leaves no half of
anything."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from sourcebook.stores.postings import TERM
from sourcebook.stores.sqlite import SqliteStore
from tests.stores.conformance import SCOPE, SPACE, head, tree, units

FEWEST, MOST, SECONDS = 25, 80, 15.0
"""Kills: as many as fit into the time."""
_fork = multiprocessing.get_context("fork")


def write_for_ever(path: Path, report: Connection) -> None:
    """Three documents that change with every revision and two that are added by it; vectors for
    all of them between commits. So what a revision holds can be computed from its number."""
    store = SqliteStore.open(path)
    store.register_space(SCOPE, SPACE)
    while True:
        number = head(store) + 1
        with store.commit(SCOPE, request_id=f"request {number}") as writer:
            for name in ("x", "y", "z"):
                writer.put(tree(name, [f"{name} {part} at{number}" for part in range(4)]))
            for name in ("m", "n"):
                writer.put(tree(f"{name}{number:06}", [f"{name} {p} in{number}" for p in range(2)]))
        report.send(writer.revision)
        waiting = store.pending(SCOPE, SPACE)
        hashes = [each.text_hash for each in waiting]
        store.put_vectors(SCOPE, SPACE, hashes, units(len(hashes), seed=number))


def run_and_kill(path: Path, rng: random.Random) -> int:
    """The last revision that the process reported before it was killed."""
    here, there = _fork.Pipe(duplex=False)
    child = _fork.Process(target=write_for_ever, args=(path, there))
    child.start()
    there.close()
    last = 0
    for _ in range(rng.randrange(4)):
        if here.poll(5):
            last = here.recv()
    time.sleep(rng.random() * 0.03)
    child.kill()
    child.join()
    try:
        while True:
            last = here.recv()
    except EOFError:
        return last


def check_file(db: sqlite3.Connection, last: int) -> None:
    def one(statement: str) -> tuple[int, ...]:
        return db.execute(statement).fetchone()

    assert one("PRAGMA integrity_check") == ("ok",)
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    for table in ("node", "link", "passage"):
        assert one(f"SELECT count(*) FROM {table} WHERE born > {last} OR died > {last}") == (0,)
    assert one("SELECT count(*), max(number) FROM revision") == (last, last or None)
    assert one("SELECT count(*) FROM request") == (last,)
    assert one("SELECT count(*) - count(DISTINCT id) FROM term") == (0,)
    assert one(
        "SELECT count(*) FROM node n WHERE NOT EXISTS (SELECT 1 FROM content c"
        " WHERE c.repository = n.repository AND c.hash = n.content)"
    ) == (0,)
    assert one("SELECT count(*) FROM facet") == one("SELECT 2 * count(*) FROM passage")
    assert one("SELECT coalesce(sum(vectors), 0) FROM space") == one("SELECT count(*) FROM vector")


def check_blobs(db: sqlite3.Connection) -> None:
    terms = {number for (number,) in db.execute("SELECT id FROM term")}
    for (blob,) in db.execute("SELECT terms FROM passage ORDER BY row DESC LIMIT 50"):
        assert terms.issuperset(np.frombuffer(blob, TERM)["term"].tolist())
    data = [blob for (blob,) in db.execute("SELECT data FROM vector")]
    vectors = np.frombuffer(b"".join(data), "<f4").reshape(len(data), SPACE.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


def check_revision(store: SqliteStore, number: int) -> None:
    counts = store.counts(SCOPE, number)
    chunks = 3 * 4 + number * 2 * 2
    expected = {"document": 3 + 2 * number, "chunk": chunks, "passages": chunks, "links": chunks}
    assert counts == {"relationship": 0, **expected}
    found = store.nodes(SCOPE, number, kind="chunk", limit=1000, after="x")
    assert {store.text(SCOPE, node) for node in found} == {
        f"{name} {part} at{number}" for name in ("x", "y", "z") for part in range(4)
    }


def test_killed_at_any_moment(tmp_path: Path) -> None:
    rng = random.Random(20260331)
    path = tmp_path / "store.db"
    done, checked, deadline = 0, 0, time.monotonic() + SECONDS
    while done < FEWEST or (done < MOST and time.monotonic() < deadline):
        reported = run_and_kill(path, rng)
        store = SqliteStore.open(path)
        last = head(store)
        assert max(reported, checked) <= last <= max(reported, checked) + 1
        check_file(store.reader(), last)
        check_blobs(store.reader())
        older = rng.sample(range(1, checked + 1), min(checked, 2))
        for number in (*older, *range(checked + 1, last + 1)):
            check_revision(store, number)
        store.close()
        done, checked = done + 1, last
    assert checked > done / 2


def test_killed_while_the_store_is_made(tmp_path: Path) -> None:
    rng = random.Random(7)
    for number in range(10):
        path = tmp_path / f"{number}.db"
        pipe = _fork.Pipe()
        child = _fork.Process(target=write_for_ever, args=(path, pipe[1]))
        child.start()
        time.sleep(rng.random() * 0.02)
        child.kill()
        child.join()
        store = SqliteStore.open(path)
        check_file(store.reader(), head(store))
        store.close()
