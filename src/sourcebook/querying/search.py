"""A prepared query in, one ranked list a source out: full-text in a thread beside the embedding of
the query, dense and staged.

A part that fails makes the answer degraded with a reason; only when nothing is left to answer with
is it an error. Staged search (documents and sections first, then the chunks inside them) is one
more list beside flat search, so it can add to what flat search finds but never lose it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace

from sourcebook import asker
from sourcebook.errors import ModelUnavailable
from sourcebook.model import (
    CHUNK,
    DOCUMENT,
    SECTION,
    Degraded,
    Match,
    PreparedQuery,
    Scope,
    Space,
)
from sourcebook.ports import EmbeddedQuery, Embedder, Store, Vectors, Within
from sourcebook.querying.cache import Cache

COARSE = 10
"""How many documents, and how many sections, staged search looks into."""
_SECTIONS = 1000
"""Enough to see which documents have sections."""

_APPROXIMATE = "approximate: the index of vectors may have missed some of the nearest passages"
APPROXIMATE = Degraded("dense", _APPROXIMATE)

_threads = ThreadPoolExecutor(max_workers=32, thread_name_prefix="sourcebook-search")
"""Made as they are needed: one a question that is being answered."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the searches gave, by source, and what they could not give."""

    lists: dict[str, list[Match]] = field(default_factory=dict)
    asked: list[EmbeddedQuery] = field(default_factory=list)
    degraded: list[Degraded] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)

    @property
    def embedded(self) -> EmbeddedQuery | None:
        """The question as the model sees it; None where it was not asked, or could not say."""
        return self.asked[0] if self.asked else None

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.timings_ms[part] = round((time.perf_counter() - start) * 1e3, 3)


@dataclass(frozen=True, slots=True)
class Searches:
    """The searches of one scope; `space` is None while nothing was embedded."""

    store: Store
    embedder: Embedder
    scope: Scope
    space: Space | None
    questions: Cache[EmbeddedQuery] | None = None
    """Those that were embedded a while ago."""

    def run(
        self, query: PreparedQuery, sources: tuple[str, ...], depth: int, within: Within
    ) -> Found:
        """`sources` names the lists that are wanted: "dense", "sparse", "staged"."""
        found = Found()
        if not query.terms:
            return found
        dense = self.space is not None and bool({"dense", "staged"} & set(sources))
        if not dense:
            if "dense" in sources and within.revision:
                found.degraded.append(Degraded("dense", "nothing is embedded yet"))
            if "sparse" in sources:
                self._sparse(found, query, depth, within)
            return found
        if "sparse" not in sources:
            self._by_meaning(found, query, sources, depth, within)
        else:
            known = copy_context()  # who waits for it
            searching = _threads.submit(known.run, self._sparse, found, query, depth, within)
            try:
                self._by_meaning(found, query, sources, depth, within)
            except ModelUnavailable as error:
                found.degraded.append(Degraded("dense", str(error)))
            except BaseException:
                if not searching.cancel():
                    wait([searching])
                raise
            searching.result()
            if APPROXIMATE in found.degraded:
                with found.timed("complete"):
                    found.lists["dense"] = self._completed(found, query, depth, within)
        # In a fixed order: sums of scores depend on it in the last bit.
        lists = {name: found.lists[name] for name in sources if name in found.lists}
        return replace(found, lists=lists)

    def _sparse(self, found: Found, query: PreparedQuery, depth: int, within: Within) -> None:
        with found.timed("sparse"):
            found.lists["sparse"] = self.store.sparse_search(self.scope, query, depth, within)

    def _embed(self, found: Found, query: PreparedQuery) -> EmbeddedQuery:
        with found.timed("embed"):
            embedded = self._embedded(query.normalized)
        found.asked.append(embedded)
        return embedded

    def _by_meaning(
        self,
        found: Found,
        query: PreparedQuery,
        sources: tuple[str, ...],
        depth: int,
        within: Within,
    ) -> None:
        vector = self._embed(found, query).vector
        asker.still_waits()
        self._dense(found, vector, sources, depth, within)

    def _dense(
        self,
        found: Found,
        vector: Vectors,
        sources: tuple[str, ...],
        depth: int,
        within: Within,
    ) -> None:
        space = self.space
        assert space is not None
        if "dense" in sources:
            with found.timed("dense"):
                near = self.store.dense_search(self.scope, space, vector, depth, within)
                found.lists["dense"] = near.matches
            if near.approximate:
                found.degraded.append(APPROXIMATE)
        if "staged" in sources and self._layered(space, within):
            with found.timed("staged"):
                found.lists["staged"], approximate = self._staged(space, vector, depth, within)
            if approximate:
                found.degraded.append(Degraded("staged", _APPROXIMATE))
        self._report_missing(found, "dense", space, within)
        if "staged" in found.lists:
            for resolution in (DOCUMENT, SECTION):
                coarse = replace(within, resolution=resolution)
                self._report_missing(found, "staged", space, coarse)

    def _completed(
        self, found: Found, query: PreparedQuery, depth: int, within: Within
    ) -> list[Match]:
        """The nearest with what full-text found and is as near, which the index may have missed."""
        assert found.embedded is not None
        near = found.lists["dense"]
        known = {match.passage for match in near}
        others = [match for match in found.lists["sparse"] if match.passage not in known]
        asked = (found.embedded.vector, query, [match.passage for match in others], within)
        cosines = self.store.evidence(self.scope, self.space, *asked).cosine
        assert cosines is not None
        more = [
            Match(match.passage, match.node_id, match.element_id, cosine)
            for match, cosine in zip(others, cosines.tolist(), strict=True)
            if not math.isnan(cosine)
        ]
        order = sorted([*near, *more], key=lambda m: (-m.score, m.node_id, m.passage))
        return order[:depth]

    def _embedded(self, text: str) -> EmbeddedQuery:
        held = self._held(text)
        if held is None:
            held = self.embedder.embed_query(text)
            if self.questions is not None:
                self.questions.put(self._key(text), held)
        return held

    def _held(self, text: str) -> EmbeddedQuery | None:
        return self.questions.get(self._key(text)) if self.questions is not None else None

    def _key(self, text: str) -> Hashable:
        return self.scope, self.embedder.provider, self.embedder.model, text

    def _report_missing(self, found: Found, part: str, space: Space, within: Within) -> None:
        coverage = self.store.coverage(self.scope, space, within)
        if missing := coverage.passages - coverage.vectors:
            reason = f"{missing} of {coverage.passages} passages have no vector yet"
            found.degraded.append(Degraded(part, reason))

    def _layered(self, space: Space, within: Within) -> bool:
        """Whether there are sections at all: without them staged search is flat search."""
        sections = replace(within, resolution=SECTION)
        return self.store.coverage(self.scope, space, sections).passages > 0

    def _staged(
        self, space: Space, vector: Vectors, depth: int, within: Within
    ) -> tuple[list[Match], bool]:
        """Chunks of the nearest sections, and of the nearest documents that have no sections; and
        whether any of these searches was approximate."""
        approximate = False

        def nearest(resolution: int, k: int, parents: frozenset[str] | None) -> list[Match]:
            inside = replace(within, resolution=resolution, parents=parents)
            found = self.store.dense_search(self.scope, space, vector, k, inside)
            nonlocal approximate
            approximate |= found.approximate
            return found.matches

        documents = {match.element_id: match.node_id for match in nearest(DOCUMENT, COARSE, None)}
        inner = nearest(SECTION, _SECTIONS, frozenset(documents.values()))
        coarse = {match.node_id for match in (*nearest(SECTION, COARSE, None), *inner[:COARSE])}
        divided = {match.element_id for match in inner}
        coarse |= {node for element, node in documents.items() if element not in divided}
        return nearest(CHUNK, depth, frozenset(coarse)), approximate
