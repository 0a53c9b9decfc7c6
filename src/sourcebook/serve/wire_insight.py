"""What is answered to those who look at answers, history and the index: one type an answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from sourcebook.serve.wire_answers import (
    AdjustmentTold,
    DegradedPart,
    LinkTold,
    QueryTold,
    ReadAt,
    ScoresTold,
    Told,
)


class StageTold(Told):
    stage: Literal["dense", "sparse", "fused", "judged", "checked", "passed", "context"]
    count: int
    what: str


class PlacedTold(Told):
    rank: int
    node_id: str
    element_id: str
    title: str
    kind: str
    relevance: float | None
    scores: ScoresTold
    adjustments: list[AdjustmentTold]


class CandidateTold(PlacedTold):
    fate: Literal["passed", "refused", "outranked"]
    reason: str | None
    source: int | None = Field(description="the number of the source of the context that it is in")


class AbsentTold(Told):
    node_id: str
    title: str | None
    kind: str | None
    stage: Literal["here", "refused", "outranked", "filtered", "not_found", "elsewhere"]
    reason: str
    passages: list[PlacedTold]


class ExplainAnswer(Told):
    status: Literal["ok", "low_confidence", "no_results"]
    warning: str | None
    degraded: list[DegradedPart]
    query: QueryTold
    read_context: ReadAt
    funnel: list[StageTold]
    rejected: dict[str, int]
    candidates: list[CandidateTold]
    absent: AbsentTold | None


class RepositoriesAnswer(Told):
    repositories: list[str]
    default: str


class DiffNode(Told):
    id: str
    element_id: str
    kind: str
    title: str
    version_id: str


class DiffChange(Told):
    id: str
    element_id: str
    kind: str
    title: str
    from_version: str
    to_version: str
    changed: list[str]


class DiffNodes(Told):
    added: list[DiffNode]
    removed: list[DiffNode]
    changed: list[DiffChange]


class DiffLinks(Told):
    added: list[LinkTold]
    removed: list[LinkTold]
    changed: list[dict[str, Any]]


class DiffText(Told):
    element_id: str
    title: str
    diff: str
    cut: bool


class DiffAnswer(Told):
    from_: ReadAt = Field(alias="from")
    to: ReadAt
    nodes: DiffNodes
    relationships: DiffLinks
    documents: list[DiffText]
    counts: dict[str, dict[str, int]]


class SpaceProgress(Told):
    id: str
    model: str
    state: str
    passages: int = Field(description="that the newest revision shows")
    pending: int | None = Field(description="texts without a vector; null for a retired space")
    failed: int | None


class SpacesAnswer(Told):
    spaces: list[SpaceProgress]


class Bucket(Told):
    at: str
    count: int
    ok: int
    low_confidence: int
    no_results: int
    p50_ms: float | None
    p95_ms: float | None


class QueriesAnswer(Told):
    logged: bool
    since: str | None
    until: str | None
    count: int
    buckets: list[Bucket]


class WrongTold(Told):
    query: str
    missing: list[str]
    forbidden: list[str]


class GoldenAnswer(Told):
    read_context: ReadAt
    questions: int
    measures: dict[str, float | None]
    wrong: list[WrongTold]
