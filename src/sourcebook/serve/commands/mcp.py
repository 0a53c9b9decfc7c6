"""`mcp`: the Model Context Protocol on stdin and stdout, for an agent's client that starts it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from sourcebook.serve.options import chosen
from sourcebook.serve.reply import Reply

Listed = Annotated[bool, typer.Option("--json", help="Print the tools as JSON, and end.")]


def mcp(ctx: typer.Context, as_json: Listed = False) -> Reply | None:
    """Serve MCP on stdin and stdout until the client closes them; logs go to stderr."""
    from sourcebook.serve.mcp_catalog import LISTED

    if as_json:
        tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in LISTED]
        return Reply({"tools": tools}, _show, as_json=True)
    from sourcebook.serve.door import Door
    from sourcebook.serve.mcp import serve_stdio

    if sys.stdin.isatty():
        typer.echo("an MCP client is expected on stdin; docs/agents.md tells how", err=True)
    with chosen(ctx).open() as engine:
        serve_stdio(Door(engine, keys=False))
    return None


def _show(_: Console) -> None:
    """Only as JSON."""
