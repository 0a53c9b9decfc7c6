"""Rows that nobody waits for: a connection of its own that gives way to whoever else is writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from sourcebook.stores.connections import Connections
from sourcebook.stores.statements import SqliteStatements, Statements

_PATIENCE_S = 0.1


class Aside(Protocol):
    @property
    def read_only(self) -> bool: ...

    def transaction(self, tenant: str | None) -> AbstractContextManager[Statements]:
        """All of it or nothing; None is for what belongs to no tenant in particular."""
        ...

    def close(self) -> None: ...


class SqliteAside:
    """Without a sync of its own: a power cut may take the last rows, and nothing else."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._db: sqlite3.Connection | None = None

    @property
    def read_only(self) -> bool:
        return self._connections.read_only

    @contextmanager
    def transaction(self, tenant: str | None) -> Iterator[Statements]:
        with self._connections.translating():
            if self._db is None:
                self._db = self._connect()
            db = self._db
            db.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteStatements(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            f"{self._connections.path.as_uri()}?mode=rw",
            uri=True,
            timeout=_PATIENCE_S,
            isolation_level=None,
            check_same_thread=False,
        )
        db.execute("PRAGMA synchronous = NORMAL")
        return db
