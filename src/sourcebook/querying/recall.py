"""A prepared question in, everything that the searches found out, in one fused order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sourcebook.model import CHUNK, Fused, Match, PreparedQuery
from sourcebook.ports import EmbeddedQuery, Within
from sourcebook.querying.answer import Options
from sourcebook.querying.fuse import combine, fuse, weigh
from sourcebook.querying.search import Found, Searches
from sourcebook.querying.understand import WEIGHTS, query_type

_SOURCES: Mapping[str, tuple[str, ...]] = {
    "hybrid": ("dense", "sparse", "staged"),
    "dense": ("dense",),
    "sparse": ("sparse",),
}


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found for one question: the lists, and all of them as one."""

    query: PreparedQuery
    embedded: EmbeddedQuery | None
    lists: Mapping[str, list[Match]]
    weights: Mapping[str, float]
    fused: list[Fused]
    found: Found
    full: bool
    """Whether a list ended only because it was deep enough: there may be more."""


def recall(
    searches: Searches, query: PreparedQuery, options: Options, depth: int, within: Within
) -> Recalled:
    found = searches.run(query, _sources(options), depth, within)
    full = any(len(matches) == depth for matches in found.lists.values())
    if options.fusion == "weighted":
        dense, sparse = WEIGHTS[query_type(query.text)]
        weights: Mapping[str, float] = {"dense": dense, "sparse": sparse}
        lists = {name: found.lists[name] for name in weights if name in found.lists}
        fused = weigh(lists, weights)
    else:
        lists = _with_combined(found.lists)
        weights = {name: options.weights.get(name, 1.0) for name in lists}
        fused = fuse(lists, weights, options.rrf_k)
    return Recalled(query, found.embedded, lists, weights, fused, found, full)


def _sources(options: Options) -> tuple[str, ...]:
    sources = _SOURCES[options.mode]
    flat = (
        options.resolution != CHUNK
        or options.weights.get("staged", 1.0) == 0
        or options.fusion == "weighted"
    )
    return tuple(s for s in sources if not (flat and s == "staged"))


def _with_combined(lists: dict[str, list[Match]]) -> dict[str, list[Match]]:
    if lists.get("dense") and lists.get("sparse"):
        return {**lists, "combined": combine(lists["dense"], lists["sparse"])}
    return lists
