"""The official client at a real server: a program on stdio, or uvicorn on a free port."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
import uvicorn
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from sourcebook.serve.door import Door
from sourcebook.serve.mcp import mcp_app

T = TypeVar("T")
Connect = Callable[[], AbstractAsyncContextManager[Client]]
CURRENT, PREVIOUS = "auto", "legacy"
"""Ways to begin: those of the current and of the previous revision of the protocol."""
REVISION = {CURRENT: "2026-07-28", PREVIOUS: "2025-11-25"}


def on_stdio(store: Path, mode: str = CURRENT) -> Client:
    args = ["-m", "sourcebook", "--store", f"sqlite:///{store}", "mcp"]
    wanted = ("SOURCEBOOK_MODELS", "OPENBLAS_NUM_THREADS", "XDG_CACHE_HOME", "HOME")
    env = {name: os.environ[name] for name in wanted if name in os.environ}
    program = StdioServerParameters(command=sys.executable, args=args, env=env, cwd=store.parent)
    return Client(stdio_client(program), mode=mode)


def on_http(url: str, key: str | None = None, mode: str = CURRENT) -> Client:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    web = httpx2.AsyncClient(headers=headers, timeout=30)
    return Client(streamable_http_client(url, http_client=web), mode=mode)


@contextmanager
def serving(door: Door) -> Iterator[str]:
    """The address of a server that ends with the block."""
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:  # or each answer waits for 40 ms
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(mcp_app(door), log_level="warning", timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()


def ask(client: Client, work: Callable[[Client], Awaitable[T]]) -> T:
    """What the work gives, with the client connected meanwhile."""

    async def main() -> T:
        with anyio.fail_after(120):
            async with client as connected:
                return await work(connected)

    return anyio.run(main)


def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The result of one call."""

    async def work(connected: Client) -> Any:
        return await connected.call_tool(tool, arguments)

    return ask(client, work)
