"""Progress bars on stderr, and only where stderr is a terminal: logs and pipes stay clean."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed

from sourcebook.serve.render import error_console


class Bars:
    """One bar a step, made when the step is first heard of."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def step(self, name: str, done: int, total: int | None) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[name], completed=done, total=total)

    def say(self, line: str) -> None:
        self._progress.print(line)


@contextmanager
def bars() -> Iterator[Bars | None]:
    """Bars while the block runs, gone when it ends; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description:<10}", markup=False), BarColumn())
    counted = (MofNCompleteColumn(), Elapsed())
    with Progress(*columns, *counted, console=error_console(), transient=True) as progress:
        yield Bars(progress)
