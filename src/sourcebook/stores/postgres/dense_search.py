"""A vector and the passages that may be found in, the nearest out, with true cosines.

What is asked for again and again is bounded by images in memory (dense_held), few vectors are
compared one by one; either way the result is that of a full scan. Until then many are found by the
index of the space (HNSW over half-precision images), which may miss some. Candidates are scored as
the embedded store scores them: the same bits for the same vector, wherever it lies.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sourcebook.ports import Vectors
from sourcebook.stores.postgres.dense_held import HeldSets, SetKey, Wanted
from sourcebook.stores.postgres.dense_numbers import VectorNumbers
from sourcebook.stores.postgres.dense_read import Place, Scores, cosines, read, read_vectors
from sourcebook.stores.postgres.search_lanes import Rows
from sourcebook.stores.postgres.search_statements import STATEMENTS, Packed, Session, run

EXACT = 20_000
"""A space of so many vectors needs no index."""
_FEW = 5000
"""So many vectors are always compared one by one."""
_HALVED = 2000
"""From so many on, by two processes of the server."""
_BALANCE = 8.0
"""One by one takes a step for each vector that may be found. The index takes one for each that it
finds, of which a filter leaves a part: k times the space, divided by what may be found. A step of
the index costs so much more (measured)."""
_MARGIN = 20
"""Candidates more than asked for."""
_SLACK = 2e-5
"""What single-precision sums over unit vectors may be wrong by (about 384 x 2**-24)."""
_ROUGH = 2e-3
"""What half-precision images of unit vectors may be wrong by: what is further than that behind the
k-th best is not read."""
_MORE = 3.0
"""Candidates of the index, times those that would do: of a million passages, a tenth of which may
be found, twice gave 99.3 % of the right hits, three times 99.5 %, five times 99.6 % in nearly twice
the time. (Where passages that are much alike had been embedded one after the other, three times
gave 98.2 %; workers take them by length.)"""
_LEFT = 1000
"""What images leave to compare is compared by the database if it is more than this: where many
passages are alike, images hardly tell them apart."""
_CANDIDATES = 2500
"""Candidates of the index at least: over a million passages, many of them much alike, so many found
990 of a thousand true neighbours, 1500 found 985, 145 found 945."""
_DEEP = 600
"""How many candidates the index keeps while it searches (ef_search); it goes on from there."""
_FURTHEST = 20_000
"""Candidates of the index; where that is not enough all are compared one by one."""
_LOOK_S = 30.0
"""How long what is known of an index holds."""


_threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="sourcebook-nearest")


class Compared(NamedTuple):
    passages: Rows
    """Some that hold the k nearest."""
    scores: Scores
    """Their cosines, NaN where a vector is gone."""
    approximate: bool = False
    """Whether some of the nearest may be missing."""


class Nearest:
    def __init__(self) -> None:
        self._indexed: dict[int, tuple[float, bool]] = {}
        self.held = HeldSets()

    def search(
        self,
        session: Session,
        place: Place,
        numbers: VectorNumbers,
        query: Vectors,
        k: int,
        rows: Rows,
        again: Hashable = None,
    ) -> Compared:
        """Of the passages `rows`, ascending. `again` names them, where they may be asked for
        again."""
        if not numbers.complete:
            rows = rows[numbers.of[rows] >= 0]
        if not len(rows) or k <= 0:
            return Compared(np.empty(0, np.int64), np.empty(0))
        vectors = self._from_memory(session, place, numbers, query, k, rows, again)
        if vectors is not None:
            found = _compared(session, place, numbers, query, vectors, rows)
            if not np.isnan(found.scores).any():
                return found
            # Not there any more, or not on this server yet: others are nearest.
        vectors, approximate = None, False
        if _many(len(rows), numbers.vectors, k) and self._has_index(session, place):
            vectors = _by_index(session, place, numbers, query, k, rows)
            approximate = vectors is not None
        if vectors is None:
            vectors = _one_by_one(session, place, query, k, _distinct(numbers.of[rows]))
        found = _compared(session, place, numbers, query, vectors, rows)
        there = ~np.isnan(found.scores)
        return Compared(found.passages[there], found.scores[there], approximate)

    def _from_memory(
        self,
        session: Session,
        place: Place,
        numbers: VectorNumbers,
        query: Vectors,
        k: int,
        rows: Rows,
        again: Hashable,
    ) -> Rows | None:
        """Vectors among which the nearest are; None where the database has to be asked for them."""
        reading = partial(read, place, numbers.dimensions)
        for wanted in self._wanted(place, numbers, rows, again):
            near = self.held.nearest(session.another, wanted, reading, query, k, rows)
            if near is not None:
                break
        else:
            return None
        left = _distinct(np.concatenate([numbers.of[near.passages], near.missing]))
        if len(left) <= _LEFT:
            return left
        asked = {"space": place.space, "numbers": Packed(left)}
        ((there,),) = run(session, "vectors_there", place.repository, asked)
        return _one_by_one(session, place, query, k, left) if there == len(left) else None

    def _wanted(
        self, place: Place, numbers: VectorNumbers, rows: Rows, again: Hashable
    ) -> Iterator[Wanted]:
        """All vectors of the space; where there is no room for them, those that are asked for."""
        of, dimensions = numbers.of, numbers.dimensions
        count = len(numbers.distinct)
        whole = Wanted(SetKey(place), lambda: numbers.distinct, count, dimensions, of)
        yield whole
        if again is not None and not self.held.has_room(whole):
            key = SetKey(place, again)
            yield Wanted(key, lambda: _distinct(of[rows]), len(rows), dimensions, of)

    def _has_index(self, session: Session, place: Place) -> bool:
        at, held = self._indexed.get(place.space, (-_LOOK_S, False))
        if time.monotonic() - at >= _LOOK_S:
            found = run(
                session, "vector_index", place.repository, {"name": index_name(place.space)}
            )
            held = found == [(True,)]
            self._indexed[place.space] = (time.monotonic(), held)
        return held


def _many(found: int, space: int, k: int) -> bool:
    return found > _FEW and found * found > _BALANCE * space * k


def index_name(space: int) -> str:
    return f"embedding_near_{space}"


def _by_index(
    session: Session, place: Place, numbers: VectorNumbers, query: Vectors, k: int, rows: Rows
) -> Rows | None:
    """Vectors among which the nearest are; None where too few of what the index finds may be."""
    share = min(len(rows) / max(numbers.vectors, 1), 1.0)
    would_do = k / share
    most = max(int(would_do * _MORE), _CANDIDATES)
    if most > _FURTHEST >= 2 * would_do:
        most = _FURTHEST
    while most <= _FURTHEST:
        vectors, distances = _candidates(session, place, numbers.dimensions, query, most)
        passages, places = numbers.passages(vectors)
        allowed = distances[places[_among(passages, rows)]]
        if len(allowed) >= k:
            furthest = np.partition(allowed, k - 1)[k - 1] + _ROUGH
            return np.asarray(vectors[distances <= furthest])
        if len(vectors) < most:
            break
        most *= 4
    return None


def _candidates(
    session: Session, place: Place, dimensions: int, query: Vectors, most: int
) -> tuple[Rows, Scores]:
    """With their distances, in half precision."""
    run(
        session,
        "search_deeply",
        place.repository,
        {"deep": str(_DEEP), "most": str(4 * _FURTHEST)},
    )
    statement = STATEMENTS["nearest"]
    for name, value in (("<space>", place.space), ("<dimensions>", dimensions)):
        statement = statement.replace(name, str(value))
    # As one value: thousands of rows would keep the full-text search beside this one waiting.
    statement = (
        f"SELECT string_agg(int8send(w.n) || float8send(w.d), '') FROM ({statement}) w(n, d)"
    )
    asked = {"tenant": session.tenant, "repository": place.repository}
    values = {**asked, "query": _text(query), "most": most}
    with session.db.cursor(binary=True) as cursor:
        # Planned anew each time: only a plan for these values can use the index of the space.
        ((data,),) = cursor.execute(statement, values, prepare=False).fetchall()
    found = np.frombuffer(data or b"", [("vector", ">i8"), ("distance", ">f8")])
    return found["vector"].astype(np.int64), found["distance"].astype(np.float64)


def _one_by_one(session: Session, place: Place, query: Vectors, k: int, wanted: Rows) -> Rows:
    """Those of the vectors `wanted` that hold the k nearest: what was left out is too far by single
    precision already."""
    asked = {"space": place.space, "query": _text(query)}
    most = k + _MARGIN
    while True:
        found = _nearest_of(session, place, {**asked, "most": most}, wanted)[:most]
        distances = [distance for _, distance in found]
        if len(found) < most or distances[k - 1] + 2 * _SLACK < distances[-1]:
            return np.array([number for number, _ in found], np.int64)
        most *= 4


def _nearest_of(
    session: Session, place: Place, asked: Mapping[str, object], wanted: Rows
) -> list[tuple[Any, ...]]:
    """The nearest first. Many are compared in two halves at once."""

    def compared(db: Session, numbers: Rows) -> list[tuple[Any, ...]]:
        return run(db, "nearest_of", place.repository, {**asked, "numbers": Packed(numbers)})

    if len(wanted) < _HALVED:
        return compared(session, wanted)
    with session.another() as other:
        if other is None:
            return compared(session, wanted)
        first, second = np.array_split(wanted, 2)
        beside = _threads.submit(compared, other, second)
        try:
            found = compared(session, first)
        finally:
            wait([beside])
        return sorted([*found, *beside.result()], key=itemgetter(1))


def _compared(
    session: Session,
    place: Place,
    numbers: VectorNumbers,
    query: Vectors,
    vectors: Rows,
    rows: Rows,
) -> Compared:
    """Those of the passages `rows` that have these vectors."""
    passages, _ = numbers.passages(vectors)
    passages = passages[_among(passages, rows)]
    return Compared(passages, cosines(query, read_vectors(session, place, numbers, passages)))


def _distinct(numbers: Rows) -> Rows:
    """Ascending. (np.unique hashes them first, which takes twenty times as long.)"""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0]


def _among(passages: Rows, rows: Rows) -> npt.NDArray[np.bool_]:
    """Which of the passages are in `rows`, ascending."""
    at = np.minimum(np.searchsorted(rows, passages), len(rows) - 1)
    return np.asarray(rows[at] == passages)


def _text(query: Vectors) -> str:
    return "[" + ",".join(map(repr, query.tolist())) + "]"
