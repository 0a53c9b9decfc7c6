"""USE CASE: a question's answer in, one assembled context out: numbered, cited, within a budget.

hits by their worth -> what is linked with them -> further hits -> neighbours merged in -> what else
stands beside them -> assemble. Everything is read at the revision that the search was answered at,
and the order of the hits is the search's own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from sourcebook import asker
from sourcebook.errors import Damaged, InvalidInput
from sourcebook.model import Filter, Json, Link, Scope, Source
from sourcebook.ports import Store
from sourcebook.querying.assemble import Assembled, Count, Draft, with_tail
from sourcebook.querying.damage import noticed
from sourcebook.querying.expand import DRAWN, Surroundings, kind
from sourcebook.querying.gather import Gatherer
from sourcebook.retrieve import Answer

_BOUNDS = {
    "max_tokens": (1, 1_000_000),
    "max_sources": (1, 100),
    "hops": (0, 3),
    "neighbours": (0, 10),
}
_RELATIONS = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much context, and how far around the hits to look."""

    max_tokens: int = 4000
    max_sources: int = 8
    hops: int = 1
    neighbours: int = 1
    relationships: bool = True
    """Whether it is told how the sources are related."""

    def check(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise InvalidInput(
                    f"{name} must be from {least} to {most}, not {value}", field=name
                )

    @property
    def hits_first(self) -> int:
        """Places that hits take before anything else: five of eight, where links are followed."""
        return self.max_sources - (self.max_sources * 3 // 8 if self.hops else 0)

    @property
    def candidates(self) -> int:
        """Hits to ask for: some will not fit, and links are weighed by what search found."""
        return min(3 * self.max_sources, 1000)


@dataclass(frozen=True, slots=True)
class Context:
    """What `context` gives; `to_dict` is the JSON of every surface."""

    answer: Answer
    wanted: Wanted
    assembled: Assembled
    relationships: tuple[Link, ...]
    warning: str | None
    took_ms: float

    @property
    def status(self) -> str:
        return self.answer.status

    @property
    def text(self) -> str:
        return self.assembled.text

    @property
    def tokens(self) -> int:
        return self.assembled.tokens

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.assembled.sources

    def to_dict(self) -> dict[str, Json]:
        asked = self.answer.to_dict()
        stats = asked["stats"]
        timings = {**stats["timings_ms"], "assemble": self.took_ms}
        return {
            "status": self.status,
            "warning": self.warning,
            "degraded": asked["degraded"],
            "query": asked["query"],
            "read_context": asked["read_context"],
            "text": self.text,
            "tokens": self.tokens,
            "max_tokens": self.wanted.max_tokens,
            "sources": [source_to_dict(source) for source in self.sources],
            "left_out": self.assembled.left_out,
            "relationships": [
                {**asdict(link), "metadata": dict(link.metadata)} for link in self.relationships
            ],
            "stats": {**stats, "timings_ms": timings},
        }


def source_to_dict(source: Source) -> dict[str, Json]:
    node = source.node
    return {
        "number": source.number,
        "element_id": node.element_id,
        "node_id": node.id,
        "version_id": node.version_id,
        "repository_id": source.citation.repository_id,
        "title": source.title,
        "kind": node.kind,
        "section_path": list(node.section_path),
        "page": node.page,
        "start": node.start,
        "end": node.end,
        "source": node.source,
        "text": source.text,
        "relevance": source.relevance,
        "why_included": source.why_included,
        "path": list(source.path),
        "parts": list(source.parts),
        "superseded_by": source.superseded_by,
        "supersedes": source.supersedes,
        "metadata": dict(node.metadata),
        "citation": asdict(source.citation),
    }


def assemble_context(
    store: Store,
    scope: Scope,
    count: Count,
    answer: Answer,
    wanted: Wanted,
    filters: tuple[Filter, ...] = (),
) -> Context:
    """`answer` is that of a search for at least `wanted.candidates` hits with these filters."""
    asker.still_waits()
    started, began = time.perf_counter(), time.monotonic()
    revision = answer.read_context.revision
    around = Surroundings(store, scope, revision, filters)
    try:
        draft = _gathered(around, count, answer, wanted)
    except Damaged:  # of what stands around the hits, which are sound themselves
        draft = _gathered(around, count, answer, replace(wanted, hops=0, neighbours=0))
    answer = replace(answer, degraded=(*answer.degraded, *noticed(store, scope, revision, began)))
    made = draft.finish()
    relationships = _relationships(around, made.sources) if wanted.relationships else []
    told = [line for link, line in relationships if link.type not in DRAWN]
    made = with_tail(made, "RELATIONSHIPS", told, draft)
    return Context(
        answer=answer,
        wanted=wanted,
        assembled=made,
        relationships=tuple(link for link, _ in relationships),
        warning=_warning(answer, made, wanted),
        took_ms=round((time.perf_counter() - started) * 1e3, 3),
    )


def _gathered(around: Surroundings, count: Count, answer: Answer, wanted: Wanted) -> Draft:
    draft = Draft(count, wanted.max_tokens, wanted.max_sources)
    gatherer = Gatherer(around, draft, answer.results)
    gatherer.place_hits(wanted.hits_first)
    gatherer.place_linked(wanted.hops)
    gatherer.place_hits(wanted.max_sources)
    gatherer.merge_neighbours(wanted.neighbours)
    gatherer.place_hits(wanted.max_sources)
    gatherer.place_neighbours(wanted.neighbours)
    return draft


def _relationships(around: Surroundings, sources: Sequence[Source]) -> list[tuple[Link, str]]:
    """The links from one source to another, each with how the context tells it."""
    numbers: dict[str, int] = {}
    for source in sources:
        node = source.node
        for name in (node.id, *source.parts, node.parent_id, node.element_id):
            numbers.setdefault(name or "", source.number)
    found = around.store.relations_among(around.scope, list(numbers), around.revision, _RELATIONS)
    told = []
    for link in found:
        one, other = numbers[link.source_id], numbers[link.target_id]
        if one != other:
            names = around.name(link.source_id), around.name(link.target_id)
            line = f"{names[0]} (SOURCE {one}) → {kind(link)} → {names[1]} (SOURCE {other})"
            told.append((link, line))
    return told


def _warning(answer: Answer, made: Assembled, wanted: Wanted) -> str | None:
    found = [answer.warning] if answer.warning else []
    if answer.results and not made.sources:
        found.append(
            f"no source fits into {wanted.max_tokens:,} tokens; allow more of them (max_tokens)"
        )
    return "; ".join(found) or None
