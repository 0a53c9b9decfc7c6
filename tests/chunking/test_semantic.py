"""Chunks of small texts, worked out by hand: a token is a word, and vectors are given."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from sourcebook.chunking.semantic import SemanticChunker
from sourcebook.chunking.strategy import Vectors
from sourcebook.errors import InvalidInput
from sourcebook.model import Block, BlockKind, Chunk, ChunkOptions

OPTIONS = ChunkOptions(min_tokens=4, target_tokens=12, max_tokens=20, overlap_tokens=4)


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def topics(texts: Sequence[str]) -> Vectors:
    """A text's direction is its first letter, with a little of its own."""
    vectors = np.zeros((len(texts), 40), dtype=np.float32)
    for row, text in enumerate(texts):
        vectors[row, ord(text[0].lower()) % 26] = 1.0
        vectors[row, 26 + len(text) % 14] = 0.3
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def same(texts: Sequence[str]) -> Vectors:
    return np.ones((len(texts), 4), dtype=np.float32) / 2


def document(*parts: tuple[str, str]) -> tuple[str, list[Block]]:
    """(kind, text) pairs, a blank line between them; `h1` is a heading of level 1."""
    text, blocks = "", []
    for kind, words_ in parts:
        start = len(text)
        text += words_ + "\n\n"
        level = int(kind[1:]) if kind[0] == "h" else 0
        name: BlockKind = "heading" if level else kind  # type: ignore[assignment]
        blocks.append(Block(name, start, start + len(words_), level, words_ if level else ""))
    return text, blocks


def prose(letter: str, count: int, length: int = 4) -> str:
    """Sentences of `length` words that begin with the letter, all different."""
    return " ".join(
        " ".join([f"{letter.upper()}{i}", *[f"{letter}{i}{j}" for j in range(1, length)]]) + "."
        for i in range(count)
    )


def chunks(
    parts: Sequence[tuple[str, str]], options: ChunkOptions = OPTIONS, embed=topics
) -> tuple[str, list[Chunk]]:
    text, blocks = document(*parts)
    return text, SemanticChunker(words, embed).chunk(text, blocks, options)


def shown(text: str, found: list[Chunk]) -> list[tuple[str, str, int]]:
    return [(text[c.start : c.end], c.boundary, c.tokens) for c in found]


def test_a_change_of_topic_ends_a_chunk() -> None:
    first, second = prose("a", 3), prose("b", 3)
    text, found = chunks([("prose", f"{first} {second}")])
    assert shown(text, found) == [(first, "semantic", 12), (second, "structural", 12)]
    assert [chunk.index for chunk in found] == [0, 1]


def test_without_topics_chunks_grow_to_the_target_and_overlap() -> None:
    text, found = chunks([("prose", prose("a", 9))], embed=same)
    sentences = [s + "." for s in prose("a", 9).rstrip(".").split(". ")]
    assert shown(text, found) == [
        (" ".join(sentences[0:3]), "size-limit", 12),
        (" ".join(sentences[2:6]), "size-limit", 16),
        (" ".join(sentences[5:9]), "structural", 16),
    ]


def test_a_sentence_longer_than_the_overlap_gives_its_last_words() -> None:
    text, found = chunks([("prose", prose("a", 4, length=6))], embed=same)
    assert [chunk.boundary for chunk in found] == ["size-limit", "structural"]
    assert text[found[1].start :].startswith("a12 a13 a14 a15. A2 ")


def test_no_overlap_behind_a_topic_or_a_heading() -> None:
    _text, found = chunks(
        [("prose", prose("a", 3) + " " + prose("b", 3)), ("h1", "New"), ("prose", "x y.")]
    )
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    assert len(found) == 3


def test_a_topic_of_less_than_the_minimum_is_joined() -> None:
    options = ChunkOptions(min_tokens=8, target_tokens=12, max_tokens=20, overlap_tokens=0)
    text, found = chunks([("prose", prose("a", 3) + " " + prose("b", 1))], options)
    assert shown(text, found) == [(text.strip(), "structural", 16)]


def test_a_heading_begins_the_chunk_of_its_text() -> None:
    parts = [("prose", prose("a", 2)), ("h1", "Title"), ("prose", prose("b", 2))]
    text, found = chunks(parts)
    assert shown(text, found) == [
        (parts[0][1], "structural", 8),
        ("Title\n\n" + parts[2][1], "structural", 9),
    ]


def test_small_sections_are_not_joined() -> None:
    text, found = chunks([("h1", "A"), ("prose", "one."), ("h1", "B"), ("prose", "two.")])
    assert [entry[0] for entry in shown(text, found)] == ["A\n\none.", "B\n\ntwo."]


def test_a_heading_with_only_sub_headings_makes_no_chunk_and_an_empty_one_does() -> None:
    text, found = chunks([("h1", "Top"), ("h2", "Sub"), ("prose", "one."), ("h2", "Empty")])
    assert [entry[0] for entry in shown(text, found)] == ["Sub\n\none.", "Empty"]
    text, found = chunks([("h2", "Empty"), ("h1", "Next"), ("prose", "one.")])
    assert [entry[0] for entry in shown(text, found)] == ["Empty", "Next\n\none."]


def test_a_heading_is_never_left_behind_at_a_chunks_end() -> None:
    heading, body = " ".join(["Head"] * 6), prose("a", 2, length=10)
    text, found = chunks([("h1", heading), ("prose", body)], embed=same)
    first = text[found[0].start : found[0].end]
    assert first.startswith(heading)
    assert len(first.split()) == 16


def test_a_heading_stays_with_its_text_even_if_the_topic_seems_to_change() -> None:
    text, found = chunks([("h1", " ".join(["Head"] * 6)), ("prose", prose("a", 3))])
    assert shown(text, found) == [(text.strip(), "structural", 18)]


@pytest.mark.parametrize("kind", ["code", "table", "list_item", "turn"])
def test_what_fits_is_kept_whole(kind: str) -> None:
    block = "\n".join(f"row {i} x y z." for i in range(3))
    text, found = chunks([("prose", prose("a", 4)), (kind, block), ("prose", prose("b", 4))])
    holding = [c for c in found if text.index(block) < c.end and c.start < text.index(block) + 17]
    assert any(block in text[c.start : c.end] for c in holding)
    for chunk in found:
        cut = text[chunk.start : chunk.end]
        assert block in cut or not any(line in cut for line in block.split("\n"))


def test_what_does_not_fit_is_cut_at_line_ends() -> None:
    block = "\n".join(f"row{i} x y z; u v w." for i in range(6))
    options = ChunkOptions(min_tokens=4, target_tokens=14, max_tokens=20, overlap_tokens=0)
    text, found = chunks([("code", block)], options)
    lines = block.split("\n")
    assert [entry[:2] for entry in shown(text, found)] == [
        ("\n".join(lines[0:2]), "size-limit"),
        ("\n".join(lines[2:4]), "size-limit"),
        ("\n".join(lines[4:6]), "structural"),
    ]


def test_turns_are_not_split_unless_one_alone_is_too_long() -> None:
    turns = [prose("a", 3), prose("a", 2), prose("a", 9), prose("a", 1)]
    text, found = chunks([("turn", turn) for turn in turns])
    assert all(chunk.tokens <= 20 for chunk in found)
    edges = [c.start for c in found] + [c.end for c in found]
    for turn in (turns[0], turns[1], turns[3]):
        start = text.index(turn)
        assert not any(start < edge < start + len(turn) for edge in edges)


def test_a_sentence_above_the_maximum_is_cut_at_a_clause() -> None:
    sentence = " ".join(["a"] * 12) + ", " + " ".join(["b"] * 12) + "."
    text, found = chunks([("prose", sentence)], embed=same)
    assert text[found[0].start : found[0].end] == " ".join(["a"] * 12) + ","
    assert found[0].boundary == "size-limit"


def test_markup_between_blocks_counts() -> None:
    text = "one two three four <x> <y> <z> five six seven eight"
    blocks = [Block("prose", 0, 18), Block("prose", 31, 51)]
    options = ChunkOptions(min_tokens=1, target_tokens=8, max_tokens=10, overlap_tokens=0)
    found = SemanticChunker(words, same).chunk(text, blocks, options)
    assert [text[c.start : c.end] for c in found] == ["one two three four", "five six seven eight"]


def test_a_tokenizer_that_sees_more_in_the_whole_is_obeyed() -> None:
    def jealous(texts: Sequence[str]) -> list[int]:
        return [len(text.split()) + 5 * text.count(". ") for text in texts]

    text, blocks = document(("prose", prose("a", 12)))
    found = SemanticChunker(jealous, same).chunk(text, blocks, OPTIONS)
    assert max(jealous([text[c.start : c.end] for c in found])) <= 20
    assert [c.tokens for c in found] == jealous([text[c.start : c.end] for c in found])


def test_a_tokenizer_that_sees_less_in_the_whole_is_obeyed() -> None:
    def generous(texts: Sequence[str]) -> list[int]:
        return [len(text.split()) - 3 * text.count(". ") for text in texts]

    options = ChunkOptions(min_tokens=8, target_tokens=12, max_tokens=20, overlap_tokens=0)
    text, blocks = document(("prose", prose("a", 9)))
    found = SemanticChunker(generous, same).chunk(text, blocks, options)
    assert min(generous([text[c.start : c.end] for c in found])) >= 8


def test_an_edit_in_one_section_leaves_the_others() -> None:
    sections = [("h1", f"S{i}") for i in range(3)]
    bodies = [("prose", prose("a", 6) + " " + prose("b", 6)) for _ in range(3)]
    parts = [part for pair in zip(sections, bodies, strict=True) for part in pair]
    before, old = chunks(parts)
    parts[3] = ("prose", prose("c", 11))
    after, new = chunks(parts)

    def outside(text: str, found: list[Chunk]) -> list[tuple[str, str, int]]:
        low, high = text.index("S1"), text.index("S2")
        return shown(text, [c for c in found if c.end <= low or c.start >= high])

    assert outside(before, old) == outside(after, new)
    assert len(outside(before, old)) >= 4


def test_an_edit_far_away_in_the_same_section_changes_little() -> None:
    topics_ = [prose(f"{'abcdefgh'[i % 8]}{i}x", 3 + i % 4) for i in range(120)]
    before, old = chunks([("prose", " ".join(topics_))])
    after, new = chunks([("prose", "Aword here now. " + " ".join(topics_))])
    kept = {entry[0] for entry in shown(before, old)} & {entry[0] for entry in shown(after, new)}
    assert len(kept) >= 0.9 * len(old)


def test_a_long_stretch_is_measured_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [("prose", " ".join(prose("abc"[i % 3], 5) for i in range(40)))]
    whole = shown(*chunks(parts))
    sizes: list[int] = []

    def spy(texts: Sequence[str]) -> Vectors:
        sizes.append(len(texts))
        return topics(texts)

    monkeypatch.setattr("sourcebook.chunking.semantic.WINDOW", 80)
    assert shown(*chunks(parts, embed=spy)) == whole
    assert len(sizes) == 3
    assert max(sizes) <= 80 + 2 * 64


def test_nothing_gives_nothing() -> None:
    chunker = SemanticChunker(words, topics)
    assert chunker.chunk("", [], OPTIONS) == []
    assert chunker.chunk("  \n ", [Block("prose", 0, 4)], OPTIONS) == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"min_tokens": 0}, "min_tokens"),
        ({"min_tokens": 600}, "target_tokens"),
        ({"max_tokens": 500}, "max_tokens"),
        ({"overlap_tokens": -1}, "overlap_tokens"),
        ({"overlap_tokens": 512}, "overlap_tokens"),
        ({"threshold": 2.5}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
    ],
)
def test_wrong_options_are_refused(given: dict[str, float], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        SemanticChunker(words, topics).chunk("x", [], ChunkOptions(**given))  # type: ignore[arg-type]
    assert caught.value.field == field
    assert field in str(caught.value)
