"""`context`: a question in, numbered sources for a reader with a token budget out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from sourcebook.serve.options import Filters, Json, Read, chosen, filters, read_context
from sourcebook.serve.render import count, error_console, note, read_context_line
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from rich.console import Console

    from sourcebook.contexts import Context


def context(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", show_default=False)],
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Of the whole text; 4000 unless configured.")
    ] = None,
    max_sources: Annotated[
        int | None, typer.Option(metavar="N", help="Of all kinds; 8 unless configured.")
    ] = None,
    hops: Annotated[
        int | None, typer.Option(metavar="N", help="Links to follow from a hit, 0 to 3.")
    ] = None,
    neighbours: Annotated[
        int | None, typer.Option(metavar="N", help="Passages before and after a hit, 0 to 10.")
    ] = None,
    filter: Filters = None,
    read: Read = "head",
    as_json: Json = False,
) -> Reply:
    """Put together what a reader needs to answer a question."""
    wanted, at = filters(filter), read_context(read)
    with chosen(ctx).open() as engine:
        made = engine.context(
            " ".join(query),
            max_tokens,
            max_sources,
            hops=hops,
            neighbours=neighbours,
            filters=wanted,
            read_context=at,
        )
    return Reply(made.to_dict(), partial(_show, made), as_json)


def _show(made: Context, out: Console) -> None:
    """The context alone on stdout, to be piped; what is to be said of it on stderr."""
    beside = error_console()
    read_context_line(beside, made.answer.read_context)
    for part in made.answer.degraded:
        note(beside, "degraded", f"{part.part}: {part.reason}")
    if made.status == "low_confidence":
        note(beside, "low confidence", made.warning or "the best passages match only loosely")
    elif made.warning:
        note(beside, "no results" if made.status == "no_results" else "warning", made.warning)
    if made.text:
        out.file.write(made.text + "\n")
    left = made.assembled.left_out
    beside.print(
        f"{made.tokens:,} of {count(made.wanted.max_tokens, 'token')}, "
        f"{count(len(made.sources), 'source')}"
        + (f", {left} left out for want of room" if left else "")
    )
