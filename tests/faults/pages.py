"""Find out what a byte of a SQLite file belongs to: which table or index, and which column.

The flip campaign reports by this which kinds of damage an answer did not notice. The format is
described at https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_LEAF_TABLE, _INNER_TABLE, _LEAF_INDEX, _INNER_INDEX = 13, 5, 10, 2
_POINTER = {_INNER_TABLE: 4, _INNER_INDEX: 4, _LEAF_TABLE: 0, _LEAF_INDEX: 0}


@dataclass(slots=True)
class Layout:
    """The spans of a file that hold something, as (start, end, what); the rest is unused."""

    size: int
    spans: list[tuple[int, int, str]] = field(default_factory=list)

    def at(self, offset: int) -> str:
        """What lies there; the narrowest span that was found."""
        found = [span for span in self.spans if span[0] <= offset < span[1]]
        return min(found, key=lambda span: span[1] - span[0])[2] if found else "unused space"


def layout(path: Path) -> Layout:
    """Walk every tree of the file."""
    data = path.read_bytes()
    page = int.from_bytes(data[16:18], "big") or 0
    reader = _Reader(data, 65536 if page == 1 else page, Layout(len(data)))
    reader.spans.append((0, 100, "file header"))
    reader.walk(1, "sqlite_schema", ["type", "name", "tbl_name", "rootpage", "sql"])
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as db:
        trees = db.execute("SELECT name, rootpage, type FROM sqlite_schema WHERE rootpage > 0")
        for name, root, kind in trees.fetchall():
            reader.walk(root, f"{kind} {name}", list(_columns(db, name, kind)))
    db.close()
    return reader.layout


def _columns(db: sqlite3.Connection, name: str, kind: str) -> Iterator[str]:
    """The columns in the order in which a record of the tree holds them."""
    if kind == "index":
        for row in db.execute(f'PRAGMA index_xinfo("{name}")').fetchall():
            yield row[2] or "rowid"
        return
    rows = db.execute(f'PRAGMA table_info("{name}")').fetchall()
    keys = sorted((row for row in rows if row[5]), key=lambda row: row[5])
    (sql,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    if "WITHOUT ROWID" in sql:
        rows = keys + [row for row in rows if not row[5]]
    yield from (row[1] for row in rows)


class _Reader:
    def __init__(self, data: bytes, page: int, layout: Layout) -> None:
        self.data, self.page, self.layout = data, page, layout
        self.spans = layout.spans
        self.usable = page - data[20]

    def walk(self, number: int, owner: str, columns: list[str]) -> None:
        start = (number - 1) * self.page
        head = start + (100 if number == 1 else 0)
        kind = self.data[head]
        inner = _POINTER[kind] > 0
        cells = self._integer(head + 3, 2)
        first = head + (12 if inner else 8)
        self.spans.append((head, first + 2 * cells, f"{owner}: page header and cell pointers"))
        for n in range(cells):
            cell = start + self._integer(first + 2 * n, 2)
            if inner:
                self.spans.append((cell, cell + 4, f"{owner}: child pointer"))
                self.walk(self._integer(cell, 4), owner, columns)
            self._cell(cell + _POINTER[kind], kind, owner, columns)
        if inner:
            self.walk(self._integer(head + 8, 4), owner, columns)

    def _cell(self, at: int, kind: int, owner: str, columns: list[str]) -> None:
        if kind == _INNER_TABLE:
            _, end = self._varint(at)
            self.spans.append((at, end, f"{owner}: rowid of an inner page"))
            return
        size, end = self._varint(at)
        self.spans.append((at, end, f"{owner}: size of a cell"))
        if kind == _LEAF_TABLE:
            at = end
            _, end = self._varint(at)
            self.spans.append((at, end, f"{owner}: rowid"))
        self._record(self._payload(end, size, kind, owner), owner, columns)

    def _payload(self, at: int, size: int, kind: int, owner: str) -> list[tuple[int, int]]:
        """Where the bytes of a record lie, as (start, end)."""
        most = self.usable - 35 if kind == _LEAF_TABLE else (self.usable - 12) * 64 // 255 - 23
        least = (self.usable - 12) * 32 // 255 - 23
        if size <= most:
            return [(at, at + size)]
        local = least + (size - least) % (self.usable - 4)
        local = local if local <= most else least
        parts, left, link = [(at, at + local)], size - local, at + local
        while left > 0:
            self.spans.append((link, link + 4, f"{owner}: overflow pointer"))
            link = (self._integer(link, 4) - 1) * self.page
            taken = min(left, self.usable - 4)
            parts.append((link + 4, link + 4 + taken))
            left -= taken
        return parts

    def _record(self, parts: list[tuple[int, int]], owner: str, columns: list[str]) -> None:
        head, at = self._varint(parts[0][0])
        start, types = parts[0][0], []
        while at < start + head:
            kind, at = self._varint(at)
            types.append(kind)
        self.spans.append((start, start + head, f"{owner}: record header"))
        position = head
        for name, kind in zip(columns, types, strict=False):
            size = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)[kind] if kind < 10 else (kind - 12) // 2
            self._column(parts, position, position + size, f"{owner}.{name}")
            position += size

    def _column(self, parts: list[tuple[int, int]], first: int, last: int, name: str) -> None:
        before = 0
        for start, end in parts:
            low, high = max(first, before), min(last, before + end - start)
            if low < high:
                self.spans.append((start + low - before, start + high - before, name))
            before += end - start

    def _integer(self, at: int, size: int) -> int:
        return int.from_bytes(self.data[at : at + size], "big")

    def _varint(self, at: int) -> tuple[int, int]:
        value = 0
        for n in range(8):
            byte = self.data[at + n]
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value, at + n + 1
        return value << 8 | self.data[at + 8], at + 9
