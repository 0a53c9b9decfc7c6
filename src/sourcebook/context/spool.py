"""Items in, the same items out again later: by way of a temporary file, so that a corpus that must
be read to its end before it is committed does not have to fit into memory.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Spool(Generic[T]):
    """Add first, then iterate. The file has no name, and is gone when the block ends."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 (closed by __exit__)
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, item: T) -> None:
        pickle.dump(item, self._file, pickle.HIGHEST_PROTOCOL)
        self._count += 1

    def __iter__(self) -> Iterator[T]:
        self._file.seek(0)
        for _ in range(self._count):
            yield pickle.load(self._file)
