"""What was read of the store a while ago, bounded in bytes; the one not used for longest goes.

What is kept are facts about passages, which never change: the passages that hold a term, that have
a metadata value, that have a vector. Numbers of passages rise with revisions, so what was read for
an earlier revision is only ever added to.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")
_LOCKS = 16
_OVERHEAD = 500
"""Bytes that anything kept takes beside its size."""


class Known(NamedTuple, Generic[Kept]):
    """All that the store says of passages up to a number."""

    value: Kept
    upto: int


class Cache(Generic[Key, Kept]):
    def __init__(self, most: int, size: Callable[[Kept], int]) -> None:
        self._most = most
        self._size = size
        self._bytes = 0
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._making = [threading.Lock() for _ in range(_LOCKS)]

    def making(self, key: Hashable) -> threading.Lock:
        """Held while a value is made that takes long: who wants the same one waits for it."""
        return self._making[hash(key) % _LOCKS]

    def get(self, key: Key) -> Kept | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Key, value: Kept) -> None:
        with self._lock:
            self._forget(key)
            self._kept[key] = value
            self._bytes += self._size(value) + _OVERHEAD
            while self._bytes > self._most and len(self._kept) > 1:
                self._forget(next(iter(self._kept)))

    def names(self) -> list[Key]:
        with self._lock:
            return list(self._kept)

    def forget(self, key: Key) -> None:
        with self._lock:
            self._forget(key)

    def _forget(self, key: Key) -> None:
        if key in self._kept:
            self._bytes -= self._size(self._kept.pop(key)) + _OVERHEAD
