"""`baseline diff`: what changed between two revisions; parts are counted under their document."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.serve.options import MOST, Json, chosen
from sourcebook.serve.render import one_line, safe
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sourcebook.difference import Diff
    from sourcebook.model import Link, Resolved

_SHOWN = 50
"""Documents and relationships of each list, for people."""
_COLOURS = {"+": "green", "-": "red", "~": "yellow", "@": "cyan", " ": "dim"}
Side = Annotated[
    str,
    typer.Argument(
        show_default=False, help="A baseline, a revision's number, head, published, as-of:TIME."
    ),
]


def difference(
    ctx: typer.Context,
    a: Side,
    b: Side,
    kind: Annotated[
        str | None, typer.Option(metavar="K", help="Only nodes that are document, chunk, …")
    ] = None,
    no_text: Annotated[bool, typer.Option("--no-text", help="No diffs of texts.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=MOST, help="At most so many of each list."),
    ] = None,
    as_json: Json = False,
) -> Reply:
    """Show what changed from A to B: nodes, relationships, and the text of documents."""
    with chosen(ctx).open() as engine:
        found = engine.diff(a, b, kind=kind, text=not no_text, limit=limit)
    return Reply(found.to_dict(), partial(_show, found, limit or _SHOWN), as_json)


# --- for people ----------------------------------------------------------------------------------


def _show(found: Diff, most: int, out: Console) -> None:
    out.print(Text(f"from {_name(found.old)} to {_name(found.new)}", style="dim"))
    if not any(n for counts in found.counts.values() for n in counts.values()):
        out.print("nothing changed")
        return
    lines = _documents(found)
    _print(out, lines, most)
    relations = found.relations
    _print(out, [*_links("+", relations.added), *_links("-", relations.removed)], most)
    _print(out, _links("~", [after for _, after in relations.changed]), most)
    _total(out, found)
    for document in found.documents[:most]:
        out.print()
        out.print(Text(one_line(f"{document.element_id}: {document.title}"), style="bold"))
        for line in document.diff.splitlines():
            out.print(Text(safe(line), style=_COLOURS.get(line[:1], "")), soft_wrap=True)
        if document.cut:
            out.print(Text("… cut here: the texts differ in more than this", style="dim"))


def _name(at: Resolved) -> str:
    name = at.baseline_id or at.as_of
    return f"revision {at.revision}" + (f" ({name})" if name else "")


def _documents(found: Diff) -> list[str]:
    """One line an element: what happened to itself, and how many of its parts came and went."""
    parts: dict[str, Counter[str]] = {}
    said: dict[str, str] = {}
    told = [
        *(("+", node, "") for node in found.added),
        *(("-", node, "") for node in found.removed),
        *(("~", change.after, ", ".join(change.what)) for change in found.changed),
    ]
    for sign, node, what in told:
        parts.setdefault(node.element_id, Counter())
        if node.parent_id is None:
            title = f"  {node.title}" if node.title != node.element_id else ""
            said[node.element_id] = f"{sign} {node.element_id}{title}{f' ({what})' if what else ''}"
        else:
            parts[node.element_id][sign] += 1
    return [_line(said.get(e, f"~ {e}"), counts) for e, counts in sorted(parts.items())]


def _line(said: str, counts: Counter[str]) -> str:
    inside = " ".join(f"{sign}{counts[sign]}" for sign in "+-~" if counts[sign])
    return f"{said}  [parts {inside}]" if inside else said


def _links(sign: str, links: Sequence[Link]) -> list[str]:
    return [f"{sign} {x.source_id} {x.type} {x.target_id}" for x in links]


def _print(out: Console, lines: Sequence[str], most: int) -> None:
    for line in lines[:most]:
        out.print(Text(one_line(line), style=_COLOURS[line[0]]), soft_wrap=True)
    if len(lines) > most:
        out.print(Text(f"… and {len(lines) - most} more; --limit N shows more", style="dim"))


def _total(out: Console, found: Diff) -> None:
    words = [
        f"{what}: {', '.join(f'{n} {name}' for name, n in counts.items())}"
        for what, counts in found.counts.items()
    ]
    out.print(Text("; ".join(words), style="dim"))
