"""A conversation's messages in, the episodes that they make out: runs of turns on one topic.

An episode ends where the topic changes, found over whole turns. A message too long for one passage
stands alone, and so does each branch that was left aside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from sourcebook.context.fit import Count
from sourcebook.model import Block, Chunk, Document, Section

Cut = Callable[[Sequence[Block]], Sequence[Chunk]]
"""Blocks in, chunks that end where the topic changes out."""
_TITLE = 80


def long_messages(document: Document, count: Count, limit: int) -> dict[int, Block]:
    """The messages of more tokens than that, by their start."""
    turns = [block for block in document.blocks if block.turn]
    sizes = count([document.text[block.start : block.end] for block in turns])
    return {b.start: b for b, size in zip(turns, sizes, strict=True) if size > limit}


def episodes(document: Document, long: Mapping[int, Block], cut: Cut) -> list[Section]:
    """One section an episode, in order; none where all of it is one episode."""
    found: list[Section] = []
    for run, blocks in groupby((b for b in document.blocks if b.turn), _runs(long)):
        turns = list(blocks)
        if run[0] is not None:
            continue
        for chunk in cut(turns):
            first = next(b for b in turns if b.start >= chunk.start)
            title = _title(document.text[first.start : first.end])
            found.append(Section(title, 1, chunk.start, chunk.end, None, (title,), chunk.start))
    return found if len(found) > 1 or long else []


def _runs(long: Mapping[int, Block]) -> Callable[[Block], tuple[int | None, bool]]:
    """Turns that stand together have the same key."""

    def key(block: Block) -> tuple[int | None, bool]:
        aside = block.turn is not None and "branch" in block.turn.metadata
        return (block.start if block.start in long else None), aside

    return key


def _title(text: str) -> str:
    """The first words of the message that an episode begins with."""
    line = " ".join(text.split())
    if len(line) <= _TITLE:
        return line
    return (line[:_TITLE].rpartition(" ")[0] or line[:_TITLE]) + " …"
