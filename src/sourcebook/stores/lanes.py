"""A lane: the passages of one resolution that one revision shows to a reader, laid out for search.

A lane is a pure function of the rows that the reader sees, in order of node id (which therefore
breaks ties), so equal revisions give equal answers, and what a reader may not see moves nothing:
no rank, no score, no count. It is derived and in memory: built from the store, or from a lane of a
near revision by what differs between the two, in either direction of time.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sourcebook.ports import Vectors
from sourcebook.stores import checksums
from sourcebook.stores.bm25 import Postings
from sourcebook.stores.cosine import Cosine
from sourcebook.stores.labels import View
from sourcebook.stores.postings import TERM
from sourcebook.stores.queries import QUERIES

Rows = npt.NDArray[np.int64]
Objects = npt.NDArray[np.object_]
_STEP = 1 << 22
"""Bytes of terms or vectors read at a time, or a row if that has more. SQLite builds no value
beyond a billion; so the ids of a lane's nodes must not take more than that either."""
_MUCH = 4
"""From this part of a space on it is read as a whole."""
_MAPPED = 1 << 40
"""As much of a file as SQLite will map: it has a limit of its own."""


@dataclass(frozen=True)
class Columns:
    """The stored passages of a lane, one array a column, in order of node id."""

    rows: Rows
    node_ids: Objects
    element_ids: Objects
    ancestors: Objects
    hashes: Objects
    records: npt.NDArray[np.void]
    counts: npt.NDArray[np.int64]
    damaged: tuple[tuple[int, str], ...] = ()
    """(row, document) of passages whose terms do not match their checksum: they are left out."""

    @classmethod
    def read(cls, db: sqlite3.Connection, repository: int, shown: tuple[str, ...]) -> Columns:
        """`shown` are JSON lists: the passages' nodes, their rows, and the sizes of their terms."""
        found = sorted(zip(*map(json.loads, shown), strict=True))
        nodes, rows, sizes = zip(*found, strict=True) if found else ((),) * 3
        steps = np.flatnonzero(np.diff(np.cumsum(sizes) // _STEP)) + 1
        parts = []
        for some in np.split(np.array(rows, np.int64), steps):
            asked = {"repository": repository, "rows": json.dumps(some.tolist())}
            parts.append(db.execute(QUERIES["lane_columns"], asked).fetchone())
        elements, ancestors, hashes, terms, checksums = zip(*parts, strict=True)
        names = (nodes, _joined(elements), _joined(ancestors), _joined(hashes))
        data = b"".join(filter(None, terms))
        wrong = _damaged(names, sizes, data, _joined(checksums))
        columns = cls(
            np.array(rows, np.int64),
            _objects(names[0]),
            _objects(names[1]),
            _objects(names[2]),
            _objects(names[3]),
            records=np.frombuffer(data, TERM),
            counts=np.array(sizes, np.int64) // TERM.itemsize,
        )
        return columns.without(wrong) if wrong else columns

    def without(self, wrong: list[int]) -> Columns:
        """These columns without the passages at some places, which are damaged."""
        lost = tuple((int(self.rows[n]), str(self.element_ids[n])) for n in wrong)
        empty = Columns(*(column[:0] for column in self._arrays()))
        return replace(self.replaced(self.rows[wrong], empty), damaged=lost)

    def _arrays(self) -> tuple[Any, ...]:
        names = (self.rows, self.node_ids, self.element_ids, self.ancestors, self.hashes)
        return (*names, self.records, self.counts)

    def replaced(self, gone: Rows, new: Columns) -> Columns:
        """These columns without the passages `gone` and with the `new` ones."""
        stay = ~np.isin(self.rows, gone)
        names = ("rows", "node_ids", "element_ids", "ancestors", "hashes")
        merged = {n: np.concatenate([getattr(self, n)[stay], getattr(new, n)]) for n in names}
        counts = np.concatenate([self.counts[stay], new.counts])
        records = np.concatenate([self.records[np.repeat(stay, self.counts)], new.records])
        order = np.argsort(merged["node_ids"], kind="stable")
        starts = np.cumsum(counts) - counts
        return Columns(
            **{n: column[order] for n, column in merged.items()},
            records=records[_spans(starts[order], counts[order])],
            counts=counts[order],
            damaged=tuple(d for d in self.damaged if d[0] not in set(gone.tolist())) + new.damaged,
        )


@dataclass
class Lane:
    columns: Columns
    vectors: dict[int, Filled] = field(default_factory=dict)
    """By space."""
    filling: threading.Lock = field(default_factory=threading.Lock)

    def __len__(self) -> int:
        return len(self.columns.rows)

    @cached_property
    def postings(self) -> Postings:
        return Postings.build(self.columns.records, self.columns.counts)

    @cached_property
    def by_passage(self) -> tuple[Rows, Rows]:
        """Passage rows in ascending order, and the lane row of each."""
        order = np.argsort(self.columns.rows)
        return self.columns.rows[order], order

    @cached_property
    def inside(self) -> dict[str, Rows]:
        """For each node, the lane rows of the passages in it."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for row, ancestors in enumerate(self.columns.ancestors):
            for node in json.loads(ancestors):
                found[node].append(row)
        return {node: np.array(rows, np.int64) for node, rows in found.items()}

    def locate(self, passages: Rows) -> Rows:
        """Lane rows of these passages, ascending, as far as they are in the lane."""
        known, order = self.by_passage
        at = np.searchsorted(known, passages)
        at[at == len(known)] = 0
        hit = known[at] == passages if len(known) else np.zeros(len(passages), bool)
        return np.sort(order[at[hit]])

    def rows_of(self, passages: Rows) -> Rows:
        """The lane row of each of these passages, all of which must be in the lane."""
        known, order = self.by_passage
        return np.asarray(order[np.searchsorted(known, passages)])


class Named(NamedTuple):
    """Vectors by the hash of their texts, a row each."""

    hashes: list[str]
    vectors: Vectors


@dataclass(frozen=True)
class Filled:
    """The vectors of a lane in one space. `seen` is the space's count when they were read."""

    cosine: Cosine
    lane_rows: Rows
    """The lane row of each vector."""
    position: Rows
    """The vector of each lane row, -1 where there is none."""
    seen: int
    damaged: tuple[str, ...] = ()
    """The hashes of texts whose vectors do not match their checksum: they are left out."""


def load(db: sqlite3.Connection, view: View, resolution: int, revision: int) -> Lane:
    values = {**view._asdict(), "resolution": resolution, "revision": revision}
    with _reading(db):
        shown = db.execute(QUERIES["lane"], values).fetchone()
        return Lane(Columns.read(db, view.repository, shown))


def derive(
    db: sqlite3.Connection, near: Lane, view: View, resolution: int, old: int, new: int
) -> Lane:
    """The lane of revision `new` from that of revision `old`."""
    values = {**view._asdict(), "resolution": resolution}
    forward = values | {"revision": new, "other": old}
    backward = values | {"revision": old, "other": new}
    with _reading(db):
        shown = db.execute(QUERIES["lane_difference"], forward).fetchone()
        added = Columns.read(db, view.repository, shown)
        gone = json.loads(db.execute(QUERIES["lane_difference"], backward).fetchone()[1])
    if not gone and not len(added.rows):
        return near
    lane = Lane(near.columns.replaced(np.array(gone, np.int64), added))
    for space, filled in list(near.vectors.items()):
        lane.vectors[space] = _fill(db, lane, space, filled.seen, _known(near, filled))
    return lane


def fill(db: sqlite3.Connection, lane: Lane, space: int) -> Filled:
    """The lane's vectors, read again where some were missing and more have come. Who asks for them
    while they are being read waits."""
    held = lane.vectors.get(space)
    if held is not None and len(held.lane_rows) == len(lane):
        return held
    with lane.filling:
        held = lane.vectors.get(space)
        (seen,) = db.execute(QUERIES["space_vectors"], {"space": space}).fetchone()
        if held is None or held.seen != seen:
            known = _known(lane, held) if held else None
            held = lane.vectors[space] = _fill(db, lane, space, seen, known)
        return held


def _known(lane: Lane, filled: Filled) -> Named:
    return Named(lane.columns.hashes[filled.lane_rows].tolist(), filled.cosine.vectors)


def _fill(db: sqlite3.Connection, lane: Lane, space: int, seen: int, known: Named | None) -> Filled:
    """`known` are vectors that need not be read."""
    hashes = lane.columns.hashes.tolist()
    first = dict(zip(reversed(hashes), reversed(range(len(hashes))), strict=True))
    (dimensions,) = db.execute(QUERIES["space_dimensions"], {"space": space}).fetchone()
    matrix = np.empty((len(lane), dimensions), np.float32)
    there = np.zeros(len(lane), bool)
    missing = first
    if known is not None:
        rows = np.fromiter((first.get(name, -1) for name in known.hashes), np.int64)
        matrix[rows[rows >= 0]] = known.vectors[rows >= 0]
        there[rows[rows >= 0]] = True
        missing = {name: row for name, row in first.items() if not there[row]}
    most = _STEP // (matrix.itemsize * dimensions) + 1
    damaged: list[str] = []
    with _reading(db):
        for names, data, sums in _read(db, space, seen, missing, most):
            rows = np.array([missing.get(name, -1) for name in names], np.int64)
            wrong = _damaged_vectors(data, sums, matrix.itemsize * dimensions)
            damaged += [names[n] for n in wrong if rows[n] >= 0]
            rows[wrong] = -1
            wanted = rows >= 0
            matrix[rows[wanted]] = np.frombuffer(data, np.float32).reshape(-1, dimensions)[wanted]
            there[rows[wanted]] = True
    source = np.fromiter((first[name] for name in hashes), np.int64, len(hashes))
    lane_rows = np.flatnonzero(there[source])
    position = np.full(len(lane), -1, np.int64)
    position[lane_rows] = np.arange(len(lane_rows))
    whole = len(first) == len(lane_rows) == len(lane)
    vectors = matrix if whole else matrix[source[lane_rows]]
    return Filled(Cosine.build(vectors), lane_rows, position, seen, tuple(damaged))


def _read(
    db: sqlite3.Connection, space: int, seen: int, wanted: Collection[str], most: int
) -> Iterator[tuple[list[str], bytes, list[int | None]]]:
    """Hashes, their vectors and the checksums of these, `most` at a time: the whole space where
    much of it is wanted, else one by one in the order of the table, which is far faster than in any
    other."""
    if len(wanted) > seen // _MUCH:
        after = {"space": space, "after": "", "most": most}
        while True:
            names, data, sums = db.execute(QUERIES["whole_space"], after).fetchone()
            if not (some := json.loads(names)):
                return
            yield some, data, json.loads(sums)
            after["after"] = max(some)
    hashes = sorted(wanted)
    for start in range(0, len(hashes), most):
        asked = {"space": space, "hashes": json.dumps(hashes[start : start + most])}
        names, data, sums = db.execute(QUERIES["vectors"], asked).fetchone()
        yield json.loads(names), data or b"", json.loads(sums)


def _damaged(
    names: Sequence[Sequence[str]], sizes: Sequence[int], data: bytes, sums: Sequence[int | None]
) -> list[int]:
    """The places of passages whose terms do not match their checksum."""
    ends = np.cumsum(np.array(sizes, np.int64)).tolist()
    whole = memoryview(data)
    return [
        n
        for n, (checksum, size, end) in enumerate(zip(sums, sizes, ends, strict=True))
        if not checksums.matches(
            checksum,
            checksums.of_terms(
                names[0][n], names[1][n], names[2][n], names[3][n], whole[end - size : end]
            ),
        )
    ]


def _damaged_vectors(data: bytes, sums: Sequence[int | None], width: int) -> list[int]:
    whole = memoryview(data)
    return [
        n
        for n, checksum in enumerate(sums)
        if not checksums.matches(checksum, checksums.of_bytes(whole[n * width : (n + 1) * width]))
    ]


@contextmanager
def _reading(db: sqlite3.Connection) -> Iterator[None]:
    """Much of the store, as of one moment, in a third of the time by mapping the file into memory.
    It is not mapped longer than that: it would count as memory of this process, and end it if
    somebody cut the file off."""
    db.execute("BEGIN")
    try:
        db.execute(f"PRAGMA mmap_size = {_MAPPED}")
        yield
    finally:
        if db.in_transaction:  # Some errors end it.
            db.execute("COMMIT")
        db.execute("PRAGMA mmap_size = 0")


def _joined(lists: Sequence[str]) -> list[Any]:
    """JSON lists as one."""
    return [value for some in lists for value in json.loads(some)]


def _objects(values: Sequence[str]) -> Objects:
    column = np.empty(len(values), object)
    column[:] = values
    return column


def _spans(starts: Rows, counts: npt.NDArray[np.int64]) -> Rows:
    """The numbers start, start+1, … of every span, one after the other."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) + np.repeat(starts - (ends - counts), counts))
