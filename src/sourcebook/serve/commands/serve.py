"""`serve`: HTTP, MCP and gRPC, until it is stopped."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Annotated

import typer
from rich.text import Text

from sourcebook.serve.options import Json, chosen
from sourcebook.serve.render import console
from sourcebook.serve.reply import write_json

_NAMES = {"http": "HTTP", "mcp": "MCP", "grpc": "gRPC"}
_ARENA_MAX, _ARENAS = -8, 2
"""M_ARENA_MAX of glibc, and how many arenas all threads share."""


def serve(
    ctx: typer.Context,
    host: Annotated[
        str, typer.Option(metavar="H", help="Others than this machine need keys.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65_535, help="Of HTTP; 0: any that is free.")
    ] = 8080,
    grpc_port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65_535, help="Of gRPC; 0: any that is free.")
    ] = 50_051,
    no_grpc: Annotated[bool, typer.Option("--no-grpc", help="HTTP and MCP alone.")] = False,
    as_json: Json = False,
) -> None:
    """Answer over HTTP, MCP and gRPC until stopped."""
    from sourcebook.serve.ready import Readiness

    def announce(addresses: dict[str, str | None]) -> None:
        if as_json:
            write_json(addresses)
        else:
            for name, where in addresses.items():
                if where:
                    console().print(Text(f"{_NAMES[name]:4} {where}"), soft_wrap=True)
        sys.stdout.flush()

    _share_memory()
    with chosen(ctx).open() as engine, Readiness(engine).loading() as ready:
        from sourcebook.serve.server import Listen, serve  # while it loads

        serve(engine, ready, Listen(host, port, None if no_grpc else grpc_port), announce)


def _share_memory() -> None:
    """Else glibc keeps what each thread has freed for that thread alone, and dozens of them hold as
    much again as the index. Who sets MALLOC_ARENA_MAX knows better."""
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_ARENA_MAX, _ARENAS)
