"""An ASGI application in, the same behind a shield out: who may ask by which name, how much may be
sent, what every response says, and one line about it in the log.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sourcebook.errors import Forbidden
from sourcebook.serve import access_log
from sourcebook.serve.asking import key_id
from sourcebook.serve.failures import TooLarge
from sourcebook.serve.metrics import Metrics
from sourcebook.serve.rest import GONE, failed

_REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::\d*)?")
_ALWAYS: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
"""Unless the application says something else."""


@dataclass(frozen=True, slots=True)
class Shield:
    app: ASGIApp
    metrics: Metrics
    max_body: int
    hosts: frozenset[str] | None
    """Names that it may be asked by; None: any. A page that a browser took from elsewhere can let
    its own name point here, but not change the name that it asks by."""
    logs: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        watched = _Watched(scope, send, _request_id(headers))
        self.metrics.opened()
        try:
            await self._guarded(scope, receive, watched, headers)
        except Exception as error:  # noqa: BLE001  the edge of the program
            await _refuse(scope, receive, watched, error)
        finally:
            route = _route(scope)
            status = watched.status or GONE
            self.metrics.closed(_method(scope), route, status)
            if self.logs:
                watched.log(scope, headers, route, status)

    async def _guarded(
        self, scope: Scope, receive: Receive, watched: _Watched, headers: Headers
    ) -> None:
        self._check_names(headers)
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self.max_body:
            raise _too_large(self.max_body)
        await self.app(scope, _bounded(receive, self.max_body), watched.send)

    def _check_names(self, headers: Headers) -> None:
        host = _name(headers.get("host", ""))
        if self.hosts is not None and host not in self.hosts:
            raise Forbidden(
                "this Sourcebook is not asked by that name; the setting serve.allowed_hosts "
                "adds names"
            )
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != headers.get("host", "").lower():
            raise Forbidden("pages from elsewhere may not ask here")


class _Watched:
    """What is sent, with the headers that every response has."""

    def __init__(self, scope: Scope, send: Send, request_id: str) -> None:
        self.status: int | None = None
        self._send, self._id, self._bytes = send, request_id, 0
        self._started = time.perf_counter()
        access_log.note(scope, request_id=request_id)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _ALWAYS.items():
                headers.setdefault(name, value)
            headers["x-request-id"] = self._id
        elif message["type"] == "http.response.body":
            self._bytes += len(message.get("body", b""))
        await self._send(message)

    def log(self, scope: Scope, headers: Headers, route: str, status: int) -> None:
        client = scope.get("client")
        told: dict[str, Any] = {
            **access_log.noted(scope),
            "method": _method(scope),
            "route": route,
            "status": status,
            "ms": round((time.perf_counter() - self._started) * 1e3, 1),
            "bytes": self._bytes,
            "client": client[0] if client else None,
            "key_id": key_id(headers),
        }
        access_log.line("request", told)


async def _refuse(scope: Scope, receive: Receive, watched: _Watched, error: Exception) -> None:
    answer = failed(Request(scope), error)
    if watched.status is None:
        await answer(scope, receive, watched.send)


def _bounded(receive: Receive, most: int) -> Callable[[], Awaitable[Message]]:
    """What is read of a body, until it is too much."""
    read = 0

    async def bounded() -> Message:
        nonlocal read
        message = await receive()
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > most:
                raise _too_large(most)
        return message

    return bounded


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"the request is larger than {most:,} bytes; send less at a time")


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _name(host: str) -> str:
    found = _HOST.fullmatch(host)
    return found[1].strip("[]").lower() if found else ""


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _method(scope: Scope) -> str:
    """Anybody may invent methods; the log and the metrics do not follow."""
    known = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    return scope["method"] if scope["method"] in known else "OTHER"


def _route(scope: Scope) -> str:
    """The address as the table has it: what stands in the place of an id is nobody's business."""
    if scope["path"] == "/mcp" or scope["path"].startswith("/mcp/"):
        return "/mcp"
    path = getattr(scope.get("route"), "path", "-")
    return str(path).replace("{id:path}", "{id}")
