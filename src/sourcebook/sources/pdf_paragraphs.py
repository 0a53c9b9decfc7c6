"""Lines of pages in reading order in; paragraphs and tables out, with page and font.

A paragraph ends where the space, the font or the indentation changes, or after a short line that
closes a sentence. It goes on over the end of a page when its sentence does. Words that were broken
at the end of a line are made whole.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcebook.sources.layout import Line
from sourcebook.sources.numbering import numbered
from sourcebook.sources.pdf_tables import find_tables, table_text

_BULLET = re.compile(r"[•▪◦‣●■\uf0b7]\s*")
_ITEM = re.compile(r"[•▪◦‣●■\uf0b7–—]\s|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s|\d+(?:\.\d+)+\.?\s")
_CLOSED = frozenset(".:;!?")
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_LOOKED_AT = 30
_BROKEN_WORD = re.compile(r"([^\W\d_]+)-$")
_LEADERS = ("...", "…", ". . . ")
_NUMBERED_WITH_PAGE = re.compile(r"\d[\d.]*\s.*\s\d{1,4}$")


@dataclass(frozen=True, slots=True)
class Piece:
    """One paragraph or table as it goes into the text."""

    kind: str
    text: str
    page: int
    size: float
    bold: bool
    lines: int


def pieces(pages: Sequence[Sequence[Line]]) -> list[Piece]:
    """The pieces of all pages, in order."""
    compounds = {
        word
        for page in pages
        for line in page
        if "-" in line.text
        for word in _COMPOUND.findall(line.text[:-1])
    }
    pitch = _pitch(pages)
    made: list[Piece] = []
    open_lines: list[Line] = []
    for lines in pages:
        for group in _groups(lines, pitch):
            if isinstance(group, str):
                made += _closed(open_lines, compounds)
                open_lines = []
                made.append(Piece("table", group, lines[0].page, 0.0, False, 0))
            elif open_lines and _goes_on_after_break(open_lines[-1], group[0]):
                open_lines += group
            else:
                made += _closed(open_lines, compounds)
                open_lines = group
    return made + _closed(open_lines, compounds)


def _pitch(pages: Sequence[Sequence[Line]]) -> float:
    """From line to line in units of the font's size: the most common one of the document."""
    steps: Counter[float] = Counter()
    for lines in pages:
        for a, b in itertools.pairwise(lines):
            if a.part == b.part and a.size == b.size and 0 < b.top - a.top < 3 * b.size:
                steps[round((b.top - a.top) / b.size, 1)] += 1
    return steps.most_common(1)[0][0] if steps.total() >= 5 else 1.25


def _groups(lines: Sequence[Line], pitch: float) -> Iterator[list[Line] | str]:
    """A page's paragraphs as lines, its tables as text."""
    tables = dict(find_tables(lines))
    group: list[Line] = []
    at = 0
    while at < len(lines):
        if group and (at in tables or _breaks(group, lines[at], pitch)):
            yield group
            group = []
        if at in tables:
            yield table_text(lines[at : tables[at]])
            at = tables[at]
        else:
            group.append(lines[at])
            at += 1
    if group:
        yield group


def _breaks(group: Sequence[Line], line: Line, pitch: float) -> bool:
    """Whether a line begins a new paragraph."""
    last = group[-1]
    if last.part != line.part:
        return not _goes_on_after_break(last, line)
    if not _is_same_font(last, line) or not _is_same_font(group[0], line):
        return True
    if line.top - last.top > (pitch + 0.35) * max(line.size, 1.0):
        return True
    if _ends_in_page(last.text) and _ends_in_page(line.text):
        return True
    widest = max(member.x1 for member in group[-_LOOKED_AT:])
    is_short = last.x1 < widest - 0.12 * (widest - last.x0) or last.x1 < line.x1 - 0.25 * (
        line.x1 - line.x0
    )
    is_closed = last.text[-1] in _CLOSED
    if _ITEM.match(line.text) and (is_closed or is_short or _ITEM.match(group[0].text)):
        return True
    if (is_closed or is_short) and numbered(line.text):
        return True
    is_indented = line.x0 > last.x0 + 0.8 * line.size and len(group) > 1
    return is_closed and (is_short or (is_indented and not _ITEM.match(last.text)))


def _ends_in_page(text: str) -> bool:
    """Whether a line reads like an entry of a table of contents."""
    if not text[-1].isdecimal():
        return False
    return any(mark in text for mark in _LEADERS) or bool(_NUMBERED_WITH_PAGE.match(text))


def _is_same_font(a: Line, b: Line) -> bool:
    """Nearly: code in a line of prose is a little smaller, but not under a numbered title."""
    larger = 1.12 if a.text[0].islower() or not numbered(a.text) else 1.04
    return max(a.size, b.size) <= larger * min(a.size, b.size) and a.bold == b.bold


def _goes_on_after_break(last: Line, line: Line) -> bool:
    """Whether a sentence goes on in the next column or on the next page."""
    is_open = last.text[-1] not in _CLOSED and last.text[-1] not in "”\"'’)"
    return _is_same_font(last, line) and is_open and line.text[0].islower()


def _closed(lines: Sequence[Line], compounds: set[str]) -> list[Piece]:
    if not lines:
        return []
    text = _joined([line.text for line in lines], compounds)
    first = lines[0]
    kind = "list_item" if _BULLET.match(text) else "prose"
    bold = all(line.bold for line in lines)
    return [Piece(kind, text, first.page, first.size, bold, len(lines))]


def _joined(lines: Sequence[str], compounds: set[str]) -> str:
    """One line of all; a hyphen at an end stays where the word is known to have it."""
    parts = [lines[0]]
    for line in lines[1:]:
        before = _BROKEN_WORD.search(parts[-1][-60:]) if parts[-1].endswith("-") else None
        after = re.match(r"[^\W\d_]+", line)
        if before and after and after[0][0].islower():
            is_compound = f"{before[1]}-{after[0]}" in compounds
            parts[-1] = parts[-1] if is_compound else parts[-1][:-1]
        else:
            parts.append(" ")
        parts.append(line)
    return "".join(parts)
