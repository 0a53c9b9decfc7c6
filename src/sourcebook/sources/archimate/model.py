"""What a file says, as loose parts, in; one neutral graph out, with what was left out and why.

Both file formats end here, so that everything after it knows only the language, not the format.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sourcebook.sources.archimate.vocabulary import LAYER, RELATIONSHIPS, words

Pairs = tuple[tuple[str, str], ...]
_COMPARED = 500
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Element:
    id: str
    type: str
    name: str = ""
    documentation: str = ""
    properties: Pairs = ()
    folder: tuple[str, ...] = ()
    """Names of the folders that it is in, the highest first."""
    specialization: str = ""
    translations: Pairs = ()
    """Name and documentation in other languages: `("names_nl", "Klant")`."""

    @property
    def label(self) -> str:
        return self.name or f"unnamed {words(self.type)}"

    @property
    def order(self) -> tuple[str, str]:
        """Sorts by name. Of a name without end the beginning counts."""
        return self.label[:_COMPARED].casefold(), self.id


@dataclass(frozen=True, slots=True)
class Relationship:
    """From `source` to `target`; either may be an element or another relationship."""

    id: str
    type: str
    source: str
    target: str
    name: str = ""
    documentation: str = ""
    properties: Pairs = ()
    access: str = ""
    """Of an access: read, write, readWrite or access."""
    strength: str = ""
    """Of an influence, such as "++"."""
    directed: bool = False
    """Of an association; all others are directed by their kind."""
    specialization: str = ""
    translations: Pairs = ()


@dataclass(frozen=True, slots=True)
class ViewNode:
    """A box of a view: an element, or a group with a label, or a note."""

    element: str = ""
    label: str = ""
    note: str = ""
    parent: int | None = None
    """The place of the box around it."""


@dataclass(frozen=True, slots=True)
class View:
    id: str
    name: str = ""
    documentation: str = ""
    properties: Pairs = ()
    viewpoint: str = ""
    folder: tuple[str, ...] = ()
    nodes: tuple[ViewNode, ...] = ()
    relationships: tuple[str, ...] = ()
    """Those that it draws."""
    refers_to: tuple[str, ...] = ()
    """Other views."""
    translations: Pairs = ()

    @property
    def label(self) -> str:
        return self.name or "unnamed view"


@dataclass(frozen=True, slots=True)
class Problem:
    reason: str
    taken: bool = False


@dataclass(slots=True)
class Parts:
    """What a reader of one format has found, in the file's order, not yet checked."""

    id: str = ""
    name: str = ""
    documentation: str = ""
    properties: Pairs = ()
    translations: Pairs = ()
    about: Pairs = ()
    """What the file says of itself: `("dc_creator", …)`."""
    elements: list[Element] = field(default_factory=list)
    relationships: list[Relationship] = field(default_factory=list)
    views: list[View] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Model:
    id: str
    name: str
    documentation: str
    properties: Pairs
    translations: Pairs
    about: Pairs
    folders: tuple[str, ...]
    """The highest ones that hold an element or a view, in the file's order."""
    elements: Mapping[str, Element]
    relationships: Mapping[str, Relationship]
    views: tuple[View, ...]
    problems: tuple[Problem, ...]
    outgoing: Mapping[str, Sequence[Relationship]] = field(compare=False, repr=False)
    incoming: Mapping[str, Sequence[Relationship]] = field(compare=False, repr=False)


def assemble(parts: Parts, *, fallback_id: str, fallback_name: str) -> Model:
    """The graph of all parts that can be used; each that cannot is a problem with its id."""
    model_id = parts.id or fallback_id
    problems: list[Problem] = []
    taken = {model_id}
    elements = _unique(parts.elements, taken, problems, "element")
    relationships = _unique(parts.relationships, taken, problems, "relationship")
    views = _unique(parts.views, taken, problems, "view")
    for id, reason in _dangling(elements, relationships).items():
        del relationships[id]
        problems.append(Problem(f"relationship {id} was left out: {reason}"))
    problems += _unknown_types(elements, relationships)
    problems += _missing_in_views(views, elements)
    outgoing, incoming = _neighbours(relationships)
    return Model(
        id=model_id,
        name=parts.name or fallback_name,
        documentation=parts.documentation,
        properties=parts.properties,
        translations=parts.translations,
        about=parts.about,
        folders=_folders(elements, views.values()),
        elements=elements,
        relationships=relationships,
        views=tuple(views.values()),
        problems=tuple(problems),
        outgoing=outgoing,
        incoming=incoming,
    )


def assemble_graph(
    model: Model, elements: Mapping[str, Element], relationships: dict[str, Relationship]
) -> Model:
    """The model with these elements, and those of the relationships that have both their ends."""
    for id in _dangling(elements, relationships):
        del relationships[id]
    outgoing, incoming = _neighbours(relationships)
    return replace(
        model,
        folders=_folders(elements, model.views),
        elements=elements,
        relationships=relationships,
        outgoing=outgoing,
        incoming=incoming,
    )


def _folders(elements: Mapping[str, Element], views: Iterable[View]) -> tuple[str, ...]:
    held: list[Element | View] = [*elements.values(), *views]
    return tuple(dict.fromkeys(part.folder[0] for part in held if part.folder))


Part = TypeVar("Part", Element, Relationship, View)


def _unique(
    parts: Sequence[Part], taken: set[str], problems: list[Problem], what: str
) -> dict[str, Part]:
    found: dict[str, Part] = {}
    for part in parts:
        if not part.id:
            name = f"{part.name[:_SHOWN]!r} " if part.name else ""
            problems.append(Problem(f"{what} {name}was left out: it has no identifier"))
        elif part.id in taken:
            problems.append(
                Problem(f"{what} {part.id} was left out: its identifier was used before")
            )
        else:
            taken.add(part.id)
            found[part.id] = part
    return found


def _dangling(
    elements: Mapping[str, Element], relationships: Mapping[str, Relationship]
) -> dict[str, str]:
    """Relationships with an end that is not there, or is itself one of these, and why."""
    lost: dict[str, str] = {}
    on: dict[str, list[str]] = defaultdict(list)
    for id, relationship in relationships.items():
        for role in ("source", "target"):
            end: str = getattr(relationship, role)
            if end in relationships:
                on[end].append(id)
            elif end not in elements and id not in lost:
                where = f"{end} is not in the model" if end else "is missing"
                lost[id] = f"its {role} {where}"
    todo = list(lost)
    while todo:
        gone = todo.pop()
        for id in on[gone]:
            if id not in lost:
                lost[id] = f"its end {gone} was left out too"
                todo.append(id)
    return lost


def _unknown_types(
    elements: Mapping[str, Element], relationships: Mapping[str, Relationship]
) -> Iterator[Problem]:
    parts = [
        *(("element", e.id, e.type) for e in elements.values() if e.type not in LAYER),
        *(
            ("relationship", r.id, r.type)
            for r in relationships.values()
            if r.type not in RELATIONSHIPS
        ),
    ]
    for what, id, type in parts:
        yield Problem(f"{what} {id}: {type!r} is not a type of ArchiMate; taken as it is", True)


def _missing_in_views(
    views: Mapping[str, View], elements: Mapping[str, Element]
) -> Iterator[Problem]:
    for view in views.values():
        shown = dict.fromkeys(node.element for node in view.nodes if node.element)
        for id in shown:
            if id not in elements:
                yield Problem(f"view {view.id} shows {id}, which is not an element here", True)


def _neighbours(
    relationships: Mapping[str, Relationship],
) -> tuple[dict[str, list[Relationship]], dict[str, list[Relationship]]]:
    outgoing: dict[str, list[Relationship]] = {}
    incoming: dict[str, list[Relationship]] = {}
    for relationship in relationships.values():
        outgoing.setdefault(relationship.source, []).append(relationship)
        incoming.setdefault(relationship.target, []).append(relationship)
    return outgoing, incoming
