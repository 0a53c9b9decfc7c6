"""A document's nodes in, its passages out: what the model and the full-text index see.

The context (title and heading path) goes before a passage; the clean text stays as it is. Vectors
of documents and sections that are longer than the model come from a stated summary of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcebook.context.fit import Count, clip, summarize
from sourcebook.model import CHUNK, DOCUMENT, SECTION, Document, Json, Node, Passage

CONTEXT_VERSION = "1"
CONTEXT_TOKENS = 60
"""Room for the context before a passage."""
_FACET_LENGTH = 500
_RESOLUTION = {"document": DOCUMENT, "section": SECTION, "chunk": CHUNK}


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
        return [self._passage(document, title, node, nodes, whole) for node in nodes]

    def _passage(
        self, document: Document, title: str, node: Node, nodes: Sequence[Node], whole: bool
    ) -> Passage:
        resolution = CHUNK if whole else _RESOLUTION[node.kind]
        path = node.section_path
        heading = " > ".join(path[1:] if path[:1] == (document.title,) else path)
        context = " > ".join(part for part in (title, heading) if part)
        text, summary = document.text[node.start : node.end], False
        if resolution != CHUNK:
            text, summary = summarize(text, lambda: _headings(node, nodes), self.room, self.count)
        return Passage(
            node_id=node.id,
            element_id=node.element_id,
            resolution=resolution,
            body=text,
            context=clip(context, CONTEXT_TOKENS, self.count),
            title=title,
            heading=heading[:1000],
            summary=summary,
            facets=tuple(sorted(set(_facets(node)))),
        )


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
