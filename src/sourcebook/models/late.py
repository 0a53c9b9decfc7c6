"""A text's token vectors in, 84 bytes a word out; and how alike two texts are by their tokens.

Late interaction (ColBERT, Khattab and Zaharia 2020) compares every token of a question with every
token of a passage and adds up the best of each: MaxSim. Token vectors are large, so they are kept
small: stop words and punctuation are left out, a token that comes again is kept once, as the mean
of its vectors, and these are centred, turned to their principal axes, and each axis rounded to as
many bits as its variance is worth (4, 2, 1 or none). Token vectors have length 1, so the length
that rounding takes away is put back.

The axes of a model were fitted on texts of several kinds by evals/late.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import numkong
import numpy as np
import numpy.typing as npt

from sourcebook.analysis import STOP_WORDS
from sourcebook.ports import Vectors

Codes = npt.NDArray[np.uint8]
BITS = ((32, 4), (208, 2), (128, 1))
"""How many axes have how many bits, those of the largest variance first; the rest has none."""
AXES = sum(axes for axes, _ in BITS)
BYTES = sum(axes * bits // 8 for axes, bits in BITS)
MARK = 4
"""Bytes before the codes that tell which codec wrote them."""
_DATA = "sourcebook.models.data"
_AT_ONCE = 32_768
"""Tokens that are decoded at once."""
_STOP_WORD = 0.25
"""What a question's stop word counts in MaxSim: a text has kept none to compare it with."""


class TokenCodec:
    def __init__(
        self,
        mean: Vectors,
        axes: Vectors,
        deviations: Vectors,
        levels: Sequence[Vectors],
        dropped: npt.NDArray[np.bool_],
    ) -> None:
        """`levels` are the values that a standardised coordinate is rounded to, a row for each of
        BITS; `dropped` says of each token id whether it is left out."""
        self._mean, self._axes, self._deviations = mean, axes, deviations
        self._edges = [(row[1:] + row[:-1]) / 2 for row in levels]
        self._tables = [_table(row) for row in levels]
        self._dropped = dropped
        self._mark = hashlib.sha256(mean.tobytes() + axes.tobytes()).digest()[:MARK]
        self._across: Vectors = np.ascontiguousarray(axes.T)
        self._turned_mean = _products(mean[None], self._across)
        self._square = float(_products(mean[None], mean[None])[0, 0])

    @classmethod
    def of(cls, model: str, tokenizer: Any) -> TokenCodec | None:
        """The codec of a model, None if none was fitted."""
        file = resources.files(_DATA).joinpath(f"late-{model}.npz")
        if not file.is_file():
            return None
        with file.open("rb") as opened, np.load(opened) as data:
            levels = [data[f"levels{bits}"].astype(np.float32) for _, bits in BITS]
            mean, axes, deviations = (
                data[name].astype(np.float32) for name in ("mean", "axes", "deviations")
            )
            return cls(mean, axes, deviations, levels, dropped(tokenizer))

    def encode(self, ids: Sequence[int], vectors: Vectors) -> bytes:
        """`vectors` are the model's own, one row a token, of length 1."""
        kept = merged(np.asarray(ids, np.int64), vectors, self._dropped)
        z = _products(kept - self._mean, self._across) / self._deviations
        codes, at = [], 0
        for (axes, bits), edges in zip(BITS, self._edges, strict=True):
            part = z[:, at : at + axes]
            level = np.zeros(part.shape, np.uint8)
            for edge in edges:
                level += part > edge
            codes.append(_packed(level, bits))
            at += axes
        return self._mark + np.hstack(codes).tobytes()

    def weighed(self, ids: Sequence[int], vectors: Vectors) -> Vectors:
        """A question's token vectors, each as long as it counts; 1 in the mean."""
        counts = np.where(self._dropped[np.asarray(ids, np.int64)], _STOP_WORD, 1.0)
        counts *= len(counts) / max(counts.sum(), 1e-12)
        return np.asarray(vectors * counts[:, None], np.float32)

    def readable(self, coded: bytes) -> bool:
        """Whether this codec wrote it."""
        return coded.startswith(self._mark)

    def maxsim(self, query: Vectors, coded: Sequence[bytes]) -> Vectors:
        """For each text: the mean over the query's rows of the best cosine with one of its tokens,
        as much as a row counts (`weighed`); 0 for a text without tokens."""
        scores = np.zeros(len(coded), np.float32)
        if len(query):
            mean = _products(query, self._mean[None])[:, 0]
            turned = _products(query, self._across), mean
            for texts in _batches([max(len(text) - MARK, 0) // BYTES for text in coded]):
                some = [coded[text][MARK:] for text in texts]
                scores[texts] = self._best(*turned, some)
        return scores

    def _best(self, query: Vectors, mean: Vectors, coded: Sequence[bytes]) -> Vectors:
        """MaxSim with texts that all have tokens; the query is turned to the axes."""
        decoded, lengths = self._decoded(b"".join(coded))
        products = _products(decoded, query)
        products += mean
        products /= lengths[:, None]
        starts = np.cumsum([0, *(len(text) // BYTES for text in coded[:-1])])
        best: Vectors = np.maximum.reduceat(products, starts, axis=0).mean(axis=1)
        return best

    def vectors(self, coded: bytes) -> Vectors:
        """The token vectors of one text, as well as they are known."""
        turned, lengths = self._decoded(coded[MARK:])
        full: Vectors = (_products(turned, self._axes) + self._mean) / lengths[:, None]
        return full

    def _decoded(self, coded: bytes) -> tuple[Vectors, Vectors]:
        """Coordinates on the axes, and the length that each vector has with the mean added."""
        codes = np.frombuffer(coded, np.uint8).reshape(-1, BYTES)
        turned = np.empty((len(codes), AXES), np.float32)
        at = byte = 0
        for (axes, bits), table in zip(BITS, self._tables, strict=True):
            size = axes * bits // 8
            part = np.take(table, codes[:, byte : byte + size], axis=0)
            turned[:, at : at + axes] = part.reshape(len(codes), axes)
            at, byte = at + axes, byte + size
        turned *= self._deviations
        products = _products(turned, self._turned_mean)[:, 0]
        squares = np.einsum("ij,ij->i", turned, turned) + 2 * products
        return turned, np.sqrt(np.maximum(squares + self._square, 1e-12))


def _products(rows: Vectors, others: Vectors) -> Vectors:
    """Of each row with each other one, summed in double precision: a matrix product in single
    precision has other last bits with every kernel, so with every processor."""
    if not len(rows):
        return np.zeros((0, len(others)), np.float32)
    rows, others = (np.ascontiguousarray(each, np.float32) for each in (rows, others))
    found: Vectors = np.array(numkong.cdist(rows, others, metric="dot"), np.float32)
    return found


def _batches(counts: Sequence[int]) -> Iterator[list[int]]:
    """The places of texts that have tokens, a bounded number of tokens at a time: decoded they
    take twenty times the memory."""
    batch: list[int] = []
    tokens = 0
    for place, count in enumerate(counts):
        if batch and tokens + count > _AT_ONCE:
            yield batch
            batch, tokens = [], 0
        if count:
            batch.append(place)
            tokens += count
    if batch:
        yield batch


def merged(ids: npt.NDArray[np.int64], vectors: Vectors, dropped: npt.NDArray[np.bool_]) -> Vectors:
    """One vector of length 1 for each different token, without those that are dropped, unless
    there are no others."""
    keep = ~dropped[ids]
    if keep.any():
        ids, vectors = ids[keep], vectors[keep]
    different, group = np.unique(ids, return_inverse=True)
    sums = np.zeros((len(different), vectors.shape[1]), np.float32)
    np.add.at(sums, group, vectors)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    means: Vectors = sums / np.maximum(lengths, 1e-12)
    return means


def dropped(tokenizer: Any) -> npt.NDArray[np.bool_]:
    """Of each token id, whether it is a stop word or has no letter and no digit."""
    vocabulary = tokenizer.get_vocab()
    without = np.zeros(max(vocabulary.values()) + 1, np.bool_)
    for token, row in vocabulary.items():
        without[row] = token.lower() in STOP_WORDS or not any(map(str.isalnum, token))
    return without


def _packed(codes: Codes, bits: int) -> Codes:
    """Rows of small numbers as bytes, the first in the highest bits."""
    each = 8 // bits
    parts = codes.reshape(len(codes), codes.shape[1] // each, each)
    shifts = np.arange(8 - bits, -1, -bits, dtype=np.uint8)
    packed: Codes = np.bitwise_or.reduce(parts << shifts, axis=2)
    return packed


def _table(levels: Vectors) -> Vectors:
    """For each byte, the values that it holds."""
    bits = (len(levels) - 1).bit_length()
    shifts = np.arange(8 - bits, -1, -bits)
    values: Vectors = levels[(np.arange(256)[:, None] >> shifts) & (len(levels) - 1)]
    return values
