"""`reindex`: vectors of another model, built beside those in use, or another try at what failed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput
from sourcebook.serve.options import Json, chosen
from sourcebook.serve.progress import bars
from sourcebook.serve.render import count, one_line
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from sourcebook.spaces import Reindexed


def reindex(
    ctx: typer.Context,
    space: Annotated[
        str | None,
        typer.Option(
            metavar="S", help="PROVIDER/MODEL, or a space of `status`; else the model set."
        ),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="First forget what failed, so that it is tried again.")
    ] = False,
    accept_failed: Annotated[
        bool,
        typer.Option("--accept-failed", help="Switch although some texts could not be embedded."),
    ] = False,
    drop_old: Annotated[
        bool, typer.Option("--drop-old", help="Drop the space that was in use, after the switch.")
    ] = False,
    drop: Annotated[
        str | None,
        typer.Option(metavar="SPACE", help="Only drop this space, which is not in use."),
    ] = None,
    as_json: Json = False,
) -> Reply:
    """Build the vectors of a model beside those in use, and switch when they are complete."""
    if drop is not None and (space or failed or accept_failed or drop_old):
        raise InvalidInput("--drop stands alone; it builds nothing", field="drop")
    with chosen(ctx).open() as engine, bars() as shown:
        if drop is not None:
            held = engine.drop_space(drop)
            line = f"dropped {drop} with {count(held, 'vector')}"
            return Reply({"dropped": drop, "vectors": held}, partial(_say, line), as_json)
        retried = engine.retry_failed() if failed else 0
        made = engine.reindex(
            space,
            drop_old=drop_old,
            accept_failed=accept_failed,
            progress=partial(shown.step, "embedding") if shown else None,
        )
        pending = engine.status()["index"]["pending"]
    data: dict[str, Any] = {
        "space": made.space,
        "embedded": made.embedded,
        "failed": made.failed,
        "retried": retried,
        "switched": made.switched,
        "dropped": made.dropped,
        "pending": pending,
    }
    good = made.in_use and not (made.failed and not accept_failed) and not pending
    return Reply(data, partial(_say, _told(made)), as_json, 0 if good else 1)


def _told(made: Reindexed) -> str:
    line = f"{made.space}: embedded {count(made.embedded, 'text')}"
    if made.failed:
        line += f", {made.failed:,} failed (`sourcebook status` shows why, --failed tries again)"
    if made.switched:
        line += "; searches use it from now on"
        line += f", {made.dropped} was dropped" if made.dropped else ""
    elif made.in_use:
        line += "; it is in use"
    else:
        line += "; the space before it stays in use until this one is complete"
    return line


def _say(line: str, out: Console) -> None:
    out.print(Text(one_line(line)))
