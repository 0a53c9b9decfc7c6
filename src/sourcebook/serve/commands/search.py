"""`search`, `agent` and `similar`: a question or a passage in, ranked and cited hits out."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

import typer

from sourcebook.serve import hits
from sourcebook.serve.options import Filters, Json, NodeId, Read, chosen, filters, read_context
from sourcebook.serve.reply import Reply

Mode = Literal["hybrid", "dense", "sparse"]
Fusion = Literal["rrf", "weighted"]
Rerank = Literal["none", "local", "late", "llm"]
Resolution = Literal["document", "section", "chunk"]
_RESOLUTIONS = {"document": 0, "section": 1, "chunk": 2}

Query = Annotated[list[str], typer.Argument(metavar="QUERY", show_default=False)]
K = Annotated[int, typer.Option("-k", metavar="N", help="How many hits, 1 to 1000.")]
Reranking = Annotated[
    Rerank | None,
    typer.Option(help="What orders the candidates.", show_default="local, unless configured"),
]
MinRelevance = Annotated[
    float, typer.Option(metavar="X", help="Leave out what is less relevant, 0 to 1.")
]
PerDocument = Annotated[
    int | None, typer.Option(metavar="N", help="At most so many hits of one document.")
]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Show what each stage says, what was refused, and timings."),
]


def search(
    ctx: typer.Context,
    query: Query,
    k: K = 10,
    mode: Annotated[Mode, typer.Option(help="Which searches take part.")] = "hybrid",
    fusion: Annotated[Fusion, typer.Option(help="How their lists become one.")] = "rrf",
    rerank: Reranking = None,
    filter: Filters = None,
    min_relevance: MinRelevance = 0.0,
    read: Read = "head",
    per_document: PerDocument = None,
    resolution: Annotated[Resolution, typer.Option(help="What a hit is.")] = "chunk",
    explain: Explain = False,
    as_json: Json = False,
) -> Reply:
    """Find the passages that answer a question."""
    options: dict[str, Any] = {
        "mode": mode,
        "fusion": fusion,
        "filters": filters(filter),
        "min_relevance": min_relevance,
        "read_context": read_context(read),
        "per_document": per_document,
        "resolution": _RESOLUTIONS[resolution],
        **({"rerank": rerank} if rerank else {}),
    }
    with chosen(ctx).open() as engine:
        answer = engine.search(" ".join(query), k, **options)
        depth = max(k, engine.settings.search.depth)
    view = hits.View(explain, depth=depth, deeper=per_document is not None)
    return Reply(answer.to_dict(), partial(hits.show, answer, view), as_json)


def agent(
    ctx: typer.Context,
    query: Query,
    k: K = 10,
    min_quality: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Least quality, 0 to 1.", show_default="0.4, unless configured"
        ),
    ] = None,
    min_words: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Least words, with what stands around.",
            show_default="30, unless configured",
        ),
    ] = None,
    exclude_stub: Annotated[
        list[str] | None,
        typer.Option(
            metavar="T",
            help="A stub type to refuse; may be given again.",
            show_default="breadcrumb, unless configured",
        ),
    ] = None,
    rerank: Reranking = None,
    filter: Filters = None,
    min_relevance: MinRelevance = 0.0,
    per_document: PerDocument = None,
    read: Read = "head",
    explain: Explain = False,
    as_json: Json = False,
) -> Reply:
    """Find passages that are good enough for an agent, and say why others are not."""
    gate: dict[str, Any] = {
        "min_quality": min_quality,
        "min_words": min_words,
        "exclude_stubs": tuple(exclude_stub) if exclude_stub else None,
    }
    options: dict[str, Any] = {
        "filters": filters(filter),
        "min_relevance": min_relevance,
        "read_context": read_context(read),
        "per_document": per_document,
        **({"rerank": rerank} if rerank else {}),
    }
    with chosen(ctx).open() as engine:
        answer = engine.agent(" ".join(query), k, **gate, **options)
        depth = max(k, engine.settings.search.depth)
    view = hits.View(explain, gated=True, depth=depth, deeper=per_document is not None)
    return Reply(answer.to_dict(), partial(hits.show, answer, view), as_json)


def similar(
    ctx: typer.Context,
    node_id: NodeId,
    k: K = 10,
    filter: Filters = None,
    read: Read = "head",
    explain: Explain = False,
    as_json: Json = False,
) -> Reply:
    """Find passages written like this one, by their tokens."""
    wanted = filters(filter)
    context = read_context(read)
    with chosen(ctx).open() as engine:
        answer = engine.similar(node_id, k, filters=wanted, read_context=context)
    view = hits.View(explain, alike=True)
    return Reply(answer.to_dict(), partial(hits.show, answer, view), as_json)
