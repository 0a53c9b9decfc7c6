"""A lane: which passages of one resolution a revision shows to a reader, as a set of numbers.

The embedded store lays a lane's texts and vectors out in memory; here a lane is a bit a passage, so
that a million of them take a megabyte. It is a pure function of the rows that the reader sees, and
is made from a lane of a near revision by what differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sourcebook.stores.labels import View
from sourcebook.stores.postgres.postings_write import WHOLE
from sourcebook.stores.postgres.search_cache import Cache
from sourcebook.stores.postgres.search_statements import Session, integers, readable, run

Rows = npt.NDArray[np.int64]
"""Numbers of passages."""
Key = tuple[View, int, int]
"""A reader, a resolution, a revision."""
_MOST = 256 << 20
"""Bytes of lanes in memory."""
_PARTS = {0: (0, WHOLE), 1: (1,), 2: (2, WHOLE)}


@dataclass(frozen=True)
class Lane:
    seen: npt.NDArray[np.bool_]
    """Of each number up to the last passage's."""
    parts: tuple[int, ...]
    """Of the postings that its passages are in."""

    @cached_property
    def rows(self) -> Rows:
        """The passages, ascending."""
        return np.flatnonzero(self.seen)

    @property
    def last(self) -> int:
        return len(self.seen) - 1

    def __len__(self) -> int:
        return len(self.rows)

    def among(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which of these passages, given in ascending order, the lane shows."""
        inside = np.searchsorted(numbers, len(self.seen))
        return np.asarray(self.seen[numbers[:inside]])


class Lanes:
    """Those that were asked for a while ago, and the making of others."""

    def __init__(self) -> None:
        self._held: Cache[Key, Lane] = Cache(_MOST, lambda lane: 15 * len(lane.seen))

    def get(self, session: Session, key: Key) -> Lane:
        lane = self._held.get(key)
        if lane is not None:
            return lane
        with self._held.making(key):
            lane = self._held.get(key)
            if lane is None:
                lane = self._make(session, *key)
                self._held.put(key, lane)
        return lane

    def forget(self, repository: int, revisions: set[int]) -> None:
        """Let go of what is held of revisions that were dropped."""
        for key in self._held.names():
            if key[0].repository == repository and key[2] in revisions:
                self._held.forget(key)

    def _make(self, session: Session, view: View, resolution: int, revision: int) -> Lane:
        """From the nearest lane in memory, unless retention has dropped its revision: rows that it
        shows are no longer there to be compared."""
        near = [key for key in self._held.names() if key[:2] == (view, resolution)]
        for key in sorted(near, key=lambda other: (abs(other[2] - revision), other[2])):
            lane = self._held.get(key)
            if lane is None:
                continue
            made = derive(session, lane, view, resolution, key[2], revision)
            if not run(session, "dropped", view.repository, {"revision": key[2]}):
                return made
            self._held.forget(key)
        return load(session, view, resolution, revision)


def load(session: Session, view: View, resolution: int, revision: int) -> Lane:
    found = _numbers(session, "lane", view, resolution, revision)
    seen = np.zeros(int(found.max(initial=0)) + 1, bool)
    seen[found] = True
    return Lane(seen, _PARTS[resolution])


def derive(session: Session, near: Lane, view: View, resolution: int, old: int, new: int) -> Lane:
    """The lane of revision `new` from that of revision `old`."""
    forward, backward = ("lane_since", "lane_until") if new > old else ("lane_until", "lane_since")
    added = _numbers(session, forward, view, resolution, new, old)
    gone = _numbers(session, backward, view, resolution, old, new)
    if not len(added) and not len(gone):
        return near
    seen = np.zeros(max(int(added.max(initial=0)) + 1, len(near.seen)), bool)
    seen[: len(near.seen)] = near.seen
    seen[gone] = False
    seen[added] = True
    # As long as if it had been loaded: other things that are held are as long.
    behind = int(np.argmax(seen[::-1])) if seen.any() else len(seen) - 1
    return Lane(seen[: len(seen) - behind], near.parts)


def _numbers(
    session: Session, name: str, view: View, resolution: int, revision: int, other: int = 0
) -> Rows:
    place = {"resolution": resolution, "revision": revision, "other": other}
    values = {**place, "readable": readable(view)}
    return integers(session, name, view.repository, values)[0]
