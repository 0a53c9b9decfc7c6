"""Filters and parents in, the numbers of the passages that they leave out."""

from __future__ import annotations

import numpy as np

from sourcebook.model import Filter
from sourcebook.ports import Within
from sourcebook.stores.postgres.search_cache import Cache, Known
from sourcebook.stores.postgres.search_lanes import Lane, Rows
from sourcebook.stores.postgres.search_statements import Session, integers

_MOST = 128 << 20
"""Bytes of what filters match, in memory."""


class Narrower:
    def __init__(self) -> None:
        self._known: Cache[tuple[int, Filter], Known[Rows]] = Cache(
            _MOST, lambda known: known.value.nbytes
        )

    def narrow(self, session: Session, repository: int, lane: Lane, within: Within) -> Rows | None:
        """The passages of the lane that filters and parents leave, ascending; None is all."""
        rows: Rows | None = None
        for wanted in within.filters:
            rows = _both(rows, self._matching(session, repository, wanted, lane.last))
        if within.parents is not None:
            rows = _both(rows, _inside(session, repository, within))
        if rows is None:
            return None
        shown = lane.among(rows)
        # A filter that leaves all costs no more than none.
        return None if shown.sum() == len(lane) else rows[: len(shown)][shown]

    def _matching(self, session: Session, repository: int, wanted: Filter, upto: int) -> Rows:
        """Metadata of a passage never changes, and new passages have higher numbers."""
        held = self._known.get((repository, wanted))
        rows = np.empty(0, np.int64) if held is None else held.value
        if held is not None and held.upto >= upto:
            return rows
        after = int(rows[-1]) if len(rows) else 0
        asked = {"key": wanted.key, "values": list(wanted.values), "after": after}
        rows = np.concatenate([rows, np.unique(integers(session, "facet", repository, asked)[0])])
        last = int(rows[-1]) if len(rows) else 0
        self._known.put((repository, wanted), Known(rows, max(upto, last)))
        return rows


def _inside(session: Session, repository: int, within: Within) -> Rows:
    assert within.parents is not None
    asked = {"parents": sorted(within.parents), "revision": within.revision}
    return np.unique(integers(session, "inside", repository, asked)[0])


def _both(rows: Rows | None, more: Rows) -> Rows:
    return more if rows is None else np.intersect1d(rows, more, assume_unique=True)
