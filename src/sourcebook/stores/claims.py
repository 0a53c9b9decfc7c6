"""Texts without a vector in, leases on them out; and what became of the attempts.

There is no queue: what has no vector is the work. A claim is a lease on such a text, so that nobody
else embeds it until the lease runs out; a failure says when it may be tried again. Finding what is
missing takes a look at every passage, so a process looks once for many claims and asks only of what
it found whether it is still free.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sourcebook.model import Passage
from sourcebook.ports import Backoff, Failure, IndexHealth, Pending, Spending, Spent
from sourcebook.stores.labels import View
from sourcebook.stores.moments import stamp
from sourcebook.stores.statements import Statements

LOOKS = 3
"""How often what was found may be gone before a claim says that there is nothing."""
_FOUND = 200_000
"""Texts found at a time."""
_FRESH = timedelta(seconds=60)
"""How long what was found is believed at least."""
_RARELY = 30
"""And so many times as long as the look took, so that it is a small part of the work."""
_SHOWN = 500
"""Characters of a text and of an error that are kept and shown."""
_RECENT = timedelta(minutes=5)
_SINGLE = timedelta(hours=1)
"""How long batches are kept one by one."""
_SUMMED_UP_EVERY = 256
"""Batches."""


@dataclass(slots=True)
class _Found:
    at: datetime
    hashes: deque[str]
    nothing: tuple[object, ...] | None = None
    """The state in which nothing was found."""
    until: str = ""
    """When that may be different all the same."""
    fresh: timedelta = _FRESH


@dataclass(slots=True)
class Claims:
    """What this process has found to do, by space."""

    _found: dict[int, _Found] = field(default_factory=dict)

    def look(self, db: Statements, repository: int, space: int, now: datetime) -> bool:
        """Whether there may be something to claim."""
        held = self._found.get(space)
        if held and held.hashes and now - held.at < held.fresh:
            return True
        values = {"repository": repository, "space": space, "now": stamp(now)}
        state = db.run("work_state", values).fetchone()
        if held and held.nothing == state and stamp(now) < held.until:
            return False
        start = time.perf_counter()
        rows = db.run("claimable", {**values, "limit": _FOUND}).fetchall()
        found = _Found(now, deque(row[0] for row in rows))
        found.fresh = max(_FRESH, timedelta(seconds=_RARELY * (time.perf_counter() - start)))
        if not rows:
            (free,) = db.run("next_free", values).fetchone()
            found.nothing = state
            found.until = min(stamp(now + _FRESH), free or "~")
        self._found[space] = found
        return bool(rows)

    def take(
        self,
        db: Statements,
        repository: int,
        space: int,
        lease: tuple[str, int, str, str],
    ) -> list[str]:
        """Inside a transaction. `lease` is (worker, limit, now, until)."""
        worker, limit, now, until = lease
        found = self._found[space].hashes
        taken: list[str] = []
        while found and len(taken) < limit:
            some = [found.popleft() for _ in range(min(limit - len(taken), len(found)))]
            values = {"repository": repository, "space": space, "now": now, "hashes": some}
            mine = {"worker": worker, "until": until}
            free = {row[0] for row in db.run("take_claims", {**values, **mine}).fetchall()}
            taken += [key for key in some if key in free]
        return taken


def texts(db: Statements, repository: int, space: int, hashes: Sequence[str]) -> list[Pending]:
    """In the given order."""
    values = {"repository": repository, "space": space, "hashes": list(hashes)}
    rows = db.run("claimed_texts", values).fetchall()
    found = {row[0]: Pending(row[0], _words(row[1], row[2]), row[3]) for row in rows}
    return [found[key] for key in hashes if key in found]


def _words(context: str, body: str) -> str:
    return Passage("", "", 0, body, context).embedded_text


def next_claim_s(db: Statements, repository: int, space: int, now: datetime) -> float | None:
    values = {"repository": repository, "space": space}
    (free,) = db.run("next_free", values).fetchone()
    return None if free is None else max((datetime.fromisoformat(free) - now).total_seconds(), 0.0)


def renew(db: Statements, space: int, worker: str, until: datetime) -> int:
    values = {"space": space, "worker": worker, "until": stamp(until)}
    return db.run("renew_claims", values).rowcount


def release(db: Statements, space: int, worker: str, hashes: Sequence[str] | None) -> None:
    listed = None if hashes is None else list(hashes)
    db.run("release_claims", {"space": space, "worker": worker, "hashes": listed})


def end(db: Statements, space: int, hashes: Sequence[str]) -> None:
    """These texts have vectors now."""
    values = {"space": space, "hashes": list(hashes)}
    db.run("end_claims", values)
    db.run("end_failures", values)


def fail(
    db: Statements,
    space: int,
    errors: Mapping[str, str],
    backoff: Backoff,
    now: datetime,
) -> None:
    values = {"space": space, "hashes": list(errors)}
    rows: list[Mapping[str, object]] = []
    for key, before in db.run("attempts", values).fetchall():
        attempts = before + 1
        wait = timedelta(seconds=backoff.wait_s(attempts, random.random()))
        dead = backoff.attempts is not None and attempts >= backoff.attempts
        times = {"at": stamp(now), "next_try": stamp(now + wait)}
        what = {"attempts": attempts, "error": errors[key][:_SHOWN], "dead": int(dead)}
        rows.append({"space": space, "text_hash": key, **what, **times})
    db.run_many("add_failure", rows)


def failures(db: Statements, view: View, space: int, limit: int) -> list[Failure]:
    values = {**view._asdict(), "space": space, "limit": max(limit, 0)}
    return [
        Failure(key, _words(context, body)[:_SHOWN], attempts, error, at, next_try, bool(dead))
        for key, context, body, attempts, error, at, next_try, dead in db.run("failures", values)
    ]


def record(db: Statements, space: int, texts: int, spent: Spent, now: datetime) -> None:
    """One row a batch; now and then the older ones become one a day."""
    values = {"space": space, "at": stamp(now), "texts": texts, **spent._asdict()}
    ((last,),) = db.run("add_usage", values).fetchall()
    if last % _SUMMED_UP_EVERY == 0:
        sum_up(db, space, last, now)


def sum_up(db: Statements, space: int, last: int, now: datetime) -> None:
    values = {"space": space, "before": stamp(now - _SINGLE), "last": last}
    db.run("sum_up_usage", values)
    db.run("drop_usage", values)


def health(db: Statements, view: View, space: int, now: datetime) -> IndexHealth:
    """What a reader sees of it: the texts that wait."""
    values = {**view._asdict(), "space": space}
    name = "waiting" if view.readable is None else "waiting_readable"
    pending, row = db.run(name, values).fetchone()
    if not pending:
        return IndexHealth()
    (at,) = db.run("committed_at", {**values, "row": row}).fetchone()
    age = (now - datetime.fromisoformat(at)).total_seconds()
    return IndexHealth(pending, max(round(age, 3), 0.0))


def with_work(
    db: Statements, repository: int, space: int, now: datetime, waiting: IndexHealth
) -> IndexHealth:
    """And what is done about it."""
    values = {"repository": repository, "space": space, "now": stamp(now)}
    (claimed,) = db.run("count_claims", values).fetchone()
    retrying, failed = db.run("count_failures", values).fetchone()
    rows = db.run("usage_by_model", values).fetchall()
    return replace(
        waiting,
        claimed=claimed,
        retrying=retrying,
        failed=failed,
        vectors_per_s=_rate(db, space, now),
        spending=tuple(Spending(*row) for row in rows),
    )


def _rate(db: Statements, space: int, now: datetime) -> float:
    """Since the first batch of the last minutes was begun."""
    values = {"space": space, "since": stamp(now - _RECENT)}
    rows = db.run("recent_usage", values).fetchall()
    if not rows:
        return 0.0
    begun = min(datetime.fromisoformat(at) - timedelta(seconds=s) for at, _, s in rows)
    passed = max((now - begun).total_seconds(), 1e-3)
    stored: int = sum(texts for _, texts, _ in rows)
    return round(stored / passed, 3)
