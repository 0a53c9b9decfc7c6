"""The embedded store: one SQLite file that holds the versioned graph, its search and its vectors.

Every read names a revision, so several statements of one use case see one state without a
transaction around them. Every write is one transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sourcebook.errors import Forbidden, NotFound
from sourcebook.model import (
    ApiKey,
    Baseline,
    Difference,
    DroppedVersion,
    Feedback,
    Filter,
    Json,
    Link,
    Match,
    Node,
    PreparedQuery,
    ReadContext,
    Resolved,
    Retained,
    Revision,
    Scope,
    Shown,
    Space,
)
from sourcebook.ports import (
    Asked,
    Backoff,
    Coverage,
    Evidence,
    Failure,
    IndexHealth,
    Pending,
    Spent,
    StoredPassage,
    Vectors,
    Within,
)
from sourcebook.stores import (
    claims,
    difference,
    feedback,
    history,
    keys,
    labels,
    moments,
    retention,
    spaces,
)
from sourcebook.stores.connections import Connections, Location
from sourcebook.stores.labels import View
from sourcebook.stores.queries import QUERIES
from sourcebook.stores.query_log import QueryLog
from sourcebook.stores.rows import NODE_WIDTH, Row, to_json, to_link, to_node, to_passage
from sourcebook.stores.search import Searcher
from sourcebook.stores.texts import TextCache
from sourcebook.stores.vocabulary import Vocabulary
from sourcebook.stores.writer import SqliteWriter, repository_of

_UNKNOWN = -1
"""The number of a repository that nothing was written to: no row has it, so reads are empty."""


class SqliteStore:
    def __init__(
        self, connections: Connections, clock: Callable[[], datetime] = moments.now
    ) -> None:
        self._connections = connections
        self._clock = clock
        self._words = Vocabulary()
        self._texts = TextCache()
        self._repositories: dict[tuple[str, str, str], int] = {}
        self._space_rows: dict[tuple[int, Space], int] = {}
        self._searcher = Searcher(self.reader)
        self._queries = QueryLog(connections)
        self._claims = claims.Claims()
        self._uses = keys.Uses(connections)

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        busy_timeout: float = 10.0,
        clock: Callable[[], datetime] = moments.now,
    ) -> SqliteStore:
        """Opens the store, makes it if it is not there, and upgrades an older one."""
        return cls(Connections(Location.parse(where), busy_timeout), clock)

    def reader(self) -> sqlite3.Connection:
        """This thread's connection for reading."""
        return self._connections.reader()

    @property
    def path(self) -> Path:
        return self._connections.path

    @property
    def read_only(self) -> bool:
        return self._connections.read_only

    def close(self) -> None:
        self._queries.close()
        self._uses.close()
        self._connections.close()

    # --- writing -------------------------------------------------------------------------------

    @contextmanager
    def commit(
        self, scope: Scope, *, message: str = "", request_id: str | None = None
    ) -> Iterator[SqliteWriter]:
        """One transaction, one revision; no change, no revision; an exception, no trace."""
        with self._writing(scope) as db:
            writer = SqliteWriter(db, scope, self._words, request_id)
            try:
                yield writer
                changed = writer.finish(message, self._clock())
            finally:
                writer.close()
            if not changed:
                db.execute("ROLLBACK")
                if request_id is not None:
                    db.execute("BEGIN IMMEDIATE")
                    writer.record_alone(scope)
        if changed:
            writer.settled()

    def request(self, scope: Scope, request_id: str) -> Mapping[str, object] | None:
        """The recorded result of an earlier commit with this id."""
        row = self._one("request", scope, id=request_id)
        if row is None:
            return None
        result: Mapping[str, object] = json.loads(row[0])
        return result

    # --- history -------------------------------------------------------------------------------

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
        with self._writing(scope) as db:
            repository = repository_of(db, scope) or _UNKNOWN
            return history.create_baseline(db, repository, name, revision, self._clock())

    def publish(self, scope: Scope, name: str) -> Baseline:
        with self._writing(scope) as db:
            return history.publish(db, repository_of(db, scope) or _UNKNOWN, name)

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
        with self._writing(scope) as db:
            repository = repository_of(db, scope) or _UNKNOWN
            dropped = retention.retain(db, repository, bound, self._clock())
            if dry_run:
                db.execute("ROLLBACK")
        if not dry_run:
            self._searcher.forget(repository, dropped.revisions)
        return dropped

    def dropped_version(self, scope: Scope, version_id: str) -> list[DroppedVersion]:
        """Where a version stood that retention has dropped, newest first."""
        with self._reading(scope) as (db, _):
            return retention.dropped_version(db, self._view(db, scope), version_id)

    def vacuum(self) -> None:
        """Gives the room of what was dropped back to the file system."""
        self._connections.vacuum()

    # --- structured reads ----------------------------------------------------------------------

    def node(self, scope: Scope, node_id: str, revision: int) -> Node | None:
        row = self._one("node", scope, id=node_id, revision=revision)
        return None if row is None else to_node(row)

    def versions(self, scope: Scope, version_id: str) -> list[Node]:
        """Every row of a version, newest first."""
        return [to_node(row) for row in self._all("versions", scope, version=version_id)]

    def shown(self, scope: Scope, version_id: str) -> list[Shown]:
        """Every row of a version with the revisions that show it, newest first."""
        rows = self._all("shown", scope, version=version_id)
        return [Shown(to_node(row[2:]), row[0], row[1]) for row in rows]

    def nodes(
        self,
        scope: Scope,
        revision: int,
        *,
        kind: str | None = None,
        filters: tuple[Filter, ...] = (),
        limit: int = 100,
        after: str = "",
    ) -> list[Node]:
        """Visible nodes in order of id, from the first one behind `after`."""
        wanted = to_json([{"key": f.key, "values": list(f.values)} for f in filters])
        values = {"kind": kind, "filters": wanted, "limit": max(limit, 0), "after": after}
        rows = self._all("nodes", scope, revision=revision, **values)
        return [to_node(row) for row in rows]

    def text(self, scope: Scope, node: Node) -> str:
        """The node's own words. Cut in Python, whose offsets count characters as ours do and which
        does not stop at a NUL."""
        place = {"version": node.version_id, "id": node.id, "start": node.start, "end": node.end}
        row = self._one("content_of", scope, **place)
        if row is None:
            raise NotFound(f"there is no version {node.version_id} of {node.id}")
        return self._content(scope, row[0])[node.start : node.end]

    def links(self, scope: Scope, node_id: str, revision: int) -> list[Link]:
        """At either end of the node."""
        return [to_link(row) for row in self._all("links", scope, id=node_id, revision=revision)]

    def children(self, scope: Scope, node_id: str, revision: int, limit: int) -> list[Node]:
        """The visible nodes that a node contains, in the order of the text."""
        rows = self._all("children", scope, id=node_id, revision=revision, limit=limit)
        return [to_node(row) for row in rows]

    def relations(
        self, scope: Scope, node_ids: Sequence[str], revision: int, limit: int
    ) -> list[Link]:
        """Visible links at either end that do not come from the structure of a document."""
        wanted = {"ids": json.dumps(list(node_ids)), "revision": revision, "limit": limit}
        return [to_link(row) for row in self._all("relations", scope, **wanted)]

    def relations_among(
        self, scope: Scope, node_ids: Sequence[str], revision: int, limit: int
    ) -> list[Link]:
        """The same, where both ends are among these nodes."""
        wanted = {"ids": json.dumps(list(node_ids)), "revision": revision, "limit": limit}
        return [to_link(row) for row in self._all("relations_among", scope, **wanted)]

    def counts(self, scope: Scope, revision: int) -> Mapping[str, int]:
        """Visible nodes by kind, and passages and links."""
        return {"relationship": 0, **dict(self._all("counts", scope, revision=revision))}

    def passages(self, scope: Scope, revision: int, rows: Sequence[int]) -> list[StoredPassage]:
        """In the given order; a row of another repository or revision is left out."""
        wanted = json.dumps([int(row) for row in rows])
        found = self._all("passages", scope, revision=revision, rows=wanted)
        stored = {row[NODE_WIDTH + 1]: self._stored(scope, row) for row in found}
        return [stored[row] for row in rows if row in stored]

    def _stored(self, scope: Scope, row: Row) -> StoredPassage:
        node = to_node(row[:NODE_WIDTH])
        content, number, *columns = row[NODE_WIDTH:]
        passage = to_passage(tuple(columns))
        if passage.summary:
            return StoredPassage(
                number, node, passage, self._content(scope, content)[node.start : node.end]
            )
        return StoredPassage(number, node, passage, passage.body)

    def _content(self, scope: Scope, name: str) -> str:
        def read() -> str:
            row = self._one("content", scope, hash=name)
            if row is None:
                raise NotFound("the text was dropped by retention while it was being read")
            return str(row[0])

        return self._texts.get((self._repository(scope), name), read)

    # --- search --------------------------------------------------------------------------------

    def dense_search(
        self, scope: Scope, space: Space, vector: Vectors, k: int, within: Within
    ) -> list[Match]:
        with self._reading(scope, within.revision) as (db, repository):
            row = self._space_row(db, repository, space)
            if row is None:
                return []
            return self._searcher.dense(self._lanes(db, scope), row, vector, k, within)

    def sparse_search(
        self, scope: Scope, query: PreparedQuery, k: int, within: Within
    ) -> list[Match]:
        with self._reading(scope, within.revision) as (db, _):
            return self._searcher.sparse(self._lanes(db, scope), query, k, within)

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
            return self._searcher.evidence(self._lanes(db, scope), row, *asked)

    def coverage(self, scope: Scope, space: Space, within: Within) -> Coverage:
        """A space that is not registered has no vectors."""
        with self._reading(scope, within.revision) as (db, repository):
            row = self._space_row(db, repository, space)
            if row is not None:
                return self._searcher.coverage(self._lanes(db, scope), row, within)
        place = {"revision": within.revision, "resolution": within.resolution}
        return Coverage(self._one("lane_size", scope, **place)[0], 0)

    def has_standing(self, scope: Scope, keys: Sequence[str]) -> bool:
        """Whether any revision says something of a document's standing."""
        return bool(self._one("has_standing", scope, keys=json.dumps(list(keys)))[0])

    # --- vectors -------------------------------------------------------------------------------

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
        with self._writing(scope) as db:
            return spaces.register(db, repository_of(db, scope, make=True) or _UNKNOWN, space)

    def switch_space(self, scope: Scope, space: Space, missing: int = 0) -> bool:
        """One transaction: readers see the old one or the new one as the active space."""
        with self._writing(scope) as db:
            return spaces.switch(db, repository_of(db, scope) or _UNKNOWN, space, missing)

    def drop_space(self, scope: Scope, space_id: str) -> int:
        """With all its vectors; how many there were."""
        with self._writing(scope) as db:
            repository = repository_of(db, scope) or _UNKNOWN
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
            return int(db.execute(QUERIES["count_pending"], values).fetchone()[0])

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
            return [] if row is None else spaces.tokens(db, self._view(db, scope), row, passages)

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
            return db.execute(QUERIES["forget_failures"], {"space": row}).rowcount

    def index_health(self, scope: Scope, space: Space) -> IndexHealth:
        with self._reading(scope) as (db, repository):
            row, now = spaces.find_space(db, repository, space), self._clock()
            row = _UNKNOWN if row is None else row
            waiting = claims.health(db, self._view(db, scope), row, now)
            if scope.roles is not None:
                return waiting
            return claims.with_work(db, repository, row, now, waiting)

    @contextmanager
    def _working(self, scope: Scope, space: Space) -> Iterator[tuple[sqlite3.Connection, int]]:
        """A transaction, and the row of the space."""
        with self._writing(scope) as db:
            yield db, spaces.require_space(db, repository_of(db, scope) or _UNKNOWN, space)

    # --- what a language model answered --------------------------------------------------------

    def generated(self, scope: Scope, keys: Sequence[str]) -> dict[str, str]:
        """The answers that were kept under these keys."""
        return dict(self._all("generated", scope, keys=json.dumps(list(keys))))

    def keep_generated(self, scope: Scope, answers: Mapping[str, str]) -> None:
        """The first answer of a key stays."""
        with self._writing(scope) as db:
            repository = repository_of(db, scope, make=True)
            rows = [(repository, key, text) for key, text in answers.items()]
            db.executemany(QUERIES["keep_generated"], rows)

    # --- quality -------------------------------------------------------------------------------

    def unscored(self, scope: Scope, analyzer: str, limit: int, since: int = 0) -> list[Node]:
        """Node versions born at that revision or later that this analyzer has not scored yet,
        oldest first."""
        rows = self._all("unscored", scope, analyzer=analyzer, limit=limit, since=since)
        return [to_node(row) for row in rows]

    def put_quality(self, scope: Scope, analyzer: str, scores: Mapping[str, Json]) -> None:
        """By version id."""
        with self._writing(scope) as db:
            repository = repository_of(db, scope) or _UNKNOWN
            rows = [(repository, version, analyzer, to_json(q)) for version, q in scores.items()]
            db.executemany(QUERIES["add_quality"], rows)

    def quality(self, scope: Scope, analyzer: str, versions: Sequence[str]) -> dict[str, Json]:
        """Of those versions that were scored."""
        wanted = json.dumps(list(versions))
        found = self._all("quality", scope, analyzer=analyzer, versions=wanted)
        return {version: json.loads(scores) for version, scores in found}

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
        with self._connections.translating():
            rows = self.reader().execute(QUERIES["repositories"], {"tenant": tenant}).fetchall()
        return [Scope(*row) for row in rows]

    def add_key(self, key: ApiKey) -> None:
        with self._connections.transaction() as db:
            keys.add(db, key)

    def key(self, key_id: str) -> ApiKey | None:
        with self._connections.translating():
            return keys.find(self.reader(), key_id)

    def keys(self, tenant: str | None) -> list[ApiKey]:
        """Oldest first, with the uses of this process."""
        self._uses.flush()
        with self._connections.translating():
            return keys.of_tenant(self.reader(), tenant)

    def revoke_key(self, tenant: str, key_id: str) -> ApiKey:
        with self._connections.transaction() as db:
            return keys.revoke(db, tenant, key_id, self._clock())

    def touch_key(self, key_id: str) -> None:
        """Returns at once and never fails; written a little later, once a minute at most."""
        self._uses.add(key_id, self._clock())

    # --- feedback ------------------------------------------------------------------------------

    def add_feedback(
        self, scope: Scope, given: Feedback, request_id: str | None = None
    ) -> Feedback:
        """The first one of a request id stays, and is what comes back."""
        with self._connections.transaction() as db:
            repository = repository_of(db, scope) or _UNKNOWN
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

    # --- statements ----------------------------------------------------------------------------

    @contextmanager
    def _reading(
        self, scope: Scope, revision: int | None = None
    ) -> Iterator[tuple[sqlite3.Connection, int]]:
        """What is read inside is that revision's, whole: it is looked at last whether retention has
        dropped it, and a revision that was dropped stays dropped."""
        with self._connections.translating():
            db, repository = self.reader(), self._repository(scope)
            try:
                yield db, repository
            finally:
                if revision is not None:
                    history.require_kept(db, repository, revision)

    @contextmanager
    def _writing(self, scope: Scope) -> Iterator[sqlite3.Connection]:
        """One transaction, for who sees everything: another could overwrite what it cannot see."""
        if scope.roles is not None:
            raise Forbidden("a reader with roles cannot write; use a key without roles")
        with self._connections.transaction() as db:
            yield db

    def _repository(self, scope: Scope) -> int:
        """Remembered once it is there: a repository's number never changes."""
        key = (scope.tenant, scope.organization, scope.repository)
        if key not in self._repositories:
            found = repository_of(self.reader(), scope)
            if found is None:
                return _UNKNOWN
            self._repositories[key] = found
        return self._repositories[key]

    def _space_row(self, db: sqlite3.Connection, repository: int, space: Space) -> int | None:
        """As `spaces` found it last, which every question asks first."""
        row = self._space_rows.get((repository, space))
        return spaces.find_space(db, repository, space) if row is None else row

    def _view(self, db: sqlite3.Connection, scope: Scope) -> View:
        return labels.view(db, self._repository(scope), scope)

    def _lanes(self, db: sqlite3.Connection, scope: Scope) -> View:
        return labels.lane_view(db, self._repository(scope), scope)

    def _all(self, name: str, scope: Scope, **values: object) -> list[Row]:
        with self._reading(scope, _revision(values)) as (db, _):
            return db.execute(QUERIES[name], {**self._seen(db, scope), **values}).fetchall()

    def _one(self, name: str, scope: Scope, **values: object) -> Any:
        with self._reading(scope, _revision(values)) as (db, _):
            return db.execute(QUERIES[name], {**self._seen(db, scope), **values}).fetchone()

    def _seen(self, db: sqlite3.Connection, scope: Scope) -> Mapping[str, object]:
        return self._view(db, scope)._asdict()


def _revision(values: Mapping[str, object]) -> int | None:
    """The one that a statement reads at, if it does."""
    revision = values.get("revision")
    return revision if isinstance(revision, int) else None
