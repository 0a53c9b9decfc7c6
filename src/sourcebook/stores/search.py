"""Searches over one SQLite store: a revision, a resolution and filters in, ranked matches out.

Filters narrow the rows before anything is ranked or limited, so a filtered search returns as many
passages as exist, up to k.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from sourcebook.model import Filter, Match, PreparedQuery
from sourcebook.ports import Coverage, Evidence, Vectors, Within
from sourcebook.stores.bm25 import best
from sourcebook.stores.lanes import Lane, derive, fill, load
from sourcebook.stores.queries import QUERIES

Rows = npt.NDArray[np.int64]
_KEEP = 12
"""Lanes in memory: three resolutions at four revisions."""
_FILTERS = 256


class Searcher:
    def __init__(self, reader: Callable[[], sqlite3.Connection]) -> None:
        self._reader = reader
        self._lanes: OrderedDict[tuple[int, int, int], Lane] = OrderedDict()
        self._filters: OrderedDict[tuple[int, int, int, Filter], Rows] = OrderedDict()
        self._lock = threading.RLock()

    def dense(
        self, repository: int, space: int, vector: Vectors, k: int, within: Within
    ) -> list[Match]:
        lane = self._lane(repository, within)
        with self._lock:
            filled = fill(self._reader(), lane, space)
        rows = self._narrow(repository, lane, within)
        if rows is not None:
            rows = filled.position[rows]
            rows = rows[rows >= 0]
        found, scores = filled.cosine.nearest(vector, k, rows)
        return _matches(lane, filled.lane_rows[found], scores)

    def sparse(self, repository: int, query: PreparedQuery, k: int, within: Within) -> list[Match]:
        lane = self._lane(repository, within)
        ids = self._term_ids(repository, {*query.terms, *(t for p in query.phrases for t in p)})
        scores = lane.postings.scores([ids[t] for t in query.terms if t in ids])
        rows = self._narrow(repository, lane, within)
        if not query.phrases:
            found = best(scores, k, rows)
            return _matches(lane, found, scores[found].astype(np.float64))
        exact = self._exact(lane, query, ids)
        first = np.flatnonzero(exact) if rows is None else rows[exact[rows] > 0]
        first = first[np.lexsort((first, -scores[first], -exact[first]))][:k]
        rest = best(np.where(exact > 0, np.float32(0), scores), k - len(first), rows)
        found = np.concatenate([first, rest])
        return _matches(lane, found, scores[found].astype(np.float64), exact[found])

    def evidence(
        self,
        repository: int,
        space: int | None,
        vector: Vectors | None,
        query: PreparedQuery,
        passages: Sequence[int],
        within: Within,
    ) -> Evidence:
        """What both searches say of these passages, found by them or not."""
        lane = self._lane(repository, within)
        ids = self._term_ids(repository, query.terms)
        scores = lane.postings.scores([ids[t] for t in query.terms if t in ids])
        most = lane.postings.ideal([ids.get(t) for t in query.terms])
        rows = lane.rows_of(np.array(passages, np.int64))
        lexical = scores[rows].astype(np.float64) / most if most > 0 else np.zeros(len(rows))
        if space is None or vector is None:
            return Evidence(None, lexical, None)
        with self._lock:
            filled = fill(self._reader(), lane, space)
        position = filled.position[rows]
        known = position >= 0
        cosine = np.full(len(rows), np.nan)
        vectors = np.zeros((len(rows), filled.cosine.vectors.shape[1]), np.float32)
        if known.any():
            cosine[known] = filled.cosine.scores(vector, position[known])
            vectors[known] = filled.cosine.vectors[position[known]]
        return Evidence(cosine, lexical, vectors)

    def coverage(self, repository: int, space: int, within: Within) -> Coverage:
        lane = self._lane(repository, within)
        with self._lock:
            return Coverage(len(lane), len(fill(self._reader(), lane, space).lane_rows))

    # --- lanes ---------------------------------------------------------------------------------

    def _lane(self, repository: int, within: Within) -> Lane:
        key = (repository, within.resolution, within.revision)
        with self._lock:
            if key not in self._lanes:
                self._lanes[key] = self._make(*key)
                while len(self._lanes) > _KEEP:
                    self._lanes.popitem(last=False)
            self._lanes.move_to_end(key)
            return self._lanes[key]

    def _make(self, repository: int, resolution: int, revision: int) -> Lane:
        near = [key for key in self._lanes if key[:2] == (repository, resolution)]
        if not near:
            return load(self._reader(), repository, resolution, revision)
        key = min(near, key=lambda other: (abs(other[2] - revision), other[2]))
        return derive(self._reader(), self._lanes[key], repository, resolution, key[2], revision)

    # --- what may be found ---------------------------------------------------------------------

    def _narrow(self, repository: int, lane: Lane, within: Within) -> Rows | None:
        """The lane rows that filters and parents leave, ascending; None is all of them."""
        rows: Rows | None = None
        for wanted in within.filters:
            rows = _both(rows, self._filtered(repository, lane, within, wanted))
        if within.parents is not None:
            inside = [lane.inside[p] for p in within.parents if p in lane.inside]
            rows = _both(rows, np.unique(np.concatenate(inside or [np.empty(0, np.int64)])))
        return rows

    def _filtered(self, repository: int, lane: Lane, within: Within, wanted: Filter) -> Rows:
        key = (repository, within.resolution, within.revision, wanted)
        with self._lock:
            if key not in self._filters:
                self._filters[key] = lane.locate(self._facet(repository, wanted))
                if len(self._filters) > _FILTERS:
                    self._filters.popitem(last=False)
            return self._filters[key]

    def _facet(self, repository: int, wanted: Filter) -> Rows:
        found: list[int] = []
        for value in dict.fromkeys(wanted.values):
            values = {"repository": repository, "key": wanted.key, "value": value}
            found.extend(row[0] for row in self._reader().execute(QUERIES["facet"], values))
        return np.unique(np.array(found, np.int64))

    # --- terms ---------------------------------------------------------------------------------

    def _term_ids(self, repository: int, terms: Iterable[str]) -> dict[str, int]:
        db, ids = self._reader(), {}
        for term in terms:
            found = db.execute(QUERIES["term_id"], {"repository": repository, "text": term})
            if row := found.fetchone():
                ids[term] = int(row[0])
        return ids

    def _exact(
        self, lane: Lane, query: PreparedQuery, ids: dict[str, int]
    ) -> npt.NDArray[np.int64]:
        """How many of the query's phrases and identifiers each passage holds."""
        exact = np.zeros(len(lane), np.int64)
        for phrase in query.phrases:
            if all(term in ids for term in phrase):
                exact[self._holding(lane, [ids[term] for term in phrase])] += 1
        return exact

    def _holding(self, lane: Lane, phrase: list[int]) -> Rows:
        """The lane rows that hold these terms one after the other."""
        rows = lane.postings.holding(phrase)
        if len(phrase) == 1:
            return rows
        db, wanted = self._reader(), np.array(phrase, "<i4").tobytes()
        hold = []
        for row in rows:
            (tokens,) = db.execute(
                QUERIES["tokens"], {"passage": int(lane.columns.rows[row])}
            ).fetchone()
            if _holds(tokens, wanted):
                hold.append(row)
        return np.array(hold, np.int64)


def _holds(tokens: bytes, phrase: bytes) -> bool:
    """Whether the phrase stands in the tokens, at a whole number of 4-byte terms."""
    at = tokens.find(phrase)
    while at >= 0 and at % 4:
        at = tokens.find(phrase, at + 1)
    return at >= 0


def _both(rows: Rows | None, more: Rows) -> Rows:
    return more if rows is None else np.intersect1d(rows, more, assume_unique=True)


def _matches(
    lane: Lane,
    rows: Rows,
    scores: npt.NDArray[np.float64],
    exact: npt.NDArray[np.int64] | None = None,
) -> list[Match]:
    columns = lane.columns
    counts = exact if exact is not None else np.zeros(len(rows), np.int64)
    passages, nodes, elements = (
        column[rows].tolist() for column in (columns.rows, columns.node_ids, columns.element_ids)
    )
    found = zip(passages, nodes, elements, scores.tolist(), counts.tolist(), strict=True)
    return list(map(Match._make, found))
