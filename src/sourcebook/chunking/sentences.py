"""A span of prose in, the spans of its sentences out, in time linear in its length.

The sentence model reads one paragraph at a time and never more than `LIMIT` characters, because its
rules cost quadratic time on some inputs (a long run of punctuation). A line break inside a
paragraph ends a sentence only if it was made on purpose: in text wrapped at a fixed width, a line
that had room for the next line's first word was ended by its author.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import nupunkt

Span = tuple[int, int]

LIMIT = 4000  # characters: a longer paragraph is read in parts
WRAP = 120  # characters: nobody wraps text wider than this, so wider lines are paragraphs
SLACK = 2  # characters by which a wrapped line may miss its width
_BLANK = re.compile(r"\n[^\S\n]*\n\s*")
_STOP = re.compile(r"""[.!?…。！？؟।]["'”’»)\]]*\s""")
_RUN = re.compile(r"[^\w\s]{64}")
_OTHER_STOPS = re.compile(r"[。！？｡]+[”’」』）)]*|[؟।॥]+(?=\s)")


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Trimmed spans of sentences, in order, each with whether it begins a paragraph."""
    for low, high in _paragraphs(text, start, end):
        first = True
        for part in _parts(text, low, high):
            for span in _split(text, *part):
                yield (*span, first)
                first = False


def trim(text: str, start: int, end: int) -> Span:
    """The span without the white space at its ends; empty if there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    """Spans between blank lines and between line breaks that were made on purpose."""
    low = start
    for gap in _BLANK.finditer(text, start, end):
        yield from _lines(text, low, gap.start())
        low = gap.end()
    yield from _lines(text, low, end)


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    if text.find("\n", start, end) < 0:
        yield start, end
        return
    lines = text[start:end].split("\n")
    width = max(map(len, lines))
    low = at = start
    for line, following in pairwise(lines):
        at += len(line) + 1
        word = len(following.split(None, 1)[0]) if following.strip() else 0
        if width > WRAP or len(line.rstrip()) + 1 + word + SLACK <= width:
            yield low, at
            low = at
    yield low, end


def _parts(text: str, start: int, end: int) -> Iterator[Span]:
    """Pieces of at most LIMIT characters, cut after a full stop, else at white space."""
    while end - start > LIMIT:
        cut = _cut(text, start + LIMIT // 2, start + LIMIT)
        yield start, cut
        start = cut
    yield start, end


def _cut(text: str, low: int, high: int) -> int:
    stops = [found.end() for found in _STOP.finditer(text, low, high)]
    if stops:
        return stops[-1]
    for at in range(high, low, -1):
        if text[at - 1].isspace():
            return at
    return whole(text, high)


def whole(text: str, at: int) -> int:
    """The nearest position at or before `at` that is not inside a grapheme cluster.

    A cheap rule: combining marks, joiners, variation selectors, skin tones and the second half of a
    surrogate pair stay with what stands before them. A cluster of more than 32 is cut.
    """
    for back in range(at, max(0, at - 32), -1):
        if not (_EXTENDS.match(text, back) or (back > 0 and text[back - 1] in _JOINERS)):
            return back
    return at


_JOINERS = "\u200d\r"
_EXTENDS = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\u3099\u309a"
    "\ufe00-\ufe0f\ufe20-\ufe2f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\udc00-\udfff]"
)


def _split(text: str, start: int, end: int) -> Iterator[Span]:
    """Sentences of one bounded piece. A run of punctuation has no sentences: it stays as it is."""
    low, high = trim(text, start, end)
    if low == high:
        return
    piece = text[low:high]
    spans = [(0, len(piece))] if _RUN.search(piece) else nupunkt.sent_spans(piece)
    if _OTHER_STOPS.search(piece):
        spans = [part for span in spans for part in _other_stops(piece, *span)]
    for left, right in spans:
        left, right = trim(piece, left, right)
        if left < right:
            yield low + left, low + right


def _other_stops(piece: str, start: int, end: int) -> Iterator[Span]:
    """The sentence model knows Latin full stops only; these scripts have their own."""
    for stop in _OTHER_STOPS.finditer(piece, start, end):
        yield start, stop.end()
        start = stop.end()
    yield start, end
