"""Searches over one SQLite store: a revision, a resolution and filters in, ranked matches out.

Filters narrow the rows before anything is ranked or limited, so a filtered search returns as many
passages as exist, up to k.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sourcebook import asker
from sourcebook.errors import Damaged
from sourcebook.model import Filter, Match, PreparedQuery
from sourcebook.ports import Coverage, Evidence, Neighbours, Vectors, Within
from sourcebook.stores import checksums
from sourcebook.stores.bm25 import best
from sourcebook.stores.damage import DamageNotes
from sourcebook.stores.labels import View
from sourcebook.stores.lanes import Filled, Lane, derive, fill, load
from sourcebook.stores.queries import QUERIES

Rows = npt.NDArray[np.int64]
_KEEP = 12
"""Lanes in memory: three resolutions at four revisions."""
_FILTERS = 256
_SCORES = 8
_LOOK_EVERY = 1000
"""Rows: then it is looked whether somebody still waits."""


class Scored(NamedTuple):
    """What full-text search says of every row of a lane, and the most that it could say."""

    scores: npt.NDArray[np.float32]
    most: float


class Searcher:
    def __init__(self, reader: Callable[[], sqlite3.Connection], damage: DamageNotes) -> None:
        self._reader = reader
        self._damage = damage
        self._lanes: OrderedDict[tuple[View, int, int], Lane] = OrderedDict()
        self._filters: OrderedDict[tuple[View, int, int, Filter], Rows] = OrderedDict()
        self._scores: OrderedDict[tuple[View, int, int, tuple[str, ...]], Scored] = OrderedDict()
        self._lock = threading.RLock()
        self._making: dict[int, threading.RLock] = {}
        """Held while a lane of a repository is made."""

    def dense(self, view: View, space: int, vector: Vectors, k: int, within: Within) -> Neighbours:
        lane = self._lane(view, within)
        filled = self._filled(view, lane, space)
        rows = self._narrow(view, lane, within)
        if rows is not None:
            rows = filled.position[rows]
            rows = rows[rows >= 0]
        found, scores = filled.cosine.nearest(vector, k, rows)
        return Neighbours(_matches(lane, filled.lane_rows[found], scores))

    def sparse(self, view: View, query: PreparedQuery, k: int, within: Within) -> list[Match]:
        lane = self._lane(view, within)
        scores = self._scored(view, lane, within, query.terms).scores
        rows = self._narrow(view, lane, within)
        if not query.phrases:
            found = best(scores, k, rows)
            return _matches(lane, found, scores[found].astype(np.float64))
        exact = self._exact(view, lane, query)
        first = np.flatnonzero(exact) if rows is None else rows[exact[rows] > 0]
        first = first[np.lexsort((first, -scores[first], -exact[first]))][:k]
        rest = best(np.where(exact > 0, np.float32(0), scores), k - len(first), rows)
        found = np.concatenate([first, rest])
        return _matches(lane, found, scores[found].astype(np.float64), exact[found])

    def evidence(
        self,
        view: View,
        space: int | None,
        vector: Vectors | None,
        query: PreparedQuery,
        passages: Sequence[int],
        within: Within,
    ) -> Evidence:
        """What both searches say of these passages, found by them or not."""
        lane = self._lane(view, within)
        scores, most = self._scored(view, lane, within, query.terms)
        rows = lane.rows_of(np.array(passages, np.int64))
        lexical = scores[rows].astype(np.float64) / most if most > 0 else np.zeros(len(rows))
        if space is None or vector is None:
            return Evidence(None, lexical, None)
        filled = self._filled(view, lane, space)
        position = filled.position[rows]
        known = position >= 0
        cosine = np.full(len(rows), np.nan)
        vectors = np.zeros((len(rows), filled.cosine.vectors.shape[1]), np.float32)
        if known.any():
            cosine[known] = filled.cosine.scores(vector, position[known])
            vectors[known] = filled.cosine.vectors[position[known]]
        return Evidence(cosine, lexical, vectors)

    def coverage(self, view: View, space: int, within: Within) -> Coverage:
        lane = self._lane(view, within)
        return Coverage(len(lane), len(self._filled(view, lane, space).lane_rows))

    # --- lanes ---------------------------------------------------------------------------------

    def _lane(self, view: View, within: Within) -> Lane:
        """Who asks for another repository does not wait until this one's is made."""
        key = (view, within.resolution, within.revision)
        with self._lock:
            held = self._lanes.get(key)
            if held is not None and held.columns.damaged and self._mended(held):
                held = None
            if held is not None:
                self._lanes.move_to_end(key)
            making = self._making.setdefault(view.repository, threading.RLock())
        lane = held or self._made(making, key)
        for _, element_id in lane.columns.damaged:
            self._damage.add(view.repository, element_id, "index")
        return lane

    def _made(self, making: threading.RLock, key: tuple[View, int, int]) -> Lane:
        with making:
            with self._lock:
                held = self._lanes.get(key)
            with _decoding():
                lane = held or self._make(*key)
            with self._lock:
                self._lanes[key] = lane
                self._lanes.move_to_end(key)
                while len(self._lanes) > _KEEP:
                    self._lanes.popitem(last=False)
        return lane

    def _mended(self, lane: Lane) -> bool:
        """Whether a passage that was damaged when the lane was made has been written again. The
        lanes of all revisions are then made anew."""
        asked = {"rows": json.dumps([row for row, _ in lane.columns.damaged])}
        rows = self._reader().execute(QUERIES["terms_of"], asked).fetchall()
        mended = any(checksum == checksums.of_terms(*named) for checksum, *named in rows)
        if mended:
            self._lanes.clear()
            self._filters.clear()
            self._scores.clear()
        return mended

    def _filled(self, view: View, lane: Lane, space: int) -> Filled:
        db = self._reader()
        with _decoding():
            filled = fill(db, lane, space)
        if filled.damaged:
            values = {"repository": view.repository, "hashes": json.dumps(filled.damaged)}
            for (element_id,) in db.execute(QUERIES["elements_of_texts"], values):
                self._damage.add(view.repository, element_id, "vector")
        return filled

    def _make(self, view: View, resolution: int, revision: int) -> Lane:
        """From the nearest lane in memory, unless retention, maybe of another process, has dropped
        its revision: rows that it shows are no longer there to be compared."""
        with self._lock:
            near = {k: v for k, v in self._lanes.items() if k[:2] == (view, resolution)}
        for key in sorted(near, key=lambda other: (abs(other[2] - revision), other[2])):
            lane = derive(self._reader(), near[key], view, resolution, key[2], revision)
            if not self._dropped(view.repository, key[2]):
                return lane
            with self._lock:
                self._lanes.pop(key, None)
        return load(self._reader(), view, resolution, revision)

    def _dropped(self, repository: int, revision: int) -> bool:
        values = {"repository": repository, "revision": revision}
        return self._reader().execute(QUERIES["dropped"], values).fetchone() is not None

    def forget(self, repository: int, revisions: Sequence[int]) -> None:
        """Let go of what is held of revisions that were dropped."""
        dropped = set(revisions)
        with self._lock:
            for key in [k for k in self._lanes if k[0].repository == repository]:
                if key[2] in dropped:
                    del self._lanes[key]

    # --- what may be found ---------------------------------------------------------------------

    def _narrow(self, view: View, lane: Lane, within: Within) -> Rows | None:
        """The lane rows that filters and parents leave, ascending; None is all of them."""
        rows: Rows | None = None
        for wanted in within.filters:
            asker.still_waits()
            rows = _both(rows, self._filtered(view, lane, within, wanted))
        if within.parents is not None:
            inside = [lane.inside[p] for p in within.parents if p in lane.inside]
            rows = _both(rows, np.unique(np.concatenate(inside or [np.empty(0, np.int64)])))
        return rows

    def _filtered(self, view: View, lane: Lane, within: Within, wanted: Filter) -> Rows:
        key = (view, within.resolution, within.revision, wanted)
        with self._lock:
            held = self._filters.get(key)
        if held is None:
            held = lane.locate(self._facet(view.repository, wanted))
            with self._lock:
                self._filters[key] = held
                if len(self._filters) > _FILTERS:
                    self._filters.popitem(last=False)
        return held

    def _facet(self, repository: int, wanted: Filter) -> Rows:
        found: list[int] = []
        for value in dict.fromkeys(wanted.values):
            asker.still_waits()
            values = {"repository": repository, "key": wanted.key, "value": value}
            found.extend(row[0] for row in self._reader().execute(QUERIES["facet"], values))
        return np.unique(np.array(found, np.int64))

    # --- terms ---------------------------------------------------------------------------------

    def _scored(self, view: View, lane: Lane, within: Within, terms: tuple[str, ...]) -> Scored:
        """Kept for a moment: search and evidence ask the same of one question."""
        key = (view, within.resolution, within.revision, terms)
        with self._lock:
            held = self._scores.get(key)
        if held is None:
            ids = self._term_ids(view.repository, terms)
            scores = lane.postings.scores([ids[t] for t in terms if t in ids])
            held = Scored(scores, lane.postings.ideal([ids.get(t) for t in terms]))
            with self._lock:
                self._scores[key] = held
                if len(self._scores) > _SCORES:
                    self._scores.popitem(last=False)
        return held

    def _term_ids(self, repository: int, terms: Iterable[str]) -> dict[str, int]:
        values = {"repository": repository, "texts": json.dumps(list(terms))}
        return dict(self._reader().execute(QUERIES["terms"], values).fetchall())

    def _exact(self, view: View, lane: Lane, query: PreparedQuery) -> npt.NDArray[np.int64]:
        """How many of the query's phrases and identifiers each passage holds."""
        ids = self._term_ids(view.repository, {t for phrase in query.phrases for t in phrase})
        exact = np.zeros(len(lane), np.int64)
        for phrase in query.phrases:
            if all(term in ids for term in phrase):
                exact[self._holding(view, lane, [ids[term] for term in phrase])] += 1
        return exact

    def _holding(self, view: View, lane: Lane, phrase: list[int]) -> Rows:
        """The lane rows that hold these terms one after the other."""
        rows = lane.postings.holding(phrase)
        if len(phrase) == 1:
            return rows
        db, wanted = self._reader(), np.array(phrase, "<i4").tobytes()
        hold = []
        for number, row in enumerate(rows):
            if number % _LOOK_EVERY == 0:
                asker.still_waits()
            tokens, *columns, checksum = db.execute(
                QUERIES["tokens"], {"passage": int(lane.columns.rows[row])}
            ).fetchone()
            if not checksums.matches(checksum, checksums.of_columns(columns, tokens)):
                self._damage.add(view.repository, str(lane.columns.element_ids[row]), "passage")
            elif _holds(tokens, wanted):
                hold.append(row)
        return np.array(hold, np.int64)


@contextmanager
def _decoding() -> Iterator[None]:
    """What cannot be read as it was written is damaged."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise Damaged(
            "the search index in the store is damaged; `sourcebook doctor --deep` says where; "
            "restore the store from a backup"
        ) from error


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
