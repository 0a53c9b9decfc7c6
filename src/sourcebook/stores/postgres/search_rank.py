"""Passages with scores in, the k best out as matches, ties in the order of node ids.

Names are in the database: those of the k best are fetched, and of what is as good as the last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sourcebook.model import Match
from sourcebook.stores.bm25 import highest
from sourcebook.stores.postgres.search_lanes import Rows
from sourcebook.stores.postgres.search_statements import Packed, Session, run

Scores = npt.NDArray[Any]


def best(scores: Scores, k: int) -> Rows:
    """Those that may be among the k highest positive scores."""
    if k <= 0:
        return np.empty(0, np.int64)
    rows = highest(scores, k, above=0)
    return rows[_leading(scores[rows], k)]


def exact_first(rows: Rows, exact: Rows, scores: Scores, k: int) -> Rows:
    """Those that may be among the k best by what they hold exactly, then by score."""
    if not len(rows) or k <= 0:
        return rows[:0]
    rows = rows[_leading(exact[rows], k)]
    last = exact[rows].min()
    before, tied = rows[exact[rows] > last], rows[exact[rows] == last]
    return np.concatenate([before, tied[_leading(scores[tied], k - len(before))]])


def _leading(values: Scores, k: int) -> npt.NDArray[np.bool_]:
    """Which are no worse than the k-th best."""
    if len(values) <= k:
        return np.ones(len(values), bool)
    return np.asarray(values >= np.partition(values, len(values) - k)[len(values) - k])


def ranked(
    session: Session,
    repository: int,
    rows: Rows,
    scores: Scores,
    k: int,
    exact: Rows | None = None,
) -> list[Match]:
    """The k best, named. `rows`, with the scores of each, may hold others."""
    if k <= 0:
        return []
    if exact is None:
        exact = np.zeros(len(rows), np.int64)
        keep = _leading(scores, k)
        rows, scores, exact = rows[keep], scores[keep], exact[keep]
    named = run(session, "names", repository, {"numbers": Packed(rows)}) if len(rows) else []
    names = {number: (node, element) for number, node, element in named}
    found = [
        Match(number, *names[number], score, holds)
        for number, score, holds in zip(
            rows.tolist(), scores.astype(np.float64).tolist(), exact.tolist(), strict=True
        )
        if number in names
    ]
    found.sort(key=lambda match: (-match.exact, -match.score, match.node_id, match.passage))
    return found[:k]
