"""`model`: which models there are, and putting them in place."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from sourcebook.errors import ModelUnavailable
from sourcebook.serve.options import Json, chosen
from sourcebook.serve.render import one_line, table
from sourcebook.serve.reply import Reply

model = typer.Typer(no_args_is_help=True, help="Install and list embedding models.")


@model.command("install")
def install(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", show_default=False, help="Default: what the configuration needs."
        ),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="Take the files from a folder.")
    ] = None,
    as_json: Json = False,
) -> Reply:
    """Put a model into the user's cache; at once if it is there and sound."""
    from sourcebook.models.install import install as put

    names = [name] if name else _needed(ctx)
    done = []
    for each in names:
        folder = put(each, source_dir=source, progress=_say)
        done.append({"name": each, "path": str(folder)})
    return Reply({"installed": done}, partial(_show_installed, done), as_json)


@model.command("list")
def list_models(ctx: typer.Context, as_json: Json = False) -> Reply:
    """List the models that Sourcebook knows, and which of them are installed."""
    from sourcebook.models.manifest import MODELS

    needed = _needed(ctx)
    found = [_describe(entry, needed) for entry in MODELS.values()]
    return Reply({"models": found}, partial(_show_models, found), as_json)


def _needed(ctx: typer.Context) -> list[str]:
    """What the configuration needs on this machine."""
    from sourcebook.bootstrap import needed_models

    return needed_models(chosen(ctx).settings())


def _describe(entry: Any, needed: list[str]) -> dict[str, Any]:
    from sourcebook.models.install import locate

    try:
        path = str(locate(entry.name))
    except ModelUnavailable:
        path = None
    return {
        "name": entry.name,
        "kind": entry.kind,
        "dimensions": entry.dimensions,
        "licence": entry.licence,
        "size": sum(file.size for file in entry.files),
        "used": entry.name in needed,
        "installed": path is not None,
        "path": path,
    }


def _say(line: str) -> None:
    """Progress is for those who watch."""
    if sys.stderr.isatty():
        sys.stderr.write(one_line(line) + "\n")


def _show_installed(done: list[dict[str, str]], out: Console) -> None:
    for item in done:
        out.print(one_line(f"{item['name']} is installed in {item['path']}"), soft_wrap=True)


def _show_models(found: list[dict[str, Any]], out: Console) -> None:
    rows = [
        (m["name"], m["dimensions"], f"{m['size'] / 1e6:.0f} MB", m["licence"], _state(m))
        for m in found
    ]
    table(out, ("model", "dimensions", "size", "licence", "state"), rows, whole=("model", "size"))


def _state(item: dict[str, Any]) -> str | None:
    if item["installed"]:
        return "installed, in use" if item["used"] else "installed"
    return "needed; run `sourcebook model install`" if item["used"] else None
