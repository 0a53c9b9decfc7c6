"""A request of an older program in, its answer in that program's own fields out: `SEEDS` are
operations like any other, behind the same door.

Scores are never made up: where a passage was found by its words alone there is no similarity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType

from sourcebook import history
from sourcebook.contexts import Context, Wanted, assemble_context
from sourcebook.engine import Engine
from sourcebook.errors import NotFound
from sourcebook.model import Filter, Hit, Node, Source
from sourcebook.querying.answer import MAX_RESULTS
from sourcebook.retrieve import Answer
from sourcebook.serve import seed_wire
from sourcebook.serve.operations import Json, Operation

_NO_RESULTS = "No relevant content found in governing documents"
_LOW = "Results may not directly answer the question"
_NOISE = 0.3
"""The relevance below which a chunk is left out."""
_STUB = "stub-"


def hybrid(engine: Engine, asked: seed_wire.Hybrid, otherwise: str) -> Json:
    """Reciprocal rank fusion of dense and sparse search, and nothing else: no reranking, so that a
    score can be worked out from the ranks beside it."""
    options = asked.options or seed_wire.HybridOptions()
    weights = {
        "dense": options.denseWeight,
        "sparse": options.sparseWeight,
        "staged": 0.0,
        "combined": 0.0,
    }
    answer = engine.search(
        asked.query,
        min(2 * options.searchLimit, MAX_RESULTS),
        rerank="none",
        depth=options.searchLimit,
        rrf_k=options.fusionK,
        weights=weights,
        split=False,
        read_context=asked.at(otherwise),
    )
    near = [hit for hit in answer.results if _near(hit, options.minDenseScore)]
    found = sorted(near, key=lambda hit: (-(hit.scores.fused or 0.0), hit.rank))
    results = [_fused(hit) for hit in found[: options.limit]]
    return {"query": asked.query, "results": results, "total": len(results)}


def agent(engine: Engine, asked: seed_wire.AgentSeed, otherwise: str) -> Json:
    options = asked.options or seed_wire.AgentOptions()
    ours = engine.settings.search
    weights = {
        "dense": ours.dense_weight,
        "sparse": ours.sparse_weight,
        "staged": ours.staged_weight if options.useStaged else 0.0,
        "combined": ours.combined_weight,
    }
    answer = engine.agent(
        asked.query,
        options.targetCount,
        min_quality=options.minQuality,
        min_words=options.minWordCount,
        exclude_stubs=tuple(name.removeprefix(_STUB) for name in options.excludeStubTypes),
        rerank=options.rerankModel if options.rerank else "none",
        depth=options.searchLimit,
        weights=weights,
        read_context=asked.at(otherwise),
    )
    results = [_gated(engine, answer, hit, options) for hit in answer.results]
    told = answer.to_dict()["stats"]
    return {
        "query": asked.query,
        "results": results,
        "stats": {
            "totalSearched": told["candidates"],
            "totalAccepted": told["accepted"],
            "totalRejected": sum(told["rejected"].values()),
            "rejectionReasons": {_reason(name): n for name, n in told["rejected"].items()},
            "totalExpanded": sum("context" in result for result in results),
            "duration": told["timings_ms"]["total"],
        },
    }


def arc(engine: Engine, asked: seed_wire.Arc, otherwise: str) -> Json:
    types = asked.document_type
    names = () if types is None else (types,) if isinstance(types, str) else tuple(types)
    filters = (Filter("document_type", names),) if types is not None else ()
    answer = engine.search(
        asked.query,
        2 * engine.settings.search.depth,
        kind="context",
        fusion="weighted",
        filters=filters,
        read_context=asked.at(otherwise),
    )
    kept = [h for h in answer.results if h.relevance is None or h.relevance >= _NOISE]
    degraded = [asdict(part) for part in answer.degraded]
    if not kept:
        told = {"status": "no_results", "message": _NO_RESULTS, "query": asked.query}
        return {**told, "degraded": degraded}
    context = _context(engine, replace(answer, results=kept), asked, filters)
    best = max((hit.relevance for hit in kept if hit.relevance is not None), default=None)
    sure = answer.status == "ok"
    return {
        "status": "success" if sure else "low_confidence",
        "query": asked.query,
        "warning": None if sure else _LOW,
        "degraded": degraded,
        "best_score": best,
        "weights": dict(answer.weights),
        "chunks": _chunks(answer, context.sources),
        "context": context.text,
    }


# --- the nodes of the archive --------------------------------------------------------------------


def _near(hit: Hit, least: float) -> bool:
    """Near enough by its vector, or found by its words."""
    dense = hit.scores.dense
    return hit.scores.sparse_rank is not None or (dense is not None and dense >= least)


def _fused(hit: Hit) -> Json:
    scores = hit.scores
    return {
        "id": hit.node.id,
        "denseScore": scores.dense,
        "denseRank": scores.dense_rank,
        "sparseScore": scores.sparse,
        "sparseRank": scores.sparse_rank,
        "fusedScore": scores.fused,
        "node": _node(hit.node, hit.text),
    }


def _gated(engine: Engine, answer: Answer, hit: Hit, options: seed_wire.AgentOptions) -> Json:
    quality = hit.quality
    if quality is not None and quality["stub_type"]:
        quality = {**quality, "stub_type": _STUB + quality["stub_type"]}
    told: Json = {
        "node": _node(hit.node, hit.text),
        "similarity": hit.scores.dense,
        "quality": quality,
    }
    short = len(hit.text.split()) < options.expandThreshold
    parent = _parent(engine, answer, hit.node) if options.expandContext and short else None
    if parent is not None:
        node, text = parent
        before = node.title or f"{text[:500]}...\n\n[...]"
        whole = hit.expanded or f"{before}\n\n{hit.text}"
        told["context"] = {"parent": _node(node, text), "combinedText": whole}
    return told


def _parent(engine: Engine, answer: Answer, node: Node) -> tuple[Node, str] | None:
    if node.parent_id is None:
        return None
    try:
        return engine.get(node.parent_id, read_context=answer.read_context.pinned)
    except NotFound:
        return None


def _node(node: Node, text: str) -> Json:
    return {
        "id": node.id,
        "title": node.title,
        "text": text,
        "word_count": len(text.split()),
        "parent_node_id": node.parent_id,
        "content_hash": node.content_hash,
        "kind": node.kind,
        "version_id": node.version_id,
        "source": node.source,
        "start": node.start,
        "end": node.end,
        "metadata": dict(node.metadata),
    }


def _reason(name: str) -> str:
    """`stub-breadcrumb` is `stub-type-stub-breadcrumb` there."""
    return f"stub-type-{name}" if name.startswith(_STUB) else name


# --- the chunks of governing documents -----------------------------------------------------------


def _context(
    engine: Engine, answer: Answer, asked: seed_wire.Arc, filters: tuple[Filter, ...]
) -> Context:
    wanted = Wanted(asked.token_budget, asked.max_chunks, hops=0, neighbours=1)
    made = (engine.store, engine.scope, engine.embedder.count)
    with history.steady(engine.store, engine.scope, answer.read_context.revision):
        return assemble_context(*made, answer, wanted, filters)


def _chunks(answer: Answer, sources: Sequence[Source]) -> list[Json]:
    hits = {hit.node.id: hit for hit in answer.results}
    most = max((hit.scores.sparse or 0.0 for hit in answer.results), default=0.0)
    return [_chunk(answer.weights, source, _hit_of(source, hits), most) for source in sources]


def _hit_of(source: Source, hits: Mapping[str, Hit]) -> Hit | None:
    """The best hit in a source, which may be several passages that stand side by side."""
    inside = [hits[name] for name in (source.node.id, *source.parts) if name in hits]
    return min(inside, key=lambda hit: hit.rank, default=None)


def _chunk(weights: Mapping[str, float], source: Source, hit: Hit | None, most: float) -> Json:
    node, known = source.node, source.node.metadata
    vector = hit.scores.dense if hit else None
    sparse = hit.scores.sparse if hit else None
    fts = sparse / most if sparse is not None and most > 0 else None
    score = None
    if hit:
        score = weights.get("dense", 0.0) * (vector or 0.0) + weights.get("sparse", 0.0) * (
            fts or 0.0
        )
    binding = known.get("is_binding")
    return {
        "id": node.id,
        "content": source.text,
        "document_name": source.title,
        "document_type": known.get("document_type"),
        "section_hierarchy": list(node.section_path),
        "page_number": node.page,
        "is_binding": binding if isinstance(binding, bool) else None,
        "superseded_by": source.superseded_by,
        "vector_score": vector,
        "fts_score": fts,
        "hybrid_score": score,
        "combined_score": score,
        "relevance_score": source.relevance,
        "citation": asdict(source.citation),
    }


SEEDS: Mapping[str, Operation] = MappingProxyType(
    {
        "ucg_hybrid": Operation(seed_wire.Hybrid, hybrid),
        "ucg_agent": Operation(seed_wire.AgentSeed, agent),
        "arc_retrieval": Operation(seed_wire.Arc, arc),
    }
)
