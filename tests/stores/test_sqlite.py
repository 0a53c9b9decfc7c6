"""The SQLite store: the conformance suite, and what only a file can do."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sourcebook.errors import InvalidInput, StoreBusy, StoreError, StoreReadOnly
from sourcebook.stores import connections
from sourcebook.stores.connections import Connections
from sourcebook.stores.postings import TERM, encode_counts, encode_tokens
from sourcebook.stores.queries import QUERIES, parse
from sourcebook.stores.sqlite import SqliteStore
from sourcebook.stores.texts import TextCache
from tests.stores.conformance import (
    OTHER,
    SCOPE,
    SPACE,
    StoreConformance,
    bodies,
    head,
    put,
    tree,
    units,
)
from tests.stores.past import PastConformance
from tests.stores.walls import WallConformance


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "new" / "folder" / "store.db", busy_timeout=5)
    yield opened
    opened.close()


def rows(store: SqliteStore, statement: str) -> list[tuple[object, ...]]:
    return store.reader().execute(statement).fetchall()


class TestSqlite(StoreConformance, WallConformance, PastConformance):
    pass


# --- where it is ---------------------------------------------------------------------------------


def test_urls_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spellings = {
        "plain.db": "plain.db",
        "sqlite:///sub/relative.db": "sub/relative.db",
        f"sqlite:///{tmp_path}/absolute.db": "absolute.db",
        "sqlite:///with%20blank%23%3F.db": "with blank#?.db",
        "odd name#1?x=%20.db": "odd name#1?x=%20.db",
    }
    for where, file in spellings.items():
        opened = SqliteStore.open(where)
        put(opened, tree("a", [where]))
        opened.close()
        assert (tmp_path / file).is_file()


@pytest.mark.parametrize(
    "where",
    ["sqlite:///:memory:", ":memory:", "", "sqlite:///", "postgres://host/db", "sqlite:///x?mode=no",
     "sqlite:///x?cache=shared", "sqlite://host/x"],
)  # fmt: skip
def test_what_is_no_place_for_a_store(where: str) -> None:
    with pytest.raises(InvalidInput, match="sqlite:///|mode=ro"):
        SqliteStore.open(where)


def test_a_sqlite_that_cuts_blobs_short_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connections.sqlite_suits()
    connect = sqlite3.connect

    class Old(sqlite3.Connection):
        """Ends what it puts together at a byte of 0, as SQLite did up to 3.36."""

        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            return super().execute(sql.replace("group_concat(b, '')", "''"), *given)

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Old))
    connections.sqlite_suits.cache_clear()
    with pytest.raises(StoreError, match=r"too old; use a Python whose SQLite is 3\.38 or later"):
        SqliteStore.open(tmp_path / "s.db")
    connections.sqlite_suits.cache_clear()
    assert not (tmp_path / "s.db").exists()


def test_a_file_that_is_not_a_store_is_named(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("Not a database, but long enough to be read as one. " * 50)
    with pytest.raises(StoreError, match=r"notes\.txt.*not a SQLite database"):
        SqliteStore.open(text)
    with pytest.raises(StoreError, match="cannot"):
        SqliteStore.open(tmp_path)
    with pytest.raises(StoreError, match="cannot open the store"):
        SqliteStore.open(text / "store.db")


def test_a_damaged_file_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    opened = SqliteStore.open(path)
    put(opened, *(tree(f"d{i}", [f"word{i} " * 200]) for i in range(50)))
    opened.close()
    data = bytearray(path.read_bytes())
    data[4096 * 2 :] = b"\xff" * (len(data) - 4096 * 2)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        bodies(SqliteStore.open(path), 1)


# --- reading only --------------------------------------------------------------------------------


def test_a_read_only_store_can_be_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    first = SqliteStore.open(path)
    put(first, tree("a", ["words"]))
    first.register_space(SCOPE, SPACE)
    first.close()
    store = SqliteStore.open(f"sqlite:///{path}?mode=ro")
    assert store.read_only
    assert bodies(store, 1) == {"words"}
    assert store.register_space(SCOPE, SPACE) == SPACE
    for write in (
        lambda: put(store, tree("b", ["x"])),
        lambda: store.create_baseline(SCOPE, "v1", 1),
        lambda: store.put_vectors(SCOPE, SPACE, ["h"], units(1)),
        lambda: store.register_space(OTHER, SPACE),
    ):
        with pytest.raises(StoreReadOnly, match=r"s\.db is read-only"):
            write()
    store.close()


def test_reading_only_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        SqliteStore.open(f"sqlite:///{tmp_path}/sub/none.db?mode=ro")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    """SQLite's WAL needs a shared-memory file. Where it cannot be made (here: its name leads
    nowhere, which also stops an administrator) the file is read as it lies."""
    path = tmp_path / "s.db"
    first = SqliteStore.open(path)
    put(first, tree("a", ["words"]))
    first.close()
    (tmp_path / "s.db-shm").symlink_to(tmp_path / "missing" / "folder")
    store = SqliteStore.open(f"sqlite:///{path}?mode=ro")
    assert bodies(store, 1) == {"words"}
    store.close()


def test_what_is_still_in_the_log_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather no answer than one without the last commits."""
    writing = SqliteStore.open(tmp_path / "s.db")
    put(writing, tree("a", ["words"]))
    monkeypatch.setattr(Connections, "_readable", lambda *_: False)
    with pytest.raises(StoreReadOnly, match="s.db-wal"):
        SqliteStore.open(f"sqlite:///{tmp_path}/s.db?mode=ro")
    writing.close()
    SqliteStore.open(f"sqlite:///{tmp_path}/s.db?mode=ro").close()


def test_a_file_without_write_permission_is_opened_for_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    SqliteStore.open(path).close()
    monkeypatch.setattr("os.access", lambda *_: False)
    store = SqliteStore.open(path)
    assert store.read_only
    store.close()


# --- writers and readers beside each other -------------------------------------------------------


def test_the_second_writer_waits_and_then_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    first, second = (SqliteStore.open(path, busy_timeout=0.2) for _ in range(2))
    put(first, tree("a", ["old"]))
    with first.commit(SCOPE) as writer:
        writer.put(tree("a", ["new"]))
        for other in (second, first):
            with pytest.raises(StoreBusy, match=r"writing to .*s\.db; .*waited 0\.2 s"):
                put(other, tree("b", ["x"]))
        with pytest.raises(StoreBusy):
            second.put_vectors(SCOPE, SPACE, ["h"], units(1))
        assert head(first) == head(second) == 1
        assert bodies(first, 2) == bodies(second, 2) == {"old"}
    assert bodies(first, 2) == bodies(second, 2) == {"new"}
    assert put(second, tree("b", ["x"])) == 3
    assert head(first) == 3
    first.close()
    second.close()


def test_who_waits_long_enough_writes(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    first, second = (SqliteStore.open(path, busy_timeout=20) for _ in range(2))
    started = threading.Event()

    def slow() -> int:
        with first.commit(SCOPE) as writer:
            writer.put(tree("a", ["1"]))
            started.set()
            threading.Event().wait(0.3)
        return writer.revision

    with ThreadPoolExecutor() as pool:
        running = pool.submit(slow)
        started.wait(10)
        others = [pool.submit(put, s, tree(n, ["2"])) for s, n in ((first, "b"), (second, "c"))]
        assert running.result() == 1
        assert {other.result() for other in others} == {2, 3}
    first.close()
    second.close()


def test_term_numbers_of_two_processes_agree(tmp_path: Path) -> None:
    """Each has its own memory of the vocabulary; the store decides."""
    path = tmp_path / "s.db"
    stores = [SqliteStore.open(path) for _ in range(2)]
    for number in range(6):
        put(stores[number % 2], tree(f"d{number}", [f"common own{number} shared{number // 2}"]))
    numbers = rows(stores[0], "SELECT id, count(DISTINCT text) FROM term GROUP BY id")
    assert [count for _, count in numbers] == [1] * len(numbers)
    assert [number for number, _ in numbers] == list(range(1, len(numbers) + 1))
    for opened in stores:
        opened.close()


def test_many_threads_read_beside_a_writer(store: SqliteStore) -> None:
    put(store, tree("a", ["0"]))

    def read(_: int) -> bool:
        revision = head(store)
        return len(bodies(store, revision)) == 1 and store.node(SCOPE, "a", revision) is not None

    with ThreadPoolExecutor(8) as pool:
        reads = [pool.submit(read, i) for i in range(200)]
        for number in range(1, 20):
            put(store, tree("a", [str(number)]))
        assert all(found.result() for found in reads)


def test_a_thread_takes_its_connection_with_it(store: SqliteStore) -> None:
    for _ in range(20):
        thread = threading.Thread(target=head, args=(store,))
        thread.start()
        thread.join()
    assert len(store._connections._handles) <= 1


def test_two_processes_may_make_the_store_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; from sourcebook.stores.sqlite import SqliteStore;"
        "SqliteStore.open(sys.argv[1]).close()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "s.db")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [p.communicate()[1] for p in running] == [""] * 4


def test_a_closed_store_says_so(store: SqliteStore) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        head(store)
    with pytest.raises(StoreError, match="closed"):
        put(store, tree("a", ["1"]))


# --- time ----------------------------------------------------------------------------------------


def test_a_clock_that_stands_still_or_goes_back_does_not_stop_time(tmp_path: Path) -> None:
    noon = datetime(2026, 3, 31, 12, tzinfo=UTC)
    ticks = [noon, noon, noon - timedelta(hours=1), noon + timedelta(seconds=1)]
    store = SqliteStore.open(tmp_path / "s.db", clock=lambda: ticks[head(store)])
    for number in range(4):
        put(store, tree("a", [str(number)]))
    assert [r.at for r in reversed(store.log(SCOPE))] == [
        "2026-03-31T12:00:00.000000+00:00",
        "2026-03-31T12:00:00.000001+00:00",
        "2026-03-31T12:00:00.000002+00:00",
        "2026-03-31T12:00:01.000000+00:00",
    ]
    store.close()


# --- what is in the file -------------------------------------------------------------------------


def test_the_file_is_durable_and_checked(store: SqliteStore) -> None:
    db = store._connections._writing
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_rollback_leaves_nothing_at_all(store: SqliteStore) -> None:
    tables = [name for (name,) in rows(store, "SELECT name FROM sqlite_master WHERE type='table'")]
    assert len(tables) > 10
    with pytest.raises(ZeroDivisionError), store.commit(SCOPE, request_id="r") as writer:
        writer.put(tree("a", ["words of all sorts"]))
        _ = 1 / 0
    assert {rows(store, f"SELECT count(*) FROM {table}")[0][0] for table in tables} == {0}
    with store.commit(SCOPE):
        pass
    assert rows(store, "SELECT count(*) FROM repository") == [(0,)]
    put(store, tree("a", ["sorts of words"]), scope=OTHER)
    assert rows(store, "SELECT text, id FROM term ORDER BY id")[:3] == [
        ("a", 1), ("top", 2), ("sub", 3),
    ]  # fmt: skip


def test_a_text_is_stored_once(store: SqliteStore) -> None:
    for parts in (["1", "2"], ["3"], ["1", "2"]):
        put(store, tree("a", parts), tree("b", parts))
    assert rows(store, "SELECT count(*), count(DISTINCT hash) FROM content") == [(2, 2)]


def test_ancestors_lead_from_the_document_to_the_node(store: SqliteStore) -> None:
    made = tree("a", ["1"])
    put(store, made)
    assert rows(store, "SELECT ancestors FROM passage") == [(f'["a","{made.nodes[1].id}"]',)]


def test_postings_of_a_stored_passage(store: SqliteStore) -> None:
    put(store, tree("top", ["Top dogs, top ERR_42"]))
    numbers = dict(rows(store, "SELECT text, id FROM term"))
    ((terms, tokens),) = rows(store, "SELECT terms, tokens FROM passage")
    names = {number: text for text, number in numbers.items()}
    table = [(names[r["term"]], *r.tolist()[1:]) for r in np.frombuffer(terms, TERM)]
    assert sorted(table) == [
        ("42", 0, 0, 1, 0), ("dog", 0, 0, 1, 0), ("err", 0, 0, 1, 0), ("err_42", 0, 0, 1, 0),
        ("sub", 0, 1, 0, 0), ("top", 1, 1, 2, 0),
    ]  # fmt: skip
    order = [names.get(number, "|") for number in np.frombuffer(tokens, "<i4")]
    assert order == ["top", "|", "top", "sub", "|", "top", "dog", "top", "err", "42"]


def test_encoding_of_postings() -> None:
    table = np.frombuffer(encode_counts([7, 3], [], [3] * 70000 + [9], [9, 4]), TERM)
    assert table.tolist() == [
        (3, 1, 0, 65535, 0),
        (4, 0, 0, 0, 1),
        (7, 1, 0, 0, 0),
        (9, 0, 0, 1, 1),
    ]
    assert encode_counts([], [], [], []) == b""
    assert np.frombuffer(encode_tokens([1], [], [2, 1]), "<i4").tolist() == [1, -1, -1, 2, 1]


def test_the_store_counts_its_vectors(store: SqliteStore) -> None:
    store.register_space(SCOPE, SPACE)
    store.put_vectors(SCOPE, SPACE, ["h1", "h2"], units(2))
    store.put_vectors(SCOPE, SPACE, ["h2", "h3"], units(2))
    assert rows(store, "SELECT vectors FROM space") == [(3,)]


# --- named queries -------------------------------------------------------------------------------


def test_every_statement_is_understood_by_the_database(store: SqliteStore) -> None:
    for statement in QUERIES.values():
        named = dict.fromkeys(re.findall(r":(\w+)", statement), 0)
        values = named or (0,) * statement.count("?")
        store._connections._writing.execute(f"EXPLAIN {statement}", values)


def test_fragments_are_filled_in() -> None:
    text = (
        "-- about the file\n-- fragment: seen\n-- why\n$.born <= :revision\n"
        "-- name: one\n-- what\nSELECT {seen p} AND {seen q at :other}\n-- name: two\nSELECT 2\n"
    )
    assert parse(text) == {
        "one": "SELECT p.born <= :revision AND q.born <= :other",
        "two": "SELECT 2",
    }
    with pytest.raises(ValueError, match="two"):
        parse("-- name: a\nx\n-- name: a\ny\n")
    with pytest.raises(KeyError):
        parse("-- name: a\n{unknown p}\n")


def test_the_cache_of_texts_is_bounded() -> None:
    cache, read = TextCache(limit=10), []

    def text(name: str, size: int) -> str:
        return cache.get((1, name), lambda: read.append(name) or name * size)

    for name, size in (("a", 4), ("b", 4), ("a", 4), ("c", 4), ("a", 4), ("b", 4), ("z", 11)):
        text(name, size)
    assert text("z", 11) == "z" * 11
    assert read == ["a", "b", "c", "b", "z", "z"]
