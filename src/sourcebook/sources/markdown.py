"""Markdown in; the text as it is, and its headings, paragraphs, list items, fences and tables out.

Offsets come from the parser's line numbers: a block is always whole lines, so whatever stands in
it is exact, markers included. Inline markup is read for the titles of headings only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sourcebook.model import Block, BlockKind, Document, Skipped
from sourcebook.sources.decode import decode
from sourcebook.sources.frontmatter import FrontMatter, front_matter
from sourcebook.sources.raw import Raw
from sourcebook.sources.text import paragraphs, trimmed

_NEWLINE = re.compile(r"\r\n?|\n")  # the parser's own: no form feed, no U+2028
_MARKUP = re.compile(r"[*_`\[\]<>&~!\\]")
_WORD = re.compile(r"\w")
_COMMENTS = re.compile(r"(?><!--.*?-->\s*+)*+", re.DOTALL)
_SCRIPT = re.compile(r"\s*<(script|style)\b.*</\1\s*>\s*", re.IGNORECASE | re.DOTALL)

# The parser takes about 0.1 ms a line: above these sizes a file is no longer hand-written text.
_MAX_LENGTH = 5_000_000
_MAX_LINES = 50_000
_MAX_LINE = 100_000
_MAX_TITLE = 300
_MAX_TITLES = 100_000
"""Characters of all headings whose markup is read, which can cost more than the square of each."""

_BLOCKS = MarkdownIt("commonmark", {"inline_definitions": True, "maxNesting": 16}).enable("table")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_INLINE = MarkdownIt("commonmark").enable("strikethrough")
_TEXT_LEAVES = ("paragraph_open", "heading_open", "html_block")
_CODE_LEAVES = ("fence", "code_block")
_NO_CONTENT = ("hr", "definition")


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of one leaf, `last` not included; without a kind they are no content."""

    first: int
    last: int
    kind: BlockKind | None
    level: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Table:
    """Where each line of the text starts and, before its line ending, ends."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, text: str, start: int) -> _Table:
        newlines = list(_NEWLINE.finditer(text, start))
        starts = [start, *(newline.end() for newline in newlines)]
        return cls(text, starts, [*(newline.start() for newline in newlines), len(text)])

    def block(self, lines: _Lines) -> Block:
        """Code keeps the indentation of its first line, which is part of it."""
        start, end = self.starts[lines.first], self.ends[lines.last - 1]
        block = trimmed(self.text, start, end, lines.kind or "prose")
        start = start if lines.kind == "code" and block.end > block.start else block.start
        return Block(block.kind, start, block.end, lines.level, lines.title)


def read(raw: Raw) -> Iterator[Document | Skipped]:
    decoded = decode(raw.stream.read())
    text = decoded.text
    front = front_matter(text)
    as_text = _is_too_large(text)
    blocks = _refused_front_matter(text, front)
    blocks += paragraphs(text, front.body) if as_text else blocks_of(text, front.body)
    own = {**front.values, **({"parsed_as": "text"} if as_text else {})}
    title = _title(front, blocks)
    yield raw.document(decoded, format="markdown", title=title, blocks=blocks, own=own)
    if front.problem:
        yield Skipped(raw.source, f"{front.problem}; the file was taken in without it", taken=True)


def blocks_of(text: str, start: int = 0) -> list[Block]:
    """The blocks of `text[start:]`, with offsets into `text`."""
    table = _Table.of(text, start)
    leaves = list(_leaves(_BLOCKS.parse(text[start:])))
    leaves += _left_over(table, leaves)
    leaves.sort(key=lambda lines: lines.first)
    blocks = (table.block(lines) for lines in leaves if lines.kind)
    return [block for block in blocks if block.end > block.start]


def _leaves(tokens: Sequence[Token]) -> Iterator[_Lines]:
    """The leaves of the block tree in order. A line belongs to one leaf at most."""
    items = titles = 0
    for at, token in enumerate(tokens):
        items += (token.type == "list_item_open") - (token.type == "list_item_close")
        if token.map is None:
            continue
        first, last = token.map
        if token.type == "heading_open" and token.level == 0:
            written = tokens[at + 1].content
            titles += len(written) if _MARKUP.search(written) else 0
            title = _plain(written) if titles <= _MAX_TITLES else " ".join(written.split())
            yield _Lines(first, last, "heading", int(token.tag[1]), title)
        elif token.type in _NO_CONTENT or _is_no_content(token):
            yield _Lines(first, last, None)
        elif token.type in _TEXT_LEAVES:
            yield _Lines(first, last, "list_item" if items else "prose")
        elif token.type in _CODE_LEAVES:
            yield _Lines(first, last, "code")
        elif token.type == "table_open":
            yield _Lines(first, last, "table")


def _is_no_content(token: Token) -> bool:
    """Whether a block of HTML is nothing but comments, or a script or a style sheet."""
    if token.type != "html_block":
        return False
    rest = token.content.strip()
    return bool(_SCRIPT.fullmatch(rest) or _COMMENTS.fullmatch(rest))


def _left_over(table: _Table, leaves: Sequence[_Lines]) -> Iterator[_Lines]:
    """Lines with words that no leaf holds: the parser gives up below its deepest level, and takes
    a lone `1986.` for an empty list item. They are content, so they become prose."""
    taken = bytearray(len(table.starts))
    for lines in leaves:
        taken[lines.first : lines.last] = b"\1" * (lines.last - lines.first)
    for line, (start, end) in enumerate(zip(table.starts, table.ends, strict=True)):
        if not taken[line] and _WORD.search(table.text, start, end):
            yield _Lines(line, line + 1, "prose")


def _plain(inline: str) -> str:
    """The words of a heading without its markup."""
    if len(inline) > _MAX_TITLE or not _MARKUP.search(inline):
        return " ".join(inline.split())
    tokens = _INLINE.parseInline(inline)[0].children or []
    instead = {"softbreak": " ", "hardbreak": " ", "html_inline": ""}
    words = (instead.get(token.type, token.content) for token in tokens)
    return " ".join("".join(words).split())


def _title(front: FrontMatter, blocks: Sequence[Block]) -> str:
    stated = front.values.get("title")
    if isinstance(stated, str | int | float) and str(stated).strip():
        return str(stated).strip()
    return next((b.title for b in blocks if b.kind == "heading" and b.level == 1 and b.title), "")


def _refused_front_matter(text: str, front: FrontMatter) -> list[Block]:
    """A front matter that cannot be used is text like any other. It is set apart here, because
    the parser would take its last line and the dashes below it for a heading."""
    if front.problem is None:
        return []
    block = trimmed(text, front.start, front.end, "prose")
    return [block] if block.end > block.start else []


def _is_too_large(text: str) -> bool:
    if len(text) > _MAX_LENGTH or text.count("\n") + text.count("\r") > 2 * _MAX_LINES:
        return True
    lines = _NEWLINE.split(text)
    return len(lines) > _MAX_LINES or max(map(len, lines)) > _MAX_LINE
