"""`feedback`: what somebody says of a result in; kept, listed, or written as golden questions."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput
from sourcebook.model import Judgment, Opinion
from sourcebook.private_files import private_opener
from sourcebook.serve.commands.history import parse_citation
from sourcebook.serve.options import MOST, Json, Read, chosen, read_context
from sourcebook.serve.render import count, one_line, table
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sourcebook.feedback import Golden
    from sourcebook.model import Feedback

feedback = typer.Typer(no_args_is_help=True, help="Keep what people say of results.")


@feedback.command("add")
def add(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", show_default=False)],
    citation: Annotated[
        str,
        typer.Argument(
            metavar="CITATION_JSON", show_default=False, help="A citation or a hit; - for stdin."
        ),
    ],
    helpful: Annotated[bool, typer.Option("--helpful", help="It answered the question.")] = False,
    not_helpful: Annotated[
        bool, typer.Option("--not-helpful", help="It should not have been found.")
    ] = False,
    clicked: Annotated[bool, typer.Option("--clicked", help="It was looked at.")] = False,
    note: Annotated[str, typer.Option(metavar="TEXT", help="Why, for people.")] = "",
    request_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The same id again changes nothing.")
    ] = None,
    read: Read = "head",
    as_json: Json = False,
) -> Reply:
    """Judge one result of a question."""
    from sourcebook.feedback import feedback_to_dict

    opinion = _opinion(helpful=helpful, not_helpful=not_helpful, clicked=clicked)
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if citation == "-" else citation
    cited = parse_citation(text)
    given = Judgment(query, cited, opinion, read_context(read), note, request_id)
    repository = chosen(ctx).repository or cited.repository_id
    with chosen(ctx).open(repository=repository) as engine:
        kept = engine.give_feedback(given)
    line = f"kept: {kept.opinion.replace('_', ' ')}, {kept.node_id}"
    return Reply(feedback_to_dict(kept), partial(_say, line), as_json)


@feedback.command("list")
def list_feedback(
    ctx: typer.Context,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST, help="The last N judgments.")
    ] = 20,
    as_json: Json = False,
) -> Reply:
    """List judgments, newest first."""
    from sourcebook.feedback import feedback_to_dict

    with chosen(ctx).open() as engine:
        found = engine.judgments(limit)
    data = {"feedback": [feedback_to_dict(each) for each in found]}
    return Reply(data, partial(_show, found), as_json)


@feedback.command("export")
def export(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    with_clicks: Annotated[
        bool, typer.Option("--with-clicks", help="What was clicked counts as wanted.")
    ] = False,
    read: Annotated[
        str | None,
        typer.Option(
            "--read-context",
            metavar="READ",
            help="Ask all questions there, not where each was judged.",
        ),
    ] = None,
    as_json: Json = False,
) -> Reply:
    """Write judgments as a file of golden questions for `eval`."""
    with chosen(ctx).open() as engine:
        made = engine.golden(with_clicks=with_clicks, read_context=read)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in made.rows]
    with open(file, "w", encoding="utf-8", opener=private_opener) as out:
        out.writelines(lines)
    data = {"file": str(file), "queries": len(made.rows), "left_out": made.left_out}
    return Reply(data, partial(_show_export, file, made), as_json)


def _opinion(**given: bool) -> Opinion:
    chosen_ones = [name for name, wanted in given.items() if wanted]
    if len(chosen_ones) != 1:
        raise InvalidInput("say one of --helpful, --not-helpful and --clicked", field="judgment")
    return cast(Opinion, chosen_ones[0])


# --- for people ----------------------------------------------------------------------------------


def _say(line: str, out: Console) -> None:
    out.print(Text(one_line(line)))


def _show(found: Sequence[Feedback], out: Console) -> None:
    if not found:
        out.print("nothing was judged yet; `sourcebook feedback add` keeps a judgment")
        return
    columns = ("at", "query", "judgment", "node", "revision", "note")
    rows: list[tuple[Any, ...]] = [
        (
            each.at[:16].replace("T", " "),
            each.query,
            each.opinion.replace("_", " "),
            each.node_id,
            each.read_context.revision,
            each.note or None,
        )
        for each in found
    ]
    table(out, columns, rows, whole=("at", "judgment"))


def _show_export(file: Path, made: Golden, out: Console) -> None:
    _say(f"{count(len(made.rows), 'question')} written to {file}", out)
    if made.left_out:
        left = count(made.left_out, "judgment")
        _say(f"{left} left out: the version is not shown at that read context", out)
