"""Runs of words with their places on pages in; lines in reading order out.

Columns are read one after the other, between the lines that span them. What repeats at the top or
the bottom of most pages (running titles, page numbers) is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

_EDGE = 0.14
"""The share of a page's height, at either end, where running lines stand."""
_REPEATED = 0.4
_GUTTER = 6.0
_STEP = 2.0
_MOST = 3000
"""A page with more runs is a drawing or made to cost time: it is read from top to bottom."""
_FULL = 0.55
"""Lines of a column fill it to this share; cells of a table do not."""
_PAGE_NUMBER = re.compile(r"(?i)\W*(?:page|seite|p\.)?\W*#(?:\s*(?:of|/|von)\s*#)?\W*")
_NUMBER_AT_END = re.compile(r"(?:(\d{1,4})\s)?.*?(?:(?:^|\s)(\d{1,4}))?$")


class Run(NamedTuple):
    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    size: float
    bold: int
    across: int


class Line(NamedTuple):
    """Runs beside each other. (Tuples, since a book has tens of thousands of them.)"""

    runs: tuple[Run, ...]
    page: int
    part: int
    """Counts the columns and the bands between them, in reading order."""
    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    size: float
    bold: bool


def line_of(runs: Sequence[Run], page: int, part: int) -> Line:
    widest = max(runs, key=lambda run: run.x1 - run.x0)
    return Line(
        tuple(runs),
        page,
        part,
        " ".join(run.text for run in runs),
        runs[0].x0,
        min(run.top for run in runs),
        max(run.x1 for run in runs),
        max(run.bottom for run in runs),
        widest.size,
        all(run.bold for run in runs),
    )


def page_lines(runs: Sequence[Run], page: int) -> list[Line]:
    """The lines of one page; text that stands across comes last."""
    upright = [run for run in runs if not run.across]
    parts = _parts(upright, 0) if upright else []
    lines = [line for number, part in enumerate(parts) for line in _lines(part, page, number)]
    turned = [run for run in runs if run.across]
    return lines + [line_of([run], page, len(parts) + at) for at, run in enumerate(turned)]


def _lines(runs: Sequence[Run], page: int, part: int) -> list[Line]:
    """Runs that overlap by half of their height stand in one line."""
    groups: list[list[Run]] = []
    top = bottom = 0.0
    for run in sorted(runs, key=lambda run: (run.top + run.bottom, run.x0)):
        overlap = min(bottom, run.bottom) - max(top, run.top)
        if groups and overlap * 2 > min(bottom - top, run.bottom - run.top):
            groups[-1].append(run)
        else:
            groups.append([run])
            top, bottom = run.top, run.bottom
    return [line_of(sorted(group, key=lambda run: run.x0), page, part) for group in groups]


def _parts(runs: Sequence[Run], depth: int) -> list[list[Run]]:
    """Runs in parts to be read one after the other."""
    gutter = _gutter(runs) if depth < 2 else None
    if gutter is None:
        return [list(runs)]
    spanning = sorted((r for r in runs if r.x0 < gutter < r.x1), key=lambda run: run.top)
    tops = [run.top for run in spanning]
    sides: dict[tuple[int, bool], list[Run]] = {}
    for run in runs:
        if not run.x0 < gutter < run.x1:
            place = (bisect_right(tops, run.top), run.x1 > gutter)
            sides.setdefault(place, []).append(run)
    parts: list[list[Run]] = []
    for band in range(len(spanning) + 1):
        for is_right in (False, True):
            side = sides.get((band, is_right))
            parts += _parts(side, depth + 1) if side else []
        parts += [spanning[band : band + 1]] if band < len(spanning) else []
    return _joined(parts)


def _joined(parts: list[list[Run]]) -> list[list[Run]]:
    """Lines that span the columns in a row make one part."""
    joined: list[list[Run]] = []
    for part in parts:
        if joined and len(part) == 1 and len(joined[-1]) == 1:
            joined[-1] = joined[-1] + part
        else:
            joined.append(part)
    return joined


def _gutter(runs: Sequence[Run]) -> float | None:
    """The middle of the white stripe between two columns of text, if there is one."""
    if not 12 <= len(runs) <= _MOST:
        return None
    left, right = min(run.x0 for run in runs), max(run.x1 for run in runs)
    steps = min(int((right - left) / _STEP) + 1, 2000)
    crossing = [0] * (steps + 1)
    for run in runs:
        crossing[min(max(int((run.x0 - left) / _STEP), 0), steps)] += 1
        crossing[min(max(int((run.x1 - left) / _STEP) + 1, 0), steps)] -= 1
    covered, stripe, best = 0, 0, (0, 0)
    for step in range(steps):
        covered += crossing[step]
        is_free = covered <= 0.15 * len(runs) and 0.25 < step / steps < 0.75
        stripe = stripe + 1 if is_free else 0
        best = max(best, (stripe, step))
    if best[0] * _STEP < _GUTTER:
        return None
    middle = left + (best[1] - best[0] / 2 + 0.5) * _STEP
    return middle if _are_columns(runs, left, middle, right) else None


def _are_columns(runs: Sequence[Run], left: float, middle: float, right: float) -> bool:
    """Whether both sides hold enough lines side by side, which fill their side as prose does."""
    sides = ([r for r in runs if r.x1 <= middle], [r for r in runs if r.x0 >= middle])
    if min(len(side) for side in sides) < 6:
        return False
    widths = (middle - left, right - middle)
    fills = [median(r.x1 - r.x0 for r in side) / w for side, w in zip(sides, widths, strict=True)]
    tops = [(min(r.top for r in side), max(r.bottom for r in side)) for side in sides]
    shared = min(tops[0][1], tops[1][1]) - max(tops[0][0], tops[1][0])
    return min(fills) >= _FULL and shared > 0.5 * min(t[1] - t[0] for t in tops)


def without_running_lines(
    pages: Sequence[list[Line]], heights: Sequence[float]
) -> list[list[Line]]:
    """The pages without running titles and page numbers."""
    edges = [_edge_lines(lines, height) for lines, height in zip(pages, heights, strict=True)]
    enough = max(3, _REPEATED * sum(bool(lines) for lines in pages))
    words = Counter(key for edge in edges for key in {_pattern(line) for line in edge.values()})
    shifts = Counter(
        shift for edge in edges for shift in {s for e in edge.values() for s in _shifts(e)}
    )
    kept = []
    for lines, edge in zip(pages, edges, strict=True):
        dropped = {
            at
            for at, line in edge.items()
            if words[_pattern(line)] >= enough
            or any(shifts[shift] >= enough for shift in _shifts(line))
            or _is_page_number(line)
        }
        kept.append([line for at, line in enumerate(lines) if at not in dropped])
    return kept


def _edge_lines(lines: Sequence[Line], height: float) -> dict[int, Line]:
    """The lines at the upper and the lower end of a page, by their place in it."""
    order = sorted(range(len(lines)), key=lambda at: lines[at].top)
    upper = [at for at in order[:3] if lines[at].bottom < _EDGE * height]
    lower = [at for at in order[-3:] if lines[at].top > (1 - _EDGE) * height]
    return {at: lines[at] for at in upper + lower}


def _pattern(line: Line) -> tuple[str, int]:
    """What of a running line repeats: its words and its font, not its numbers."""
    return re.sub(r"\d+|\b[ivxl]+\b", "#", line.text.strip().lower()), round(line.size)


def _shifts(line: Line) -> list[tuple[int, int]]:
    """How far a number at either end of a line is from the page's own, and the line's height: a
    chapter's running title has its words on few pages, but its page number on all."""
    found = _NUMBER_AT_END.match(line.text.strip())
    numbers = [number for number in found.groups() if number] if found else []
    return [(int(number) - line.page, round(line.top / 4)) for number in numbers]


def _is_page_number(line: Line) -> bool:
    text = line.text.strip()
    is_number = _PAGE_NUMBER.fullmatch(_pattern(line)[0]) is not None
    is_this = text.strip(" -–—") == str(line.page) or text.strip(" -–—").isalpha()
    return is_number and (len(text) > 4 or is_this)
