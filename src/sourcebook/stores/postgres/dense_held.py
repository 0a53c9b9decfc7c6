"""Vectors that are asked for again in, the nearest of them out, from memory: those that a filter
leaves, or all of a small repository.

They are held as the embedded store holds its own (cosine.py), so the nearest of them are exact and
take no statement. Reading them takes longer than a search does, so it is done beside the searches,
which ask the database until then; at most a tenth of the time, however many sets there are. A
vector never changes, so what was read stays right: of a revision that shows more, the database is
asked for what is missing, and only that is read.
"""

from __future__ import annotations

import logging
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
_OFTEN, _LATELY_S = 8, 600.0
"""A set is read when it was asked for so often within so many seconds: more often than the parts of
one question ask for it."""
_COUNTED = 500_000
"""Bytes, of a thousand sets whose questions are counted."""
_AT_ONCE = 10_000
"""Vectors read by one statement."""
_TIES = 20
"""Candidates more than asked for, to see what is as near as the last."""
_REST = 9.0
"""How long no more are read, in times of what the last reading took."""

_log = logging.getLogger(__name__)
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sourcebook-held")


class Near(NamedTuple):
    """The k nearest of those that are held and all that are as near as the last, with cosines."""

    vectors: Rows
    scores: Scores64
    missing: Rows
    """Vectors that are not held, fewer than _LEAST."""


class Held(NamedTuple):
    numbers: Rows
    """Of the vectors, ascending."""
    cosine: Cosine

    def places(self, wanted: Rows) -> tuple[Rows, Rows]:
        """Where those of the vectors `wanted` are that are held, and which ones are not."""
        places = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        here = self.numbers[places] == wanted
        return places[here], wanted[~here]

    def nearest(self, query: Vectors, k: int, places: Rows) -> tuple[Rows, Scores64]:
        rows = None if len(places) == len(self.numbers) else places
        most = k + _TIES
        while True:
            found, scores = self.cosine.nearest(query, most, rows)
            if len(found) < most or scores[k - 1] > scores[-1]:
                return self.numbers[found], scores
            most *= 4


class HeldSets:
    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._held: Cache[Hashable, Held] = Cache(
            most, lambda held: _size(*held.cosine.vectors.shape)
        )
        self._counts: Cache[Hashable, tuple[int, float]] = Cache(_COUNTED, lambda _: 0)
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._closed = False
        self.filling: Future[None] | None = None
        """What is being read, or was last."""

    def may_hold(self, vectors: int, dimensions: int) -> bool:
        return vectors >= _LEAST and _size(vectors, dimensions) <= self._most

    def nearest(
        self, another: Another, key: Hashable, read: Read, query: Vectors, k: int, wanted: Rows
    ) -> Near | None:
        """Of the vectors `wanted`, ascending. None where too many of them are not in memory."""
        held = self._held.get(key)
        places, missing = (wanted[:0], wanted) if held is None else held.places(wanted)
        if len(missing) and self._often(key):
            self._begin(partial(self._fill, another, key, read, wanted, len(query)))
        if held is None or len(missing) >= _LEAST:
            return None
        return Near(*held.nearest(query, k, places), missing)

    def close(self) -> None:
        self._closed = True

    def _often(self, key: Hashable) -> bool:
        now = time.monotonic()
        count, since = self._counts.get(key) or (0, now)
        if now - since > _LATELY_S:
            count, since = 0, now
        self._counts.put(key, (count + 1, since))
        return count + 1 >= _OFTEN

    def _begin(self, fill: Callable[[], None]) -> None:
        """Unless one is under way, or it is too early for another."""
        with self._lock:
            if self._closed or (self.filling is not None and not self.filling.done()):
                return
            if time.monotonic() >= self._not_before:
                with suppress(RuntimeError):  # The program is ending.
                    self.filling = _thread.submit(fill)

    def _fill(
        self, another: Another, key: Hashable, read: Read, wanted: Rows, dimensions: int
    ) -> None:
        start = time.monotonic()
        try:
            held = self._held.get(key)
            numbers = wanted if held is None else self._both(held.numbers, wanted, dimensions)
            vectors = np.zeros((len(numbers), dimensions), np.float32)
            if self._complete(another, read, held, numbers, vectors):
                there = vectors.any(axis=1)
                if not there.all():
                    numbers, vectors = numbers[there], vectors[there]
                if len(numbers) and not (
                    held is not None and np.array_equal(numbers, held.numbers)
                ):
                    self._held.put(key, Held(numbers, Cosine.build(vectors)))
        except (StoreError, psycopg.Error) as error:
            # Searches ask the database as before, and tell of it if it is gone.
            _log.warning("vectors could not be brought into memory: %s", error)
        except Exception:  # noqa: BLE001  the edge: nobody else would hear of it
            _log.exception("vectors could not be brought into memory")
        finally:
            now = time.monotonic()
            self._not_before = now + _REST * (now - start)

    def _both(self, held: Rows, wanted: Rows, dimensions: int) -> Rows:
        """Also what other revisions show, unless that is more than what is wanted."""
        both = np.union1d(held, wanted)
        fits = len(both) <= 2 * len(wanted) and self.may_hold(len(both), dimensions)
        return both if fits else wanted

    def _complete(
        self, another: Another, read: Read, held: Held | None, numbers: Rows, vectors: Vectors
    ) -> bool:
        """Fills the vectors in, from what is held and from the database; not while it is closed."""
        known = np.zeros(len(numbers), bool)
        if held is not None:
            known = np.isin(numbers, held.numbers)
            vectors[known] = held.cosine.vectors[np.isin(held.numbers, numbers)]
        missing = np.flatnonzero(~known)
        with another() as session:
            for at in range(0, len(missing), _AT_ONCE):
                if self._closed or session is None:
                    return False
                some = missing[at : at + _AT_ONCE]
                vectors[some] = read(session, numbers[some])
        return True


def _size(vectors: int, dimensions: int) -> int:
    """Of vectors, their images in 8 bits and some numbers, and of their axes."""
    return vectors * (5 * dimensions + 16) + 4 * dimensions**2
