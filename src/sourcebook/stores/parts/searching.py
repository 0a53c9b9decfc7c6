"""Dense and full-text search at a revision, over what a store brings to search with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sourcebook.model import Match, PreparedQuery, Scope, Space
from sourcebook.ports import Coverage, Evidence, Neighbours, Vectors, Within
from sourcebook.stores.labels import View
from sourcebook.stores.parts.core import Core


class Search(Protocol):
    """`space` is the number of its row; `db` are the store's own statements."""

    def dense(
        self, db: Any, view: View, space: int, vector: Vectors, k: int, within: Within, /
    ) -> Neighbours: ...
    def sparse(
        self, db: Any, view: View, query: PreparedQuery, k: int, within: Within, /
    ) -> list[Match]: ...
    def evidence(
        self,
        db: Any,
        view: View,
        space: int | None,
        vector: Vectors | None,
        query: PreparedQuery,
        passages: Sequence[int],
        within: Within,
        /,
    ) -> Evidence: ...
    def coverage(self, db: Any, view: View, space: int, within: Within, /) -> Coverage: ...
    def forget(self, repository: int, revisions: Sequence[int], /) -> None: ...


class Searching(Core):
    _search: Search

    def dense_search(
        self, scope: Scope, space: Space, vector: Vectors, k: int, within: Within
    ) -> Neighbours:
        with self._reading(scope, within.revision) as (db, repository):
            row = self._space_row(db, repository, space)
            if row is None:
                return Neighbours([])
            return self._search.dense(db, self._lanes(db, scope), row, vector, k, within)

    def sparse_search(
        self, scope: Scope, query: PreparedQuery, k: int, within: Within
    ) -> list[Match]:
        with self._reading(scope, within.revision) as (db, _):
            return self._search.sparse(db, self._lanes(db, scope), query, k, within)

    def evidence(
        self,
        scope: Scope,
        space: Space | None,
        vector: Vectors | None,
        query: PreparedQuery,
        passages: Sequence[int],
        within: Within,
    ) -> Evidence:
        with self._reading(scope, within.revision) as (db, repository):
            row = self._space_row(db, repository, space) if space is not None else None
            asked = (vector, query, passages, within)
            return self._search.evidence(db, self._lanes(db, scope), row, *asked)

    def coverage(self, scope: Scope, space: Space, within: Within) -> Coverage:
        """A space that is not registered has no vectors."""
        with self._reading(scope, within.revision) as (db, repository):
            row = self._space_row(db, repository, space)
            if row is not None:
                return self._search.coverage(db, self._lanes(db, scope), row, within)
        place = {"revision": within.revision, "resolution": within.resolution}
        return Coverage(self._one("lane_size", scope, **place)[0], 0)

    def _forget(self, repository: int, revisions: Sequence[int]) -> None:
        self._search.forget(repository, revisions)
