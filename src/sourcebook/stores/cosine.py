"""Vectors and a query in, the k nearest by true cosine out: exact, in a fraction of a full scan.

The vectors are centred, turned to their principal axes, and kept once more as 8-bit integers in two
parts: the first holds most of what tells them apart. One pass over the first part bounds every
score from above; what can still be among the k best is bounded more closely by the second part,
and what is left is scored in double precision. Every bound is proven (Cauchy-Schwarz over what
rounding and the other part can add), so the answer is that of a full scan. It depends on nothing
but the visible vectors: not on where a row lies, nor on rows that came later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import simsimd

from sourcebook.ports import Vectors

Rows = npt.NDArray[np.int64]
Scores64 = npt.NDArray[np.float64]
_BLOCK = 4096
"""Rows prepared at a time, so that what is in between stays in the processor's cache."""
_SAMPLE = 16_384
"""Vectors that the axes are computed from; others would give the same answers, only slower."""
_VARIANCE = 0.85
_SLACK = 2e-5
"""Covers the rounding of single-precision sums over unit vectors (about 384 x 2**-24)."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some dimensions of the turned vectors as 8-bit integers: value = small * scale."""

    small: npt.NDArray[np.int8]
    scale: float
    residual: float
    """The largest distance between a row and its 8-bit image."""
    radius: float
    """The largest norm of an image."""

    @classmethod
    def build(cls, turned: Vectors) -> Part:
        scale = _scale(turned)
        small = np.empty(turned.shape, np.int8)
        residual = radius = 0.0
        for at in range(0, len(turned), _BLOCK):
            block = slice(at, at + _BLOCK)
            small[block] = np.rint(turned[block] / scale)
            image = small[block] * np.float32(scale)
            radius = max(radius, _longest(image))
            residual = max(residual, _longest(turned[block] - image))
        return cls(small, scale, residual, radius)

    def products(self, query: Vectors, rows: Rows | None) -> tuple[Vectors, float]:
        """The inner product of each row with the query, and by how much it may be wrong."""
        scale = _scale(query)
        small = np.rint(query / scale).astype(np.int8)
        table = self.small if rows is None else self.small[rows]
        found = simsimd.cdist(small[None], table, metric="dot", out_dtype="float32")
        products: Vectors = np.asarray(found)[0]
        products *= np.float32(scale * self.scale)
        lost = float(np.linalg.norm(query - small * np.float32(scale)))
        return products, lost * self.radius + float(np.linalg.norm(query)) * self.residual


@dataclass(frozen=True, slots=True)
class Cosine:
    """Unit vectors prepared for search; row i of every array belongs to vector i."""

    vectors: Vectors
    mean: Vectors
    axes: Vectors
    bias: Vectors
    """mean . (vector - mean)"""
    first: Part
    second: Part
    rest: Vectors
    """The norm of each vector's second part."""

    @classmethod
    def build(cls, vectors: Vectors) -> Cosine:
        total = vectors.sum(axis=0, dtype=np.float64)
        mean = (total / max(len(vectors), 1)).astype(np.float32)
        axes, half = _principal_axes(vectors, mean)
        turned = np.empty_like(vectors)
        bias = np.empty(len(vectors), np.float32)
        for at in range(0, len(vectors), _BLOCK):
            centred = vectors[at : at + _BLOCK] - mean
            bias[at : at + _BLOCK] = centred @ mean
            turned[at : at + _BLOCK] = centred @ axes
        rest = np.linalg.norm(turned[:, half:], axis=1)
        first, second = Part.build(turned[:, :half]), Part.build(turned[:, half:])
        return cls(vectors, mean, axes, bias, first, second, rest)

    def nearest(self, query: Vectors, k: int, rows: Rows | None = None) -> tuple[Rows, Scores64]:
        """The k best rows (of `rows`, if given) and their cosines; ties go to the lower row."""
        size = len(self.vectors) if rows is None else len(rows)
        if size == 0 or k <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        if 2 * k >= size:
            return self._best(query, np.arange(size) if rows is None else rows, k)
        return self._best(query, self._possible(query, k, rows, size), k)

    def _possible(self, query: Vectors, k: int, rows: Rows | None, size: int) -> Rows:
        """Rows that hold the k best: those that their bounds do not shut out."""
        turned: Vectors = ((query - self.mean) @ self.axes).astype(np.float32)
        half = self.first.small.shape[1]
        rough, error = self.first.products(turned[:half], rows)
        rough += self.bias if rows is None else self.bias[rows]
        rough += np.float32(query @ self.mean)
        likely = np.flatnonzero(rough >= np.partition(rough, size - 2 * k)[size - 2 * k])
        floor = self._floor(query, k, likely if rows is None else rows[likely])
        beyond = np.float32(np.linalg.norm(turned[half:]))
        reach = rough + beyond * (self.rest if rows is None else self.rest[rows])
        maybe = np.flatnonzero(reach >= floor - error - _SLACK)
        kept = maybe if rows is None else rows[maybe]
        more, further = self.second.products(turned[half:], kept)
        more += rough[maybe]
        return np.asarray(kept[more >= floor - error - further - _SLACK])

    def _floor(self, query: Vectors, k: int, rows: Rows) -> float:
        """The k-th best score among these rows: the k-th best of all is no lower."""
        scores = self._exact(query, rows)
        return float(np.partition(scores, len(scores) - k)[len(scores) - k])

    def _exact(self, query: Vectors, rows: Rows) -> Scores64:
        """Cosines in double precision, row by row: the same bits wherever the row lies."""
        products = self.vectors[rows].astype(np.float64)
        products *= query.astype(np.float64)
        return np.asarray(products.sum(axis=1))

    def _best(self, query: Vectors, rows: Rows, k: int) -> tuple[Rows, Scores64]:
        scores = self._exact(query, rows)
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]


def _principal_axes(vectors: Vectors, mean: Vectors) -> tuple[Vectors, int]:
    """Orthonormal columns, those of the largest variance first, and how many of them hold the
    share _VARIANCE of it: fewer are faster to scan, more leave fewer rows for the second pass."""
    sample = vectors[:: max(len(vectors) // _SAMPLE, 1)] - mean
    variances, axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    held = np.cumsum(variances[::-1]) / max(variances.sum(), 1e-12)
    enough = (int(np.searchsorted(held, _VARIANCE)) // 32 + 1) * 32
    half = min(enough, vectors.shape[1] // 2 + vectors.shape[1] // 4)
    return np.ascontiguousarray(axes[:, ::-1]).astype(np.float32), half


def _scale(values: Vectors) -> float:
    return float(max(values.max(initial=0.0), -values.min(initial=0.0))) / 127 or 1.0


def _longest(rows: Vectors) -> float:
    return float(np.linalg.norm(rows, axis=1).max(initial=0.0))
