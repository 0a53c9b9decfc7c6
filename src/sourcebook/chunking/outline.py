"""Blocks in, the tree of sections out: what a chunk's heading path is made from.

A section begins with its heading and ends with the last block before the next heading of the same
or a higher level. Text before the first heading belongs to the document itself. A skipped level
(a third-level heading right under a first-level one) is no error: the parent is the nearest
heading above that has a smaller level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sourcebook.model import Block, Section

__all__ = ["Section", "outline"]


def outline(text: str, blocks: Sequence[Block]) -> list[Section]:
    """The sections of a document in order; a parent always comes before its children."""
    sections: list[Section] = []
    open_: list[int] = []
    end = 0
    for block in blocks:
        if block.kind == "heading":
            while open_ and sections[open_[-1]].level >= block.level:
                _close(sections, open_.pop(), end)
            parent = open_[-1] if open_ else None
            open_.append(len(sections))
            sections.append(_opened(text, block, parent, sections))
        end = block.end
    for index in open_:
        _close(sections, index, end)
    return sections


def _opened(text: str, heading: Block, parent: int | None, before: list[Section]) -> Section:
    title = heading.title or " ".join(text[heading.start : heading.end].split())
    path = (*(before[parent].path if parent is not None else ()), title)
    return Section(title, heading.level, heading.start, heading.end, parent, path, heading.end)


def _close(sections: list[Section], index: int, end: int) -> None:
    sections[index] = replace(sections[index], end=end)
