"""Who waits for the work that runs here: asked between its stages, so that nothing more is done for
somebody who went away or whose time is up.

Whoever serves a request sets how to know; where nobody did, the work is always wanted. What a
thread is started for belongs to who started it only where the context is handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], None] | None] = ContextVar("asker", default=None)


@contextmanager
def known_by(check: Callable[[], None]) -> Iterator[None]:
    """Inside, `still_waits` is this: it raises what the asker would be told."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def still_waits() -> None:
    """Raises where nobody does."""
    check = _check.get()
    if check is not None:
        check()
