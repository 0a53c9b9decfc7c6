"""Text and blocks in, chunks that end where the topic changes out.

Topics are found stretch by stretch, not over the whole document, so that an edit in one section
leaves the chunks of all others as they were; a stretch too short for statistics of its own mostly
fits into one chunk anyway. A stretch of more than `WINDOW` units is looked at in windows, which
bounds the memory and keeps an edit from reaching further than its surroundings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sourcebook.chunking.assemble import assemble
from sourcebook.chunking.boundaries import detect
from sourcebook.chunking.runs import Stretch, taken
from sourcebook.chunking.strategy import (
    CHARACTERS,
    FORMATS,
    Counter,
    Embed,
    Measure,
    Vectors,
    bounded,
    validated,
)
from sourcebook.chunking.units import Unit, stretches
from sourcebook.model import Block, Chunk, ChunkOptions

Counts = npt.NDArray[np.int64]

WINDOW = 4096  # units measured at a time
MARGIN = 64  # units that a window of a long stretch sees beyond its own
TINY = 1e-6  # a topic boundary has some distance, or it would look like none


class SemanticChunker:
    """Cuts at topic boundaries between the minimum and the maximum, near the target without."""

    name = "semantic"
    version = "1"
    formats = FORMATS

    def __init__(self, count: Counter, embed: Embed, measure: Measure | None = None) -> None:
        """`measure` gives vectors and counts in one pass where both models share a WordPiece
        tokenizer: its counts must be those of `count`, and add up over white space."""
        self._count = count
        self._additive = measure is not None
        self._size = bounded(count)
        self._measure = _sized(measure) if measure else _both(self._size, embed)

    def chunk(self, text: str, blocks: Sequence[Block], options: ChunkOptions) -> list[Chunk]:
        """See ChunkingStrategy.chunk."""
        options = validated(options)
        parts: list[Stretch] = []
        for group in _groups(stretches(text, blocks)):
            parts += self._measured(text, group, options)
        return assemble(text, parts, options, self._count, additive=self._additive)

    def _measured(
        self, text: str, group: list[list[Unit]], options: ChunkOptions
    ) -> Iterator[Stretch]:
        """The stretches of a group with their counts and topics."""
        if len(group) == 1 and len(group[0]) > WINDOW:
            tokens, topics = self._windowed(text, group[0], options)
            yield taken(text, group[0], tokens, topics, options, self._size)
            return
        vectors, counts = self._measure([text[u.start : u.end] for part in group for u in part])
        at = 0
        for part in group:
            own = slice(at, at + len(part))
            topics = _topics(vectors[own], counts[own], part, options.threshold)
            yield taken(text, part, counts[own].tolist(), topics, options, self._size)
            at += len(part)

    def _windowed(
        self, text: str, units: list[Unit], options: ChunkOptions
    ) -> tuple[list[int], list[float]]:
        """Counts and topics of a long stretch. Windows see a margin on both sides, so that a seam
        at a window's edge is judged by what stands around it."""
        tokens: list[int] = []
        topics: list[float] = []
        for at in range(0, len(units), WINDOW):
            low = max(0, at - MARGIN)
            wide = units[low : at + WINDOW + MARGIN]
            vectors, counts = self._measure([text[u.start : u.end] for u in wide])
            own = slice(at - low, min(len(wide), at - low + WINDOW))
            tokens += counts[own].tolist()
            topics += _topics(vectors, counts, wide, options.threshold)[own]
        return tokens, topics


def _both(count: Counter, embed: Embed) -> Measure:
    def measure(texts: Sequence[str]) -> tuple[Vectors, Counts]:
        return embed(texts), np.asarray(count(texts), dtype=np.int64)

    return measure


def _sized(measure: Measure) -> Measure:
    """Counts bounded in the same way as those of `bounded`."""

    def sized(texts: Sequence[str]) -> tuple[Vectors, Counts]:
        vectors, tokens = measure(texts)
        return vectors, np.maximum(tokens, [len(text) // CHARACTERS for text in texts])

    return sized


def _groups(parts: Iterable[list[Unit]]) -> Iterator[list[list[Unit]]]:
    """Stretches put together up to WINDOW units: many short sections cost one call of the model."""
    group: list[list[Unit]] = []
    size = 0
    for part in parts:
        if group and size + len(part) > WINDOW:
            yield group
            group, size = [], 0
        group.append(part)
        size += len(part)
    if group:
        yield group


def _topics(
    vectors: Vectors, counts: Counts, units: Sequence[Unit], threshold: float
) -> list[float]:
    """For the seam before each unit: its distance if the topic changes there, else 0."""
    topics = [0.0] * len(units)
    turns = 2 * sum(unit.kind == "turn" for unit in units) > len(units)
    for found in detect(vectors, threshold=threshold, lengths=counts, turns=turns):
        if found.significant:
            topics[found.index + 1] = max(found.distance, TINY)
    return topics
