"""Requests in, a bounded number of them at a time: who finds too many waiting is told so at once,
and who is gone, or out of time, before its turn comes does not start.

One tenant, or one key, can hold only a share of the places, so that others are always served. Turns
go round the tenants, and within a tenant round its keys; those of one key are in the order of
arrival. The owner of the store, who comes without a key, has no share: where keys are used, nobody
comes without one.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from sourcebook.errors import SourcebookError
from sourcebook.model import Caller
from sourcebook.serve.failures import OutOfTime, Overloaded, Stopping, TooOften


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one process takes on."""

    running: int = 8
    """Requests answered at a time: searches use both cores, so more would only wait inside."""
    waiting: int = 64
    """Requests that may wait for their turn."""
    per_key_per_minute: int | None = None
    per_tenant_share: float = 0.75
    """Of the places to run and to wait: what one tenant can hold."""
    per_key_share: float = 0.5
    ingests: int = 2
    """Of the requests answered at a time, those with a key that bring documents."""
    timeout_s: float | None = None
    """For a request that came without a deadline."""


BOUNDS = Bounds()
_FOREVER = 1e6
"""Seconds. A deadline beyond is none; the system's clocks do not count much further."""
_Who = tuple[str, ...]
"""What is counted: a tenant, or a key of one, or such a one's ingests."""


@dataclass(slots=True, eq=False)
class Visit:
    """One request's stay. Whoever serves it may say that its asker left; then it is not started, or
    goes no further than the next `check`."""

    deadline: float | None = None
    """By time.monotonic; None waits as long as it takes."""
    left: bool = False
    admitted: bool = False
    caller: Caller | None = None
    """None: the owner of the store."""
    brings_documents: bool = False
    _why: type[SourcebookError] = OutOfTime
    _stirred: threading.Event = field(default_factory=threading.Event)
    _to_call: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def leave(self, why: type[SourcebookError] = OutOfTime) -> None:
        with self._lock:
            if not self.left:
                self.left, self._why = True, why
            to_call, self._to_call = self._to_call, []
        self._stirred.set()
        for call in to_call:
            call()

    @contextmanager
    def on_leave(self, call: Callable[[], None]) -> Iterator[None]:
        """Inside, it is called once if the asker leaves."""
        with self._lock:
            if not self.left:
                self._to_call.append(call)
        self.check()
        try:
            yield
        finally:
            with self._lock:
                if call in self._to_call:
                    self._to_call.remove(call)

    def admit(self) -> None:
        self.admitted = True
        self._stirred.set()

    def wait(self) -> None:
        """Until it is admitted, out of time or gone."""
        left = _FOREVER if self.deadline is None else self.deadline - time.monotonic()
        self._stirred.wait(left if left < _FOREVER else None)

    def check(self) -> None:
        """An error for one that was not admitted, or too late to be of use."""
        if self.left:
            raise self._why
        late = self.deadline is not None and time.monotonic() >= self.deadline
        if late or not self.admitted:
            raise OutOfTime


@dataclass(slots=True)
class Turns:
    """Lets a bounded number in at a time."""

    bounds: Bounds = BOUNDS
    in_flight: int = 0
    _line: list[Visit] = field(default_factory=list)
    _inside: set[Visit] = field(default_factory=set)
    _held: Counter[_Who] = field(default_factory=Counter)
    """Places to run that are taken, by whom."""
    _waiting: Counter[_Who] = field(default_factory=Counter)
    _served: dict[_Who, int] = field(default_factory=dict)
    """When each tenant and key had its last turn, as a number that rises."""
    _ticks: Iterator[int] = field(default_factory=lambda: count(1))
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def waiting(self) -> int:
        return len(self._line)

    @contextmanager
    def turn(self, visit: Visit | None = None) -> Iterator[None]:
        visit = visit or Visit()
        self._queue(visit)
        try:
            visit.wait()
            visit.check()
            yield
        finally:
            self._end(visit)

    def close(self) -> None:
        """Nobody is let in any more, and whoever is inside is told to stop."""
        with self._lock:
            self._closed = True
            there = [*self._line, *self._inside]
        for visit in there:
            visit.leave(Stopping)

    def _queue(self, visit: Visit) -> None:
        with self._lock:
            if self._closed:
                raise Stopping
            if self._may_run(visit):
                self._admit(visit)
                return
            if len(self._line) >= self.bounds.waiting:
                raise Overloaded
            for who, share in self._shares(visit):
                if self._waiting[who] >= max(int(share * self.bounds.waiting), 1):
                    raise TooOften(
                        f"this {who[0]} has as many requests under way as it may; "
                        "send the next one when one of them is answered"
                    )
            self._line.append(visit)
            self._waiting.update(who for who, _ in self._shares(visit))

    def _end(self, visit: Visit) -> None:
        """Its place goes to the next in line."""
        with self._lock:
            if visit.admitted:
                self.in_flight -= 1
                self._inside.discard(visit)
                self._held.subtract(self._counted(visit))
            else:
                self._drop(visit)
            while (following := self._next()) is not None:
                self._drop(following)
                self._admit(following)
            self._forget(visit)

    # --- whose turn it is; the lock is held ------------------------------------------------------

    def _shares(self, visit: Visit) -> list[tuple[_Who, float]]:
        if visit.caller is None:
            return []
        tenant = visit.caller.tenant
        return [
            (("tenant", tenant), self.bounds.per_tenant_share),
            (("key", tenant, visit.caller.key_id), self.bounds.per_key_share),
        ]

    def _limits(self, visit: Visit) -> Iterator[tuple[_Who, int]]:
        """Who may hold how many places."""
        shares = self._shares(visit)
        for who, share in shares:
            yield who, max(int(share * self.bounds.running), 1)
        if shares and visit.brings_documents:
            yield ("ingests",), self.bounds.ingests
            for who, share in shares:
                yield ("ingests", *who), max(int(share * self.bounds.ingests), 1)

    def _counted(self, visit: Visit) -> list[_Who]:
        return [who for who, _ in self._limits(visit)]

    def _may_run(self, visit: Visit) -> bool:
        if self.in_flight >= self.bounds.running:
            return False
        return all(self._held[who] < most for who, most in self._limits(visit))

    def _admit(self, visit: Visit) -> None:
        self.in_flight += 1
        self._inside.add(visit)
        self._held.update(self._counted(visit))
        tick = next(self._ticks)
        self._served.update((who, tick) for who, _ in self._shares(visit))
        visit.admit()

    def _next(self) -> Visit | None:
        """Of those that may run: of the tenant, then of the key, that was served longest ago."""
        if self.in_flight >= self.bounds.running:
            return None
        able = [visit for visit in self._line if self._may_run(visit)]
        return min(able, key=self._last_turns, default=None)

    def _last_turns(self, visit: Visit) -> list[int]:
        return [self._served.get(who, 0) for who, _ in self._shares(visit)]

    def _drop(self, visit: Visit) -> None:
        self._line.remove(visit)
        self._waiting.subtract(who for who, _ in self._shares(visit))

    def _forget(self, visit: Visit) -> None:
        """Who has nothing here any more."""
        for who in self._counted(visit):
            if not self._held[who] and not self._waiting[who]:
                for counted in (self._held, self._waiting, self._served):
                    counted.pop(who, None)
