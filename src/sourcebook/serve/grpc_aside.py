"""A server in; beside its service, health, which is that of the store, and reflection out.

Both have streams that last as long as the client likes, so they are counted and can be ended: a
stop must not wait for them, and they may not take the threads that answers need.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from sourcebook.errors import SourcebookError
from sourcebook.serve.door import Door

MOST_STREAMS = 16
"""Reflection streams at a time: each holds a thread."""
_Status = health_pb2.HealthCheckResponse


class Streams:
    """The calls that end only when somebody ends them."""

    def __init__(self) -> None:
        self._open: set[Any] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, context: grpc.ServicerContext) -> None:
        with self._lock:
            self._open.add(context)
        if not context.add_callback(lambda: self._open.discard(context)):
            self._open.discard(context)

    def end(self) -> None:
        with self._lock:
            there = list(self._open)
        for context in there:
            context.cancel()


class StoreHealth(health.HealthServicer):  # type: ignore[misc]
    """SERVING while the store answers. A watcher holds no thread."""

    def __init__(self, door: Door, names: Sequence[str], streams: Streams) -> None:
        super().__init__()
        self._door, self._names, self._streams = door, names, streams
        self._look()

    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._look()
        return super().Check(request, context)

    def Watch(self, request: Any, context: grpc.ServicerContext, *send: Any) -> Any:
        self._streams.add(context)
        return super().Watch(request, context, *send)

    def _look(self) -> None:
        try:
            self._door.engine.resolve()
            status = _Status.SERVING
        except SourcebookError:
            status = _Status.NOT_SERVING
        for name in self._names:
            self.set(name, status)


class Reflection(reflection.ReflectionServicer):  # type: ignore[misc]
    """A bounded number at a time."""

    def __init__(self, names: Sequence[str], streams: Streams) -> None:
        super().__init__(names)
        self._streams, self._places = streams, threading.Semaphore(MOST_STREAMS)

    def ServerReflectionInfo(self, requests: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        if not self._places.acquire(blocking=False):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many ask for the schema")
        try:
            self._streams.add(context)
            yield from super().ServerReflectionInfo(requests, context)
        finally:
            self._places.release()


def add_aside(server: grpc.Server, door: Door, service: str, streams: Streams) -> StoreHealth:
    names = (service, health.SERVICE_NAME, reflection.SERVICE_NAME)
    watched = StoreHealth(door, ("", service), streams)
    health_pb2_grpc.add_HealthServicer_to_server(watched, server)
    described = Reflection(names, streams)
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(described, server)
    return watched
