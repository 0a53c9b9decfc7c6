"""`doctor`: checks of the installation, with advice."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.serve.options import Json, chosen
from sourcebook.serve.render import count, table
from sourcebook.serve.reply import Reply

_MARKS = {"ok": "ok", "warning": "look", "failed": "FAILED", "skipped": "skipped"}


def doctor(
    ctx: typer.Context,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no embedding service; check what is here.")
    ] = False,
    host: Annotated[
        str, typer.Option(metavar="H", help="Where a server is to listen.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=1, max=65_535, help="Of HTTP: is it free?")
    ] = 8080,
    grpc_port: Annotated[
        int, typer.Option(metavar="N", min=1, max=65_535, help="Of gRPC: is it free?")
    ] = 50_051,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Read the whole store and compare all with checksums."),
    ] = False,
    as_json: Json = False,
) -> Reply:
    """Check the installation, the machine, the store and the embedding model; status 1 if a check
    fails."""
    from sourcebook.checkup import checkup

    asked = chosen(ctx)
    ports = {"--port": port, "--grpc-port": grpc_port}
    found = checkup(asked.settings, asked.open, offline=offline, host=host, ports=ports, deep=deep)
    checks = [asdict(check) for check in found]
    healthy = not any(check["status"] == "failed" for check in checks)
    data = {"ok": healthy, "checks": checks}
    return Reply(data, partial(_show, checks), as_json, 0 if healthy else 1)


def _show(checks: list[dict[str, Any]], out: Console) -> None:
    rows = [(check["name"], _MARKS[check["status"]], check["found"]) for check in checks]
    table(out, ("check", "", "found"), rows, whole=("check", ""))
    wanted = [check for check in checks if check["advice"]]
    for check in wanted:
        out.print(Text(f"{check['name']}: {check['advice']}", style="yellow"), soft_wrap=True)
    failed = sum(check["status"] == "failed" for check in checks)
    out.print(Text(f"{count(failed, 'check')} failed" if failed else "nothing is broken"))
