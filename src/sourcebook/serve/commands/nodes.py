"""`get`, `list` and `links`: the graph as it is at a read context, without a search."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.serve.options import (
    MOST,
    Filters,
    Json,
    NodeId,
    Read,
    chosen,
    filters,
    read_context,
)
from sourcebook.serve.render import (
    fields,
    metadata_line,
    one_line,
    places,
    read_context_line,
    safe,
    table,
)
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sourcebook.model import Link, Node, Resolved


def get(
    ctx: typer.Context,
    node_id: NodeId,
    version: Annotated[
        str | None, typer.Option(metavar="V", help="This version of the node, however old.")
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--quality", help="Show what its quality was judged by.")
    ] = False,
    read: Read = "head",
    as_json: Json = False,
) -> Reply:
    """Show a node and its text."""
    at = read_context(read)
    with chosen(ctx).open() as engine:
        context = engine.resolve(at)
        node, text = engine.get(node_id, version=version, read_context=context.pinned)
        quality = engine.quality(node, text, evidence=evidence)
        data = node_document(node, engine.scope.repository)
        data |= {"text": text, "citation": _citation(node, text, engine.scope.repository)}
    data |= {"quality": quality, "read_context": asdict(context)}
    return Reply(data, partial(_show_node, node, text, quality, context), as_json)


def list_nodes(
    ctx: typer.Context,
    kind: Annotated[
        str | None, typer.Option(metavar="K", help="Only document, section, chunk, …")
    ] = None,
    filter: Filters = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST, help="At most so many.")
    ] = 100,
    after: Annotated[
        str, typer.Option(metavar="ID", help="Go on behind this node: `next` of the last page.")
    ] = "",
    read: Read = "head",
    as_json: Json = False,
) -> Reply:
    """List nodes in the order of their ids."""
    at, wanted = read_context(read), filters(filter)
    with chosen(ctx).open() as engine:
        context = engine.resolve(at)
        found = engine.list(
            kind=kind, filters=wanted, limit=limit + 1, after=after, read_context=context.pinned
        )
        repository = engine.scope.repository
    page = found[:limit]
    following = page[-1].id if len(found) > limit else None
    data = {
        "read_context": asdict(context),
        "nodes": [node_document(node, repository) for node in page],
        "next": following,
    }
    return Reply(data, partial(_show_list, page, following, context), as_json)


def links(ctx: typer.Context, node_id: NodeId, read: Read = "head", as_json: Json = False) -> Reply:
    """List what a node is connected with, in both directions."""
    at = read_context(read)
    with chosen(ctx).open() as engine:
        context = engine.resolve(at)
        found = engine.links(node_id, context.pinned)
    data = {
        "read_context": asdict(context),
        "node_id": node_id,
        "links": [{**asdict(link), "metadata": dict(link.metadata)} for link in found],
    }
    return Reply(data, partial(_show_links, node_id, found, context), as_json)


def node_document(node: Node, repository: str) -> dict[str, Any]:
    """A node under the names that a search hit has for the same things."""
    return {
        "element_id": node.element_id,
        "node_id": node.id,
        "version_id": node.version_id,
        "repository_id": repository,
        "title": node.title,
        "kind": node.kind,
        "section_path": list(node.section_path),
        "page": node.page,
        "start": node.start,
        "end": node.end,
        "source": node.source,
        "parent_id": node.parent_id,
        "position": node.position,
        "content_hash": node.content_hash,
        "metadata": dict(node.metadata),
    }


def _citation(node: Node, text: str, repository: str) -> dict[str, Any]:
    from sourcebook.hashing import text_hash
    from sourcebook.model import Citation

    place = (node.element_id, node.version_id, node.start, node.end)
    return asdict(Citation(repository, *place, text_hash(text)))


# --- for people ----------------------------------------------------------------------------------


def _show_node(node: Node, text: str, quality: Any, context: Resolved, out: Console) -> None:
    read_context_line(out, context)
    out.print(Text(one_line(node.title) or node.id, style="bold"))
    rows = [
        ("node", node.id),
        ("version", node.version_id),
        ("kind", node.kind),
        ("where", places(node.source, node.start, node.end, node.page)),
        ("section", " › ".join(node.section_path)),
        ("parent", node.parent_id or ""),
        ("metadata", metadata_line(node.metadata)),
        ("quality", _quality(quality)),
        *(("evidence", _evidence(item)) for item in (quality or {}).get("evidence", ())),
    ]
    fields(out, [(name, value) for name, value in rows if value])
    out.print()
    out.print(Text(safe(text)), soft_wrap=True)


def _quality(quality: Any) -> str:
    if quality is None:
        return "not scored yet"
    stub = f", a stub: {quality['stub_type']}" if quality["stub_type"] else ""
    return (
        f"{quality['overall']:.2f} (authenticity {quality['authenticity']:.2f}, "
        f"necessity {quality['necessity']:.2f}{stub})"
    )


def _evidence(item: Any) -> str:
    return f"{item['signal']} {item['weight']:+.2f} “{one_line(item['words'])}”"


def _show_list(
    page: Sequence[Node], following: str | None, context: Resolved, out: Console
) -> None:
    read_context_line(out, context)
    if not page:
        out.print("there are no such nodes")
        return
    table(
        out,
        ("kind", "node", "title", "place"),
        [(n.kind, n.id, n.title, f"{n.start}-{n.end}") for n in page],
        whole=("kind", "place"),
    )
    if following:
        out.print(Text(f"there are more: --after {following}", style="dim"), soft_wrap=True)


def _show_links(node_id: str, found: Sequence[Link], context: Resolved, out: Console) -> None:
    read_context_line(out, context)
    if not found:
        out.print("the node has no links")
        return
    rows = []
    for link in found:
        away = link.source_id == node_id
        rows.append(
            ("to" if away else "from", link.type, link.target_id if away else link.source_id)
        )
    table(out, ("direction", "type", "node"), rows)
