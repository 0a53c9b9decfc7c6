"""What every chunker is: text and its blocks in, chunks with exact offsets out.

The blocks already carry what a format knows of its structure, so a strategy does not look at the
format itself: headings, tables, code, list items and turns mean the same wherever they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sourcebook.errors import InvalidInput
from sourcebook.model import Block, Chunk, ChunkOptions

Vectors = npt.NDArray[np.float32]
Counter = Callable[[Sequence[str]], list[int]]
"""Tokens of each text in the embedder's own tokenizer, special tokens not counted."""
Embed = Callable[[Sequence[str]], Vectors]
"""One unit vector a text, from a model fast enough to run over every sentence."""
Measure = Callable[[Sequence[str]], tuple[Vectors, npt.NDArray[np.int64]]]
"""Both at once, for a model that shares the embedder's tokenizer: one pass instead of two."""

FORMATS: tuple[str, ...] = ("text", "markdown", "html", "pdf", "docx", "conversation", "jsonl")

CHARACTERS = 32  # to a token at most


class ChunkingStrategy(Protocol):
    """A way to cut a document. `version` is part of an embedding space's identity: a chunker that
    would cut the same text differently has another one."""

    name: str
    version: str
    formats: tuple[str, ...]

    def chunk(self, text: str, blocks: Sequence[Block], options: ChunkOptions) -> list[Chunk]:
        """Chunks in order: `text[start:end]` is a chunk's text, and no chunk exceeds max_tokens."""
        ...


def validated(options: ChunkOptions) -> ChunkOptions:
    """The same options, or InvalidInput with a sentence that names the wrong one."""
    for field, wrong, message in _complaints(options):
        if wrong:
            raise InvalidInput(message, field=field)
    return options


def _complaints(options: ChunkOptions) -> list[tuple[str, bool, str]]:
    least, target, most = options.min_tokens, options.target_tokens, options.max_tokens
    overlap, threshold = options.overlap_tokens, options.threshold
    return [
        ("min_tokens", least < 1, f"min_tokens is {least}; it must be at least 1."),
        (
            "target_tokens",
            target < least,
            f"target_tokens is {target}, below min_tokens {least}; give min <= target <= max.",
        ),
        (
            "max_tokens",
            most < target,
            f"max_tokens is {most}, below target_tokens {target}; give min <= target <= max.",
        ),
        ("overlap_tokens", overlap < 0, f"overlap_tokens is {overlap}; it must not be negative."),
        (
            "overlap_tokens",
            overlap >= target,
            f"overlap_tokens is {overlap}; it must be smaller than target_tokens {target}.",
        ),
        (
            "threshold",
            not 0.0 <= threshold <= 2.0,
            f"threshold is {threshold}; a cosine distance lies between 0 and 2.",
        ),
    ]


def bounded(count: Counter) -> Counter:
    """Sizes: tokens, but never fewer than one for `CHARACTERS` characters.

    Tokenizers give up on what is no word and call it one unknown token, however long it is; without
    this a megabyte of encoded data would be one small chunk.
    """

    def sizes(texts: Sequence[str]) -> list[int]:
        tokens = count(texts) if texts else []
        return [max(n, len(text) // CHARACTERS) for n, text in zip(tokens, texts, strict=True)]

    return sizes
