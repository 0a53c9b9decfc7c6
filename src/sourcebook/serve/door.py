"""A key, the name of an operation and its request in; the answer as JSON out, or an error of
failures.py: what HTTP, MCP and gRPC stand on.

The core is synchronous. A surface runs `call` in a thread of its own; how many run at a time is
bounded, for each tenant and key too, and who finds too many waiting is told so at once instead of
waiting too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from sourcebook import access, asker
from sourcebook.engine import Engine
from sourcebook.errors import Unauthorized
from sourcebook.model import Caller
from sourcebook.serve import wire
from sourcebook.serve.failures import TooOften, refused
from sourcebook.serve.operations import OPERATIONS, Operation
from sourcebook.serve.turns import BOUNDS, Bounds, Turns, Visit

__all__ = ["BOUNDS", "Asked", "Bounds", "Door", "Turns", "Visit"]


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


Watch = Callable[[str, float, Mapping[str, Any] | None, BaseException | None], None]
"""Told of every call: the operation, how many seconds it took, and its answer or its error."""


def _nobody(
    name: str, seconds: float, answer: Mapping[str, Any] | None, error: BaseException | None
) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, whatever surface it came through."""

    name: str
    operation: Operation
    given: Callable[[], Mapping[str, Any]]
    """Read only once it is known who asks."""
    key: str | None = field(repr=False)
    otherwise: str
    strict: bool = False
    """Whether a value must have its type already, as in JSON; words of an address have none."""


class Door:
    """One for a process; any thread may call."""

    def __init__(self, engine: Engine, *, keys: bool | None, bounds: Bounds = BOUNDS) -> None:
        """With `keys` nobody comes in without one; otherwise who comes without owns the store.
        None: as soon as the store holds one."""
        self.engine, self.asks_for_keys, self.turns = engine, keys, Turns(bounds)
        limit = bounds.per_key_per_minute
        self._pace = Pace(limit) if limit else None
        self.watch: Watch = _nobody

    @property
    def keys(self) -> bool:
        """Whether nobody comes in without one. Asks the store until it holds one; what may not wait
        for the store reads `asks_for_keys`, which is what was known last."""
        if self.asks_for_keys is None and self.engine.store.keys(None):
            self.asks_for_keys = True
        return bool(self.asks_for_keys)

    def admit(self, key: str | None) -> Caller | None:
        """Who comes with this key; None is the owner of the store."""
        if key is None:
            if self.keys:
                raise Unauthorized
            return None
        caller = access.authenticate(self.engine.store, key)
        if self._pace:
            self._pace.count(caller.key_id)
        return caller

    def enter(self, caller: Caller | None, repository: str | None, operation: Operation) -> Engine:
        """The engine as the caller sees it, with the right that the operation needs."""
        if caller is None:
            return self.engine.in_repository(repository) if repository else self.engine
        wanted = repository or self.engine.scope.repository
        return self.engine.as_caller(caller, wanted, operation.right)

    def call(
        self,
        name: str,
        given: Mapping[str, Any],
        *,
        key: str | None,
        otherwise: str,
        visit: Visit | None = None,
    ) -> dict[str, Any]:
        """`otherwise` is the read context of who names none: "default" for agents' tools, "head"
        for people's. A `visit` says how long the request waits for its turn."""
        asked = Asked(name, OPERATIONS[name], lambda: given, key, otherwise)
        return self.answer(asked, visit)

    def answer(self, asked: Asked, visit: Visit | None = None) -> dict[str, Any]:
        """As `call`, for an operation of any surface's own too."""
        started = time.perf_counter()
        try:
            answer = self._answer(asked, visit)
        except BaseException as error:
            self.watch(asked.name, time.perf_counter() - started, None, error)
            raise
        self.watch(asked.name, time.perf_counter() - started, answer, None)
        return answer

    def _answer(self, asked: Asked, visit: Visit | None) -> dict[str, Any]:
        operation = asked.operation
        caller = self.admit(asked.key)
        request = parse(operation.request, asked.given(), strict=asked.strict)
        engine = self.enter(caller, repository_of(request), operation)
        visit = visit or Visit()
        visit.caller, visit.brings_documents = caller, isinstance(request, wire.Ingest)
        if visit.deadline is None and self.turns.bounds.timeout_s is not None:
            visit.deadline = time.monotonic() + self.turns.bounds.timeout_s
        known = asker.known_by(visit.check, visit.deadline, visit.on_leave)
        with self.turns.turn(visit), known:
            return operation.run(engine, request, asked.otherwise)


def parse(model: type[wire.Wire], given: Mapping[str, Any], *, strict: bool = False) -> wire.Wire:
    try:
        return model.model_validate(given, strict=strict)
    except ValidationError as error:
        raise refused(error) from None


def repository_of(request: wire.Wire) -> str | None:
    """A citation names its own."""
    if isinstance(request, wire.Verify | wire.Feedback):
        return request.citation.repository_id
    return getattr(request, "repository", None)
