"""Vectors that are asked for again in, those that hold the nearest out, from memory: all of a
repository, or, where that is too much, those that a filter leaves.

Images of them are held (dense_images), so the nearest are exact and only few vectors are read.
Making the images takes longer than a search does, so it is done beside the searches, which ask the
database until then; at most a tenth of the time, however many sets there are. A vector never
changes, so what was made stays right: of a revision that shows more, the database is asked for what
is missing, and only that is read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import psycopg

from sourcebook.errors import StoreError
from sourcebook.ports import Vectors
from sourcebook.stores.postgres.dense_images import BESIDE, Images
from sourcebook.stores.postgres.search_cache import Cache
from sourcebook.stores.postgres.search_lanes import Rows
from sourcebook.stores.postgres.search_statements import Session

Another = Callable[[], AbstractContextManager[Session | None]]
Read = Callable[[Session, Rows], Vectors]
"""The vectors of these numbers, a row of zeros where there is none."""
_MOST = 512 << 20
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
_REST = 9.0
"""How long no more are read, in times of what the last reading took."""

_log = logging.getLogger(__name__)
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sourcebook-held")


class Wanted(NamedTuple):
    """A set of vectors that may be held."""

    key: Hashable
    vectors: Callable[[], Rows]
    """Their numbers, ascending."""
    dimensions: int


class Near(NamedTuple):
    passages: Rows
    """Those that may be among the k nearest of what is held."""
    missing: Rows
    """Vectors that are not held, fewer than _LEAST; maybe some twice."""


@dataclass
class Held:
    numbers: Rows
    """Of the vectors, ascending."""
    images: Images
    _known: tuple[Rows, npt.NDArray[np.int32]] | None = None

    def places(self, of: Rows) -> npt.NDArray[np.int32]:
        """Where each of these vectors is, -1 if it is not held. Kept while the list is the same:
        looking up a million takes longer than a search."""
        known = self._known
        if known is None or known[0] is not of:
            places = np.minimum(np.searchsorted(self.numbers, of), len(self.numbers) - 1)
            places[self.numbers[places] != of] = -1
            known = self._known = (of, places.astype(np.int32))
        return known[1]


class HeldSets:
    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._held: Cache[Hashable, Held] = Cache(
            most, lambda held: _size(*held.images.table.shape)
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
        self,
        another: Another,
        wanted: Wanted,
        read: Read,
        query: Vectors,
        k: int,
        of: Rows,
        rows: Rows,
    ) -> Near | None:
        """Of the passages `rows`; `of` are the vectors of all passages. None where the database
        has to be asked: too many are not in memory, or so few are wanted that it is as quick."""
        if len(rows) < _LEAST:
            return None
        held = self._held.get(wanted.key)
        places = held.places(of)[rows] if held else np.full(len(rows), -1, np.int32)
        here = places >= 0
        complete = bool(here.all())
        if not complete and self._often(wanted.key):
            self._begin(partial(self._fill, another, wanted, read))
        missing = rows[:0]
        if not complete:
            rows, places, missing = rows[here], places[here], of[rows[~here]]
        if held is None or len(missing) >= _LEAST:
            return None
        return Near(rows[held.images.possible(query, k, places)], missing)

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

    def _fill(self, another: Another, wanted: Wanted, read: Read) -> None:
        start = time.monotonic()
        try:
            held = self._held.get(wanted.key)
            numbers = wanted.vectors()
            if held is not None:
                numbers = self._both(held.numbers, numbers, wanted.dimensions)
            made = self._made(another, read, held, numbers)
            if made is not None and len(made.numbers):
                self._held.put(wanted.key, made)
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

    def _made(self, another: Another, read: Read, held: Held | None, numbers: Rows) -> Held | None:
        """From what is held and from the database; None where there is nothing new, or while the
        store is closed."""
        there = np.zeros(len(numbers), bool)
        images: Images | None = None
        if held is not None:
            there = np.isin(numbers, held.numbers)
            images = Images.blank(held.images.mean, len(numbers))
            images.copy(there, held.images, np.isin(held.numbers, numbers))
        missing = np.flatnonzero(~there)
        with another() as session:
            for at in range(0, len(missing), _AT_ONCE):
                if self._closed or session is None:
                    return None
                some = missing[at : at + _AT_ONCE]
                vectors = read(session, numbers[some])
                if images is None:  # Any mean would do.
                    images = Images.blank(vectors.mean(axis=0), len(numbers))
                images.draw(some, vectors)
                there[some] = vectors.any(axis=1)
        if images is None or (held is not None and np.array_equal(numbers[there], held.numbers)):
            return None
        if there.all():
            return Held(numbers, images)
        return Held(numbers[there], images.take(there))


def _size(vectors: int, dimensions: int) -> int:
    """Of images, the numbers of their vectors, and where passages have them."""
    return vectors * (dimensions + BESIDE + 12)
