"""A gRPC server in, one out that says on which port it listens and that ends well: nothing new is
taken on, what was accepted is answered, and who only watches is not waited for.

The library's own stop drops calls that it has received and not yet handed over, and tells their
clients that they were cancelled. So calls are first refused here, in words, until none come.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import grpc

from sourcebook.serve.failures import Stopping
from sourcebook.serve.grpc_aside import StoreHealth, Streams

_QUIET_S = 0.2
"""So long no call has come: none is on its way."""
_SETTLES_S = 3.0
"""Some clients ask again and again."""


class Calls:
    """Those under way; once it is closed there are no new ones."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way, self._closed, self._last = 0, False, 0.0

    def begin(self, context: grpc.ServicerContext) -> None:
        with self._changed:
            self._last = time.monotonic()
            if self._closed:
                raise Stopping
            self._under_way += 1
        if not context.add_callback(self._end):
            self._end()

    def _end(self) -> None:
        with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Wait until all have ended and no more come, but no longer than this."""
        end = time.monotonic() + seconds
        with self._changed:
            self._closed, self._last = True, time.monotonic()
            self._changed.wait_for(lambda: self._under_way == 0, seconds)
        settled = min(end, time.monotonic() + _SETTLES_S)
        while (now := time.monotonic()) < min(settled, self._last + _QUIET_S):
            time.sleep(min(settled, self._last + _QUIET_S) - now)


class Listening(grpc.Server):  # type: ignore[misc]
    def __init__(
        self,
        server: grpc.Server,
        port: int,
        calls: Calls,
        health: StoreHealth,
        streams: Streams,
    ) -> None:
        self._server, self.port, self._calls = server, port, calls
        self._health, self._streams = health, streams

    def stop(self, grace: float | None) -> threading.Event:
        """At most `grace` seconds are left to what was accepted. The event is set when all is
        done; a second stop may be shorter than the first."""
        self._health.enter_graceful_shutdown()
        self._streams.end()
        done = threading.Event()
        threading.Thread(target=self._stop, args=(grace or 0.0, done), name="stop").start()
        return done

    def _stop(self, grace: float, done: threading.Event) -> None:
        end = time.monotonic() + grace
        self._calls.close(grace)
        self._streams.end()
        self._server.stop(max(0.0, end - time.monotonic())).wait()
        done.set()

    def start(self) -> None:
        self._server.start()

    def wait_for_termination(self, timeout: float | None = None) -> bool:
        return bool(self._server.wait_for_termination(timeout))

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        self._server.add_generic_rpc_handlers(handlers)

    def add_insecure_port(self, address: str) -> int:
        return int(self._server.add_insecure_port(address))

    def add_secure_port(self, address: str, credentials: Any) -> int:
        return int(self._server.add_secure_port(address, credentials))
