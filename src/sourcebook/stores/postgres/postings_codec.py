"""Postings in, the bytes of a block out, and back.

A block holds the passages of one term in ascending order of their numbers, with how often each of
their fields has it: one byte a count, or two where one does not do. Little-endian.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sourcebook.stores.bm25 import AROUND_WEIGHT, HEADING_WEIGHT, TITLE_WEIGHT
from sourcebook.stores.postings import FIELDS

NARROW = np.dtype([("number", "<i4"), *((name, "u1") for name in FIELDS)])
WIDE = np.dtype([("number", "<i4"), *((name, "<u2") for name in FIELDS)])
LENGTH = np.dtype([("number", "<i4"), ("length", "<f8")])
"""Of the blocks of term LENGTHS."""
LENGTHS = 0
"""No word has this number."""
_WEIGHTS = (TITLE_WEIGHT, HEADING_WEIGHT, 1.0, AROUND_WEIGHT)

Numbers = npt.NDArray[np.int32]
Frequencies = npt.NDArray[np.float32]


class Postings(NamedTuple):
    """The passages that hold a term, ascending, and how often they do, by the weights of fields."""

    numbers: Numbers
    frequencies: Frequencies
    """Negative where only what stands around a passage has the term."""

    @property
    def size(self) -> int:
        """In bytes."""
        return self.numbers.nbytes + self.frequencies.nbytes


def weigh(counts: npt.NDArray[np.void]) -> Frequencies:
    """How often a term stands in each passage, added as the embedded store adds it, to the bit."""
    frequency = np.zeros(len(counts), np.float32)
    for name, weight in zip(FIELDS, _WEIGHTS, strict=True):
        frequency += np.float32(weight) * counts[name]
    return frequency


def read(blocks: Iterable[tuple[bool, bytes]]) -> Postings:
    """Of the blocks of one term, in order."""
    parts = [_read(np.frombuffer(data, WIDE if wide else NARROW)) for wide, data in _runs(blocks)]
    if len(parts) == 1:
        return parts[0]
    numbers = [np.empty(0, np.int32), *(part.numbers for part in parts)]
    frequencies = [np.empty(0, np.float32), *(part.frequencies for part in parts)]
    return Postings(np.concatenate(numbers), np.concatenate(frequencies))


def _runs(blocks: Iterable[tuple[bool, bytes]]) -> Iterable[tuple[bool, bytes]]:
    """Neighbours of one width as one."""
    held: list[bytes] = []
    width = False
    for wide, data in blocks:
        if held and wide != width:
            yield width, b"".join(held)
            held = []
        width = wide
        held.append(data)
    if held:
        yield width, b"".join(held)


def _read(records: npt.NDArray[np.void]) -> Postings:
    own = (records["title"] | records["heading"] | records["body"]) > 0
    frequency = weigh(records)
    return Postings(np.ascontiguousarray(records["number"]), np.where(own, frequency, -frequency))
