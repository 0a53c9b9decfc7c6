"""A key, the name of an operation and its request in; the answer as JSON out, or an error of
failures.py: what HTTP, MCP and gRPC stand on.

The core is synchronous. A surface runs `call` in a thread of its own; how many run at a time is
bounded, and who finds too many waiting is told so at once instead of waiting too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from sourcebook import access
from sourcebook.engine import Engine
from sourcebook.errors import Unauthorized
from sourcebook.serve import wire
from sourcebook.serve.failures import Overloaded, TooOften, refused
from sourcebook.serve.operations import OPERATIONS, Operation


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one process takes on."""

    running: int = 8
    """Requests answered at a time: searches use both cores, so more would only wait inside."""
    waiting: int = 64
    """Requests that may wait for their turn."""
    per_key_per_minute: int | None = None


BOUNDS = Bounds()


@dataclass(slots=True)
class Turns:
    """Lets a bounded number in at a time."""

    bounds: Bounds
    _free: threading.Semaphore = field(init=False)
    _waiting: int = 0
    in_flight: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._free = threading.Semaphore(self.bounds.running)

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._lock:
            if self._waiting >= self.bounds.waiting:
                raise Overloaded
            self._waiting += 1
        self._free.acquire()
        with self._lock:
            self._waiting -= 1
            self.in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                self.in_flight -= 1
            self._free.release()


@dataclass(slots=True)
class Pace:
    """How often each key asked in the last minute; a bucket that fills evenly."""

    per_minute: int
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, key_id: str) -> None:
        now = time.monotonic()
        with self._lock:
            left, at = self._left.get(key_id, (float(self.per_minute), now))
            left = min(left + (now - at) * self.per_minute / 60, float(self.per_minute))
            if left < 1:
                raise TooOften
            self._left[key_id] = (left - 1, now)


class Door:
    """One for a process; any thread may call."""

    def __init__(self, engine: Engine, *, keys: bool, bounds: Bounds = BOUNDS) -> None:
        """With `keys` nobody comes in without one; otherwise who comes without owns the store."""
        self.engine, self.keys, self.turns = engine, keys, Turns(bounds)
        limit = bounds.per_key_per_minute
        self._pace = Pace(limit) if limit else None

    def enter(self, key: str | None, repository: str | None, operation: Operation) -> Engine:
        """The engine as the key sees it, with the right that the operation needs."""
        if key is None:
            if self.keys:
                raise Unauthorized
            return self.engine.in_repository(repository) if repository else self.engine
        caller = access.authenticate(self.engine.store, key)
        if self._pace:
            self._pace.count(caller.key_id)
        wanted = repository or self.engine.scope.repository
        return self.engine.as_caller(caller, wanted, operation.right)

    def call(
        self, name: str, given: Mapping[str, Any], *, key: str | None, otherwise: str
    ) -> dict[str, Any]:
        """`otherwise` is the read context of who names none: "default" for agents' tools, "head"
        for people's."""
        operation = OPERATIONS[name]
        if key is None and self.keys:
            raise Unauthorized
        request = parse(operation.request, given)
        engine = self.enter(key, repository_of(request), operation)
        with self.turns.turn():
            return operation.run(engine, request, otherwise)


def parse(model: type[wire.Wire], given: Mapping[str, Any]) -> wire.Wire:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise refused(error) from None


def repository_of(request: wire.Wire) -> str | None:
    """A citation names its own."""
    if isinstance(request, wire.Verify | wire.Feedback):
        return request.citation.repository_id
    return getattr(request, "repository", None)
