"""A request of the wire in, the engine's answer as JSON out: what HTTP, MCP and gRPC offer, once.

A surface looks an operation up by name, parses its request, and asks for an engine that the key
allows; the right that an operation needs stands beside it, so that no surface can forget it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from sourcebook import asker, sources
from sourcebook.engine import Engine
from sourcebook.errors import InvalidInput
from sourcebook.feedback import feedback_to_dict
from sourcebook.hashing import text_hash
from sourcebook.ingest import Again, Request
from sourcebook.model import Citation, Document, Judgment, Right, Skipped
from sourcebook.serve import insight, wire
from sourcebook.serve.commands.nodes import node_document
from sourcebook.serve.explaining import explain

MOST_HEADINGS = 50_000
"""Of one document that is sent."""
Json = dict[str, Any]
Run = Callable[[Engine, Any, str], Json]
"""The engine of the repository, the request, and what is read where the request does not say."""


@dataclass(frozen=True, slots=True)
class Operation:
    request: type[wire.Wire]
    run: Run
    right: Right = "read"


def search(engine: Engine, asked: wire.Search, otherwise: str) -> Json:
    options: Json = {
        "mode": asked.mode,
        "fusion": asked.fusion,
        "filters": wire.filters(asked.filters),
        "min_relevance": asked.min_relevance,
        "read_context": asked.at(otherwise),
        "per_document": asked.per_document,
        **({"rerank": asked.rerank} if asked.rerank else {}),
    }
    if asked.repositories is None:
        return engine.search(asked.query, asked.k, **options).to_dict()
    names = None if asked.repositories == "*" else asked.repositories
    return engine.search_across(asked.query, asked.k, repositories=names, **options).to_dict()


def preview(engine: Engine, asked: wire.Search, otherwise: str) -> Json:
    """A question that is still being typed is nothing that the query log should know."""
    return search(engine.unlogged(), asked, otherwise)


def agent(engine: Engine, asked: wire.Agent, otherwise: str) -> Json:
    stubs = asked.exclude_stubs
    return engine.agent(
        asked.query,
        asked.k,
        min_quality=asked.min_quality,
        min_words=asked.min_words,
        exclude_stubs=None if stubs is None else tuple(stubs),
        filters=wire.filters(asked.filters),
        min_relevance=asked.min_relevance,
        read_context=asked.at(otherwise),
        per_document=asked.per_document,
        **({"rerank": asked.rerank} if asked.rerank else {}),
    ).to_dict()


def context(engine: Engine, asked: wire.Context, otherwise: str) -> Json:
    return engine.context(
        asked.query,
        asked.max_tokens,
        asked.max_sources,
        hops=asked.hops,
        neighbours=asked.neighbours,
        relationships=asked.include_relationships,
        filters=wire.filters(asked.filters),
        read_context=asked.at(otherwise),
    ).to_dict()


def similar(engine: Engine, asked: wire.Similar, otherwise: str) -> Json:
    at, wanted = asked.at(otherwise), wire.filters(asked.filters)
    return engine.similar(asked.node_id, asked.k, filters=wanted, read_context=at).to_dict()


def get_node(engine: Engine, asked: wire.GetNode, otherwise: str) -> Json:
    at = engine.resolve(asked.at(otherwise))
    node, text = engine.get(asked.node_id, version=asked.version_id, read_context=at.pinned)
    repository = engine.scope.repository
    place = (node.element_id, node.version_id, node.start, node.end)
    return {
        **node_document(node, repository),
        "text": text,
        "citation": asdict(Citation(repository, *place, text_hash(text))),
        "quality": engine.quality(node, text),
        "read_context": asdict(at),
    }


def list_nodes(engine: Engine, asked: wire.ListNodes, otherwise: str) -> Json:
    at = engine.resolve(asked.at(otherwise))
    found = engine.list(
        kind=asked.kind,
        filters=wire.filters(asked.filters),
        limit=asked.limit + 1,
        after=asked.after,
        read_context=at.pinned,
    )
    page = found[: asked.limit]
    return {
        "read_context": asdict(at),
        "nodes": [node_document(node, engine.scope.repository) for node in page],
        "next": page[-1].id if len(found) > asked.limit else None,
    }


def list_links(engine: Engine, asked: wire.ListLinks, otherwise: str) -> Json:
    at = engine.resolve(asked.at(otherwise))
    found = engine.links(asked.node_id, at.pinned)
    return {
        "read_context": asdict(at),
        "node_id": asked.node_id,
        "links": [{**asdict(link), "metadata": dict(link.metadata)} for link in found],
    }


def list_baselines(engine: Engine, asked: wire.Here, otherwise: str) -> Json:
    return {"baselines": [asdict(one) for one in engine.baselines()]}


def list_revisions(engine: Engine, asked: wire.Log, otherwise: str) -> Json:
    found = engine.log(asked.limit)
    return {"revisions": [{**asdict(one), "counts": dict(one.counts)} for one in found]}


def index_health(engine: Engine, asked: wire.Here, otherwise: str) -> Json:
    return engine.status()


def _check_headings(name: str, found: Document | Skipped) -> None:
    """Memory and time grow with the sections of a document, of which few characters make many."""
    blocks = found.blocks if isinstance(found, Document) else ()
    headings = sum(block.kind == "heading" for block in blocks)
    if headings > MOST_HEADINGS:
        raise InvalidInput(
            f"documents: {name} has {headings:,} headings, and the most is "
            f"{MOST_HEADINGS:,}; send it as several documents",
            field="documents",
        )


def ingest(engine: Engine, asked: wire.Ingest, otherwise: str) -> Json:
    """Only what was sent: a server opens no file that a request names."""

    def documents() -> Iterator[Document | Skipped]:
        for one in asked.documents:
            asker.still_waits()
            for each in sources.read_text(
                one.text, source=one.name, format=one.format, metadata=one.metadata
            ):
                _check_headings(one.name, each)
                yield each

    request = Request(Again(documents), asked.message, asked.request_id)
    return engine.take_in(request, wait=asked.wait).to_dict()


def verify(engine: Engine, asked: wire.Verify, otherwise: str) -> Json:
    return engine.verify(asked.citation.citation()).to_dict()


def give_feedback(engine: Engine, asked: wire.Feedback, otherwise: str) -> Json:
    judgment = Judgment(
        asked.query,
        asked.citation.citation(),
        asked.judgment,
        asked.at(otherwise),
        asked.note,
        asked.request_id,
    )
    return feedback_to_dict(engine.give_feedback(judgment))


def create_baseline(engine: Engine, asked: wire.CreateBaseline, otherwise: str) -> Json:
    return asdict(engine.create_baseline(asked.name, asked.at(otherwise)))


def publish_baseline(engine: Engine, asked: wire.PublishBaseline, otherwise: str) -> Json:
    return asdict(engine.publish(asked.name))


def reindex(engine: Engine, asked: wire.Reindex, otherwise: str) -> Json:
    retried = engine.retry_failed() if asked.failed else 0
    return {**asdict(engine.reindex(asked.space)), "retried": retried}


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "search": Operation(wire.Search, search),
        "preview": Operation(wire.Search, preview),
        "agent": Operation(wire.Agent, agent),
        "context": Operation(wire.Context, context),
        "explain": Operation(wire.Explain, explain),
        "similar": Operation(wire.Similar, similar),
        "node": Operation(wire.GetNode, get_node),
        "nodes": Operation(wire.ListNodes, list_nodes),
        "links": Operation(wire.ListLinks, list_links),
        "baselines": Operation(wire.Here, list_baselines),
        "revisions": Operation(wire.Log, list_revisions),
        "repositories": Operation(wire.Here, insight.repositories),
        "diff": Operation(wire.Diff, insight.difference),
        "health": Operation(wire.Here, index_health),
        "spaces": Operation(wire.Here, insight.spaces),
        "queries": Operation(wire.Queries, insight.queries, "admin"),
        "golden": Operation(wire.Golden, insight.golden, "admin"),
        "verify": Operation(wire.Verify, verify),
        "feedback": Operation(wire.Feedback, give_feedback),
        "ingest": Operation(wire.Ingest, ingest, "write"),
        "create_baseline": Operation(wire.CreateBaseline, create_baseline, "write"),
        "publish_baseline": Operation(wire.PublishBaseline, publish_baseline, "write"),
        "reindex": Operation(wire.Reindex, reindex, "admin"),
    }
)
