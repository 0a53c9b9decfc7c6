"""Ranked lists in, one ranked list out, by weighted reciprocal rank fusion or a weighted sum.

Cormack, Clarke and Büttcher (2009): score = sum over lists of weight / (k + rank), k = 60. Every
source's own score and rank stay with the candidate. Passages that hold the query's phrases or
identifiers come first; ties are broken by node id.

Ranks alone forget by how much one passage beats the next. So dense and sparse also vote together:
the sum of their scores, each scaled to 0-1 for this query, gives one more ranked list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcebook.model import Candidate, Fused, Match, Scores

RRF_K = 60
Lists = Mapping[str, Sequence[Match]]
"""Matches by the name of their source: "dense", "sparse", "staged", "combined"."""


def fuse(lists: Lists, weights: Mapping[str, float], k: int = RRF_K) -> list[Fused]:
    """Everything that was found, best first; a source without a weight counts 1."""
    totals: dict[int, float] = {}
    found: dict[int, Match] = {}
    exact: dict[int, int] = {}
    for source, matches in lists.items():
        weight = weights.get(source, 1.0)
        for rank, match in enumerate(matches, start=k + 1):
            passage = match[0]
            if passage in totals:
                totals[passage] += weight / rank
            else:
                totals[passage] = weight / rank
                found[passage] = match
            if match[4]:
                exact[passage] = match[4]
    order = sorted([(-exact.get(p, 0), -totals[p], m[1], p, m[2]) for p, m in found.items()])
    return [
        Fused._make((p, node, element, -total, -held)) for held, total, node, p, element in order
    ]


def weigh(lists: Lists, weights: Mapping[str, float]) -> list[Fused]:
    """The weighted sum of the lists' scores, each scaled to 0-1 for this query, best first."""
    found = {match[0]: match for matches in lists.values() for match in matches}
    exact = {m[0]: m[4] for matches in lists.values() for m in matches if m[4]}
    totals = dict.fromkeys(found, 0.0)
    for source, matches in lists.items():
        for passage, share in _scaled(matches, lowest=source != "sparse"):
            totals[passage] += weights.get(source, 1.0) * share
    order = sorted((-exact.get(p, 0), -totals[p], m[1], p, m[2]) for p, m in found.items())
    return [Fused(p, node, element, -total, -held) for held, total, node, p, element in order]


def combine(dense: Sequence[Match], sparse: Sequence[Match]) -> list[Match]:
    """Both lists as one, by the sum of their scaled scores."""
    found = {match[0]: match for match in sparse}
    found.update((match[0], match) for match in dense)
    totals = dict.fromkeys(found, 0.0)
    for shares in (_scaled(dense, lowest=True), _scaled(sparse, lowest=False)):
        for passage, share in shares:
            totals[passage] += share
    order = sorted([(-totals[p], m[1], p, m[2]) for p, m in found.items()])
    return [Match._make((p, node, element, -total, 0)) for total, node, p, element in order]


def _scaled(matches: Sequence[Match], *, lowest: bool) -> list[tuple[int, float]]:
    """Passages with scores from 0 to 1: a cosine by its place between the lowest and the highest
    of its list, BM25 by its share of the highest."""
    scores = [m[3] for m in matches]
    zero = min(scores, default=0.0) if lowest else 0.0
    span = max(scores, default=0.0) - zero
    return [(m[0], (m[3] - zero) / span) for m in matches] if span > 0 else []


def explain(lists: Lists, chosen: Sequence[Fused]) -> list[Candidate]:
    """The chosen ones with every source's score and rank."""
    wanted = {f.passage for f in chosen}
    own: dict[int, dict[str, Any]] = {passage: {} for passage in wanted}
    for source, matches in lists.items():
        for rank, match in enumerate(matches, start=1):
            if match[0] in wanted:
                told = own[match[0]]
                told[source], told[f"{source}_rank"] = match[3], rank
    return [
        Candidate(
            f.passage,
            f.node_id,
            f.element_id,
            Scores(**own[f.passage], exact=f.exact, fused=f.score),
        )
        for f in chosen
    ]
