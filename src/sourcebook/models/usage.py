"""What was embedded in; how much it was in all, and what it cost, out."""

from __future__ import annotations

import threading

from sourcebook.ports import Usage


class Meter:
    """Adds up. Safe in many threads."""

    def __init__(self, price: float | None) -> None:
        """`price` is that of a million tokens; None where it is not known."""
        self._price = price
        self._lock = threading.Lock()
        self._sums = (0, 0, 0)

    def add(self, *, requests: int = 0, texts: int, tokens: int) -> None:
        with self._lock:
            before = self._sums
            self._sums = (before[0] + requests, before[1] + texts, before[2] + tokens)

    @property
    def total(self) -> Usage:
        requests, texts, tokens = self._sums
        cost = None if self._price is None else tokens * self._price / 1e6
        return Usage(requests, texts, tokens, cost)
