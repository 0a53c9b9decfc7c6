"""`search`: a question in, ranked and cited hits out."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import typer

from sourcebook.serve import hits
from sourcebook.serve.options import Filters, Json, Read, chosen, filters, read_context
from sourcebook.serve.reply import Reply

Mode = Literal["hybrid", "dense", "sparse"]
Resolution = Literal["document", "section", "chunk"]
_RESOLUTIONS = {"document": 0, "section": 1, "chunk": 2}


def search(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", show_default=False)],
    k: Annotated[int, typer.Option("-k", metavar="N", help="How many hits, 1 to 1000.")] = 10,
    mode: Annotated[Mode, typer.Option(help="Which searches take part.")] = "hybrid",
    filter: Filters = None,
    read: Read = "head",
    per_document: Annotated[
        int | None, typer.Option(metavar="N", help="At most so many hits of one document.")
    ] = None,
    resolution: Annotated[Resolution, typer.Option(help="What a hit is.")] = "chunk",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every list's ranks, weights and timings.")
    ] = False,
    as_json: Json = False,
) -> Reply:
    """Find the passages that answer a question."""
    wanted = filters(filter)
    context = read_context(read)
    with chosen(ctx).open() as engine:
        answer = engine.search(
            " ".join(query),
            k,
            mode=mode,
            filters=wanted,
            read_context=context,
            per_document=per_document,
            resolution=_RESOLUTIONS[resolution],
        )
    return Reply(answer.to_dict(), partial(hits.show, answer, explain), as_json)
