"""USE CASE: two read contexts in, what changed from one to the other out: nodes, relationships, and
the text of documents line by line.

A node has changed when its version has. What is long is bounded and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from sourcebook.errors import NotFound
from sourcebook.history import parse_read_context, steady
from sourcebook.model import Json, Link, Node, ReadContext, Resolved, Scope
from sourcebook.ports import Store
from sourcebook.text_diff import text_diff

_FIELDS = ("kind", "title", "section_path", "page")


@dataclass(frozen=True, slots=True)
class Changed:
    before: Node
    after: Node
    what: tuple[str, ...]
    """title, text, section_path, page, metadata.KEY …"""


@dataclass(frozen=True, slots=True)
class TextDiff:
    element_id: str
    title: str
    diff: str
    cut: bool
    """The texts differ in more than is shown."""


@dataclass(frozen=True, slots=True)
class Relations:
    added: tuple[Link, ...]
    removed: tuple[Link, ...]
    changed: tuple[tuple[Link, Link], ...]


@dataclass(frozen=True, slots=True)
class Diff:
    old: Resolved
    new: Resolved
    added: tuple[Node, ...]
    removed: tuple[Node, ...]
    changed: tuple[Changed, ...]
    relations: Relations
    documents: tuple[TextDiff, ...]
    counts: dict[str, dict[str, int]]
    """Of all there is, also where a limit leaves some out."""

    def to_dict(self) -> dict[str, Json]:
        return {
            "from": asdict(self.old),
            "to": asdict(self.new),
            "nodes": {
                "added": [_node(node) for node in self.added],
                "removed": [_node(node) for node in self.removed],
                "changed": [_changed(change) for change in self.changed],
            },
            "relationships": {
                "added": [_link(link) for link in self.relations.added],
                "removed": [_link(link) for link in self.relations.removed],
                "changed": [_changed_link(*pair) for pair in self.relations.changed],
            },
            "documents": [asdict(document) for document in self.documents],
            "counts": self.counts,
        }


def side(store: Store, scope: Scope, text: str) -> ReadContext:
    """What one side of a diff names: a baseline, a revision's number, or a read context."""
    known = {baseline.id for baseline in store.baselines(scope)}
    if text in known and text not in ("head", "published", "default"):
        return ReadContext("baseline", text)
    if text.isascii() and text.isdigit():
        return ReadContext("revision", text)
    if ":" in text or text in ("head", "published", "default"):
        return parse_read_context(text)
    names = ", ".join(sorted(known)) or "none yet"
    raise NotFound(
        f"there is no baseline {text!r}; known baselines: {names}. A side may also be head, "
        "published, as-of:TIMESTAMP or the number of a revision"
    )


def diff(
    store: Store,
    scope: Scope,
    old: Resolved,
    new: Resolved,
    *,
    kind: str | None = None,
    text: bool = True,
    limit: int | None = None,
) -> Diff:
    """`limit` is of each list."""
    with steady(store, scope, old.revision), steady(store, scope, new.revision):
        found = store.difference(scope, old.revision, new.revision, kind=kind)
        before = {node.id: node for node in found.gone_nodes}
        after = {node.id: node for node in found.new_nodes}
        added = [node for node in found.new_nodes if node.id not in before]
        removed = [node for node in found.gone_nodes if node.id not in after]
        both = [
            (node, after[node.id])
            for node in found.gone_nodes
            if node.id in after and node.version_id != after[node.id].version_id
        ]
        changed = tuple(_compare(store, scope, *pair) for pair in both[:limit])
        relations = _relations(found.gone_relations, found.new_relations)
        documents = tuple(_texts(store, scope, changed)) if text else ()
    nodes = {"added": len(added), "removed": len(removed), "changed": len(both)}
    return Diff(
        old,
        new,
        tuple(added[:limit]),
        tuple(removed[:limit]),
        changed,
        Relations(relations.added[:limit], relations.removed[:limit], relations.changed[:limit]),
        documents,
        {"nodes": nodes, "relationships": _count(relations)},
    )


# --- what differs --------------------------------------------------------------------------------


def _compare(store: Store, scope: Scope, before: Node, after: Node) -> Changed:
    what = [name for name in _FIELDS if getattr(before, name) != getattr(after, name)]
    if store.text(scope, before) != store.text(scope, after):
        what.append("text")
    keys = sorted({*before.metadata, *after.metadata})
    what += [
        f"metadata.{key}"
        for key in keys
        if (key in before.metadata, before.metadata.get(key))
        != (key in after.metadata, after.metadata.get(key))
    ]
    return Changed(before, after, tuple(what))


def _relations(gone: Sequence[Link], new: Sequence[Link]) -> Relations:
    """A relationship that lost one thing said of it and got another has changed."""
    left: dict[tuple[str, str, str], list[Link]] = {}
    for link in gone:
        left.setdefault(_ends(link), []).append(link)
    added: list[Link] = []
    changed: list[tuple[Link, Link]] = []
    for link in new:
        if left.get(_ends(link)):
            changed.append((left[_ends(link)].pop(0), link))
        else:
            added.append(link)
    removed = [link for links in left.values() for link in links]
    return Relations(tuple(added), tuple(removed), tuple(changed))


def _ends(link: Link) -> tuple[str, str, str]:
    return link.source_id, link.target_id, link.type


def _count(relations: Relations) -> dict[str, int]:
    return {
        "added": len(relations.added),
        "removed": len(relations.removed),
        "changed": len(relations.changed),
    }


def _texts(store: Store, scope: Scope, changed: Sequence[Changed]) -> Iterator[TextDiff]:
    """Of whole documents, conversations and elements; their parts are in them. Lines are shown only
    of documents that the reader may still read today (`Store.versions`)."""
    for change in changed:
        whole = change.after.parent_id is None and "text" in change.what
        if whole and store.versions(scope, change.after.version_id):
            texts = store.text(scope, change.before), store.text(scope, change.after)
            node = change.after
            yield TextDiff(node.element_id, node.title, *text_diff(*texts))


# --- as JSON -------------------------------------------------------------------------------------


def _node(node: Node) -> dict[str, Json]:
    return {
        "id": node.id,
        "element_id": node.element_id,
        "kind": node.kind,
        "title": node.title,
        "version_id": node.version_id,
    }


def _changed(change: Changed) -> dict[str, Json]:
    return {
        "id": change.after.id,
        "element_id": change.after.element_id,
        "kind": change.after.kind,
        "title": change.after.title,
        "from_version": change.before.version_id,
        "to_version": change.after.version_id,
        "changed": list(change.what),
    }


def _link(link: Link) -> dict[str, Json]:
    return {**asdict(link), "metadata": dict(link.metadata)}


def _changed_link(before: Link, after: Link) -> dict[str, Json]:
    said = {"from_metadata": dict(before.metadata), "to_metadata": dict(after.metadata)}
    return {
        "source_id": after.source_id,
        "target_id": after.target_id,
        "type": after.type,
        **said,
    }
