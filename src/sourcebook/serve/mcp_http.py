"""A door in; MCP over streamable HTTP out, as an ASGI app that any path can be given to.

A request is let in by its own key, before anything of it is read: a session that was begun with
one key cannot be gone on with by another one, and a key that was revoked ends at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection

from anyio import to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sourcebook import access
from sourcebook.errors import SourcebookError, Unauthorized
from sourcebook.serve.door import Door
from sourcebook.serve.failures import document, kind_of
from sourcebook.serve.mcp_server import Asked, make_server

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_LARGEST_REQUEST = 1_000_000
_MOST_SESSIONS = 1000
_IDLE_S = 1800
_NO_STREAM = Response(status_code=405, headers={"allow": "POST, DELETE"})
"""The server begins no conversation, and a stream that waits for one would hold up its end."""


def security_for(hosts: Collection[str] | None) -> TransportSecuritySettings:
    """With any port, or none."""
    if hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    pages = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for host in hosts for form in (host, f"{host}:*")],
        allowed_origins=[form for page in pages for form in (page, f"{page}:*")],
    )


class McpApp:
    """Starts with its first request, so it needs no help from the app that it stands in."""

    def __init__(self, door: Door, hosts: Collection[str] | None) -> None:
        self._door, self._security = door, security_for(hosts)
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None
        self._ready, self._stop = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        try:
            key_id = await to_thread.run_sync(self._let_in, key_in(Headers(scope=scope)))
        except SourcebookError as error:
            await _refuse(error)(scope, receive, send)
            return
        if scope["method"] == "GET":
            await _NO_STREAM(scope, receive, send)
            return
        manager = await self._started()
        await manager.handle_request(_as_user(scope, key_id), receive, send)

    def _let_in(self, key: str | None) -> str | None:
        """The id of the key; the key itself is looked at again for each call."""
        if key is None:
            if self._door.keys:
                raise Unauthorized
            return None
        return access.authenticate(self._door.engine.store, key).key_id

    async def _started(self) -> StreamableHTTPSessionManager:
        if self._manager is None or self._running is None or self._running.done():
            self._manager, self._ready = self._made(), asyncio.Event()
            self._running = asyncio.create_task(self._run(self._manager, self._ready))
        await self._ready.wait()
        return self._manager

    def _made(self) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(
            make_server(self._door, _key_of),
            security_settings=self._security,
            max_request_body_size=_LARGEST_REQUEST,
            session_idle_timeout=_IDLE_S,
            max_sessions=_MOST_SESSIONS,
        )

    async def _run(self, manager: StreamableHTTPSessionManager, ready: asyncio.Event) -> None:
        async with manager.run():
            ready.set()
            await self._stop.wait()

    async def aclose(self) -> None:
        """End all sessions."""
        self._stop.set()
        if self._running is not None:
            await self._running


def key_in(headers: Headers) -> str | None:
    """Of `Authorization: Bearer KEY`; what is there but not of that form is a wrong key."""
    given = headers.getlist("authorization")
    if not given:
        return None
    scheme, _, key = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer":
        return ""
    return key.strip()


def _key_of(asked: Asked) -> str | None:
    """A call without its request cannot be told whose it is."""
    if asked.request is None:
        raise Unauthorized
    return key_in(asked.request.headers)


def _as_user(scope: Scope, key_id: str | None) -> Scope:
    """Sessions belong to who began them, which the SDK reads from here."""
    if key_id is None:
        return scope
    return {**scope, "user": AuthenticatedUser(AccessToken(token="", client_id=key_id, scopes=[]))}


def _refuse(error: SourcebookError) -> Response:
    status = kind_of(error).http
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    body = json.dumps(document(error))
    return Response(body, status_code=status, media_type="application/json", headers=headers)
