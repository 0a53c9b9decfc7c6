"""Nodes, links, texts and passages at a revision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sourcebook.errors import Damaged, NotFound
from sourcebook.model import DamagedPart, Filter, Link, Node, Scope, Shown
from sourcebook.ports import StoredPassage
from sourcebook.stores import checksums
from sourcebook.stores.parts.core import Core
from sourcebook.stores.repair import damaged_elements
from sourcebook.stores.rows import (
    CONTENT,
    NODE_WIDTH,
    Row,
    damaged,
    to_json,
    to_link,
    to_node,
    to_passage,
)

_CONTENTS = 20
"""Whole texts of documents that are read at a time."""


class Reads(Core):
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
        return self._content(scope, node.element_id, row[0])[node.start : node.end]

    def texts(self, scope: Scope, nodes: Sequence[Node]) -> list[str | None]:
        """The same of each; None where there is no such version any more, or where its text is
        damaged, which is noted."""
        if not nodes:
            return []
        texts: list[str | None] = [None] * len(nodes)
        with self._reading(scope):
            rows = self._all("contents_of", scope, versions=[node.version_id for node in nodes])
            content = {tuple(place): name for name, *place in rows}
            of: dict[str, list[int]] = {}
            for n, node in enumerate(nodes):
                name = content.get((node.version_id, node.id, node.start, node.end))
                if name is not None:
                    of.setdefault(name, []).append(n)
            for name, text in self._contents(scope, list(of)):
                for n in of[name]:
                    if text is None:
                        self._note(scope, nodes[n].element_id, "text")
                    else:
                        texts[n] = text[nodes[n].start : nodes[n].end]
        return texts

    def links(self, scope: Scope, node_id: str, revision: int) -> list[Link]:
        """At either end of the node."""
        return [to_link(row) for row in self._all("links", scope, id=node_id, revision=revision)]

    def children(self, scope: Scope, node_id: str, revision: int, limit: int) -> list[Node]:
        """The visible nodes that a node contains, in the order of the text."""
        rows = self._all("children", scope, id=node_id, revision=revision, limit=limit)
        return [node for row in rows if (node := self._sound_node(scope, row)) is not None]

    def relations(
        self, scope: Scope, node_ids: Sequence[str], revision: int, limit: int
    ) -> list[Link]:
        """Visible links at either end that do not come from the structure of a document."""
        wanted = {"ids": list(node_ids), "revision": revision, "limit": limit}
        return [to_link(row) for row in self._all("relations", scope, **wanted)]

    def relations_among(
        self, scope: Scope, node_ids: Sequence[str], revision: int, limit: int
    ) -> list[Link]:
        """The same, where both ends are among these nodes."""
        wanted = {"ids": list(node_ids), "revision": revision, "limit": limit}
        return [to_link(row) for row in self._all("relations_among", scope, **wanted)]

    def counts(self, scope: Scope, revision: int) -> Mapping[str, int]:
        """Visible nodes by kind, and passages and links."""
        return {"relationship": 0, **dict(self._all("counts", scope, revision=revision))}

    def passages(self, scope: Scope, revision: int, rows: Sequence[int]) -> list[StoredPassage]:
        """In the given order; a row of another repository or revision is left out, and so is one
        that is damaged, which is noted."""
        wanted = [int(row) for row in rows]
        found = self._all("passages", scope, revision=revision, rows=wanted)
        stored = {}
        for row in found:
            try:
                stored[row[NODE_WIDTH]] = self._stored(scope, row)
            except Damaged:
                self._note(scope, row[1], "passage")
        return [stored[row] for row in rows if row in stored]

    def _stored(self, scope: Scope, row: Row) -> StoredPassage:
        node = to_node(row[:NODE_WIDTH])
        number, *columns = row[NODE_WIDTH:]
        passage = to_passage(tuple(columns))
        if passage.summary:
            whole = self._content(scope, node.element_id, row[CONTENT])
            return StoredPassage(number, node, passage, whole[node.start : node.end])
        return StoredPassage(number, node, passage, passage.body)

    def damage(self, scope: Scope, revision: int, since: float) -> list[DamagedPart]:
        """What reads have found damaged since that time.monotonic(), as far as the reader may know
        of the documents."""
        with self._reading(scope) as (_, repository):
            found = self._damage.since(repository, since)
        if scope.roles is None:
            return found
        known = {
            part.element_id
            for part in found
            if self._one("node", scope, id=part.element_id, revision=revision) is not None
        }
        return [part for part in found if part.element_id in known]

    def damaged(self, scope: Scope, element_ids: Sequence[str]) -> set[str]:
        """Those of these live documents of which anything stored does not match its checksum."""
        if not element_ids:
            return set()
        with self._reading(scope) as (db, repository):
            return damaged_elements(db, repository, element_ids)

    def _note(self, scope: Scope, element_id: str, part: str) -> None:
        with self._reading(scope) as (_, repository):
            self._damage.add(repository, element_id, part)

    def _sound_node(self, scope: Scope, row: Row) -> Node | None:
        """None where the row is damaged, which is noted."""
        try:
            return to_node(row)
        except Damaged:
            self._note(scope, str(row[1]), "node")
            return None

    def _contents(self, scope: Scope, names: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        """A few in memory at a time, and those that the cache holds; None for a damaged one."""
        place = (scope.tenant, scope.organization, scope.repository)
        for start in range(0, len(names), _CONTENTS):
            piece = names[start : start + _CONTENTS]
            missing = []
            for name in piece:
                text = self._texts.held((*place, name))
                if text is None:
                    missing.append(name)
                else:
                    yield name, text
            for name, text in self._all("contents", scope, hashes=missing) if missing else ():
                sound = checksums.says(name, text)
                if sound:
                    self._texts.keep((*place, name), text)
                yield name, text if sound else None

    def _content(self, scope: Scope, element_id: str, name: str) -> str:
        def read() -> str:
            row = self._one("content", scope, hash=name)
            if row is None:
                raise NotFound("the text was dropped by retention while it was being read")
            if not checksums.says(name, row[0]):
                self._note(scope, element_id, "text")
                raise damaged("text", element_id)
            return str(row[0])

        return self._texts.get((scope.tenant, scope.organization, scope.repository, name), read)

    def has_standing(self, scope: Scope, keys: Sequence[str]) -> bool:
        """Whether any revision says something of a document's standing."""
        return bool(self._one("has_standing", scope, keys=list(keys))[0])
