"""Commits, baselines, differences and retention: what a store says of its own history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sourcebook.model import (
    Baseline,
    Difference,
    DroppedVersion,
    ReadContext,
    Resolved,
    Retained,
    Revision,
    Scope,
    Tree,
)
from sourcebook.ports import Prepared
from sourcebook.stores import difference, history, retention
from sourcebook.stores.live import LiveDocuments
from sourcebook.stores.parts.core import UNKNOWN, Core
from sourcebook.stores.prepared import prepare
from sourcebook.stores.writer import CommitWriter, repository_of


class Past(Core):
    def _forget(self, repository: int, revisions: Sequence[int]) -> None:
        """Let go of what is in memory of revisions that were dropped: for a store to say how."""
        raise NotImplementedError

    @contextmanager
    def commit(
        self, scope: Scope, *, message: str = "", request_id: str | None = None
    ) -> Iterator[CommitWriter]:
        """One transaction, one revision; no change, no revision; an exception, no trace."""
        with self._writing(scope, alone=True) as db:
            writer = CommitWriter(db, scope, self._words, request_id)
            try:
                yield writer
                changed = writer.finish(message, self._clock())
            finally:
                writer.close()
            if not changed and not writer.repaired:
                db.take_back()
        if changed:
            writer.settled()
        elif request_id is not None:
            with self._writing(scope, alone=True) as db:
                writer.record_alone(db, scope)

    def prepare(self, tree: Tree) -> Prepared:
        """What a commit would work out first; needs no lock."""
        return prepare(tree)

    def current(
        self, scope: Scope, element_ids: Sequence[str]
    ) -> Mapping[str, tuple[str, str, str]]:
        """(content hash, recipe, source) of those that are live documents now."""
        self._require_writer(scope)
        with self._reading(scope) as (db, repository):
            return LiveDocuments(db, repository, 0).live(element_ids, element_ids)

    def request(self, scope: Scope, request_id: str) -> Mapping[str, object] | None:
        """The recorded result of an earlier commit with this id."""
        row = self._one("request", scope, id=request_id)
        if row is None:
            return None
        result: Mapping[str, object] = json.loads(row[0])
        return result

    def resolve(self, scope: Scope, context: ReadContext) -> Resolved:
        with self._reading(scope) as (db, repository):
            return history.resolve(db, repository, context)

    def log(self, scope: Scope, limit: int | None = None) -> list[Revision]:
        """Newest first. A reader with roles is told when, not what: it may be of hidden things."""
        with self._reading(scope) as (db, repository):
            found = history.log(db, repository, limit)
        if scope.roles is None:
            return found
        return [replace(revision, message="", counts={}) for revision in found]

    def baselines(self, scope: Scope) -> list[Baseline]:
        with self._reading(scope) as (db, repository):
            return history.baselines(db, repository)

    def create_baseline(self, scope: Scope, name: str, revision: int) -> Baseline:
        with self._writing(scope, alone=True) as db:
            repository = repository_of(db, scope) or UNKNOWN
            return history.create_baseline(db, repository, name, revision, self._clock())

    def publish(self, scope: Scope, name: str) -> Baseline:
        with self._writing(scope, alone=True) as db:
            return history.publish(db, repository_of(db, scope) or UNKNOWN, name)

    def require_kept(self, scope: Scope, revision: int) -> None:
        with self._reading(scope, revision):
            """Leaving the block asks."""

    def difference(
        self, scope: Scope, old: int, new: int, *, kind: str | None = None
    ) -> Difference:
        """What `old` shows and `new` does not, and the other way round."""
        with self._reading(scope, old), self._reading(scope, new) as (db, _):
            return difference.difference(db, self._view(db, scope), old, new, kind)

    def retain(self, scope: Scope, bound: int, *, dry_run: bool = False) -> Retained:
        """One transaction; a dry run does all of it and takes it back."""
        with self._writing(scope, alone=True) as db:
            repository = repository_of(db, scope) or UNKNOWN
            dropped = retention.retain(db, repository, bound, self._clock())
            if dry_run:
                db.take_back()
        if not dry_run:
            self._forget(repository, dropped.revisions)
        return dropped

    def dropped_version(self, scope: Scope, version_id: str) -> list[DroppedVersion]:
        """Where a version stood that retention has dropped, newest first."""
        with self._reading(scope) as (db, _):
            return retention.dropped_version(db, self._view(db, scope), version_id)
