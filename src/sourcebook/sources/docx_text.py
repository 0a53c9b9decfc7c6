"""The XML of one Word paragraph after the other in; the words that Word shows, and their page, out.

What spans paragraphs is kept here: page breaks, open fields (those of a table of contents hide
their text), and which notes were referred to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from sourcebook.sources.docx_package import W
from sourcebook.sources.scrub import scrub

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_P = f"{W}p"
_BOX = f"{W}txbxContent"
_HIDDEN = frozenset((f"{W}del", f"{W}moveFrom", f"{W}pPr", f"{W}rPr", _BOX, _FALLBACK))
_AS = {f"{W}tab": "\t", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_NOTES = {f"{W}footnoteReference": "footnote", f"{W}endnoteReference": "endnote"}
_TEXTS = (f"{W}t", f"{_M}t")
_CONTENTS = re.compile(r"\s*(?:TOC|INDEX)\b", re.IGNORECASE)
_INSTRUCTION = 200
_SPACE = re.compile(r"[ \u00a0]*\n[ \u00a0]*")


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    page: int | None


class Reader:
    def __init__(self) -> None:
        self.notes: dict[str, dict[str, str]] = {"footnote": {}, "endnote": {}}
        self._fields: list[str] = []
        self._hidden = 0
        self._page = 1
        self._first_page: int | None = None
        self._breaks: str | None = None

    @property
    def page(self) -> int | None:
        return self._page if self._breaks else None

    def choose_breaks(self, body: etree._Element) -> None:
        """Word's record of where pages ended counts; else the breaks that the author set."""
        if next(body.iter(f"{W}lastRenderedPageBreak"), None) is not None:
            self._breaks = "rendered"
        elif any(e.get(f"{W}type") == "page" for e in body.iter(f"{W}br")) or any(
            True for _ in body.iter(f"{W}pageBreakBefore")
        ):
            self._breaks = "set"

    def page_of_last(self, default: int | None) -> int | None:
        """The page on which the words read since the last call began."""
        first, self._first_page = self._first_page, None
        return first or default

    def paragraph(self, element: etree._Element) -> Paragraph:
        if self._breaks == "set" and element.find(f"{W}pPr/{W}pageBreakBefore") is not None:
            self._page += 1
        parts: list[str] = []
        page: int | None = None
        for node in _shown(element):
            part = self._part(node)
            if part.strip() and page is None:
                page = self._page
            parts.append(part)
        text = _SPACE.sub("\n", scrub("".join(parts))).strip()
        text = re.sub(r"\n{2,}", "\n", text)
        shown = page if self._breaks else None
        self._first_page = self._first_page or shown
        return Paragraph(text, shown)

    def paragraphs(self, element: etree._Element) -> Iterator[etree._Element]:
        """The paragraphs of a cell or a note, those of text boxes too. One inside another, which
        Word does not write, is read with the outer one."""
        for one in element.iter(_P):
            if next(one.iterancestors(_P, _BOX, element.tag)).tag != _P:
                yield one

    def boxes(self, element: etree._Element) -> Iterator[etree._Element]:
        """The paragraphs of text boxes that hang on a paragraph."""
        for box in element.iter(_BOX):
            if not any(parent.tag == _FALLBACK for parent in box.iterancestors()):
                yield from box.iterfind(f"{W}p")

    def _part(self, node: etree._Element) -> str:
        """The words of one element; the state changes with marks and breaks."""
        tag = node.tag
        if tag == f"{W}fldChar":
            self._field(node.get(f"{W}fldCharType", ""))
        elif tag == f"{W}instrText" and self._fields:
            self._instruct(node.text or "")
        elif tag == f"{W}lastRenderedPageBreak":
            self._page += self._breaks == "rendered"
        elif tag == f"{W}br":
            is_page = node.get(f"{W}type") == "page"
            self._page += is_page and self._breaks == "set"
            return "" if is_page else "\n"
        if self._hidden:
            return ""
        if tag in _TEXTS:
            return node.text or ""
        if tag in _NOTES:
            known = self.notes[_NOTES[tag]]
            sign = "" if _NOTES[tag] == "footnote" else "e"
            return known.setdefault(node.get(f"{W}id", ""), f"[{sign}{len(known) + 1}]")
        return _AS.get(tag, "")

    def _field(self, mark: str) -> None:
        if mark == "begin" and len(self._fields) < 100:
            self._fields.append("")
        elif mark == "end" and self._fields:
            self._hidden -= bool(_CONTENTS.match(self._fields.pop()))

    def _instruct(self, words: str) -> None:
        """What a field is comes in pieces; its first word is enough."""
        before = self._fields[-1]
        now = (before + words[:_INSTRUCTION])[:_INSTRUCTION]
        self._hidden += bool(_CONTENTS.match(now)) - bool(_CONTENTS.match(before))
        self._fields[-1] = now


def _shown(element: etree._Element) -> Iterator[etree._Element]:
    """What is in a paragraph, in order, without what is hidden or deleted. A field's instruction
    is no text, but tells what the field is."""
    todo = list(reversed(element))
    while todo:
        node = todo.pop()
        if node.tag in _HIDDEN or not isinstance(node.tag, str):
            continue
        yield node
        todo += reversed(node)
