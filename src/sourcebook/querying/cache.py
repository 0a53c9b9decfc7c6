"""Values by key, the newest kept, none for longer than a while. Any thread may call.

An answer at a revision is a pure function of its key once it is complete, so a cache cannot make
it wrong; time and size bound the memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    def __init__(self, size: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._size, self._seconds, self._clock = size, seconds, clock
        self._held: OrderedDict[Hashable, tuple[float, V]] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = self.misses = 0

    def get(self, key: Hashable) -> V | None:
        with self._lock:
            held = self._held.get(key)
            if held is not None and self._clock() >= held[0]:
                del self._held[key]
                held = None
            if held is None:
                self.misses += 1
                return None
            self.hits += 1
            self._held.move_to_end(key)
            return held[1]

    def put(self, key: Hashable, value: V) -> None:
        with self._lock:
            self._held[key] = (self._clock() + self._seconds, value)
            self._held.move_to_end(key)
            while len(self._held) > self._size:
                self._held.popitem(last=False)

    def __len__(self) -> int:
        return len(self._held)
