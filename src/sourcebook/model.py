"""The values that every part passes on: frozen, comparable, free of any driver or framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Json = Any
Metadata = Mapping[str, Json]
BlockKind = Literal["heading", "prose", "code", "table", "list_item", "turn"]
BoundaryType = Literal["semantic", "structural", "size-limit"]
NodeKind = Literal["document", "section", "chunk", "conversation", "message", "element"]
Right = Literal["read", "write", "admin"]
RIGHTS: tuple[Right, ...] = ("read", "write", "admin")
Opinion = Literal["helpful", "not_helpful", "clicked"]
DOCUMENT, SECTION, CHUNK = 0, 1, 2
"""Resolutions of a passage, coarse to fine."""


# --- what a parser gives -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """What is known of one message of a conversation beside its words."""

    id: str
    """Its own within the conversation."""
    speaker: str
    """A role such as "user" and "assistant", or a name."""
    at: str | None = None
    """When it was said, ISO 8601 in UTC."""
    reply_to: str | None = None
    """The id of the message that it answers."""
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """One structural piece of a document's text: `text[start:end]`. Blocks are in order, do not
    overlap, and leave out only white space, front matter and markup that is not content."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    """Of a heading: 1 is the highest."""
    title: str = ""
    """Of a heading: its words without markup, and its number where the text has lost it."""
    page: int | None = None
    """The page that it begins on, counted from 1."""
    turn: Turn | None = None
    """Of a turn."""


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed source document. All offsets of blocks, sections and chunks point into `text`.

    A conversation has one block of kind "turn" a message; those of the branch that was left
    aside come last. An element of a model brings its own context: what its relationships say."""

    element_id: str
    title: str
    text: str
    source: str
    format: str
    blocks: tuple[Block, ...]
    metadata: Metadata = field(default_factory=dict)
    kind: Literal["document", "conversation", "element"] = "document"
    context: str = ""
    """Goes before its passages for the model and the full-text index, after the title."""
    links: tuple[Link, ...] = ()
    """From it to others, beside those that its structure makes."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or a record in one, that could not be taken in, and why. With `taken` it was taken in
    all the same, but not all of it could be understood."""

    path: str
    reason: str
    taken: bool = False


# --- chunking ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """Sizes in the embedder's own tokens; `threshold` is the distance of a topic change."""

    min_tokens: int = 100
    target_tokens: int = 512
    max_tokens: int = 768
    overlap_tokens: int = 50
    threshold: float = 0.35


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: its text is `text[start:end]`, and `boundary` says why it ends."""

    start: int
    end: int
    index: int
    boundary: BoundaryType
    tokens: int


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it, up to the next heading of its level or a higher one."""

    title: str
    level: int
    start: int
    end: int
    parent: int | None
    """Its place in the outline's list, or None directly under the document."""
    path: tuple[str, ...]
    """Titles from the highest heading down to this one."""
    heading_end: int


# --- the versioned graph -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose data: part of every read and every write."""

    tenant: str = "default"
    organization: str = "default"
    repository: str = "default"
    roles: frozenset[str] | None = None
    """Of a reader that sees only what has no `visibility` label, or one of these. None is the owner
    of the store, who sees everything and alone may write."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is kept of an API key: never the key itself."""

    id: str
    hash: str = field(repr=False)
    name: str
    tenant: str
    organization: str
    repositories: tuple[str, ...] | None
    """None: all of the organization."""
    roles: frozenset[str] | None
    """None: whatever a document's `visibility` says."""
    rights: Right
    created_at: str
    expires_at: str | None = None
    revoked_at: str | None = None
    last_used_at: str | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks over a network, as the key says."""

    tenant: str
    organization: str
    repositories: frozenset[str] | None
    roles: frozenset[str] | None
    rights: Right
    key_id: str

    def may_read(self, repository: str) -> bool:
        return self.repositories is None or repository in self.repositories

    def may(self, right: Right) -> bool:
        """Who may write may read, who administers may both."""
        return RIGHTS.index(right) <= RIGHTS.index(self.rights)


@dataclass(frozen=True, slots=True)
class Node:
    """One version of a node. Its text is the document's text from `start` to `end`."""

    id: str
    element_id: str
    kind: NodeKind
    version_id: str
    content_hash: str
    parent_id: str | None
    position: int
    title: str
    source: str
    start: int
    end: int
    section_path: tuple[str, ...] = ()
    page: int | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Link:
    """A typed, directed connection between two nodes."""

    source_id: str
    target_id: str
    type: str
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """What search sees of a node at one resolution. `body` is the clean text, or a stated summary
    of it; `context` goes before it for the model and the full-text index."""

    node_id: str
    element_id: str
    resolution: int
    body: str
    context: str = ""
    title: str = ""
    heading: str = ""
    summary: bool = False
    around: str = ""
    """What stands before and after it: full-text counts these words too, but little. Not kept."""
    facets: tuple[tuple[str, str], ...] = ()
    """(key, value) pairs that filters match."""

    @property
    def embedded_text(self) -> str:
        """The text that the model sees; its hash keys the vector."""
        return f"{self.context}\n{self.body}" if self.context else self.body


@dataclass(frozen=True, slots=True)
class Tree:
    """A document as it is committed: its text, its nodes (document first), links and passages."""

    element_id: str
    source: str
    text: str
    recipe: str
    """Fingerprint of how it was made; another recipe makes the same text anew."""
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    passages: tuple[Passage, ...]


# --- history -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Which point of history a read asks for: a selector that becomes one revision."""

    selector: Literal["head", "published", "baseline", "as_of", "default", "revision"] = "head"
    """`default` is published where a baseline is, else head; the answer says which."""
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A read context with its revision, as it is echoed in every answer."""

    selector: str
    revision: int
    baseline_id: str | None = None
    as_of: str | None = None

    @property
    def pinned(self) -> ReadContext:
        """The same revision, whatever is committed or published from now on."""
        return ReadContext("revision", str(self.revision))


@dataclass(frozen=True, slots=True)
class Revision:
    number: int
    at: str
    message: str
    counts: Mapping[str, int]
    dropped: bool = False
    """By retention: it can no longer be read."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A name for a revision."""

    id: str
    revision: int
    created_at: str
    published: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """One row of a version: which revisions show it there."""

    node: Node
    born: int
    died: int | None
    """The first revision that no longer shows it; None while head does."""


@dataclass(frozen=True, slots=True)
class DroppedVersion:
    """Where a version stood that retention has dropped, and between which revisions."""

    start: int
    end: int
    born: int
    died: int


@dataclass(frozen=True, slots=True)
class Difference:
    """What one revision shows and another one does not, and the other way round. A node that
    changed or moved is on both sides; relationships are compared by what they say."""

    gone_nodes: tuple[Node, ...]
    new_nodes: tuple[Node, ...]
    gone_relations: tuple[Link, ...]
    new_relations: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Retained:
    """What retention dropped: revisions by number, and rows by what they are."""

    revisions: tuple[int, ...]
    rows: Mapping[str, int]
    kept: int
    """Revisions that can still be read."""


@dataclass(frozen=True, slots=True)
class Space:
    """An embedding space: vectors of different spaces never meet."""

    id: str
    provider: str
    model: str
    dimensions: int
    chunker: str
    state: Literal["building", "active", "retired"] = "active"


# --- search --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filter:
    """Keep passages whose metadata `key` has one of `values`. Filters are joined by AND."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A question, made ready: what the model reads, what full-text looks for."""

    text: str
    normalized: str
    terms: tuple[str, ...]
    """Index terms, in order, without repeats."""
    phrases: tuple[tuple[str, ...], ...] = ()
    """Quoted phrases and exact identifiers, each as a run of index terms."""
    keywords: tuple[str, ...] = ()


class Match(NamedTuple):
    """One passage found by one search: `score` is that search's own. (A tuple, since a question
    makes hundreds of them.)"""

    passage: int
    node_id: str
    element_id: str
    score: float
    exact: int = 0
    """How many of the query's phrases and identifiers the passage holds."""


@dataclass(frozen=True, slots=True)
class Scores:
    dense: float | None = None
    dense_rank: int | None = None
    sparse: float | None = None
    sparse_rank: int | None = None
    staged: float | None = None
    staged_rank: int | None = None
    combined: float | None = None
    combined_rank: int | None = None
    exact: int = 0
    fused: float | None = None
    rerank: float | None = None
    adjusted: float | None = None
    """What it was ordered by: the worth that its reranker gave it, times its adjustments; 1 at
    most."""


class Fused(NamedTuple):
    """A passage in its place among all that was found."""

    passage: int
    node_id: str
    element_id: str
    score: float
    exact: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage on its way through the pipeline, with each stage's score."""

    passage: int
    node_id: str
    element_id: str
    scores: Scores


@dataclass(frozen=True, slots=True)
class Citation:
    """Enough to find the same words again, in the same version, years later."""

    repository_id: str
    element_id: str
    version_id: str
    start: int
    end: int
    text_hash: str


@dataclass(frozen=True, slots=True)
class Factors:
    """What a document's standing does to the worth of its passages."""

    binding: float = 1.1
    primary: float = 1.05
    superseded: float = 0.5
    asked_type: float = 1.1
    """For the type of document that the question names."""
    primary_types: tuple[str, ...] = ("design_guidelines",)


@dataclass(frozen=True, slots=True)
class Adjustment:
    """Something known of a document that changed its place, by what factor."""

    name: str
    factor: float
    reason: str = ""
    """What superseded it, or the type that was asked for."""


@dataclass(frozen=True, slots=True)
class Hit:
    rank: int
    node: Node
    resolution: int
    text: str
    context: str
    scores: Scores
    citation: Citation
    relevance: float | None = None
    quality: Json = None
    """What the analyzer says of it; None while it was not scored."""
    adjustments: tuple[Adjustment, ...] = ()
    expanded: str = ""
    """The text with its surroundings, where it is too short to be judged alone."""
    summary: bool = False
    """Whether the model saw a summary, the text being longer than it takes."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A hit that a gate refused, and why."""

    node_id: str
    element_id: str
    reason: str
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """One numbered source of an assembled context: a hit, or what stands beside one."""

    number: int
    node: Node
    text: str
    relevance: float | None
    citation: Citation
    why_included: str
    path: tuple[str, ...] = ()
    """The nodes that led from a hit to it, both ends included."""
    title: str = ""
    """Of its document, conversation or element."""
    parts: tuple[str, ...] = ()
    """The nodes that it was merged from."""
    superseded_by: str | None = None
    """By which document; empty where it is superseded, but by what is not known."""
    supersedes: str | None = None


@dataclass(frozen=True, slots=True)
class Degraded:
    """A part of the pipeline that did not, or not fully, take part, and why."""

    part: str
    reason: str


class DamagedPart(NamedTuple):
    """A part of a document that does not match the checksum that its commit stored."""

    element_id: str
    part: str
    """text, node, passage, index, vector or token vectors"""


# --- what people say of answers ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judgment:
    """What somebody says of one result of a question."""

    query: str
    citation: Citation
    opinion: Opinion
    read_context: ReadContext = ReadContext()
    """The one that the question was asked at."""
    note: str = ""
    request_id: str | None = None
    """The same id again changes nothing."""
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """A judgment as it was kept."""

    at: str
    query: str
    node_id: str
    citation: Citation
    read_context: Resolved
    opinion: Opinion
    note: str = ""
    key_id: str | None = None
