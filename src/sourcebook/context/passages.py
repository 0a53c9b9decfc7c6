"""A document's nodes in, its passages out: what the model and the full-text index see.

The context goes before a passage and the clean text stays as it is: title and heading path of a
document, with its type and date; title, date, what was said before and who speaks in a
conversation; what the relationships say of an element. Vectors of documents and sections that are
longer than the model come from a stated summary of them.
"""

from __future__ import annotations

import datetime
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sourcebook.context.fit import Count, clip, clip_end, summarize
from sourcebook.model import CHUNK, DOCUMENT, SECTION, Document, Json, Node, Passage

CONTEXT_VERSION = "3"
CONTEXT_TOKENS = 60
"""Room that is kept for the context before a passage."""
_LONGEST = 200
"""Tokens of context before a passage that leaves room for them."""
_AROUND = 400
"""Characters on both sides of a passage that full-text counts as standing around it."""
_BESIDE = 100
"""Tokens of the message before, or of the lines of code around, that the model sees."""
_ENCLOSING = 300
_LOOK_BACK = 20_000
"""Characters: how far above lies the code that a place may stand in, and how long it may be."""
_HEADING = 2000
_WORD = re.compile(r"\w\w")
_FACET_LENGTH = 500
_RESOLUTION = {
    "document": DOCUMENT,
    "conversation": DOCUMENT,
    "element": DOCUMENT,
    "section": SECTION,
    "message": CHUNK,
    "chunk": CHUNK,
}


@dataclass(frozen=True, slots=True)
class PassageMaker:
    count: Count
    limit: int
    """Tokens that the model takes."""

    @property
    def room(self) -> int:
        """Tokens of a passage's own text."""
        return self.limit - CONTEXT_TOKENS - 4

    def make(self, document: Document, nodes: Sequence[Node], whole: bool) -> list[Passage]:
        """One passage a node; a document that was taken whole is searched as a chunk."""
        title = clip(document.title, CONTEXT_TOKENS // 2, self.count)
        parts = {node.parent_id for node in nodes if node.kind == "chunk"}
        made = []
        for node in nodes:
            resolution = CHUNK if whole else _RESOLUTION[node.kind]
            if node.kind == "message" and node.id in parts:
                resolution = SECTION
            made.append(self._passage(document, title, node, nodes, resolution))
        sizes = self.count([passage.body for passage in made])
        return [
            replace(passage, context=self._fitted(document, node, passage, size))
            for passage, node, size in zip(made, nodes, sizes, strict=True)
        ]

    def _passage(
        self, document: Document, title: str, node: Node, nodes: Sequence[Node], resolution: int
    ) -> Passage:
        text, summary = document.text[node.start : node.end], False
        if resolution != CHUNK:
            headings = partial(_headings, node, nodes)
            text, summary = summarize(text, headings, self.room, self.count)
        heading = _heading(document, node)
        return Passage(
            node_id=node.id,
            element_id=node.element_id,
            resolution=resolution,
            body=text,
            context=" > ".join(part for part in (title, heading) if part),
            title=title,
            heading=f"{heading} {node.metadata.get('speaker', '')}".strip()[:_HEADING],
            summary=summary,
            around=_around(document, node) if resolution == CHUNK else "",
            facets=tuple(sorted(set(_facets(node)))),
        )

    def _fitted(self, document: Document, node: Node, passage: Passage, size: int) -> str:
        """The context in the room that the text leaves; what stands beside it gives way first."""
        room = min(max(self.limit - size - 4, CONTEXT_TOKENS), _LONGEST)
        speaker = f"{node.metadata['speaker']}:"[:80] if "speaker" in node.metadata else ""
        beside = _beside(document, node) if passage.resolution == CHUNK else ""
        if not (speaker or beside):
            return clip(passage.context, room, self.count)
        name = self.count([speaker])[0] + 1
        line = clip(passage.context, max(room - name, 1), self.count)
        left = min(room - name - self.count([line])[0], _BESIDE)
        beside = clip_end(beside, left, self.count) if left > 0 else ""
        return "\n".join(part for part in (line, beside, speaker) if part)


def _heading(document: Document, node: Node) -> str:
    """What the title does not say: the heading path, type and date, or the relationships."""
    # An episode is named by its first message: in the context of all, it would make them alike.
    path = () if "speaker" in node.metadata else node.section_path
    if path[:1] == (document.title,):
        path = path[1:]
    kind, date = node.metadata.get("document_type"), node.metadata.get("date")
    date = node.metadata.get("effective_date", date)
    told = [text for text in (kind, _day(date)) if isinstance(text, str)]
    return " > ".join(part for part in (", ".join(told), *path, document.context) if part)


def _day(date: Json) -> Json:
    """An ISO date as people write and ask for it."""
    try:
        day = datetime.date.fromisoformat(date)
    except (TypeError, ValueError):
        return date
    return f"{day.day} {day:%B %Y}"


def _beside(document: Document, node: Node) -> str:
    """What the model should see beside the passage: the message before it, or the lines of code
    that it stands in."""
    number = bisect_right(document.blocks, node.start, key=lambda block: block.start) - 1
    block = document.blocks[number] if number >= 0 else None
    if block is None:
        return ""
    if node.kind == "message" and number > 0:
        before = document.blocks[number - 1]
        speaker = before.turn.speaker if before.turn else ""
        return f"{speaker}: {document.text[before.start : before.end]}"
    return _enclosing(document.text, node.start) if block.kind == "code" else ""


def _enclosing(text: str, start: int) -> str:
    """The lines of code that a place stands in: each the last one before it with less indent."""
    line = text.rfind("\n", 0, start) + 1
    lead = text[line:start]
    indent = len(lead) - len(lead.lstrip()) if lead.strip() else len(lead)
    found: list[str] = []
    for above in reversed(text[max(line - _LOOK_BACK, 0) : line].splitlines()):
        if indent == 0:
            break
        own = len(above) - len(above.lstrip())
        if own < indent and _WORD.search(above):
            found.append(above.strip())
            indent = own
    return "\n".join(reversed(found))[:_ENCLOSING]


def _around(document: Document, node: Node) -> str:
    text = document.text
    before = text[max(node.start - _AROUND, 0) : node.start]
    return f"{before} {text[node.end : node.end + _AROUND]}".strip()


def _headings(node: Node, nodes: Sequence[Node]) -> str:
    """The titles of the sections inside a node, a line each."""
    inside = (n for n in nodes if n.kind == "section" and node.start <= n.start < node.end)
    return "\n".join(n.title for n in inside if n.id != node.id)


def _facets(node: Node) -> Iterator[tuple[str, str]]:
    own = {"kind": node.kind, "source": node.source, "element_id": node.element_id}
    for key, value in (*node.metadata.items(), *own.items()):
        for item in value if isinstance(value, list) else [value]:
            text = facet_value(item)
            if text is not None and len(text) <= _FACET_LENGTH:
                yield key, text


def facet_value(value: Json) -> str | None:
    """A metadata value as filters write it; None where it cannot be filtered by."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
