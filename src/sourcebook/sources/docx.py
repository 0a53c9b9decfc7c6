"""A Word file (.docx) in; one document out, its text made here from what Word would show.

Headings come from styles and outline levels, with the numbers that Word counts; without any, from
numbering in the text. Tracked deletions, headers, footers and tables of contents are left out,
footnotes come last. A page number is there where Word has stored page breaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from sourcebook.model import Block, BlockKind, Document
from sourcebook.sources.decode import Decoded
from sourcebook.sources.docx_package import Package, W
from sourcebook.sources.docx_styles import Numbering, Style, Styles, value, whole
from sourcebook.sources.docx_text import Paragraph, Reader
from sourcebook.sources.headings import with_headings
from sourcebook.sources.numbering import numbered
from sourcebook.sources.raw import Raw
from sourcebook.sources.scrub import scrub

_DC = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_CORE = (("title", f"{_DC}title"), ("author", f"{_DC}creator"), ("created", f"{_TERMS}created"))
_LONGEST = 200
"""A longer paragraph is no heading, whatever its style: legal texts number whole paragraphs so."""
_INSIDE = frozenset(f"{W}{name}" for name in "sdt sdtContent customXml smartTag ins moveTo".split())


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: BlockKind
    text: str
    page: int | None
    level: int = 0


def read(raw: Raw) -> Iterator[Document]:
    package = Package(raw.stream.read())
    body = package.main().find(f"{W}body")
    about = _about(package)
    made = _Body(package).pieces(body) if body is not None else []
    text, blocks = _text(made)
    if not any(block.kind == "heading" and block.level for block in blocks):
        blocks = with_headings(text, blocks)
    first = next((block.title for block in blocks if block.kind == "heading"), "")
    title = about.pop("title", "") or first
    yield raw.document(Decoded(text, "utf-8"), format="docx", title=title, blocks=blocks, own=about)


def _about(package: Package) -> dict[str, str]:
    root = package.part("docProps/core.xml")
    found = {name: root.findtext(tag) or "" for name, tag in _CORE} if root is not None else {}
    return {
        name: " ".join(scrub(text).split())[:500] for name, text in found.items() if text.strip()
    }


def _text(made: list[_Piece]) -> tuple[str, list[Block]]:
    """The pieces a blank line apart, and a block for each."""
    blocks: list[Block] = []
    start = 0
    for piece in made:
        end = start + len(piece.text)
        title = " ".join(piece.text.split()) if piece.kind == "heading" else ""
        blocks.append(Block(piece.kind, start, end, piece.level, title, piece.page))
        start = end + 2
    return "\n\n".join(piece.text for piece in made), blocks


class _Body:
    """Goes through a document's paragraphs and tables."""

    def __init__(self, package: Package) -> None:
        self._styles = Styles(package.part("word/styles.xml"))
        self._numbering = Numbering(package.part("word/numbering.xml"))
        self._notes = {kind: package.part(f"word/{kind}s.xml") for kind in ("footnote", "endnote")}
        self._reader = Reader()

    def pieces(self, body: etree._Element) -> list[_Piece]:
        self._reader.choose_breaks(body)
        made: list[_Piece] = []
        todo = [iter(body)]
        while todo:
            element = next(todo[-1], None)
            if element is None:
                todo.pop()
            elif element.tag == f"{W}p":
                made += self._paragraph(element)
            elif element.tag == f"{W}tbl":
                made += self._table(element)
            elif element.tag in _INSIDE and not _is_contents(element):
                todo.append(iter(element))
        return made + list(self._noted())

    def _paragraph(self, element: etree._Element) -> Iterator[_Piece]:
        if len(element) == 0:
            return
        about = element.find(f"{W}pPr")
        style = self._styles.get(value(about, "pStyle"))
        paragraph = self._reader.paragraph(element)
        if not style.name.startswith("toc ") and paragraph.text:
            yield from self._shown(about, style, paragraph)
        for box in self._reader.boxes(element):
            inner = self._reader.paragraph(box)
            if inner.text:
                yield _Piece("prose", inner.text, inner.page)

    def _shown(
        self, about: etree._Element | None, style: Style, paragraph: Paragraph
    ) -> Iterator[_Piece]:
        num_id = value(about, "numPr/numId") or style.num_id
        level = whole(value(about, "numPr/ilvl"), style.num_level)
        number = self._numbering.next(num_id, level, style.id) if num_id not in ("", "0") else None
        label = number.text if number else ""
        text = f"{label} {paragraph.text}".strip()
        outline = whole(value(about, "outlineLvl"))
        heading = style.level if outline < 0 else outline + 1 if outline < 9 else 0
        if heading:
            yield from _heading(text, label, heading, paragraph.page)
        else:
            is_item = not number.is_outline if number else style.name.startswith("list ")
            yield _Piece("list_item" if is_item else "prose", text, paragraph.page)

    def _table(self, table: etree._Element) -> Iterator[_Piece]:
        page = self._reader.page
        rows = [
            [self._cell(cell) for cell in _within(row, f"{W}tc")]
            for row in _within(table, f"{W}tr")
        ]
        page = self._reader.page_of_last(page)
        if len(rows) == 1 and len(rows[0]) == 1:
            if rows[0][0]:
                yield _Piece("prose", rows[0][0], page)
            return
        lines = [" | ".join(cells).strip() for cells in rows if any(cells)]
        if lines:
            yield _Piece("table", "\n".join(lines), page)

    def _cell(self, cell: etree._Element) -> str:
        texts = (self._reader.paragraph(one).text for one in self._reader.paragraphs(cell))
        return " ".join(" ".join(text.split()) for text in texts if text)

    def _noted(self) -> Iterator[_Piece]:
        """The notes that the text refers to, in that order, with the marks that stand in it."""
        for kind, root in self._notes.items():
            notes = root.iterfind(f"{W}{kind}") if root is not None else iter(())
            known = {note.get(f"{W}id", ""): note for note in notes}
            for note_id, mark in self._reader.notes[kind].items():
                found = known.get(note_id)
                paragraphs = self._reader.paragraphs(found) if found is not None else iter(())
                words = " ".join(self._reader.paragraph(one).text for one in paragraphs).strip()
                if words:
                    yield _Piece("prose", f"{mark} {words}", None)


def _heading(text: str, label: str, level: int, page: int | None) -> Iterator[_Piece]:
    """A heading, or, of a long paragraph, what begins it: its title, or its number alone."""
    if len(text) <= _LONGEST:
        yield _Piece("heading", text, page, level)
        return
    found = numbered(text)
    end = found.end if found and found.run_in else len(label)
    if end:
        yield _Piece("heading", text[:end].rstrip(), page, level)
    rest = text[end:].strip()
    if rest:
        yield _Piece("prose", rest, page)


def _within(element: etree._Element, tag: str) -> Iterator[etree._Element]:
    """The rows of a table or the cells of a row, also those in content controls."""
    todo = list(reversed(element))
    while todo:
        child = todo.pop()
        if child.tag == tag:
            yield child
        elif child.tag in _INSIDE:
            todo += reversed(child)


def _is_contents(element: etree._Element) -> bool:
    gallery = element.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
    return gallery is not None and gallery.get(f"{W}val") == "Table of Contents"
