"""Vectors and a query in, the k nearest by true cosine out: exact, in a fraction of a full scan.

The vectors are centred, turned to their principal axes, and kept once more as 8-bit integers in two
parts: the first holds most of what tells them apart. One pass over the first part bounds every
score from above; what can still be among the k best is bounded more closely by the second part,
and what is left is scored in double precision. Every bound is proven (Cauchy-Schwarz over what
rounding and the other part can add), so the answer is that of a full scan. It depends on nothing
but the visible vectors: not on where a row lies, nor on rows that came later.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numkong
import numpy as np
import numpy.typing as npt

from sourcebook.ports import Vectors
from sourcebook.stores.bm25 import highest

Rows = npt.NDArray[np.int64]
Scores64 = npt.NDArray[np.float64]
Result = TypeVar("Result")
_BLOCK = 1024
"""Rows prepared at a time, so that what is in between stays in the processor's cache."""
_SAMPLE = 16_384
"""Vectors that axes and scales are computed from; others would give the same answers, only
slower."""
_VARIANCE = 0.9
_UNLIKE = 10_000
"""One in so many vectors is too unlike its image to be judged by it."""
_SMALL = 2000
"""So few vectors are scored one by one as well, and need no axes."""
_FEW = 32
"""Below this fraction of all, rows are scored one by one: quicker than one scan over all."""
_SLACK = 2e-5
"""Covers the rounding of single-precision sums over unit vectors (about 384 x 2**-24)."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some dimensions of the turned vectors as 8-bit integers: value = integer * scale."""

    table: Any
    """The integers: an array, or packed in the order that is fastest to scan as a whole."""
    scale: float
    residual: float
    """The largest distance between a row and its 8-bit image, but for those that have no bound."""
    radius: float
    """The largest norm of an image."""

    def products(self, query: Vectors, rows: Rows | None = None) -> tuple[Vectors, float]:
        """The inner product of the query with these rows, or with all if the table is packed, and
        by how much it may be wrong."""
        scale = _scale(query)
        small = np.rint(query / scale).astype(np.int8)[None]
        if rows is None:
            found = np.asarray(numkong.dots_packed(small, self.table))
        else:
            found = np.asarray(numkong.cdist(small, self.table.take(rows, axis=0), metric="dot"))
        products: Vectors = found[0].astype(np.float32)
        products *= np.float32(scale * self.scale)
        lost = float(np.linalg.norm(query - small[0] * np.float32(scale)))
        return products, lost * self.radius + float(np.linalg.norm(query)) * self.residual


@dataclass(frozen=True, slots=True)
class Cosine:
    """Unit vectors prepared for search; row i of every array belongs to vector i."""

    vectors: Vectors
    mean: Vectors
    axes: Vectors
    half: int
    """How many of the turned dimensions make the first part."""
    bias: Vectors
    """mean . (vector - mean)"""
    first: Part
    second: Part
    rest: Vectors
    """The norm of each vector's second part; infinite for the few that are least like their images,
    which are therefore always scored."""

    @classmethod
    def build(cls, vectors: Vectors) -> Cosine:
        """In one pass over the vectors, some at a time: new memory for all of them would cost as
        much as the work."""
        size, width = vectors.shape
        sums = _by_blocks(lambda block: vectors[block].sum(axis=0, dtype=np.float64), size)
        mean = (np.sum([np.zeros(width), *sums], axis=0) / max(size, 1)).astype(np.float32)
        sample = vectors[:: max(size // _SAMPLE, 1)] - mean
        axes, half = _axes(sample)
        parts = slice(0, half), slice(half, width)
        scales = [_scale(sample @ axes[:, part]) for part in parts]
        images = [np.empty((size, part.stop - part.start), np.int8) for part in parts]
        bias, rest = np.empty((2, size), np.float32)
        residuals = np.empty((2, size), np.float32)

        def turn(block: slice) -> list[float]:
            centred = vectors[block] - mean
            bias[block] = centred @ mean
            turned = centred @ axes
            rest[block] = lengths_of(turned[:, half:])
            longest = []
            for part, scale, image, residual in zip(parts, scales, images, residuals, strict=True):
                small = np.clip(np.rint(turned[:, part] / np.float32(scale)), -127, 127)
                image[block] = small
                small *= np.float32(scale)
                residual[block] = lengths_of(turned[:, part] - small)
                longest.append(float(lengths_of(small).max()))
            return longest

        radii = [max(lengths) for lengths in zip(*_by_blocks(turn, size), strict=True)] or [0.0] * 2
        for residual in residuals:
            worst = np.argsort(residual)[size - size // _UNLIKE :]
            rest[worst], residual[worst] = np.inf, 0
        lost = [float(residual.max(initial=0.0)) for residual in residuals]
        tables = numkong.dots_pack(images[0]), images[1]
        first, second = map(Part, tables, scales, lost, radii)
        return cls(vectors, mean, axes, half, bias, first, second, rest)

    def nearest(self, query: Vectors, k: int, rows: Rows | None = None) -> tuple[Rows, Scores64]:
        """The k best rows (of `rows`, if given) and their cosines; ties go to the lower row."""
        size = len(self.vectors) if rows is None else len(rows)
        if size == 0 or k <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        if size <= max(2 * k, len(self.vectors) // _FEW, _SMALL):
            possible = np.arange(size) if rows is None else rows
        else:
            possible = self._possible(query, k, rows)
        scores = self.scores(query, possible)
        order = np.lexsort((possible, -scores))[:k]
        return possible[order], scores[order]

    def _possible(self, query: Vectors, k: int, rows: Rows | None) -> Rows:
        """Rows that hold the k best: those that their bounds do not shut out."""
        turned: Vectors = ((query - self.mean) @ self.axes).astype(np.float32)
        rough, error = self.first.products(turned[: self.half])
        rough += self.bias  # Without query . mean, which is the same for all.
        rest = self.rest
        if rows is not None:
            rough, rest = rough.take(rows), rest.take(rows)
        likely = highest(rough, k)
        if len(likely) > 2 * k:
            likely = likely[np.argpartition(rough[likely], -2 * k)[-2 * k :]]
        scores = self.scores(query, likely if rows is None else rows[likely])
        # The k-th best of some rows: the k-th best of all is no lower.
        lowest = float(np.partition(scores, len(scores) - k)[len(scores) - k])
        floor = lowest - float(query @ self.mean) - error - _SLACK
        # Never zero: what has no bound must keep none.
        bounds = np.float32(max(float(np.linalg.norm(turned[self.half :])), _SLACK)) * rest
        bounds += rough
        maybe = np.flatnonzero(bounds >= floor)
        kept = maybe if rows is None else rows[maybe]
        more, further = self.second.products(turned[self.half :], kept)
        more += rough[maybe]
        return np.asarray(kept[(more >= floor - further) | np.isinf(bounds[maybe])])

    def scores(self, query: Vectors, rows: Rows) -> Scores64:
        """Cosines summed in double precision, row by row: the same bits wherever the row lies."""
        found = numkong.cdist(query[None], self.vectors.take(rows, axis=0), metric="dot")
        scores: Scores64 = np.asarray(found)[0]
        return scores


def _axes(sample: Vectors) -> tuple[Vectors, int]:
    """Orthonormal columns, those of the largest variance first, and how many of them hold the
    share _VARIANCE of it: fewer are faster to scan, more leave fewer rows for the second pass."""
    width = sample.shape[1]
    if len(sample) <= _SMALL:
        return np.eye(width, dtype=np.float32), width // 2
    variances, axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    held = np.cumsum(variances[::-1]) / max(variances.sum(), 1e-12)
    enough = (int(np.searchsorted(held, _VARIANCE)) // 32 + 1) * 32
    half = min(enough, width // 2 + width // 4)
    return np.ascontiguousarray(axes[:, ::-1]).astype(np.float32), half


def _by_blocks(work: Callable[[slice], Result], size: int) -> list[Result]:
    """The work on every block, on all cores where there are several."""
    blocks = [slice(at, at + _BLOCK) for at in range(0, size, _BLOCK)]
    if len(blocks) <= 1:
        return [work(block) for block in blocks]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, blocks))


def _scale(values: Vectors) -> float:
    return _peak(values) / 127 or 1.0


def _peak(values: Vectors) -> float:
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def lengths_of(rows: Vectors) -> Vectors:
    lengths: Vectors = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths
