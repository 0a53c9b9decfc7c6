"""A space in, the number of every passage's vector out: what tells who has one, and whose it is.

A vector belongs to a text, so several passages may share one. It is never changed, so what is known
of a passage stays; passages without one are looked at again when the space has got more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sourcebook.stores.postgres.search_cache import Cache
from sourcebook.stores.postgres.search_lanes import Rows
from sourcebook.stores.postgres.search_statements import Packed, Session, integers, run

_MOST = 256 << 20
"""Bytes in memory."""
_SLOW_S = 0.5
"""Where it takes longer to look again, it is done at most a tenth of the time."""


@dataclass(frozen=True)
class VectorNumbers:
    of: Rows
    """Of each passage's number: that of its vector, or -1."""
    vectors: int
    """How many the space had when they were read."""
    dimensions: int
    not_before: float = 0.0

    @cached_property
    def complete(self) -> bool:
        """Whether every passage has one. (Number 0 is of no passage.)"""
        return not (self.of[1:] < 0).any()

    @cached_property
    def sorted(self) -> tuple[Rows, Rows]:
        """The vectors in ascending order, and the passage of each."""
        passages = np.flatnonzero(self.of >= 0)
        order = np.argsort(self.of[passages], kind="stable")
        return self.of[passages][order], passages[order]

    @cached_property
    def distinct(self) -> Rows:
        """The vectors in ascending order, each once."""
        numbers, _ = self.sorted
        return numbers[np.diff(numbers, prepend=-1) > 0]

    def passages(self, vectors: Rows) -> tuple[Rows, Rows]:
        """The passages that have these vectors, and the place of each one's vector in the list."""
        numbers, passages = self.sorted
        low, high = (np.searchsorted(numbers, vectors, side) for side in ("left", "right"))
        counts = high - low
        places = np.repeat(np.arange(len(vectors)), counts)
        starts = np.repeat(low - (np.cumsum(counts) - counts), counts)
        return passages[np.arange(len(places)) + starts], places


class Numbers:
    """Those that were asked for a while ago."""

    def __init__(self) -> None:
        self._known: Cache[tuple[int, int], VectorNumbers] = Cache(
            _MOST, lambda known: 4 * known.of.nbytes
        )

    def get(self, session: Session, repository: int, space: int, upto: int) -> VectorNumbers:
        """Of passages up to a number at least."""
        held = self._known.get((repository, space))
        if held is not None and upto < len(held.of) and held.complete:
            return held
        with self._known.making((repository, space)):
            return self._refreshed(session, repository, space, upto)

    def _refreshed(self, session: Session, repository: int, space: int, upto: int) -> VectorNumbers:
        held = self._known.get((repository, space))
        ((vectors, dimensions),) = run(session, "space", repository, {"space": space})
        if held is None:
            held = VectorNumbers(np.full(1, -1, np.int64), 0, dimensions)
        if vectors == held.vectors and upto < len(held.of):
            return held
        if upto < len(held.of) and time.monotonic() < held.not_before:
            return held
        held = _further(session, repository, space, held, vectors, upto)
        self._known.put((repository, space), held)
        return held


def _further(
    session: Session, repository: int, space: int, held: VectorNumbers, vectors: int, upto: int
) -> VectorNumbers:
    started = time.monotonic()
    of = np.full(max(upto + 1, len(held.of)), -1, np.int64)
    of[: len(held.of)] = held.of
    asked: dict[str, object] = {"space": space, "after": len(held.of) - 1}
    found = [integers(session, "vector_numbers", repository, asked, "int4 int8")]
    missing = np.flatnonzero(held.of[1:] < 0) + 1
    if len(missing) and vectors != held.vectors:
        asked = {"space": space, "numbers": Packed(missing)}
        found.append(integers(session, "vector_numbers_of", repository, asked, "int4 int8"))
    for passages, numbers in found:
        inside = passages < len(of)
        of[passages[inside]] = numbers[inside]
    took = time.monotonic() - started
    wait = 10 * took if took > _SLOW_S else 0.0
    return VectorNumbers(of, vectors, held.dimensions, time.monotonic() + wait)
