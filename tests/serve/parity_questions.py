"""Two hundred questions for the parity test: the texts of a small world in, questions out, the same
ones for the same seed, some of them wrong on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .parity import Json, Question

COUNT = 200
SHARES = {
    "search": 66,
    "agent": 22,
    "context": 26,
    "similar": 14,
    "node": 16,
    "nodes": 14,
    "links": 8,
    "verify": 10,
    "revisions": 2,
    "baselines": 2,
    "health": 2,
}
ODD = ["?!…", "“größer” – naïve 🚤", "NEAR(fence* OR", "who won the football cup in 1998?", "-k"]
CITED = ("start", "end", "version_id", "element_id", "text_hash", "repository_id")


@dataclass(frozen=True, slots=True)
class Known:
    """What is in the world."""

    texts: Sequence[str]
    nodes: Sequence[str]
    versions: Sequence[tuple[str, str]]
    """Of nodes, some of them gone."""
    citations: Sequence[Json]
    times: Sequence[str]
    """Of the revisions."""


def questions(known: Known, seed: int = 7) -> list[Question]:
    random = Random(seed)
    made = [Question(op, _given(random, known, op)) for op in SHARES for _ in range(SHARES[op])]
    return [*made, *wrong(known)]


def _given(random: Random, known: Known, op: str) -> Json:
    options = OPTIONS[op]
    given: Json = {name: make(random, known) for name, make in MUST.get(op, {}).items()}
    for name in random.sample(sorted(options), min(len(options), random.randrange(4))):
        given[name] = options[name](random, known)
    if "repositories" in given:
        given.pop("repository", None)
    return given


def _query(random: Random, known: Known) -> str:
    text = random.choice(known.texts)
    sentence = random.choice(re.split(r"(?<=[.!?])\s+", text)).strip() or text[:80]
    words = re.findall(r"\w+", text)
    some = " ".join(random.sample(words, min(len(words), random.randint(1, 6))))
    start = random.randrange(max(len(words) - 3, 1))
    phrase = f'"{" ".join(words[start : start + 2])}" {random.choice(words)}'
    other = random.choice(re.findall(r"\w+", random.choice(known.texts)))
    return random.choice(
        [sentence, some, phrase, f"What about {some}, and what about {other}?", random.choice(ODD)]
    )


def _read(random: Random, known: Known) -> Any:
    time, number = random.choice(known.times), random.randint(0, len(known.times))
    return random.choice(
        [
            "head",
            "published",
            "default",
            "baseline:spring",
            f"as-of:{time}",
            f"revision:{number}",
            {"selector": "head"},
            {"baseline_id": "summer"},
            {"as_of": time},
            {"revision": number},
        ]
    )


def _filters(random: Random, known: Known) -> Json:
    return random.choice(
        [
            {"document_type": "policy"},
            {"document_type": ["policy", "design_guidelines"]},
            {"is_binding": True},
            {"berths": 42},
            {"depth": 3.5},
            {"layer": "business"},
            {"element_type": ["BusinessProcess", "ApplicationComponent"]},
            {"department": "nowhere"},
            {"layer": "application", "element_type": "ApplicationComponent"},
        ]
    )


def _one_of(*values: Any) -> Any:
    return lambda random, known: random.choice(values)


def _k(random: Random, known: Known) -> int:
    return random.choice([1, 2, 3, 5, 10, 17, 40, 1000])


def _node(random: Random, known: Known) -> str:
    return random.choice(known.nodes)


_READING = {"read_context": _read, "repository": _one_of("default", "other", "nowhere")}
_ASKING = {
    "k": _k,
    "filters": _filters,
    "rerank": _one_of("none", "local", "late"),
    "min_relevance": _one_of(0, 0.01, 0.2, 0.5, 1),
    "per_document": _one_of(1, 2, 5),
}
MUST: dict[str, dict[str, Any]] = {
    "search": {"query": _query},
    "agent": {"query": _query},
    "context": {"query": _query},
    "similar": {"node_id": _node},
    "node": {"node_id": _node},
    "links": {"node_id": _node},
    "nodes": {"limit": _one_of(1, 2, 5, 1000)},
    "revisions": {"limit": _one_of(1, 2, 100)},
    "verify": {"citation": lambda random, known: _cited(random, known)},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "search": {
        **_READING,
        **_ASKING,
        "mode": _one_of("hybrid", "dense", "sparse"),
        "fusion": _one_of("rrf", "weighted"),
        "repositories": _one_of("*", ["other"], ["other", "default"]),
    },
    "agent": {
        **_READING,
        **_ASKING,
        "min_quality": _one_of(0, 0.3, 0.9),
        "min_words": _one_of(0, 20, 100),
        "exclude_stubs": _one_of(["breadcrumb"], ["placeholder", "breadcrumb"]),
    },
    "context": {
        **_READING,
        "max_tokens": _one_of(1, 60, 300, 4000),
        "max_sources": _one_of(1, 3, 8),
        "hops": _one_of(0, 1, 3),
        "neighbours": _one_of(0, 2),
        "include_relationships": _one_of(True, False),
        "filters": _filters,
    },
    "similar": {**_READING, "k": _k, "filters": _filters},
    "node": _READING,
    "links": _READING,
    "nodes": {
        **_READING,
        "kind": _one_of("document", "section", "chunk", "element", "page", "nothing"),
        "filters": _filters,
        "after": _node,
    },
    "revisions": {"repository": _one_of("other", "nowhere")},
    "baselines": {"repository": _one_of("other")},
    "health": {"repository": _one_of("other", "nowhere")},
    "verify": {},
}


def _cited(random: Random, known: Known) -> Json:
    """As it was given, or with one thing changed."""
    cited = dict(random.choice(known.citations))
    change = random.choice([None, None, *CITED])
    if change in ("start", "end"):
        cited[change] += 1
    elif change is not None:
        cited[change] += "0"
    return cited


def wrong(known: Known) -> Iterator[Question]:
    """What no surface may answer, and nodes and versions that are not there, or no more."""
    node, version = known.versions[-1]
    yield Question("node", {"node_id": node, "version_id": version})
    yield Question("node", {"node_id": node, "version_id": "none"})
    yield Question("node", {"node_id": "files/nothing.md"})
    yield Question("links", {"node_id": "files/nothing.md"})
    yield Question("similar", {"node_id": "files/nothing.md"})
    for op in ("search", "context"):
        yield Question(op, {"query": "  "})
        yield Question(op, {"query": "fence", "read_context": "yesterday"})
        yield Question(op, {"query": "fence", "read_context": "baseline:none"})
        yield Question(op, {"query": "fence", "read_context": "as-of:soon"})
    yield Question("search", {"query": "fence", "read_context": "revision:99"})
    yield Question("search", {"query": "fence", "k": 0})
    yield Question("search", {"query": "fence", "k": 1001})
    yield Question("search", {"query": "fence", "min_relevance": 1.5})
    yield Question("search", {"query": "fence", "mode": "best"})
    yield Question("search", {"query": "fence", "per_document": 0})
    yield Question("search", {"query": "fence", "repositories": ["other", "nowhere"]})
    yield Question("agent", {"query": "fence", "min_quality": -1})
    yield Question("context", {"query": "fence", "max_tokens": 0})
    yield Question("context", {"query": "fence", "hops": 4})
    yield Question("nodes", {"limit": 0})
    yield Question("verify", {"citation": {**known.citations[0], "start": -1}})
