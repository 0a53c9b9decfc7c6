"""A URL in, transactions out: over a few connections that are kept for the next one.

A connection that was lost while nobody used it is replaced without a word; one that is lost inside
a transaction is an error of that call, and the next call gets another one. A server that does not
answer is told at once. A thread that reads inside a read goes on in the same transaction, so it
never waits for itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types import TypeInfo

from sourcebook import asker
from sourcebook.errors import StoreBusy, StoreError
from sourcebook.stores.postgres import adapt
from sourcebook.stores.postgres.failures import translating
from sourcebook.stores.postgres.migrate import SCHEMA, Prepared, prepare
from sourcebook.stores.postgres.session import Manner, Session, beginning, transaction

_MOST = 16
"""Connections of one process."""
_ALIVE: dict[str, Any] = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 120_000,
}
"""A machine that is gone is found out: a client's, and what it held is let go; the server's, by who
has said something and hears nothing (for a quarter of an hour otherwise)."""
_CONNECT_S = 10
STATEMENT_TIMEOUT_S = 60.0


class Pool:
    def __init__(self, url: str, busy_timeout_s: float) -> None:
        self.name = shown(url)
        self._url = url
        self._busy_timeout_s = busy_timeout_s
        self._local = threading.local()
        self._free = threading.BoundedSemaphore(_MOST)
        self._idle: list[psycopg.Connection[Any]] = []
        self._lock = threading.Lock()
        self._closed = False
        with translating(self.name), self.connect() as db:
            self.found: Prepared = prepare(db, self.name)
            self._vector = TypeInfo.fetch(db, f'"{self.found.vector_schema}".vector')
        self.schemas = tuple(dict.fromkeys((SCHEMA, self.found.vector_schema)))
        times = (STATEMENT_TIMEOUT_S, busy_timeout_s)
        self._manner = Manner(self.schemas, self.found.role, *times)

    def connect(self) -> psycopg.Connection[Any]:
        """One of its own, outside the pool."""
        return psycopg.connect(self._url, autocommit=True, connect_timeout=_CONNECT_S, **_ALIVE)

    @contextmanager
    def reading(self, tenant: str | None) -> Iterator[Session]:
        held: Session | None = getattr(self._local, "session", None)
        if held is not None and held.tenant == (tenant or ""):
            yield held
            return
        with translating(self.name), self._begun(tenant, read_only=True) as session:
            session.another = partial(self._another, tenant)
            self._local.session = session
            try:
                yield session
            finally:
                self._local.session = held

    @contextmanager
    def writing(self, tenant: str | None) -> Iterator[Session]:
        with translating(self.name), self._begun(tenant, read_only=False) as session:
            yield session

    def close(self) -> None:
        """What is still in use is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    # --- connections ---------------------------------------------------------------------------

    @contextmanager
    def _begun(self, tenant: str | None, *, read_only: bool) -> Iterator[Session]:
        if not self._free.acquire(timeout=max(self._busy_timeout_s, 0)):
            raise StoreBusy(f"all {_MOST} connections to {self.name} are in use; try again later")
        try:
            with self._used(self._begin(tenant, read_only), tenant) as session:
                yield session
        finally:
            self._free.release()

    @contextmanager
    def _another(self, tenant: str | None) -> Iterator[Session | None]:
        """None where all are in use, since who has one and waits for a second may wait for himself;
        or where the server gives no more."""
        if not self._free.acquire(blocking=False):
            yield None
            return
        try:
            db = None
            with suppress(psycopg.OperationalError):
                db = self._begin(tenant, read_only=True)
            if db is None:
                yield None
                return
            with self._used(db, tenant) as session:
                yield session
        finally:
            self._free.release()

    @contextmanager
    def _used(self, db: psycopg.Connection[Any], tenant: str | None) -> Iterator[Session]:
        """A transaction that was begun; the connection is kept for the next one."""
        cancelling = _Cancelling(db)
        try:
            with transaction(db, tenant) as session, asker.on_leave(cancelling.begin):
                yield session
        finally:
            if cancelling.end():
                db.close()  # what was sent may still arrive, and is not meant for the next one
            self._give_back(db)

    def _begin(self, tenant: str | None, read_only: bool) -> psycopg.Connection[Any]:
        """The connection that was used last, if it is still there, or a new one."""
        begin = beginning(tenant, self._manner, read_only=read_only)
        while (db := self._take()) is not None:
            try:
                db.execute(begin, prepare=False)
                return db
            except (psycopg.OperationalError, psycopg.InterfaceError):
                db.close()
        db = self.connect()
        adapt.prepare(db, self._vector)
        db.execute(begin, prepare=False)
        return db

    def _take(self) -> psycopg.Connection[Any] | None:
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.name} is closed")
            return self._idle.pop() if self._idle else None

    def _give_back(self, db: psycopg.Connection[Any]) -> None:
        with self._lock:
            if not (self._closed or db.closed):
                self._idle.append(db)
                return
        db.close()


class _Cancelling:
    """Ends the statement that runs on a connection if nobody waits for it any more."""

    def __init__(self, db: psycopg.Connection[Any]) -> None:
        self._db = db
        self._sent = self._over = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """In a thread of its own: the server has to be connected to."""
        with self._lock:
            if self._over:
                return
            self._sent = True
        threading.Thread(target=self._cancel, name="sourcebook-cancel", daemon=True).start()

    def end(self) -> bool:
        """Whether it was begun; it is not from now on."""
        with self._lock:
            self._over = True
            return self._sent

    def _cancel(self) -> None:
        with suppress(psycopg.Error):  # then the statement ends with the time that it was given
            self._db.cancel_safe(timeout=_CONNECT_S)


def shown(url: str) -> str:
    """Without a password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "postgresql://…"
    host, port = parts.get("host", ""), parts.get("port", "")
    return f"postgresql://{host}{f':{port}' if port else ''}/{parts.get('dbname', '')}"
