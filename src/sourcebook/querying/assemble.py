"""Pieces of documents in, one context for a reader with a token budget out: numbered and cited.

Pieces come in the order of their worth – one that does not fit is passed over and the next one
tried – and are shown in the order of their documents. The budget counts everything that is shown.
What a passage says is data: `querying/quote.py` keeps it from looking like a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sourcebook.model import Citation, Metadata, Node, Source
from sourcebook.querying.quote import one_line, quoted

Count = Callable[[Sequence[str]], list[int]]
_BETWEEN = "\n\n"
_APART = 2
"""Tokens that a tokenizer may see between two blocks."""
_WIDEST = 999
"""A number that takes as many tokens as any that a source gets."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What may become a source: a passage, why it is there, and what is known of its document."""

    node: Node
    text: str
    citation: Citation
    title: str
    """Of the document, conversation or element."""
    relevance: float | None = None
    why: str = "hit"
    beside: str | None = None
    """The node that `why` speaks of, which is a source of its own."""
    path: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    """The nodes that it was merged from; none of them is shown apart."""
    superseded: str | None = None
    """By what; empty where that is not known."""
    supersedes: str | None = None

    @property
    def holds(self) -> tuple[str, ...]:
        return (self.node.id, *self.parts)


@dataclass(frozen=True, slots=True)
class Assembled:
    text: str
    tokens: int
    sources: tuple[Source, ...]
    left_out: int
    """Hits that the budget had no room for."""


@dataclass(slots=True)
class Draft:
    """A context in the making."""

    count: Count
    max_tokens: int
    max_sources: int
    pieces: list[Piece] = field(default_factory=list)
    """In the order of their worth."""
    left_out: int = 0
    _sizes: dict[str, int] = field(default_factory=dict)
    _passed: set[str] = field(default_factory=set)

    @property
    def used(self) -> int:
        return sum(self._sizes.values())

    @property
    def places(self) -> int:
        """How many more sources there may be."""
        return self.max_sources - len(self.pieces)

    def holds(self, node_id: str) -> bool:
        return any(node_id in piece.holds for piece in self.pieces)

    def add(self, piece: Piece) -> bool:
        """Whether it is in: it was not yet, and there was room for it."""
        if self.places <= 0 or self.holds(piece.node.id) or piece.node.id in self._passed:
            return False
        size = self._size(piece)
        if self.used + size > self.max_tokens:
            self._passed.add(piece.node.id)
            self.left_out += piece.why == "hit"
            return False
        self.pieces.append(piece)
        self._sizes[piece.node.id] = size
        return True

    def fill(self, pieces: Iterator[Piece], most: int) -> None:
        """Add pieces until there are `most` in all, or no more to try. The others stay where they
        are, to be taken later."""
        while len(self.pieces) < min(most, self.max_sources):
            piece = next(pieces, None)
            if piece is None:
                return
            self.add(piece)

    def merge(self, whole: Piece) -> bool:
        """Put one piece in the place of those that it holds, if there is room for it."""
        inside = [p for p in self.pieces if p.node.id in whole.holds]
        size = self._size(whole)
        if self.used - sum(self._sizes[p.node.id] for p in inside) + size > self.max_tokens:
            return False
        self.pieces[self.pieces.index(inside[0])] = whole
        self.pieces = [p for p in self.pieces if p not in inside]
        for piece in inside:
            del self._sizes[piece.node.id]
        self._sizes[whole.node.id] = size
        return True

    def finish(self) -> Assembled:
        """The text, its tokens counted over the whole of it: a tokenizer may see more there than
        in the parts, so what is worth least may still have to go."""
        while True:
            sources = _numbered(self.pieces)
            text = _BETWEEN.join(shown(source) for source in sources)
            tokens = self.count([text])[0] if text else 0
            if tokens <= self.max_tokens:
                return Assembled(text, tokens, tuple(sources), self.left_out)
            self.left_out += self.pieces.pop().why == "hit"

    def _size(self, piece: Piece) -> int:
        return self.count([shown(_source(piece, _WIDEST, _WIDEST))])[0] + _APART


def with_tail(made: Assembled, title: str, lines: Sequence[str], draft: Draft) -> Assembled:
    """One more block behind the sources, with as many of these lines as there is room for."""
    start, end = f"[{title}]", "---"
    clean = [quoted(one_line(line)) for line in lines] if made.sources else []
    sizes = draft.count([start, end, *clean])
    left = draft.max_tokens - made.tokens - sizes[0] - sizes[1] - _APART
    chosen: list[str] = []
    for line, size in zip(clean, sizes[2:], strict=True):
        if size + 1 <= left:
            chosen.append(line)
            left -= size + 1
    while chosen:
        text = "\n".join([made.text + _BETWEEN + start, *chosen, end])
        if (tokens := draft.count([text])[0]) <= draft.max_tokens:
            return Assembled(text, tokens, made.sources, made.left_out)
        chosen.pop()
    return made


def shown(source: Source) -> str:
    node, known = source.node, source.node.metadata
    rows = [
        ("Document", source.title),
        ("Section", " > ".join(_below(source.title, node.section_path))),
        ("Page", node.page),
        ("Type", known.get("document_type") or known.get("element_type")),
        ("Date", known.get("effective_date") or known.get("date")),
        ("Speaker", known.get("speaker")),
        ("Binding", _binding(known)),
        ("Superseded", _superseded(source.superseded_by)),
        ("Supersedes", source.supersedes),
        ("Included", None if source.why_included == "hit" else source.why_included),
    ]
    head = [f"{name}: {one_line(value)}" for name, value in rows if value not in (None, "")]
    mark = f"[SOURCE {source.number}]"
    return "\n".join([mark, *head, "", "Content:", quoted(source.text), "---"])


def _below(title: str, path: Sequence[str]) -> Sequence[str]:
    """The heading path without the document's title, which is shown above it."""
    return path[1:] if path[:1] == (title,) else path


def _binding(known: Metadata) -> str | None:
    value = known.get("is_binding")
    return None if value is None else "Yes" if value is True else "No"


def _superseded(by: str | None) -> str | None:
    return None if by is None else f"yes, by {by}" if by else "yes"


def _numbered(pieces: Sequence[Piece]) -> list[Source]:
    """Documents by their best passage, passages as they stand in their document."""
    first: dict[str, int] = {}
    for place, piece in enumerate(pieces):
        first.setdefault(piece.node.element_id, place)
    ordered = sorted(pieces, key=lambda p: (first[p.node.element_id], p.node.start, p.node.id))
    numbers = {held: n for n, piece in enumerate(ordered, start=1) for held in piece.holds}
    return [
        _source(piece, number, numbers.get(piece.beside or "", 0))
        for number, piece in enumerate(ordered, start=1)
    ]


def _source(piece: Piece, number: int, beside: int) -> Source:
    return Source(
        number=number,
        node=piece.node,
        text=piece.text,
        relevance=piece.relevance,
        citation=piece.citation,
        why_included=f"{piece.why} SOURCE {beside}" if piece.beside else piece.why,
        path=piece.path or (piece.node.id,),
        title=piece.title,
        parts=piece.parts,
        superseded_by=piece.superseded,
        supersedes=piece.supersedes,
    )
