"""A model in; the model as the readers of one of its parts know it, out.

The text of an element names its neighbours, and that of a view what it shows. So a part may only
tell of elements that everyone who can read the part can read too: those without a `visibility`, and
those whose labels include all of the part's.
"""

from __future__ import annotations

from dataclasses import replace

from sourcebook.sources.archimate.model import Element, Model, Pairs, View, ViewNode, assemble_graph

KEY = "visibility"
Labels = frozenset[str] | None
"""None: everyone."""


def labels(properties: Pairs) -> Labels:
    found = [value for key, value in properties if key == KEY and value]
    return frozenset(found) if found else None


def known_to(model: Model, readers: Labels) -> Model:
    """Without what some of these readers may not see; the same model where that is nothing."""
    hidden = {e.id for e in model.elements.values() if not _readable(e, readers)}
    if not hidden:
        return model
    return assemble_graph(
        replace(model, views=tuple(_without(view, hidden) for view in model.views)),
        {id: element for id, element in model.elements.items() if id not in hidden},
        dict(model.relationships),
    )


def _readable(element: Element, readers: Labels) -> bool:
    own = labels(element.properties)
    return own is None or (readers is not None and readers <= own)


def _without(view: View, hidden: set[str]) -> View:
    nodes = [ViewNode(parent=n.parent) if n.element in hidden else n for n in view.nodes]
    return replace(view, nodes=tuple(nodes))
