"""What holds for every source, whatever its bytes: no exception, exact and ordered offsets, and no
content outside the blocks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sourcebook.model import Document, Skipped
from sourcebook.sources import FORMATS, read, read_text
from sourcebook.sources.markdown import blocks_of

LINE_ENDS = ["\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\u2028", "\x0c", "\x85"]
MARKDOWN_PIECES = [
    *("# ", "## ", "> ", "- ", "* ", "1. ", "10) ", "    ", "\t", "  "),
    *("```", "~~~py", "| a | b |", "|---|---|", "---", "===", "***", "___"),
    *("<!-- ", " -->", "<div>", "</div>", "<script>", "</script>", "<pre>", "[a]: /u", "[a]: "),
    *("'t", "\\", "*b*", "`c`", "[l](u)", "&amp;", "1986.", "title: x", "\ufeff", "\u00a0"),
]
HTML_PIECES = [
    *("<p>", "</p>", "<h1>", "</h1>", "<h3>", "<div>", "</div>", "<ul>", "<li>", "</ul>", "<ol>"),
    *(
        "<pre>",
        "</pre>",
        "<table>",
        "<tr>",
        "<td>",
        "<th>",
        "<caption>",
        "</table>",
        "<br>",
        "<hr>",
    ),
    *("<script>", "</script>", "<!--", "-->", "<b>", "</b>", "<a href='x>y'>", "</a>", "<nav>"),
    *(
        "</nav>",
        "<title>",
        "</title>",
        "&amp;",
        "&#0;",
        "&#xd800;",
        "&nbsp",
        "<",
        ">",
        "</",
        "<svg>",
    ),
    *("<template>", "<select>", "<option>", "<blockquote>", "<dl>", "<dt>", "<dd>", "<form>"),
]
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def mixture(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces + LINE_ENDS) | words, max_size=40).map("".join)


def check(document: Document) -> None:
    """Blocks are in order, apart from each other, and none is empty."""
    end = 0
    assert document.blocks
    for block in document.blocks:
        assert end <= block.start < block.end <= len(document.text)
        assert document.text[block.start : block.end].strip()
        end = block.end
    json.dumps(document.metadata, allow_nan=False)
    document.text.encode("utf-8")
    assert document.title == document.title.strip()


def outside(text: str, document: Document) -> str:
    edges = [0, *(edge for b in document.blocks for edge in (b.start, b.end)), len(text)]
    return "".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.jsonl", "a", "a.bin"])
@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.binary(max_size=300))
def test_no_bytes_make_read_raise(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    found = list(read(tmp_path / name, source=name))
    assert found
    for item in found:
        if isinstance(item, Document):
            check(item)
        else:
            assert item.path == name
            assert item.reason


@settings(deadline=None)
@given(text=mixture([]))
def test_text_is_kept_and_covered(text: str) -> None:
    for item in read_text(text, source="a.txt", format="text"):
        if isinstance(item, Document):
            check(item)
            assert item.text == text.removeprefix("\ufeff")
            assert not outside(item.text, item).strip()
            for block in item.blocks:
                piece = item.text[block.start : block.end]
                assert not re.search(r"(\r\n|\r(?!\n)|\n)[^\S\r\n]*(\r|\n)", piece)


@settings(deadline=None, max_examples=500)
@given(text=mixture(MARKDOWN_PIECES))
def test_markdown_is_kept_and_covered(text: str) -> None:
    for item in read_text(text, source="a.md", format="markdown"):
        if isinstance(item, Document):
            check(item)
            assert item.text == text.removeprefix("\ufeff")


@settings(deadline=None, max_examples=500)
@given(text=mixture([p for p in MARKDOWN_PIECES if p[:2] not in ("[a", "<!", "<s")]))
def test_outside_of_markdown_blocks_is_no_word(text: str) -> None:
    """Without definitions, comments and scripts only white space, breaks and markers are left."""
    blocks = blocks_of(text)
    document = Document("a", "a", text, "a", "markdown", tuple(blocks))
    breaks = re.compile(r"(?m)(?:^|(?<=\r))[\s>]*(?:(?:[-*+]|\d+[.)])\s+)*([-*_])(?:\s*\1)+\s*$")
    left = breaks.sub("", outside(text, document))
    assert not re.search(r"\w", left.replace("_", ""))


@settings(deadline=None, max_examples=300)
@given(text=mixture(HTML_PIECES))
def test_html_is_its_blocks_a_blank_line_apart(text: str) -> None:
    for item in read_text(text, source="a.html", format="html"):
        if isinstance(item, Document):
            check(item)
            pieces = [item.text[block.start : block.end] for block in item.blocks]
            assert item.text == "\n\n".join(pieces)


rows = st.fixed_dictionaries(
    {},
    optional={
        "_id": st.text(max_size=3) | st.integers() | st.booleans() | st.none(),
        "title": st.text(max_size=9) | st.none(),
        "text": st.text(st.characters(), max_size=30) | st.none() | st.integers(),
        "metadata": st.dictionaries(st.text(max_size=3), st.floats() | st.text(st.characters())),
    },
)


@settings(deadline=None)
@given(lines=st.lists(rows.map(json.dumps) | st.text(max_size=20), max_size=6))
def test_jsonl_gives_a_document_or_a_reason_for_each_row(lines: list[str]) -> None:
    lines = [re.sub(r"[\r\n\0]", "", line) for line in lines]
    found = list(read_text("\n".join(lines), source="a.jsonl", format="jsonl"))
    if not any(isinstance(item, Skipped) and "line" not in item.reason for item in found):
        assert len(found) == sum(bool(line.encode(errors="replace").strip()) for line in lines)
    ids = [item.element_id for item in found if isinstance(item, Document)]
    assert len(ids) == len(set(ids))
    for item in found:
        if isinstance(item, Document):
            check(item)


def test_every_format_reports_an_empty_source() -> None:
    for name in FORMATS:
        for nothing in (b"", b" \n\t\r\n ", b"\xef\xbb\xbf", b"\xff\xfe"):
            assert list(read_text(nothing, source="a", format=name)) == [
                Skipped("a", "the file is empty")
            ]
