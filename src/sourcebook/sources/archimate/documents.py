"""The graph of a model in; its documents out: the model, then its elements, then its views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal

from sourcebook.model import Document, Json, Link
from sourcebook.sources.archimate.describe import Describer, clip
from sourcebook.sources.archimate.model import Element, Model, Pairs, Relationship, View
from sourcebook.sources.archimate.redact import KEY, Labels, known_to, labels
from sourcebook.sources.archimate.vocabulary import LAYERS, layer, place, words
from sourcebook.sources.raw import Raw
from sourcebook.sources.text import paragraphs

_RESERVED = frozenset(
    """element_type layer model model_id folder capability specialization document_type viewpoint
    kind source element_id format title page boundary encoding""".split()
)
"""Metadata that a property of the model may not replace; it stays in the text."""
_FOLDERS = " / "
_MAX_MODEL_NAME = 200


def documents(model: Model, raw: Raw) -> Iterator[Document]:
    whole = Describer(model)

    @cache
    def known(readers: Labels) -> Describer:
        return Describer(known_to(model, readers))

    def to_readers(part: Model | Element | View) -> Describer:
        """What is given for the whole file holds for all parts alike."""
        if KEY in raw.metadata:
            return whole
        return known(labels(part.properties))

    loose = _loose_links(model)
    yield _model_document(to_readers(model).model, raw, loose.get(model.id, ()))
    for element in model.elements.values():
        links = (*(link(r) for r in model.outgoing.get(element.id, ())), *loose.get(element.id, ()))
        yield _element_document(element, to_readers(element), raw, links)
    for place_of, view in enumerate(model.views):
        seen = to_readers(view).model
        yield _view_document(seen.views[place_of], seen, raw)


def _model_document(model: Model, raw: Raw, links: Iterable[Link]) -> Document:
    layers = Counter(layer(element.type) for element in model.elements.values())
    counts = ", ".join(f"{name} {layers[name]}" for name in LAYERS if layers[name])
    sizes = (
        f"Elements: {len(model.elements)}{f' ({counts})' if counts else ''}. "
        f"Relationships: {len(model.relationships)}. Views: {len(model.views)}."
    )
    folders = f"Folders: {'; '.join(model.folders)}." if model.folders else ""
    own = {"document_type": "model", **dict(model.about)}
    return _document(
        model, model.id, model.name, raw, "document", own, (sizes, folders), links=tuple(links)
    )


def _element_document(
    element: Element, describer: Describer, raw: Raw, links: tuple[Link, ...]
) -> Document:
    model = describer.model
    own = {
        "element_type": element.type,
        "layer": layer(element.type),
        "folder": _FOLDERS.join(element.folder),
        "capability": describer.capabilities(element),
        "specialization": element.specialization,
    }
    return _document(
        element,
        element.id,
        element.name or f"(unnamed {element.type or 'element'})",
        raw,
        "element",
        {**_of(model), **own},
        context=describer.describe(element),
        links=links,
    )


def _view_document(view: View, model: Model, raw: Raw) -> Document:
    own = {
        "document_type": "view",
        "viewpoint": view.viewpoint,
        "folder": _FOLDERS.join(view.folder),
    }
    shown = _shown(view, model)
    title = view.name or "(unnamed view)"
    kind = f"view ({clip(view.viewpoint)} viewpoint)" if view.viewpoint else "view"
    notes = sorted({node.note for node in view.nodes if node.note})
    return _document(
        view,
        view.id,
        title,
        raw,
        "document",
        {**_of(model), **own},
        (_list_shown(shown), _list_inside(view, model), *notes),
        context=f"{clip(title)} is a {kind} of the model {clip(model.name)}.",
        links=(
            *(Link(view.id, element.id, "shows") for element in shown),
            *(Link(view.id, other, "refers_to") for other in view.refers_to),
        ),
    )


def link(relationship: Relationship) -> Link:
    r = relationship
    said = {
        "name": r.name,
        "access": r.access,
        "strength": r.strength,
        "directed": r.directed,
        "documentation": r.documentation,
        "specialization": r.specialization,
        "properties": _by_key(r.properties),
        **dict(r.translations),
    }
    metadata = {"id": r.id, **{key: value for key, value in said.items() if value}}
    return Link(r.source, r.target, r.type, metadata)


def _loose_links(model: Model) -> dict[str, list[Link]]:
    """Relationships that begin at a relationship go with the element at their end, or the model."""
    loose: dict[str, list[Link]] = {}
    for relationship in model.relationships.values():
        if relationship.source not in model.elements:
            owner = relationship.target if relationship.target in model.elements else model.id
            loose.setdefault(owner, []).append(link(relationship))
    return loose


def _of(model: Model) -> dict[str, Json]:
    return {"model": model.name[:_MAX_MODEL_NAME], "model_id": model.id}


def _document(
    part: Model | Element | View,
    id: str,
    title: str,
    raw: Raw,
    kind: Literal["document", "element"],
    own: dict[str, Json],
    more: tuple[str, ...] = (),
    *,
    context: str = "",
    links: tuple[Link, ...] = (),
) -> Document:
    stated = "\n".join(f"{key}: {value}".strip() for key, value in part.properties)
    pieces = (part.name or title, part.documentation, stated, *more)
    text = "\n\n".join(piece for piece in pieces if piece)
    properties = _by_key((k, v) for k, v in part.properties if k not in _RESERVED and v)
    known = {key: value for key, value in own.items() if value}
    metadata = {**properties, **dict(part.translations), **known, **raw.metadata}
    return Document(
        element_id=id,
        title=title,
        text=text,
        source=raw.source,
        format="archimate",
        blocks=tuple(paragraphs(text)),
        metadata=metadata,
        kind=kind,
        context=context,
        links=links,
    )


def _by_key(pairs: Pairs | Iterable[tuple[str, str]]) -> dict[str, Json]:
    """One value a key, or a list where a key is used several times."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        if key:
            values.setdefault(key, []).append(value)
    return {key: found[0] if len(found) == 1 else found for key, found in values.items()}


def _shown(view: View, model: Model) -> list[Element]:
    ids = {node.element for node in view.nodes} & model.elements.keys()
    found = [model.elements[id] for id in ids]
    return sorted(found, key=lambda e: (place(e.type), *e.order))


def _list_shown(elements: list[Element]) -> str:
    by_type: dict[str, dict[str, None]] = {}
    for element in elements:
        by_type.setdefault(words(element.type), {})[clip(element.label)] = None
    lines = (f"{type}: {'; '.join(names)}" for type, names in by_type.items())
    return "\n".join(("Shows:", *lines)) if by_type else ""


def _list_inside(view: View, model: Model) -> str:
    """What stands inside another box."""
    inside: dict[int, set[str]] = {}
    names = [_box(node.element, node.label, model) for node in view.nodes]
    for node, name in zip(view.nodes, names, strict=True):
        if node.parent is not None and name and names[node.parent]:
            inside.setdefault(node.parent, set()).add(name)
    lines = {f"Inside {names[at]}: {'; '.join(sorted(inner))}" for at, inner in inside.items()}
    return "\n".join(sorted(lines))


def _box(element_id: str, label: str, model: Model) -> str:
    element = model.elements.get(element_id)
    return f"{clip(element.label)} ({words(element.type)})" if element else clip(label)
