"""The requests and answers of the three routes that older programs ask, field by field as those
programs know them; `repository` and `read_context` were added, and may be left out.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from sourcebook.querying.answer import MAX_RESULTS
from sourcebook.serve import wire
from sourcebook.serve.failures import QueryRequired
from sourcebook.serve.wire_answers import Told

Asked = Annotated[str, StringConstraints(min_length=1, max_length=wire.LONGEST_QUERY)]
Candidates = Annotated[int, Field(ge=1, le=MAX_RESULTS)]


class Seed(wire.Reading):
    query: Asked

    @model_validator(mode="before")
    @classmethod
    def _query(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("query") in (None, ""):
            raise QueryRequired(field="query")
        return given


# --- /api/ucg/search/hybrid ----------------------------------------------------------------------


class HybridOptions(wire.Wire):
    denseWeight: float = Field(1.0, ge=0, le=1000)
    sparseWeight: float = Field(1.0, ge=0, le=1000)
    limit: Candidates = 20
    searchLimit: Candidates = 100
    minDenseScore: float = Field(0.3, ge=-1, le=1, description="a cosine")
    fusionK: int = Field(60, ge=1, le=1_000_000)


class Hybrid(Seed):
    options: HybridOptions | None = None


class ContentNode(Told):
    id: str
    title: str
    text: str
    word_count: int
    parent_node_id: str | None
    content_hash: str
    kind: str
    version_id: str
    source: str
    start: int
    end: int
    metadata: dict[str, Any]


class HybridResult(Told):
    id: str
    denseScore: float | None
    denseRank: int | None
    sparseScore: float | None
    sparseRank: int | None
    fusedScore: float
    node: ContentNode


class HybridAnswer(Told):
    query: str
    results: list[HybridResult]
    total: int


# --- /api/ucg/search/agent -----------------------------------------------------------------------


class AgentOptions(wire.Wire):
    targetCount: Candidates = 20
    searchLimit: Candidates = 100
    useStaged: bool = True
    minQuality: float = Field(0.4, ge=0, le=1)
    minWordCount: int = Field(30, ge=0, le=1_000_000)
    excludeStubTypes: list[wire.Name] = Field(["stub-breadcrumb"], max_length=100)
    expandContext: bool = True
    expandThreshold: int = Field(50, ge=0, le=1_000_000, description="words")
    rerank: bool = False
    rerankModel: Literal["local", "late", "llm"] = "local"


class AgentSeed(Seed):
    options: AgentOptions | None = None


class Expanded(Told):
    parent: ContentNode | None
    combinedText: str


class ContentQuality(Told):
    overall: float
    authenticity: float | None
    necessity: float | None
    stub_type: str | None
    words: int
    analyzer: str


class GatedResult(Told):
    node: ContentNode
    similarity: float | None = Field(description="a cosine; null where only its words were found")
    quality: ContentQuality | None
    context: Expanded | None = None


class PipelineStats(Told):
    totalSearched: int
    totalAccepted: int
    totalRejected: int
    rejectionReasons: dict[str, int]
    totalExpanded: int
    duration: float = Field(description="milliseconds")


class AgentAnswer(Told):
    query: str
    results: list[GatedResult]
    stats: PipelineStats


# --- /webhook/arc-retrieval ----------------------------------------------------------------------


class Arc(Seed):
    document_type: wire.Name | list[wire.Name] | None = Field(
        None, description="only documents of these types"
    )
    max_chunks: int = Field(8, ge=1, le=20)
    token_budget: int = Field(4000, ge=1, le=1_000_000)


class ArcChunk(Told):
    id: str
    content: str
    document_name: str
    document_type: Any
    section_hierarchy: list[str]
    page_number: int | None
    is_binding: bool | None
    superseded_by: str | None
    vector_score: float | None = Field(description="a cosine; null where only its words were found")
    fts_score: float | None = Field(description="the share of the best full-text score, 0 to 1")
    hybrid_score: float | None = Field(description="the weighted sum of the two")
    combined_score: float | None = Field(description="the same number by its other name")
    relevance_score: float | None
    citation: dict[str, Any]


class ArcAnswer(Told):
    status: Literal["success", "low_confidence", "no_results"]
    query: str
    message: str | None = None
    warning: str | None = None
    degraded: list[dict[str, str]] = Field(default_factory=list)
    best_score: float | None = None
    weights: dict[str, float] | None = None
    chunks: list[ArcChunk] = Field(default_factory=list)
    context: str | None = None
