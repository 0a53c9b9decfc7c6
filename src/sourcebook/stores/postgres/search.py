"""Searches over a PostgreSQL store: a revision, a resolution and filters in, ranked matches out.

The answers are the embedded store's: the same BM25 with the statistics of what the reader sees at
the revision, the same cosines, ties broken by node id. The database gives postings, nearest vectors
and names; what may be found is known here as sets of passage numbers, so no statement depends on
how much a filter leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sourcebook.model import Match, PreparedQuery
from sourcebook.ports import Coverage, Evidence, Neighbours, Vectors, Within
from sourcebook.stores.damage import DamageNotes
from sourcebook.stores.labels import View
from sourcebook.stores.postgres.dense_numbers import Numbers
from sourcebook.stores.postgres.dense_read import Place, cosines, read_vectors
from sourcebook.stores.postgres.dense_search import Nearest
from sourcebook.stores.postgres.postings_drop import drop_passages
from sourcebook.stores.postgres.postings_write import index_passages
from sourcebook.stores.postgres.search_lanes import Lane, Lanes
from sourcebook.stores.postgres.search_narrow import Narrower
from sourcebook.stores.postgres.search_rank import best, exact_first, ranked
from sourcebook.stores.postgres.search_statements import Packed, Session, run
from sourcebook.stores.postgres.search_terms import Terms
from sourcebook.stores.postgres.search_words import search_words

__all__ = ["Searcher", "drop_passages", "index_passages"]


class Searcher:
    """Belongs to one store; holds what was read of it a while ago."""

    def __init__(self, damage: DamageNotes, by_words: bool = False) -> None:
        """`by_words`: full-text search is the database's own, by `ts_rank_cd` (search_words)."""
        self._damage = damage
        self._by_words = by_words
        self._lanes = Lanes()
        self._narrower = Narrower()
        self._terms = Terms()
        self._numbers = Numbers()
        self._nearest = Nearest()

    def dense(
        self, session: Session, view: View, space: int, vector: Vectors, k: int, within: Within
    ) -> Neighbours:
        lane = self._lane(session, view, within)
        rows = self._narrower.narrow(session, view.repository, lane, within)
        numbers = self._numbers.get(session, view.repository, space, lane.last)
        place = Place(view.repository, space)
        allowed = lane.rows if rows is None else rows
        again = None
        if within.parents is None:  # Those are of one question.
            filters = frozenset(() if rows is None else within.filters)
            again = (view, within.resolution, filters)
        found = self._nearest.search(session, place, numbers, vector, k, allowed, again)
        self._note(session, place)
        best = ranked(session, view.repository, found.passages, found.scores, k)
        return Neighbours(best, found.approximate)

    def sparse(
        self, session: Session, view: View, query: PreparedQuery, k: int, within: Within
    ) -> list[Match]:
        lane = self._lane(session, view, within)
        rows = self._narrower.narrow(session, view.repository, lane, within)
        if self._by_words:
            return search_words(session, view, query, k, within, rows)
        scored = self._terms.score(session, view, within, lane, rows, query.terms)
        scores = scored.scores
        if not query.phrases:
            found = best(scores, k)
            return ranked(session, view.repository, scored.passages(found), scores[found], k)
        exact = self._terms.exact(session, view, lane, query)
        exact = exact if rows is None else exact[rows]
        holding = np.flatnonzero(exact)
        rest = best(np.where(exact > 0, np.float32(0), scores), k - len(holding))
        found = np.concatenate([exact_first(holding, exact, scores, k), rest])
        passages = scored.passages(found)
        return ranked(session, view.repository, passages, scores[found], k, exact[found])

    def evidence(
        self,
        session: Session,
        view: View,
        space: int | None,
        vector: Vectors | None,
        query: PreparedQuery,
        passages: Sequence[int],
        within: Within,
    ) -> Evidence:
        """What both searches say of these passages, which `within` leaves, found by them or not."""
        lane = self._lane(session, view, within)
        rows = np.array(passages, np.int64)
        left = self._narrower.narrow(session, view.repository, lane, within)
        scored = self._terms.score(session, view, within, lane, left, query.terms)
        lexical = scored.of(rows).astype(np.float64) / (scored.most or 1.0)
        if space is None or vector is None:
            return Evidence(None, lexical, None)
        numbers = self._numbers.get(session, view.repository, space, lane.last)
        place = Place(view.repository, space)
        vectors = read_vectors(session, place, numbers, rows)
        self._note(session, place)
        return Evidence(cosines(vector, vectors), lexical, vectors)

    def coverage(self, session: Session, view: View, space: int, within: Within) -> Coverage:
        lane = self._lane(session, view, within)
        numbers = self._numbers.get(session, view.repository, space, lane.last)
        if numbers.complete:
            return Coverage(len(lane), len(lane))
        return Coverage(len(lane), int((numbers.of[lane.rows] >= 0).sum()))

    def _note(self, session: Session, place: Place) -> None:
        """Note the documents whose vectors this session has found damaged."""
        if session.damaged:
            wanted = np.array(sorted(session.damaged), np.int64)
            asked = {"space": place.space, "numbers": Packed(wanted)}
            for (element,) in run(session, "elements_of_vectors", place.repository, asked):
                self._damage.add(place.repository, element, "vector")

    def forget(self, repository: int, revisions: Sequence[int]) -> None:
        """Let go of what is held of revisions that were dropped."""
        self._lanes.forget(repository, set(revisions))

    def close(self) -> None:
        self._nearest.held.close()

    def _lane(self, session: Session, view: View, within: Within) -> Lane:
        return self._lanes.get(session, (view, within.resolution, within.revision))
