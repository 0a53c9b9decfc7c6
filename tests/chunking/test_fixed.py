"""The plain chunker: sizes and overlap by hand, a token is a word."""

from __future__ import annotations

from collections.abc import Sequence

from sourcebook.chunking.fixed import FixedChunker
from sourcebook.model import Block, ChunkOptions


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def sentence(number: int, length: int) -> str:
    return " ".join([f"Word{number}", *(f"w{number}x{i}" for i in range(1, length))]) + "."


def chunked(text: str, options: ChunkOptions) -> list[str]:
    found = FixedChunker(words).chunk(text, [Block("prose", 0, len(text))], options)
    return [text[chunk.start : chunk.end] for chunk in found]


def test_windows_hold_whole_sentences_and_overlap() -> None:
    all_ = [sentence(i, 5) for i in range(8)]
    found = chunked(" ".join(all_), ChunkOptions(5, 10, 15, 5))
    assert found == [
        " ".join(all_[0:2]),
        " ".join(all_[1:4]),
        " ".join(all_[3:6]),
        " ".join(all_[5:8]),
    ]


def test_overlap_never_exceeds_the_option() -> None:
    all_ = [sentence(i, 5) for i in range(4)]
    text = " ".join(all_)
    assert chunked(text, ChunkOptions(5, 10, 15, 4))[1].startswith("w1x1 w1x2 w1x3 w1x4. Word2")
    assert chunked(text, ChunkOptions(5, 10, 15, 0))[1].startswith("Word2")


def test_overlap_gives_way_to_the_maximum() -> None:
    found = chunked(f"{sentence(0, 9)} {sentence(1, 9)}", ChunkOptions(1, 10, 11, 9))
    assert found == [sentence(0, 9), "w0x7 w0x8. " + sentence(1, 9)]


def test_overlap_never_repeats_the_whole_chunk_before() -> None:
    found = chunked(f"{sentence(0, 8)} {sentence(1, 10)}", ChunkOptions(1, 10, 20, 9))
    assert found == [sentence(0, 8), sentence(0, 8).split(" ", 1)[1] + " " + sentence(1, 10)]


def test_a_text_below_the_target_is_one_chunk() -> None:
    assert chunked("Just this.", ChunkOptions()) == ["Just this."]


def test_it_needs_no_topics_to_respect_sections() -> None:
    text = "One.\nHead\nTwo."
    blocks = [Block("prose", 0, 4), Block("heading", 5, 9, 1, "Head"), Block("prose", 10, 14)]
    found = FixedChunker(words).chunk(text, blocks, ChunkOptions())
    assert [text[c.start : c.end] for c in found] == ["One.", "Head\nTwo."]
    assert {chunk.boundary for chunk in found} == {"structural"}
