"""Rows about questions in, kept in the store a little later: who asks never waits for them.

Rows wait in memory and are written every few seconds and when the store is closed, over a
connection of their own that gives way to whoever else is writing. What cannot be written is dropped
and counted, and a crash loses what waits. Only the newest rows of a repository are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby

from sourcebook.errors import SourcebookError, StoreBusy
from sourcebook.model import Scope
from sourcebook.ports import Asked
from sourcebook.stores.aside import Aside
from sourcebook.stores.statements import Statements
from sourcebook.stores.writer import repository_of

KEPT = 100_000
EVERY_S = 2.0
MOST_WAITING = 10_000
_BATCH = 500
"""Rows of one transaction: a commit of others waits some milliseconds for it at most."""
_Entry = tuple[Scope, Asked]


class QueryLog:
    def __init__(self, aside: Aside, *, every_s: float = EVERY_S, kept: int = KEPT) -> None:
        self.dropped = 0
        """Rows that were given up since the store was opened."""
        self._aside = aside
        self._every_s = every_s
        self._kept = kept
        self._waiting: list[_Entry] = []
        self._timer: threading.Timer | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._writing = threading.Lock()

    def add(self, scope: Scope, rows: Sequence[Asked]) -> None:
        """Returns at once and never fails."""
        with self._lock:
            if self._closed or self._aside.read_only:
                self.dropped += len(rows)
                return
            self._waiting.extend((scope, row) for row in rows)
            self._settle()

    def flush(self) -> None:
        """Write what waits. Where somebody else is writing, it waits for the next time."""
        with self._writing:
            with self._lock:
                rows, self._waiting = self._waiting, []
                self._disarm()
            written = 0
            try:
                rows.sort(key=lambda row: row[0].tenant)
                for batch in _batches(rows):
                    self._write(batch)
                    written += len(batch)
            except StoreBusy:
                with self._lock:
                    self._waiting[:0] = rows[written:]
                    self._settle()
            except SourcebookError:
                with self._lock:
                    self.dropped += len(rows) - written

    def close(self) -> None:
        """One last try; what it does not write is dropped."""
        with self._lock:
            self._closed = True
        self.flush()
        with self._writing, self._lock:
            self._disarm()
            self.dropped += len(self._waiting)
            self._waiting = []
            self._aside.close()

    def _settle(self) -> None:
        """Not more than is allowed may wait, and not for ever."""
        excess = max(0, len(self._waiting) - MOST_WAITING)
        del self._waiting[:excess]
        self.dropped += excess
        if self._timer is None and not self._closed:
            timer = threading.Timer(self._every_s, self.flush)
            timer.daemon = True
            with suppress(RuntimeError):  # no thread is to be had: the next row tries again
                timer.start()
                self._timer = timer

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write(self, rows: Sequence[_Entry]) -> None:
        with self._aside.transaction(rows[0][0].tenant) as db:
            write(db, rows, self._kept)


def _batches(rows: Sequence[_Entry]) -> Iterator[Sequence[_Entry]]:
    """Of one tenant each."""
    for _, whose in groupby(rows, key=lambda row: row[0].tenant):
        ours = list(whose)
        yield from (ours[at : at + _BATCH] for at in range(0, len(ours), _BATCH))


def write(db: Statements, rows: Sequence[_Entry], kept: int) -> None:
    """In one transaction. A scope that nothing was ever written to stays unknown."""
    for scope in dict.fromkeys(scope for scope, _ in rows):
        repository = repository_of(db, scope)
        if repository is not None:
            ours = [(repository, *row) for whose, row in rows if whose == scope]
            db.run_many("log_query", ours)
            db.run("prune_query_log", {"repository": repository, "kept": kept})
