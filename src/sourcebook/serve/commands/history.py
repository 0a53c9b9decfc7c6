"""`log`, `baseline` and `verify`: what happened, names for it, and whether a citation holds."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput
from sourcebook.model import Baseline, Citation
from sourcebook.serve.commands.difference import difference
from sourcebook.serve.options import MOST, Json, Read, chosen, read_context
from sourcebook.serve.render import one_line, safe, table
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sourcebook.history import Replay
    from sourcebook.model import Revision

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
baseline = typer.Typer(no_args_is_help=True, help="Name revisions, and publish one of the names.")
_TYPES = {
    "repository_id": str,
    "element_id": str,
    "version_id": str,
    "start": int,
    "end": int,
    "text_hash": str,
}


def log(
    ctx: typer.Context,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST, help="The last N revisions.")
    ] = 20,
    as_json: Json = False,
) -> Reply:
    """List revisions, newest first."""
    with chosen(ctx).open() as engine:
        found = engine.log(limit)
    data = {"revisions": [{**asdict(r), "counts": dict(r.counts)} for r in found]}
    return Reply(data, partial(_show_log, found), as_json)


@baseline.command("create")
def create(ctx: typer.Context, name: Name, read: Read = "head", as_json: Json = False) -> Reply:
    """Give a revision a name."""
    at = read_context(read)
    with chosen(ctx).open() as engine:
        made = engine.create_baseline(name, at)
    return Reply(asdict(made), partial(_say, f"{name} is revision {made.revision}"), as_json)


@baseline.command("list")
def list_baselines(ctx: typer.Context, as_json: Json = False) -> Reply:
    """List the names and their revisions."""
    with chosen(ctx).open() as engine:
        found = engine.baselines()
    data = {"baselines": [asdict(one) for one in found]}
    return Reply(data, partial(_show_baselines, found), as_json)


@baseline.command("publish")
def publish(ctx: typer.Context, name: Name, as_json: Json = False) -> Reply:
    """Make a named revision what `--read-context published` shows."""
    with chosen(ctx).open() as engine:
        made = engine.publish(name)
    line = f"{name} (revision {made.revision}) is published"
    return Reply(asdict(made), partial(_say, line), as_json)


baseline.command("diff")(difference)


def verify(
    ctx: typer.Context,
    citation: Annotated[
        str,
        typer.Argument(
            metavar="CITATION_JSON", show_default=False, help="A citation or a hit; - for stdin."
        ),
    ],
    as_json: Json = False,
) -> Reply:
    """Replay a citation: does the cited version still say the cited text?"""
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if citation == "-" else citation
    cited = parse_citation(text)
    _check_repository(cited, chosen(ctx).repository)
    with chosen(ctx).open(repository=cited.repository_id) as engine:
        replay = engine.verify(cited)
    return Reply(replay.to_dict(), partial(_show_replay, replay), as_json, 0 if replay.valid else 1)


def parse_citation(text: str) -> Citation:
    """A citation, or a whole hit that holds one."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the citation is not JSON: {error}", field="citation") from error
    if isinstance(data, dict) and isinstance(data.get("citation"), dict):
        data = data["citation"]
    if not isinstance(data, dict):
        raise InvalidInput("a citation is a JSON object", field="citation")
    for name, kind in _TYPES.items():
        if not isinstance(data.get(name), kind) or isinstance(data[name], bool):
            what = "a whole number" if kind is int else "a text"
            raise InvalidInput(f"the citation needs {name}, {what}", field=name)
    return Citation(**{name: data[name] for name in _TYPES})


def _check_repository(cited: Citation, given: str | None) -> None:
    """A citation names its repository, so it is looked up there."""
    if given is not None and given != cited.repository_id:
        raise InvalidInput(
            f"the citation is of the repository {cited.repository_id!r}, not {given!r}; "
            "leave out --repository",
            field="repository_id",
        )


# --- for people ----------------------------------------------------------------------------------


def _say(line: str, out: Console) -> None:
    out.print(Text(one_line(line)))


def _show_log(found: Sequence[Revision], out: Console) -> None:
    if not found:
        out.print("nothing was ingested yet; run `sourcebook ingest PATH`")
        return
    rows = [
        (r.number, r.at, "dropped" if r.dropped else _counts(r), r.message or None) for r in found
    ]
    table(out, ("revision", "at", "changes", "message"), rows, whole=("at",))


def _counts(revision: Revision) -> str:
    """What came and what went, without what follows from it (passages and links)."""
    signs = {"born": "+", "died": "-"}
    told = []
    for name, number in revision.counts.items():
        kind, _, change = name.rpartition("_")
        if change in signs and kind not in ("passage", "link"):
            told.append(f"{signs[change]}{number} {kind}")
    return ", ".join(told)


def _show_baselines(found: Sequence[Baseline], out: Console) -> None:
    if not found:
        out.print("there are no baselines; `sourcebook baseline create NAME` makes one")
        return
    rows = [(b.id, b.revision, b.created_at, "published" if b.published else None) for b in found]
    table(out, ("name", "revision", "created", "state"), rows, whole=("created",))


def _show_replay(replay: Replay, out: Console) -> None:
    verdict = Text("valid", style="bold green") if replay.valid else Text("not valid", "bold red")
    if replay.reason:
        verdict.append(f": {one_line(replay.reason)}", style="default")
    out.print(verdict)
    if replay.visible:
        out.print(Text(_seen(replay), style="dim"))
    if replay.text is not None:
        out.print(Text(safe(replay.text)), soft_wrap=True)


def _seen(replay: Replay) -> str:
    """Which revisions show the version, and what became of it."""
    spans = [
        f"{born}" if died == born + 1 else f"{born} to {'head' if died is None else died - 1}"
        for born, died in replay.visible
    ]
    after = f"; {replay.state} at revision {replay.ended_at}" if replay.ended_at else ""
    return f"shown by revisions {', '.join(spans)}{after}"
