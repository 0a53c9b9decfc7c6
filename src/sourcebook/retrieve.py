"""USE CASE: a question in, ranked and cited hits out, at one resolved revision.

prepare -> search (dense | sparse | staged, side by side) -> fuse -> group -> cite
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from sourcebook.errors import InvalidInput
from sourcebook.model import (
    CHUNK,
    Degraded,
    Filter,
    Hit,
    Json,
    Match,
    PreparedQuery,
    ReadContext,
    Resolved,
)
from sourcebook.ports import Within
from sourcebook.quality import QUALITY_VERSION
from sourcebook.querying.cite import cite
from sourcebook.querying.fuse import combine, explain, fuse
from sourcebook.querying.group import group
from sourcebook.querying.prepare import prepare
from sourcebook.querying.search import Searches

Mode = Literal["hybrid", "dense", "sparse"]
_SOURCES: Mapping[str, tuple[str, ...]] = {
    "hybrid": ("dense", "sparse", "staged"),
    "dense": ("dense",),
    "sparse": ("sparse",),
}
MAX_RESULTS = 1000


@dataclass(frozen=True, slots=True)
class Options:
    k: int = 10
    mode: Mode = "hybrid"
    filters: tuple[Filter, ...] = ()
    read_context: ReadContext = ReadContext()
    per_document: int | None = None
    resolution: int = CHUNK
    depth: int = 100
    rrf_k: int = 60
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search gives; `to_dict` is the JSON of every surface."""

    status: Literal["ok", "low_confidence", "no_results"]
    query: PreparedQuery
    weights: Mapping[str, float]
    read_context: Resolved
    results: list[Hit]
    candidates: int
    warning: str | None = None
    degraded: tuple[Degraded, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        return {
            "status": self.status,
            "warning": self.warning,
            "degraded": [asdict(d) for d in self.degraded],
            "query": {
                "text": self.query.text,
                "normalized": self.query.normalized,
                "type": "general",
                "weights": dict(self.weights),
                "keywords": list(self.query.keywords),
            },
            "read_context": asdict(self.read_context),
            "results": [hit_to_dict(hit) for hit in self.results],
            "stats": {
                "candidates": self.candidates,
                "accepted": len(self.results),
                "rejected": {},
                "timings_ms": dict(self.timings_ms),
            },
        }


def search(searches: Searches, text: str, options: Options) -> Answer:
    started = time.perf_counter()
    _check(options)
    query = prepare(text)
    context = searches.store.resolve(searches.scope, options.read_context)
    within = Within(context.revision, options.resolution, options.filters)
    sources = _sources(options)
    depth, short = max(options.depth, options.k), True
    while short:
        found = searches.run(query, sources, depth, within)
        lists = _with_combined(found.lists)
        weights = {name: options.weights.get(name, 1.0) for name in lists}
        fused = fuse(lists, weights, options.rrf_k)
        grouped = group(fused, options.per_document)[: options.k]
        full = any(len(matches) == depth for matches in found.lists.values())
        short, depth = full and len(grouped) < options.k, depth * 4
    chosen = explain(lists, grouped)
    rows = [candidate.passage for candidate in chosen]
    stored = searches.store.passages(searches.scope, context.revision, rows)
    versions = [passage.node.version_id for passage in stored]
    quality = searches.store.quality(searches.scope, QUALITY_VERSION, versions)
    hits = cite(searches.scope.repository, options.resolution, chosen, stored, quality)
    timings = found.timings_ms | {"total": round((time.perf_counter() - started) * 1e3, 3)}
    return Answer(
        status="ok" if hits else "no_results",
        query=query,
        weights=weights,
        read_context=context,
        results=hits,
        candidates=len(fused),
        warning=None if hits else _why_none(query, context),
        degraded=tuple(found.degraded),
        timings_ms=timings,
    )


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
        "section_path": list(node.section_path),
        "page": node.page,
        "start": node.start,
        "end": node.end,
        "source": node.source,
        "relevance": hit.relevance,
        "scores": asdict(hit.scores),
        "adjustments": [],
        "quality": hit.quality,
        "metadata": dict(node.metadata),
        "citation": asdict(hit.citation),
    }


def _sources(options: Options) -> tuple[str, ...]:
    sources = _SOURCES[options.mode]
    coarse = options.resolution != CHUNK or options.weights.get("staged", 1.0) == 0
    return tuple(s for s in sources if not (coarse and s == "staged"))


def _with_combined(lists: dict[str, list[Match]]) -> dict[str, list[Match]]:
    if lists.get("dense") and lists.get("sparse"):
        return {**lists, "combined": combine(lists["dense"], lists["sparse"])}
    return lists


def _check(options: Options) -> None:
    if not 1 <= options.k <= MAX_RESULTS:
        raise InvalidInput(f"k must be from 1 to {MAX_RESULTS}, not {options.k}", field="k")
    if options.mode not in _SOURCES:
        raise InvalidInput(
            f"mode must be hybrid, dense or sparse, not {options.mode!r}", field="mode"
        )
    if options.per_document is not None and options.per_document < 1:
        raise InvalidInput("per_document must be 1 or more", field="per_document")


def _why_none(query: PreparedQuery, context: Resolved) -> str:
    if not query.terms:
        return "the query has no words to search for"
    if context.revision == 0:
        return "the repository holds nothing at this read context; run `sourcebook ingest PATH`"
    return "no passage matches the query and its filters"
