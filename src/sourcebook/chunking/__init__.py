"""The chunking stage: text and blocks in, chunks and sections with exact offsets out."""

from sourcebook.chunking.fixed import FixedChunker
from sourcebook.chunking.outline import Section, outline
from sourcebook.chunking.semantic import SemanticChunker
from sourcebook.chunking.strategy import ChunkingStrategy, validated

__all__ = [
    "ChunkingStrategy",
    "FixedChunker",
    "Section",
    "SemanticChunker",
    "outline",
    "validated",
]
