"""Blocks of Markdown: kinds, and offsets that survive every line ending."""

from __future__ import annotations

import time

import pytest

from sourcebook.model import Document, Skipped
from sourcebook.sources import read_text
from sourcebook.sources.markdown import blocks_of

EXAMPLE = """\
---
title: The barn
---
# Tools *and* `keys`

First paragraph
goes on.

Setext &amp; more
---

- one
  goes on
  - nested

  second paragraph

  ```sh
  run
  ```
1. first

```py
x = 1

y = 2
```

    indented
      code

| a | b |
|---|---|
| 1 | 2 |

> quoted
lazily

<div>
kept
</div>

[ref]: /url "title"

<!-- a comment

over lines -->

***

<script>
dropped()
</script>

1986.

last line"""


def pieces(text: str, start: int = 0) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in blocks_of(text, start)]


def document(text: str) -> Document:
    (found,) = read_text(text, source="notes/barn.md", format="markdown")
    assert isinstance(found, Document)
    return found


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_kinds_and_exact_text(newline: str) -> None:
    text = EXAMPLE.replace("\n", newline)
    found = document(text)
    assert found.text == text
    assert [
        (b.kind, text[b.start : b.end].replace(newline, "\n")) for b in found.blocks
    ] == [
        ("heading", "# Tools *and* `keys`"),
        ("prose", "First paragraph\ngoes on."),
        ("heading", "Setext &amp; more\n---"),
        ("list_item", "- one\n  goes on"),
        ("list_item", "- nested"),
        ("list_item", "second paragraph"),
        ("code", "  ```sh\n  run\n  ```"),
        ("list_item", "1. first"),
        ("code", "```py\nx = 1\n\ny = 2\n```"),
        ("code", "    indented\n      code"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("prose", "> quoted\nlazily"),
        ("prose", "<div>\nkept\n</div>"),
        ("prose", "1986."),
        ("prose", "last line"),
    ]  # fmt: skip


def test_headings_have_a_level_and_words_without_markup() -> None:
    headings = [b for b in document(EXAMPLE).blocks if b.kind == "heading"]
    assert [(b.level, b.title) for b in headings] == [(1, "Tools and keys"), (2, "Setext & more")]


def test_only_the_parsers_own_line_ends_count() -> None:
    text = "a\u2028# no heading\x0c# nor here\x85# nor here\n# Yes\n"
    assert pieces(text) == [
        ("prose", "a\u2028# no heading\x0c# nor here\x85# nor here"),
        ("heading", "# Yes"),
    ]


def test_a_heading_in_a_quote_or_an_item_opens_no_section() -> None:
    assert pieces("> # Quoted\n\n- # Item\n") == [
        ("prose", "> # Quoted"),
        ("list_item", "- # Item"),
    ]


def test_an_unclosed_fence_goes_to_the_end() -> None:
    assert pieces("```\na\n\n# b\n") == [("code", "```\na\n\n# b")]


def test_text_beside_a_comment_is_kept() -> None:
    text = "<!-- a --> words\n\n<!-- never closed\n\nwords\n"
    assert pieces(text) == [
        ("prose", "<!-- a --> words"),
        ("prose", "<!-- never closed\n\nwords"),
    ]


def test_content_below_the_deepest_level_is_kept() -> None:
    deep = ">" * 200 + " deep words"
    assert pieces(deep) == [("prose", deep)]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From the front\n---\n# Heading", "From the front"),
        ("---\ntitle: 2024\n---\nx", "2024"),
        ("---\ntitle:\n---\n# Heading", "Heading"),
        ("## Second\n\n# *First*\n\n# Other", "First"),
        ("## Second only", "barn"),
    ],
)
def test_title(text: str, title: str) -> None:
    assert document(text).title == title


def test_the_callers_metadata_outranks_the_files() -> None:
    text = "---\nkind: a\nowner: Ida\n---\nwords"
    (found,) = read_text(text, source="a.md", format="markdown", metadata={"kind": "b"})
    assert isinstance(found, Document)
    assert found.metadata == {"kind": "b", "owner": "Ida"}


def test_broken_front_matter_is_taken_as_text_and_reported() -> None:
    found, warning = read_text("---\na: b\nc: [\n---\n# H\n", source="a.md", format="markdown")
    assert isinstance(found, Document)
    assert [found.text[b.start : b.end] for b in found.blocks] == ["a: b\nc: [", "# H"]
    assert isinstance(warning, Skipped)
    assert warning.reason.startswith("front matter is not valid YAML (line ")
    assert warning.reason.endswith("; the file was taken in without it")


@pytest.mark.parametrize("text", ["---\na: b\n---\n", "***\n", "<!-- only -->\n", "[a]: /u\n"])
def test_a_file_without_content_is_reported(text: str) -> None:
    assert list(read_text(text, source="a.md", format="markdown")) == [
        Skipped("a.md", "the file holds no text")
    ]


@pytest.mark.parametrize(
    "text",
    ["word " * 30_000, "a line\n\n" * 200_001, "a longer line of words\n\n" * 250_000],
    ids=["long line", "many lines", "large file"],
)
def test_a_huge_file_is_parsed_as_text(text: str) -> None:
    found = document("# Not parsed\n\n" + text)
    assert found.metadata == {"parsed_as": "text"}
    assert found.format == "markdown"
    assert {b.kind for b in found.blocks} == {"prose"}


@pytest.mark.parametrize(
    "text",
    [
        ">" * 90_000,
        "- " * 45_000 + "a",
        "[" * 90_000,
        "[a\n" * 20_000,
        "[a]: <\n" * 20_000,
        "<!--\n" * 20_000,
        "|a" * 500 + "\n" + "|-" * 500 + "\n" + "|x\n" * 20_000,
        "# " + "*a_" * 300 + "\n\n" + "# " + "[" * 90_000,
        "".join(" " * i + "- a\n" for i in range(600)),
        "> " * 49 + "a\n" + "b\n" * 40_000,
        ("# " + "*a_ " * 240 + "\n") * 4_000,
        ("# " + "[" * 290 + "\n") * 10_000,
        ("<!---->" * 14_000 + "\n\n") * 50,
        "a|b\n-|-\n" * 90_000,
    ],
)
def test_hostile_input_does_not_hang(text: str) -> None:
    began = time.process_time()
    list(read_text(text, source="a.md", format="markdown"))
    assert time.process_time() - began < 10


def test_a_comment_beside_words_is_content() -> None:
    (block,) = document("<!-- a --> words\n\n<!-- b --> <!-- c -->\n").blocks
    assert block.kind == "prose"
