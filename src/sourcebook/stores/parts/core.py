"""A scope in, statements on its rows out: what the parts of a store stand on.

A store gives two things: statements to read with, and transactions to write in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any

from sourcebook.errors import Forbidden
from sourcebook.model import Scope, Space
from sourcebook.stores import claims, history, keys, labels, spaces
from sourcebook.stores.aside import Aside
from sourcebook.stores.damage import DamageNotes
from sourcebook.stores.labels import View
from sourcebook.stores.query_log import QueryLog
from sourcebook.stores.rows import Row
from sourcebook.stores.statements import Statements
from sourcebook.stores.texts import TextCache
from sourcebook.stores.vocabulary import Vocabulary
from sourcebook.stores.writer import repository_of

UNKNOWN = -1
"""The number of a repository that nothing was written to: no row has it, so reads are empty."""


class Core:
    def __init__(self, clock: Callable[[], datetime], aside: Callable[[], Aside]) -> None:
        self._clock = clock
        self._words = Vocabulary()
        self._texts = TextCache()
        self._damage = DamageNotes()
        self._claims = claims.Claims()
        self._queries = QueryLog(aside())
        self._uses = keys.Uses(aside())
        self._repositories: dict[tuple[str, str, str], int] = {}
        self._space_rows: dict[tuple[int, Space], int] = {}

    # --- what a store gives --------------------------------------------------------------------

    def _statements(
        self, tenant: str | None, revision: int | None = None, scope: Scope | None = None
    ) -> AbstractContextManager[Statements]:
        """To read with, as of now; None is for what belongs to no tenant in particular. Where a
        revision is given, wherever that revision of the scope can be read."""
        raise NotImplementedError

    def _transaction(
        self, tenant: str, alone: Scope | None = None
    ) -> AbstractContextManager[Statements]:
        """To write in, all of it or nothing. `alone`: nobody else changes that repository's history
        or its spaces at the same time."""
        raise NotImplementedError

    # --- reading -------------------------------------------------------------------------------

    @contextmanager
    def _reading(
        self, scope: Scope, revision: int | None = None
    ) -> Iterator[tuple[Statements, int]]:
        """What is read inside is that revision's, whole: it is looked at last whether retention has
        dropped it, and a revision that was dropped stays dropped."""
        with self._statements(scope.tenant, revision, scope) as db:
            db.repository = repository = self._repository(db, scope)
            try:
                yield db, repository
            finally:
                if revision is not None:
                    history.require_kept(db, repository, revision)

    def _repository(self, db: Statements, scope: Scope) -> int:
        """Remembered once it is there: a repository's number never changes."""
        key = (scope.tenant, scope.organization, scope.repository)
        if key not in self._repositories:
            found = repository_of(db, scope)
            if found is None:
                return UNKNOWN
            self._repositories[key] = found
        return self._repositories[key]

    def _space_row(self, db: Statements, repository: int, space: Space) -> int | None:
        """As `spaces` found it last, which every question asks first."""
        row = self._space_rows.get((repository, space))
        return spaces.find_space(db, repository, space) if row is None else row

    def _view(self, db: Statements, scope: Scope) -> View:
        return labels.view(db, self._repository(db, scope), scope)

    def _lanes(self, db: Statements, scope: Scope) -> View:
        return labels.lane_view(db, self._repository(db, scope), scope)

    def _all(self, name: str, scope: Scope, **values: object) -> list[Row]:
        with self._reading(scope, _revision(values)) as (db, _):
            return db.run(name, {**self._seen(db, scope), **values}).fetchall()

    def _one(self, name: str, scope: Scope, **values: object) -> Any:
        with self._reading(scope, _revision(values)) as (db, _):
            return db.run(name, {**self._seen(db, scope), **values}).fetchone()

    def _seen(self, db: Statements, scope: Scope) -> Mapping[str, object]:
        return self._view(db, scope)._asdict()

    # --- writing -------------------------------------------------------------------------------

    @contextmanager
    def _writing(self, scope: Scope, *, alone: bool = False) -> Iterator[Statements]:
        """One transaction, for who sees everything: another could overwrite what it cannot see."""
        self._require_writer(scope)
        with self._transaction(scope.tenant, scope if alone else None) as db:
            yield db

    @staticmethod
    def _require_writer(scope: Scope) -> None:
        if scope.roles is not None:
            raise Forbidden("a reader with roles cannot write; use a key without roles")

    @contextmanager
    def _working(self, scope: Scope, space: Space) -> Iterator[tuple[Statements, int]]:
        """A transaction, and the row of the space."""
        with self._writing(scope) as db:
            db.repository = repository_of(db, scope) or UNKNOWN
            yield db, spaces.require_space(db, db.repository, space)


def _revision(values: Mapping[str, object]) -> int | None:
    """The one that a statement reads at, if it does."""
    revision = values.get("revision")
    return revision if isinstance(revision, int) else None
