"""The tree of a file of the modelling tool Archi (`.archimate`) in; the parts of its model out."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element as Xml

from sourcebook.sources.archimate.model import (
    Element,
    Pairs,
    Parts,
    Relationship,
    View,
    ViewNode,
)
from sourcebook.sources.archimate.vocabulary import element_type, relationship_type, viewpoint
from sourcebook.sources.archimate.written import (
    content,
    folder_path,
    identifier,
    one_line,
    prose,
    shared_name,
    type_of,
)

_ACCESS = {"0": "write", "1": "read", "2": "access", "3": "readWrite"}
_WRITE = "0"  # Archi leaves the attribute out for this one
_RELATIONSHIP = "Relationship"
_VIEW = "Model"  # ArchimateDiagramModel, SketchModel, CanvasModel


def read(root: Xml) -> Parts:
    profiles = {
        identifier(node.get("id")): shared_name(node.get("name"))
        for node in root.iterfind("profile")
    }
    parts = Parts(
        id=identifier(root.get("id")),
        name=one_line(root.get("name")),
        documentation=_text(root, "purpose") or _text(root, "documentation"),
        properties=_properties(root),
    )
    for node, folder in _concepts(root):
        type = type_of(node)
        if type.endswith(_RELATIONSHIP):
            parts.relationships.append(_relationship(node, type, profiles))
        elif type.endswith(_VIEW):
            parts.views.append(_view(node, folder))
        else:
            parts.elements.append(_element(node, type, folder, profiles))
    return parts


def _concepts(root: Xml) -> Iterator[tuple[Xml, tuple[str, ...]]]:
    """Everything in folders, in the file's order, with the names of its folders."""
    highest = reversed(root.findall("folder"))
    todo: list[tuple[Xml, tuple[str, ...]]] = [(node, ()) for node in highest]
    while todo:
        node, path = todo.pop()
        if node.tag == "element":
            yield node, path
        elif node.tag == "folder":
            here = folder_path(path, one_line(node.get("name")))
            todo += [(child, here) for child in reversed(node)]


def _text(node: Xml, tag: str) -> str:
    return "\n".join(prose(content(child)) for child in node.iterfind(tag))


def _properties(node: Xml) -> Pairs:
    pairs = ((one_line(p.get("key")), one_line(p.get("value"))) for p in node.iterfind("property"))
    return tuple(pairs)


def _profiles(node: Xml, profiles: dict[str, str]) -> str:
    ids = dict.fromkeys(identifier(id) for id in one_line(node.get("profiles")).split())
    return ", ".join(filter(None, (profiles.get(id, "") for id in ids)))


def _element(node: Xml, type: str, folder: tuple[str, ...], profiles: dict[str, str]) -> Element:
    is_or = type == "Junction" and node.get("type") == "or"
    return Element(
        id=identifier(node.get("id")),
        type="OrJunction" if is_or else element_type(type),
        name=one_line(node.get("name")),
        documentation=_text(node, "documentation"),
        properties=_properties(node),
        folder=folder,
        specialization=_profiles(node, profiles),
    )


def _relationship(node: Xml, written: str, profiles: dict[str, str]) -> Relationship:
    type = relationship_type(written)
    mode = _ACCESS.get(node.get("accesstype", _WRITE), "access")
    return Relationship(
        id=identifier(node.get("id")),
        type=type,
        source=identifier(node.get("source")),
        target=identifier(node.get("target")),
        name=one_line(node.get("name")),
        documentation=_text(node, "documentation"),
        properties=_properties(node),
        access=mode if type == "access" else "",
        strength=one_line(node.get("strength")) if type == "influence" else "",
        directed=node.get("directed") == "true",
        specialization=_profiles(node, profiles),
    )


def _view(node: Xml, folder: tuple[str, ...]) -> View:
    drawn = (
        identifier(c.get("archimaterelationship") or c.get("relationship"))
        for c in node.iter("sourceConnection")
    )
    return View(
        id=identifier(node.get("id")),
        name=one_line(node.get("name")),
        documentation=_text(node, "documentation"),
        properties=_properties(node),
        viewpoint=viewpoint(one_line(node.get("viewpoint"))),
        folder=folder,
        nodes=tuple(_boxes(node)),
        relationships=tuple(dict.fromkeys(filter(None, drawn))),
        refers_to=tuple(
            dict.fromkeys(filter(None, (identifier(c.get("model")) for c in node.iter("child"))))
        ),
    )


def _boxes(view: Xml) -> Iterator[ViewNode]:
    todo: list[tuple[Xml, int | None]] = [(node, None) for node in reversed(view.findall("child"))]
    place = 0
    while todo:
        node, parent = todo.pop()
        yield ViewNode(
            element=identifier(node.get("archimateelement")),
            label=one_line(node.get("name")),
            note="\n".join(filter(None, (_text(node, t) for t in ("content", "documentation")))),
            parent=parent,
        )
        todo += [(child, place) for child in reversed(node.findall("child"))]
        place += 1
