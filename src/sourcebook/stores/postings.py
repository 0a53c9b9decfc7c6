"""Term ids of a passage's fields in, the two blobs that full-text search reads out.

The table of counts scores a passage without its text; the sequence of ids proves that a phrase
stands in it. Both are little-endian, so a store can move between machines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FIELDS = ("title", "heading", "body", "around")
TERM = np.dtype([("term", "<i4"), *((name, "<u2") for name in FIELDS)])
BETWEEN_FIELDS = -1
"""Stands between two fields, where no phrase can match: no term has this id."""
_MOST = 0xFFFF
_FORMAT_1 = np.dtype([("term", "<i4"), *((name, "<u2") for name in FIELDS[:3])])


def encode_counts(*fields: Sequence[int]) -> bytes:
    """Of the term ids of all FIELDS in order: one TERM record a distinct term, in ascending order
    of id; counts stop at 65535."""
    ids = np.array([term for field in fields for term in field], np.int32)
    terms, places = np.unique(ids, return_inverse=True)
    table = np.zeros(len(terms), TERM)
    table["term"] = terms
    start = 0
    for name, field in zip(FIELDS, fields, strict=True):
        found = np.bincount(places[start : start + len(field)], minlength=len(terms))
        table[name] = np.minimum(found, _MOST)
        start += len(field)
    return table.tobytes()


def widened(counts: bytes) -> bytes:
    """A table of counts of format 1, which knew nothing of what stands around, in today's."""
    old = np.frombuffer(counts, _FORMAT_1)
    table = np.zeros(len(old), TERM)
    for name in ("term", *FIELDS[:3]):
        table[name] = old[name]
    return table.tobytes()


def encode_tokens(title: Sequence[int], heading: Sequence[int], body: Sequence[int]) -> bytes:
    """The ids in order, field after field."""
    between = (BETWEEN_FIELDS,)
    return np.array([*title, *between, *heading, *between, *body], "<i4").tobytes()
