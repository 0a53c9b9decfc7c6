"""The embedded store: one SQLite file that holds the versioned graph, its search and its vectors.

Every read names a revision, so several statements of one use case see one state without a
transaction around them. Every write is one transaction. What a store does is in `parts`; here is
what only a file has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sourcebook.model import Json, Match, Scope
from sourcebook.ports import Coverage, Evidence, Neighbours
from sourcebook.stores import moments
from sourcebook.stores.aside import SqliteAside
from sourcebook.stores.connections import Connections, Location
from sourcebook.stores.parts.people import People
from sourcebook.stores.parts.reads import Reads
from sourcebook.stores.parts.searching import Searching
from sourcebook.stores.parts.transfer import Transfer
from sourcebook.stores.parts.vectors import VectorPart
from sourcebook.stores.search import Searcher
from sourcebook.stores.statements import SqliteStatements, Statements


class SqliteStore(Searching, Transfer, Reads, VectorPart, People):
    def __init__(
        self, connections: Connections, clock: Callable[[], datetime] = moments.now
    ) -> None:
        super().__init__(clock, lambda: SqliteAside(connections))
        self._connections = connections
        self._search = _Lanes(Searcher(self.reader, self._damage))

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        busy_timeout: float = 10.0,
        clock: Callable[[], datetime] = moments.now,
    ) -> SqliteStore:
        """Opens the store, makes it if it is not there, and upgrades an older one."""
        return cls(Connections(Location.parse(where), busy_timeout), clock)

    def reader(self) -> sqlite3.Connection:
        """This thread's connection for reading."""
        return self._connections.reader()

    @property
    def path(self) -> Path:
        return self._connections.path

    @property
    def read_only(self) -> bool:
        return self._connections.read_only

    def vacuum(self) -> None:
        """Gives the room of what was dropped back to the file system."""
        self._connections.vacuum()

    def storage(self) -> dict[str, Json]:
        files = [self.path, self.path.with_name(self.path.name + "-wal")]
        return {"kind": "sqlite", "bytes": sum(f.stat().st_size for f in files if f.exists())}

    def structure(self) -> list[str]:
        """What SQLite finds wrong with its pages and indexes, at most twenty things."""
        with self._statements(None):
            found = self.reader().execute("PRAGMA integrity_check(20)").fetchall()
        return [row[0] for row in found if row[0] != "ok"]

    def close(self) -> None:
        self._queries.close()
        self._uses.close()
        self._connections.close()

    @contextmanager
    def _statements(
        self, tenant: str | None, revision: int | None = None, scope: Scope | None = None
    ) -> Iterator[Statements]:
        with self._connections.translating():
            yield SqliteStatements(self.reader())

    @contextmanager
    def _transaction(self, tenant: str, alone: Scope | None = None) -> Iterator[Statements]:
        """One at a time, whatever it is for."""
        with self._connections.transaction() as db:
            yield SqliteStatements(db)


class _Lanes:
    """Searches over lanes, which take their connection themselves."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self.forget = searcher.forget

    def dense(self, db: Statements, *asked: Any) -> Neighbours:
        return self._searcher.dense(*asked)

    def sparse(self, db: Statements, *asked: Any) -> list[Match]:
        return self._searcher.sparse(*asked)

    def evidence(self, db: Statements, *asked: Any) -> Evidence:
        return self._searcher.evidence(*asked)

    def coverage(self, db: Statements, *asked: Any) -> Coverage:
        return self._searcher.coverage(*asked)
