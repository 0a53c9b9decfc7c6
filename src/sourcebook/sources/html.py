"""HTML in; its readable text and the blocks in it out.

The tree is walked without recursion. Each block's text has its white space collapsed (code keeps
it), and blocks stand a blank line apart, so the offsets point into text made here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from sourcebook.model import Block, BlockKind, Document
from sourcebook.sources.decode import Decoded, decode_html
from sourcebook.sources.nesting import bounded
from sourcebook.sources.raw import Raw

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DROPPED = frozenset(
    """script style noscript template svg nav iframe object embed applet canvas audio video select
    datalist textarea frameset""".split()
)
_BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main
    menu ol option p pre search section summary table tbody td tfoot th thead tr ul""".split()
)
_META = ("description", "author", "date")
_SPACE = re.compile(r"[ \t\n\f\r]+")
_BREAK = re.compile(r" ?\n ?")
_PARAGRAPH_BREAK = re.compile(r"\n{2,}")


def read(raw: Raw) -> Iterator[Document]:
    decoded = decode_html(raw.stream.read())
    page = _Page()
    tree = LexborHTMLParser(bounded(decoded.text))
    if tree.root is not None:
        for node, leaving in _events(tree.root):
            page.leave(node.tag or "") if leaving else page.enter(node)
    page.flush()
    text = Decoded("".join(page.parts), decoded.encoding)
    first = next((block.title for block in page.blocks if block.level == 1), "")
    title = page.title or first
    yield raw.document(text, format="html", title=title, blocks=page.blocks, own=page.metadata)


def _events(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Each node when it is entered, and each element when it is left, in document order."""
    todo = [(root, False)]
    while todo:
        node, leaving = todo.pop()
        if leaving:
            yield node, True
            continue
        if (sibling := node.next) is not None:
            todo.append((sibling, False))
        if node.tag in _DROPPED:
            continue
        yield node, False
        if (child := node.first_child) is not None and node.tag != "title":
            todo += [(node, True), (child, False)]
        elif child is None and node.tag in _BLOCKS:
            todo.append((node, True))


def _collapse(pieces: list[str]) -> str:
    """Text nodes as a browser shows them; a newline in the pieces is a <br>."""
    joined = re.sub(r" {2,}", " ", "".join(pieces))
    return _BREAK.sub("\n", joined).strip()


class _Page:
    """The text so far, and the piece that is being read."""

    def __init__(self) -> None:
        self.title = ""
        self.metadata: dict[str, str] = {}
        self.parts: list[str] = []
        self.blocks: list[Block] = []
        self._length = 0
        self._pieces: list[str] = []
        self._within: list[str] = []
        self._rows: list[list[list[str]]] | None = None

    def enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._add(node.text_content or "")
        elif tag == "br":
            self._pieces_here().append(" " if self._rows else "\n")
        elif tag == "title":
            self.title = self.title or _collapse([_SPACE.sub(" ", node.text(deep=False))])
        elif tag == "meta":
            self._meta(node)
        elif tag in _BLOCKS:
            self._boundary(tag)
            if tag in _HEADINGS or tag in ("li", "pre"):
                self._within.append(tag)

    def leave(self, tag: str) -> None:
        if tag == "table" and self._rows is not None:
            self._end_table()
        elif tag in _BLOCKS:
            self.flush() if tag == "pre" and self._rows is None else self._boundary("")
            if self._within[-1:] == [tag]:
                self._within.pop()

    def flush(self) -> None:
        """End the piece that is being read."""
        pieces, self._pieces = self._pieces, []
        tag = self._within[-1] if self._within else ""
        if tag == "pre":
            self._emit("code", "".join(pieces).strip("\n").rstrip())
        elif tag in _HEADINGS:
            self._emit("heading", _collapse(pieces).replace("\n", " "), _HEADINGS[tag])
        else:
            for paragraph in _PARAGRAPH_BREAK.split(_collapse(pieces)):
                self._emit("list_item" if tag == "li" else "prose", paragraph)

    def _emit(self, kind: BlockKind, text: str, level: int = 0) -> None:
        if not text.strip():
            return
        gap = "\n\n" if self.parts else ""
        start = self._length + len(gap)
        self.parts += [gap, text]
        self._length = start + len(text)
        title = text if kind == "heading" else ""
        self.blocks.append(Block(kind, start, self._length, level, title))

    def _add(self, text: str) -> None:
        raw = self._rows is None and self._within[-1:] == ["pre"]
        self._pieces_here().append(text if raw else _SPACE.sub(" ", text))

    def _pieces_here(self) -> list[str]:
        return self._rows[-1][-1] if self._rows and self._rows[-1] else self._pieces

    def _meta(self, node: LexborNode) -> None:
        attributes = node.attributes
        name = (attributes.get("name") or "").lower()
        content = " ".join((attributes.get("content") or "").split())
        if name in _META and content:
            self.metadata.setdefault(name, content)

    def _boundary(self, entered: str) -> None:
        """A block begins or ends. Inside a table that only parts words, unless what begins shows
        that the table is there for the page's layout."""
        if self._rows is None:
            self._break()
            if entered == "table":
                self._rows = []
        elif entered == "table" or entered in _HEADINGS:
            self._end_table()
            self._rows = [] if entered == "table" else None
        elif entered in ("tr", "caption"):
            self._rows.append([[]] if entered == "caption" else [])
        elif entered in ("td", "th"):
            self._rows = self._rows or [[]]
            self._rows[-1].append([])
        else:
            self._pieces_here().append(" ")

    def _break(self) -> None:
        """Inside <pre> a block is a line; elsewhere it is a block of its own."""
        if self._within[-1:] != ["pre"]:
            self.flush()
        elif self._pieces and not self._pieces[-1].endswith("\n"):
            self._pieces.append("\n")

    def _end_table(self) -> None:
        rows, self._rows = self._rows or [], None
        lines = (" | ".join(_collapse(cell).replace("\n", " ") for cell in row) for row in rows)
        self._emit("table", "\n".join(line.rstrip(" |") for line in lines if line.strip(" |")))
