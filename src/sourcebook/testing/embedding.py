"""Words in, vectors out: an embedder that costs nothing and is the same everywhere.

The kit tests walls, not models, but real vectors must go through them: each word has its own
direction, and a text that of its words together.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np

from sourcebook.errors import TextRefused
from sourcebook.ports import EmbeddedQuery, Usage, Vectors

DIMENSIONS = 16
REFUSED = "unembeddable"
"""A document text with this word is refused, as a service may do."""
_WORD = re.compile(r"\w+")


class WordEmbedder:
    """Named as a model whose relevance is calibrated: answers count as complete, and are kept for
    who asks again. `asked` counts the questions that were embedded: a question that somebody else
    has asked costs nothing, and that may not show."""

    model = "gte-small"
    dimensions = DIMENSIONS
    max_tokens = 256
    usage = Usage()

    def __init__(self, provider: str = "words") -> None:
        self.provider = provider
        self.asked = 0
        self._known: dict[str, Vectors] = {}
        self.late = WordVectors()

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(_WORD.findall(text)) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self.embed_late(texts)[0]

    def embed_late(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        if any(REFUSED in text for text in texts):
            raise TextRefused
        tokens = [self._tokens(text) for text in texts]
        return np.array([_sum(each) for each in tokens], np.float32), [t.tobytes() for t in tokens]

    def embed_query(self, text: str) -> EmbeddedQuery:
        self.asked += 1
        tokens = self._tokens(text)
        return EmbeddedQuery(_sum(tokens), tokens)

    def _tokens(self, text: str) -> Vectors:
        words = _WORD.findall(text.lower()) or [""]
        return np.array([self._vector(word) for word in words[: self.max_tokens]], np.float32)

    def _vector(self, word: str) -> Vectors:
        if word not in self._known:
            numbers = np.random.default_rng(zlib.crc32(f"{self.provider} {word}".encode()))
            vector = numbers.standard_normal(DIMENSIONS).astype(np.float32)
            self._known[word] = vector / np.float32(np.linalg.norm(vector))
        return self._known[word]


class WordVectors:
    """Token vectors as they are, one after the other."""

    def maxsim(self, query: Vectors, coded: Sequence[bytes]) -> Vectors:
        alike = [(query @ self.vectors(each).T).max(axis=1).mean() for each in coded]
        return np.array(alike, np.float32)

    def readable(self, coded: bytes) -> bool:
        return len(coded) % (4 * DIMENSIONS) == 0

    def vectors(self, coded: bytes) -> Vectors:
        return np.frombuffer(coded, np.float32).reshape(-1, DIMENSIONS)


def _sum(tokens: Vectors) -> Vectors:
    vector = tokens.astype(np.float64).sum(axis=0)
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)
