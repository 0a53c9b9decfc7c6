"""Text and blocks in, chunks of about the target size out, without looking at what they say.

The plain strategy to compare with, and one that needs no model: the same units, sections, overlap
and limits as the semantic one, but no topic boundaries.
"""

from __future__ import annotations

from collections.abc import Sequence

from sourcebook.chunking.assemble import assemble
from sourcebook.chunking.runs import taken
from sourcebook.chunking.strategy import FORMATS, Counter, bounded, validated
from sourcebook.chunking.units import stretches
from sourcebook.model import Block, Chunk, ChunkOptions


class FixedChunker:
    """Windows of whole sentences near the target size, each beginning with the end of the last."""

    name = "fixed"
    version = "1"
    formats = FORMATS

    def __init__(self, count: Counter) -> None:
        self._count = count

    def chunk(self, text: str, blocks: Sequence[Block], options: ChunkOptions) -> list[Chunk]:
        """See ChunkingStrategy.chunk."""
        options = validated(options)
        size = bounded(self._count)
        parts = []
        for units in stretches(text, blocks):
            tokens = size([text[unit.start : unit.end] for unit in units])
            topics = [0.0] * len(units)
            parts.append(taken(text, units, tokens, topics, options, size))
        return assemble(text, parts, options, self._count)
