"""A parsed document with its sections and chunks in, graph nodes with stable ids out.

Ids stay under edits elsewhere: a section is named by its heading path, a chunk by its own text, so
only what changed gets a new version.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from sourcebook.hashing import digest
from sourcebook.model import Chunk, Document, Json, Link, Metadata, Node, NodeKind, Section

_TITLE = 1000
"""Characters of a title that are kept: it stands on every node below it."""
_UNSAFE = re.compile(r"[\W_]+")


def document_node(document: Document) -> Node:
    start = document.blocks[0].start if document.blocks else 0
    end = document.blocks[-1].end if document.blocks else len(document.text)
    return _Place(document, None).node(
        document.element_id, "document", start, end, 0, document.title, text=document.text
    )


def content_hash(document: Document) -> str:
    """Of all that a user sees of the document: while it stays, there is nothing to commit."""
    return document_node(document).content_hash


def section_nodes(document: Document, sections: Sequence[Section], root: Node) -> list[Node]:
    """In the order of `sections`; each under its parent section, or under the document."""
    nodes: list[Node] = []
    taken: Counter[str] = Counter()
    for number, section in enumerate(sections):
        parent = root if section.parent is None else nodes[section.parent]
        name = "/".join(_slug(title) for title in section.path)
        place = _Place(document, parent, section.path)
        node_id = _unique(f"{document.element_id}#{name}", taken)
        nodes.append(
            place.node(node_id, "section", section.start, section.end, number, section.title)
        )
    return nodes


def chunk_nodes(
    document: Document,
    chunks: Sequence[Chunk],
    sections: Sequence[Section],
    parents: Sequence[Node],
    root: Node,
) -> list[Node]:
    """Each under the innermost section that holds its start."""
    nodes: list[Node] = []
    taken: Counter[str] = Counter()
    inner = Innermost(sections)
    for chunk in chunks:
        number = inner.at(chunk.start)
        parent = root if number is None else parents[number]
        place = _Place(document, parent, () if number is None else sections[number].path)
        text = document.text[chunk.start : chunk.end]
        node_id = _unique(f"{document.element_id}#{digest(text)[:12]}", taken)
        boundary = {"boundary": chunk.boundary}
        nodes.append(
            place.node(
                node_id, "chunk", chunk.start, chunk.end, chunk.index, parent.title, boundary
            )
        )
    return nodes


def links(nodes: Sequence[Node]) -> list[Link]:
    """A parent contains its children; a chunk follows the one before it."""
    contains = [Link(n.parent_id, n.id, "contains") for n in nodes if n.parent_id is not None]
    chunks = [n.id for n in nodes if n.kind == "chunk"]
    follows = [Link(after, before, "follows") for before, after in pairwise(chunks)]
    return contains + follows


class Innermost:
    """Finds the innermost section at an offset, for offsets that only grow."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        self._next = 0
        self._open: list[int] = []

    def at(self, offset: int) -> int | None:
        while self._next < len(self._sections) and self._sections[self._next].start <= offset:
            self._open.append(self._next)
            self._next += 1
        while self._open and self._sections[self._open[-1]].end <= offset:
            self._open.pop()
        return self._open[-1] if self._open else None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node stands in a document."""

    document: Document
    parent: Node | None
    path: tuple[str, ...] = ()

    def node(
        self,
        node_id: str,
        kind: NodeKind,
        start: int,
        end: int,
        position: int,
        title: str,
        extra: Metadata | None = None,
        text: str | None = None,
    ) -> Node:
        document = self.document
        text = document.text[start:end] if text is None else text
        metadata = {"format": document.format, **document.metadata, **(extra or {})}
        metadata = {key: _plain(value) for key, value in metadata.items()}
        page, title = _page(metadata.get("page")), title[:_TITLE]
        content = digest(kind, title, text, list(self.path), page, metadata)
        return Node(
            id=node_id,
            element_id=document.element_id,
            kind=kind,
            version_id=digest(node_id, content)[:20],
            content_hash=content,
            parent_id=self.parent.id if self.parent else None,
            position=position,
            title=title,
            source=document.source,
            start=start,
            end=end,
            section_path=self.path,
            page=page,
            metadata=metadata,
        )


def _plain(value: Json) -> Json:
    """Numbers that JSON does not have become words."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _page(value: Json) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 1 << 31 else None


def _slug(title: str) -> str:
    return _UNSAFE.sub("-", title.lower()).strip("-")[:60] or "section"


def _unique(name: str, taken: Counter[str]) -> str:
    """The name, or name~2, name~3 … where it stands more than once in a document."""
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}~{taken[name]}"
