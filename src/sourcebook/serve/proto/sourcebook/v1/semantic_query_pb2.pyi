from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReadContext(_message.Message):
    __slots__ = ("selector", "revision", "baseline_id", "as_of")
    SELECTOR_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    BASELINE_ID_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    selector: str
    revision: int
    baseline_id: str
    as_of: str
    def __init__(self, selector: _Optional[str] = ..., revision: _Optional[int] = ..., baseline_id: _Optional[str] = ..., as_of: _Optional[str] = ...) -> None: ...

class Values(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class Repositories(_message.Message):
    __slots__ = ("names", "all")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    all: bool
    def __init__(self, names: _Optional[_Iterable[str]] = ..., all: _Optional[bool] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("query", "k", "mode", "fusion", "rerank", "filters", "min_relevance", "per_document", "read_context", "repository", "repositories")
    class FiltersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Values
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Values, _Mapping]] = ...) -> None: ...
    QUERY_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    FUSION_FIELD_NUMBER: _ClassVar[int]
    RERANK_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    MIN_RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    PER_DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    READ_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_FIELD_NUMBER: _ClassVar[int]
    REPOSITORIES_FIELD_NUMBER: _ClassVar[int]
    query: str
    k: int
    mode: str
    fusion: str
    rerank: str
    filters: _containers.MessageMap[str, Values]
    min_relevance: float
    per_document: int
    read_context: ReadContext
    repository: str
    repositories: Repositories
    def __init__(self, query: _Optional[str] = ..., k: _Optional[int] = ..., mode: _Optional[str] = ..., fusion: _Optional[str] = ..., rerank: _Optional[str] = ..., filters: _Optional[_Mapping[str, Values]] = ..., min_relevance: _Optional[float] = ..., per_document: _Optional[int] = ..., read_context: _Optional[_Union[ReadContext, _Mapping]] = ..., repository: _Optional[str] = ..., repositories: _Optional[_Union[Repositories, _Mapping]] = ...) -> None: ...

class GetContextRequest(_message.Message):
    __slots__ = ("query", "max_tokens", "max_sources", "hops", "neighbours", "filters", "read_context", "repository", "include_relationships")
    class FiltersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Values
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Values, _Mapping]] = ...) -> None: ...
    QUERY_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_SOURCES_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    NEIGHBOURS_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    READ_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_RELATIONSHIPS_FIELD_NUMBER: _ClassVar[int]
    query: str
    max_tokens: int
    max_sources: int
    hops: int
    neighbours: int
    filters: _containers.MessageMap[str, Values]
    read_context: ReadContext
    repository: str
    include_relationships: bool
    def __init__(self, query: _Optional[str] = ..., max_tokens: _Optional[int] = ..., max_sources: _Optional[int] = ..., hops: _Optional[int] = ..., neighbours: _Optional[int] = ..., filters: _Optional[_Mapping[str, Values]] = ..., read_context: _Optional[_Union[ReadContext, _Mapping]] = ..., repository: _Optional[str] = ..., include_relationships: _Optional[bool] = ...) -> None: ...

class ReindexRequest(_message.Message):
    __slots__ = ("space", "failed", "repository")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_FIELD_NUMBER: _ClassVar[int]
    space: str
    failed: bool
    repository: str
    def __init__(self, space: _Optional[str] = ..., failed: _Optional[bool] = ..., repository: _Optional[str] = ...) -> None: ...

class GetIndexHealthRequest(_message.Message):
    __slots__ = ("repository",)
    REPOSITORY_FIELD_NUMBER: _ClassVar[int]
    repository: str
    def __init__(self, repository: _Optional[str] = ...) -> None: ...

class Degraded(_message.Message):
    __slots__ = ("part", "reason")
    PART_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    part: str
    reason: str
    def __init__(self, part: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class Query(_message.Message):
    __slots__ = ("text", "normalized", "type", "weights", "keywords", "parts", "document_type")
    class WeightsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NORMALIZED_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    KEYWORDS_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    text: str
    normalized: str
    type: str
    weights: _containers.ScalarMap[str, float]
    keywords: _containers.RepeatedScalarFieldContainer[str]
    parts: _containers.RepeatedScalarFieldContainer[str]
    document_type: str
    def __init__(self, text: _Optional[str] = ..., normalized: _Optional[str] = ..., type: _Optional[str] = ..., weights: _Optional[_Mapping[str, float]] = ..., keywords: _Optional[_Iterable[str]] = ..., parts: _Optional[_Iterable[str]] = ..., document_type: _Optional[str] = ...) -> None: ...

class Stats(_message.Message):
    __slots__ = ("candidates", "accepted", "rejected", "timings_ms")
    class RejectedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class TimingsMsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_MS_FIELD_NUMBER: _ClassVar[int]
    candidates: int
    accepted: int
    rejected: _containers.ScalarMap[str, int]
    timings_ms: _containers.ScalarMap[str, float]
    def __init__(self, candidates: _Optional[int] = ..., accepted: _Optional[int] = ..., rejected: _Optional[_Mapping[str, int]] = ..., timings_ms: _Optional[_Mapping[str, float]] = ...) -> None: ...

class Citation(_message.Message):
    __slots__ = ("repository_id", "element_id", "version_id", "start", "end", "text_hash")
    REPOSITORY_ID_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    TEXT_HASH_FIELD_NUMBER: _ClassVar[int]
    repository_id: str
    element_id: str
    version_id: str
    start: int
    end: int
    text_hash: str
    def __init__(self, repository_id: _Optional[str] = ..., element_id: _Optional[str] = ..., version_id: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., text_hash: _Optional[str] = ...) -> None: ...

class Scores(_message.Message):
    __slots__ = ("dense", "dense_rank", "sparse", "sparse_rank", "staged", "staged_rank", "combined", "combined_rank", "exact", "fused", "rerank", "adjusted")
    DENSE_FIELD_NUMBER: _ClassVar[int]
    DENSE_RANK_FIELD_NUMBER: _ClassVar[int]
    SPARSE_FIELD_NUMBER: _ClassVar[int]
    SPARSE_RANK_FIELD_NUMBER: _ClassVar[int]
    STAGED_FIELD_NUMBER: _ClassVar[int]
    STAGED_RANK_FIELD_NUMBER: _ClassVar[int]
    COMBINED_FIELD_NUMBER: _ClassVar[int]
    COMBINED_RANK_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    FUSED_FIELD_NUMBER: _ClassVar[int]
    RERANK_FIELD_NUMBER: _ClassVar[int]
    ADJUSTED_FIELD_NUMBER: _ClassVar[int]
    dense: float
    dense_rank: int
    sparse: float
    sparse_rank: int
    staged: float
    staged_rank: int
    combined: float
    combined_rank: int
    exact: int
    fused: float
    rerank: float
    adjusted: float
    def __init__(self, dense: _Optional[float] = ..., dense_rank: _Optional[int] = ..., sparse: _Optional[float] = ..., sparse_rank: _Optional[int] = ..., staged: _Optional[float] = ..., staged_rank: _Optional[int] = ..., combined: _Optional[float] = ..., combined_rank: _Optional[int] = ..., exact: _Optional[int] = ..., fused: _Optional[float] = ..., rerank: _Optional[float] = ..., adjusted: _Optional[float] = ...) -> None: ...

class Adjustment(_message.Message):
    __slots__ = ("name", "factor", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    factor: float
    reason: str
    def __init__(self, name: _Optional[str] = ..., factor: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class Hit(_message.Message):
    __slots__ = ("rank", "element_id", "node_id", "version_id", "repository_id", "title", "kind", "resolution", "text", "context", "summary", "expanded", "section_path", "page", "start", "end", "source", "relevance", "scores", "adjustments", "quality", "metadata", "citation", "read_context")
    RANK_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    EXPANDED_FIELD_NUMBER: _ClassVar[int]
    SECTION_PATH_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    ADJUSTMENTS_FIELD_NUMBER: _ClassVar[int]
    QUALITY_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CITATION_FIELD_NUMBER: _ClassVar[int]
    READ_CONTEXT_FIELD_NUMBER: _ClassVar[int]
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
    expanded: str
    section_path: _containers.RepeatedScalarFieldContainer[str]
    page: int
    start: int
    end: int
    source: str
    relevance: float
    scores: Scores
    adjustments: _containers.RepeatedCompositeFieldContainer[Adjustment]
    quality: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    citation: Citation
    read_context: ReadContext
    def __init__(self, rank: _Optional[int] = ..., element_id: _Optional[str] = ..., node_id: _Optional[str] = ..., version_id: _Optional[str] = ..., repository_id: _Optional[str] = ..., title: _Optional[str] = ..., kind: _Optional[str] = ..., resolution: _Optional[int] = ..., text: _Optional[str] = ..., context: _Optional[str] = ..., summary: _Optional[bool] = ..., expanded: _Optional[str] = ..., section_path: _Optional[_Iterable[str]] = ..., page: _Optional[int] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., source: _Optional[str] = ..., relevance: _Optional[float] = ..., scores: _Optional[_Union[Scores, _Mapping]] = ..., adjustments: _Optional[_Iterable[_Union[Adjustment, _Mapping]]] = ..., quality: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., citation: _Optional[_Union[Citation, _Mapping]] = ..., read_context: _Optional[_Union[ReadContext, _Mapping]] = ...) -> None: ...

class Rejected(_message.Message):
    __slots__ = ("repository_id", "node_id", "element_id", "reason", "relevance")
    REPOSITORY_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    repository_id: str
    node_id: str
    element_id: str
    reason: str
    relevance: float
    def __init__(self, repository_id: _Optional[str] = ..., node_id: _Optional[str] = ..., element_id: _Optional[str] = ..., reason: _Optional[str] = ..., relevance: _Optional[float] = ...) -> None: ...

class Searched(_message.Message):
    __slots__ = ("repository_id", "read_context", "status", "candidates", "degraded")
    REPOSITORY_ID_FIELD_NUMBER: _ClassVar[int]
    READ_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    repository_id: str
    read_context: ReadContext
    status: str
    candidates: int
    degraded: _containers.RepeatedCompositeFieldContainer[Degraded]
    def __init__(self, repository_id: _Optional[str] = ..., read_context: _Optional[_Union[ReadContext, _Mapping]] = ..., status: _Optional[str] = ..., candidates: _Optional[int] = ..., degraded: _Optional[_Iterable[_Union[Degraded, _Mapping]]] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("status", "warning", "degraded", "query", "read_context", "results", "rejected", "stats", "repositories")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    READ_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    REPOSITORIES_FIELD_NUMBER: _ClassVar[int]
    status: str
    warning: str
    degraded: _containers.RepeatedCompositeFieldContainer[Degraded]
    query: Query
    read_context: ReadContext
    results: _containers.RepeatedCompositeFieldContainer[Hit]
    rejected: _containers.RepeatedCompositeFieldContainer[Rejected]
    stats: Stats
    repositories: _containers.RepeatedCompositeFieldContainer[Searched]
    def __init__(self, status: _Optional[str] = ..., warning: _Optional[str] = ..., degraded: _Optional[_Iterable[_Union[Degraded, _Mapping]]] = ..., query: _Optional[_Union[Query, _Mapping]] = ..., read_context: _Optional[_Union[ReadContext, _Mapping]] = ..., results: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., rejected: _Optional[_Iterable[_Union[Rejected, _Mapping]]] = ..., stats: _Optional[_Union[Stats, _Mapping]] = ..., repositories: _Optional[_Iterable[_Union[Searched, _Mapping]]] = ...) -> None: ...

class SearchHeader(_message.Message):
    __slots__ = ("status", "warning", "degraded", "query", "read_context", "repositories")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    READ_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    REPOSITORIES_FIELD_NUMBER: _ClassVar[int]
    status: str
    warning: str
    degraded: _containers.RepeatedCompositeFieldContainer[Degraded]
    query: Query
    read_context: ReadContext
    repositories: _containers.RepeatedCompositeFieldContainer[Searched]
    def __init__(self, status: _Optional[str] = ..., warning: _Optional[str] = ..., degraded: _Optional[_Iterable[_Union[Degraded, _Mapping]]] = ..., query: _Optional[_Union[Query, _Mapping]] = ..., read_context: _Optional[_Union[ReadContext, _Mapping]] = ..., repositories: _Optional[_Iterable[_Union[Searched, _Mapping]]] = ...) -> None: ...

class SearchTrailer(_message.Message):
    __slots__ = ("rejected", "stats")
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    rejected: _containers.RepeatedCompositeFieldContainer[Rejected]
    stats: Stats
    def __init__(self, rejected: _Optional[_Iterable[_Union[Rejected, _Mapping]]] = ..., stats: _Optional[_Union[Stats, _Mapping]] = ...) -> None: ...

class SearchStreamResponse(_message.Message):
    __slots__ = ("header", "hit", "trailer")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    HIT_FIELD_NUMBER: _ClassVar[int]
    TRAILER_FIELD_NUMBER: _ClassVar[int]
    header: SearchHeader
    hit: Hit
    trailer: SearchTrailer
    def __init__(self, header: _Optional[_Union[SearchHeader, _Mapping]] = ..., hit: _Optional[_Union[Hit, _Mapping]] = ..., trailer: _Optional[_Union[SearchTrailer, _Mapping]] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("number", "element_id", "node_id", "version_id", "repository_id", "title", "kind", "section_path", "page", "start", "end", "source", "text", "relevance", "why_included", "path", "parts", "superseded_by", "supersedes", "metadata", "citation")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SECTION_PATH_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    WHY_INCLUDED_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CITATION_FIELD_NUMBER: _ClassVar[int]
    number: int
    element_id: str
    node_id: str
    version_id: str
    repository_id: str
    title: str
    kind: str
    section_path: _containers.RepeatedScalarFieldContainer[str]
    page: int
    start: int
    end: int
    source: str
    text: str
    relevance: float
    why_included: str
    path: _containers.RepeatedScalarFieldContainer[str]
    parts: _containers.RepeatedScalarFieldContainer[str]
    superseded_by: str
    supersedes: str
    metadata: _struct_pb2.Struct
    citation: Citation
    def __init__(self, number: _Optional[int] = ..., element_id: _Optional[str] = ..., node_id: _Optional[str] = ..., version_id: _Optional[str] = ..., repository_id: _Optional[str] = ..., title: _Optional[str] = ..., kind: _Optional[str] = ..., section_path: _Optional[_Iterable[str]] = ..., page: _Optional[int] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., source: _Optional[str] = ..., text: _Optional[str] = ..., relevance: _Optional[float] = ..., why_included: _Optional[str] = ..., path: _Optional[_Iterable[str]] = ..., parts: _Optional[_Iterable[str]] = ..., superseded_by: _Optional[str] = ..., supersedes: _Optional[str] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., citation: _Optional[_Union[Citation, _Mapping]] = ...) -> None: ...

class Relationship(_message.Message):
    __slots__ = ("source_id", "target_id", "type", "metadata")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    target_id: str
    type: str
    metadata: _struct_pb2.Struct
    def __init__(self, source_id: _Optional[str] = ..., target_id: _Optional[str] = ..., type: _Optional[str] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class GetContextResponse(_message.Message):
    __slots__ = ("status", "warning", "degraded", "query", "read_context", "text", "tokens", "max_tokens", "sources", "left_out", "relationships", "stats")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    READ_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    RELATIONSHIPS_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    status: str
    warning: str
    degraded: _containers.RepeatedCompositeFieldContainer[Degraded]
    query: Query
    read_context: ReadContext
    text: str
    tokens: int
    max_tokens: int
    sources: _containers.RepeatedCompositeFieldContainer[Source]
    left_out: int
    relationships: _containers.RepeatedCompositeFieldContainer[Relationship]
    stats: Stats
    def __init__(self, status: _Optional[str] = ..., warning: _Optional[str] = ..., degraded: _Optional[_Iterable[_Union[Degraded, _Mapping]]] = ..., query: _Optional[_Union[Query, _Mapping]] = ..., read_context: _Optional[_Union[ReadContext, _Mapping]] = ..., text: _Optional[str] = ..., tokens: _Optional[int] = ..., max_tokens: _Optional[int] = ..., sources: _Optional[_Iterable[_Union[Source, _Mapping]]] = ..., left_out: _Optional[int] = ..., relationships: _Optional[_Iterable[_Union[Relationship, _Mapping]]] = ..., stats: _Optional[_Union[Stats, _Mapping]] = ...) -> None: ...

class ReindexResponse(_message.Message):
    __slots__ = ("space", "embedded", "failed", "switched", "in_use", "dropped", "retried")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    EMBEDDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    SWITCHED_FIELD_NUMBER: _ClassVar[int]
    IN_USE_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    RETRIED_FIELD_NUMBER: _ClassVar[int]
    space: str
    embedded: int
    failed: int
    switched: bool
    in_use: bool
    dropped: str
    retried: int
    def __init__(self, space: _Optional[str] = ..., embedded: _Optional[int] = ..., failed: _Optional[int] = ..., switched: _Optional[bool] = ..., in_use: _Optional[bool] = ..., dropped: _Optional[str] = ..., retried: _Optional[int] = ...) -> None: ...

class Spending(_message.Message):
    __slots__ = ("provider", "model", "texts", "tokens", "seconds", "cost")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    provider: str
    model: str
    texts: int
    tokens: int
    seconds: float
    cost: float
    def __init__(self, provider: _Optional[str] = ..., model: _Optional[str] = ..., texts: _Optional[int] = ..., tokens: _Optional[int] = ..., seconds: _Optional[float] = ..., cost: _Optional[float] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("text_hash", "text", "attempts", "error", "at", "next_try", "dead")
    TEXT_HASH_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    NEXT_TRY_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    text_hash: str
    text: str
    attempts: int
    error: str
    at: str
    next_try: str
    dead: bool
    def __init__(self, text_hash: _Optional[str] = ..., text: _Optional[str] = ..., attempts: _Optional[int] = ..., error: _Optional[str] = ..., at: _Optional[str] = ..., next_try: _Optional[str] = ..., dead: _Optional[bool] = ...) -> None: ...

class Index(_message.Message):
    __slots__ = ("pending", "oldest_pending_s", "claimed", "retrying", "failed", "vectors_per_s", "spending", "failures")
    PENDING_FIELD_NUMBER: _ClassVar[int]
    OLDEST_PENDING_S_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_FIELD_NUMBER: _ClassVar[int]
    RETRYING_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    VECTORS_PER_S_FIELD_NUMBER: _ClassVar[int]
    SPENDING_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    pending: int
    oldest_pending_s: float
    claimed: int
    retrying: int
    failed: int
    vectors_per_s: float
    spending: _containers.RepeatedCompositeFieldContainer[Spending]
    failures: _containers.RepeatedCompositeFieldContainer[Failure]
    def __init__(self, pending: _Optional[int] = ..., oldest_pending_s: _Optional[float] = ..., claimed: _Optional[int] = ..., retrying: _Optional[int] = ..., failed: _Optional[int] = ..., vectors_per_s: _Optional[float] = ..., spending: _Optional[_Iterable[_Union[Spending, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[Failure, _Mapping]]] = ...) -> None: ...

class Space(_message.Message):
    __slots__ = ("id", "provider", "model", "dimensions", "chunker", "state")
    ID_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    CHUNKER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    id: str
    provider: str
    model: str
    dimensions: int
    chunker: str
    state: str
    def __init__(self, id: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., dimensions: _Optional[int] = ..., chunker: _Optional[str] = ..., state: _Optional[str] = ...) -> None: ...

class GetIndexHealthResponse(_message.Message):
    __slots__ = ("revision", "published", "counts", "index", "spaces", "queries")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    REVISION_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    SPACES_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    revision: int
    published: str
    counts: _containers.ScalarMap[str, int]
    index: Index
    spaces: _containers.RepeatedCompositeFieldContainer[Space]
    queries: _struct_pb2.Struct
    def __init__(self, revision: _Optional[int] = ..., published: _Optional[str] = ..., counts: _Optional[_Mapping[str, int]] = ..., index: _Optional[_Union[Index, _Mapping]] = ..., spaces: _Optional[_Iterable[_Union[Space, _Mapping]]] = ..., queries: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...
