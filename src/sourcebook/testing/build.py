"""A world in, the same written into a store out, by the owner's engine; and what the owner knows
of it that a reader could try."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from random import Random

from sourcebook.access import Grant
from sourcebook.engine import Engine
from sourcebook.hashing import text_hash
from sourcebook.ingest import Request
from sourcebook.model import Citation, Json, Node, ReadContext, Scope
from sourcebook.testing.surface import Surface
from sourcebook.testing.worlds import Event, Name, Reindex, Retain, Step, World


@dataclass(slots=True)
class Built:
    """One side of a world: what it was written to, and its readers' keys."""

    surface: Surface
    world: World
    keys: dict[str, str] = field(default_factory=dict)
    """The key of each reader, by name."""
    key_ids: dict[str, str] = field(default_factory=dict)
    engines: dict[Scope, Engine] = field(default_factory=dict)

    def engine(self, place: Scope) -> Engine:
        if place not in self.engines:
            self.engines[place] = self.surface.owner.in_scope(place)
        return self.engines[place]

    def times(self, place: Scope) -> dict[int, str]:
        """When each revision was made."""
        return {revision.number: revision.at for revision in self.engine(place).log()}


def build(surface: Surface, world: World) -> Built:
    """All that happens before questions are asked."""
    built = Built(surface, world)
    for reader in world.readers:
        scope = Scope(reader.tenant, reader.organization)
        grant = Grant(reader.name, reader.repositories, reader.roles, reader.rights)
        key, secret = built.engine(scope).create_key(grant)
        built.keys[reader.name], built.key_ids[reader.name] = secret, key.id
    for event in world.before:
        happen(built, event)
    return built


def happen(built: Built, event: Event) -> None:
    engine = built.engine(event.place)
    if isinstance(event, Step):
        ended = frozenset(event.ends)
        request = Request(event.puts, event.message, prune=ended.__contains__)
        engine.take_in(request, wait=event.wait)
    elif isinstance(event, Name):
        engine.create_baseline(event.baseline)
        if event.publish:
            engine.publish(event.baseline)
    elif isinstance(event, Retain):
        engine.retain(keep_revisions=event.revisions)
    elif isinstance(event, Reindex):
        engine.reindex(event.space, drop_old=event.drop_old, accept_failed=True)


@dataclass(frozen=True, slots=True)
class Known:
    """What the owner knows of one repository at one revision."""

    place: Scope
    revisions: int
    baselines: tuple[str, ...]
    nodes: tuple[Node, ...]
    citations: tuple[dict[str, Json], ...]
    """Of the same nodes."""


def look(built: Built, place: Scope, random: Random, most: int = 5) -> Known:
    """A few nodes, of any revision, hidden or not."""
    engine = built.engine(place)
    head = engine.resolve().revision
    at = ReadContext("revision", str(random.randint(max(1, head - 1), head)))
    found = list(engine.list(limit=60, read_context=at))
    nodes = random.sample(found, min(most, len(found)))
    baselines = tuple(baseline.id for baseline in engine.baselines())
    citations = tuple(_citation(engine, node) for node in nodes)
    return Known(place, head, baselines, tuple(nodes), citations)


def _citation(engine: Engine, node: Node) -> dict[str, Json]:
    _, text = engine.get(node.id, version=node.version_id)
    place = (engine.scope.repository, node.element_id, node.version_id, node.start, node.end)
    return asdict(Citation(*place, text_hash(text)))
