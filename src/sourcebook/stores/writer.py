"""An open commit: documents in, rows with one `born` revision out; equal rows stay as they are.

A row is never overwritten: what a document no longer says gets a `died` revision, what it says
anew a new row. So the difference between two trees is what is written, and no more. It waits for
that of other documents: one by one each would take several messages to the database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from sourcebook.errors import Conflict, StoreError
from sourcebook.model import Scope, Tree
from sourcebook.names import check_name
from sourcebook.ports import Prepared
from sourcebook.stores import checksums
from sourcebook.stores.live import LiveDocuments
from sourcebook.stores.moments import later
from sourcebook.stores.passages import passage_checksums
from sourcebook.stores.prepared import Passages, prepare
from sourcebook.stores.repair import Repair
from sourcebook.stores.rows import Row, to_json
from sourcebook.stores.statements import Cursor, Facet, Statements
from sourcebook.stores.vocabulary import TermNumbers, Vocabulary
from sourcebook.stores.waiting import Waiting

_PARENT, _KIND = 5, 2
"""Columns of a node row."""
_KINDS = ("node", "link", "passage")
_Live = dict[Row, tuple[int, str]]
"""What a live row says → its number and what it counts as."""


def repository_of(
    db: Statements, scope: Scope, *, make: bool = False, copied: bool = False
) -> int | None:
    """The number of the scope's repository. With `make` it is created if it is missing; its names
    are checked then, unless it is `copied` from another store and so has its names already."""
    values = {
        "tenant": scope.tenant,
        "organization": scope.organization,
        "name": scope.repository,
    }
    row = db.run("repository", values).fetchone()
    if row is None and make:
        if not copied:
            _check_names(scope)
        db.run("add_repository", values)
        row = db.run("repository", values).fetchone()
    return None if row is None else int(row[0])


def _check_names(scope: Scope) -> None:
    for what in ("tenant", "organization", "repository"):
        check_name(getattr(scope, what), f"{what}'s name", what)


class CommitWriter:
    """Everything put into it becomes one revision. Made and ended by the store's `commit`."""

    def __init__(
        self, db: Statements, scope: Scope, words: Vocabulary, request_id: str | None
    ) -> None:
        self._db = db
        self._words = words
        self._request_id = request_id
        self._repository = repository_of(db, scope, make=True) or 0
        self._head: int = self._one("head")[0]
        self._new = self._head + 1
        self._terms = TermNumbers(db, self._repository, words.of(self._repository))
        self._counts: Counter[str] = Counter()
        self._last_passage: int | None = None
        self._absent: set[str] = set()
        """Documents that are not live, so that nothing of theirs is."""
        self._documents = LiveDocuments(db, self._repository, self._head)
        self._waiting = Waiting()
        self._content = ""
        """The text that was kept last."""
        self._closed = ""
        self.repaired = 0
        """Documents of which damaged rows were written again as they were committed."""
        self.result: Mapping[str, object] | None = None
        """Set it to have it stored with the request id, in the same transaction."""
        if request_id is not None and self._one("request", id=request_id):
            raise Conflict(f"request {request_id} was carried out before; read its result")

    @property
    def revision(self) -> int:
        """The one that this commit makes; head as long as nothing has changed."""
        return self._new if self._counts else self._head

    # --- what a commit does --------------------------------------------------------------------

    def current(self, element_ids: Sequence[str]) -> Mapping[str, tuple[str, str, str]]:
        """(content hash, recipe, source) of those that are live documents."""
        self._require_open()
        asked = self._documents.to_ask(element_ids)
        if not self._waiting.documents.isdisjoint(asked):
            self._write()
        live = self._documents.live(element_ids, asked)
        # SQLite reads what is in a list only up to a NUL: such an id may be there all the same.
        self._absent.update(e for e in element_ids if e not in live and "\0" not in e)
        return live

    def repair(self, tree: Tree) -> None:
        """Write the damaged rows of an unchanged document again as they were committed; vectors
        that are damaged are deleted, and so are made again."""
        self._require_open()
        with _Breaking(self):
            self._write()
            Repair(self._db, self._repository, self._head, self._terms).run(prepare(tree))
        self.repaired += 1

    def put(self, given: Tree | Prepared) -> Mapping[str, int]:
        """Make the live rows of this document those of the tree; equal rows stay.

        A node row keeps pointing into the text it was born with: while its version and offsets
        are the same, the same offsets of that text give the same words. It gets a new row when
        any of its columns changes, and the document's node also when the recipe does.
        """
        self._require_open()
        document = given if isinstance(given, Prepared) else prepare(given)
        made = {"nodes": 0, "links": 0, "passages": 0}
        with _Breaking(self):
            live = {kind: self._live(kind, document.element_id) for kind in _KINDS}
            for piece in document.pieces:
                made["nodes"] += self._put_nodes(document, piece.nodes, live["node"])
                made["links"] += self._put_links(document, piece.links, live["link"])
                made["passages"] += self._put_passages(piece.passages, live["passage"])
                if self._waiting.many:
                    self._write()
            self._end_rest(live)
            self._absent.discard(document.element_id)
            self._wait_with(document.element_id)
        return made

    def end(self, element_id: str) -> None:
        """End everything that belongs to this document."""
        self._require_open()
        with _Breaking(self):
            self._end_rest({kind: self._live(kind, element_id) for kind in _KINDS})
            self._wait_with(element_id)

    def live_elements(self, sources: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """(element_id, source) of live documents whose source is one of these or lies below one;
        None means every document."""
        self._require_open()
        self._write()
        found: dict[str, str] = {}
        for source in (None,) if sources is None else dict.fromkeys(sources):
            below = None if source is None else source.rstrip("/")
            values = {"source": below, "repository": self._repository}
            found.update(self._db.run("live_elements", values).fetchall())
        return iter(sorted(found.items()))

    # --- rows ----------------------------------------------------------------------------------

    def _put_nodes(self, document: Prepared, rows: Sequence[Row], live: _Live) -> int:
        new = [row for row in rows if live.pop(row, None) is None]
        if new:
            self._keep_text(document)
            rest = (self._repository, document.recipe, document.content, document.labels, self._new)
            for row in new:
                columns = row[:-2]
                checked = (*columns, document.content, document.labels, self._new)
                self._waiting.nodes.append((*columns, *rest, checksums.of_columns(checked)))
            if document.labels is not None:
                self._waiting.labels.add(document.labels)
        self._counts.update(f"{row[_KIND]}_born" for row in new)
        return len(new)

    def _keep_text(self, document: Prepared) -> None:
        """Once for all pieces of a document."""
        if document.content != self._content:
            self._content = document.content
            self._waiting.contents[document.content] = document.text
            self._waiting.characters += len(document.text)

    def _put_links(self, document: Prepared, rows: Sequence[Row], live: _Live) -> int:
        new = [row for row in rows if live.pop(row, None) is None]
        place = (self._repository, document.element_id)
        self._waiting.links.extend((*place, *row, self._new) for row in new)
        self._counts.update("link_born" for _ in new)
        return len(new)

    def _put_passages(self, piece: Passages | None, live: _Live) -> int:
        rows = piece.rows if piece else ()
        new = {row.digest for row in rows if live.pop((row.digest,), None) is None}
        if piece and new:
            self._waiting.passages.append((piece, new))
            self._waiting.new_passages += len(new)
        self._counts.update("passage_born" for _ in new)
        return len(new)

    def _end_rest(self, live: Mapping[str, _Live]) -> None:
        """The live rows that are not wanted any more."""
        for kind, rows in live.items():
            if rows:
                self._waiting.ended.setdefault(kind, []).extend(row for row, _ in rows.values())
            self._counts.update(f"{counted}_died" for _, counted in rows.values())

    def _wait_with(self, element_id: str) -> None:
        """For those of other documents, until there are many."""
        self._documents.touch(element_id)
        self._waiting.documents.add(element_id)
        if self._waiting.many:
            self._write()

    def _write(self) -> None:
        """All that waits."""
        waiting, self._waiting = self._waiting, Waiting()
        contents = [
            {"repository": self._repository, "hash": hash, "text": text}
            for hash, text in waiting.contents.items()
        ]
        with _Breaking(self):
            for kind, rows in waiting.ended.items():
                self._run(f"end_{kind}s", revision=self._new, rows=rows)
            self._db.run_many("add_content", contents)
            self._db.run_many("add_node", waiting.nodes)
            for labels in sorted(waiting.labels):
                self._run("add_label", labels=labels)
            self._db.run_many("add_link", waiting.links)
            if waiting.passages:
                self._add_passages(waiting.passages, waiting.new_passages)

    def _add_passages(self, pieces: Sequence[tuple[Passages, set[str]]], count: int) -> None:
        self._terms.learn(chain.from_iterable(piece.words for piece, _ in pieces))
        number = self._next_passage(count)
        rows: list[Row] = []
        facets: list[Facet] = []
        index: list[tuple[int, int, bool, bytes]] = []
        for piece, new in pieces:
            for row, (counts, tokens) in zip(piece.rows, piece.numbered(self._terms), strict=True):
                if row.digest not in new:
                    continue
                columns = row.row(counts, tokens, self._db.array(row.ancestors))
                sums = passage_checksums(columns, row.ancestors, self._new)
                rows.append((number, self._repository, *columns, self._new, *sums))
                facets.extend((key, value, number) for key, value in row.facets)
                index.append((number, row.resolution, row.whole, counts))
                number += 1
        self._db.run_many("add_passage", rows)
        self._db.index(self._repository, index, facets)

    def _next_passage(self, count: int) -> int:
        if self._last_passage is None:
            self._last_passage = int(self._one("last_passage")[0])
        first = self._last_passage + 1
        self._last_passage += count
        return first

    def _live(self, kind: str, element_id: str) -> _Live:
        """The live rows of a document: what they say → their number and what they count as."""
        if element_id in self._absent:
            return {}
        if element_id in self._waiting.documents:
            self._write()
        values = {"repository": self._repository, "element": element_id}
        found = self._db.run(f"live_{kind}s", values).fetchall()
        if kind != "node":
            return {tuple(rest): (row, kind) for row, *rest in found}
        return {
            (*rest, recipe if rest[_PARENT] is None else "", labels): (row, rest[_KIND])
            for row, recipe, labels, *rest in found
        }

    # --- the end of the commit, called by the store ---------------------------------------------

    def finish(self, message: str, moment: datetime) -> bool:
        """Write the revision; False where nothing has changed and none is made."""
        self._require_open()
        if not self._counts:
            return False
        self._write()
        before = self._one("revision_time", revision=self._head)
        self._run(
            "add_revision",
            revision=self._new,
            at=later(moment, before[0] if before else None),
            message=message,
            counts=to_json(dict(self._counts)),
        )
        last = {"last_passage": self._last_passage, "last_term": self._terms.last}
        self._run("set_head", revision=self._new, **last)
        self._record()
        return True

    def record_alone(self, db: Statements, scope: Scope) -> None:
        """Store the result of a commit that made no revision, in a transaction of its own."""
        self._db, self._repository = db, repository_of(db, scope, make=True) or 0
        self._record()

    def settled(self) -> None:
        """The commit is durable: its term numbers may be used by the next one."""
        self._words.add(self._repository, self._terms.met)

    def close(self, why: str = "the commit has ended") -> None:
        self._closed = self._closed or why

    def _record(self) -> None:
        if self._request_id is not None:
            result = {"revision": self.revision} if self.result is None else dict(self.result)
            self._run("add_request", id=self._request_id, result=to_json(result))

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"nothing more can be written: {self._closed}")

    def _run(self, name: str, **values: object) -> Cursor:
        return self._db.run(name, {"repository": self._repository, **values})

    def _one(self, name: str, **values: object) -> Any:
        return self._run(name, **values).fetchone()


class _Breaking:
    """A write that fails half-way breaks the whole commit, even if the caller goes on."""

    def __init__(self, writer: CommitWriter) -> None:
        self._writer = writer

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self._writer.close(f"a document could not be written ({error})")
