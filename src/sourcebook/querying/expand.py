"""A node in, what stands around it at one revision out: neighbours, parents, openings, links.

Links are followed breadth-first from the best hit on, a bounded number of hops and nodes, each node
once. Only what is visible at the revision and passes the filters is given. Every path that is
returned goes along links that exist: up to a parent, across a relationship, down to a passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from sourcebook.model import Filter, Json, Link, Node, Scope
from sourcebook.ports import Store

PER_NODE = 10
IN_ALL = 50
_READ = 500
"""Links of a node that are looked at."""
_DEEPEST = 50
"""Levels of headings."""
_LEAVES = ("chunk", "element")
DRAWN = ("shows", "refers_to")
"""What a view has in it: it says so itself, and it is no relationship, so it is not followed."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A node that links lead to."""

    node: Node
    path: tuple[str, ...]
    """Node ids from the hit on, this node last."""
    link: Link
    """The last one on the way."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What supersedes a document, and what it supersedes, by name; "" where only that is known."""

    superseded: str | None = None
    supersedes: str | None = None


@dataclass(slots=True)
class Surroundings:
    """One scope at one revision; what was read is remembered while a question is answered."""

    store: Store
    scope: Scope
    revision: int
    filters: tuple[Filter, ...] = ()
    _nodes: dict[str, Node | None] = field(default_factory=dict)
    _standings: dict[str, Standing] = field(default_factory=dict)

    def node(self, node_id: str) -> Node | None:
        if node_id not in self._nodes:
            self._nodes[node_id] = self.store.node(self.scope, node_id, self.revision)
        return self._nodes[node_id]

    def root(self, node: Node) -> Node:
        return self.node(node.element_id) or node

    def title(self, node: Node) -> str:
        return self.root(node).title or node.element_id

    def ancestors(self, node: Node) -> list[Node]:
        """Parent first, document last."""
        found: list[Node] = []
        while node.parent_id is not None and len(found) < _DEEPEST:
            parent = self.node(node.parent_id)
            if parent is None:
                break
            found.append(parent)
            node = parent
        return found

    # --- beside and above ----------------------------------------------------------------------

    def neighbours(self, node: Node, steps: int) -> list[tuple[Node, ...]]:
        """The ways to what comes before and after it in its document, nearest first; each begins
        behind the node itself and is one step longer than the last one in its direction."""
        ways: list[tuple[Node, ...]] = []
        ends: dict[bool, tuple[Node, ...]] = {False: (), True: ()}
        for _ in range(steps):
            for after, way in list(ends.items()):
                found = self._next(way[-1] if way else node, after)
                if found is None or found.element_id != node.element_id or found in way:
                    del ends[after]
                    continue
                ends[after] = (*way, found)
                if self.passes(found):
                    ways.append(ends[after])
        return ways

    def siblings(self, node: Node, steps: int) -> list[Node]:
        """The node and those around it under the same parent, in the order of the text."""
        ways = self.neighbours(node, steps)
        found = [w[-1] for w in ways if all(n.parent_id == node.parent_id for n in w)]
        return sorted([node, *found], key=lambda n: n.start)

    def opening(self, node: Node) -> tuple[Node, ...]:
        """The way down to the passage that a node begins with; empty where it is one itself."""
        way: list[Node] = []
        while node.kind not in _LEAVES and len(way) < _DEEPEST:
            inside = self.store.children(self.scope, node.id, self.revision, 1)
            if not inside:
                break
            node = inside[0]
            way.append(node)
        return tuple(way)

    def parent_opening(self, node: Node) -> tuple[Node, ...]:
        """The way from a node over the nearest section above it that begins with other words than
        the node's own, down to these words."""
        way: list[Node] = []
        for parent in self.ancestors(node):
            way.append(parent)
            if parent.kind != "section":
                break
            down = self.opening(parent)
            if len(down) == 1 and down[0].id != node.id and self.passes(down[0]):
                return (*way, *down)
        return ()

    def _next(self, node: Node, after: bool) -> Node | None:
        """A node follows the one before it; a message outside the main line answers one."""
        kind = "responds-to" if "branch" in node.metadata and node.kind == "message" else "follows"
        for link in self.store.links(self.scope, node.id, self.revision):
            ends = (link.target_id, link.source_id)
            here, there = ends if after else ends[::-1]
            if link.type == kind and here == node.id and (other := self.node(there)):
                return other
        return None

    # --- across --------------------------------------------------------------------------------

    def linked(self, hits: Sequence[Node], hops: int, ranks: Mapping[str, int]) -> list[Linked]:
        """What the hits' links lead to, nearest first and from the best hit first. `ranks` are the
        places that search gave to elements: of a node's links, those come first."""
        seen = {node.id for node in hits}
        level: list[tuple[Node, tuple[str, ...]]] = [(node, (node.id,)) for node in hits]
        found: list[Linked] = []
        for _ in range(hops):
            following: list[tuple[Node, tuple[str, ...]]] = []
            for node, path in level:
                for step in self._steps(node, path, ranks, seen):
                    if len(found) == IN_ALL:
                        return found
                    seen.add(step.node.id)
                    following.append((step.node, step.path))
                    found.append(step)
            level = following
        return found

    def _steps(
        self, node: Node, path: tuple[str, ...], ranks: Mapping[str, int], seen: set[str]
    ) -> Iterator[Linked]:
        anchors = self._anchors(node, path)
        links = self.store.relations(self.scope, list(anchors), self.revision, _READ)
        taken = 0
        for link in sorted(links, key=lambda link: _order(link, anchors, ranks)):
            here_id, there_id = _ends(link, anchors)
            if link.type in DRAWN or there_id in seen or there_id in anchors:
                continue
            if link.type == "supersedes" and here_id == link.source_id:
                continue  # from the new to the old: nobody needs to be sent there
            there = self.node(there_id)
            if there is None or not self.passes(there):
                continue
            yield Linked(there, (*anchors[here_id], there_id), link)
            taken += 1
            if taken == PER_NODE:
                return

    def _anchors(self, node: Node, path: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """The nodes whose links are those of a node, each with the way to it: its own, those of the
        section that it stands in, of its document, and of the passage that it begins with."""
        anchors = {node.id: path}
        way = path
        for number, above in enumerate(self.ancestors(node)):
            way = (*way, above.id)
            if above.parent_id is None or (number == 0 and above.kind == "section"):
                anchors[above.id] = way
        if down := self.opening(node):
            anchors[down[-1].id] = (*path, *(below.id for below in down))
        return anchors

    def told(self, link: Link) -> str:
        return f"{kind(link)} ({self.name(link.source_id)} → {self.name(link.target_id)})"

    def name(self, node_id: str) -> str:
        node = self.node(node_id)
        if node is None:
            return node_id
        return (node.section_path[-1] if node.section_path else node.title) or node_id

    # --- standing ------------------------------------------------------------------------------

    def standing(self, node: Node) -> Standing:
        """By the document's own words, or by the links of others to it."""
        if node.element_id not in self._standings:
            self._standings[node.element_id] = self._standing(self.root(node))
        return self._standings[node.element_id]

    def _standing(self, root: Node) -> Standing:
        links = self.store.relations(self.scope, [root.id], self.revision, _READ)
        pairs = [(x.source_id, x.target_id) for x in links if x.type == "supersedes"]
        newer = [new for new, old in pairs if old == root.id]
        older = [old for new, old in pairs if new == root.id]
        return Standing(
            self._named(root.metadata.get("superseded_by"), newer, root),
            self._named(root.metadata.get("supersedes"), older, root),
        )

    def _named(self, said: Json, linked: Sequence[str], root: Node) -> str | None:
        names = [said] if isinstance(said, str) and said else linked
        if not names:
            return "" if said is True else None
        return ", ".join(dict.fromkeys(self._document(name, root) for name in names))

    def _document(self, node_id: str, beside: Node) -> str:
        """Its title, or the name that was given; with its file where both are called the same."""
        node = self.node(node_id)
        if node is None or not node.title:
            return node_id
        return f"{node.title} ({node.source})" if node.title == beside.title else node.title

    def passes(self, node: Node) -> bool:
        own = {"kind": node.kind, "source": node.source, "element_id": node.element_id}
        return all(
            not set(f.values).isdisjoint(
                [*_texts(node.metadata.get(f.key)), *_texts(own.get(f.key))]
            )
            for f in self.filters
        )


def kind(link: Link) -> str:
    """What sort of link it is, with what was said of it: `access, read`."""
    said = [link.metadata.get(key) for key in ("name", "access")]
    return ", ".join([link.type, *(text for text in said if isinstance(text, str) and text)])


def _ends(link: Link, anchors: Mapping[str, Json]) -> tuple[str, str]:
    """The end that is here, and the other one."""
    away = link.source_id in anchors
    return (link.source_id, link.target_id) if away else (link.target_id, link.source_id)


def _order(link: Link, anchors: Mapping[str, Json], ranks: Mapping[str, int]) -> tuple[Json, ...]:
    """What replaces a document, then what search found too, then what the node itself points to."""
    here, there = _ends(link, anchors)
    rank = ranks.get(there, inf)
    return link.type != "supersedes", rank, here != link.source_id


def _texts(value: Json) -> list[str]:
    """A metadata value as filters write it."""
    items = value if isinstance(value, list) else [value]
    return [
        ("true" if item else "false") if isinstance(item, bool) else str(item)
        for item in items
        if isinstance(item, str | int | float)
    ]
