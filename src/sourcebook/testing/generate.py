"""A seed in, a world out: tenants, repositories, documents and readers that look alike.

Names are equal in different tenants, or differ by case or by an ending; texts share their words and
differ in canaries, words that only one tenant, repository, document and version has.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from sourcebook.model import RIGHTS, Block, Document, Json, Link, Right, Scope, Turn
from sourcebook.testing.embedding import REFUSED
from sourcebook.testing.worlds import Event, Name, Reader, Reindex, Retain, Step, World

TENANTS = ("acme", "Acme", "acme2", "globex")
ORGANIZATIONS = ("research", "Research", "sales")
REPOSITORIES = ("notes", "Notes", "notes2", "book")
DOCUMENTS = ("plan.md", "Plan.md", "plan.md.old", "rules.md", "talk.md")
BASELINES = ("spring", "Spring", "spring2")
WORDS = (
    "pump gate river budget meeting vote quorum tool library late fee garden wall north south "
    "open closed member board"
).split()
LABELS: tuple[Json, ...] = (
    "staff",
    ["staff", "board"],
    ["legal"],
    "board",
    ["board", "audit"],
    [],
    "",
    {"odd": "value"},
    "Staff",
    "staff ",
    True,
    7,
)
ROLES = (
    frozenset({"staff"}),
    frozenset({"staff", "legal"}),
    frozenset({"board"}),
    frozenset({"true", "7"}),
    frozenset[str](),
)
TYPES = ("bylaws", "design_guidelines", ["minutes", "bylaws"])


@dataclass
class _Made:
    """A world that is being made."""

    random: Random
    number: int
    canaries: int = 0
    live: dict[Scope, dict[str, Document]] = field(default_factory=dict)
    governed: str = "all"
    """Which documents say what standing they have: all, none, or those with a label."""

    def canary(self) -> str:
        """Counted through, so that no two are the same, also those of different worlds."""
        self.canaries += 1
        return f"zq{_letters(self.number)}y{_letters(self.canaries)}zq"


def generate(seed: int, number: int) -> World:
    """The world of that number; the same for ever."""
    made = _Made(Random(f"{seed}/{number}"), number)
    places = _places(made)
    home = places[0]
    before: list[Event] = []
    for place in places:
        before += _history(made, place, home=place == home)
    _mix(made.random, before)
    reader = _reader(made, "reader", home)
    others = [_reader(made, f"other{n}", place) for n, place in enumerate(places)]
    after = [event for place in places[:2] for event in _later(made, place)]
    twin = replace(reader, name=f"twin {made.canary()}")
    return World(number, tuple(places), reader, (*others, twin), tuple(before), tuple(after))


def _places(made: _Made) -> list[Scope]:
    """The reader's own first; the same names under another tenant; near ones in its own."""
    random = made.random
    tenants = [f"{name}-{made.number}" for name in random.sample(TENANTS, 2)]
    organization, other = random.sample(ORGANIZATIONS, 2)
    repository, near = random.sample(REPOSITORIES, 2)
    home = Scope(tenants[0], organization, repository)
    choices = [replace(home, repository=near), replace(home, organization=other)]
    random.shuffle(choices)
    return [home, replace(home, tenant=tenants[1]), *choices[: random.randint(1, 2)]]


def _reader(made: _Made, name: str, place: Scope) -> Reader:
    random = made.random
    roles = random.choice(ROLES) if random.random() < 0.6 else None
    rights: Right = "read" if roles is not None else random.choice(RIGHTS)
    only = (place.repository,) if random.random() < 0.5 else None
    named = f"{name} {made.canary()}"
    return Reader(named, place.tenant, place.organization, only, roles, rights)


# --- what is written -----------------------------------------------------------------------------


def _history(made: _Made, place: Scope, *, home: bool) -> list[Event]:
    random = made.random
    revisions = random.randint(2, 3) if home else random.choice((1, 1, 2))
    lazy = random.random() < 0.15
    mine = made.canary()
    made.governed = random.choice(("all", "none", "labelled"))
    events: list[Event] = []
    for revision in range(1, revisions + 1):
        last = revision == revisions
        fresh = lazy and last
        events.append(_step(made, place, mine, revision, wait=last and not lazy, fresh=fresh))
        if random.random() < 0.4:
            name = random.choice((*BASELINES, made.canary()))
            taken = {e.baseline for e in events if isinstance(e, Name)}
            if name not in taken:
                events.append(Name(place, name, publish=random.random() < 0.6))
    return events


def _step(
    made: _Made, place: Scope, mine: str, revision: int, *, wait: bool, fresh: bool = False
) -> Step:
    """A mark that every revision has keeps numbers in step where all else is hidden. `fresh`: no
    text was there before, so that none has a vector already."""
    random, live = made.random, made.live.setdefault(place, {})
    ends = [name for name in sorted(live) if random.random() < 0.15]
    renamed = [live.pop(name) for name in ends if random.random() < 0.5]
    for name in ends:
        live.pop(name, None)
    names = random.sample(DOCUMENTS, random.choice((1, 2, 2, 3)))
    puts = [_document(made, name, mine, live) for name in names]
    for old in renamed:
        name = f"new-{old.element_id}"
        puts.append(replace(old, element_id=name, source=name, links=()))
    for name in sorted(live):
        if random.random() < 0.2 and not fresh and all(p.element_id != name for p in puts):
            puts.append(_relabelled(made, live[name]))
    for document in puts:
        live[document.element_id] = document
    mark = _plain_document("mark.md", "Mark", f"mark of revision {revision} {WORDS[revision]}", {})
    ends = [name for name in ends if name not in live]
    if fresh:
        puts = [replace(p, context=f"{p.context} {made.canary()}".strip()) for p in puts]
    return Step(place, (mark, *puts), tuple(ends), f"commit {made.canary()}", wait)


def _document(made: _Made, name: str, mine: str, live: dict[str, Document]) -> Document:
    random, version = made.random, made.canary()
    words = " ".join(random.choices(WORDS, k=random.randint(4, 9)))
    text = f"{words} {mine} {version}."
    if random.random() < 0.05:
        text += f" {REFUSED}."
    metadata = _metadata(made, version)
    title = f"{random.choice(WORDS).title()} {version}"
    shape = random.random()
    if shape < 0.15:
        more = " ".join(random.choices(WORDS, k=14))
        return _linked(
            made, _sections(name, title, text, f"{more} {made.canary()}.", metadata), live
        )
    if shape < 0.25:
        return _linked(made, _conversation(name, title, text, metadata), live)
    document = _plain_document(name, title, text, metadata)
    if shape < 0.35:
        document = replace(document, kind="element", context=f"Serves {made.canary()}")
    return _linked(made, document, live)


def _metadata(made: _Made, version: str) -> dict[str, Json]:
    random = made.random
    metadata: dict[str, Json] = {"topic": random.choice((version, "north", "south"))}
    if random.random() < 0.55:
        metadata["visibility"] = random.choice(LABELS)
    if made.governed == "none" or (made.governed == "labelled" and "visibility" not in metadata):
        return metadata
    if random.random() < 0.3:
        metadata["document_type"] = random.choice(TYPES)
    if random.random() < 0.2:
        metadata["is_binding"] = True
    if random.random() < 0.1:
        metadata["superseded_by"] = random.choice(DOCUMENTS)
    return metadata


def _linked(made: _Made, document: Document, live: dict[str, Document]) -> Document:
    """To documents that may be hidden or not be there at all. Either end may state a link, or a
    third one."""
    random, links = made.random, []
    for _ in range(random.choice((0, 1, 2) if made.governed == "all" else (1, 2))):
        ends = random.choices((*DOCUMENTS, *sorted(live)), k=2)
        if random.random() < 0.8:
            ends[random.randrange(2)] = document.element_id
        kind = random.choice(("references", "serves", "supersedes", "supersedes"))
        links.append(Link(ends[0], ends[1], kind, {"note": made.canary()}))
    return replace(document, links=tuple(links))


def _relabelled(made: _Made, document: Document) -> Document:
    """The same words for other readers."""
    metadata = dict(document.metadata)
    metadata.pop("visibility", None)
    if made.random.random() < 0.6:
        metadata["visibility"] = made.random.choice(LABELS)
    return replace(document, metadata=metadata)


def _later(made: _Made, place: Scope) -> list[Event]:
    """What goes on while questions are asked."""
    random = made.random
    mine = made.canary()
    found: list[Event] = []
    if random.random() < 0.3:
        found.append(_step(made, place, mine, 9, wait=True))
    if random.random() < 0.3:
        found.append(Retain(place, random.randint(1, 2)))
    if random.random() < 0.2:
        found.append(Reindex(place, "others/gte-small", drop_old=random.random() < 0.5))
    if random.random() < 0.2:
        found.append(Name(place, f"later {made.canary()}", publish=True))
    return found


# --- shapes of documents -------------------------------------------------------------------------


def _plain_document(name: str, title: str, text: str, metadata: dict[str, Json]) -> Document:
    blocks = (Block("prose", 0, len(text)),)
    return Document(name, title, text, name, "text", blocks, metadata)


def _sections(
    name: str, title: str, first: str, second: str, metadata: dict[str, Json]
) -> Document:
    text, blocks = "", []
    for heading, words in (("One", first), ("Two", second)):
        for kind, piece in (("heading", f"# {heading}"), ("prose", words)):
            of: dict[str, Any] = {"level": 1, "title": heading} if kind == "heading" else {}
            blocks.append(Block(kind, len(text), len(text) + len(piece), **of))  # type: ignore[arg-type]
            text += f"{piece}\n\n"
    return Document(name, title, text, name, "markdown", tuple(blocks), metadata)


def _conversation(name: str, title: str, said: str, metadata: dict[str, Json]) -> Document:
    text, blocks = "", []
    for number, (speaker, words) in enumerate((("user", "when is it open?"), ("ada", said))):
        turn = Turn(f"m{number}", speaker)
        blocks.append(Block("turn", len(text), len(text) + len(words), turn=turn))
        text += f"{words}\n\n"
    return Document(name, title, text, name, "transcript", tuple(blocks), metadata, "conversation")


def _mix(random: Random, events: list[Event]) -> None:
    """Repositories are written to in turns; each one's own order stays."""
    order = [event.place for event in events]
    random.shuffle(order)
    queues: dict[Scope, list[Event]] = {}
    for event in events:
        queues.setdefault(event.place, []).append(event)
    events[:] = [queues[place].pop(0) for place in order]


def _letters(number: int) -> str:
    """A number in letters, none of which is y, z or q: canaries begin and end with those."""
    digits = "abcdefghijklmnoprstuvwx"
    text = ""
    while True:
        number, digit = divmod(number, len(digits))
        text = digits[digit] + text
        if not number:
            return text
