"""Walls between tenants, repositories and roles, tried in generated worlds: a surface in, what
leaked out.

Each world is written twice: as it is, and without everything that its reader may not see. Whatever
the reader asks, of its own or of others' things, must be told the same on both sides, to the byte,
and no word of others. See docs/isolation.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random
from time import perf_counter
from typing import NamedTuple

from sourcebook.model import Json, Scope
from sourcebook.testing.build import Built, build, happen, look
from sourcebook.testing.generate import generate
from sourcebook.testing.observe import Kind, Leak, difference, foreign, plain
from sourcebook.testing.past import Past
from sourcebook.testing.questions import AT, KEY, asking
from sourcebook.testing.surface import EngineSurface, Request, Surface, to_json
from sourcebook.testing.worlds import CANARY, Event, Reader, World, without

__all__ = ["EngineSurface", "Leak", "Report", "Request", "Surface", "run"]

OpenSurface = Callable[[], Surface]
"""A surface over a store that nothing was written to. Two are open at a time."""
Progress = Callable[["Report"], None]
WORLDS_A_STORE = 50
"""They are further tenants to each other. A new store costs more than a world does."""
_SEARCHES, _READS, _AGAIN = 6, 12, 6
"""Of a world: searches, which cost most, other reads, and how many of these are asked again after
something has changed."""
_OTHERS_ASK = frozenset(("search", "agent", "context", "judge", "status"))
"""What others do in between; it changes nothing that is read but what was asked and judged."""


@dataclass(slots=True)
class Report:
    worlds: int = 0
    observations: int = 0
    """Answers that were compared."""
    leaks: list[Leak] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.leaks


@dataclass(frozen=True, slots=True)
class Turn:
    """One question, and who asks it before the reader does."""

    request: Request
    other: Reader | None = None
    place: Scope | None = None


class Words(NamedTuple):
    """Canaries that may be told."""

    own: frozenset[str]
    """Of what the reader may see: those of the world without the rest."""
    asked: frozenset[str]
    """In questions: where those are told again."""
    past: Past
    """At one revision of the reader's own repository."""


def run(
    open_surface: OpenSurface,
    worlds: int = 1000,
    seed: int = 0,
    *,
    first: int = 0,
    most_leaks: int = 100,
    progress: Progress | None = None,
) -> Report:
    """Tries worlds number `first` and on. Ends early when so many leaks were found."""
    report, started = Report(), perf_counter()
    numbers = range(first, first + worlds)
    for start in numbers[::WORLDS_A_STORE]:
        full, part = open_surface(), open_surface()
        try:
            for number in numbers[start - first : start - first + WORLDS_A_STORE]:
                try_world(full, part, seed, number, report)
                report.seconds = perf_counter() - started
                if progress:
                    progress(report)
                if len(report.leaks) >= most_leaks:
                    return report
        finally:
            full.close()
            part.close()
    return report


def try_world(full: Surface, part: Surface, seed: int, number: int, report: Report) -> None:
    world = generate(seed, number)
    try:
        _try(full, part, seed, world, report)
    except Exception as error:  # noqa: BLE001  repositories that mix may not even be written to
        request = Request("write", world.places[0].repository)
        told = f"{type(error).__name__}: {error}"
        report.leaks.append(Leak("crash", number, world.reader, request, "", told, "a world"))
    report.worlds += 1


def _try(full: Surface, part: Surface, seed: int, world: World, report: Report) -> None:
    sides = (build(full, world), build(part, without(world)))
    turns = _turns(sides[0], seed)
    seen, home = sides[1].world, world.places[0]
    own, asked = _canaries(seen), _canaries(turns)
    may_publish = world.reader.rights != "read"

    def words(*events: Event) -> Words:
        return Words(own, asked, Past(events, home, may_publish=may_publish))

    _round(sides, turns, words(*seen.before), report)
    for side in sides:
        for event in side.world.after:
            happen(side, event)
    again = Random(f"again {seed}/{world.number}").sample(turns, _AGAIN)
    _round(sides, again, words(*seen.before, *seen.after), report)


def _turns(built: Built, seed: int) -> list[Turn]:
    world = built.world
    random = Random(f"questions {seed}/{world.number}")
    known = [look(built, place, random) for place in world.places]
    requests = asking(random, world, known).requests(_SEARCHES, _READS)
    return [_turn(random, world, request) for request in requests]


def _turn(random: Random, world: World, request: Request) -> Turn:
    if request.action not in _OTHERS_ASK or random.random() < 0.5:
        return Turn(request)
    numbers = range(len(world.others))
    number = random.choice((0, 0, *numbers))
    place = world.places[number % len(world.places)]
    return Turn(request, world.others[number], place)


def _canaries(value: object) -> frozenset[str]:
    return frozenset(CANARY.findall(repr(value)))


# --- asking --------------------------------------------------------------------------------------


def _round(sides: tuple[Built, Built], turns: list[Turn], words: Words, report: Report) -> None:
    """Each side asks everything in turn; then the answers are compared."""
    told = [list(_told(side, sides[0], turns)) for side in sides]
    reader, number = sides[0].world.reader, sides[0].world.number
    home = sides[0].world.places[0].repository
    for turn, seen, instead in zip(turns, *told, strict=True):
        report.observations += 1
        found = _leak(turn.request, seen, instead, words, home)
        report.leaks += [Leak(each[0], number, reader, turn.request, *each[1:]) for each in found]


def _told(side: Built, full: Built, turns: list[Turn]) -> Iterator[object]:
    reader = side.world.reader
    home = full.world.places[0]
    times = {place: side.times(place) for place in side.world.places}
    moments = {
        at: f"<{place.repository} revision {number}>"
        for place, numbered in times.items()
        for number, at in numbered.items()
    }
    ids = {key: f"<key of {name}>" for name, key in (full.key_ids | side.key_ids).items()}
    for turn in turns:
        if turn.other and turn.place and _happens(side, full, turn):
            theirs = replace(turn.request, repository=turn.place.repository)
            _ask(side, turn.other, _filled(theirs, side, full, times.get(turn.place, {})))
        request = _filled(turn.request, side, full, times[home])
        yield plain(_ask(side, reader, request), moments, ids)


def _happens(side: Built, full: Built, turn: Turn) -> bool:
    """On the side without the rest, only what may show to the reader is asked by others."""
    assert turn.other is not None
    assert turn.place is not None
    if turn.other.name not in side.keys:
        return False
    return side is full or side.world.reader.sees(turn.other, turn.place)


def _filled(request: Request, side: Built, full: Built, times: Mapping[int, str]) -> Request:
    """With the times and keys of this side; a key that is not there has the id that it has on the
    other one."""
    ids = full.key_ids | side.key_ids
    last = times.get(max(times, default=0), "2001-01-01")

    def fill(value: Json) -> Json:
        if not isinstance(value, str):
            return value
        timed = AT.sub(lambda found: times.get(int(found[1]), last), value)
        return KEY.sub(lambda found: ids[found[1]], timed)

    filled = {name: fill(value) for name, value in request.arguments.items()}
    return replace(request, arguments=filled)


def _ask(side: Built, reader: Reader, request: Request) -> str:
    """A surface that breaks has told something as well."""
    try:
        return side.surface.ask(side.keys[reader.name], request)
    except Exception as error:  # noqa: BLE001  whatever a surface does is looked at
        return to_json({"crash": f"{type(error).__name__}: {error}"})


def _leak(
    request: Request, seen: object, instead: object, words: Words, home: str
) -> Iterator[tuple[Kind, str, str, str]]:
    if isinstance(seen, dict) and "crash" in seen:
        yield "crash", "", str(seen["crash"]), to_json(instead)
    found = difference(seen, instead)
    if found is not None:
        yield "differs", found[0], to_json(found[1]), to_json(found[2])
    for where, word in islice(foreign(seen, words.own, words.asked), 1):
        yield "foreign", where, word, "no word of others"
    then = words.past.words(request) if request.repository == home else None
    if then is not None:
        for where, word in islice(foreign(seen, then, words.asked), 1):
            yield "another time", where, word, "words of that revision alone"
