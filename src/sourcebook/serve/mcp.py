"""A door in; the Model Context Protocol out: on stdio, or as an ASGI app for HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp import types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.routing import Mount

from sourcebook.serve.door import Door
from sourcebook.serve.mcp_http import LOOPBACK, McpApp
from sourcebook.serve.mcp_server import make_server


def mcp_app(door: Door, hosts: Collection[str] | None = LOOPBACK) -> Starlette:
    """Streamable HTTP on whatever path it is given. `hosts` are the names that it may be asked by,
    and whose pages may ask; None is for an app that stands behind one that looks at them."""
    app = McpApp(door, hosts)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await app.aclose()

    return Starlette(routes=[Mount("/", app)], lifespan=lifespan)


def serve_stdio(door: Door) -> None:
    """Until the client closes stdin. Whoever started the program owns the store."""

    async def main() -> None:
        server = make_server(door, lambda _: None)
        passed, understood = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            tasks.start_soon(_pass_on, incoming, passed, outgoing.send)
            await server.run(understood, outgoing, server.create_initialization_options())

    anyio.run(main)


async def _pass_on(
    incoming: AsyncIterable[SessionMessage | Exception],
    passed: MemoryObjectSendStream[SessionMessage | Exception],
    answer: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    """What cannot be read is answered here: the SDK would not say a word."""
    async with passed:
        async for item in incoming:
            if isinstance(item, Exception):
                await answer(SessionMessage(_unreadable(item)))
            else:
                await passed.send(item)


def _unreadable(error: Exception) -> types.JSONRPCError:
    known = error.errors() if isinstance(error, ValidationError) else []
    if any(each["type"] == "json_invalid" for each in known):
        told = types.ErrorData(code=types.PARSE_ERROR, message="this is not JSON")
    else:
        told = types.ErrorData(code=types.INVALID_REQUEST, message="this is no message of JSON-RPC")
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=told)
