"""A PDF on standard input; on standard output one JSON line about it, then one a page: its text.

This file runs as a program of its own, with limits on time and memory, since PDFium is a large
library that reads hostile files in the caller's process: what goes wrong here ends only this.
It imports nothing of Sourcebook, so that it starts fast.

A page is {"size": [width, height], "runs": [[text, x0, top, x1, bottom, font size, bold, across]]},
in points, counted from the page's upper left corner. A run is words of one line with ordinary space
between them; it ends with "-" also where PDFium knows of a hidden hyphen.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pypdfium2.raw as pdfium

_MEMORY = 1 << 30
_OUTPUT = 1 << 29
_PAGES = 20_000
_RUNS = 250_000
"""The most of a document: some four thousand pages of prose."""
_OUTLINE = 5_000
_CHARACTERS = 1_000_000
"""The most of one page that is looked at."""
_GAP = 0.8
"""Of the font's size: wider space between two words parts columns or cells."""
_WORD = re.compile("[^\x00-\x20\xa0\u2000-\u200b\u3000\ufffe]+[\x02\ufffe]?")
_HYPHEN = re.compile("[\xad\x02\ufffe]$")
_LINE_END = re.compile("[\n\x02\ufffe]")
"""PDFium writes U+0002 or U+FFFE for a hyphen at the end of a line, and no line end after it."""
_TAGS = ("Title", "Author", "CreationDate")
_REFUSED = {pdfium.FPDF_ERR_PASSWORD: "password", pdfium.FPDF_ERR_SECURITY: "password"}


def main() -> None:
    _limit(int(sys.argv[1]))
    data = sys.stdin.buffer.read()
    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    if not document:
        _say({"error": _REFUSED.get(pdfium.FPDF_GetLastError(), "broken")})
        return
    count = pdfium.FPDF_GetPageCount(document)
    about = {tag: _utf16(pdfium.FPDF_GetMetaText, document, tag.encode()) for tag in _TAGS}
    _say({"pages": count, "about": about, "outline": list(_outline(document))})
    runs = 0
    for index in range(min(count, _PAGES)):
        page = _page(document, index)
        runs += len(page["runs"])
        if runs > _RUNS:  # the caller says which pages are missing
            break
        _say(page)


def _limit(seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none; the caller's clock is left
        return
    limits = {"AS": _MEMORY, "CPU": seconds, "FSIZE": _OUTPUT, "CORE": 0}
    for name, most in limits.items():
        what = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(what)  # the caller's own limit may be lower, and stays
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, hard))


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _utf16(function: Any, *args: Any) -> str:
    """A text that PDFium writes into a buffer; asked once for its length, in bytes."""
    length = function(*args, None, 0)
    if not 2 < length < 1 << 20:
        return ""
    buffer = ctypes.create_string_buffer(length)
    function(*args, buffer, length)
    return buffer.raw[: length - 2].decode("utf-16-le", errors="replace")


def _outline(document: Any) -> Iterator[tuple[int, str, int]]:
    """(level, title, page from 1) of each bookmark. Its links may run in circles."""
    seen: set[int] = set()
    todo = [(1, pdfium.FPDFBookmark_GetFirstChild(document, None))]
    while todo and len(seen) < _OUTLINE:
        level, mark = todo.pop()
        address = ctypes.cast(mark, ctypes.c_void_p).value if mark else None
        if address is None or address in seen or level > 30:
            continue
        seen.add(address)
        target = pdfium.FPDFBookmark_GetDest(document, mark)
        page = pdfium.FPDFDest_GetDestPageIndex(document, target) + 1 if target else 0
        yield level, _utf16(pdfium.FPDFBookmark_GetTitle, mark)[:500], page
        todo.append((level, pdfium.FPDFBookmark_GetNextSibling(document, mark)))
        todo.append((level + 1, pdfium.FPDFBookmark_GetFirstChild(document, mark)))


def _page(document: Any, index: int) -> dict[str, Any]:
    page = pdfium.FPDF_LoadPage(document, index)
    if not page:
        return {"size": [0, 0], "runs": [], "broken": True}
    text = pdfium.FPDFText_LoadPage(page)
    width, height = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
    turn = pdfium.FPDFPage_GetRotation(page)
    runs = list(_runs(text, _Turn(turn, width, height))) if text else []
    if text:
        pdfium.FPDFText_ClosePage(text)
    pdfium.FPDF_ClosePage(page)
    return {"size": [width, height], "runs": runs}


def _runs(text: Any, turn: _Turn) -> Iterator[list[Any]]:
    """Words with ordinary space between them, a run at most a line. Font and angle are asked for
    once a line. This is the inner loop of all PDF reading: it is written for speed."""
    characters = _characters(text)
    box_of, box = pdfium.FPDFText_GetLooseCharBox, pdfium.FS_RECTF()
    words: list[str] = []
    left = bottom = right = top = widest = 0.0
    font, line_end = (0.0, 0, 0), 0
    for found in _WORD.finditer(characters):
        first, last = found.span()
        box_of(text, first, box)
        is_new_line = first >= line_end
        if is_new_line or not 0 <= box.left - right + 1 < widest:
            if words:
                yield [" ".join(words), *turn.box(left, bottom, right, top), *font]
            if is_new_line:
                line_end = _line_end(characters, first)
                font = _font(text, first, line_end - 1, _middle(characters, first, line_end), turn)
            words, left, bottom, top = [], box.left, box.bottom, box.top
            widest = 1 + _GAP * min(max(font[0], 4.0), top - bottom + 1)
        words.append(_HYPHEN.sub("-", found[0]).replace("\xad", ""))
        box_of(text, last - 1, box)
        right = box.right
    if words:
        yield [" ".join(words), *turn.box(left, bottom, right, top), *font]


def _characters(text: Any) -> str:
    """One character for each of PDFium's, so that places in both are the same."""
    count = min(pdfium.FPDFText_CountChars(text), _CHARACTERS)
    buffer = (ctypes.c_ushort * (count + 1))()
    if pdfium.FPDFText_GetText(text, 0, count, buffer) == count + 1:
        codes: list[int] = list(buffer[:count])
    else:
        codes = [pdfium.FPDFText_GetUnicode(text, index) for index in range(count)]
    return "".join(map(chr, (code if code < 0x110000 else 0xFFFD for code in codes)))


def _line_end(characters: str, start: int) -> int:
    """Just after the last visible character of the line."""
    found = _LINE_END.search(characters, start)
    end = found.start() if found else len(characters)
    return start + max(1, len(characters[start:end].rstrip()))


def _middle(characters: str, first: int, end: int) -> int:
    """A visible character in the middle of a line: a bullet or a mark may have another font."""
    middle = (first + end) // 2
    while middle > first and characters[middle].isspace():
        middle -= 1
    return middle


def _font(text: Any, first: int, last: int, middle: int, turn: _Turn) -> tuple[float, int, int]:
    """Size, whether the line is bold from its first to its last word, whether it stands across
    the others."""
    is_bold = _is_bold(text, first) and _is_bold(text, last)
    angle = pdfium.FPDFText_GetCharAngle(text, first)
    size = round(pdfium.FPDFText_GetFontSize(text, middle), 1)
    return size, int(is_bold), int(turn.is_across(angle))


def _is_bold(text: Any, index: int) -> bool:
    flags = ctypes.c_int()
    name = ctypes.create_string_buffer(128)
    pdfium.FPDFText_GetFontInfo(text, index, name, 128, flags)
    named = b"bold" in name.value.lower() or b"black" in name.value.lower()
    return named or pdfium.FPDFText_GetFontWeight(text, index) >= 600


class _Turn:
    """From PDFium's coordinates (upward, not turned with the page) to those of a reader."""

    def __init__(self, quarters: int, width: float, height: float) -> None:
        self._quarters, self._width, self._height = quarters, width, height

    def box(self, left: float, bottom: float, right: float, top: float) -> tuple[float, ...]:
        w, h = self._width, self._height
        turned = {
            0: (left, h - top, right, h - bottom),
            1: (bottom, left, top, right),
            2: (w - right, bottom, w - left, top),
            3: (w - top, h - right, w - bottom, h - left),
        }[self._quarters % 4]
        return tuple(round(value, 1) for value in turned)

    def is_across(self, angle: float) -> bool:
        """Whether a character of this angle (radians) stands across the lines of the page."""
        seen = (angle - self._quarters * 1.5707963) % 3.1415927
        return 0.3 < seen < 2.84


if __name__ == "__main__":
    main()
