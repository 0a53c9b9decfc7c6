"""A parsed document with its sections and chunks in, graph nodes with stable ids out.

Ids stay under edits elsewhere: a section is named by its heading path, a message by its own id, a
chunk by its own text, so only what changed gets a new version.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from sourcebook.hashing import digest
from sourcebook.model import Block, Chunk, Document, Json, Link, Metadata, Node, NodeKind, Section

_TITLE = 1000
"""Characters of a title that are kept: it stands on every node below it."""
_OF_A_MESSAGE = ("speaker", "role", "at", "date", "model", "branch")
"""What a part of a message keeps of it, to be filtered by."""
_UNSAFE = re.compile(r"[\W_]+")


def document_node(document: Document) -> Node:
    start = document.blocks[0].start if document.blocks else 0
    end = document.blocks[-1].end if document.blocks else len(document.text)
    return _Place(document, None).node(
        document.element_id, document.kind, start, end, 0, document.title, text=document.text
    )


def content_hash(document: Document) -> str:
    """Of all that a user sees of the document's own text."""
    return document_node(document).content_hash


def fingerprint(document: Document) -> str:
    """Of all else that its tree is made from: structure, context and links. While this, the text
    and the recipe stay, there is nothing to commit."""
    blocks = [[b.kind, b.start, b.end, b.level, b.title, b.page, _turn(b)] for b in document.blocks]
    links = [[link.target_id, link.type, dict(link.metadata)] for link in document.links]
    return digest(blocks, document.context, links)[:16]


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
        text = document.text[chunk.start : chunk.end]
        node_id = _unique(f"{document.element_id}#{digest(text)[:12]}", taken)
        path = () if number is None else sections[number].path
        nodes.append(_chunk(document, chunk, parent, path, node_id))
    return nodes


def message_nodes(
    document: Document, sections: Sequence[Section], parents: Sequence[Node], root: Node
) -> list[Node]:
    """A node a turn, under the episode that holds it; named by the turn's own id."""
    nodes: list[Node] = []
    taken: Counter[str] = Counter()
    inner = Innermost(sections)
    for position, block in enumerate(b for b in document.blocks if b.turn):
        number = inner.at(block.start)
        parent = root if number is None else parents[number]
        place = _Place(document, parent, () if number is None else sections[number].path)
        node_id = _unique(message_id(document, block), taken)
        nodes.append(
            place.node(
                node_id,
                "message",
                block.start,
                block.end,
                position,
                document.title,
                _said(block),
            )
        )
    return nodes


def message_chunks(document: Document, message: Node, chunks: Sequence[Chunk]) -> list[Node]:
    """The parts of a message that is too long for one passage."""
    return [
        _chunk(document, chunk, message, message.section_path, f"{message.id}~part{number}")
        for number, chunk in enumerate(chunks, start=1)
    ]


def message_id(document: Document, block: Block) -> str:
    assert block.turn is not None
    return f"{document.element_id}#{block.turn.id}"


def links(nodes: Sequence[Node]) -> list[Link]:
    """A parent contains its children; a chunk or a message follows the one before it. Branches of
    a conversation that were left aside follow nothing: `answers` says where they belong."""
    contains = [Link(n.parent_id, n.id, "contains") for n in nodes if n.parent_id is not None]
    chunks = [n for n in nodes if n.kind == "chunk"]
    messages = [n for n in nodes if n.kind == "message"]
    whole = {n.id for n in messages}
    lines = [(a, b) for a, b in pairwise(chunks) if a.parent_id == b.parent_id or not whole]
    lines += pairwise(n for n in messages if "branch" not in n.metadata)
    return contains + [Link(after.id, before.id, "follows") for before, after in lines]


def answers(document: Document) -> list[Link]:
    """A message responds to the one that it answers."""
    turns = {block.turn.id: block for block in document.blocks if block.turn}
    return [
        Link(message_id(document, block), message_id(document, turns[turn.reply_to]), "responds-to")
        for block in turns.values()
        if (turn := block.turn) and turn.reply_to in turns and turn.reply_to != turn.id
    ]


def _turn(block: Block) -> Json:
    turn = block.turn
    return turn and [turn.id, turn.speaker, turn.at, turn.reply_to, dict(turn.metadata)]


def _said(block: Block) -> Metadata:
    turn = block.turn
    assert turn is not None
    known = {"speaker": turn.speaker, "at": turn.at, "date": turn.at[:10] if turn.at else None}
    return {**{k: v for k, v in known.items() if v is not None}, **turn.metadata}


def _chunk(
    document: Document, chunk: Chunk, parent: Node, path: tuple[str, ...], node_id: str
) -> Node:
    extra = {"boundary": chunk.boundary}
    if parent.kind == "message":
        extra |= {k: parent.metadata[k] for k in _OF_A_MESSAGE if k in parent.metadata}
    place = _Place(document, parent, path)
    return place.node(node_id, "chunk", chunk.start, chunk.end, chunk.index, parent.title, extra)


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
        page = _page_at(document, start) or _page(metadata.get("page"))
        title = title[:_TITLE]
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


def _page_at(document: Document, offset: int) -> int | None:
    """The page of the last block that begins at or before the offset."""
    number = bisect_right(document.blocks, offset, key=lambda block: block.start)
    return document.blocks[number - 1].page if number else None


def _page(value: Json) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 1 << 31 else None


def _slug(title: str) -> str:
    return _UNSAFE.sub("-", title.lower()).strip("-")[:60] or "section"


def _unique(name: str, taken: Counter[str]) -> str:
    """The name, or name~2, name~3 … where it stands more than once in a document."""
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}~{taken[name]}"
