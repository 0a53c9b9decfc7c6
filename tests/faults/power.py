"""Build the files that a power cut could leave behind, from a record of what SQLite wrote.

What was synced is there. Of everything written since, any part may be: all of it, nothing, the
first few writes, any of them, or any sectors of them. Files appear and vanish in order.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.faults.disk import Entry

Loss = Literal["everything", "nothing", "the last writes", "some writes", "some sectors"]
LOSSES: tuple[Loss, ...] = (
    "everything",
    "nothing",
    "the last writes",
    "some writes",
    "some sectors",
)
_SECTOR = 512
_NAMES = ("create", "unlink", "truncate")


@dataclass(slots=True)
class _File:
    durable: bytearray | None = None
    """None while there is no such file."""
    pending: list[Entry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Cut:
    """A power cut: what the disk holds, and the last thing that the program noted before it."""

    at: int
    loss: Loss
    mark: object
    files: dict[str, bytes]

    def write(self, old: Path, new: Path) -> None:
        """Put the files that were below `old` below `new`, which is emptied first."""
        for file in new.iterdir():
            file.unlink()
        for path, data in self.files.items():
            (new / Path(path).relative_to(old)).write_bytes(data)


def cuts(log: Sequence[Entry], rng: random.Random, count: int) -> Iterator[Cut]:
    """So many power cuts at random places of a record, in order, and each with another loss."""
    places = sorted(rng.choices(range(1, len(log) + 1), k=count))
    files: dict[str, _File] = {}
    mark: object = None
    done = 0
    for n, place in enumerate(places):
        for entry in log[done:place]:
            mark = entry.mark if entry.operation == "mark" else mark
            _follow(files, entry)
        done = place
        loss = LOSSES[n % len(LOSSES)]
        images = {path: _image(file, loss, rng) for path, file in files.items()}
        kept = {path: bytes(data) for path, data in images.items() if data is not None}
        yield Cut(place, loss, mark, kept)


def _follow(files: dict[str, _File], entry: Entry) -> None:
    if entry.operation == "sync directory":
        for path, file in files.items():
            if str(Path(path).parent) == entry.path:
                _sync_name(file)
    elif entry.operation == "sync":
        file = files.setdefault(entry.path, _File())
        file.durable = _applied(file.durable, file.pending)
        file.pending = []
    elif entry.path:
        files.setdefault(entry.path, _File()).pending.append(entry)


def _sync_name(file: _File) -> None:
    """That the file is there, or no longer there, becomes durable; its content does not."""
    for entry in [each for each in file.pending if each.operation in ("create", "unlink")]:
        if entry.operation == "unlink":
            file.pending = file.pending[file.pending.index(entry) + 1 :]
            file.durable = None
        else:
            file.pending.remove(entry)
            file.durable = bytearray() if file.durable is None else file.durable


def _image(file: _File, loss: Loss, rng: random.Random) -> bytearray | None:
    pending = file.pending
    if loss == "everything":
        pending = []
    elif loss == "the last writes":
        pending = pending[: rng.randint(0, len(pending))]
    elif loss != "nothing":
        last = rng.randint(0, len(pending))
        named = [n < last or each.operation not in _NAMES for n, each in enumerate(pending)]
        pending = [each for each, kept in zip(pending, named, strict=True) if kept]
        pending = list(_thinned(pending, loss, rng))
    durable = None if file.durable is None else bytearray(file.durable)
    return _applied(durable, pending)


def _thinned(pending: Iterable[Entry], loss: Loss, rng: random.Random) -> Iterator[Entry]:
    for entry in pending:
        if entry.operation != "write":
            yield entry
        elif loss == "some writes":
            if rng.random() < 0.5:
                yield entry
        else:
            yield from (each for each in _sectors(entry) if rng.random() < 0.5)


def _sectors(entry: Entry) -> Iterator[Entry]:
    at, end = entry.offset, entry.offset + len(entry.data)
    while at < end:
        stop = min(end, (at // _SECTOR + 1) * _SECTOR)
        piece = entry.data[at - entry.offset : stop - entry.offset]
        yield Entry("write", entry.path, at, piece)
        at = stop


def _applied(data: bytearray | None, entries: Iterable[Entry]) -> bytearray | None:
    for entry in entries:
        if entry.operation == "unlink":
            data = None
        elif entry.operation == "create":
            data = bytearray()
        elif data is not None and entry.operation == "truncate":
            del data[entry.offset :]
            data.extend(bytes(entry.offset - len(data)))
        elif data is not None:
            data.extend(bytes(max(0, entry.offset - len(data))))
            data[entry.offset : entry.offset + len(entry.data)] = entry.data
    return data
