"""The lines of a text in; its table of contents out: where it stands, and the titles in it.

A table of contents is a run of lines that end in page numbers (after dots, tabs or wide space), or
of short numbered lines under a "Contents" heading. Its titles tell which lines of the text are
headings, also where those have lost their numbers, as Word's automatic ones get lost.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sourcebook.sources.numbering import Numbered, numbered

_HEADING = re.compile(
    r"(?i)(?:table\s+of\s+)?contents\W{0,3}(?:page)?|index|inhalt(?:sverzeichnis)?"
)
_LEADERS = re.compile(
    r"(?P<words>.*?\S)(?:\s*(?:\.{3,}|…+|(?:\. ){3,}\.?)[\s.…]*|\s*\t\s*|\s{3,})"
    r"(?P<page>\d{1,4}|[ivxlc]{1,6})"
)
_SPACED = re.compile(r"(?P<words>.*?\S)\s(?P<page>\d{1,4})")
_LONGEST = 200
_STRANGERS = 2
"""Lines in a row that are no entries and do not yet end a table of contents."""
_FEWEST = 4
_PER_TITLE = 50
"""Lines that are tried for one title: a hostile text could repeat it without end."""
_TRIED_FOR_NOTHING = 10_000
"""Lines that may be looked at in runs that turn out to be no table, beside the text's own number:
runs that overlap could cost the square of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    title: str
    number: Numbered | None


@dataclass(frozen=True, slots=True)
class Contents:
    """Lines `first` to `last` (without it), and the numbered entries in them."""

    first: int
    last: int
    entries: tuple[Entry, ...]


def find_contents(lines: Sequence[str]) -> list[Contents]:
    """All tables of contents, in order."""
    found: list[Contents] = []
    at, tries = 0, len(lines) + _TRIED_FOR_NOTHING
    while at < len(lines) and tries > 0:
        has_heading = len(lines[at]) < 40 and bool(_HEADING.fullmatch(lines[at]))
        here, looked_at = _run(lines, at + 1, True) if has_heading else (None, 0)
        if here is None and _LEADERS.fullmatch(lines[at][:_LONGEST]):
            here, looked_at = _run(lines, at, False)
        if here is None:
            at, tries = at + 1, tries - looked_at
        else:
            found.append(here if not has_heading else Contents(at, here.last, here.entries))
            at = here.last
    return found


def _run(lines: Sequence[str], first: int, has_heading: bool) -> tuple[Contents | None, int]:
    """The table that begins at a line, if it does, and how many lines were looked at."""
    entries: list[Entry] = []
    seen: set[tuple[int, tuple[int, ...]]] = set()
    paged, last, at = 0, first, first
    while at < len(lines) and at - last <= _STRANGERS and len(lines[at]) <= _LONGEST:
        has_page, entry = _entry(lines[at], has_heading)
        key = (entry.number.kind, entry.number.number) if entry.number else None
        if not has_page and key is not None and (key in seen or entry.number.run_in):  # type: ignore[union-attr]
            break  # the text itself has begun
        at += 1
        if has_page or key is not None:
            last, paged = at, paged + has_page
            entries.append(entry)
            seen |= {key} if key else set()
    is_one = paged >= _FEWEST and paged * 2 >= len(entries)
    if not is_one and has_heading:
        is_one = len(seen) >= 3
    return Contents(first, last, tuple(entries)) if is_one else None, at - first


def _entry(line: str, has_heading: bool) -> tuple[bool, Entry]:
    paged = _LEADERS.fullmatch(line) or (_SPACED.fullmatch(line) if has_heading else None)
    words = paged["words"] if paged else line
    number = numbered(words)
    title = number.title if number and number.title else words
    return paged is not None, Entry(title.strip(" .\t…"), number)


def match_titles(entries: Sequence[Entry], keys: Sequence[Sequence[str]]) -> dict[int, Entry]:
    """Which line (by its place in `keys`) is the heading of which entry: the longest selection
    that keeps both orders. `keys` are the titles that a line may stand for, by `title_key`."""
    places: dict[str, list[int]] = defaultdict(list)
    for line, options in enumerate(keys):
        for key in options:
            if len(places[key]) < _PER_TITLE:
                places[key].append(line)
    ends: list[int] = []  # the last line of the best selection of each length
    chains: list[tuple[int, int, int]] = []  # (entry, line, the one before it)
    tails: list[int] = []
    for number, entry in enumerate(entries):
        for line in reversed(places.get(title_key(entry.title), [])):
            length = bisect_left(ends, line)
            chains.append((number, line, tails[length - 1] if length else -1))
            ends[length : length + 1] = [line]
            tails[length : length + 1] = [len(chains) - 1]
    matched: dict[int, Entry] = {}
    link = tails[-1] if tails else -1
    while link >= 0:
        number, line, link = chains[link]
        matched[line] = entries[number]
    return matched


def title_key(title: str) -> str:
    """A title without what a table of contents may write otherwise."""
    return re.sub(r"[\W_]+", "", title.casefold())
