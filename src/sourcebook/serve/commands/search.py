"""`search`, `agent` and `similar`: a question or a passage in, ranked and cited hits out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sourcebook.errors import InvalidInput
from sourcebook.serve import hits
from sourcebook.serve.options import Filters, Json, NodeId, Read, chosen, filters, read_context
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from sourcebook import Sourcebook
    from sourcebook.across import AnswerAcross

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
Repositories = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Search several repositories; '*' is all of the tenant."),
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
    repositories: Repositories = None,
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
        view = _view(engine, k, per_document, explain=explain, gated=False)
        if repositories is not None:
            found = _across(engine, query, k, repositories, options)
            return _reply_across(found, view, as_json)
        answer = engine.search(" ".join(query), k, **options)
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
    repositories: Repositories = None,
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
        view = _view(engine, k, per_document, explain=explain, gated=True)
        if repositories is not None:
            found = _across(engine, query, k, repositories, {"gated": True, **gate, **options})
            return _reply_across(found, view, as_json)
        answer = engine.agent(" ".join(query), k, **gate, **options)
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


def _view(
    engine: Sourcebook, k: int, per_document: int | None, *, explain: bool, gated: bool
) -> hits.View:
    depth = max(k, engine.settings.search.depth)
    return hits.View(explain, gated, depth=depth, deeper=per_document is not None)


def _across(
    engine: Sourcebook, query: list[str], k: int, repositories: str, options: dict[str, Any]
) -> AnswerAcross:
    names = [name.strip() for name in repositories.split(",") if name.strip()]
    if not names:
        raise InvalidInput(
            "--repositories takes names such as handbook,minutes, or '*'", field="repositories"
        )
    wanted = None if names == ["*"] else names
    return engine.search_across(" ".join(query), k, repositories=wanted, **options)


def _reply_across(found: AnswerAcross, view: hits.View, as_json: bool) -> Reply:
    view = replace(view, across=True)
    return Reply(found.to_dict(), partial(hits.show, found.answer, view), as_json)
