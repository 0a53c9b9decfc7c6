"""Plain text in, one prose block a paragraph out, and headings where the text numbers them.

The text is kept as it is; a paragraph ends at a blank line, whichever of the three line endings
the file uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sourcebook.model import Block, BlockKind, Document
from sourcebook.sources.decode import decode
from sourcebook.sources.headings import with_headings
from sourcebook.sources.raw import Raw

# Atomic, so that the two halves of one "\r\n" are never taken for two line ends.
_BLANK_LINES = re.compile(r"(?>\r\n?|\n)[^\S\r\n]*+(?>\r\n?|\n)\s*+")
_TITLE_LENGTH = 80


def read(raw: Raw) -> Iterator[Document]:
    decoded = decode(raw.stream.read())
    blocks = with_headings(decoded.text, paragraphs(decoded.text))
    title = _title(decoded.text, blocks)
    yield raw.document(decoded, format="text", title=title, blocks=blocks, own={})


def paragraphs(text: str, start: int = 0) -> list[Block]:
    """The paragraphs of `text[start:]`, without the white space around them."""
    blocks = []
    for gap in _BLANK_LINES.finditer(text, start):
        blocks.append(trimmed(text, start, gap.start(), "prose"))
        start = gap.end()
    blocks.append(trimmed(text, start, len(text), "prose"))
    return [block for block in blocks if block.end > block.start]


def trimmed(text: str, start: int, end: int, kind: BlockKind) -> Block:
    """The block of `text[start:end]` without the white space at its ends."""
    piece = text[start:end].rstrip()
    return Block(kind, start + len(piece) - len(piece.lstrip()), start + len(piece))


def _title(text: str, blocks: list[Block]) -> str:
    """A short first line that stands alone and is no sentence; otherwise nothing."""
    if len(blocks) < 2 or blocks[0].end - blocks[0].start > _TITLE_LENGTH:
        return ""
    line = text[blocks[0].start : blocks[0].end]
    is_title = line[0].isalnum() and line[-1] not in ".,;:{}" and not re.search(r"[\r\n]", line)
    return line if is_title else ""
