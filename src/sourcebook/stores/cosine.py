"""Vectors and a query in, the k nearest by true cosine out: exact, in a fraction of a full scan.

Every vector is also kept as 8-bit integers of its distance from the mean. One pass over these
integers gives each score within a proven bound; only rows that could still be among the k best are
scored in double precision. So the answer is that of an exact search, and depends on nothing but
the visible vectors: not on where a row lies, nor on rows that came later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import simsimd

from sourcebook.ports import Vectors

Rows = npt.NDArray[np.int64]
_SLACK = 1e-5
"""Covers the rounding of single-precision sums of unit vectors (about 384 x 2**-24)."""


@dataclass(frozen=True, slots=True)
class Cosine:
    """Unit vectors prepared for search; row i of every array belongs to vector i."""

    vectors: Vectors
    mean: Vectors
    small: npt.NDArray[np.int8]
    scale: float
    bias: npt.NDArray[np.float32]
    """mean . (vector - mean)"""
    residual: float
    """The largest distance between a centred vector and its 8-bit image."""
    radius: float
    """The largest norm of an 8-bit image."""

    @classmethod
    def build(cls, vectors: Vectors) -> Cosine:
        total = vectors.sum(axis=0, dtype=np.float64)
        mean = (total / max(len(vectors), 1)).astype(np.float32)
        centred = vectors - mean
        scale = _scale(centred)
        small = np.rint(centred / scale).astype(np.int8)
        image = small * np.float32(scale)
        return cls(
            vectors,
            mean,
            small,
            scale,
            (centred @ mean).astype(np.float32),
            float(np.linalg.norm(centred - image, axis=1).max(initial=0.0)),
            float(np.linalg.norm(image, axis=1).max(initial=0.0)),
        )

    def nearest(self, query: Vectors, k: int, rows: Rows | None = None) -> tuple[Rows, Scores64]:
        """The k best rows (of `rows`, if given) and their cosines; ties go to the lower row."""
        size = len(self.vectors) if rows is None else len(rows)
        if size == 0 or k <= 0:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        if k >= size:
            return self._best(query, np.arange(size) if rows is None else rows, k)
        rough, error = self._rough(query, rows)
        kth = np.partition(rough, size - k)[size - k]
        first = np.flatnonzero(rough >= kth)
        floor = self._exact(query, first if rows is None else rows[first])
        worst = np.partition(floor, len(floor) - k)[len(floor) - k]
        maybe = np.flatnonzero(rough >= worst - error)
        return self._best(query, maybe if rows is None else rows[maybe], k)

    def _rough(self, query: Vectors, rows: Rows | None) -> tuple[npt.NDArray[np.float32], float]:
        """Scores within `error` of the true ones, from the 8-bit images."""
        centred = query - self.mean
        scale = _scale(centred)
        small = np.rint(centred / scale).astype(np.int8)
        table = self.small if rows is None else self.small[rows]
        bias = self.bias if rows is None else self.bias[rows]
        products = np.asarray(simsimd.cdist(small[None], table, metric="dot", threads=2))[0]
        rough = products.astype(np.float32) * np.float32(scale * self.scale)
        rough += bias
        rough += np.float32(query @ self.mean)
        lost = float(np.linalg.norm(centred - small * np.float32(scale)))
        error = lost * self.radius + float(np.linalg.norm(centred)) * self.residual + _SLACK
        return rough, error

    def _exact(self, query: Vectors, rows: Rows) -> Scores64:
        """Cosines in double precision, row by row: the same bits wherever the row lies."""
        products = self.vectors[rows].astype(np.float64) * query.astype(np.float64)
        return np.asarray(products.sum(axis=1))

    def _best(self, query: Vectors, rows: Rows, k: int) -> tuple[Rows, Scores64]:
        scores = self._exact(query, rows)
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]


Scores64 = npt.NDArray[np.float64]


def _scale(values: Vectors) -> float:
    return float(np.abs(values).max(initial=0.0)) / 127 or 1.0
