"""A URL in, transactions out: over connections that are kept and looked at before each use.

A connection that was lost is an error of the call that loses it; the next call gets another one.
A thread that reads inside a read goes on in the same transaction, so it never waits for itself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types import TypeInfo
from psycopg_pool import ConnectionPool

from sourcebook.stores.postgres import adapt
from sourcebook.stores.postgres.failures import translating
from sourcebook.stores.postgres.migrate import SCHEMA, Prepared, prepare
from sourcebook.stores.postgres.session import Manner, Session, transaction

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
_MOST = 16
"""Connections of one process."""
_PATIENCE_S = 5.0
_ALIVE: dict[str, Any] = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""A client's machine that is gone is found out, and what it held is let go."""
STATEMENT_TIMEOUT_S = 60.0


class Pool:
    def __init__(self, url: str, busy_timeout_s: float) -> None:
        self.name = shown(url)
        self._url = url
        self._local = threading.local()
        with translating(self.name):
            with self.connect() as db:
                self.found: Prepared = prepare(db, self.name)
                self._vector = TypeInfo.fetch(db, f'"{self.found.vector_schema}".vector')
            self.schemas = tuple(dict.fromkeys((SCHEMA, self.found.vector_schema)))
            self._manner = Manner(
                self.schemas, self.found.role, STATEMENT_TIMEOUT_S, busy_timeout_s
            )
            self._pool: ConnectionPool[psycopg.Connection[Any]] = ConnectionPool(
                url,
                kwargs={"autocommit": True, **_ALIVE},
                min_size=1,
                max_size=_MOST,
                timeout=max(busy_timeout_s, _PATIENCE_S),
                configure=lambda db: adapt.prepare(db, self._vector),
                check=ConnectionPool.check_connection,
                open=True,
            )

    def connect(self) -> psycopg.Connection[Any]:
        """One of its own, outside the pool."""
        return psycopg.connect(self._url, autocommit=True, connect_timeout=10, **_ALIVE)

    @contextmanager
    def reading(self, tenant: str | None) -> Iterator[Session]:
        held: Session | None = getattr(self._local, "session", None)
        if held is not None and held.tenant == (tenant or ""):
            yield held
            return
        with translating(self.name), self._begun(tenant, read_only=True) as session:
            self._local.session = session
            try:
                yield session
            finally:
                self._local.session = held

    @contextmanager
    def writing(self, tenant: str | None) -> Iterator[Session]:
        with translating(self.name), self._begun(tenant, read_only=False) as session:
            yield session

    @contextmanager
    def _begun(self, tenant: str | None, *, read_only: bool) -> Iterator[Session]:
        manner = self._manner
        with (
            self._pool.connection() as db,
            transaction(db, tenant, manner, read_only=read_only) as session,
        ):
            yield session

    def close(self) -> None:
        self._pool.close(timeout=_PATIENCE_S)


def shown(url: str) -> str:
    """Without a password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "postgresql://…"
    host, port = parts.get("host", ""), parts.get("port", "")
    return f"postgresql://{host}{f':{port}' if port else ''}/{parts.get('dbname', '')}"
