"""What a store keeps beside the history: a language model's answers, quality, what was asked, keys
and feedback."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sourcebook.errors import Damaged
from sourcebook.model import ApiKey, Feedback, Json, Node, Scope
from sourcebook.ports import Asked
from sourcebook.stores import checksums, feedback, keys
from sourcebook.stores.parts.core import UNKNOWN, Core
from sourcebook.stores.rows import to_json, to_node
from sourcebook.stores.writer import repository_of


class People(Core):
    def generated(self, scope: Scope, keys: Sequence[str]) -> dict[str, str]:
        """The answers that were kept under these keys."""
        return dict(self._all("generated", scope, keys=list(keys)))

    def keep_generated(self, scope: Scope, answers: Mapping[str, str]) -> None:
        """The first answer of a key stays."""
        with self._writing(scope) as db:
            repository = repository_of(db, scope, make=True)
            rows = [(repository, key, text) for key, text in answers.items()]
            db.run_many("keep_generated", rows)

    # --- quality -------------------------------------------------------------------------------

    def unscored(
        self, scope: Scope, analyzer: str, limit: int, since: int = 0, after: int = 0
    ) -> dict[int, Node]:
        """Node versions born at that revision or later that this analyzer has not scored yet, each
        once, oldest first: by a number that rises, from the one behind `after` on."""
        place = {"since": since, "after": after}
        rows = self._all("unscored", scope, analyzer=analyzer, limit=limit, **place)
        found: dict[str, tuple[int, Node]] = {}
        for number, *row in rows:
            try:
                node = to_node(tuple(row))
            except Damaged:  # reads of it say so; it is scored once it is repaired
                continue
            found.setdefault(node.version_id, (number, node))
        return dict(found.values())

    def put_quality(self, scope: Scope, analyzer: str, scores: Mapping[str, Json]) -> None:
        """By version id."""
        with self._writing(scope) as db:
            repository = repository_of(db, scope) or UNKNOWN
            # In one order, or two that score the same wait for each other.
            named = [(v, analyzer, to_json(scores[v])) for v in sorted(scores)]
            rows = [(repository, *row, checksums.of_columns(row)) for row in named]
            db.run_many("add_quality", rows)

    def quality(self, scope: Scope, analyzer: str, versions: Sequence[str]) -> dict[str, Json]:
        """Of those versions that were scored; damaged scores are noted and left out."""
        wanted = list(versions)
        found = self._all("quality", scope, analyzer=analyzer, versions=wanted)
        sound = {}
        for version, scores, checksum in found:
            if checksums.matches(checksum, checksums.of_columns((version, analyzer, scores))):
                sound[version] = json.loads(scores)
            else:
                self._note_quality(scope, version)
        return sound

    def _note_quality(self, scope: Scope, version: str) -> None:
        with self._reading(scope) as (_, repository):
            row = self._one("versions", scope, version=version)
            self._damage.add(repository, row[1] if row else version, "quality")

    # --- monitoring ----------------------------------------------------------------------------

    @property
    def queries_dropped(self) -> int:
        return self._queries.dropped

    def log_queries(self, scope: Scope, rows: Sequence[Asked]) -> None:
        """Returns at once and never fails; the rows are written a little later, or dropped."""
        self._queries.add(scope, rows)

    def query_log(self, scope: Scope, since: str | None, limit: int) -> list[Asked]:
        """Newest first, those of this process included."""
        self._queries.flush()
        return [Asked(*row) for row in self._all("query_log", scope, since=since, limit=limit)]

    # --- repositories and keys -----------------------------------------------------------------

    def repositories(self, tenant: str | None = None) -> list[Scope]:
        """In the order of their names."""
        with self._statements(None) as db:
            rows = db.run("repositories", {"tenant": tenant}).fetchall()
        return [Scope(*row) for row in rows]

    def add_key(self, key: ApiKey) -> None:
        with self._transaction(key.tenant) as db:
            keys.add(db, key)

    def key(self, key_id: str) -> ApiKey | None:
        with self._statements(None) as db:
            return keys.find(db, key_id)

    def keys(self, tenant: str | None) -> list[ApiKey]:
        """Oldest first, with the uses of this process."""
        self._uses.flush()
        with self._statements(None) as db:
            return keys.of_tenant(db, tenant)

    def revoke_key(self, tenant: str, key_id: str) -> ApiKey:
        with self._transaction(tenant) as db:
            return keys.revoke(db, tenant, key_id, self._clock())

    def touch_key(self, key_id: str) -> None:
        """Returns at once and never fails; written a little later, once a minute at most."""
        self._uses.add(key_id, self._clock())

    # --- feedback ------------------------------------------------------------------------------

    def add_feedback(
        self, scope: Scope, given: Feedback, request_id: str | None = None
    ) -> Feedback:
        """The first one of a request id stays, and is what comes back."""
        with self._transaction(scope.tenant) as db:
            repository = repository_of(db, scope) or UNKNOWN
            return feedback.add(db, repository, scope, given, request_id)

    def feedback_of_request(
        self, scope: Scope, key_id: str | None, request_id: str
    ) -> Feedback | None:
        row = self._one("feedback_of_request", scope, key_id=key_id, request_id=request_id)
        return None if row is None else feedback.to_feedback(row, scope)

    def feedback(self, scope: Scope, limit: int | None = None) -> list[Feedback]:
        """Newest first, of what the reader may see."""
        rows = self._all("feedback", scope, limit=-1 if limit is None else max(limit, 0))
        return [feedback.to_feedback(row, scope) for row in rows]
