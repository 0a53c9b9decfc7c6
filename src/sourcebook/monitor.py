"""Answers in, rows for the query log out; rows in, a summary of what was asked and answered out.

Nothing here reads or writes: the store keeps the rows, and `status` shows the summary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from sourcebook.hashing import digest
from sourcebook.measures import mean, percentile
from sourcebook.model import Json, Scores
from sourcebook.ports import Asked
from sourcebook.retrieve import Answer

STATUSES = ("ok", "low_confidence", "no_results")
SHOWN = 10
"""Questions in each list of a summary."""
_LONGEST_TEXT = 1000


def asked(
    answer: Answer,
    kind: str,
    mode: str,
    rerank: str,
    *,
    keep_text: bool = True,
    moment: datetime | None = None,
) -> Asked:
    """The row about one answer."""
    found = Counter(_found_by(hit.scores) for hit in answer.results)
    first = answer.results[0].relevance if answer.results else None
    return Asked(
        at=(moment or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="microseconds"),
        kind=kind,
        text=_storable(answer.query.text) if keep_text else None,
        text_hash=digest(answer.query.normalized),
        revision=answer.read_context.revision,
        mode=mode,
        rerank=rerank,
        status=answer.status,
        relevance=None if first is None else float(first),
        results=len(answer.results),
        found_by_both=found["both"],
        dense_only=found["dense_only"],
        sparse_only=found["sparse_only"],
        candidates=answer.candidates,
        latency_ms=float(answer.timings_ms.get("total", 0.0)),
    )


def summarise(rows: Sequence[Asked]) -> dict[str, Json]:
    """Shares are of the questions (`status`) or of the hits (`sources`); what has no data is
    None. The order of the rows does not matter."""
    statuses = Counter(row.status for row in rows)
    sources = {
        "both": sum(row.found_by_both for row in rows),
        "dense_only": sum(row.dense_only for row in rows),
        "sparse_only": sum(row.sparse_only for row in rows),
    }
    relevances = [row.relevance for row in rows if row.relevance is not None]
    empty = [row for row in rows if row.status == "no_results"]
    unsure = [row for row in rows if row.status == "low_confidence"]
    return {
        "count": len(rows),
        "since": min((row.at for row in rows), default=None),
        "until": max((row.at for row in rows), default=None),
        "kinds": dict(sorted(Counter(row.kind for row in rows).items())),
        "status": _shares({name: statuses[name] for name in STATUSES}),
        "sources": _shares(sources),
        "relevance": {
            "mean": _short(mean(relevances)),
            "p10": _short(percentile(relevances, 0.1)),
            "p50": _short(percentile(relevances, 0.5)),
        },
        "latency_ms": _latency(rows),
        "latency_ms_by_rerank": _latency_by_rerank(rows),
        "hot": _most_asked(rows),
        "no_results": {"count": len(empty), "queries": _most_asked(empty)},
        "low_confidence": {"count": len(unsure), "queries": _most_asked(unsure)},
    }


def _found_by(scores: Scores) -> str:
    """Staged search is dense search in two steps."""
    dense = scores.dense_rank is not None or scores.staged_rank is not None
    sparse = scores.sparse_rank is not None
    if dense and sparse:
        return "both"
    return "dense_only" if dense else "sparse_only" if sparse else "neither"


def _storable(text: str) -> str:
    """Not too long, and without halves of characters, which no database takes."""
    return text[:_LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")


def _shares(counts: Mapping[str, int]) -> dict[str, float | None]:
    total = sum(counts.values())
    return {name: _short(count / total) if total else None for name, count in counts.items()}


def _latency(rows: Iterable[Asked]) -> dict[str, float | None]:
    times = [row.latency_ms for row in rows]
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return {name: _short(percentile(times, share), 2) for name, share in shares.items()}


def _latency_by_rerank(rows: Sequence[Asked]) -> dict[str, Json]:
    kinds = sorted({row.rerank for row in rows})
    groups = {kind: [row for row in rows if row.rerank == kind] for kind in kinds}
    return {kind: {"count": len(group), **_latency(group)} for kind, group in groups.items()}


def _most_asked(rows: Iterable[Asked]) -> list[dict[str, Json]]:
    """The questions that were asked most often; a question without its words has its hash."""
    groups: defaultdict[str, list[Asked]] = defaultdict(list)
    for row in rows:
        groups[row.text_hash].append(row)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        {
            "query": next((row.text for row in group if row.text is not None), None),
            "text_hash": name,
            "count": len(group),
            "relevance": _short(mean(r.relevance for r in group if r.relevance is not None)),
        }
        for name, group in ordered[:SHOWN]
    ]


def _short(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)
