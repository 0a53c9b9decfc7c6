"""API keys: rows in and out, and when a key was last used, written where nobody waits for it.

Uses wait in memory and are written a little later, over a connection of their own that gives way to
whoever else is writing. A use that cannot be written is dropped: the next one says as much.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from datetime import datetime, timedelta

from sourcebook.errors import Conflict, NotFound, SourcebookError
from sourcebook.model import ApiKey
from sourcebook.stores.aside import Aside
from sourcebook.stores.moments import stamp
from sourcebook.stores.pending_keys import listed
from sourcebook.stores.rows import Row
from sourcebook.stores.statements import Statements

EVERY = timedelta(minutes=1)
DELAY_S = 0.5


def add(db: Statements, key: ApiKey) -> None:
    if find(db, key.id) is not None:
        raise Conflict(f"there is a key {key.id} already")
    db.run(
        "add_key",
        {
            "id": key.id,
            "hash": key.hash,
            "name": key.name,
            "tenant": key.tenant,
            "organization": key.organization,
            **listed(key),
            "rights": key.rights,
            "created_at": key.created_at,
            "expires_at": key.expires_at,
        },
    )


def find(db: Statements, key_id: str) -> ApiKey | None:
    row = db.run("key", {"id": key_id}).fetchone()
    return None if row is None else _key(row)


def of_tenant(db: Statements, tenant: str | None) -> list[ApiKey]:
    return [_key(row) for row in db.run("keys", {"tenant": tenant}).fetchall()]


def revoke(db: Statements, tenant: str, key_id: str, moment: datetime) -> ApiKey:
    """The first time stays."""
    db.run("revoke_key", {"tenant": tenant, "id": key_id, "at": stamp(moment)})
    found = find(db, key_id)
    if found is None or found.tenant != tenant:
        raise unknown(key_id)
    return found


def unknown(key_id: str) -> NotFound:
    return NotFound(f"there is no key {key_id!r}; `sourcebook keys list` shows the ids")


def _key(row: Row) -> ApiKey:
    *first, repositories, roles, rights, created, expires, revoked, used = row
    listed = None if repositories is None else tuple(json.loads(repositories))
    labels = None if roles is None else frozenset(json.loads(roles))
    rest: Row = (listed, labels, rights, created, expires, revoked, used)
    return ApiKey(*first, *rest)


class Uses:
    """When keys were used: told at once, written soon, once a minute for each at most."""

    def __init__(self, aside: Aside, delay_s: float = DELAY_S) -> None:
        self._aside = aside
        self._delay_s = delay_s
        self._told: dict[str, datetime] = {}
        self._waiting: dict[str, datetime] = {}
        self._timer: threading.Timer | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._writing = threading.Lock()

    def add(self, key_id: str, moment: datetime) -> None:
        """Returns at once and never fails."""
        with self._lock:
            last = self._told.get(key_id)
            if self._closed or self._aside.read_only:
                return
            if last is not None and moment - last < EVERY:
                return
            self._told[key_id] = self._waiting[key_id] = moment
            self._arm()

    def flush(self) -> None:
        """Write what waits. While somebody else writes, it is dropped."""
        with self._writing:
            with self._lock:
                waiting, self._waiting = self._waiting, {}
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
            if waiting:
                with suppress(SourcebookError):
                    self._write(waiting)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self.flush()
        with self._writing:
            self._aside.close()

    def _arm(self) -> None:
        if self._timer is None:
            timer = threading.Timer(self._delay_s, self.flush)
            timer.daemon = True
            with suppress(RuntimeError):  # no thread is to be had: the next use tries again
                timer.start()
                self._timer = timer

    def _write(self, uses: dict[str, datetime]) -> None:
        """A minute is asked for again here: another process may have written."""
        rows = [
            {"id": key_id, "at": stamp(at), "before": stamp(at - EVERY)}
            for key_id, at in uses.items()
        ]
        with self._aside.transaction(None) as db:
            db.run_many("touch_key", rows)
