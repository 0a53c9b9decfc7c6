"""A reading in; what each of its lines is out: a path, a menu, a table of contents, a heading, a
reference, or something said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sourcebook.quality.reading import Reading
from sourcebook.quality.words import find

LineKind = Literal["navigation", "reference", "said"]

LONGEST_ITEM = 6  # words of an item of a path or a menu
_PATH = re.compile(r"\s*[>›»→▸/\\]\s+|\s+[>›»→▸]\s*|::|[›»▸]")
_TIGHT_PATH = re.compile(r"(?<=\w)>(?=\w)")
_MENU = re.compile(r"\s+[|·•‧]\s+")
_NOT_A_PATH = re.compile(r"[={}<]|[!?]|^\s*>|\d\s*>\s*\d|->|=>|[.]\s+[^\W\d_]")
_TABLE = re.compile(r"^\s*\|.*\|\s*$|^[\s|:-]+$")
_CONTENTS_ENTRY = re.compile(
    r"^\s*(?:[\dA-Z]{1,4}(?:\.\d{1,3}){0,5}\.?\s+)?\S.{0,150}?(?:\s?\.{3,}\s*|(?:\s?\.\s){3,}|\t\s*|…+\s*)"
    r"(?:\d{1,4}|[ivxl]{1,6})\s*$"
)
_CONTENTS_TITLE = re.compile(
    r"^\W*(?:table of contents|contents|on this page|in this article|toc)\W*$", re.I
)
_HEADING = re.compile(r"^\s{0,3}#{1,6} [^a-z\s]|^={1,6} .{1,120} ={1,6}\s*$")
_ANCHORS = re.compile(
    r"^\s*(?:[-*+•]|\d{1,3}[.)])?\s*(?:\[[^\[\]\n]{1,200}\]\(#[^()\s]{0,200}\)[\s|·]*)+$"
)
_NAVIGATION = frozenset(
    """home menu search login logout register account profile settings about contact help faq
    support blog news products services pricing careers sitemap docs documentation previous prev
    next back top up index archive tags categories share print edit cart checkout download
    downloads privacy terms imprint skip main content navigation toggle sign log in out us to page
    more all close open language english subscribe follow forum community store shop dashboard
    start overview""".split()
)
_POINTS = re.compile(
    r"^\W*(?:for (?:more |further |additional )?(?:details?|information|instructions|examples?|"
    r"a description|reference|context|help|background)?[^.!?\n]{0,60}?[,:]?\s+)?"
    r"(?:please\s+|also\s+){0,2}"
    r"(?:see(?! (?:how|that|if|whether|what|why|you|when|whom?)\b)|refer to|"
    r"cf\.?|consult|compare|read (?:more|the)|visit|click|go to|check out|"
    r"as (?:described|provided|set forth|defined|stated|noted|shown|discussed|explained|specified)"
    r" in|(?:is |are )?(?:described|provided|set forth|defined|shown|discussed|explained) in|siehe|"
    r"vgl\.?|voir|véase|vedi|zie)\b",
    re.I,
)
_TARGET = re.compile(
    r"\b(?:section|sections|chapter|appendix|article|figure|fig|table|exhibit|page|annex|clause|"
    r"paragraph|part|abschnitt|kapitel|seite|chapitre|sección|link|here|documentation|"
    r"docs|manual|guide|readme|wiki|website|web site|appendices|bylaws|handbook|attached|"
    r"attachment|more|also|supra|infra|oben|unten)\b|\b(?:above|below)(?=\W*$| for\b)|"
    r"§|\bpp?\.\s?\d|\[\d",
    re.I,
)
_CITATION = re.compile(
    r"^\W*(?:\[?\d{1,3}[\].)]\s*)?(?:.{0,300}?(?:\bdoi\b|\b(?:19|20)\d\d;\s?\d|\bISBN\b|\barXiv\b|"
    r"\b\d{1,4}\s?\(\d{1,4}\):\s?\d)|"
    r"[^\W\d_][\w'’-]{1,40},?\s(?:[A-Z]\.?[,&\s]{0,3}){1,4}.{0,150}?\(?(?:19|20)\d\d)"
)
_SAYS = re.compile(
    r"\b(?:is|are|was|were|has|have|had|we|shows?|showed|found|must|shall|will|can)\b", re.I
)
_ONLY_NUMBERS = re.compile(r"^\W*(?:\[\d{1,3}(?:[-–,]\s?\d{1,3})*\][\s,;]*)+$")


@dataclass(frozen=True, slots=True)
class Line:
    """A line or a sentence of the text, `text[start:end]`."""

    kind: LineKind
    start: int
    end: int
    words: int


def lines(reading: Reading) -> Iterator[Line]:
    """The lines that hold something."""
    text = reading.text
    start = 0
    contents = False
    for raw in text.split("\n"):
        line = raw.strip()
        if line:
            at = start + raw.index(line)
            contents = contents or bool(_CONTENTS_TITLE.match(line))
            kind = _kind(line, reading, contents)
            yield Line(kind, at, at + len(line), len(find(line)))
        start += len(raw) + 1


def _kind(line: str, reading: Reading, contents: bool) -> LineKind:
    line = line[:600]
    if _TABLE.match(line):
        return "said"
    if _is_navigation(line, reading) or (contents and _is_item(line)):
        return "navigation"
    if _is_reference(line):
        return "reference"
    return "said"


def _is_navigation(line: str, reading: Reading) -> bool:
    return bool(
        _HEADING.match(line)
        or _CONTENTS_TITLE.match(line)
        or _CONTENTS_ENTRY.match(line)
        or _ANCHORS.match(line)
        or _is_menu(line)
        or (not reading.code and _is_path(line))
    )


def _is_path(line: str) -> bool:
    """Home > Docs > API: at least two short items, none of them a sentence, a formula or code."""
    if _NOT_A_PATH.search(line):
        return False
    items = _TIGHT_PATH.split(line) if _TIGHT_PATH.search(line) else _PATH.split(line)
    items = [item for item in items if item.strip()]
    if len(items) < 2 or not all(_is_item(item) and _named(item) for item in items):
        return False
    return len(items) > 2 or _is_menu(items[0]) or _navigates(items[0])


def _navigates(item: str) -> bool:
    words = [word.lower() for word in find(item)]
    return bool(words) and all(word in _NAVIGATION for word in words)


def _is_menu(line: str) -> bool:
    """Items side by side, most of them words of navigation; or one line of nothing else."""
    if _NOT_A_PATH.search(line):
        return False
    items = [item for item in _MENU.split(line) if item.strip()]
    if len(items) > 2 and all(_is_item(item) and _named(item) for item in items):
        return sum(map(_navigates, items)) * 3 >= len(items)
    words = find(line)
    return 1 <= len(words) <= 12 and ":" not in line and _navigates(line)


def _is_item(item: str) -> bool:
    """A few words that are not a sentence; a heading may end in a full stop."""
    item = item.strip()
    if not 1 <= len(find(item)) <= LONGEST_ITEM or item[-1] in "!?;,":
        return False
    return item[-1] != "." or item.lstrip("\"'“”‘’#*- ")[:1].isupper()


def _named(item: str) -> bool:
    """Has a word of at least two letters, and more letters than figures."""
    letters = sum(c.isalpha() for c in item)
    return letters > 1 and letters > sum(c.isdigit() for c in item)


def _is_reference(line: str) -> bool:
    if _ONLY_NUMBERS.match(line):
        return True
    pieces = [piece for piece in re.split(r"(?<=[a-z)\]][.!?])\s+(?=[A-Z])", line) if piece]
    if all(points(piece) for piece in pieces):
        return True
    return bool(_CITATION.match(line)) and not _SAYS.search(line)


def points(sentence: str) -> bool:
    """Whether a sentence only sends the reader elsewhere."""
    found = _POINTS.match(sentence[:300])
    if not found or len(find(sentence)) > 16:
        return False
    rest = sentence[found.end() :]
    return bool(_TARGET.search(found[0] + rest)) or _titled(rest)


def _titled(rest: str) -> bool:
    """ "See Owner's Handbook": nothing but capitalised words, or words in quotation marks."""
    words = re.findall(r"[^\W\d_]{4,}", rest)
    return bool(words) and all(word[0].isupper() for word in words)
