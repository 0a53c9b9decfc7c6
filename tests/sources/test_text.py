"""Paragraphs of plain text."""

from __future__ import annotations

import time

from sourcebook.model import Block
from sourcebook.sources import read_text
from sourcebook.sources.text import paragraphs


def pieces(text: str) -> list[str]:
    return [text[block.start : block.end] for block in paragraphs(text)]


def test_blank_lines_part_paragraphs() -> None:
    assert paragraphs("ab\ncd\n\n  ef  \n") == [Block("prose", 0, 5), Block("prose", 9, 11)]


def test_every_line_ending_counts_once() -> None:
    assert pieces("a\r\nb\r\n\r\nc\rd\r\re\n \t\nf\n\u2028\ng\x0ch") == [
        "a\r\nb", "c\rd", "e", "f", "g\x0ch",
    ]  # fmt: skip


def test_a_short_first_line_alone_is_the_title() -> None:
    def title(text: str) -> str:
        (document,) = read_text(text, source="notes/opening hours.txt", format="text")
        return document.title  # type: ignore[union-attr]

    assert title("Opening hours\n\nThe barn is open.") == "Opening hours"
    assert title("The barn is open.\n\nCome in.") == "opening hours"
    assert title("Opening hours\nThe barn is open.") == "opening hours"
    assert title("x" * 81 + "\n\nmore") == "opening hours"


def test_a_very_long_line_is_one_block_at_once() -> None:
    text = "word " * 10_000_000
    began = time.process_time()
    assert len(paragraphs(text)) == 1
    assert time.process_time() - began < 10
