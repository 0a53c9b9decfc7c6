"""What may be asked over a wire: one type a request, for HTTP, MCP and gRPC alike.

An unknown field is refused, never ignored. Answers need no types of their own here: they are the
JSON that `to_dict` of the engine's values gives, on every surface the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from sourcebook.errors import InvalidInput
from sourcebook.history import parse_read_context
from sourcebook.model import Citation, Filter, ReadContext
from sourcebook.querying.answer import MAX_RESULTS, Fusion, Mode, Rerank

LONGEST_QUERY = 10_000
LONGEST_TEXT = 10_000_000
MOST_DOCUMENTS = 1000

Query = Annotated[str, StringConstraints(max_length=LONGEST_QUERY)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Value = str | int | float | bool
Filters = dict[Name, Value | list[Value]]
Share = Annotated[float, Field(ge=0, le=1)]


class Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class At(Wire):
    """Which point of history is read; nothing is the surface's default. The read context of an
    answer can be sent back as it is, and reads the same revision."""

    selector: (
        Literal["head", "published", "default", "baseline", "baseline_id", "as_of", "revision"]
        | None
    ) = Field(None, description="may be left out beside baseline_id, as_of or revision")
    baseline_id: Name | None = None
    as_of: Name | None = Field(None, description="ISO 8601, such as 2026-01-31T12:00:00Z")
    revision: int | None = Field(None, ge=0)


class Reading(Wire):
    """What every read has in common."""

    read_context: Annotated[str, StringConstraints(max_length=600)] | At | None = Field(
        None, description="head, published, default, baseline:ID, as-of:TIMESTAMP, or an object"
    )
    repository: Name | None = Field(None, description="another one that the key may read")

    def at(self, otherwise: str) -> ReadContext:
        return read_context(self.read_context, otherwise)


class Search(Reading):
    query: Query
    k: int = Field(10, ge=1, le=MAX_RESULTS)
    mode: Mode = "hybrid"
    fusion: Fusion = "rrf"
    rerank: Rerank | None = None
    filters: Filters = {}
    min_relevance: Share = 0.0
    per_document: int | None = Field(None, ge=1)
    repositories: list[Name] | Literal["*"] | None = Field(
        None, max_length=1000, description="search across these, or all that the key may read"
    )


class Agent(Reading):
    query: Query
    k: int = Field(10, ge=1, le=MAX_RESULTS)
    rerank: Rerank | None = None
    filters: Filters = {}
    min_relevance: Share = 0.0
    min_quality: Share | None = None
    min_words: int | None = Field(None, ge=0)
    exclude_stubs: list[Name] | None = None
    per_document: int | None = Field(None, ge=1)


class Context(Reading):
    query: Query
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    max_sources: int | None = Field(None, ge=1, le=100)
    hops: int | None = Field(None, ge=0, le=3)
    neighbours: int | None = Field(None, ge=0, le=10)
    include_relationships: bool = Field(
        True, description="follow links, and tell how the sources are related"
    )
    filters: Filters = {}


class Explain(Reading):
    """As for an agent, and how much context; `node_id` names what somebody misses."""

    query: Query
    k: int = Field(10, ge=1, le=100)
    filters: Filters = {}
    min_relevance: Share = 0.0
    min_quality: Share | None = None
    min_words: int | None = Field(None, ge=0)
    exclude_stubs: list[Name] | None = None
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    max_sources: int | None = Field(None, ge=1, le=100)
    node_id: Name | None = Field(None, description="a document, section or passage")


class Similar(Reading):
    node_id: Name
    k: int = Field(10, ge=1, le=MAX_RESULTS)
    filters: Filters = {}


class GetNode(Reading):
    node_id: Name
    version_id: Name | None = None


class ListNodes(Reading):
    kind: Name | None = None
    filters: Filters = {}
    limit: int = Field(100, ge=1, le=1000)
    after: Annotated[str, StringConstraints(max_length=2000)] = ""


class ListLinks(Reading):
    node_id: Name


class Here(Wire):
    """Nothing but where."""

    repository: Name | None = None


class Log(Here):
    limit: int = Field(100, ge=1, le=10_000)


Side = Annotated[str, StringConstraints(max_length=600)]


class Diff(Here):
    """From one read context to another: of everything, or the text of one node."""

    old: Side = Field("published", description="a read context, such as baseline:ID")
    new: Side = "head"
    kind: Name | None = None
    node_id: Name | None = None
    limit: int = Field(100, ge=1, le=1000, description="of each list")


class Queries(Here):
    since: Name | None = Field(None, description="ISO 8601, UTC")
    buckets: int = Field(24, ge=1, le=200)


class Golden(Reading):
    """Nothing but where and when."""


class Upload(Wire):
    """One document as it would lie in a file."""

    name: Name = Field(description="stands for the file name: its ending decides the format")
    text: Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]
    format: Name | None = None
    metadata: dict[Name, Value | list[Value]] = {}


class Ingest(Wire):
    documents: list[Upload] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    message: Annotated[str, StringConstraints(max_length=10_000)] = ""
    request_id: Name | None = None
    wait: bool = Field(False, description="also for the vectors, not only for the commit")
    repository: Name | None = None


class CitationFields(Wire):
    repository_id: Name
    element_id: Name
    version_id: Name
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text_hash: Name

    def citation(self) -> Citation:
        return Citation(**self.model_dump())


class Verify(Wire):
    citation: CitationFields


class Feedback(Reading):
    query: Query
    citation: CitationFields
    judgment: Literal["helpful", "not_helpful", "clicked"]
    note: Annotated[str, StringConstraints(max_length=10_000)] = ""
    request_id: Name | None = None


class CreateBaseline(Reading):
    name: Name


class PublishBaseline(Here):
    name: Name


class Reindex(Here):
    space: Name | None = None
    failed: bool = False


_PREFIX = {"baseline_id": "baseline:", "as_of": "as-of:", "revision": "revision:"}


def read_context(given: str | At | None, otherwise: str) -> ReadContext:
    if isinstance(given, str):
        return parse_read_context(given)
    return parse_read_context((_one(given) if given else None) or otherwise)


def _one(given: At) -> str | None:
    """The one selector that is meant; several at once would leave open which one counts."""
    named = {name: getattr(given, name) for name in _PREFIX}
    named = {name: value for name, value in named.items() if value is not None}
    selector = "baseline_id" if given.selector == "baseline" else given.selector
    if selector in _PREFIX:
        if selector not in named:
            raise InvalidInput(f"this read context needs {selector}", field="read_context")
        if selector != "revision":
            named.pop("revision", None)
    elif selector is not None:
        # What head and published mean may have moved since; the revision has not.
        if "revision" not in named:
            named["selector"] = selector
        elif given.selector == "published":
            named.pop("baseline_id", None)
    if len(named) > 1:
        names = " and ".join(sorted(named))
        raise InvalidInput(f"the read context names {names}; give one", field="read_context")
    return next((f"{_PREFIX.get(name, '')}{value}" for name, value in named.items()), None)


def filters(given: Mapping[str, Any]) -> tuple[Filter, ...]:
    """Different keys must all match; of several values of a key any."""
    return tuple(Filter(key, _values(value)) for key, value in given.items())


def _values(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(_text(item) for item in items))


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
