"""Vectors that are asked for again in, the nearest of them out, from memory: those that a filter
leaves, or all of a small repository.

They are held as the embedded store holds its own (cosine.py), so the nearest of them are exact and
take no statement. Reading them takes longer than a search does, so it is done beside the searches,
which ask the database until then; at most a tenth of the time, however many sets there are. A
vector never changes, so what was read stays right: a revision that shows more reads only those.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import NamedTuple

import numpy as np
import psycopg

from sourcebook.errors import StoreError
from sourcebook.ports import Vectors
from sourcebook.stores.cosine import Cosine, Scores64
from sourcebook.stores.postgres.search_cache import Cache
from sourcebook.stores.postgres.search_lanes import Rows
from sourcebook.stores.postgres.search_statements import Session

Another = Callable[[], AbstractContextManager[Session | None]]
Read = Callable[[Session, Rows], Vectors]
"""The vectors of these numbers, a row of zeros where there is none."""
_MOST = 384 << 20
"""Bytes in memory."""
_LEAST = 1000
"""Fewer vectors are as quickly compared by the database."""
_AT_ONCE = 10_000
"""Vectors read by one statement."""
_ASKED = 500_000
"""Bytes, of a thousand sets that were asked for."""
_MARGIN = 20
"""Candidates more than asked for."""
_REST = 9.0
"""How long no more are read, in times of what the last reading took."""

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sourcebook-held")


class Held(NamedTuple):
    numbers: Rows
    """Of the vectors, ascending."""
    cosine: Cosine

    def places(self, wanted: Rows) -> Rows | None:
        """Where these vectors are; None where not all of them are."""
        places = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        return places if np.array_equal(self.numbers[places], wanted) else None


class HeldSets:
    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._held: Cache[Hashable, Held] = Cache(
            most, lambda held: _size(*held.cosine.vectors.shape)
        )
        self._asked: Cache[Hashable, bool] = Cache(_ASKED, lambda _: 0)
        self._lock = threading.Lock()
        self._not_before = 0.0
        self.filling: Future[None] | None = None
        """What is being read, or was last."""

    def nearest(
        self, session: Session, key: Hashable, read: Read, query: Vectors, k: int, wanted: Rows
    ) -> tuple[Rows, Scores64] | None:
        """Of the vectors `wanted`, ascending, the k nearest and all that are as near as the last,
        with their cosines. None while they are not in memory."""
        if len(wanted) < _LEAST or _size(len(wanted), len(query)) > self._most:
            return None
        held = self._held.get(key)
        places = None if held is None else held.places(wanted)
        if held is None or places is None:
            if self._asked.get(key):
                self._begin(partial(self._fill, session.another, key, read, wanted))
            self._asked.put(key, True)
            return None
        rows = None if len(places) == len(held.numbers) else places
        most = k + _MARGIN
        while True:
            found, scores = held.cosine.nearest(query, most, rows)
            if len(found) < most or scores[k - 1] > scores[-1]:
                return held.numbers[found], scores
            most *= 4

    def _begin(self, fill: Callable[[], None]) -> None:
        """Unless one is under way, or it is too early for another."""
        with self._lock:
            if self.filling is not None and not self.filling.done():
                return
            if time.monotonic() >= self._not_before:
                self.filling = _thread.submit(fill)

    def _fill(self, another: Another, key: Hashable, read: Read, wanted: Rows) -> None:
        start = time.monotonic()
        # A database that is gone is told to those who search it.
        with suppress(StoreError, psycopg.Error), another() as session:
            if session is not None:
                self._held.put(key, _filled(session, read, self._held.get(key), wanted))
        self._not_before = time.monotonic() + _REST * (time.monotonic() - start)


def _filled(session: Session, read: Read, held: Held | None, wanted: Rows) -> Held:
    """With what is held already, which other revisions show; unless that is most of it."""
    if held is None:
        numbers, vectors = np.empty(0, np.int64), None
    else:
        keep = np.isin(held.numbers, wanted)
        if len(keep) < 2 * keep.sum():
            keep[:] = True
        numbers, vectors = held.numbers[keep], held.cosine.vectors[keep]
    missing = np.setdiff1d(wanted, numbers, assume_unique=True)
    parts = [read(session, missing[at : at + _AT_ONCE]) for at in range(0, len(missing), _AT_ONCE)]
    matrix = np.concatenate(parts if vectors is None else [vectors, *parts])
    there = matrix.any(axis=1)
    numbers = np.concatenate([numbers, missing])[there]
    order = np.argsort(numbers)
    return Held(numbers[order], Cosine.build(matrix[there][order]))


def _size(vectors: int, dimensions: int) -> int:
    """Of vectors, their images in 8 bits and some numbers, and of their axes."""
    return vectors * (5 * dimensions + 16) + 4 * dimensions**2
