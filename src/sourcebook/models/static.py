"""A folder with static token vectors in, unit vectors of texts out, without running a network.

A text is the mean of its tokens' vectors, so a core embeds megabytes a second. The vectors must
already carry a frequency weight in their length, as those of the model2vec family do.

What is read is changed in three ways, for what a text is about: special tokens and tokens with
digits count nothing (a price or a booking code says little of the topic), nor do single letters
that continue a word; longer continuations count half, so that a rare word cut into many pieces does
not outweigh the rest of its sentence.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from sourcebook.models.words import WordTokens

Floats = NDArray[np.float32]

BATCH = 4096  # texts tokenised at a time: bounds the memory
GATHER = 1024  # tokens whose vectors are gathered at a time: a megabyte, which stays in the cache
CONTINUATION = "##"


class StaticModel:
    """Texts to vectors by the tokenizer and the token vectors that were read from a folder."""

    def __init__(self, folder: Path, *, tokenizer: Tokenizer | None = None) -> None:
        """Read model.safetensors and tokenizer.json.

        With `tokenizer` (another WordPiece tokenizer, say the dense embedder's) texts are split by
        a copy of that one instead, and the vectors are matched by token text. One pass of it then
        gives the embedder's token counts and these vectors: see `measure`.
        """
        own = Tokenizer.from_file(str(folder / "tokenizer.json"))
        (table,) = load_file(folder / "model.safetensors").values()
        self.tokenizer = own if tokenizer is None else Tokenizer.from_str(tokenizer.to_str())
        self.tokenizer.encode_special_tokens = True  # a text that talks of [SEP] means the word
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self._words = WordTokens(self.tokenizer)
        rows = _weighted(table.astype(np.float32), own.get_vocab())
        self.table = _reordered(rows, own.get_vocab(), self.tokenizer.get_vocab())

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row a text, of length 1, or 0 where no token says anything."""
        return self.measure(texts)[0]

    def measure(self, texts: Sequence[str]) -> tuple[Floats, NDArray[np.int64]]:
        """Return the vectors of the texts and their token counts, special tokens not counted."""
        vectors = np.zeros((len(texts), self.table.shape[1]), dtype=np.float32)
        counts = np.zeros(len(texts), dtype=np.int64)
        for start in range(0, len(texts), BATCH):
            ids = self._words.ids(texts[start : start + BATCH])
            vectors[start : start + BATCH] = self.pool(ids)
            counts[start : start + BATCH] = [len(one) for one in ids]
        return vectors, counts

    def count(self, texts: Sequence[str]) -> list[int]:
        """The token counts alone."""
        return self._words.count(texts)

    def pool(self, ids: Sequence[Sequence[int]]) -> Floats:
        """Return the vectors of texts that are already tokenised with this model's tokenizer."""
        sums = np.zeros((len(ids), self.table.shape[1]), dtype=np.float32)
        gathered = np.empty((GATHER, self.table.shape[1]), dtype=np.float32)
        for row, text in enumerate(ids):
            for start in range(0, len(text), GATHER):
                part = np.array(text[start : start + GATHER])
                some = np.take(self.table, part, axis=0, out=gathered[: len(part)], mode="clip")
                sums[row] += some.sum(axis=0)
        norms = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        sums /= np.where(norms > 0, norms, 1)[:, None]
        return sums


def _weighted(table: Floats, vocabulary: Mapping[str, int]) -> Floats:
    """Scale every token's vector by what the token tells of a topic."""
    shares = np.ones(len(table), dtype=np.float32)
    for token, row in vocabulary.items():
        shares[row] = _share(token)
    return table * shares[:, None]


def _share(token: str) -> float:
    """0, 0.5 or 1; see the top of the module for the reasons."""
    piece = token.startswith(CONTINUATION)
    text = token.removeprefix(CONTINUATION)
    special = token.startswith("[") and token.endswith("]") and len(token) > 2
    if special or any(map(str.isdigit, text)) or (piece and len(text) == 1):
        return 0.0
    return 0.5 if piece else 1.0


def _reordered(table: Floats, own: Mapping[str, int], other: Mapping[str, int]) -> Floats:
    """Put the row of each token where the other vocabulary has that token; unknown ones are 0."""
    rows = np.zeros((max(other.values()) + 1, table.shape[1]), dtype=np.float32)
    shared = [token for token in other if token in own]
    rows[[other[token] for token in shared]] = table[[own[token] for token in shared]]
    return rows
