"""What is answered of history, of the index and of writes: one type an answer, as there is one for
each question in wire_answers.py.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from sourcebook.serve.wire_answers import CitationTold, ReadAt, Told


class BaselineAnswer(Told):
    id: str
    revision: int
    created_at: str
    published: bool


class BaselinesAnswer(Told):
    baselines: list[BaselineAnswer]


class RevisionTold(Told):
    number: int
    at: str
    message: str
    counts: dict[str, int]
    dropped: bool


class RevisionsAnswer(Told):
    revisions: list[RevisionTold]


class IndexTold(Told):
    pending: int
    oldest_pending_s: float | None
    claimed: int
    retrying: int
    failed: int
    vectors_per_s: float | None
    spending: list[dict[str, Any]]
    failures: list[dict[str, Any]]


class SpaceTold(Told):
    id: str
    provider: str
    model: str
    dimensions: int
    chunker: str
    state: str


class HealthAnswer(Told):
    revision: int
    published: str | None
    counts: dict[str, int]
    index: IndexTold
    spaces: list[SpaceTold]
    queries: dict[str, Any] = Field(description="more for a key with the right to administer")


class VerifyAnswer(Told):
    valid: bool
    reason: str | None
    text: str | None
    differences: list[Any]
    visible: list[dict[str, int | None]]
    state: str | None
    ended_at: int | None


class FeedbackAnswer(Told):
    at: str
    query: str
    judgment: str
    note: str
    node_id: str
    citation: CitationTold
    read_context: ReadAt
    key_id: str | None


class IngestAnswer(Told):
    revision: int
    nodes: int
    passages: int
    unchanged: int
    ended: int
    repaired: int
    skipped: list[dict[str, str]]
    warnings: list[dict[str, str]]
    counts: dict[str, int]
    pending_vectors: int
    failed_vectors: int


class ReindexAnswer(Told):
    space: str
    embedded: int
    failed: int
    switched: bool
    in_use: bool
    dropped: str | None
    retried: int


class ProcessAnswer(Told):
    status: Literal["ok"]
    version: str


class ReadyAnswer(Told):
    status: Literal["ready"]
    model: str
