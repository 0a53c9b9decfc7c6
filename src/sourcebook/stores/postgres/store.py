"""The store on PostgreSQL: many processes on many machines over the same versioned graph.

What it does is in `stores/parts`, shared with the embedded store; here is what only a server has:
commits that wait for those of their own repository alone, reads that may go to a replica, workers
that are woken, and a wall around each tenant (session.py).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from typing import Any

import psycopg

from sourcebook.errors import SourcebookError, StoreError, StoreReadOnly
from sourcebook.model import Json, Scope
from sourcebook.stores import moments, spaces
from sourcebook.stores.parts.people import People
from sourcebook.stores.parts.reads import Reads
from sourcebook.stores.parts.searching import Searching
from sourcebook.stores.parts.transfer import Transfer
from sourcebook.stores.parts.vectors import VectorPart
from sourcebook.stores.postgres.adapt import escaped
from sourcebook.stores.postgres.dense_index import build_index
from sourcebook.stores.postgres.failures import translating
from sourcebook.stores.postgres.pool import Pool
from sourcebook.stores.postgres.replica import Replica
from sourcebook.stores.postgres.search import Searcher
from sourcebook.stores.postgres.search_words import add_words
from sourcebook.stores.postgres.session import Session
from sourcebook.stores.postgres.storage import learn_sizes, storage
from sourcebook.stores.postgres.wake import CHANNEL, Listener
from sourcebook.stores.rows import to_json
from sourcebook.stores.statements import Statements

_log = logging.getLogger(__name__)
_LARGE = 500
"""From so many passages of a repository on, and whenever they have doubled, it is looked at whether
the planner knows of them."""


class PostgresStore(Searching, Transfer, Reads, VectorPart, People):
    def __init__(
        self,
        primary: Pool,
        replica: Replica | None,
        clock: Callable[[], datetime] = moments.now,
        by_words: bool = False,
    ) -> None:
        super().__init__(clock, lambda: _Aside(primary))
        self._primary = primary
        self._replica = replica
        self._search = self._searcher = Searcher(self._damage, by_words)
        self._listener = Listener(primary)
        self._told: dict[int, int] = {}
        """How many passages of a repository the planner was last told of."""

    @classmethod
    def open(
        cls,
        url: str,
        *,
        busy_timeout: float = 10.0,
        read_url: str | None = None,
        clock: Callable[[], datetime] = moments.now,
        by_words: bool = False,
    ) -> PostgresStore:
        """Opens the store, makes its tables if they are not there, and upgrades older ones.
        `by_words`: full-text search is by `ts_rank_cd`."""
        replica = Replica(read_url, busy_timeout) if read_url else None
        store = cls(Pool(url, busy_timeout), replica, clock, by_words)
        if by_words and not store.read_only:
            with store._owner() as db:
                add_words(db)
        return store

    @property
    def name(self) -> str:
        return self._primary.name

    @property
    def read_only(self) -> bool:
        return self._primary.found.read_only

    @property
    def walled(self) -> bool:
        """Whether row-level security holds for this connection: not where it is a superuser's and
        the role `sourcebook_app` could not be made."""
        return self._primary.found.walled

    def vacuum(self) -> None:
        """Lets what was dropped be written over; only PostgreSQL's own VACUUM FULL, which locks all
        out, would give its room back to the file system."""
        with translating(self.name), self._primary.connect() as db:
            tables = db.execute(
                "SELECT c.oid::regclass::text FROM pg_class c "
                "WHERE c.relnamespace = 'sourcebook'::regnamespace AND c.relkind = 'r'"
            ).fetchall()
            for (table,) in tables:
                with suppress(psycopg.errors.InsufficientPrivilege):
                    db.execute(f"VACUUM (ANALYZE) {table}".encode())

    def close(self) -> None:
        self._queries.close()
        self._uses.close()
        self._listener.close()
        self._searcher.close()
        self._primary.close()
        if self._replica is not None:
            self._replica.close()

    # --- beside the history --------------------------------------------------------------------

    def wait_for_work(self, timeout_s: float, stop: threading.Event) -> None:
        """A commit of any process ends it."""
        self._listener.wait(timeout_s, stop)

    def tend(self, scope: Scope) -> None:
        """Builds the index of each space that is large enough for one, as the owner of the tables;
        a user who is not leaves it to one who is."""
        with self._reading(scope) as (db, repository):
            numbers = list(spaces.spaces(db, repository))
        with self._owner() as db:
            for number in numbers:
                with suppress(psycopg.errors.InsufficientPrivilege):
                    build_index(db, escaped(scope.tenant), number)

    def structure(self) -> list[str]:
        """What the server has noticed: pages of this database that do not match their checksums."""
        with self._owner() as db:
            asked = (
                "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
            )
            (failures,) = db.execute(asked).fetchone() or (None,)
        return [f"the server found {failures} damaged pages"] if failures else []

    def storage(self) -> dict[str, Json]:
        with self._owner() as db:
            return storage(db)

    @contextmanager
    def _owner(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection with the rights of its user, each statement by itself."""
        with translating(self.name), self._primary.connect() as db:
            db.execute(f"SET search_path = {', '.join(self._primary.schemas)}".encode())
            yield db

    # --- statements ----------------------------------------------------------------------------

    @contextmanager
    def _statements(
        self, tenant: str | None, revision: int | None = None, scope: Scope | None = None
    ) -> Iterator[Statements]:
        with ExitStack() as opened:
            session = None
            if self._replica is not None and scope is not None and revision is not None:
                session = self._replica.read(opened, scope, revision)
            yield session or opened.enter_context(self._primary.reading(tenant))

    @contextmanager
    def _transaction(self, tenant: str, alone: Scope | None = None) -> Iterator[Statements]:
        if self.read_only:
            raise StoreReadOnly(f"{self.name} can only be read: it is a replica, or read-only")
        with self._primary.writing(tenant) as session:
            if alone is not None:
                whose = to_json([alone.tenant, alone.organization, alone.repository])
                session.run("alone", {"whose": whose})
            yield session
        if session.new_passages:
            self._wake(session)
            self._learn_sizes(session)

    def _learn_sizes(self, session: Session) -> None:
        """What was committed stays so, whatever becomes of this."""
        repository, last = session.repository, session.last_passage
        if last >= max(2 * self._told.get(repository, 0), _LARGE):
            self._told[repository] = last
            try:
                with translating(self.name), self._primary.connect() as db:
                    learn_sizes(db, escaped(session.tenant), repository, last)
            except SourcebookError as error:  # its user does not own the tables, or it is busy
                _log.info("the planner was not told of %d passages: %s", last, error)

    def _wake(self, session: Session) -> None:
        """After the commit: a transaction that notifies waits for all others that do. Workers look
        by themselves too, so nothing hangs on it."""
        with suppress(StoreError), self._primary.reading(session.tenant) as db:
            db.db.execute(f"NOTIFY {CHANNEL}")


class _Aside:
    """The pool's connections serve what nobody waits for too: nobody waits for a lock there."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @property
    def read_only(self) -> bool:
        return self._pool.found.read_only

    @contextmanager
    def transaction(self, tenant: str | None) -> Iterator[Statements]:
        with self._pool.writing(tenant) as session:
            yield session

    def close(self) -> None: ...
