"""What a question may ask for, and what its answer is: `Answer.to_dict` is every surface's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, get_args

from sourcebook.errors import InvalidInput
from sourcebook.model import (
    CHUNK,
    Degraded,
    Factors,
    Filter,
    Hit,
    Json,
    PreparedQuery,
    ReadContext,
    Rejected,
    Resolved,
)
from sourcebook.querying.gate import Gate
from sourcebook.querying.understand import QueryType

Mode = Literal["hybrid", "dense", "sparse"]
Fusion = Literal["rrf", "weighted"]
Rerank = Literal["none", "local", "late", "llm"]
Status = Literal["ok", "low_confidence", "no_results"]
MAX_RESULTS = 1000


@dataclass(frozen=True, slots=True)
class Options:
    k: int = 10
    mode: Mode = "hybrid"
    fusion: Fusion = "rrf"
    rerank: Rerank = "local"
    filters: tuple[Filter, ...] = ()
    read_context: ReadContext = ReadContext()
    per_document: int | None = None
    resolution: int = CHUNK
    min_relevance: float = 0.0
    gate: Gate | None = None
    """None lets everything pass that is relevant enough."""
    split: bool = True
    """Whether a compound question is also asked in its parts."""
    split_by_model: bool = False
    """Whether a language model may find the parts, where the rules see none."""
    cache: bool = True
    """Whether answers and embedded questions of a while ago may be used again."""
    depth: int = 100
    """Candidates of each search, and those that are judged."""
    rrf_k: int = 60
    weights: Mapping[str, float] = field(default_factory=dict)
    factors: Factors = field(default_factory=Factors)

    def check(self) -> None:
        if not 1 <= self.k <= MAX_RESULTS:
            raise InvalidInput(f"k must be from 1 to {MAX_RESULTS}, not {self.k}", field="k")
        for name, choices in (("mode", Mode), ("fusion", Fusion), ("rerank", Rerank)):
            value, known = getattr(self, name), get_args(choices)
            if value not in known:
                listed = f"{', '.join(known[:-1])} or {known[-1]}"
                raise InvalidInput(f"{name} must be {listed}, not {value!r}", field=name)
        if self.per_document is not None and self.per_document < 1:
            raise InvalidInput("per_document must be 1 or more", field="per_document")
        if not 0 <= self.min_relevance <= 1:
            raise InvalidInput(
                f"min_relevance must be from 0 to 1, not {self.min_relevance}",
                field="min_relevance",
            )
        if self.gate is not None:
            self.gate.check()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search gives."""

    status: Status
    query: PreparedQuery
    query_type: QueryType
    weights: Mapping[str, float]
    read_context: Resolved
    results: list[Hit]
    candidates: int
    warning: str | None = None
    degraded: tuple[Degraded, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    parts: tuple[str, ...] = ()
    """The questions that a compound question was asked as, beside itself."""
    document_type: str | None = None
    """The type of document that the question names."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        return {
            "status": self.status,
            "warning": self.warning,
            "degraded": [asdict(d) for d in self.degraded],
            "query": {
                "text": self.query.text,
                "normalized": self.query.normalized,
                "type": self.query_type,
                "weights": dict(self.weights),
                "keywords": list(self.query.keywords),
                "parts": list(self.parts),
                "document_type": self.document_type,
            },
            "read_context": asdict(self.read_context),
            "results": [hit_to_dict(hit) for hit in self.results],
            "rejected": [asdict(r) for r in self.rejected],
            "stats": {
                "candidates": self.candidates,
                "accepted": len(self.results),
                "rejected": counted(self.rejected),
                "timings_ms": dict(self.timings_ms),
            },
        }


def counted(rejected: tuple[Rejected, ...]) -> dict[str, int]:
    """How many were refused, by reason."""
    reasons = [each.reason for each in rejected]
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


def hit_to_dict(hit: Hit) -> dict[str, Json]:
    node = hit.node
    return {
        "rank": hit.rank,
        "element_id": node.element_id,
        "node_id": node.id,
        "version_id": node.version_id,
        "repository_id": hit.citation.repository_id,
        "title": node.title,
        "kind": node.kind,
        "resolution": hit.resolution,
        "text": hit.text,
        "context": hit.context,
        "summary": hit.summary,
        "expanded": hit.expanded or None,
        "section_path": list(node.section_path),
        "page": node.page,
        "start": node.start,
        "end": node.end,
        "source": node.source,
        "relevance": hit.relevance,
        "scores": asdict(hit.scores),
        "adjustments": [asdict(a) for a in hit.adjustments],
        "quality": hit.quality,
        "metadata": dict(node.metadata),
        "citation": asdict(hit.citation),
    }
