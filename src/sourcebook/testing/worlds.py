"""The values of a world: who reads, what is written where, and what of it a reader may see.

`without` is the kit's own definition of a wall, apart from that of any store: a world and a reader
in, the same world out as if what is not for that reader had never been written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sourcebook.model import Block, Document, Json, Metadata, Right, Scope

CANARY = re.compile(r"zq[a-z]+zq")
"""A word that only one tenant, repository, document or version has."""


@dataclass(frozen=True, slots=True)
class Step:
    """One commit."""

    place: Scope
    puts: tuple[Document, ...]
    ends: tuple[str, ...] = ()
    message: str = ""
    wait: bool = True
    """Whether vectors are filled before anything else happens."""


@dataclass(frozen=True, slots=True)
class Name:
    """A baseline at head."""

    place: Scope
    baseline: str
    publish: bool = False


@dataclass(frozen=True, slots=True)
class Retain:
    place: Scope
    revisions: int


@dataclass(frozen=True, slots=True)
class Reindex:
    """Into the space of another model."""

    place: Scope
    space: str
    drop_old: bool = False


Event = Step | Name | Retain | Reindex


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody with a key."""

    name: str
    tenant: str
    organization: str
    repositories: tuple[str, ...] | None
    roles: frozenset[str] | None
    rights: Right = "read"

    def may_read(self, place: Scope) -> bool:
        ours = (place.tenant, place.organization) == (self.tenant, self.organization)
        return ours and (self.repositories is None or place.repository in self.repositories)

    def sees(self, other: Reader, place: Scope) -> bool:
        """Whether what another one asks there may show: who sees all of a repository sees what is
        asked of it, and equal roles share what was worked out for them."""
        if not self.may_read(place):
            return False
        return self.roles is None or self.roles == other.roles


@dataclass(frozen=True, slots=True)
class World:
    number: int
    places: tuple[Scope, ...]
    """The reader's own first."""
    reader: Reader
    """The one whose walls are tested."""
    others: tuple[Reader, ...]
    """One at each place, and one that is like the reader."""
    before: tuple[Event, ...]
    after: tuple[Event, ...]
    """What happens once questions were asked."""

    @property
    def readers(self) -> tuple[Reader, ...]:
        return (self.reader, *self.others)


def without(world: World) -> World:
    """What there is for the reader of a world, and nothing else."""
    reader = world.reader
    ours = (reader.tenant, reader.organization)
    live: set[tuple[Scope, str]] = set()
    return replace(
        world,
        places=tuple(place for place in world.places if reader.may_read(place)),
        others=tuple(o for o in world.others if (o.tenant, o.organization) == ours),
        before=tuple(_seen(world.before, reader, live)),
        after=tuple(_seen(world.after, reader, live)),
    )


def _seen(
    events: tuple[Event, ...], reader: Reader, live: set[tuple[Scope, str]]
) -> Iterator[Event]:
    """`live` are the documents that were put where the reader reads and have not ended."""
    for event in events:
        if reader.may_read(event.place):
            yield _step(event, reader, live) if isinstance(event, Step) else event


def _step(step: Step, reader: Reader, live: set[tuple[Scope, str]]) -> Step:
    """A document that turns hidden leaves an empty one behind that no role may read: the reader may
    not read older versions of it either. The message may be of hidden things."""
    shown = tuple(d for d in step.puts if readable(d.metadata, reader.roles))
    hidden = {d.element_id for d in step.puts} - {d.element_id for d in shown}
    closed = [_closed(name) for name in sorted(hidden) if (step.place, name) in live]
    ends = [name for name in step.ends if (step.place, name) in live]
    live -= {(step.place, name) for name in ends}
    live |= {(step.place, d.element_id) for d in shown}
    message = step.message if reader.roles is None else ""
    return replace(step, puts=(*shown, *closed), ends=tuple(ends), message=message)


def _closed(name: str) -> Document:
    """A document without any words of the world, for no role."""
    return Document(
        name, "closed", "closed", name, "text", (Block("prose", 0, 6),), {"visibility": []}
    )


def readable(metadata: Metadata, roles: frozenset[str] | None) -> bool:
    """`visibility` is a label or a list of labels, compared letter by letter with the roles. What
    has none is for everybody; what cannot be understood is for nobody."""
    label: Json = metadata.get("visibility")
    if roles is None or label is None:
        return True
    items = label if isinstance(label, list | tuple) else [label]
    return not roles.isdisjoint(_written(item) for item in items if not isinstance(item, dict))


def _written(item: Json) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item)
