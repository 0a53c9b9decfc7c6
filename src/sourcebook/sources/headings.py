"""A text and its paragraphs in; the same blocks out, with the numbered headings among them.

Nothing is a heading alone: a text must show a system, several numbers that follow each other, or a
table of contents whose titles stand in the text. So a list in a note stays a list. Entries of a
table of contents are never headings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcebook.model import Block
from sourcebook.sources.contents import Contents, find_contents, match_titles, title_key
from sourcebook.sources.numbering import (
    APPENDIX,
    LOOKS_NUMBERED,
    Numbered,
    is_title,
    numbered,
    share_of_capitals,
)
from sourcebook.sources.sequence import in_sequence

_LINE = re.compile(r"[^\r\n]+")
_FIRST_SENTENCE = re.compile(r"([^.:]{2,80})[.:]\s")
_CLOSED = frozenset('.:;!?)]"”’_')
_FEWEST = 3
_MATCHED = 0.5
"""The share of a table of contents that must be found before it says what is a heading."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a paragraph, without the white space around it."""

    start: int
    end: int
    text: str
    opens: bool
    """It may begin something: the line before is closed, short, or in another paragraph."""
    is_first: bool
    """Of its paragraph."""


@dataclass(frozen=True, slots=True)
class Heading:
    start: int
    end: int
    level: int
    title: str


def with_headings(text: str, blocks: Sequence[Block]) -> list[Block]:
    """The blocks with headings cut out of the prose among them."""
    headings, cuts = find_headings(text, blocks)
    return cut_out(text, blocks, headings, cuts) if headings or cuts else list(blocks)


def find_headings(text: str, blocks: Sequence[Block]) -> tuple[list[Heading], list[int]]:
    """The headings in the prose, in order, and the offsets where a table of contents begins and
    ends."""
    found = LOOKS_NUMBERED.finditer(text)
    if sum(1 for _ in zip(found, range(_FEWEST), strict=False)) < _FEWEST:
        return [], []
    lines = [line for block in blocks if block.kind == "prose" for line in _lines(text, block)]
    tables = find_contents([line.text for line in lines])
    inside = {at for table in tables for at in range(table.first, table.last)}
    body = [line for at, line in enumerate(lines) if at not in inside]
    named = _named_in(tables, body)
    marked = _marked(body, named)
    cuts = [lines[table.first].start for table in tables]
    cuts += [lines[table.last - 1].end for table in tables]
    return _levelled(text, body, marked), sorted(cuts)


def _lines(text: str, block: Block) -> list[Line]:
    lines: list[Line] = []
    widest = 0
    for found in _LINE.finditer(text, block.start, block.end):
        words = found[0].strip()
        if not words:
            continue
        start = found.start() + len(found[0]) - len(found[0].lstrip())
        before = lines[-1].text if lines else ""
        opens = not before or _is_closed(before) or len(before) < 0.7 * widest
        lines.append(Line(start, start + len(words), words, opens, not before))
        widest = max(widest, len(words))
    return lines


def _is_closed(line: str) -> bool:
    """Whether what a line says does not go on in the next one: a sentence's end, or a title."""
    is_heading = is_title(line) and share_of_capitals(line) >= 0.6
    return line[-1] in _CLOSED or is_heading or numbered(line) is not None


def _named_in(tables: Sequence[Contents], body: Sequence[Line]) -> dict[int, Numbered]:
    """The lines that a table of contents names, each with the number and the title given there."""
    entries = [e for table in tables for e in table.entries if e.number and title_key(e.title)]
    if len(entries) < _FEWEST:
        return {}
    matched = match_titles(entries, [_title_keys(line) for line in body])
    if len(matched) < _MATCHED * len(entries):
        return {}
    named = {}
    for at, entry in matched.items():
        own, number = numbered(body[at].text), entry.number
        if number is None:
            continue
        if own is not None and own.title:
            named[at] = own
        else:
            named[at] = replace(number, title=entry.title, end=_named_end(body[at], entry.title))
    return named


def _title_keys(line: Line) -> list[str]:
    """The titles that a line may be the heading of: its words, and those before its first stop."""
    own = numbered(line.text)
    words = own.title if own else line.text[:200]
    keys = [title_key(words)] if len(line.text) < 200 or own else []
    first = _FIRST_SENTENCE.match(line.text)
    if own is None and first:
        keys.append(title_key(first[1]))
    return [key for key in dict.fromkeys(keys) if key]


def _named_end(line: Line, title: str) -> int:
    """How much of a line is the heading that a table of contents gives without a number."""
    first = _FIRST_SENTENCE.match(line.text)
    is_run_in = first is not None and title_key(first[1]) == title_key(title)
    return len(first[1]) + 1 if first and is_run_in else len(line.text)


def _marked(body: Sequence[Line], named: dict[int, Numbered]) -> dict[int, Numbered]:
    """The lines that are headings: those that are named, and those whose numbers make a system."""
    own = {
        at: found
        for at, line in enumerate(body)
        if line.opens
        and at not in named
        and (found := numbered(line.text))
        and (found.run_in or not _goes_on(line, body[at + 1] if at + 1 < len(body) else None))
    }
    if named and not any(numbered(body[at].text) for at in named):
        # The text has lost its numbers: single ones that it has are of lists.
        own = {at: found for at, found in own.items() if found.kind == APPENDIX or _is_deep(found)}
    spans = {at: body[at].end for at in own}
    accepted = in_sequence({**own, **named}, _gaps(body), frozenset(named), spans)
    return accepted if len(accepted) >= _FEWEST or named else {}


def _goes_on(line: Line, following: Line | None) -> bool:
    """Whether a line is the first of a wrapped paragraph, not a title."""
    if following is None or following.is_first or line.text[-1] in _CLOSED:
        return False
    is_full = len(line.text) >= max(50, 0.75 * len(following.text))
    return following.text[0].islower() or is_full


def _is_deep(found: Numbered) -> bool:
    return found.plain and len(found.number) > 1


def _gaps(body: Sequence[Line]) -> list[int]:
    """Offsets of the lines' starts: how much text lies between two of them."""
    return [line.start for line in body]


def _levelled(text: str, body: Sequence[Line], marked: dict[int, Numbered]) -> list[Heading]:
    """Headings with levels by what they divide and how deep their number is."""
    ranks = {(n.kind, len(n.number)) for n in marked.values() if n.kind != APPENDIX}
    levels = {rank: level for level, rank in enumerate(sorted(ranks), start=1)}
    headings: list[Heading] = []
    in_appendix = False
    taken = set(marked)
    for at in sorted(marked):
        number, line = marked[at], body[at]
        end, title = line.start + number.end, _spaced(f"{number.label} {number.title}")
        following = body[at + 1] if at + 1 < len(body) and at + 1 not in taken else None
        if not number.title and following and _is_second(text, line, following):
            end, title = following.end, _spaced(f"{number.label} {following.text}")
        in_appendix = in_appendix or number.kind == APPENDIX
        level = (
            1 if number.kind == APPENDIX else levels[number.kind, len(number.number)] + in_appendix
        )
        headings.append(Heading(line.start, end, level, title))
    return headings


def _is_second(text: str, first: Line, second: Line) -> bool:
    """Whether a line is the title of the number in the line before it."""
    between = text[first.end : second.start]
    near = len(re.findall(r"\r\n?|\n", between)) <= 3
    return near and is_title(second.text) and second.text[-1] not in ".!?"


def _spaced(words: str) -> str:
    return " ".join(words.split()).strip()


def cut_out(
    text: str, blocks: Sequence[Block], headings: Sequence[Heading], cuts: Sequence[int] = ()
) -> list[Block]:
    """The prose around the headings, and also cut at `cuts`; other blocks as they are."""
    marks = sorted(
        [(h.start, h.end, h) for h in headings] + [(c, c, None) for c in cuts], key=_place
    )
    made: list[Block] = []
    at, position = 0, 0
    for block in blocks:
        position = max(position, block.start)
        while block.kind == "prose" and at < len(marks) and marks[at][0] < block.end:
            start, end, heading = marks[at]
            made += _piece(text, block, position, start)
            if heading is not None:
                made.append(Block("heading", start, end, heading.level, heading.title, block.page))
            position, at = max(position, end), at + 1
        if block.kind == "prose":
            made += _piece(text, block, position, block.end)
        else:
            made.append(block)
        position = max(position, block.end)
    return made


def _place(mark: tuple[int, int, Heading | None]) -> tuple[int, int]:
    return mark[0], mark[1]


def _piece(text: str, block: Block, start: int, end: int) -> list[Block]:
    piece = text[start:end]
    bare = piece.strip()
    if not bare:
        return []
    start += len(piece) - len(piece.lstrip())
    return [replace(block, start=start, end=start + len(bare))]
