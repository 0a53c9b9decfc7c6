"""What was asked and answered in; text that Prometheus reads out.

Counts are of this process. How far each repository's index is behind is asked of the store when the
metrics are read, for the repositories that whoever reads them may see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from sourcebook.engine import Engine
from sourcebook.errors import SourcebookError
from sourcebook.serve.turns import Turns

_BUCKETS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
)
_OUTCOMES = ("ok", "low_confidence", "no_results", "success")
Caches = Mapping[str, tuple[int, int]]
"""Hits and misses by the name of a cache."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """One for a process; any thread may call."""

    def __init__(self, turns: Turns) -> None:
        self._all = CollectorRegistry()
        self._seconds = self._histogram("operation_seconds", "Time of a call", ["operation"])
        self._stages = self._histogram(
            "stage_seconds", "Time of a stage of an answer", ["operation", "stage"]
        )
        self._outcomes = self._counter(
            "outcomes", "Calls by their outcome or error", ["operation", "outcome"]
        )
        self._degraded = self._counter(
            "degraded", "Answers that a part did not, or not fully, take part in", ["part"]
        )
        self._responses = self._counter(
            "http_responses", "HTTP responses", ["method", "route", "status"]
        )
        self._open = self._gauge("http_in_flight", "HTTP requests being served")
        running = self._gauge("in_flight", "Calls that the engine works on")
        running.set_function(lambda: float(turns.in_flight))
        waiting = self._gauge("waiting", "Calls that wait for their turn")
        waiting.set_function(lambda: float(turns.waiting))

    def watch(
        self,
        name: str,
        seconds: float,
        answer: Mapping[str, Any] | None,
        error: BaseException | None,
    ) -> None:
        """For `Door.watch`: what HTTP, MCP and gRPC ask is counted alike."""
        self._seconds.labels(name).observe(seconds)
        if answer is None:
            known = error.code if isinstance(error, SourcebookError) else "internal"
            self._outcomes.labels(name, known).inc()
            return
        status = answer.get("status")
        self._outcomes.labels(name, status if status in _OUTCOMES else "done").inc()
        timings = answer.get("stats", {}).get("timings_ms", {})
        for stage, took in timings.items():
            self._stages.labels(name, stage).observe(took / 1e3)
        for part in answer.get("degraded", ()):
            self._degraded.labels(part["part"]).inc()

    def opened(self) -> None:
        self._open.inc()

    def closed(self, method: str, route: str, status: int) -> None:
        self._open.dec()
        self._responses.labels(method, route, str(status)).inc()

    def text(self, engines: Iterable[Engine], caches: Caches) -> bytes:
        """With the index of each of these engines' repositories."""
        now = CollectorRegistry()
        asked = Counter("sourcebook_cache", "Looks into a cache", ["cache", "found"], registry=now)
        for cache, (hits, misses) in caches.items():
            asked.labels(cache, "yes").inc(hits)
            asked.labels(cache, "no").inc(misses)
        place = ["tenant", "organization", "repository"]
        pending = Gauge("sourcebook_index_pending", "Texts without a vector", place, registry=now)
        age = Gauge(
            "sourcebook_index_lag_seconds", "Since the first that waits", place, registry=now
        )
        failed = Gauge(
            "sourcebook_embedding_failures", "Texts that were given up", place, registry=now
        )
        for engine in engines:
            scope, health = engine.scope, engine.index_health()
            labels = (scope.tenant, scope.organization, scope.repository)
            pending.labels(*labels).set(health.pending)
            age.labels(*labels).set(health.oldest_pending_s or 0.0)
            failed.labels(*labels).set(health.failed)
        return generate_latest(self._all) + generate_latest(now)

    def _counter(self, name: str, told: str, labels: list[str]) -> Counter:
        return Counter(f"sourcebook_{name}", told, labels, registry=self._all)

    def _gauge(self, name: str, told: str) -> Gauge:
        return Gauge(f"sourcebook_{name}", told, registry=self._all)

    def _histogram(self, name: str, told: str, labels: list[str]) -> Histogram:
        return Histogram(f"sourcebook_{name}", told, labels, buckets=_BUCKETS, registry=self._all)
