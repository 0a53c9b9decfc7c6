"""The new passages of a commit in, blocks of postings out.

Runs in the transaction of the commit, which is the only one of its repository: the last block of a
term is filled up, then blocks are added, so a term's blocks stay few however small the commits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sourcebook.stores.bm25 import concatenate
from sourcebook.stores.postgres.postings_codec import LENGTH, LENGTHS, NARROW, WIDE, weigh
from sourcebook.stores.postgres.search_statements import Session, change, run
from sourcebook.stores.postings import FIELDS

WHOLE = 3
"""The part of chunks that are whole documents, which are in two lanes."""
_BLOCK = 1920
"""Bytes: a row of this size is not cut up (TOAST), so it is read in one piece."""
_ROWS = 5000
"""Written by one statement."""
_NARROW = 255


class Block(NamedTuple):
    term: int
    first: int
    last: int
    wide: bool
    data: bytes


class Tail(NamedTuple):
    """The last block of a term."""

    first: int
    wide: bool
    bytes: int


Indexed = tuple[int, int, bool, bytes]
"""A passage's number, its resolution, whether it is all of its document, and its counts as
postings.encode_counts gives them."""


def index_passages(session: Session, repository: int, passages: Sequence[Indexed]) -> None:
    """In ascending order of their numbers."""
    parts: dict[int, tuple[list[int], list[bytes]]] = {}
    for number, resolution, whole, terms in passages:
        part = WHOLE if whole and resolution == 2 else resolution
        numbers, blobs = parts.setdefault(part, ([], []))
        numbers.append(number)
        blobs.append(terms)
    for part, (numbers, blobs) in parts.items():
        groups = list(_groups(np.array(numbers, np.int32), blobs))
        _append(session, repository, part, groups)


def _groups(numbers: npt.NDArray[np.int32], blobs: Sequence[bytes]) -> Iterator[Block]:
    """All that is new of each term, as one block each; the lengths first."""
    counts, sizes = concatenate(blobs)
    of = np.repeat(np.arange(len(numbers)), sizes)
    lengths = np.zeros(len(numbers), LENGTH)
    lengths["number"] = numbers
    lengths["length"] = np.bincount(of, weigh(counts), len(numbers))
    yield Block(LENGTHS, int(numbers[0]), int(numbers[-1]), True, lengths.tobytes())
    order = np.argsort(counts["term"], kind="stable")
    counts, holders = counts[order], numbers[of[order]]
    most = np.maximum.reduce([counts[name] for name in FIELDS]) if len(counts) else counts["term"]
    narrow, wide = (_packed(dtype, holders, counts) for dtype in (NARROW, WIDE))
    starts = np.flatnonzero(np.diff(counts["term"], prepend=-1))
    ends = np.append(starts, len(counts))[1:]
    widest = np.maximum.reduceat(most, starts) if len(starts) else most
    for start, end, term, top in zip(
        starts.tolist(), ends.tolist(), counts["term"][starts].tolist(), widest, strict=True
    ):
        packed = wide if top > _NARROW else narrow
        first, last = int(holders[start]), int(holders[end - 1])
        yield Block(term, first, last, top > _NARROW, packed[start:end].tobytes())


def _packed(
    dtype: np.dtype[np.void], numbers: npt.NDArray[np.int32], counts: npt.NDArray[np.void]
) -> npt.NDArray[np.void]:
    packed = np.empty(len(counts), dtype)
    packed["number"] = numbers
    for name in FIELDS:
        packed[name] = counts[name]
    return packed


def _append(session: Session, repository: int, part: int, groups: list[Block]) -> None:
    found = run(session, "tails", repository, {"part": part, "terms": [g.term for g in groups]})
    tails = {term: Tail(*rest) for term, *rest in found}
    longer: list[Block] = []
    new: list[Block] = []
    for group in groups:
        tail = tails.get(group.term)
        fits, *rest = _cut(group, tail)
        if fits.data and tail is not None:
            longer.append(fits._replace(first=tail.first))
        new.extend(rest)
    for at in range(0, len(longer), _ROWS):
        write_blocks(session, "append_blocks", repository, part, longer[at : at + _ROWS])
    for at in range(0, len(new), _ROWS):
        write_blocks(session, "add_blocks", repository, part, new[at : at + _ROWS])


def _cut(group: Block, tail: Tail | None) -> Iterator[Block]:
    """What still goes into the tail, maybe nothing, then whole blocks."""
    width = (WIDE if group.wide else NARROW).itemsize
    free = _BLOCK - tail.bytes if tail is not None and tail.wide == group.wide else 0
    at = 0
    end = max(free // width, 0) * width
    while True:
        data = group.data[at:end]
        numbers = np.frombuffer(data, WIDE if group.wide else NARROW)["number"]
        first, last = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (0, 0)
        yield Block(group.term, first, last, group.wide, data)
        at, end = min(end, len(group.data)), end + _BLOCK // width * width
        if at >= len(group.data):
            return


def write_blocks(
    session: Session, name: str, repository: int, part: int, blocks: list[Block]
) -> None:
    terms, firsts, lasts, widths, data = (list(column) for column in zip(*blocks, strict=True))
    columns = {"terms": terms, "firsts": firsts, "lasts": lasts, "widths": widths, "data": data}
    change(session, name, repository, {"part": part, **columns})
