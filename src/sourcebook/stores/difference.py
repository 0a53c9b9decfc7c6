"""Two revisions in, what one shows and the other does not out, found by birth and end: the cost is
that of what changed between them."""

from __future__ import annotations

from collections.abc import Mapping

from sourcebook.model import Difference, Link, Node
from sourcebook.stores.labels import View
from sourcebook.stores.rows import to_link, to_node
from sourcebook.stores.statements import Statements

Values = Mapping[str, int | str | None]


def difference(db: Statements, view: View, old: int, new: int, kind: str | None) -> Difference:
    """From `old` to `new`, whichever of the two is the earlier one."""
    earlier, later = min(old, new), max(old, new)
    ended = {"revision": earlier, "high": later, "kind": kind}
    begun = {"revision": later, "low": earlier, "kind": kind}
    gone_nodes, new_nodes = _apart(
        _nodes(db, view, "nodes_ended_between", ended), _nodes(db, view, "nodes_between", begun)
    )
    gone_relations = _relations(db, view, "relations_ended_between", ended)
    new_relations = _relations(db, view, "relations_between", begun)
    if old <= new:
        return Difference(gone_nodes, new_nodes, gone_relations, new_relations)
    return Difference(new_nodes, gone_nodes, new_relations, gone_relations)


def _apart(gone: tuple[Node, ...], new: tuple[Node, ...]) -> tuple[tuple[Node, ...], ...]:
    """Without nodes that ended and came back as they were."""
    known = {node.id: node for node in new}
    back = {node.id for node in gone if known.get(node.id) == node}
    return (
        tuple(node for node in gone if node.id not in back),
        tuple(node for node in new if node.id not in back),
    )


def _nodes(db: Statements, view: View, name: str, values: Values) -> tuple[Node, ...]:
    return tuple(to_node(row) for row in db.run(name, {**view._asdict(), **values}))


def _relations(db: Statements, view: View, name: str, values: Values) -> tuple[Link, ...]:
    return tuple(to_link(row) for row in db.run(name, {**view._asdict(), **values}))
