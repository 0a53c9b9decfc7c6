"""The embedded store: one SQLite file that holds the versioned graph, its search and its vectors.

Every read names a revision, so several statements of one use case see one state without a
transaction around them. Every write is one transaction. What a store does is in `parts`; here is
what only a file has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sourcebook.errors import Conflict, NotFound, StoreBusy
from sourcebook.model import ApiKey, Json, Match, Scope
from sourcebook.ports import Coverage, Evidence, Neighbours
from sourcebook.stores import keys, moments
from sourcebook.stores.aside import SqliteAside
from sourcebook.stores.connections import Connections, Location
from sourcebook.stores.moments import stamp
from sourcebook.stores.parts.people import People
from sourcebook.stores.parts.reads import Reads
from sourcebook.stores.parts.searching import Searching
from sourcebook.stores.parts.transfer import Transfer
from sourcebook.stores.parts.vectors import VectorPart
from sourcebook.stores.pending_keys import together
from sourcebook.stores.search import Searcher
from sourcebook.stores.statements import SqliteStatements, Statements

_KEY_PATIENCE_S = 0.05
"""How long a change of a key waits for other writers."""


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

    # --- keys: they do not wait behind a long commit ---------------------------------------------

    def add_key(self, key: ApiKey) -> None:
        try:
            with self._connections.transaction(_KEY_PATIENCE_S) as db:
                keys.add(SqliteStatements(db), key)
        except StoreBusy:
            if self.key(key.id) is not None:
                raise Conflict(f"there is a key {key.id} already") from None
            self._connections.pending_keys.keep(key)

    def revoke_key(self, tenant: str, key_id: str) -> ApiKey:
        try:
            with self._connections.transaction(_KEY_PATIENCE_S) as db:
                return keys.revoke(SqliteStatements(db), tenant, key_id, self._clock())
        except (StoreBusy, NotFound):
            found = self.key(key_id)
            if found is None or found.tenant != tenant:
                raise keys.unknown(key_id) from None
            if found.revoked_at is None:
                found = replace(found, revoked_at=stamp(self._clock()))
                self._connections.pending_keys.keep(found)
            return found

    def key(self, key_id: str) -> ApiKey | None:
        pending = self._connections.pending_keys.of(key_id)  # before the store: see there
        return together(super().key(key_id), pending)

    def keys(self, tenant: str | None) -> list[ApiKey]:
        pending = list(self._connections.pending_keys.read().values())
        stored = {key.id: key for key in super().keys(tenant)}
        wanted = [key for key in pending if tenant in (None, key.tenant)]
        ids = dict.fromkeys([*stored, *(key.id for key in wanted)])
        found = [together(stored.get(i), [k for k in wanted if k.id == i]) for i in ids]
        return sorted((k for k in found if k), key=lambda key: (key.created_at, key.id))

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
