"""A request in; what people look at beside answers out: which repositories there are, what changed
between two points in time, how far each space is, how questions went over time, and how golden
questions do at a point in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sourcebook import access
from sourcebook.engine import Engine
from sourcebook.errors import NotFound
from sourcebook.golden import DEPTH, judge, measure
from sourcebook.golden_file import Question
from sourcebook.measures import percentile
from sourcebook.model import Citation, ReadContext
from sourcebook.monitor import STATUSES
from sourcebook.ports import Asked
from sourcebook.serve import wire
from sourcebook.text_diff import text_diff

Json = dict[str, Any]
_QUESTIONS_READ = 10_000
"""The newest of the query log."""
_QUESTIONS_ASKED = 100
"""Of the golden ones: an answer has to come within a minute."""


def repositories(engine: Engine, asked: wire.Here, otherwise: str) -> Json:
    found = access.readable(engine.store, engine.scope, engine.caller, None)
    names = [scope.repository for scope in found]
    return {"repositories": names, "default": engine.scope.repository}


def difference(engine: Engine, asked: wire.Diff, otherwise: str) -> Json:
    old, new = (engine.resolve(wire.read_context(one, otherwise)) for one in (asked.old, asked.new))
    if asked.node_id is None:
        made = engine.diff(old.pinned, new.pinned, kind=asked.kind, limit=asked.limit).to_dict()
        return {**made, "from": asdict(old), "to": asdict(new)}
    sides = [_text(engine, asked.node_id, end.pinned) for end in (old, new)]
    if sides == [None, None]:
        raise NotFound(f"there is no node {asked.node_id!r} at either of these read contexts")
    told, cut = text_diff(sides[0] or "", sides[1] or "")
    document = {"element_id": asked.node_id, "title": asked.node_id, "diff": told, "cut": cut}
    nothing: Json = {"added": [], "removed": [], "changed": []}
    counts = dict.fromkeys(nothing, 0)
    return {
        "from": asdict(old),
        "to": asdict(new),
        "nodes": nothing,
        "relationships": nothing,
        "documents": [document],
        "counts": {"nodes": counts, "relationships": counts},
    }


def _text(engine: Engine, node_id: str, at: ReadContext) -> str | None:
    try:
        return engine.get(node_id, read_context=at)[1]
    except NotFound:
        return None


def spaces(engine: Engine, asked: wire.Here, otherwise: str) -> Json:
    """Of each space that is used or being built: how many texts have no vector yet."""
    head = engine.resolve().revision
    passages = engine.store.counts(engine.scope, head).get("passages", 0)
    told = []
    for space in engine.store.spaces(engine.scope):
        used = space.state != "retired"
        health = engine.store.index_health(engine.scope, space) if used else None
        told.append(
            {
                "id": space.id,
                "model": space.model,
                "state": space.state,
                "passages": passages,
                "pending": health.pending if health else None,
                "failed": health.failed if health else None,
            }
        )
    return {"spaces": told}


# --- questions over time -------------------------------------------------------------------------


def queries(engine: Engine, asked: wire.Queries, otherwise: str) -> Json:
    rows = engine.store.query_log(engine.scope, asked.since, _QUESTIONS_READ)
    return {"logged": engine.settings.monitoring.log, **chart(rows, asked.buckets)}


def chart(rows: Sequence[Asked], buckets: int) -> Json:
    """Equal spans of time from the first question to the last; one that nobody asked in is there
    too, with no latency."""
    if not rows:
        return {"since": None, "until": None, "count": 0, "buckets": []}
    times = [datetime.fromisoformat(row.at) for row in rows]
    first, last = min(times), max(times)
    span = (last - first) / buckets
    groups: list[list[Asked]] = [[] for _ in range(buckets)]
    for row, at in zip(rows, times, strict=True):
        place = int((at - first) / span) if span else 0
        groups[min(place, buckets - 1)].append(row)
    return {
        "since": first.isoformat(),
        "until": last.isoformat(),
        "count": len(rows),
        "buckets": [
            {"at": (first + span * number).isoformat(), **_bucket(group)}
            for number, group in enumerate(groups)
        ],
    }


def _bucket(rows: Sequence[Asked]) -> Json:
    times = [row.latency_ms for row in rows]
    return {
        "count": len(rows),
        **{status: sum(row.status == status for row in rows) for status in STATUSES},
        "p50_ms": percentile(times, 0.5),
        "p95_ms": percentile(times, 0.95),
    }


# --- golden questions ----------------------------------------------------------------------------


def golden(engine: Engine, asked: wire.Golden, otherwise: str) -> Json:
    """The questions that people judged results of, asked at one point in time."""
    at = engine.resolve(asked.at(otherwise))
    rows = engine.golden().rows[:_QUESTIONS_ASKED]
    quiet, known = engine.unlogged(), {}

    def holds(citation: Citation) -> bool:
        if citation not in known:
            known[citation] = engine.verify(citation).valid
        return known[citation]

    outcomes = []
    for row in rows:
        wanted = tuple((name,) for name in row["must_include"])
        unwanted = tuple(row["must_not_include"])
        question = Question(row["id"], row["query"], wanted, unwanted, at.pinned)
        answer = quiet.search(question.query, DEPTH, read_context=at.pinned)
        outcomes.append(judge(question, answer, holds))
    wrong = [
        {"query": each.question.query, "missing": each.missing, "forbidden": list(each.forbidden)}
        for each in outcomes
        if each.missing or each.forbidden
    ]
    return {
        "read_context": asdict(at),
        "questions": len(rows),
        "measures": measure(outcomes),
        "wrong": wrong,
    }
