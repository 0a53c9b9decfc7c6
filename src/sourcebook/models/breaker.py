"""The outcomes of calls to one service in, whether to ask it again out.

After a few failures in a row nobody asks for a while, so that a dead service costs its users one
timeout and not one a question. Then one call goes through: if it succeeds, all may ask again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Breaker:
    """Safe in many threads."""

    def __init__(self, failures: int, cool_down_s: float, clock: Callable[[], float]) -> None:
        self.failures = failures
        self._cool_down = cool_down_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = 0
        self._until = 0.0

    def closed_for(self) -> float:
        """Seconds until the service may be asked; 0 means now. The first to come after a pause
        closes the way behind it, until its own outcome is known or the pause has passed again."""
        with self._lock:
            if self._failed < self.failures:
                return 0.0
            now = self._clock()
            if now < self._until:
                return self._until - now
            self._until = now + self._cool_down
            return 0.0

    def succeeded(self) -> None:
        with self._lock:
            self._failed = 0

    def failed(self) -> None:
        with self._lock:
            self._failed += 1
            self._until = self._clock() + self._cool_down
