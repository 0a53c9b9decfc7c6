"""Vectors in, an 8-bit image of each out: a quarter of their size, and enough to tell nearly all of
those that are not among the nearest.

An image, and how far its vector is from it, bound the vector's product with any other one
(Cauchy-Schwarz). What the bounds leave is compared exactly by whoever has the vectors, so the
nearest are those of a full scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numkong
import numpy as np
import numpy.typing as npt

from sourcebook.ports import Vectors
from sourcebook.stores.bm25 import highest
from sourcebook.stores.cosine import lengths_of

Places = npt.NDArray[Any]
"""Of vectors among those that there are images of."""
_MOSTLY = 8
"""From this part of them on, all are compared: quicker than to gather some."""
_ROUNDING = 2.0**-22
"""Covers, for each dimension, the rounding of single-precision sums over unit vectors (2**-24)."""
_BLOCK = 4096
"""Images copied or turned into floats at a time."""
BESIDE = 12
"""Bytes that a vector takes beside its image."""


@dataclass(frozen=True, slots=True)
class Images:
    mean: Vectors
    """What is taken from every vector first: the rest is shorter, and its image closer to it."""
    table: npt.NDArray[np.int8]
    scales: Vectors
    """An image is a row of the table times its scale."""
    lengths: Vectors
    """Of the images."""
    lost: Vectors
    """How far each vector is from its image."""

    @classmethod
    def blank(cls, mean: Vectors, size: int) -> Images:
        """For so many vectors, to be drawn."""
        scales, lengths, lost = np.zeros((3, size), np.float32)
        return cls(mean, np.zeros((size, len(mean)), np.int8), scales, lengths, lost)

    def draw(self, places: Places | slice, vectors: Vectors) -> None:
        centred = vectors - self.mean
        scales = np.abs(centred).max(axis=1, initial=0.0) / np.float32(127)
        scales[scales == 0] = 1
        centred /= scales[:, None]
        images = np.rint(centred)
        centred -= images
        self.table[places] = images
        self.scales[places] = scales
        self.lengths[places] = lengths_of(images) * scales
        self.lost[places] = lengths_of(centred) * scales

    def copy(self, places: Places, other: Images, of: Places) -> None:
        """What was drawn around the same mean."""
        for at in range(0, len(places), _BLOCK):
            mine, theirs = places[at : at + _BLOCK], of[at : at + _BLOCK]
            for column, source in zip(self._columns(), other._columns(), strict=True):
                column[mine] = source[theirs]

    def take(self, places: Places) -> Images:
        return Images(self.mean, *(column[places] for column in self._columns()))

    def possible(self, query: Vectors, k: int, places: Places) -> npt.NDArray[np.int64]:
        """Which of these places may be among the k nearest to the query, those that tie with the
        last one included."""
        if len(places) <= k:
            return np.arange(len(places))
        length, scale = np.linalg.norm(query), np.abs(query).max() / np.float32(127)
        small = np.rint(query / (scale or 1)).astype(np.int8)
        astray = np.linalg.norm(query - small * scale)
        some = places if len(places) * _MOSTLY < len(self.table) else slice(None)
        rough = np.asarray(numkong.cdist(small[None], self.table[some], metric="dot"))[0]
        rough = rough.astype(np.float32)
        rough *= self.scales[some]
        rough *= scale
        wrong = self.lengths[some] * astray
        slack = np.float32(len(query) * _ROUNDING)
        wrong += self.lost[some] * length + slack
        if isinstance(some, slice):
            rough, wrong = rough[places], wrong[places]
        maybe = _leading(rough, wrong, k)
        closer = np.empty(len(maybe), np.float32)
        for at in range(0, len(maybe), _BLOCK):
            closer[at : at + _BLOCK] = self.table[places[maybe[at : at + _BLOCK]]] @ query
        chosen = places[maybe]
        closer *= self.scales[chosen]
        return maybe[_leading(closer, self.lost[chosen] * length + slack, k)]

    def _columns(self) -> tuple[npt.NDArray[Any], ...]:
        return self.table, self.scales, self.lengths, self.lost


def _leading(scores: Vectors, wrong: Vectors, k: int) -> npt.NDArray[np.int64]:
    """Those that may be among the k highest, if each may be wrong by so much."""
    surely = scores - wrong
    high = surely[highest(surely, k)]
    floor = np.partition(high, len(high) - k)[len(high) - k]
    return np.flatnonzero(scores + wrong >= floor)
