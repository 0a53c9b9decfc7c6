"""`retain`: drops old revisions that nobody named, and gives their room back."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput, StoreError
from sourcebook.serve.options import MOST, Json, chosen
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from sourcebook import Sourcebook
    from sourcebook.model import Retained

_WARNING = "This cannot be undone."


def retain(
    ctx: typer.Context,
    keep_days: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=MOST, help="Keep what was head in the last N days."),
    ] = None,
    keep_revisions: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=MOST, help="Keep the last N revisions.")
    ] = None,
    before: Annotated[
        str | None, typer.Option(metavar="TIME", help="Keep what was head at TIME and later.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be dropped.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    no_vacuum: Annotated[
        bool, typer.Option("--no-vacuum", help="Leave the file as large as it is.")
    ] = False,
    vacuum_only: Annotated[
        bool, typer.Option("--vacuum-only", help="Drop nothing, only make the file smaller.")
    ] = False,
    as_json: Json = False,
) -> Reply:
    """Drop old revisions, but never head nor one that a baseline names."""
    bounds: dict[str, Any] = {
        "keep_days": keep_days,
        "keep_revisions": keep_revisions,
        "before": before,
    }
    given = any(bound is not None for bound in bounds.values())
    if vacuum_only and (given or dry_run or no_vacuum):
        raise InvalidInput("--vacuum-only drops nothing, so it stands alone")
    with chosen(ctx).open() as engine:
        if vacuum_only:
            engine.vacuum()
            data: dict[str, Any] = {"vacuumed": True, "warning": None}
            return Reply(data, partial(_say, "the file holds only what is kept"), as_json)
        if not (dry_run or yes):
            _ask(engine, bounds)
        dropped = engine.retain(**bounds, dry_run=dry_run)
        warning = None if dry_run or no_vacuum else _vacuum(engine)
    vacuumed = not (dry_run or no_vacuum or warning)
    data = {
        "dry_run": dry_run,
        "revisions": {"dropped": list(dropped.revisions), "kept": dropped.kept},
        "rows": dict(dropped.rows),
        "vacuumed": vacuumed,
        "warning": warning,
    }
    line = _told(dropped, "would drop" if dry_run else "dropped")
    return Reply(data, partial(_say, f"{line}; {warning}" if warning else line), as_json)


def _ask(engine: Sourcebook, bounds: dict[str, Any]) -> None:
    """What is dropped does not come back, so somebody must have said yes."""
    planned = engine.retain(**bounds, dry_run=True)
    if not planned.revisions:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput(
            "what is dropped does not come back: add --yes, or --dry-run to see what would go"
        )
    if not typer.confirm(f"{_told(planned, 'this drops')}. {_WARNING} Go on?", err=True):
        raise InvalidInput("nothing was dropped")


def _vacuum(engine: Sourcebook) -> str | None:
    """Why the file could not be made smaller, if it could not: the rest is done all the same."""
    try:
        engine.vacuum()
    except StoreError as error:
        return f"its room was not given back ({error}); try `sourcebook retain --vacuum-only` later"
    return None


def _told(dropped: Retained, verb: str) -> str:
    rows = dropped.rows
    return (
        f"{verb} {len(dropped.revisions)} revisions with {rows['nodes']} nodes, "
        f"{rows['passages']} passages and {rows['vectors']} vectors; {dropped.kept} are kept"
    )


def _say(line: str, out: Console) -> None:
    out.print(Text(line), soft_wrap=True)
