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
from dataclasses import dataclass, replace
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
"""A set is read when it was asked for in so many of so many seconds: not by the parts of one
question alone. One that was used in that time is not thrown out for another."""
_COUNTED = 500_000
"""Bytes, of a thousand sets whose questions are counted."""
_AT_ONCE = 10_000
"""Vectors read by one statement."""
_REST = 9.0
"""How long no more are read, in times of what the last reading took."""

_log = logging.getLogger(__name__)
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sourcebook-held")


class SetKey(NamedTuple):
    place: Hashable
    again: Hashable = None
    """What is wanted of the place; None: all of it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A set of vectors that may be held."""

    key: SetKey
    vectors: Callable[[], Rows]
    """Their numbers, ascending."""
    count: int
    dimensions: int
    of: Rows
    """The vector of each passage of the place, -1 where there is none."""

    @property
    def size(self) -> int:
        known = 0 if self.key.again is not None else len(self.of)
        return _size(self.count, self.dimensions, known)


class Count(NamedTuple):
    """In how many seconds a set was asked for."""

    seconds: int
    since: float
    last: float


class Near(NamedTuple):
    passages: Rows
    """Those that may be among the k nearest of what is held."""
    missing: Rows
    """Vectors that are not held, fewer than _LEAST; maybe some twice."""


Places = npt.NDArray[np.int32]
_UNKNOWN: tuple[Rows, Places] = (np.empty(0, np.int64), np.empty(0, np.int32))


@dataclass
class Held:
    numbers: Rows
    """Of the vectors, ascending."""
    images: Images
    used: float = 0.0
    """When."""
    known: tuple[Rows, Places] = _UNKNOWN
    """Vectors of all passages, and where they are, if all of them are wanted."""

    @property
    def size(self) -> int:
        vectors, dimensions = self.images.table.shape
        return _size(vectors, dimensions, len(self.known[0]))

    def places(self, wanted: Wanted, rows: Rows) -> Places:
        """Where the vectors of these passages are, -1 if one is not held."""
        if wanted.key.again is not None:
            return self._found(wanted.of[rows])
        # All are looked up once: for a million that takes longer than a search.
        known = self.known
        if known[0] is not wanted.of:
            known = self.known = (wanted.of, self._further(*known, wanted.of))
        return known[1][rows]

    def _further(self, before: Rows, known: Places, of: Rows) -> Places:
        """Those that are new in the list since then, and what was known of the others."""
        size = min(len(before), len(of))
        places = np.empty(len(of), np.int32)
        places[:size] = known[:size]
        new = np.r_[np.flatnonzero(before[:size] != of[:size]), size : len(of)]
        places[new] = self._found(of[new])
        return places

    def _found(self, vectors: Rows) -> Places:
        places = np.minimum(np.searchsorted(self.numbers, vectors), len(self.numbers) - 1)
        places[self.numbers[places] != vectors] = -1
        return places.astype(np.int32)


class HeldSets:
    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._held: dict[SetKey, Held] = {}
        self._counts: Cache[SetKey, Count] = Cache(_COUNTED, lambda _: 0)
        self._lock = threading.RLock()
        self._not_before = 0.0
        self._closed = False
        self.filling: Future[None] | None = None
        """What is being read, or was last."""

    def has_room(self, wanted: Wanted) -> bool:
        """Beside other sets that are in use."""
        since = time.monotonic() - _LATELY_S
        with self._lock:
            others = [
                held.size
                for key, held in self._held.items()
                if held.used > since and not _includes(wanted.key, key)
            ]
        return wanted.count >= _LEAST and wanted.size + sum(others) <= self._most

    def nearest(
        self, another: Another, wanted: Wanted, read: Read, query: Vectors, k: int, rows: Rows
    ) -> Near | None:
        """Of the passages `rows`. None where the database has to be asked: too many are not in
        memory, or so few are wanted that it is as quick."""
        if len(rows) < _LEAST:
            return None
        held = self._held.get(wanted.key)
        places = held.places(wanted, rows) if held else None
        if (places is None or (places < 0).any()) and self._often(wanted.key):
            self._begin(wanted, partial(self._fill, another, wanted, read))
        if held is None or places is None:
            return None
        here = places >= 0
        missing = rows[:0]
        if not here.all():
            rows, places, missing = rows[here], places[here], wanted.of[rows[~here]]
        if len(missing) >= _LEAST:
            return None
        held.used = time.monotonic()
        return Near(rows[held.images.possible(query, k, places)], missing)

    def close(self) -> None:
        self._closed = True

    def _often(self, key: SetKey) -> bool:
        now = time.monotonic()
        count = self._counts.get(key) or Count(0, now, now - 1)
        if now - count.since > _LATELY_S:
            count = Count(0, now, now - 1)
        if now - count.last >= 1:
            count = Count(count.seconds + 1, count.since, now)
            self._counts.put(key, count)
        return count.seconds >= _OFTEN

    def _begin(self, wanted: Wanted, fill: Callable[[], None]) -> None:
        """Unless one is under way, or it is too early for another, or there is no room."""
        if not self.has_room(wanted):
            return
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
                numbers = self._both(wanted, held.numbers, numbers)
            made = self._made(another, read, held, numbers)
            if made is not None:
                made.used = start
                made.places(wanted, numbers[:0])  # so that no search has to look all of them up
                self._keep(wanted.key, made)
        except (StoreError, psycopg.Error) as error:
            # Searches ask the database as before, and tell of it if it is gone.
            _log.warning("vectors could not be brought into memory: %s", error)
        except Exception:  # noqa: BLE001  the edge: nobody else would hear of it
            _log.exception("vectors could not be brought into memory")
        finally:
            now = time.monotonic()
            self._not_before = now + _REST * (now - start)

    def _keep(self, key: SetKey, made: Held) -> None:
        """Instead of what it includes, and of what was not used for longest."""
        with self._lock:
            others = [
                (held.used, at, name)
                for at, (name, held) in enumerate(self._held.items())
                if not _includes(key, name)
            ]
            kept = {name: self._held[name] for _, _, name in sorted(others)} | {key: made}
            while len(kept) > 1 and sum(held.size for held in kept.values()) > self._most:
                del kept[next(iter(kept))]
            self._held = kept

    def _both(self, wanted: Wanted, held: Rows, numbers: Rows) -> Rows:
        """Also what other revisions show, unless that is more than what is wanted."""
        both = np.union1d(held, numbers)
        fits = self.has_room(replace(wanted, count=len(both)))
        return both if fits and len(both) <= 2 * len(numbers) else numbers

    def _made(self, another: Another, read: Read, held: Held | None, numbers: Rows) -> Held | None:
        """From what is held and from the database; None where there is nothing new, or while the
        store is closed."""
        known = np.isin(numbers, held.numbers) if held else np.zeros(len(numbers), bool)
        with another() as session:
            if session is None:
                return None
            mean = held.images.mean if held else None
            found = self._drawn(partial(read, session), numbers[~known], mean)
        if found is None or not len(found.numbers):
            return None
        if held is None:
            return found
        numbers = np.union1d(numbers[known], found.numbers)
        images = Images.blank(found.images.mean, len(numbers))
        for part in (held, found):
            of = np.flatnonzero(np.isin(part.numbers, numbers))
            images.copy(np.searchsorted(numbers, part.numbers[of]), part.images, of)
        return Held(numbers, images)

    def _drawn(
        self, read: Callable[[Rows], Vectors], numbers: Rows, mean: Vectors | None
    ) -> Held | None:
        """What the database has of these vectors; None where that is nothing, or
        while the store is closed."""
        images: Images | None = None
        there = np.zeros(len(numbers), bool)
        for at in range(0, len(numbers), _AT_ONCE):
            if self._closed:
                return None
            some = slice(at, at + _AT_ONCE)
            vectors = read(numbers[some])
            if images is None:  # Any mean would do.
                images = Images.blank(vectors.mean(axis=0) if mean is None else mean, len(numbers))
            images.draw(some, vectors)
            there[some] = vectors.any(axis=1)
        if images is None:
            return None
        if there.all():
            return Held(numbers, images)
        return Held(numbers[there], images.take(there))


def _includes(key: SetKey, other: SetKey) -> bool:
    return key == other or (key.again is None and key.place == other.place)


def _size(vectors: int, dimensions: int, passages: int) -> int:
    """Of images, the numbers of their vectors, and where passages have them."""
    return vectors * (dimensions + BESIDE + 8) + 4 * passages
