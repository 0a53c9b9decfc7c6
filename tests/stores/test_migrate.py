"""Upgrading a store: numbered steps, each whole or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sourcebook.errors import StoreError, StoreReadOnly, StoreTooNew
from sourcebook.model import CHUNK
from sourcebook.ports import Within
from sourcebook.querying.prepare import prepare
from sourcebook.stores.migrate import migrate, statements, steps, version
from sourcebook.stores.postings import TERM
from sourcebook.stores.sqlite import SqliteStore
from tests.stores.conformance import SCOPE, put, tree

FIRST = """
-- The first; with a semicolon in a comment
CREATE TABLE repository (id INTEGER PRIMARY KEY);
CREATE TABLE revision (number INTEGER); -- and another; here
INSERT INTO revision VALUES (7);
"""
SECOND = "ALTER TABLE revision ADD COLUMN note TEXT DEFAULT 'a;b';\nCREATE TABLE more (x);"


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    return sqlite3.connect(tmp_path / "s.db", isolation_level=None)


def tables(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_the_steps_are_numbered_without_gaps() -> None:
    assert list(steps()) == list(range(1, len(steps()) + 1))


def test_a_new_store_gets_every_step_and_an_old_one_the_rest(db: sqlite3.Connection) -> None:
    migrate(db, "s.db", to={1: FIRST})
    assert version(db) == 1
    migrate(db, "s.db", to={1: FIRST, 2: SECOND})
    assert version(db) == 2
    assert db.execute("SELECT * FROM revision").fetchall() == [(7, "a;b")]
    migrate(db, "s.db", to={1: FIRST, 2: SECOND})
    assert db.execute("SELECT count(*) FROM revision").fetchone() == (1,)


def test_a_step_that_fails_leaves_the_version_before_it(db: sqlite3.Connection) -> None:
    broken = "CREATE TABLE half (x);\nCREATE TABLE repository (x);"
    with pytest.raises(sqlite3.OperationalError):
        migrate(db, "s.db", to={1: FIRST, 2: broken})
    assert version(db) == 1
    assert tables(db) == {"repository", "revision"}
    assert not db.in_transaction
    migrate(db, "s.db", to={1: FIRST, 2: SECOND})
    assert version(db) == 2


def test_a_step_that_another_process_took_is_not_taken_again(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    """The other one upgrades between this one's look at the version and its transaction."""
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)

    class Late(dict[int, str]):
        def __getitem__(self, number: int) -> str:
            migrate(other, "s.db", to={1: FIRST})
            return super().__getitem__(number)

    migrate(db, "s.db", to=Late({1: FIRST}))
    assert db.execute("SELECT * FROM revision").fetchall() == [(7,)]


def test_a_newer_store_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    SqliteStore.open(path).close()
    newest = max(steps())
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreTooNew, match=rf"format 99\b.*up to {newest}\b.*pip install -U"):
        SqliteStore.open(path)


def test_an_old_store_that_is_read_only_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    with pytest.raises(StoreReadOnly, match="format 0 .*upgraded.*read-only"):
        SqliteStore.open(f"sqlite:///{path}?mode=ro")


@pytest.mark.parametrize("number", [0, 1])
def test_a_database_of_another_program_is_left_alone(tmp_path: Path, number: int) -> None:
    path = tmp_path / "s.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bookmarks (url)")
        db.execute(f"PRAGMA user_version = {number}")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore.open(path)
    db.close()
    assert path.read_bytes() == before


def test_statements_are_told_apart() -> None:
    script = "-- a; b\nCREATE TABLE x (\n  y TEXT DEFAULT ';' -- z;\n);\n\nSELECT 1;\nSELECT 2"
    assert [s.strip().splitlines()[-1] for s in statements(script)] == [
        ");", "SELECT 1;", "SELECT 2",
    ]  # fmt: skip


def test_a_store_of_format_1_is_searched_as_before(tmp_path: Path) -> None:
    """Its tables of counts know nothing of what stands around a passage."""
    today, path = tmp_path / "today.db", tmp_path / "s.db"
    with closing(SqliteStore.open(today)) as store:
        put(store, tree("top", ["Top dogs bark", "cats sleep"]))
        before = store.sparse_search(SCOPE, prepare("dogs"), 5, Within(1, CHUNK))
    old = np.dtype([("term", "<i4"), ("title", "<u2"), ("heading", "<u2"), ("body", "<u2")])
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(steps()[1])
        db.execute("ATTACH ? AS today", (str(today),))
        for (table,) in db.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'"):
            names = [f'"{row[1]}"' for row in db.execute(f"PRAGMA main.table_info({table})")]
            columns = ", ".join(names)
            db.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM today.{table}")
        for row, terms in db.execute("SELECT row, terms FROM passage").fetchall():
            narrow = np.array([r[:4] for r in np.frombuffer(terms, TERM).tolist()], old)
            db.execute("UPDATE passage SET terms = ? WHERE row = ?", (narrow.tobytes(), row))
        db.execute("PRAGMA user_version = 1")
    with closing(SqliteStore.open(path)) as store:
        assert store.sparse_search(SCOPE, prepare("dogs"), 5, Within(1, CHUNK)) == before
    assert before[0].score > 0
