"""Who waits for the work that runs here: asked between its stages, and while a database works, so
that nothing more is done for somebody who went away or whose time is up.

Whoever serves a request sets how to know; where nobody did, the work is always wanted. What a
thread is started for belongs to who started it only where the context is handed on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import NamedTuple


class _Known(NamedTuple):
    check: Callable[[], None]
    deadline: float | None
    on_leave: Callable[[Callable[[], None]], AbstractContextManager[None]] | None


_known: ContextVar[_Known | None] = ContextVar("asker", default=None)


@contextmanager
def known_by(
    check: Callable[[], None],
    deadline: float | None = None,
    on_leave: Callable[[Callable[[], None]], AbstractContextManager[None]] | None = None,
) -> Iterator[None]:
    """Inside, `still_waits` is this: it raises what the asker would be told. `deadline` is by
    time.monotonic; `on_leave` has something called, while a block runs, if the asker leaves."""
    token = _known.set(_Known(check, deadline, on_leave))
    try:
        yield
    finally:
        _known.reset(token)


def still_waits() -> None:
    """Raises where nobody does."""
    known = _known.get()
    if known is not None:
        known.check()


def gone() -> bool:
    """Whether nobody waits any more."""
    try:
        still_waits()
    except Exception:  # noqa: BLE001  whatever the asker would be told
        return True
    return False


def remaining_s() -> float | None:
    """Until the time is up; None where it never is."""
    known = _known.get()
    if known is None or known.deadline is None:
        return None
    return max(known.deadline - time.monotonic(), 0.0)


def on_leave(call: Callable[[], None]) -> AbstractContextManager[None]:
    """Inside, this is called once if the asker leaves, from any thread; it must return at once."""
    known = _known.get()
    if known is None or known.on_leave is None:
        return nullcontext()
    return known.on_leave(call)
