"""Let one I/O of an operation fail, or cut the power, and judge what is left.

A fault is tried at every n-th I/O until the operation ends before it comes to the n-th. For power
cuts a history is recorded once, with what could be read after each operation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sourcebook import Sourcebook
from sourcebook.errors import SourcebookError
from tests.faults.disk import Disk, Fault, Kind
from tests.faults.power import Cut, cuts
from tests.faults.world import (
    EMPTY,
    State,
    World,
    beside,
    ingest,
    problems,
    retain,
    state,
    vacuum,
    work,
)
from tests.faults.world import Operation as Work


@dataclass(slots=True)
class Outcome:
    """What came of an operation in which one I/O failed."""

    operation: str
    fault: Fault
    count: int = 0
    """How many I/Os there were until it ended."""
    reached: bool = False
    """Whether the fault happened before the operation ended."""
    error: str = ""
    """The typed error that came; empty if the operation succeeded in spite of the fault."""
    problems: list[str] = field(default_factory=list)


def every(
    world: World, operation: Work, disk: Disk, kind: Kind, *, lasting: bool = False, step: int = 1
) -> Iterator[Outcome]:
    """The operation with a fault at the first I/O, the next one (or `step` later), and so on."""
    nth, reached = 1, True
    while reached:
        outcome = broken(world, operation, disk, Fault(nth, kind, lasting))
        reached = outcome.reached
        if reached:
            yield outcome
        nth += step


def broken(world: World, operation: Work, disk: Disk, fault: Fault) -> Outcome:
    """One operation with one fault: what it reports, what can be read then, here and after a crash,
    and whether it can be repeated."""
    path = disk.folder / "store.db"
    world.start(operation, path)
    outcome = Outcome(operation.name, fault)
    engine: Sourcebook | None = None
    try:
        with disk.failing(fault):
            try:
                engine = world.engine(path)
                operation.run(engine, world)
            except SourcebookError as error:
                outcome.error = f"{type(error).__name__}: {error}"
            except Exception as error:  # noqa: BLE001  that it is not typed is what is reported
                outcome.problems.append(f"untyped {type(error).__name__}: {error}")
        outcome.count, outcome.reached = disk.count, disk.failed > 0
        _judge(world, operation, outcome, path, engine)
    finally:
        if engine is not None:
            engine.close()
    _compare(world, operation, outcome, path, "at the end", done=True)
    return outcome


def _judge(
    world: World, operation: Work, outcome: Outcome, path: Path, engine: Sourcebook | None
) -> None:
    done = not outcome.error and not outcome.problems
    if path.exists():
        with beside(path, world.folder / "crashed") as crashed:
            _compare(world, operation, outcome, crashed, "after a crash", done=done)
    if engine is None:
        engine = world.engine(path)
        _repeat(world, operation, outcome, engine)
        engine.close()
        return
    found = state(engine)
    wrong = problems(
        found, world.before(operation), world.after(operation), steps=operation.steps, done=done
    )
    outcome.problems += [f"in the same process: {each}" for each in wrong]
    _repeat(world, operation, outcome, engine)


def _repeat(world: World, operation: Work, outcome: Outcome, engine: Sourcebook) -> None:
    try:
        operation.run(engine, world)
    except SourcebookError as error:
        outcome.problems.append(f"cannot be repeated: {type(error).__name__}: {error}")


def _compare(
    world: World, operation: Work, outcome: Outcome, path: Path, when: str, *, done: bool
) -> None:
    try:
        with world.engine(path) as engine:
            found = state(engine)
    except SourcebookError as error:
        outcome.problems.append(f"{when}: {type(error).__name__}: {error}")
        return
    wrong = problems(
        found, world.before(operation), world.after(operation), steps=operation.steps, done=done
    )
    outcome.problems += [f"{when}: {each}" for each in wrong]


# --- power cuts ----------------------------------------------------------------------------------


@dataclass(slots=True)
class History:
    """A recorded history: after step n the store said what `states[n]` holds."""

    disk: Disk
    states: list[State] = field(default_factory=lambda: [EMPTY])

    def reached(self, engine: Sourcebook) -> None:
        """The operation was acknowledged."""
        self.disk.mark(len(self.states))
        self.states.append(state(engine))


def record(world: World, disk: Disk, rounds: int = 4) -> History:
    """A life of a store: it is made, grows, is embedded, named, searched, thinned out, compacted,
    closed and opened again."""
    path, history = disk.folder / "store.db", History(disk)
    disk.record = True
    for number in range(rounds):
        with world.engine(path) as engine:
            if number == 0:
                history.reached(engine)
            for step in _round(number):
                step(engine, world)
                history.reached(engine)
            engine.search("members")
            engine.status()  # which also writes the log of questions
    disk.record = False
    return history


def _round(number: int) -> list[Callable[[Sourcebook, World], object]]:
    steps: list[Callable[[Sourcebook, World], object]] = []
    for each in (1, 2, 3):
        steps += [lambda e, w, each=each: ingest(e, w, each), work]
        steps.append(lambda e, w, each=each: e.create_baseline(f"{number} {each}"))
    return [*steps, retain, *([vacuum] if number % 2 else [])]


def lost_power(
    world: World, history: History, rng: random.Random, count: int
) -> Iterator[tuple[Cut, list[str]]]:
    """So many power cuts, each with what is wrong then."""
    folder = world.folder / "after the cut"
    folder.mkdir(exist_ok=True)
    for cut in cuts(history.disk.log, rng, count):
        cut.write(history.disk.folder, folder)
        last = cut.mark if isinstance(cut.mark, int) else 0
        before = history.states[last]
        after = history.states[min(last + 1, len(history.states) - 1)]
        try:
            with world.engine(folder / "store.db") as engine:
                wrong = problems(state(engine), before, after, steps=True, done=False)
                ingest(engine, world, 1)
        except SourcebookError as error:
            wrong = [f"{type(error).__name__}: {error}"]
        yield cut, wrong


# --- a damaged log -------------------------------------------------------------------------------


def with_log(world: World, folder: Path) -> tuple[Path, History]:
    """A store whose last commits lie in SQLite's log, as a killed process leaves them."""
    path, history = folder / "logged.db", History(Disk(folder))
    with world.engine(path) as engine:
        history.reached(engine)
    with world.engine(path) as engine:
        for number in (1, 2, 3):
            ingest(engine, world, number)
            history.reached(engine)
            work(engine, world)
            history.reached(engine)
        with beside(path, folder / "killed") as killed:
            return killed, history


def damaged_logs(
    world: World, path: Path, history: History, rng: random.Random, count: int
) -> Iterator[tuple[str, list[str]]]:
    """The log is cut off or one of its bytes is changed; what is found then must be what the store
    held after one of its commits, whole."""
    log = path.with_name(f"{path.name}-wal")
    base, logged = path.read_bytes(), log.read_bytes()
    for n in range(count):
        at, damaged = rng.randrange(len(logged)), bytearray(logged)
        damaged[at] ^= rng.randrange(1, 256)
        path.write_bytes(base)
        log.write_bytes(damaged[:at] if n % 2 else damaged)
        try:
            with world.engine(path) as engine:
                found = state(engine)
        except SourcebookError as error:
            wrong = [f"{type(error).__name__}: {error}"]
        else:
            wrong = _no_moment(found, history)
        yield f"{'cut' if n % 2 else 'changed'} at byte {at}", wrong


def _no_moment(found: State, history: History) -> list[str]:
    """Why there was no moment at which the store was in this state; empty if there was one."""
    pairs = zip(history.states, history.states[1:], strict=False)
    wrong = [problems(found, one, other, steps=True, done=False) for one, other in pairs]
    return min(wrong, key=len)
