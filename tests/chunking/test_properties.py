"""What holds for every text, every structure and both chunkers, counted by the real tokenizer."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from sourcebook.chunking import ChunkingStrategy, FixedChunker, SemanticChunker, outline
from sourcebook.chunking.strategy import Counter, Vectors, bounded
from sourcebook.model import Block, Chunk, ChunkOptions

KINDS = ("heading", "prose", "prose", "prose", "code", "table", "list_item", "turn")
WORDS = (
    *("the", "board", "decides", "antidisestablishmentarianism", "v2.1", "e.g.", "Dr.", "naïve"),
    *("你好。", "再见", "e\u0301te\u0301", "👩\u200d🔬", "مرحبا؟", "x" * 150, "$1,234", "a-b;"),
    *("Ok,", "end.", "stop!", "why?", '"so."', "\n", "|", "\u00a0"),
)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=90).map(" ".join)
contents = st.one_of(words, words, st.text(st.characters(codec="utf-8"), min_size=1, max_size=200))
gaps = st.sampled_from(["\n\n", "\n", " ", "", "\n\n<hr>\n\n"])
parts = st.lists(st.tuples(st.sampled_from(KINDS), contents, gaps, st.integers(1, 4)), max_size=14)


@st.composite
def sizes(draw: st.DrawFn) -> ChunkOptions:
    least = draw(st.integers(1, 30))
    target = draw(st.integers(least, 60))
    most = draw(st.integers(max(target, 8), 90))
    return ChunkOptions(
        least, target, most, draw(st.integers(0, target - 1)), draw(st.floats(0, 1))
    )


def document(pieces: Sequence[tuple[str, str, str, int]]) -> tuple[str, list[Block]]:
    text, blocks = "", []
    for kind, content, gap, level in pieces:
        level = level if kind == "heading" else 0
        blocks.append(Block(kind, len(text), len(text) + len(content), level))  # type: ignore[arg-type]
        text += content + gap
    return text, blocks


def scattered(texts: Sequence[str]) -> Vectors:
    """A fixed, arbitrary direction for every text: topics change everywhere."""
    seeds = [zlib.crc32(text.encode()) for text in texts]
    rows = [np.random.default_rng(seed).standard_normal(8) for seed in seeds]
    vectors = np.asarray(rows, dtype=np.float32).reshape(len(texts), 8)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def count(model_dir: Path) -> Counter:
    tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def counted(texts: Sequence[str]) -> list[int]:
        return [len(e) for e in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    return counted


@pytest.fixture(scope="module", params=["semantic", "measured", "fixed"])
def chunker(request: pytest.FixtureRequest, count: Counter) -> ChunkingStrategy:
    def measure(texts: Sequence[str]) -> tuple[Vectors, npt.NDArray[np.int64]]:
        return scattered(texts), np.asarray(count(texts), dtype=np.int64)

    made: dict[str, ChunkingStrategy] = {
        "semantic": SemanticChunker(count, scattered),
        "measured": SemanticChunker(count, scattered, measure),
        "fixed": FixedChunker(count),
    }
    return made[request.param]


def home(blocks: Sequence[Block], chunk: Chunk) -> int:
    """The heading block that a chunk stands under, or -1."""
    before = [i for i, b in enumerate(blocks) if b.kind == "heading" and b.start <= chunk.start]
    return before[-1] if before else -1


def bare(blocks: Sequence[Block], index: int) -> bool:
    """Whether a heading has nothing of its own but a deeper heading."""
    if blocks[index].kind != "heading" or index + 1 == len(blocks):
        return False
    following = blocks[index + 1]
    return following.kind == "heading" and following.level > blocks[index].level


def check_spans(text: str, blocks: Sequence[Block], found: Sequence[Chunk]) -> None:
    assert [chunk.index for chunk in found] == list(range(len(found)))
    for chunk in found:
        piece = text[chunk.start : chunk.end]
        assert piece
        assert piece == piece.strip()
    for left, right in pairwise(found):
        assert left.start < right.start
        assert left.end < right.end
    covered = {at for chunk in found for at in range(chunk.start, chunk.end)}
    for index, block in enumerate(blocks):
        solid = {at for at in range(block.start, block.end) if not text[at].isspace()}
        if bare(blocks, index):
            assert not solid & covered
        else:
            assert solid <= covered


def check_sizes(
    text: str,
    blocks: Sequence[Block],
    found: Sequence[Chunk],
    options: ChunkOptions,
    count: Counter,
) -> None:
    assert [chunk.tokens for chunk in found] == count([text[c.start : c.end] for c in found])
    size = bounded(count)
    for chunk in found:
        assert chunk.tokens <= options.max_tokens
    for left, right in pairwise(found):
        same = home(blocks, left) == home(blocks, right)
        assert (left.boundary == "structural") == (not same)
        if same and min(size([text[c.start : c.end] for c in (left, right)])) < options.min_tokens:
            assert size([text[left.start : right.end]])[0] > options.max_tokens
        if right.start < left.end:
            assert left.boundary == "size-limit"
            assert count([text[right.start : left.end]])[0] <= options.overlap_tokens
    if found:
        assert found[-1].boundary == "structural"


def check_structure(
    text: str,
    blocks: Sequence[Block],
    found: Sequence[Chunk],
    options: ChunkOptions,
    count: Counter,
) -> None:
    heads = [block for block in blocks if block.kind == "heading"]
    for chunk in found:
        assert not any(chunk.start < head.start < chunk.end for head in heads)
    for block in blocks:
        piece = text[block.start : block.end].strip()
        if block.kind in ("prose", "heading") or not piece:
            continue
        if bounded(count)([piece])[0] > options.max_tokens:
            continue
        start = (
            block.start
            + len(text[block.start : block.end])
            - len(text[block.start : block.end].lstrip())
        )
        for chunk in found:
            for edge in (chunk.start, chunk.end):
                assert not start < edge < start + len(piece)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(pieces=parts, options=sizes())
def test_every_chunk_keeps_every_promise(
    chunker: ChunkingStrategy,
    count: Counter,
    pieces: list[tuple[str, str, str, int]],
    options: ChunkOptions,
) -> None:
    text, blocks = document(pieces)
    found = chunker.chunk(text, blocks, options)
    check_spans(text, blocks, found)
    check_sizes(text, blocks, found, options, count)
    check_structure(text, blocks, found, options, count)
    assert chunker.chunk(text, blocks, options) == found


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(pieces=parts, options=sizes())
def test_a_chunk_lies_in_the_section_that_holds_its_start(
    chunker: ChunkingStrategy, pieces: list[tuple[str, str, str, int]], options: ChunkOptions
) -> None:
    text, blocks = document(pieces)
    sections = outline(text, blocks)
    for chunk in chunker.chunk(text, blocks, options):
        around = [s for s in sections if s.start <= chunk.start < s.end]
        if around:
            assert chunk.end <= around[-1].end


def test_a_long_word_is_cut(count: Counter) -> None:
    text = "x" * 100_000
    options = ChunkOptions(10, 50, 60, 5)
    found = FixedChunker(count).chunk(text, [Block("prose", 0, len(text))], options)
    assert max(chunk.end - chunk.start for chunk in found) < 32 * 61
    assert found[-1].end == len(text)
    assert [chunk.tokens for chunk in found] == count([text[c.start : c.end] for c in found])
