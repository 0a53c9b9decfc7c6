"""Term frequencies and a query in, BM25 scores out, with statistics of the visible passages only.

N, document frequencies and the average length are those of the passages at one revision, so a
baseline's ranking never moves. Title and heading count more than the body (as in BM25F, Robertson,
Zaragoza and Taylor 2004: the weighted frequencies are added before saturation); what stands around
a passage counts less, so that it is also found by what its neighbours are about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sourcebook.stores.postings import FIELDS, TERM

K1 = 1.2
B = 0.75
TITLE_WEIGHT = 2.0
HEADING_WEIGHT = 1.0
AROUND_WEIGHT = 0.3
"""Chosen on half of the LoCoMo conversations and confirmed on the rest and on code."""

_WEIGHTS = dict(zip(FIELDS, (TITLE_WEIGHT, HEADING_WEIGHT, 1.0, AROUND_WEIGHT), strict=True))
_BLOCK = 4096
"""Passages prepared at a time: new memory for all of them costs more than the sums do."""

_GROUPS, _FEW = 4, 64
"""Groups of values for each one that is looked for; at least so many are looked for."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Postings:
    """For each term, in order of its id: the passages that hold it, what it adds to their score."""

    size: int
    terms: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int32]
    impacts: npt.NDArray[np.float32]
    own: npt.NDArray[np.bool_]
    """Whether the passage itself holds the term, not only what stands around it."""

    @classmethod
    def build(cls, records: npt.NDArray[np.void], counts: npt.NDArray[np.int64]) -> Postings:
        """`records` (dtype TERM) of all passages one after the other, `counts` of each passage."""
        size, terms = len(counts), np.ascontiguousarray(records["term"])
        rows = np.repeat(np.arange(size, dtype=np.int32), counts)
        impacts, own = np.empty(len(records), np.float32), np.empty(len(records), bool)
        lengths = np.empty(size)
        for passages, at in _blocks(counts):
            some, frequency = records[at], impacts[at]
            frequency[:] = 0
            for name, weight in _WEIGHTS.items():
                frequency += np.float32(weight) * some[name]
            own[at] = (some["title"] | some["heading"] | some["body"]) > 0
            lengths[passages] = np.bincount(
                rows[at] - passages.start, frequency, passages.stop - passages.start
            )
        average = lengths.sum() / size if size else 1.0
        norm = (K1 * (1 - B + B * lengths / (average or 1.0))).astype(np.float32)
        for _, at in _blocks(counts):
            frequency = impacts[at]
            impacts[at] = frequency * np.float32(K1 + 1) / (frequency + norm[rows[at]])
        order = _stable_order(terms)
        return cls(size, terms[order], rows[order], impacts[order], own[order])

    def find(self, term: int) -> slice:
        """Where this term's postings lie."""
        # In the array's own type: any other would copy the array first.
        low, high = np.searchsorted(self.terms, np.array([term, term + 1], self.terms.dtype))
        return slice(int(low), int(high))

    def scores(self, terms: Sequence[int]) -> npt.NDArray[np.float32]:
        """The score of every passage; a term that is given twice counts twice."""
        sums = np.zeros(self.size)
        for term in terms:
            place = self.find(term)
            weight = np.float32(self._weight(place.stop - place.start))
            # A passage stands once under a term, so none is added to twice in one step.
            sums[self.rows[place]] += self.impacts[place] * weight
        return sums.astype(np.float32)

    def ideal(self, terms: Sequence[int | None]) -> float:
        """What no score for these terms can exceed; None is a term that no passage holds."""
        total = 0.0
        for term in terms:
            found = slice(0, 0) if term is None else self.find(term)
            total += (K1 + 1) * self._weight(found.stop - found.start)
        return total

    def _weight(self, frequency: int) -> float:
        return float(np.log1p((self.size - frequency + 0.5) / (frequency + 0.5)))

    def holding(self, terms: Sequence[int]) -> Rows:
        """The passages that themselves hold all of these terms."""
        places = [self.find(term) for term in set(terms)]
        found = [self.rows[place][self.own[place]] for place in places]
        common = min(found, key=len, default=np.empty(0, np.int32))
        for rows in found:
            common = np.intersect1d(common, rows, assume_unique=True)
        return common.astype(np.int64)


def best(scores: npt.NDArray[np.float32], k: int, rows: Rows | None = None) -> Rows:
    """The k highest positive scores (among `rows`, if given); ties go to the lower row."""
    rows = highest(scores, k, above=0) if rows is None else rows[scores[rows] > 0]
    if len(rows) > k > 0:
        values = scores[rows]
        rows = rows[values >= np.partition(values, len(rows) - k)[len(rows) - k]]
    return rows[np.lexsort((rows, -scores[rows]))[:k]]


def highest(values: npt.NDArray[Any], k: int, above: float = -np.inf) -> Rows:
    """Where the k highest values above some value lie, with what ties, and maybe a few others."""
    # The highest of each group: what k of them reach, k values do. Neighbours are in other groups.
    groups = _GROUPS * max(k, _FEW)
    each = len(values) // groups
    if each > 1:
        tops = values[: each * groups].reshape(each, groups).max(axis=0)
        bound = np.partition(tops, groups - k)[groups - k] if k > 0 else np.inf
        if bound > above:
            return np.flatnonzero(values >= bound)
    return np.flatnonzero(values > above)


def _blocks(counts: npt.NDArray[np.int64]) -> Iterator[tuple[slice, slice]]:
    """Some thousand passages at a time, and their records."""
    ends = np.cumsum(counts)
    for start in range(0, len(counts), _BLOCK):
        stop = min(start + _BLOCK, len(counts))
        yield slice(start, stop), slice(int(ends[start] - counts[start]), int(ends[stop - 1]))


def _stable_order(terms: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """argsort by term, keeping the order of passages: two radix passes over 16 bits each."""
    low = np.argsort(terms.astype(np.uint16), kind="stable")
    high = (terms >> 16).astype(np.uint16)[low]
    if not high.any():
        return low
    return np.asarray(low[np.argsort(high, kind="stable")])


def concatenate(blobs: Sequence[bytes]) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
    """The records of many passages, and how many each has."""
    counts = np.fromiter((len(b) // TERM.itemsize for b in blobs), np.int64, len(blobs))
    return np.frombuffer(b"".join(blobs), TERM), counts
