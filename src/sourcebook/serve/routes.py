"""Every route of the HTTP surface as data: what address asks for which operation, with an example.

The application, its OpenAPI document and the test that tries each route with bad keys are all made
from this table, so a new route cannot be forgotten by one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from sourcebook.serve import page, seed_wire
from sourcebook.serve import wire_answers as told
from sourcebook.serve import wire_insight as insight
from sourcebook.serve import wire_records as records
from sourcebook.serve.operations import OPERATIONS, Operation
from sourcebook.serve.seed_routes import SEEDS


@dataclass(frozen=True, slots=True)
class Route:
    method: Literal["GET", "POST"]
    path: str
    """A `{id}` in it may hold slashes."""
    name: str
    """Of the operation."""
    answer: type[BaseModel]
    summary: str
    example: dict[str, Any]
    """A request that works on any store, or nearly so."""
    id_field: str | None = None
    """The field of the request that `{id}` stands for."""
    otherwise: str = "head"
    """The read context of who names none."""

    @property
    def operation(self) -> Operation:
        return OPERATIONS.get(self.name) or SEEDS[self.name]


_QUESTION = "How high may a fence be?"
_CITATION = {
    "repository_id": "default",
    "element_id": "rules/fences.md",
    "version_id": "4aadfb1f0be7212a0a4b",
    "start": 0,
    "end": 141,
    "text_hash": "098f3654d473634660e0af7a9371b88dc4d8ef509d15b3cd621b82be351124b1",
}
_NODE = {"id": "rules/fences.md"}
_BASELINE = {"name": "2026-spring"}
_DOCUMENT = {"name": "rules/fences.md", "text": "# Fences\n\nNo fence is higher than six feet."}

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/search",
        "search",
        told.SearchAnswer,
        "Ranked hits for a question",
        {"query": _QUESTION, "k": 5, "filters": {"document_type": "ccr"}},
    ),
    Route(
        "POST",
        "/v1/preview",
        "preview",
        told.SearchAnswer,
        "As search, for a question that is still being typed: the query log does not keep it",
        {"query": "How high may a f", "k": 5},
    ),
    Route(
        "POST",
        "/v1/agent",
        "agent",
        told.SearchAnswer,
        "Hits that are good enough for an agent, and what was refused",
        {"query": _QUESTION, "min_quality": 0.4},
    ),
    Route(
        "POST",
        "/v1/context",
        "context",
        told.ContextAnswer,
        "Numbered sources within a token budget; reads what is published, if anything is",
        {"query": _QUESTION, "max_tokens": 2000},
        otherwise="default",
    ),
    Route(
        "POST",
        "/v1/explain",
        "explain",
        insight.ExplainAnswer,
        "What each stage let through, and why a document is not among the hits",
        {"query": _QUESTION, "node_id": "rules/fences.md"},
    ),
    Route(
        "POST",
        "/v1/similar",
        "similar",
        told.SearchAnswer,
        "Passages written like this one",
        {"node_id": "rules/fences.md", "k": 5},
    ),
    Route(
        "POST",
        "/v1/ingest",
        "ingest",
        records.IngestAnswer,
        "Take documents in as one revision; the same request_id again changes nothing",
        {"documents": [_DOCUMENT], "message": "fences", "request_id": "3f2b"},
    ),
    Route(
        "POST",
        "/v1/feedback",
        "feedback",
        records.FeedbackAnswer,
        "Say whether a result helped",
        {"query": _QUESTION, "citation": _CITATION, "judgment": "helpful"},
    ),
    Route(
        "POST",
        "/v1/verify",
        "verify",
        records.VerifyAnswer,
        "Whether the cited version still says the cited text",
        {"citation": _CITATION},
    ),
    Route(
        "GET",
        "/v1/nodes",
        "nodes",
        told.NodesAnswer,
        "Nodes in the order of their ids, page by page",
        {"kind": "document", "limit": 10, "filter": ["document_type=ccr"]},
    ),
    Route(
        "GET",
        "/v1/nodes/{id}",
        "node",
        told.NodeAnswer,
        "A node and its text",
        _NODE,
        id_field="node_id",
    ),
    Route(
        "GET",
        "/v1/links/{id}",
        "links",
        told.LinksAnswer,
        "What a node is connected with, in both directions",
        _NODE,
        id_field="node_id",
    ),
    Route(
        "GET",
        "/v1/repositories",
        "repositories",
        insight.RepositoriesAnswer,
        "Those that can be read",
        {},
    ),
    Route(
        "GET",
        "/v1/diff",
        "diff",
        insight.DiffAnswer,
        "What changed from one read context to another",
        {"old": "revision:1", "new": "head", "limit": 10},
    ),
    Route("GET", "/v1/baselines", "baselines", records.BaselinesAnswer, "Named revisions", {}),
    Route(
        "POST",
        "/v1/baselines",
        "create_baseline",
        records.BaselineAnswer,
        "Name a revision",
        _BASELINE,
    ),
    Route(
        "POST",
        "/v1/baselines/{id}/publish",
        "publish_baseline",
        records.BaselineAnswer,
        "Make a baseline the one that agents read",
        {"id": "2026-spring"},
        id_field="name",
    ),
    Route(
        "GET",
        "/v1/revisions",
        "revisions",
        records.RevisionsAnswer,
        "Revisions, newest first",
        {"limit": 10},
    ),
    Route(
        "GET",
        "/v1/health/index",
        "health",
        records.HealthAnswer,
        "How far the index is behind, and what failed",
        {},
    ),
    Route(
        "GET",
        "/v1/health/spaces",
        "spaces",
        insight.SpacesAnswer,
        "How many texts each space has still to embed",
        {},
    ),
    Route(
        "GET",
        "/v1/health/queries",
        "queries",
        insight.QueriesAnswer,
        "Outcomes and latencies of questions over time",
        {"buckets": 24},
    ),
    Route(
        "POST",
        "/v1/golden",
        "golden",
        insight.GoldenAnswer,
        "Ask what people judged results of again, at a point in time",
        {"read_context": "head"},
    ),
    Route(
        "POST",
        "/v1/reindex",
        "reindex",
        records.ReindexAnswer,
        "Build a space beside the active one and switch to it",
        {"failed": True},
    ),
    Route(
        "POST",
        "/api/ucg/search/hybrid",
        "ucg_hybrid",
        seed_wire.HybridAnswer,
        "Dense and sparse search, fused by rank",
        {"query": "uncertainty principle", "options": {"limit": 20}},
    ),
    Route(
        "POST",
        "/api/ucg/search/agent",
        "ucg_agent",
        seed_wire.AgentAnswer,
        "The quality-gated pipeline of the archive",
        {"query": "travel plans", "options": {"targetCount": 20, "minQuality": 0.4}},
    ),
    Route(
        "POST",
        "/webhook/arc-retrieval",
        "arc_retrieval",
        seed_wire.ArcAnswer,
        "Chunks of governing documents with their authority",
        {"query": "What is the maximum fence height allowed?"},
    ),
)
PUBLIC = ("/health", "/ready", "/openapi.json", *page.FILES)
"""What anybody may ask, with a key or without."""
