"""Text and blocks in, the smallest pieces that a chunk is made of out.

Sentences of prose, and whole list items, tables, code blocks, turns and headings are units. They
stand in *stretches*: a heading with the text under it up to the next heading of any level. A chunk
never leaves its stretch, so it always has one section.

A heading that has nothing of its own but sub-headings makes no stretch: its words are in the path
of every section below it and in its own section's span. A heading with nothing at all below it is
a stretch by itself, so that no section is without a chunk.

Only a unit above the maximum is taken apart: at line ends, then at clause ends, then between
words, and at last between characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from sourcebook.chunking.sentences import Span, sentences, trim, whole
from sourcebook.chunking.strategy import Counter
from sourcebook.model import Block, BlockKind

FRAGMENTS = 4  # words of a too long clause are gathered into pieces of a quarter of the maximum
_CLAUSE = re.compile(r"[,;:)\]—–]+\s+|[、，；：]")
_WORD = re.compile(r"\S+")


class Seam(IntEnum):
    """What lies before a unit, from the best place for a cut to the worst."""

    PARAGRAPH = 0
    SENTENCE = 1
    LINE = 2
    CLAUSE = 3
    WORD = 4
    INSIDE = 5


class Unit(NamedTuple):
    """A trimmed, never empty span of the text. Seams from LINE on are inside a unit that was
    taken apart."""

    start: int
    end: int
    kind: BlockKind
    seam: Seam


def stretches(text: str, blocks: Sequence[Block]) -> Iterator[list[Unit]]:
    """The units of each stretch in order."""
    units: list[Unit] = []
    last: Block | None = None
    for block in blocks:
        if block.kind == "heading":
            bare = last is not None and last.kind == "heading" and last.level < block.level
            if units and not bare:
                yield units
            units = []
        units.extend(_units(text, block))
        last = block
    if units:
        yield units


def _units(text: str, block: Block) -> Iterator[Unit]:
    if block.kind == "prose":
        for start, end, first in sentences(text, block.start, block.end):
            yield Unit(start, end, "prose", Seam.PARAGRAPH if first else Seam.SENTENCE)
    else:
        start, end = trim(text, block.start, block.end)
        if start < end:
            yield Unit(start, end, block.kind, Seam.PARAGRAPH)


# --- units above the maximum ---------------------------------------------------------------------


def fragments(text: str, unit: Unit, most: int, count: Counter) -> list[tuple[Unit, int]]:
    """The unit in pieces of at most `most` tokens, each with its count."""
    pieces = _taken_apart(text, [(unit.start, unit.end, unit.seam)], most, count)
    return [(Unit(start, end, unit.kind, seam), size) for start, end, seam, size in pieces]


Rough = tuple[int, int, Seam]
Piece = tuple[int, int, Seam, int]
Splitter = Callable[[str, int, int], Iterator[Span]]


def _taken_apart(text: str, rough: list[Rough], most: int, count: Counter) -> list[Piece]:
    """Each splitter sees only what is still too long after the one before it."""
    done = _counted(text, rough, count)
    for split, seam in _SPLITTERS:
        pieces: list[Piece] = []
        for start, end, before, size in done:
            if size <= most:
                pieces.append((start, end, before, size))
                continue
            parts = list(split(text, start, end))
            seams = [before] + [seam] * (len(parts) - 1)
            rows = _counted(text, [(*p, s) for p, s in zip(parts, seams, strict=True)], count)
            pieces.extend(_gathered(text, rows, most, count) if seam is Seam.WORD else rows)
        done = pieces
    return _halved(text, done, most, count)


def _counted(text: str, rough: list[Rough], count: Counter) -> list[Piece]:
    sizes = count([text[start:end] for start, end, _ in rough])
    return [(*part, size) for part, size in zip(rough, sizes, strict=True)]


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    at = start
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop + 1
        low, high = trim(text, at, stop)
        if low < high:
            yield low, high
        at = stop


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    for low, high, _ in sentences(text, start, end):
        yield low, high


def _clauses(text: str, start: int, end: int) -> Iterator[Span]:
    at = start
    for mark in _CLAUSE.finditer(text, start, end):
        low, high = trim(text, at, mark.end())
        if low < high:
            yield low, high
        at = mark.end()
    low, high = trim(text, at, end)
    if low < high:
        yield low, high


def _words(text: str, start: int, end: int) -> Iterator[Span]:
    for word in _WORD.finditer(text, start, end):
        yield word.span()


_SPLITTERS: tuple[tuple[Splitter, Seam], ...] = (
    (_lines, Seam.LINE),
    (_sentences, Seam.LINE),
    (_clauses, Seam.CLAUSE),
    (_words, Seam.WORD),
)


def _gathered(text: str, words: list[Piece], most: int, count: Counter) -> list[Piece]:
    """Words put together again, up to a part of the maximum, and counted anew."""
    room = max(1, most // FRAGMENTS)
    runs: list[Piece] = []
    for start, end, seam, size in words:
        if runs and runs[-1][3] + size <= room:
            first = runs[-1]
            runs[-1] = (first[0], end, first[2], first[3] + size)
        else:
            runs.append((start, end, seam, size))
    return _counted(text, [run[:3] for run in runs], count)


def _halved(text: str, pieces: list[Piece], most: int, count: Counter) -> list[Piece]:
    """What is still too long is cut in the middle until it fits; one character is never cut."""
    while any(p[3] > most and p[1] - p[0] > 1 for p in pieces):
        rough: list[Rough] = []
        for start, end, seam, size in pieces:
            rough.append((start, end, seam))
            if size > most and end - start > 1:
                middle = _middle(text, start, end)
                rough[-1:] = [(start, middle, seam), (middle, end, Seam.INSIDE)]
        rough = [(*trim(text, start, end), seam) for start, end, seam in rough]
        pieces = _counted(text, [part for part in rough if part[0] < part[1]], count)
    return pieces


def _middle(text: str, start: int, end: int) -> int:
    middle = (start + end) // 2
    cut = whole(text, middle)
    return cut if start < cut < end else middle
