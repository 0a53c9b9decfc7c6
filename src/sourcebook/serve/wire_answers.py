"""What is answered over a wire: one type an answer, for the documents that describe the surfaces.

Answers are made by `to_dict` of the engine's values and are not passed through these types; the
tests hold real answers against them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Metadata = dict[str, Any]


class Told(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ErrorBody(Told):
    code: str = Field(description="a stable name for programs")
    message: str = Field(description="one sentence for people")
    field: str | None = Field(description="the field of the request that is at fault")
    suggestions: list[str]


class ErrorAnswer(Told):
    error: ErrorBody


class ReadAt(Told):
    """The read context that was answered at."""

    selector: str
    revision: int
    baseline_id: str | None
    as_of: str | None


class ReadAtEach(Told):
    """Of several repositories: what is the same in all of them, null where it differs."""

    selector: str | None
    revision: int | None
    baseline_id: str | None
    as_of: str | None


class DegradedPart(Told):
    part: str
    reason: str


class QueryTold(Told):
    text: str
    normalized: str
    type: str
    weights: dict[str, float]
    keywords: list[str]
    parts: list[str]
    document_type: str | None


class ScoresTold(Told):
    dense: float | None
    dense_rank: int | None
    sparse: float | None
    sparse_rank: int | None
    staged: float | None
    staged_rank: int | None
    combined: float | None
    combined_rank: int | None
    exact: int
    fused: float | None
    rerank: float | None
    adjusted: float | None


class AdjustmentTold(Told):
    name: str
    factor: float
    reason: str


class QualityTold(Told):
    analyzer: str
    authenticity: float | None
    necessity: float | None
    overall: float
    stub_type: str | None
    words: int


class CitationTold(Told):
    repository_id: str
    element_id: str
    version_id: str
    start: int
    end: int
    text_hash: str


class HitTold(Told):
    rank: int
    element_id: str
    node_id: str
    version_id: str
    repository_id: str
    title: str
    kind: str
    resolution: int
    text: str
    context: str
    summary: bool
    expanded: str | None
    section_path: list[str]
    page: int | None
    start: int
    end: int
    source: str
    relevance: float | None
    scores: ScoresTold
    adjustments: list[AdjustmentTold]
    quality: QualityTold | None
    metadata: Metadata
    citation: CitationTold
    read_context: ReadAt | None = Field(None, description="where several repositories were asked")


class RejectedTold(Told):
    node_id: str
    element_id: str
    reason: str
    relevance: float | None
    repository_id: str | None = Field(None, description="where several repositories were asked")


class Stats(Told):
    candidates: int
    accepted: int
    rejected: dict[str, int]
    timings_ms: dict[str, float]


class RepositoryTold(Told):
    repository_id: str
    read_context: ReadAt | None
    status: Literal["ok", "low_confidence", "no_results", "not_searched"]
    candidates: int
    degraded: list[DegradedPart]


class SearchAnswer(Told):
    status: Literal["ok", "low_confidence", "no_results"]
    warning: str | None
    degraded: list[DegradedPart]
    query: QueryTold
    read_context: ReadAt | ReadAtEach
    results: list[HitTold]
    rejected: list[RejectedTold]
    stats: Stats
    repositories: list[RepositoryTold] | None = Field(None, description="where several were asked")


class LinkTold(Told):
    source_id: str
    target_id: str
    type: str
    metadata: Metadata


class SourceTold(Told):
    number: int
    element_id: str
    node_id: str
    version_id: str
    repository_id: str
    title: str
    kind: str
    section_path: list[str]
    page: int | None
    start: int
    end: int
    source: str
    text: str
    relevance: float | None
    why_included: str
    path: list[str]
    parts: list[str]
    superseded_by: str | None
    supersedes: str | None
    metadata: Metadata
    citation: CitationTold


class ContextAnswer(Told):
    status: Literal["ok", "low_confidence", "no_results"]
    warning: str | None
    degraded: list[DegradedPart]
    query: QueryTold
    read_context: ReadAt
    text: str
    tokens: int
    max_tokens: int
    sources: list[SourceTold]
    left_out: int
    relationships: list[LinkTold]
    stats: Stats


class NodeTold(Told):
    element_id: str
    node_id: str
    version_id: str
    repository_id: str
    title: str
    kind: str
    section_path: list[str]
    page: int | None
    start: int
    end: int
    source: str
    parent_id: str | None
    position: int
    content_hash: str
    metadata: Metadata


class NodeAnswer(NodeTold):
    text: str
    citation: CitationTold
    quality: QualityTold | None
    read_context: ReadAt


class NodesAnswer(Told):
    read_context: ReadAt
    nodes: list[NodeTold]
    next: str | None = Field(description="send it as `after` for the next page")


class LinksAnswer(Told):
    read_context: ReadAt
    node_id: str
    links: list[LinkTold]
