"""Spaces, their vectors, and who embeds what."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import timedelta

from sourcebook.model import Scope, Space
from sourcebook.ports import Backoff, Failure, IndexHealth, Pending, Spent, Vectors
from sourcebook.stores import claims, moments, spaces
from sourcebook.stores.parts.core import UNKNOWN, Core
from sourcebook.stores.writer import repository_of


class VectorPart(Core):
    def spaces(self, scope: Scope) -> list[Space]:
        with self._reading(scope) as (db, repository):
            found = spaces.spaces(db, repository)
        others = {key: row for key, row in self._space_rows.items() if key[0] != repository}
        self._space_rows = others | {(repository, space): row for row, space in found.items()}
        return list(found.values())

    def register_space(self, scope: Scope, space: Space) -> Space:
        """The space of that id; made if new. A store that knows it already is only read."""
        with self._reading(scope) as (db, repository):
            if (row := spaces.find_space(db, repository, space)) is not None:
                return spaces.spaces(db, repository)[row]
        with self._writing(scope, alone=True) as db:
            return spaces.register(db, repository_of(db, scope, make=True) or UNKNOWN, space)

    def switch_space(self, scope: Scope, space: Space, missing: int = 0) -> bool:
        """One transaction: readers see the old one or the new one as the active space."""
        with self._writing(scope, alone=True) as db:
            return spaces.switch(db, repository_of(db, scope) or UNKNOWN, space, missing)

    def drop_space(self, scope: Scope, space_id: str) -> int:
        """With all its vectors; how many there were."""
        with self._writing(scope, alone=True) as db:
            repository = repository_of(db, scope) or UNKNOWN
            return spaces.drop(db, repository, space_id)

    def pending(self, scope: Scope, space: Space, limit: int | None = None) -> list[Pending]:
        """Texts without a vector, once each: what head shows first, then the short ones."""
        with self._reading(scope) as (db, repository):
            row = spaces.find_space(db, repository, space)
            return spaces.pending(db, repository, row, limit)

    def unembedded(self, scope: Scope, space: Space, hashes: Sequence[str]) -> list[str]:
        """Those of these texts that have no vector, in the given order."""
        with self._reading(scope) as (db, repository):
            row = spaces.require_space(db, repository, space)
            return spaces.unembedded(db, row, hashes)

    def count_pending(self, scope: Scope, space: Space) -> int:
        with self._reading(scope) as (db, repository):
            row = spaces.find_space(db, repository, space)
            values = {"repository": repository, "space": row}
            return int(db.run("count_pending", values).fetchone()[0])

    def put_vectors(
        self,
        scope: Scope,
        space: Space,
        hashes: Sequence[str],
        vectors: Vectors,
        tokens: Sequence[bytes] | None = None,
        spent: Spent | None = None,
    ) -> None:
        """One transaction: all of these vectors, or none."""
        spaces.check(space, hashes, vectors)
        with self._working(scope, space) as (db, row):
            spaces.put(db, row, hashes, vectors, tokens)
            claims.end(db, row, hashes)
            if spent is not None:
                claims.record(db, row, len(hashes), spent, self._clock())

    def token_vectors(
        self, scope: Scope, space: Space, passages: Sequence[int]
    ) -> list[bytes | None]:
        """Of each passage, in order; None where there are none."""
        with self._reading(scope) as (db, repository):
            row = self._space_row(db, repository, space)
            return (
                []
                if row is None
                else spaces.tokens(db, self._view(db, scope), row, passages, self._damage)
            )

    # --- who embeds what -----------------------------------------------------------------------

    def claim(
        self, scope: Scope, space: Space, worker: str, limit: int, lease_s: float
    ) -> list[Pending]:
        """What others took in the meantime is left to them."""
        for _ in range(claims.LOOKS):
            with self._reading(scope) as (db, repository):
                row, now = spaces.require_space(db, repository, space), self._clock()
                if not self._claims.look(db, repository, row, now):
                    return []
            until = moments.stamp(now + timedelta(seconds=lease_s))
            with self._working(scope, space) as (db, row):
                lease = (worker, limit, moments.stamp(now), until)
                taken = self._claims.take(db, repository, row, lease)
            if taken:
                with self._reading(scope) as (db, repository):
                    return claims.texts(db, repository, row, taken)
        return []

    def wait_for_work(self, timeout_s: float, stop: threading.Event) -> None:
        """Nobody tells: whoever waits looks again afterwards."""
        stop.wait(timeout_s)

    def tend(self, scope: Scope) -> None:
        """All that makes searches fast is made as they come."""

    def next_claim_s(self, scope: Scope, space: Space) -> float | None:
        with self._reading(scope) as (db, repository):
            row = spaces.require_space(db, repository, space)
            return claims.next_claim_s(db, repository, row, self._clock())

    def renew(self, scope: Scope, space: Space, worker: str, lease_s: float) -> int:
        with self._working(scope, space) as (db, row):
            return claims.renew(db, row, worker, self._clock() + timedelta(seconds=lease_s))

    def release(
        self, scope: Scope, space: Space, worker: str, hashes: Sequence[str] | None = None
    ) -> None:
        with self._working(scope, space) as (db, row):
            claims.release(db, row, worker, hashes)

    def fail(
        self,
        scope: Scope,
        space: Space,
        worker: str,
        errors: Mapping[str, str],
        backoff: Backoff = Backoff(),
    ) -> None:
        with self._working(scope, space) as (db, row):
            claims.fail(db, row, errors, backoff, self._clock())
            claims.release(db, row, worker, list(errors))

    def failures(self, scope: Scope, space: Space, limit: int) -> list[Failure]:
        """Of what the reader may see: what was given up first, then the newest."""
        with self._reading(scope) as (db, repository):
            row = spaces.find_space(db, repository, space)
            return [] if row is None else claims.failures(db, self._view(db, scope), row, limit)

    def retry_failed(self, scope: Scope, space: Space) -> int:
        with self._working(scope, space) as (db, row):
            return db.run("forget_failures", {"space": row}).rowcount

    def index_health(self, scope: Scope, space: Space) -> IndexHealth:
        with self._reading(scope) as (db, repository):
            row, now = spaces.find_space(db, repository, space), self._clock()
            row = UNKNOWN if row is None else row
            waiting = claims.health(db, self._view(db, scope), row, now)
            if scope.roles is not None:
                return waiting
            return claims.with_work(db, repository, row, now, waiting)
