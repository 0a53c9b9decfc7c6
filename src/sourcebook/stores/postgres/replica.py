"""A revision in, a replica that has reached it out, or none: then the primary is asked.

A replica goes forward only, so a revision that it had it has. One that does not answer, or that is
not there yet, is left alone for a while.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

from sourcebook.errors import StoreError
from sourcebook.model import Scope
from sourcebook.stores import history
from sourcebook.stores.postgres.pool import Pool
from sourcebook.stores.postgres.session import Session
from sourcebook.stores.writer import repository_of

_REST_S = 10.0


class Replica:
    def __init__(self, url: str, busy_timeout_s: float) -> None:
        self._url = url
        self._busy_timeout_s = busy_timeout_s
        self._pool: Pool | None = None
        self._reached: dict[Scope, int] = {}
        self._rests_until = 0.0
        self._lock = threading.Lock()

    def read(self, opened: ExitStack, scope: Scope, revision: int) -> Session | None:
        """A transaction that reads that revision of the scope, ended with the stack."""
        if time.monotonic() < self._rests_until:
            return None
        try:
            pool = self._opened()
            if not self._has(pool, scope, revision):
                return None
            return opened.enter_context(pool.reading(scope.tenant))
        except StoreError:
            self._rests_until = time.monotonic() + _REST_S
            return None

    def _has(self, pool: Pool, scope: Scope, revision: int) -> bool:
        if self._reached.get(scope, -1) < revision:
            with pool.reading(scope.tenant) as db:
                number = repository_of(db, scope)
                self._reached[scope] = -1 if number is None else history.head(db, number)
        return self._reached[scope] >= revision

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()

    def _opened(self) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = Pool(self._url, self._busy_timeout_s)
            return self._pool
