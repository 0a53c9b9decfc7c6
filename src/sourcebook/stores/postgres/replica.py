"""A revision in, a replica that has reached it out, or none: then the primary is asked.

A replica goes forward only, so a revision that it had it has. One that does not answer, or that is
not there yet, is left alone for a while. So is a primary that does not answer: then the replica
says what is committed, which may be less.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sourcebook.errors import NotFound, StoreError, StoreUnavailable
from sourcebook.model import Scope
from sourcebook.stores import history
from sourcebook.stores.postgres.pool import Pool
from sourcebook.stores.postgres.session import Session
from sourcebook.stores.writer import repository_of

_REST_S = 10.0
_log = logging.getLogger(__name__)


class Replica:
    def __init__(self, primary: Pool, replica: Pool) -> None:
        self._primary, self._replica = primary, replica
        self._reached: dict[Scope, int] = {}
        self._rests_until = 0.0
        self._gone: StoreUnavailable | None = None
        """What the primary said when it was last asked, if it did not answer."""
        self._asked_until = 0.0
        self._lock = threading.Lock()
        self.stood_in = 0
        """How often it was asked what is committed, in the primary's place."""

    def read(self, opened: ExitStack, scope: Scope, revision: int) -> Session | None:
        """A transaction that reads that revision of the scope, ended with the stack."""
        if time.monotonic() < self._rests_until:
            return None
        try:
            if not self._has(scope, revision):
                return None
            return opened.enter_context(self._replica.reading(scope.tenant))
        except StoreError:
            self._rests_until = time.monotonic() + _REST_S
            return None

    def read_last(self, opened: ExitStack, tenant: str) -> Session:
        """A transaction that reads what is committed: the primary's, or where that does not answer
        the replica's."""
        gone = self._gone_now()
        if gone is None:
            try:
                session = opened.enter_context(self._primary.reading(tenant))
            except StoreUnavailable as error:
                if self._gone is None:
                    names = self._primary.name, self._replica.name
                    _log.warning("%s does not answer; until it does, %s is read", *names)
                self._gone = gone = error
            else:
                self._gone = None
                return session
        opened.enter_context(_found_or(gone))
        try:
            session = opened.enter_context(self._replica.reading(tenant))
        except StoreError:
            raise gone from None
        with self._lock:
            self.stood_in += 1
        return session

    def primary_answered(self) -> None:
        """Who has written there reads there, or would miss it."""
        self._gone = None

    def close(self) -> None:
        self._replica.close()

    def _gone_now(self) -> StoreUnavailable | None:
        """None where the primary is to be asked. While one asks a primary that was gone, the others
        do not wait for it."""
        with self._lock:
            now = time.monotonic()
            if self._gone is not None and now < self._asked_until:
                return self._gone
            self._asked_until = now + _REST_S
            return None

    def _has(self, scope: Scope, revision: int) -> bool:
        if self._reached.get(scope, -1) < revision:
            with self._replica.reading(scope.tenant) as db:
                number = repository_of(db, scope)
                self._reached[scope] = -1 if number is None else history.head(db, number)
        return self._reached[scope] >= revision


@contextmanager
def _found_or(gone: StoreUnavailable) -> Iterator[None]:
    """What the replica does not have the primary may have."""
    try:
        yield
    except NotFound as error:
        raise gone from error
