"""A PDF's text, its pieces with their fonts and its bookmarks in; its blocks with headings out.

Bookmarks decide where they match the text; else the numbers of headings; what stands in the font of
a heading is one too. Without either, larger and bold lines are headings.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sourcebook.model import Block
from sourcebook.sources.contents import title_key
from sourcebook.sources.headings import Heading, cut_out, find_headings
from sourcebook.sources.pdf_paragraphs import Piece

_LONGEST = 150
_MATCHED = 0.5
_LARGER = 1.08
_LEVELS = 6
_MARKED = 0.3
"""The most of a text that headings make up: more is a poster or a form."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One bookmark; its page counts from 1, 0 is unknown."""

    level: int
    title: str
    page: int


def with_pdf_headings(
    text: str, blocks: Sequence[Block], made: Sequence[Piece], outline: Sequence[Mark]
) -> list[Block]:
    """`made` are the pieces of `blocks`, one each."""
    marked = _bookmarked(blocks, made, outline)
    if marked:
        return cut_out(text, blocks, marked)
    numbered, cuts = find_headings(text, blocks)
    fonts = _by_font(blocks, made, numbered, cuts)
    return cut_out(text, blocks, [*numbered, *fonts], cuts)


def _bookmarked(
    blocks: Sequence[Block], made: Sequence[Piece], outline: Sequence[Mark]
) -> list[Heading]:
    """The headings that bookmarks name, if most of them are found."""
    places: dict[tuple[str, int], list[int]] = {}
    for at, piece in enumerate(made):
        if len(piece.text) <= _LONGEST * 2 and piece.kind == "prose":
            places.setdefault((title_key(piece.text), piece.page), []).append(at)
    found: dict[int, Heading] = {}
    named = [mark for mark in outline if title_key(mark.title)]
    for mark in named:
        options = places.get((title_key(mark.title), mark.page), [])
        if options:
            at = options.pop(0)
            title = " ".join(made[at].text.split())
            found[at] = Heading(blocks[at].start, blocks[at].end, min(mark.level, _LEVELS), title)
    is_enough = len(found) >= 2 and len(found) >= _MATCHED * len(named)
    return [found[at] for at in sorted(found)] if is_enough else []


def _by_font(
    blocks: Sequence[Block], made: Sequence[Piece], numbered: Sequence[Heading], cuts: Sequence[int]
) -> list[Heading]:
    """Lines in a heading's font, beside the numbered ones."""
    body = body_size(made)
    starts = [heading.start for heading in numbered]
    fonts: dict[tuple[float, bool], int] = {}
    candidates = []
    for block, piece in zip(blocks, made, strict=True):
        at = bisect_right(starts, block.end - 1) - 1
        if at >= 0 and numbered[at].end > block.start:
            if numbered[at].start == block.start and _stands_out(piece, body):
                fonts.setdefault((piece.size, piece.bold), numbered[at].level)
        elif _stands_out(piece, body) and not _is_within(block.start, cuts):
            candidates.append((block, piece))
    if not numbered:
        kinds = {(piece.size, piece.bold) for _, piece in candidates}
        ordered = sorted(kinds, reverse=True)
        fonts = {font: min(level, _LEVELS) for level, font in enumerate(ordered, start=1)}
        marked = sum(len(piece.text) for _, piece in candidates)
        if marked > _MARKED * sum(len(piece.text) for piece in made):
            return []
    largest = max((size for size, _ in fonts), default=0.0)
    return [
        Heading(block.start, block.end, fonts.get((piece.size, piece.bold), 1), piece.text)
        for block, piece in candidates
        if (piece.size, piece.bold) in fonts or piece.size > largest > 0
    ]


def body_size(made: Sequence[Piece]) -> float:
    sizes: Counter[float] = Counter()
    for piece in made:
        if piece.kind != "table":
            sizes[piece.size] += len(piece.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _stands_out(piece: Piece, body: float) -> bool:
    """A short piece in larger or bold type that is no sentence."""
    if piece.kind != "prose" or piece.lines > 3 or len(piece.text) > _LONGEST:
        return False
    if piece.text[-1] in ",;" or not any(letter.isalpha() for letter in piece.text):
        return False
    if piece.size > _LARGER * body:
        return True
    return piece.bold and piece.size >= 0.95 * body and piece.text[-1] not in ".:"


def _is_within(start: int, cuts: Sequence[int]) -> bool:
    """Whether an offset lies in a table of contents: between a beginning and its end."""
    return bisect_right(cuts, start) % 2 == 1
