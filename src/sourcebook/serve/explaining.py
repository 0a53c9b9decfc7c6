"""A question in; how its answer came about out: what each stage let through, what became of every
passage that was judged, and, for one that somebody names, why it is not among the hits.

Nothing here is worked out anew: the question is asked as search, agent and context ask it, and what
they say is put side by side. It is not kept in the query log, since nobody asked it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sourcebook.contexts import Context
from sourcebook.engine import Engine
from sourcebook.errors import NotFound
from sourcebook.hashing import text_hash
from sourcebook.model import Citation, Filter, Hit, Node, ReadContext, Resolved
from sourcebook.querying.answer import counted
from sourcebook.retrieve import Answer
from sourcebook.serve import wire

Json = dict[str, Any]
_PASSAGES = 3
"""Of a named document that are told of."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the three ways of asking gave."""

    engine: Engine
    asked: wire.Explain
    at: Resolved
    filters: tuple[Filter, ...]
    judged: Answer
    gated: Answer
    context: Context

    @property
    def pinned(self) -> ReadContext:
        return self.at.pinned


def explain(engine: Engine, asked: wire.Explain, otherwise: str) -> Json:
    told = _ask(engine.unlogged(), asked, otherwise)
    return {
        "status": told.judged.status,
        "warning": told.judged.warning,
        "degraded": [asdict(each) for each in told.judged.degraded],
        "query": told.judged.to_dict()["query"],
        "read_context": asdict(told.at),
        "funnel": list(_funnel(told)),
        "rejected": counted(told.gated.rejected),
        "candidates": list(_candidates(told)),
        "absent": _absent(told, asked.node_id) if asked.node_id else None,
    }


def _ask(engine: Engine, asked: wire.Explain, otherwise: str) -> Told:
    at = engine.resolve(asked.at(otherwise))
    filters = wire.filters(asked.filters)
    same: Json = {"filters": filters, "read_context": at.pinned}
    stubs = asked.exclude_stubs
    return Told(
        engine,
        asked,
        at,
        filters,
        engine.search(asked.query, max(engine.settings.search.depth, asked.k), **same),
        engine.agent(
            asked.query,
            asked.k,
            min_quality=asked.min_quality,
            min_words=asked.min_words,
            exclude_stubs=None if stubs is None else tuple(stubs),
            min_relevance=asked.min_relevance,
            **same,
        ),
        engine.context(asked.query, asked.max_tokens, asked.max_sources, **same),
    )


# --- stages --------------------------------------------------------------------------------------


def _funnel(told: Told) -> Iterator[Json]:
    """From all that was found to what an agent reads, a stage at a time."""
    same: Json = {"filters": told.filters, "read_context": told.pinned, "rerank": "none"}
    for mode, what in (("dense", "the nearest by meaning"), ("sparse", "those with its words")):
        if told.judged.status == "no_results":
            found = 0
        else:
            found = told.engine.search(told.asked.query, 1, mode=mode, **same).candidates
        yield _stage(mode, found, what)
    judged = sum(hit.relevance is not None for hit in told.judged.results)
    passed, refused = len(told.gated.results), len(told.gated.rejected)
    sources = told.context.sources
    hits = sum(source.why_included == "hit" for source in sources)
    yield _stage("fused", told.judged.candidates, "different passages, in one order")
    yield _stage("judged", judged, "reranked, with a relevance each")
    yield _stage("checked", passed + refused, f"looked at until {told.asked.k} had passed")
    yield _stage("passed", passed, f"good enough; {refused} were refused")
    beside = f"{hits} hits and {len(sources) - hits} that stand beside them or are linked"
    yield _stage("context", len(sources), f"sources in {told.context.tokens} tokens: {beside}")


def _stage(stage: str, count: int, what: str) -> Json:
    return {"stage": stage, "count": count, "what": what}


def _candidates(told: Told) -> Iterator[Json]:
    """Every passage that was judged, in its place, and what became of it."""
    passed = {hit.node.id for hit in told.gated.results}
    refused = {each.node_id: each.reason for each in told.gated.rejected}
    numbers = _numbers(told.context)
    for hit in told.judged.results:
        name = hit.node.id
        fate = "passed" if name in passed else "refused" if name in refused else "outranked"
        yield {
            **_hit(hit),
            "fate": fate,
            "reason": refused.get(name),
            "source": numbers.get(name),
        }


def _numbers(context: Context) -> dict[str, int]:
    """The source that each passage is part of."""
    found: dict[str, int] = {}
    for source in context.sources:
        for name in (source.node.id, *source.parts):
            found.setdefault(name, source.number)
    return found


def _hit(hit: Hit) -> Json:
    node = hit.node
    return {
        "rank": hit.rank,
        "node_id": node.id,
        "element_id": node.element_id,
        "title": node.title,
        "kind": node.kind,
        "relevance": hit.relevance,
        "scores": asdict(hit.scores),
        "adjustments": [asdict(each) for each in hit.adjustments],
    }


# --- why not -------------------------------------------------------------------------------------


def _absent(told: Told, name: str) -> Json:
    """One sentence on a document, a section or a passage, and what it rests on."""
    try:
        node, _ = told.engine.get(name, read_context=told.pinned)
    except NotFound:
        return _verdict(None, name, "elsewhere", _elsewhere(told, name), [])
    inside = [hit for hit in told.judged.results if _within(hit.node, node)]
    if inside:
        return _verdict(node, name, *_ranked(told, inside), inside)
    if reason := _filtered(told, node):
        return _verdict(node, name, "filtered", reason, [])
    alone = _alone(told, node)
    return _verdict(node, name, "not_found", _far(told, alone), alone)


def _verdict(node: Node | None, name: str, stage: str, reason: str, hits: Sequence[Hit]) -> Json:
    return {
        "node_id": name,
        "title": node.title if node else None,
        "kind": node.kind if node else None,
        "stage": stage,
        "reason": reason,
        "passages": [_hit(hit) for hit in hits[:_PASSAGES]],
    }


def _within(inner: Node, outer: Node) -> bool:
    """Whether it is that node or stands inside it."""
    same = inner.element_id == outer.element_id
    return same and outer.start <= inner.start and inner.end <= outer.end


def _elsewhere(told: Told, name: str) -> str:
    engine = told.engine
    try:
        node, text = engine.get(name)
    except NotFound:
        return f"there is nothing of that name in this repository: {name}"
    place = (node.element_id, node.version_id, node.start, node.end)
    cited = Citation(engine.scope.repository, *place, text_hash(text))
    since = min((born for born, _ in engine.verify(cited).visible), default=None)
    read = told.at.revision
    return f"it is not there at revision {read}; the version of today came with revision {since}"


def _ranked(told: Told, inside: Sequence[Hit]) -> tuple[str, str]:
    passed = {hit.node.id: hit for hit in told.gated.results}
    refused = {each.node_id: each.reason for each in told.gated.rejected}
    first = next((passed[hit.node.id] for hit in inside if hit.node.id in passed), None)
    if first is not None:
        return "here", f"it is here, in place {first.rank}"
    best = inside[0]
    if best.node.id in refused:
        return "refused", f"its best passage was refused: {refused[best.node.id]}"
    shown = f"places 1 to {told.asked.k} are shown"
    return "outranked", f"its best passage is in place {best.rank}; {shown}{_lowered(best)}"


def _lowered(hit: Hit) -> str:
    """What its document's standing did to its place."""
    less = [each for each in hit.adjustments if each.factor < 1]
    told = ", ".join(f"{each.name} {each.reason}".strip() for each in less)
    return f"; it counts less, being {told}" if told else ""


def _filtered(told: Told, node: Node) -> str | None:
    own = Filter("element_id", (node.element_id,))
    for each in told.filters:
        found = told.engine.list(filters=(own, each), limit=1, read_context=told.pinned)
        if not found:
            return f"the filter {each.key} = {' or '.join(each.values)} leaves it out"
    return None


def _alone(told: Told, node: Node) -> Sequence[Hit]:
    """The passages of its document as they answer the question, were they alone."""
    own = (Filter("element_id", (node.element_id,)),)
    depth = told.engine.settings.search.depth
    found = told.engine.search(told.asked.query, depth, filters=own, read_context=told.pinned)
    return [hit for hit in found.results if _within(hit.node, node)]


def _far(told: Told, alone: Sequence[Hit]) -> str:
    if not alone:
        return "none of its passages can be searched for, or none has a vector or these words"
    best = max((hit.relevance or 0.0 for hit in alone), default=0.0)
    return (
        f"no search had it among its best {told.engine.settings.search.depth}; asked alone, its "
        f"best passage has a relevance of {best:.2f}"
    )
