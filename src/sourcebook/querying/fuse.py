"""Ranked lists in, one ranked list out, by weighted reciprocal rank fusion.

Cormack, Clarke and Büttcher (2009): score = sum over lists of weight / (k + rank), k = 60. Every
source's own score and rank stay with the candidate. Passages that hold the query's phrases or
identifiers come first; ties are broken by node id.

Ranks alone forget by how much one passage beats the next. So dense and sparse also vote together:
the sum of their scores, each scaled to 0-1 for this query, gives one more ranked list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcebook.model import Candidate, Match, Scores

RRF_K = 60


def fuse(
    lists: Mapping[str, Sequence[Match]], weights: Mapping[str, float], k: int = RRF_K
) -> list[Candidate]:
    """`lists` by source name ("dense", "sparse", "staged"); a source without a weight counts 1."""
    found: dict[int, Match] = {}
    exact: dict[int, int] = {}
    fused: dict[int, float] = {}
    own: dict[int, dict[str, Any]] = {}
    for source, matches in lists.items():
        weight, rank_name = weights.get(source, 1.0), f"{source}_rank"
        for rank, match in enumerate(matches, start=1):
            passage = match.passage
            if passage not in found:
                found[passage], exact[passage], fused[passage], own[passage] = match, 0, 0.0, {}
            exact[passage] = max(exact[passage], match.exact)
            fused[passage] += weight / (k + rank)
            own[passage][source] = match.score
            own[passage][rank_name] = rank
    order = sorted(found, key=lambda p: (-exact[p], -fused[p], found[p].node_id))
    return [
        Candidate(
            p,
            found[p].node_id,
            found[p].element_id,
            Scores(**own[p], exact=exact[p], fused=fused[p]),
        )
        for p in order
    ]


def combine(dense: Sequence[Match], sparse: Sequence[Match]) -> list[Match]:
    """Both lists as one, by the sum of their scaled scores: a cosine by its place between the
    lowest and the highest of its list, BM25 by its share of the highest."""
    found = {m.passage: m for m in (*sparse, *dense)}
    total = dict.fromkeys(found, 0.0)
    for matches, zero in ((dense, min((m.score for m in dense), default=0.0)), (sparse, 0.0)):
        span = max((m.score for m in matches), default=0.0) - zero
        for match in matches:
            total[match.passage] += (match.score - zero) / span if span > 0 else 0.0
    summed = [replace(match, score=total[p], exact=0) for p, match in found.items()]
    return sorted(summed, key=lambda match: (-match.score, match.node_id))
