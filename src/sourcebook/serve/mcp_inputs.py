"""What the tools of MCP may be asked: one type a tool. An unknown field is refused.

The fields of `semanticSearch` and `getContext` are those that agents' manifests already have for
them; the rest has the names that the other surfaces have.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from sourcebook.querying.answer import MAX_RESULTS
from sourcebook.serve.wire import At, Name, Query, Share, Value, Wire

Layer = Literal[
    "motivation",
    "strategy",
    "business",
    "application",
    "technology",
    "physical",
    "implementation",
    "composite",
    "other",
]
Cursor = Annotated[str, StringConstraints(max_length=2000)]
_CURSOR = "next_cursor of the answer before, with all other arguments the same"


class Filters(Wire):
    """Different keys must all match; of several values of a key any."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Value | list[Value]] = Field(init=False)

    layer: Layer | list[Layer] | None = Field(None, description="ArchiMate layer")
    element_type: str | list[str] | None = Field(
        None, description="ArchiMate type without blanks, such as BusinessProcess"
    )
    capability: str | list[str] | None = Field(
        None, description="name of the capability that an element belongs to"
    )

    def to_wire(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class Reads(Wire):
    read_context: Annotated[str, StringConstraints(max_length=600)] | At | None = Field(
        None,
        description=(
            "Point in history to read: {baseline_id}, {as_of}, {revision} or {selector: head | "
            "published}. Left out: published if a baseline is published, else head; the answer "
            "says which. The read_context of an answer can be sent back to ask at the same point."
        ),
    )
    repository: Name | None = Field(None, description="another repository that may be read")

    def where(self) -> dict[str, Any]:
        """As the wire's requests say it."""
        at = self.read_context
        given = at.model_dump(exclude_none=True) if isinstance(at, At) else at
        return {"read_context": given, "repository": self.repository}


class SemanticSearch(Reads):
    query: Query = Field(description="a question or keywords, in natural language")
    top_k: int = Field(10, ge=1, le=MAX_RESULTS, description="number of results")
    min_score: Share = Field(
        0.0,
        description=(
            "leave out what is less relevant than this; score is a calibrated probability, so 0.5 "
            "is strict. 0 leaves nothing out: status says how sure the answer is"
        ),
    )
    filters: Filters = Field(Filters(), description="metadata that results must have")
    cursor: Cursor | None = Field(None, description=_CURSOR)


class GetContext(Reads):
    query: Query = Field(description="the question to be answered")
    max_tokens: int = Field(4000, ge=1, le=1_000_000, description="size of the context")
    include_relationships: bool = Field(
        True, description="follow links, and tell how the sources are related"
    )
    filters: Filters = Field(Filters(), description="metadata that sources must have")


class GetNode(Reads):
    node_id: Name = Field(description="node_id or element_id of a result or a source")
    version_id: Name | None = Field(None, description="exactly this version, whatever is read")
    include_relationships: bool = Field(False, description="also the links from and to it")
    cursor: Cursor | None = Field(None, description=_CURSOR)


class ListBaselines(Wire):
    repository: Name | None = Field(None, description="another repository that may be read")
    cursor: Cursor | None = Field(None, description=_CURSOR)


class GetIndexHealth(Wire):
    repository: Name | None = Field(None, description="another repository that may be read")


class Search(Wire):
    query: Query = Field(description="a question or keywords, in natural language")


class Fetch(Wire):
    id: Name = Field(description="id of a search result")
