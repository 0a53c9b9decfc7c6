"""The tree of an Open Group exchange file (3.x, and 2.1) in; the parts of its model out."""

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
from sourcebook.sources.archimate.vocabulary import (
    ACCESS,
    element_type,
    relationship_type,
    viewpoint,
)
from sourcebook.sources.archimate.written import (
    chosen,
    content,
    folder_path,
    identifier,
    one_line,
    prose,
    shared_name,
    type_of,
)

_ORGANIZATIONS = ("organizations", "organization")
_JUNCTION_TYPE = "JunctionType"
Folders = dict[str, tuple[str, ...]]


def read(root: Xml) -> Parts:
    keys = dict(_property_names(root))
    folders = _folders(root)
    name, documentation, translations = _words(root)
    return Parts(
        id=identifier(root.get("identifier")),
        name=name,
        documentation=documentation or _purpose(root),
        properties=_properties(root, keys),
        translations=translations,
        about=_about(root),
        elements=[_element(node, keys, folders) for node in root.iterfind("elements/element")],
        relationships=[
            _relationship(node, keys) for node in root.iterfind("relationships/relationship")
        ],
        views=[_view(node, keys, folders) for node in _view_nodes(root)],
    )


def _words(node: Xml) -> tuple[str, str, Pairs]:
    """Name, documentation and both in other languages. Version 2.1 says label for name."""
    names = node.findall("name") or node.findall("label")
    name, other_names = chosen(names, one_line, "names")
    text, other_texts = chosen(node.iterfind("documentation"), prose, "documentation")
    return name, text, other_names + other_texts


def _purpose(root: Xml) -> str:
    return chosen(root.iterfind("purpose"), prose, "documentation")[0]


def _about(root: Xml) -> Pairs:
    """Dublin Core."""
    said = ((f"dc_{n.tag}", one_line(content(n))) for n in root.iterfind("metadata/*"))
    skipped = ("dc_schema", "dc_schemaversion")
    return tuple((key, value) for key, value in said if value and key not in skipped)


def _property_names(root: Xml) -> Iterator[tuple[str, str]]:
    for node in root.iterfind("propertyDefinitions/propertyDefinition"):
        name, _ = chosen(node.iterfind("name"), shared_name, "")
        yield identifier(node.get("identifier")), name
    for node in root.iterfind("propertydefs/propertydef"):
        yield identifier(node.get("identifier")), shared_name(node.get("name"))


def _properties(node: Xml, keys: dict[str, str]) -> Pairs:
    pairs = []
    for item in node.iterfind("properties/property"):
        reference = identifier(item.get("propertydefinitionref") or item.get("identifierref"))
        value = chosen(item.iterfind("value"), one_line, "")[0]
        pairs.append((keys.get(reference) or reference, value))
    return tuple(pairs)


def _element(node: Xml, keys: dict[str, str], folders: Folders) -> Element:
    id = identifier(node.get("identifier"))
    name, documentation, translations = _words(node)
    properties = _properties(node, keys)
    type = element_type(type_of(node))
    if type == "AndJunction" and (_JUNCTION_TYPE, "or") in properties:
        type = "OrJunction"
    return Element(
        id=id,
        type=type,
        name=name,
        documentation=documentation,
        properties=properties,
        folder=folders.get(id, ()),
        translations=translations,
    )


def _relationship(node: Xml, keys: dict[str, str]) -> Relationship:
    name, documentation, translations = _words(node)
    type = relationship_type(type_of(node))
    mode = ACCESS.get(one_line(node.get("accesstype")).lower(), "access")
    return Relationship(
        id=identifier(node.get("identifier")),
        type=type,
        source=identifier(node.get("source")),
        target=identifier(node.get("target")),
        name=name,
        documentation=documentation,
        properties=_properties(node, keys),
        access=mode if type == "access" else "",
        strength=one_line(node.get("modifier")) if type == "influence" else "",
        directed=node.get("isdirected") in ("true", "1"),
        translations=translations,
    )


def _folders(root: Xml) -> Folders:
    """The folder path of each identifier that is in one."""
    paths: Folders = {}
    highest = [item for tag in _ORGANIZATIONS for item in root.iterfind(f"{tag}/item")]
    todo: list[tuple[Xml, tuple[str, ...]]] = [(item, ()) for item in reversed(highest)]
    while todo:
        item, path = todo.pop()
        reference = identifier(item.get("identifierref"))
        if reference and path:
            paths.setdefault(reference, path)
        here = folder_path(path, _words(item)[0])
        todo += [(child, here) for child in reversed(item.findall("item"))]
    return paths


def _view_nodes(root: Xml) -> Iterator[Xml]:
    yield from root.iterfind("views/diagrams/view")
    yield from root.iterfind("views/view")


def _view(node: Xml, keys: dict[str, str], folders: Folders) -> View:
    id = identifier(node.get("identifier"))
    name, documentation, translations = _words(node)
    drawn = (identifier(c.get("relationshipref")) for c in node.iter("connection"))
    return View(
        id=id,
        name=name,
        documentation=documentation,
        properties=_properties(node, keys),
        viewpoint=viewpoint(one_line(node.get("viewpoint"))),
        folder=folders.get(id, ()),
        nodes=tuple(_boxes(node)),
        relationships=tuple(dict.fromkeys(filter(None, drawn))),
        refers_to=tuple(
            dict.fromkeys(filter(None, (identifier(r.get("ref")) for r in node.iter("viewRef"))))
        ),
        translations=translations,
    )


def _boxes(view: Xml) -> Iterator[ViewNode]:
    todo: list[tuple[Xml, int | None]] = [(node, None) for node in reversed(view.findall("node"))]
    place = 0
    while todo:
        node, parent = todo.pop()
        yield _box(node, parent)
        todo += [(child, place) for child in reversed(node.findall("node"))]
        place += 1


def _box(node: Xml, parent: int | None) -> ViewNode:
    element = identifier(node.get("elementref"))
    if element:
        return ViewNode(element=element, parent=parent)
    is_group = type_of(node) == "Container" or node.get("type") == "group"
    text, _ = chosen(node.iterfind("label"), one_line if is_group else prose, "")
    documentation, _ = chosen(node.iterfind("documentation"), prose, "")
    return ViewNode(
        label=text if is_group else "",
        note=documentation if is_group else "\n".join(filter(None, (text, documentation))),
        parent=parent,
    )
