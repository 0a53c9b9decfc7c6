"""USE CASE: a node in, the passages written like it out, by late interaction.

The nearest passages by cosine are ordered by how well they cover the node's own tokens (MaxSim):
what says the same in the same way comes first. No relevance is told: there is no question.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from sourcebook.errors import InvalidInput, ModelUnavailable
from sourcebook.model import (
    CHUNK,
    Candidate,
    Degraded,
    Filter,
    Hit,
    Match,
    Node,
    PreparedQuery,
    Resolved,
    Scores,
    Space,
)
from sourcebook.ports import Vectors, Within
from sourcebook.quality import QUALITY_VERSION
from sourcebook.querying.answer import MAX_RESULTS, Answer
from sourcebook.querying.cite import cite
from sourcebook.querying.damage import noticed
from sourcebook.querying.search import APPROXIMATE, Searches

DEPTH = 200
"""Passages that are compared token by token."""


def similar(
    searches: Searches,
    node: Node,
    text: str,
    k: int,
    filters: tuple[Filter, ...],
    context: Resolved,
) -> Answer:
    started = time.perf_counter()
    if not 1 <= k <= MAX_RESULTS:
        raise InvalidInput(f"k must be from 1 to {MAX_RESULTS}, not {k}", field="k")
    within = Within(context.revision, CHUNK, filters)
    began = time.monotonic()
    hits, candidates, degraded = _nearest(searches, node, text, k, within)
    degraded += noticed(searches.store, searches.scope, context.revision, began)
    took = round((time.perf_counter() - started) * 1e3, 3)
    return Answer(
        status="ok" if hits else "no_results",
        query=PreparedQuery(node.id, node.id, ()),
        query_type="general",
        weights={"late": 1.0},
        read_context=context,
        results=hits,
        candidates=candidates,
        warning=None if hits else "there is no other passage to compare with",
        degraded=tuple(degraded),
        timings_ms={"total": took},
    )


def _nearest(
    searches: Searches, node: Node, text: str, k: int, within: Within
) -> tuple[list[Hit], int, list[Degraded]]:
    """The hits, how many passages were near, and what could not be compared."""
    store, scope, space, codec = (
        searches.store,
        searches.scope,
        searches.space,
        searches.embedder.late,
    )
    if codec is None or space is None:
        raise ModelUnavailable(
            f"`similar` needs token vectors, but {searches.embedder.model} gives none, or nothing "
            'is embedded yet; use embedding.model = "gte-small" and ingest with it'
        )
    asked = searches.embedder.embed_query(text)
    assert asked.tokens is not None
    others, degraded = _others(searches, space, asked.vector, node, max(DEPTH, k), within)
    coded = store.token_vectors(scope, space, [m.passage for m in others])
    known = [
        (m, c) for m, c in zip(others, coded, strict=True) if c is not None and codec.readable(c)
    ]
    alike = codec.maxsim(asked.tokens, [c for _, c in known])
    order = np.lexsort((np.array([m.passage for m, _ in known]), -alike))[:k].tolist()
    ranks = {m.passage: rank for rank, m in enumerate(others, start=1)}
    candidates = [
        Candidate(m.passage, m.node_id, m.element_id, Scores(dense=m.score,
                  dense_rank=ranks[m.passage], rerank=float(alike[i])))
        for i, (m, _) in ((i, known[i]) for i in order)
    ]  # fmt: skip
    stored = store.passages(scope, within.revision, [c.passage for c in candidates])
    sound = {passage.row for passage in stored}
    candidates = [c for c in candidates if c.passage in sound]
    quality = store.quality(scope, QUALITY_VERSION, [p.node.version_id for p in stored])
    hits = cite(scope.repository, within.resolution, candidates, stored, quality)
    if missing := len(others) - len(known):
        reason = f"{missing} passages have no token vectors that this version reads"
        degraded.append(Degraded("late", reason))
    return hits, len(others), degraded


def _others(
    searches: Searches, space: Space, vector: Vectors, node: Node, k: int, within: Within
) -> tuple[list[Match], list[Degraded]]:
    """The k nearest passages, without the node itself and what is inside it."""
    inside = replace(within, parents=frozenset({node.id}))
    depth = k
    while True:
        near, own = (
            searches.store.dense_search(searches.scope, space, vector, depth, place)
            for place in (within, inside)
        )
        same = {node.id, *(match.node_id for match in own.matches)}
        others = [match for match in near.matches if match.node_id not in same]
        if len(others) >= k or len(near.matches) < depth:
            approximate = near.approximate or own.approximate
            return others[:k], [APPROXIMATE] if approximate else []
        depth *= 4
