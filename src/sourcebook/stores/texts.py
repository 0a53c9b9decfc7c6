"""Texts that were read lately, bounded by their characters: the chunks of one answer often come
from few documents."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

Key = Hashable


class TextCache:
    def __init__(self, limit: int = 64_000_000) -> None:
        self._limit = limit
        self._size = 0
        self._texts: OrderedDict[Key, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, read: Callable[[], str]) -> str:
        """The text of that key, read if it is not here. Reading happens outside the lock."""
        text = self.held(key)
        if text is None:
            text = read()
            self.keep(key, text)
        return text

    def held(self, key: Key) -> str | None:
        with self._lock:
            if key in self._texts:
                self._texts.move_to_end(key)
            return self._texts.get(key)

    def keep(self, key: Key, text: str) -> None:
        with self._lock:
            if key in self._texts or len(text) > self._limit:
                return
            self._texts[key] = text
            self._size += len(text)
            while self._size > self._limit:
                _, dropped = self._texts.popitem(last=False)
                self._size -= len(dropped)
