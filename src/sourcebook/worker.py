"""Repositories in, vectors in their stores out, until somebody says stop: what `worker` runs.

Any number of these work side by side, in one process or on many machines: who embeds a text is
settled by leases in the store. A repository whose model does not answer is left alone for a while,
longer each time; the others go on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sourcebook.engine import Engine
from sourcebook.errors import (
    ModelUnavailable,
    NotFound,
    SpaceMismatch,
    StoreBusy,
    StoreUnavailable,
)
from sourcebook.indexing import Batch, Indexer, Pace, worker_name
from sourcebook.model import Scope

_PASSING = (StoreBusy, StoreUnavailable, NotFound, SpaceMismatch, ModelUnavailable)
"""Troubles of one repository: the others go on."""
_FIRST_NAP_S, _LONGEST_NAP_S = 0.1, 5.0


class Report:
    """What a worker tells whoever watches it."""

    def batch(self, indexer: Indexer, batch: Batch) -> None: ...
    def trouble(self, scope: Scope, error: str) -> None: ...


@dataclass(slots=True)
class _Rest:
    """When a repository that was in trouble is looked at again."""

    troubles: int = 0
    until: float = 0.0


@dataclass(slots=True)
class Worker:
    engines: Callable[[], Sequence[Engine]]
    """The repositories; asked again in every round, since new ones may have come."""
    pace: Pace = Pace()
    report: Report = field(default_factory=Report)
    stop: threading.Event = field(default_factory=threading.Event)
    name: str = field(default_factory=worker_name)
    batches: int = 0
    stored: int = 0
    failed: int = 0
    _rests: dict[Scope, _Rest] = field(default_factory=dict)
    _rated: dict[Scope, int] = field(default_factory=dict)
    _tended: dict[Scope, int] = field(default_factory=dict)

    def run(self, *, once: bool = False) -> None:
        """Until `stop` is set; with `once` also when nothing is left to do, or when every
        repository that has something left does not answer."""
        nap = _FIRST_NAP_S
        while not self.stop.is_set():
            engines = self._engines(once)
            busy = [engine for engine in engines if self._round(engine)]
            if busy:
                nap = _FIRST_NAP_S
            elif once and all(self._ended(engine) for engine in engines):
                return
            else:
                self._wait(engines, nap)
                nap = min(nap * 2, _LONGEST_NAP_S)

    def _engines(self, once: bool) -> Sequence[Engine]:
        """None while the store does not answer."""
        try:
            return self.engines()
        except StoreUnavailable:
            if once:
                raise
            return []

    def _wait(self, engines: Sequence[Engine], nap: float) -> None:
        """A store that can tell of a commit ends it."""
        if engines:
            engines[0].store.wait_for_work(nap, self.stop)
        else:
            self.stop.wait(nap)

    def _round(self, engine: Engine) -> bool:
        """One batch of each space; whether there was anything to do."""
        rest = self._rests.setdefault(engine.scope, _Rest())
        if time.monotonic() < rest.until:
            return False
        try:
            found = self._rate(engine)
            for indexer in engine.indexers(self.name, self.pace):
                if self.stop.is_set():
                    break
                found += self._step(indexer, rest)
            if not found:
                self._tend(engine)
        except _PASSING as error:
            self._trouble(engine.scope, rest, str(error))
            return False
        return found > 0

    def _tend(self, engine: Engine) -> None:
        """Once after vectors came, and when the worker is new."""
        if self._tended.get(engine.scope) != self.stored:
            self._tended[engine.scope] = self.stored
            engine.store.tend(engine.scope)

    def _rate(self, engine: Engine) -> int:
        """Only after a commit: finding what has no score takes a look at every node."""
        head = engine.resolve().revision
        if self._rated.get(engine.scope) == head:
            return 0
        rated = engine.rate()
        self._rated[engine.scope] = head
        return rated

    def _step(self, indexer: Indexer, rest: _Rest) -> int:
        batch = indexer.step()
        if not batch.claimed:
            return 0
        self.batches += 1
        self.stored += batch.stored
        self.failed += batch.failed
        self.report.batch(indexer, batch)
        if batch.outage:
            self._trouble(indexer.scope, rest, batch.error)
        else:
            rest.troubles = 0
        return batch.claimed

    def _trouble(self, scope: Scope, rest: _Rest, error: str) -> None:
        rest.troubles += 1
        rest.until = time.monotonic() + self.pace.pause_s(rest.troubles)
        self.report.trouble(scope, error)

    def _ended(self, engine: Engine) -> bool:
        """All is done or given up here, or there is no use in waiting."""
        rest = self._rests.get(engine.scope, _Rest())
        return rest.troubles >= self.pace.patience or not (rest.troubles or engine.lag()[0])
