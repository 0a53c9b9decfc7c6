"""USE CASE: a question in, ranked and cited hits out, at one resolved revision.

prepare -> search (sparse beside the embedding, dense, staged) -> fuse -> judge (rerank, relevance)
-> adjust -> group -> cite -> gate

A compound question is also asked in its parts; a passage that answers a part well is a good one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sourcebook import asker
from sourcebook.errors import Damaged, ModelUnavailable
from sourcebook.model import (
    Adjustment,
    Candidate,
    Degraded,
    Fused,
    Hit,
    Match,
    PreparedQuery,
    Rejected,
    Resolved,
)
from sourcebook.ports import EmbeddedQuery, Generator, StoredPassage, Within
from sourcebook.quality import QUALITY_VERSION
from sourcebook.querying.adjust import KEYS, adjustments, product, types
from sourcebook.querying.answer import Answer, Options, Status, hit_to_dict
from sourcebook.querying.cache import Cache
from sourcebook.querying.cite import cite
from sourcebook.querying.damage import noticed
from sourcebook.querying.expand import Surroundings
from sourcebook.querying.fuse import explain, fuse
from sourcebook.querying.gate import gate
from sourcebook.querying.group import group
from sourcebook.querying.judge import Judged, judge
from sourcebook.querying.prepare import prepare
from sourcebook.querying.recall import Recalled, recall
from sourcebook.querying.relevance import OK
from sourcebook.querying.search import Searches
from sourcebook.querying.split import split, split_by_model
from sourcebook.querying.understand import document_type, query_type

__all__ = ["Answer", "Options", "hit_to_dict", "search"]

_AROUND = 2
"""Neighbours on each side that a short passage is read with."""
_KEPT = 100
"""Hits of an answer that is kept for who asks again."""
_LINKS = 50_000
"""Of all candidates together, that are looked at for what supersedes what: elements of a model may
have hundreds each."""


@dataclass(frozen=True, slots=True)
class Caches:
    """What was asked before, bounded in number and time."""

    questions: Cache[EmbeddedQuery]
    answers: Cache[Answer]

    @classmethod
    def make(cls) -> Caches:
        return cls(Cache(2048, 3600), Cache(1024, 300))


def search(
    searches: Searches,
    text: str,
    options: Options,
    generator: Generator | None = None,
    answers: Cache[Answer] | None = None,
) -> Answer:
    options.check()
    started = time.perf_counter()
    context = searches.store.resolve(searches.scope, options.read_context)
    key = _key(searches, text, options, context, generator)
    held = answers.get(key) if answers is not None else None
    if held is not None:
        took = round((time.perf_counter() - started) * 1e3, 3)
        timings = {"cached": took, "total": took}
        return replace(held, results=list(held.results), timings_ms=timings)
    answer = Question(searches, text, options, context, generator).answer()
    if answers is not None and _lasting(answer):
        answers.put(key, replace(answer, results=list(answer.results)))
    return answer


def _key(
    searches: Searches,
    text: str,
    options: Options,
    context: Resolved,
    generator: Generator | None,
) -> Hashable:
    """All that an answer depends on. A space's vectors only grow, and an answer is kept only once
    none is missing."""
    return (
        searches.scope,
        context,
        searches.space,
        (searches.embedder.provider, searches.embedder.model),
        generator.model if generator else None,
        text,
        repr(options),
    )


def _lasting(answer: Answer) -> bool:
    """Whether nothing is missing, and it is small enough to be kept."""
    complete = not answer.degraded and all(hit.quality is not None for hit in answer.results)
    return complete and len(answer.results) <= _KEPT


class Told(NamedTuple):
    """What was judged of one candidate."""

    rerank: float | None
    relevance: float
    worth: float
    adjustments: tuple[Adjustment, ...]


class Question:
    """One question on its way through the pipeline."""

    def __init__(
        self,
        searches: Searches,
        text: str,
        options: Options,
        context: Resolved,
        generator: Generator | None,
    ) -> None:
        self.searches, self.options, self.context = searches, options, context
        self.generator = generator
        self.store, self.scope = searches.store, searches.scope
        self.query = prepare(text)
        self.within = Within(context.revision, options.resolution, options.filters)
        self.timings: dict[str, float] = {}
        self.degraded: dict[Degraded, None] = {}
        self.began = time.monotonic()
        parts = self._parts(text) if options.split else ()
        self.parts = parts if len(parts) > 1 else ()

    def answer(self) -> Answer:
        started = time.perf_counter()
        asked, fused = self._recall()
        hits, rejected, asked_type = self._ranked(asked, fused)
        damage = noticed(self.store, self.scope, self.context.revision, self.began)
        self.degraded |= dict.fromkeys(damage)
        self.timings["total"] = round((time.perf_counter() - started) * 1e3, 3)
        status, warning = self._outcome(hits, rejected)
        return Answer(
            status=status,
            query=self.query,
            query_type=query_type(self.query.text),
            weights=asked[0].weights,
            read_context=self.context,
            results=[
                hit if hit.rank == rank else replace(hit, rank=rank)
                for rank, hit in enumerate(hits, start=1)
            ],
            candidates=len(fused),
            warning=warning,
            degraded=tuple(self.degraded),
            rejected=tuple(rejected),
            parts=self.parts,
            document_type=asked_type,
            timings_ms=self.timings,
        )

    def _parts(self, text: str) -> tuple[str, ...]:
        """By rule; where that finds nothing, by the language model, if it may."""
        parts = split(text)
        if len(parts) > 1 or not (self.options.split_by_model and self.generator):
            return parts
        try:
            return split_by_model(self.generator, text)
        except ModelUnavailable as error:
            self.degraded[Degraded("split", str(error))] = None
            return parts

    # --- stages --------------------------------------------------------------------------------

    def _recall(self) -> tuple[list[Recalled], list[Fused]]:
        """What was found for the question and for each of its parts, and all of it as one list.
        Looks deeper where a few documents fill the lists."""
        options = self.options
        depth = max(options.depth, options.k)
        while True:
            asked = [self._asked(query, depth) for query in (self.query, *map(prepare, self.parts))]
            fused = asked[0].fused if len(asked) == 1 else _merged(asked)
            enough = len(group(fused, options.per_document)) >= options.k
            if enough or not any(each.full for each in asked):
                return asked, fused
            depth *= 4

    def _asked(self, query: PreparedQuery, depth: int) -> Recalled:
        asker.still_waits()
        found = recall(self.searches, query, self.options, depth, self.within)
        self.degraded |= dict.fromkeys(found.found.degraded)
        for part, took in found.found.timings_ms.items():
            self.timings[part] = round(self.timings.get(part, 0.0) + took, 3)
        return found

    def _ranked(
        self, asked: Sequence[Recalled], fused: Sequence[Fused]
    ) -> tuple[list[Hit], list[Rejected], str | None]:
        """Hits, what was refused, and the document type that was asked for."""
        pool, rest = self._pool(fused)
        made = (self.searches, asked, pool, self.options, self.within, self.generator)
        asker.still_waits()
        judged = self._timed("judge", lambda: judge(*made))
        self.degraded |= dict.fromkeys(judged.degraded)
        asker.still_waits()
        stored, changes, asked_type = self._adjust(pool)
        worth = judged.worth * np.array([product(c) for c in changes])
        order = sorted(range(len(pool)), key=lambda i: (-pool[i].exact, -worth[i], i))
        place = {f.passage: i for i, f in enumerate(pool)}

        def told(passage: int) -> Told | None:
            i = place.get(passage)
            if i is None:
                return None
            rerank, relevance = judged.rerank[i], float(judged.relevance[i])
            return Told(rerank, relevance, float(worth[i]), changes[i])

        found = [pool[i] for i in order] + (rest if self.options.min_relevance == 0 else [])
        ranked = group(found, self.options.per_document)
        hits, rejected = self._gated(asked, ranked, told, stored)
        return hits, rejected, asked_type

    def _pool(self, fused: Sequence[Fused]) -> tuple[list[Fused], list[Fused]]:
        """What is judged, and what is not: the first ones, and enough documents where a few fill
        the list."""
        options = self.options
        first = {f.passage for f in fused[: max(options.depth, options.k)]}
        first |= {f.passage for f in group(fused, options.per_document)[: options.k]}
        return (
            [f for f in fused if f.passage in first],
            [f for f in fused if f.passage not in first],
        )

    def _adjust(
        self, pool: Sequence[Fused]
    ) -> tuple[dict[int, StoredPassage], list[tuple[Adjustment, ...]], str | None]:
        """What is known of each candidate's standing; read only where anything is known at all."""
        if not self.store.has_standing(self.scope, KEYS):
            return {}, [()] * len(pool), None
        stored = self._read([f.passage for f in pool])
        superseded = self._superseded({f.element_id for f in pool})
        known = {kind for p in stored.values() for kind in types(p.node.metadata)}
        asked_type = document_type(self.query.text, known)
        changes: list[tuple[Adjustment, ...]] = []
        for found in pool:
            if found.passage not in stored:  # damaged: it will be left out
                changes.append(())
                continue
            metadata = dict(stored[found.passage].node.metadata)
            if found.element_id in superseded and not metadata.get("superseded_by"):
                metadata["superseded_by"] = superseded[found.element_id]
            changes.append(adjustments(metadata, self.options.factors, asked_type))
        return stored, changes, asked_type

    def _superseded(self, elements: set[str]) -> Mapping[str, str]:
        """Elements that others say they replace."""
        links = self.store.relations(self.scope, sorted(elements), self.context.revision, _LINKS)
        told = [x for x in links if x.type == "supersedes" and x.source_id != x.target_id]
        return {x.target_id: x.source_id for x in told}

    def _gated(
        self,
        asked: Sequence[Recalled],
        ranked: Sequence[Fused],
        told: Callable[[int], Told | None],
        stored: dict[int, StoredPassage],
    ) -> tuple[list[Hit], list[Rejected]]:
        """Hits in their order until enough have passed, read a few at a time."""
        kept: list[Hit] = []
        refused: list[Rejected] = []
        options = self.options
        step = options.k if options.gate is None else max(options.k, 25)
        for start in range(0, len(ranked), step):
            asker.still_waits()
            candidates = _explained(asked, ranked[start : start + step])
            hits = [_with(hit, told(row)) for row, hit in self._hits(candidates, stored)]
            rules = (options.min_relevance, options.gate, self._expand, options.k - len(kept))
            passed, low = gate(hits, *rules)
            kept += passed
            refused += low
            if len(kept) == options.k:
                break
        return kept, refused

    def _hits(
        self, candidates: Sequence[Candidate], known: dict[int, StoredPassage]
    ) -> list[tuple[int, Hit]]:
        """Each candidate's passage row and its hit; what is not known yet is read."""
        rows = [candidate.passage for candidate in candidates]
        known |= self._read([row for row in rows if row not in known])
        candidates = [c for c in candidates if c.passage in known]  # the others are damaged
        rows = [candidate.passage for candidate in candidates]
        stored = [known[row] for row in rows]
        versions = [passage.node.version_id for passage in stored]
        quality = self.store.quality(self.scope, QUALITY_VERSION, versions)
        made = (self.scope.repository, self.options.resolution)
        return list(zip(rows, cite(*made, candidates, stored, quality), strict=True))

    def _read(self, rows: Sequence[int]) -> dict[int, StoredPassage]:
        if not rows:
            return {}
        found = self.store.passages(self.scope, self.context.revision, rows)
        return {passage.row: passage for passage in found}

    def _expand(self, hit: Hit) -> str:
        """The passage with what stands around it, or the words of its relationships."""
        around = Surroundings(self.store, self.scope, self.context.revision)
        nodes = around.siblings(hit.node, _AROUND)
        try:
            texts = [self.store.text(self.scope, node) for node in nodes] or [hit.text]
        except Damaged:  # what stands around it; the answer says so
            texts = [hit.text]
        return "\n\n".join([*([hit.context] if hit.context else []), *texts])

    def _outcome(
        self, hits: Sequence[Hit], rejected: Sequence[Rejected]
    ) -> tuple[Status, str | None]:
        if not hits:
            return "no_results", _why_none(self.query, self.context, rejected)
        best = max((h.relevance for h in hits if h.relevance is not None), default=None)
        if best is None:
            return "low_confidence", "no passage could be judged; they are in the fused order"
        if best >= OK:
            return "ok", None
        return "low_confidence", (
            f"the best passage has a relevance of {best:.2f}, below {OK:g}; it may not answer the "
            "question"
        )

    def _timed(self, part: str, work: Callable[[], Judged]) -> Judged:
        started = time.perf_counter()
        done = work()
        self.timings[part] = round((time.perf_counter() - started) * 1e3, 3)
        return done


def _merged(asked: Sequence[Recalled]) -> list[Fused]:
    """The fused lists of a question and its parts as one."""
    lists = {
        str(number): [Match(f.passage, f.node_id, f.element_id, f.score, f.exact) for f in a.fused]
        for number, a in enumerate(asked)
    }
    return fuse(lists, {})


def _explained(asked: Sequence[Recalled], some: Sequence[Fused]) -> list[Candidate]:
    """With the scores and ranks of the question, or of the part that found a passage first."""
    told = {c.passage: c for each in reversed(asked) for c in explain(each.lists, some)
            if c.scores.dense_rank or c.scores.sparse_rank or c.scores.staged_rank}  # fmt: skip
    return [told.get(f.passage) or explain({}, [f])[0] for f in some]


def _with(hit: Hit, told: Told | None) -> Hit:
    """The hit with what was judged of it; those behind the pool were not judged."""
    if told is None:
        return hit
    scores = replace(hit.scores, rerank=told.rerank, adjusted=min(told.worth, 1.0))
    return replace(hit, relevance=told.relevance, scores=scores, adjustments=told.adjustments)


def _why_none(query: PreparedQuery, context: Resolved, rejected: Sequence[Rejected]) -> str:
    if not query.terms:
        return "the query has no words to search for"
    if context.revision == 0:
        return "the repository holds nothing at this read context; run `sourcebook ingest PATH`"
    if len(rejected) == 1:
        return "the only passage was refused; see the reason"
    if rejected:
        return f"all of the {len(rejected)} best passages were refused; see the reasons"
    return "no passage matches the query and its filters"
