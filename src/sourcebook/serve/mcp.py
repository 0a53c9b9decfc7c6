"""A door in; the Model Context Protocol out: on stdio, or as an ASGI app for HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import anyio
from mcp.server.stdio import stdio_server
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
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(main)
