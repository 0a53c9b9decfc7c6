"""Requests in, a bounded number of them at a time: who finds too many waiting is told so at once,
and who is gone, or out of time, before its turn comes does not start.

Turns are taken in the order of arrival.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sourcebook.serve.failures import OutOfTime, Overloaded


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one process takes on."""

    running: int = 8
    """Requests answered at a time: searches use both cores, so more would only wait inside."""
    waiting: int = 64
    """Requests that may wait for their turn."""
    per_key_per_minute: int | None = None


BOUNDS = Bounds()
_FOREVER = 1e6
"""Seconds. A deadline beyond is none; the system's clocks do not count much further."""


@dataclass(slots=True, eq=False)
class Visit:
    """One request's stay. Whoever serves it may say that its asker left; then it is not started, or
    goes no further than the next `check`."""

    deadline: float | None = None
    """By time.monotonic; None waits as long as it takes."""
    left: bool = False
    admitted: bool = False
    _stirred: threading.Event = field(default_factory=threading.Event)

    def leave(self) -> None:
        self.left = True
        self._stirred.set()

    def admit(self) -> None:
        self.admitted = True
        self._stirred.set()

    def wait(self) -> None:
        """Until it is admitted, out of time or gone."""
        left = _FOREVER if self.deadline is None else self.deadline - time.monotonic()
        self._stirred.wait(left if left < _FOREVER else None)

    def check(self) -> None:
        """An error for one that was not admitted, or too late to be of use."""
        late = self.deadline is not None and time.monotonic() >= self.deadline
        if late or self.left or not self.admitted:
            raise OutOfTime


@dataclass(slots=True)
class Turns:
    """Lets a bounded number in at a time."""

    bounds: Bounds = BOUNDS
    in_flight: int = 0
    _line: deque[Visit] = field(default_factory=deque)
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

    def _queue(self, visit: Visit) -> None:
        with self._lock:
            if self.in_flight < self.bounds.running:
                self.in_flight += 1
                visit.admit()
            elif len(self._line) >= self.bounds.waiting:
                raise Overloaded
            else:
                self._line.append(visit)

    def _end(self, visit: Visit) -> None:
        """Its place goes to the next in line."""
        with self._lock:
            if not visit.admitted:
                self._line.remove(visit)
            elif self._line:
                self._line.popleft().admit()
            else:
                self.in_flight -= 1
