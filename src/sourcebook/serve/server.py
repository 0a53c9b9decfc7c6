"""An engine and where to listen in; HTTP, MCP and gRPC until a signal ends them.

On SIGTERM nothing new is accepted, what was accepted is answered, and then gRPC and the store are
closed.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import ipaddress
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from sourcebook.engine import Engine
from sourcebook.errors import InvalidInput
from sourcebook.serve import access_log
from sourcebook.serve.door import Bounds, Door
from sourcebook.serve.failures import CannotListen
from sourcebook.serve.metrics import Metrics
from sourcebook.serve.ready import Readiness
from sourcebook.serve.rest import Rest
from sourcebook.serve.shield import Shield

_DRAIN_S = 0.2
"""Who has connected when the signal comes is still taken, and what stands in sockets is read."""
_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER, which the module `socket` does not name."""
_TO_STOP_S = 2.0
"""In which what is told to stop does."""
_SMALLEST_GZIP = 1024
_SPARE_THREADS = 8
"""So that who finds too many waiting is told so at once."""


@dataclass(frozen=True, slots=True)
class Listen:
    host: str = "127.0.0.1"
    port: int = 8080
    """0: any that is free."""
    grpc_port: int | None = 50051
    """None: no gRPC."""


Announce = Callable[[dict[str, str | None]], None]
"""Told the addresses once requests are accepted."""


def serve(engine: Engine, ready: Readiness, listen: Listen, announce: Announce) -> None:
    """Until SIGINT or SIGTERM; the caller loads the engine and closes it."""
    settings = engine.settings.serve
    door = make_door(engine, listen.host)
    metrics = Metrics(door.turns)
    door.watch = metrics.watch
    access_log.configure()
    threads = settings.running + settings.waiting + _SPARE_THREADS
    with bound(listen.host, listen.port) as sock, ThreadPoolExecutor(threads, "http") as pool:
        rest = Rest(door, settings, metrics, ready, pool)
        app = whole_app(rest, allowed_hosts(listen.host, settings.allowed_hosts))
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(settings.shutdown_s) + 1,
        )
        grpc = _start_grpc(door, listen)
        where = _addresses(listen, sock.getsockname()[1], grpc.port if grpc else None)

        def stop_grpc() -> threading.Event | None:
            return grpc.stop(settings.shutdown_s) if grpc else None

        ending = Ending(door, settings.shutdown_s, stop_grpc)
        try:
            Server(config, partial(announce, where), ending.begin).run([sock])
        finally:
            if (ended := stop_grpc()) is not None:
                ended.wait()
            door.turns.close()
            pool.shutdown()
            ending.done()


class Ending:
    """What happens from the signal on: what was accepted is answered, what takes too long is told
    to stop, and at last the process ends whatever still runs. A commit is whole or not there even
    then."""

    def __init__(self, door: Door, seconds: float, stop_grpc: Callable[[], object]) -> None:
        self._stop_grpc = stop_grpc
        stop_s = max(seconds - _TO_STOP_S, seconds * 0.75)
        self._timers = [
            threading.Timer(stop_s, door.turns.close),
            threading.Timer(seconds + 1, _cut_off),
        ]

    def begin(self) -> None:
        self._stop_grpc()
        for timer in self._timers:
            timer.daemon = True
            timer.start()

    def done(self) -> None:
        for timer in self._timers:
            timer.cancel()


def _cut_off() -> None:
    access_log.line("stopped", {"reason": "requests still ran when shutdown_s was over"})
    os._exit(1)


def _start_grpc(door: Door, listen: Listen) -> Any:
    if listen.grpc_port is None:
        return None
    from sourcebook.serve.grpc_server import start_grpc

    return start_grpc(door, address("", listen.host, listen.grpc_port))


def _addresses(listen: Listen, port: int, grpc_port: int | None) -> dict[str, str | None]:
    http = address("http://", listen.host, port)
    return {
        "http": http,
        "mcp": f"{http}/mcp",
        "grpc": address("", listen.host, grpc_port) if grpc_port is not None else None,
    }


def make_door(engine: Engine, host: str) -> Door:
    """With keys as soon as the store holds any, or the settings ask for them. Where others than
    this machine can ask there must be one."""
    ours = engine.settings.serve
    there = bool(engine.store.keys(None))
    if not there and not is_loopback(host):
        raise InvalidInput(
            f"{host} can be reached from other machines, and there is no key yet; make one with "
            "`sourcebook keys create NAME`, or listen on 127.0.0.1",
            field="host",
        )
    bounds = Bounds(
        ours.running,
        ours.waiting,
        ours.per_key_per_minute,
        ours.per_tenant_share,
        ours.per_key_share,
        ours.ingests,
        ours.timeout_s,
    )
    return Door(engine, keys=there or ours.require_keys or None, bounds=bounds)


def whole_app(rest: Rest, hosts: frozenset[str] | None) -> Shield:
    """REST and MCP behind one shield, which knows by what names they may be asked."""
    mcp = _Mcp(rest.door)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async with mcp.ends:
            yield

    routed = _Switch(rest.app(lifespan=lifespan), mcp)
    packed = GZipMiddleware(routed, minimum_size=_SMALLEST_GZIP, compresslevel=5)
    return Shield(packed, rest.metrics, rest.settings.max_body_bytes, hosts)


@dataclass(frozen=True, slots=True)
class _Switch:
    rest: ASGIApp
    mcp: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        app = self.mcp if path == "/mcp" or path.startswith("/mcp/") else self.rest
        await app(scope, receive, send)


class _Mcp:
    """MCP, made when somebody first asks for it: its SDK takes a second to import, in which the
    interpreter gets on with nothing else, be it loading, answering or ending."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._making: asyncio.Task[Starlette] | None = None
        self.ends = AsyncExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = await self._made()
        await app(scope, receive, send)

    async def _made(self) -> Starlette:
        """Whoever asks first and leaves ends it for nobody else."""
        if self._making is None:
            self._making = asyncio.create_task(self._make())
        return await asyncio.shield(self._making)

    async def _make(self) -> Starlette:
        app = await asyncio.to_thread(_mcp_app, self._door)
        await self.ends.enter_async_context(app.router.lifespan_context(app))
        return app


def _mcp_app(door: Door) -> Starlette:
    from sourcebook.serve.mcp import mcp_app

    return mcp_app(door, None)


class Server(uvicorn.Server):
    """One that ends with a status of its own choice, and only when all was answered."""

    def __init__(
        self, config: uvicorn.Config, started: Callable[[], None], ending: Callable[[], object]
    ) -> None:
        super().__init__(config)
        self._started, self._ending = started, ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for sock in sockets or ():
            begin_no_more(sock)
        self._ending()
        await asyncio.sleep(_DRAIN_S)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn would raise the signal again at the end, and the store would not be closed."""
        wanted = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self.handle_exit) for each in wanted}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


# --- where to listen -----------------------------------------------------------------------------


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InvalidInput(f"{host!r} is no address of this machine", field="host") from None
    family, kind, protocol, _, where = found[0]
    with socket.socket(family, kind, protocol) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(where)
        except OSError as error:
            raise CannotListen(_why(error, host, port)) from None
        sock.set_inheritable(True)
        yield sock


def begin_no_more(sock: socket.socket) -> None:
    """No connection is begun any more, but those that the kernel holds ready can still be taken:
    if the socket were closed, they would be reset, with what was asked over them. Only Linux can
    do that; it drops a TCP segment (of which byte 13 holds the flags) that has SYN set."""
    if sys.platform != "linux":
        return
    load, jump_if_set, give = 0x30, 0x45, 0x06
    steps = [(load, 0, 0, 13), (jump_if_set, 0, 1, 0x02), (give, 0, 0, 0), (give, 0, 0, 0xFFFFFFFF)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    whole = struct.pack("HP", len(steps), ctypes.addressof(program))
    sock.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, whole)


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is taken; choose another one with --port"
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights; choose one above 1023 with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine; choose another one with --host"
    return f"cannot listen on {host}, port {port}: {error.strerror}"


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str, more: tuple[str, ...]) -> frozenset[str] | None:
    """The names that a server may be asked by: those of this machine where only it can ask, and
    else those of the settings, or any."""
    named = {each.lower() for each in more}
    if is_loopback(host):
        return frozenset({"localhost", "127.0.0.1", "::1", host.lower(), *named})
    return frozenset(named) or None


def address(scheme: str, host: str, port: int) -> str:
    return f"{scheme}[{host}]:{port}" if ":" in host else f"{scheme}{host}:{port}"
