"""USE CASE: a question in, ranked and cited hits out, at one resolved revision.

prepare -> search (dense | sparse | staged, side by side) -> fuse -> judge (rerank, relevance)
-> adjust -> group -> cite -> gate

A compound question is also asked in its parts; a passage that answers a part well is a good one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

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
from sourcebook.querying.adjust import KEYS, adjustments, product
from sourcebook.querying.answer import Answer, Options, Status, hit_to_dict
from sourcebook.querying.cache import Cache
from sourcebook.querying.cite import cite
from sourcebook.querying.expand import Surroundings
from sourcebook.querying.fuse import explain, fuse
from sourcebook.querying.gate import gate, relevant
from sourcebook.querying.group import group
from sourcebook.querying.judge import Judged, judge
from sourcebook.querying.prepare import prepare
from sourcebook.querying.recall import Recalled, recall
from sourcebook.querying.relevance import OK
from sourcebook.querying.search import Searches
from sourcebook.querying.split import split
from sourcebook.querying.understand import document_type, query_type

__all__ = ["Answer", "Options", "hit_to_dict", "search"]

_AROUND = 2
"""Neighbours on each side that a short passage is read with."""


@dataclass(frozen=True, slots=True)
class Caches:
    """What was asked before, bounded in number and time."""

    questions: Cache[EmbeddedQuery]
    answers: Cache[Answer]

    @classmethod
    def make(cls) -> Caches:
        return cls(Cache(512, 3600), Cache(256, 300))


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
        return replace(held, timings_ms={"cached": took, "total": took})
    answer = Question(searches, text, options, context, generator).answer()
    if answers is not None and _complete(answer):
        answers.put(key, answer)
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


def _complete(answer: Answer) -> bool:
    return not answer.degraded and all(hit.quality is not None for hit in answer.results)


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
        parts = split(text) if options.split else ()
        self.parts = tuple(parts) if len(parts) > 1 else ()
        self.timings: dict[str, float] = {}
        self.degraded: dict[Degraded, None] = {}

    def answer(self) -> Answer:
        started = time.perf_counter()
        depth = max(self.options.depth, self.options.k)
        while True:
            asked = self._recall(depth)
            hits, rejected, found, asked_type = self._ranked(asked)
            if len(hits) >= self.options.k or not any(r.full for r in asked):
                break
            depth *= 4
        self.timings["total"] = round((time.perf_counter() - started) * 1e3, 3)
        status, warning = self._outcome(hits, rejected)
        return Answer(
            status=status,
            query=self.query,
            query_type=query_type(self.query.text),
            weights=asked[0].weights,
            read_context=self.context,
            results=[replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1)],
            candidates=found,
            warning=warning,
            degraded=tuple(self.degraded),
            rejected=tuple(rejected),
            parts=self.parts,
            document_type=asked_type,
            timings_ms=self.timings,
        )

    # --- stages --------------------------------------------------------------------------------

    def _recall(self, depth: int) -> list[Recalled]:
        """What was found for the question, and for each of its parts."""
        asked = []
        for query in (self.query, *map(prepare, self.parts)):
            found = recall(self.searches, query, self.options, depth, self.within)
            asked.append(found)
            self.degraded |= dict.fromkeys(found.found.degraded)
            for part, took in found.found.timings_ms.items():
                self.timings[part] = round(self.timings.get(part, 0.0) + took, 3)
        return asked

    def _ranked(
        self, asked: Sequence[Recalled]
    ) -> tuple[list[Hit], list[Rejected], int, str | None]:
        """Hits, what was refused, how many were found, and the document type that was asked for."""
        fused = asked[0].fused if len(asked) == 1 else _merged(asked)
        pool, rest = fused[: self.options.depth], fused[self.options.depth :]
        judged = self._timed("judge", lambda: self._judge(asked, pool))
        stored, changes, asked_type = self._adjust(pool)
        worth = judged.worth * np.array([product(c) for c in changes])
        order = sorted(range(len(pool)), key=lambda i: (-pool[i].exact, -worth[i], pool[i].node_id))
        told = {
            f.passage: Told(
                judged.rerank[i], float(judged.relevance[i]), float(worth[i]), changes[i]
            )
            for i, f in enumerate(pool)
        }
        ranked = group([*(pool[i] for i in order), *rest], self.options.per_document)
        hits, rejected = self._gated(asked, ranked, told, stored)
        return hits, rejected, len(fused), asked_type

    def _judge(self, asked: Sequence[Recalled], pool: Sequence[Fused]) -> Judged:
        """Of a compound question, a passage is worth what it is to the part it answers best."""
        judged = [
            judge(self.searches, each, pool, self.options, self.within, self.generator)
            for each in asked[: 1 if self.options.rerank == "llm" else None]
        ]
        first = judged[0]
        for more in judged[1:]:
            better = more.relevance > first.relevance
            first.rerank = [
                b if wins else a
                for a, b, wins in zip(first.rerank, more.rerank, better, strict=True)
            ]
            if self.options.rerank in ("local", "late"):
                first.worth = np.maximum(first.worth, more.worth)
            first.relevance = np.maximum(first.relevance, more.relevance)
        for each in judged:
            self.degraded |= dict.fromkeys(each.degraded)
        return first

    def _adjust(
        self, pool: Sequence[Fused]
    ) -> tuple[dict[int, StoredPassage], list[tuple[Adjustment, ...]], str | None]:
        """What is known of each candidate's standing; read only where anything is known at all."""
        if not self.store.has_facet(self.scope, KEYS):
            return {}, [()] * len(pool), None
        stored = self._read([f.passage for f in pool])
        superseded = self._superseded({f.element_id for f in pool})
        known = {p.node.metadata.get("document_type") for p in stored.values()}
        asked_type = document_type(self.query.text, {k for k in known if isinstance(k, str)})
        changes = []
        for found in pool:
            metadata = dict(stored[found.passage].node.metadata)
            if found.element_id in superseded:
                metadata.setdefault("superseded_by", superseded[found.element_id])
            changes.append(adjustments(metadata, self.options.factors, asked_type))
        return stored, changes, asked_type

    def _superseded(self, elements: set[str]) -> Mapping[str, str]:
        """Elements that others say they replace."""
        links = self.store.relations(self.scope, sorted(elements), self.context.revision, 1000)
        return {x.target_id: x.source_id for x in links if x.type == "supersedes"}

    def _gated(
        self,
        asked: Sequence[Recalled],
        ranked: Sequence[Fused],
        told: Mapping[int, Told],
        stored: dict[int, StoredPassage],
    ) -> tuple[list[Hit], list[Rejected]]:
        """Hits in their order until enough have passed, read a few at a time."""
        kept: list[Hit] = []
        refused: list[Rejected] = []
        options = self.options
        step = options.k if options.gate is None else max(options.k, 25)
        for start in range(0, len(ranked), step):
            candidates = _explained(asked, ranked[start : start + step])
            hits = [_with(hit, told.get(row)) for row, hit in self._hits(candidates, stored)]
            hits, low = relevant(hits, options.min_relevance)
            refused += low
            if options.gate is not None:
                wanted = options.k - len(kept)
                hits, bad = gate(hits, options.gate, self._expand, wanted)
                refused += bad
            kept += hits
            if len(kept) >= options.k:
                break
        return kept[: options.k], refused

    def _hits(
        self, candidates: Sequence[Candidate], known: dict[int, StoredPassage]
    ) -> list[tuple[int, Hit]]:
        """Each candidate's passage row and its hit; what is not known yet is read."""
        rows = [candidate.passage for candidate in candidates]
        known |= self._read([row for row in rows if row not in known])
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
        texts = [self.store.text(self.scope, node) for node in nodes] or [hit.text]
        return "\n\n".join([*([hit.context] if hit.context else []), *texts])

    def _outcome(
        self, hits: Sequence[Hit], rejected: Sequence[Rejected]
    ) -> tuple[Status, str | None]:
        if not hits:
            return "no_results", _why_none(self.query, self.context, rejected)
        best = max((h.relevance for h in hits if h.relevance is not None), default=None)
        if best is None or best >= OK:
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
    plain = {c.passage: c for c in explain({}, some)}
    return [told.get(f.passage, plain[f.passage]) for f in some]


def _with(hit: Hit, told: Told | None) -> Hit:
    """The hit with what was judged of it; those behind the pool were not judged."""
    if told is None:
        return hit
    scores = replace(hit.scores, rerank=told.rerank, adjusted=told.worth)
    return replace(hit, relevance=told.relevance, scores=scores, adjustments=told.adjustments)


def _why_none(query: PreparedQuery, context: Resolved, rejected: Sequence[Rejected]) -> str:
    if not query.terms:
        return "the query has no words to search for"
    if context.revision == 0:
        return "the repository holds nothing at this read context; run `sourcebook ingest PATH`"
    if rejected:
        return f"all of the {len(rejected)} best passages were refused; see the reasons"
    return "no passage matches the query and its filters"
