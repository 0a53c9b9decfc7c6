"""A store of any age in, a store of today's format out: numbered steps, each in one transaction.

The format's number is SQLite's `user_version`. A step and its number become durable together, so
an interrupted upgrade continues where it stopped.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from importlib import resources

from sourcebook.errors import StoreError, StoreReadOnly, StoreTooNew
from sourcebook.stores import checksums
from sourcebook.stores.labels import labels_of_json
from sourcebook.stores.postings import widened

_FILE = re.compile(r"(\d{4})_\w+\.sql")


def steps() -> Mapping[int, str]:
    """The SQL of every step, by the version that it makes."""
    return steps_of(resources.files(__package__).joinpath("migrations"))


def steps_of(folder: resources.abc.Traversable) -> Mapping[int, str]:
    found = ((_FILE.fullmatch(file.name), file) for file in folder.iterdir())
    return {int(m[1]): file.read_text("utf-8") for m, file in sorted(found, key=_name) if m}


def _name(found: tuple[object, resources.abc.Traversable]) -> str:
    return found[1].name


def version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(
    db: sqlite3.Connection, path: str, *, read_only: bool = False, to: Mapping[int, str]
) -> None:
    """Bring the store to the newest version, or say why it cannot be."""
    newest = max(to)
    here = _checked(db, path, newest)
    if here == newest:
        return
    if read_only:
        raise StoreReadOnly(
            f"{path} has format {here} and must be upgraded to {newest}, but it is read-only; "
            "open it once with write access"
        )
    db.create_function("widened", 1, widened, deterministic=True)
    db.create_function("labels_of", 1, labels_of_json, deterministic=True)
    db.create_function("checksum_of_columns", -1, _of_columns, deterministic=True)
    db.create_function("checksum_of_terms", 5, checksums.of_terms, deterministic=True)
    db.create_function("checksum_of_bytes", 1, checksums.of_bytes, deterministic=True)
    for number in sorted(to):
        _step(db, number, to[number])


def _of_columns(data: bytes, *columns: checksums.Column) -> int:
    return checksums.of_columns(columns, data)


def _checked(db: sqlite3.Connection, path: str, newest: int) -> int:
    """The store's version. It and the tables are read as of one moment: another process may be
    making the store."""
    db.execute("BEGIN")
    try:
        here = version(db)
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    finally:
        db.execute("COMMIT")
    if here > newest:
        raise StoreTooNew(
            f"{path} has format {here}, but this Sourcebook knows formats up to {newest}; "
            "upgrade with `pip install -U sourcebook`"
        )
    tables = {row[0] for row in names}
    ours = {"repository", "revision"} <= tables
    if ours != bool(here) or bool(tables) != bool(here):
        raise StoreError(f"{path} is a database of another program; choose another --store")
    return here


def _step(db: sqlite3.Connection, number: int, script: str) -> None:
    """Asks for the version again inside the transaction: another process may have been first."""
    db.execute("BEGIN IMMEDIATE")
    try:
        if version(db) < number:
            for statement in statements(script):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: sqlite3's executescript would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
