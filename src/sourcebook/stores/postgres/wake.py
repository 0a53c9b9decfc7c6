"""Commits of other processes in, a worker that wakes out: LISTEN on a connection of its own.

What is told while nobody waits is kept for the next time, so nothing is missed between two waits.
Where the connection is lost it is made anew; whoever waits looks by themselves all the same.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

import psycopg

from sourcebook.stores.postgres.pool import Pool

CHANNEL = "sourcebook_work"
_STEP_S = 0.5
"""How often it is asked whether to stop."""


class Listener:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._db: psycopg.Connection[Any] | None = None
        self._lock = threading.Lock()

    def wait(self, timeout_s: float, stop: threading.Event) -> None:
        """Until something is told, `stop` is set, or the time has passed."""
        until = time.monotonic() + timeout_s
        with self._lock:
            try:
                db = self._listening()
                while not stop.is_set() and (left := until - time.monotonic()) > 0:
                    for _ in db.notifies(timeout=min(left, _STEP_S), stop_after=1):
                        return
            except psycopg.Error:
                self._let_go()
        stop.wait(max(until - time.monotonic(), 0))

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def _listening(self) -> psycopg.Connection[Any]:
        if self._db is None:
            self._db = self._pool.connect()
            self._db.execute(f"LISTEN {CHANNEL}")
        return self._db

    def _let_go(self) -> None:
        if self._db is not None:
            with suppress(psycopg.Error):
                self._db.close()
            self._db = None
