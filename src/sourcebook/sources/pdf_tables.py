"""Lines of cells in; which runs of them are tables, and their rows as text, out.

A table is several lines in a row that have two cells or more, in columns that line up. A number or
a bullet before a text is no cell, and a table of contents is no table.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from sourcebook.sources.layout import Line, Run

_FEWEST = 3
_ALIGNED = 4.0
_COLUMNS = 60
"""Cells that others are compared with, and the most of a row."""
_MARKER = re.compile(r"[•▪◦‣·–—*-]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivxIVX]{1,5})[.)]?|§+|o")
_CLOSE = 1.3
_APART = 1.6
"""Of the font's size: nearer lines are of one cell, lines further apart of two rows."""


def find_tables(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """The tables among the lines of one page, as ranges."""
    tables = []
    at = 0
    while at < len(lines):
        end = _table_end(lines, at)
        if end - at < _FEWEST:
            at += 1
            continue
        if not _is_contents(lines[at:end]):
            tables.append((at, end))
        at = end
    return tables


def _table_end(lines: Sequence[Line], start: int) -> int:
    """Just after the last line of the table that begins here: lines with cells count, and lines
    that go on in one of them may stand between."""
    columns = cells(lines[start])
    if not 2 <= len(columns) <= _COLUMNS:
        return start
    end = at = start + 1
    while at < len(lines) and lines[at].part == lines[start].part:
        line, row = lines[at], cells(lines[at])
        is_near = line.top - lines[at - 1].bottom < 2.5 * max(line.size, 4)
        if not is_near or not _fits(row, columns):
            break
        at += 1
        if len(row) > 1:
            end, columns = at, columns + row[: _COLUMNS - len(columns)]
    return end


def _fits(row: Sequence[Run], columns: Sequence[Run]) -> bool:
    """Whether the cells stand under cells before them: all but one, and at least one, or, of a
    single cell, that it goes on with a column that is not the first."""
    if len(row) > _COLUMNS:
        return False
    under = sum(any(_are_aligned(cell, column) for column in columns) for cell in row)
    if len(row) == 1:
        first = min(column.x0 for column in columns)
        return under == 1 and row[0].x0 > first + _ALIGNED
    return under >= max(2, len(row) - 1)


def _are_aligned(a: Run, b: Run) -> bool:
    middles = abs((a.x0 + a.x1) - (b.x0 + b.x1)) / 2
    return min(abs(a.x0 - b.x0), abs(a.x1 - b.x1), middles) < _ALIGNED


def cells(line: Line) -> list[Run]:
    """The runs of a line; a marker and the text after it are one."""
    runs = list(line.runs)
    if len(runs) > 1 and _MARKER.fullmatch(runs[0].text) and len(runs) == 2:
        first, second = runs
        return [second._replace(text=f"{first.text} {second.text}", x0=first.x0)]
    return runs


def _is_contents(lines: Sequence[Line]) -> bool:
    """Rows that end in page numbers which never fall, after words."""
    ends = [line.runs[-1].text for line in lines]
    if sum(end.isdecimal() and len(end) < 5 for end in ends) < 0.8 * len(ends):
        return False
    pages = [int(end) for end in ends if end.isdecimal() and len(end) < 5]
    has_numbers = sum(line.text[:1].isdigit() or "..." in line.text for line in lines)
    return pages == sorted(pages) and has_numbers * 2 > len(lines)


def table_text(lines: Sequence[Line]) -> str:
    """A row a line, cells parted by bars."""
    rows: list[list[Run]] = []
    gaps = [b.top - a.top for a, b in itertools.pairwise(lines)]
    size = max(line.size for line in lines)
    has_both = any(g < _CLOSE * size for g in gaps) and any(g > _APART * size for g in gaps)
    for at, line in enumerate(lines):
        row = cells(line)
        goes_on = bool(rows) and len(row) < len(rows[-1]) and row[0].x0 > rows[-1][0].x1
        if rows and (goes_on or (has_both and gaps[at - 1] < _CLOSE * size)):
            rows[-1] = _merged(rows[-1], row)
        else:
            rows.append(row)
    return "\n".join(" | ".join(cell.text for cell in row) for row in rows)


def _merged(row: list[Run], more: Sequence[Run]) -> list[Run]:
    """The cells of a row with the lines that go on in them."""
    merged = list(row)
    for cell in more:
        near = min(range(len(row)), key=lambda at: abs(row[at].x0 - cell.x0))
        merged[near] = merged[near]._replace(text=f"{merged[near].text} {cell.text}")
    return merged
