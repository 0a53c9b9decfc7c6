"""Hits in, a draft of a context out: the hits, and what stands around them as far as there is room.

Hits come by their worth, which is the order that search gave them. What is linked with them has
places of its own; neighbours and openings of sections come only where hits leave room. Nothing that
search did not find gets a relevance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sourcebook.hashing import text_hash
from sourcebook.model import Citation, Hit, Node
from sourcebook.querying.assemble import Draft, Piece
from sourcebook.querying.expand import Linked, Surroundings

_LONGEST_WHOLE = 20_000
"""Characters of a section that may be shown whole."""


class Gatherer:
    """Where hits and what stands around them become pieces of a draft."""

    def __init__(self, around: Surroundings, draft: Draft, hits: Sequence[Hit]) -> None:
        self.around = around
        self.draft = draft
        self.hits = {hit.node.id: hit for hit in hits}
        self._to_place = (self._piece(hit.node, "hit", (hit.node,)) for hit in hits)

    def place_hits(self, most: int) -> None:
        """The next ones, until there are `most` sources in all."""
        self.draft.fill(self._to_place, most)

    def place_linked(self, hops: int) -> None:
        starts = [piece.node for piece in self.draft.pieces]
        if not hops or not starts:
            return
        ranks: dict[str, int] = {}
        for hit in self.hits.values():
            for name in (hit.node.id, hit.node.parent_id, hit.node.element_id):
                ranks.setdefault(name or "", hit.rank)
        found = self.around.linked(starts, hops, ranks)
        self.draft.fill((self._of_link(each) for each in found), self.draft.max_sources)

    def merge_neighbours(self, steps: int) -> None:
        """Where a hit and its neighbours are all of a section or a message, show that as one."""
        for piece in list(self.draft.pieces) if steps else ():
            if piece.why == "hit" and piece.node.kind == "chunk" and piece in self.draft.pieces:
                whole = self._whole(piece, steps)
                if whole:
                    self.draft.merge(whole)

    def place_neighbours(self, steps: int) -> None:
        """In places that are left: what comes before and after, then how the section begins."""
        hits = [piece for piece in self.draft.pieces if piece.why == "hit"] if steps else []
        self.draft.fill(self._beside(hits, steps), self.draft.max_sources)

    def _beside(self, hits: Sequence[Piece], steps: int) -> Iterator[Piece]:
        for hit in hits:
            node = hit.node
            for way in () if hit.parts else self.around.neighbours(node, steps):
                yield self._piece(way[-1], "neighbour of", (node, *way), node.id)
        for hit in hits:
            if way := self.around.parent_opening(hit.node):
                yield self._piece(way[-1], "parent section of", (hit.node, *way), hit.node.id)

    def _whole(self, piece: Piece, steps: int) -> Piece | None:
        node = piece.node
        parent = self.around.node(node.parent_id or "")
        if parent is None or parent.kind not in ("section", "message"):
            return None
        run = self.around.siblings(node, steps)
        if len(run) == 1 or (run[0].start, run[-1].end) != (parent.start, parent.end):
            return None
        parts = tuple(part.id for part in run)
        made = self._piece(parent, "hit", (node, parent))
        best = max((r for part in parts if (r := self._relevance(part)) is not None), default=None)
        return replace(made, parts=parts, relevance=best)

    def _of_link(self, linked: Linked) -> Piece:
        """A document or section is shown by its best hit, whole where it is short, or by how it
        begins."""
        down = self._down_to_hit(linked) or self._down_to_same(linked)
        if not down and not self._is_short(linked.node):
            down = self.around.opening(linked.node)
        shown = down[-1] if down else linked.node
        path = (*linked.path, *(node.id for node in down))
        why = f"linked: {self.around.told(linked.link)}"
        return replace(self._piece(shown, why, ()), path=path)

    def _down_to_hit(self, linked: Linked) -> tuple[Node, ...]:
        for hit in self.hits.values():
            if hit.node.element_id == linked.node.element_id and hit.node.id != linked.node.id:
                above = self.around.ancestors(hit.node)
                ids = [node.id for node in above]
                if linked.node.id in ids:
                    return (*reversed(above[: ids.index(linked.node.id)]), hit.node)
        return ()

    def _down_to_same(self, linked: Linked) -> tuple[Node, ...]:
        """Of a document that supersedes another: the section of the same headings."""
        start = self.around.node(linked.path[0])
        if start is None or linked.link.type != "supersedes":
            return ()
        for old in self.around.ancestors(start):
            new = linked.node.id + old.id.removeprefix(old.element_id)
            section = self.around.node(new) if old.kind == "section" else None
            if section is not None and section.element_id == linked.node.element_id:
                above = self.around.ancestors(section)[:-1]
                down = () if self._is_short(section) else self.around.opening(section)
                return (*reversed(above), section, *down)
        return ()

    def _is_short(self, node: Node) -> bool:
        """Whether it may be shown whole: no more than a source's share of the budget."""
        if node.end - node.start > _LONGEST_WHOLE:
            return False
        text = self.around.store.text(self.around.scope, node)
        return self.draft.count([text])[0] <= self.draft.max_tokens // self.draft.max_sources

    def _piece(self, node: Node, why: str, way: Sequence[Node], beside: str | None = None) -> Piece:
        around, hit = self.around, self.hits.get(node.id)
        text = around.store.text(around.scope, node) if hit is None else hit.text
        place = (node.element_id, node.version_id, node.start, node.end)
        standing = around.standing(node)
        return Piece(
            node=node,
            text=text,
            citation=Citation(around.scope.repository, *place, text_hash(text)),
            title=around.title(node),
            relevance=self._relevance(node.id),
            why=why,
            beside=beside,
            path=tuple(each.id for each in way),
            superseded=standing.superseded,
            supersedes=standing.supersedes,
        )

    def _relevance(self, node_id: str) -> float | None:
        hit = self.hits.get(node_id)
        return hit.relevance if hit else None
