"""`status`: what a repository holds, and whether its index is complete."""

from __future__ import annotations

from functools import partial
from typing import Any

import typer
from rich.console import Console

from sourcebook.serve.options import Json, chosen
from sourcebook.serve.render import fields, note
from sourcebook.serve.reply import Reply


def status(ctx: typer.Context, as_json: Json = False) -> Reply:
    """Show what the repository holds and what is still to be indexed."""
    with chosen(ctx).open() as engine:
        data = engine.status()
        where = (engine.settings.store, engine.settings.repository)
    return Reply(data, partial(_show, data, where), as_json)


def _show(data: dict[str, Any], where: tuple[str, str], out: Console) -> None:
    holds = ", ".join(f"{name} {number:,}" for name, number in data["counts"].items() if number)
    index = data["index"]
    rows = [
        ("store", where[0]),
        ("repository", where[1]),
        ("revision", data["revision"] or "none yet; run `sourcebook ingest PATH`"),
        ("published", data["published"] or "nothing"),
        ("holds", holds or "nothing"),
        ("pending vectors", index["pending"]),
    ]
    spaces = [
        ("space", f"{s['id']} ({s['dimensions']} dimensions, {s['state']})") for s in data["spaces"]
    ]
    fields(out, [*rows, *spaces])
    if index["failed"]:
        note(out, "failed", f"{index['failed']} texts could not be embedded")
