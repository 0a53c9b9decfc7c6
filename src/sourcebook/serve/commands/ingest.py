"""`ingest`: files, folders or standard input become one revision."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput
from sourcebook.model import Skipped
from sourcebook.serve.options import Json, chosen, metadata
from sourcebook.serve.progress import Bars, bars
from sourcebook.serve.render import count, error_console, note, one_line
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from sourcebook import Sourcebook
    from sourcebook.ingest import Outcome, Progress

STDIN = "-"
_SHOWN = 20


def ingest(
    ctx: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH…", show_default=False, help="Files, folders, or - for stdin."),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="F", help="text, markdown, pdf, chatgpt, archimate …; else by name and content."
        ),
    ] = None,
    document_type: Annotated[
        str | None, typer.Option(metavar="T", help="Metadata document_type of all the documents.")
    ] = None,
    binding: Annotated[
        bool | None, typer.Option("--binding/--no-binding", help="Metadata is_binding.")
    ] = None,
    meta: Annotated[
        list[str] | None,
        typer.Option(metavar="K=V", help="More metadata; true, false and whole numbers are typed."),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="End documents below PATH whose file is gone.")
    ] = False,
    message: Annotated[str, typer.Option(metavar="M", help="Why, for the log.")] = "",
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not embed now; a worker or the next ingest does.")
    ] = False,
    request_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Carried out once, however often it is sent.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What stdin is called.")] = "stdin",
    embed_first: Annotated[
        bool,
        typer.Option("--embed-first", help="Commit when all vectors are there, or not at all."),
    ] = False,
    as_json: Json = False,
) -> Reply:
    """Take in files and folders as one revision; unchanged files change nothing."""
    _check(paths, prune)
    if embed_first and no_wait:
        raise InvalidInput("--embed-first waits for vectors, --no-wait does not; choose one")
    request = _Request(
        format,
        metadata(meta, document_type, binding),
        prune,
        message,
        request_id,
        not no_wait,
        embed_first,
    )
    with chosen(ctx).open() as engine, bars() as shown:
        if paths == [STDIN]:
            outcome = _take_stdin(engine, request, name, shown)
        else:
            outcome = _take_files(engine, request, paths, shown)
        problem = _not_embedded(engine, outcome, request.wait)
    if problem:
        note(error_console(), "not embedded", problem)
    data = outcome.to_dict()
    return Reply(data, partial(_show, outcome), as_json, 1 if _nothing_read(outcome) else 0)


@dataclass(frozen=True, slots=True)
class _Request:
    format: str | None
    metadata: dict[str, str | int | bool]
    prune: bool
    message: str
    request_id: str | None
    wait: bool
    embed_first: bool


def _check(paths: Sequence[str], prune: bool) -> None:
    if STDIN in paths and len(paths) > 1:
        raise InvalidInput("`-` stands alone; ingest files in another command", field="paths")
    if STDIN in paths and prune:
        raise InvalidInput("--prune needs files or folders, not `-`", field="prune")


def _take_stdin(engine: Sourcebook, request: _Request, name: str, shown: Bars | None) -> Outcome:
    from sourcebook import sources
    from sourcebook.ingest import Again, Request

    given = sys.stdin.buffer.read()
    documents = Again(
        lambda: sources.read_text(
            given, source=name, format=request.format, metadata=request.metadata
        )
    )
    return engine.take_in(
        Request(documents, request.message, request.request_id),
        request.wait,
        embedding_progress=_step(shown, "embedding"),
        context_progress=_step(shown, "contexts"),
        embed_first=request.embed_first,
    )


def _take_files(
    engine: Sourcebook, request: _Request, paths: Sequence[str], shown: Bars | None
) -> Outcome:
    return engine.ingest(
        *paths,
        format=request.format,
        metadata=request.metadata,
        prune=request.prune,
        message=request.message,
        request_id=request.request_id,
        wait=request.wait,
        progress=_files(shown, paths),
        embedding_progress=_step(shown, "embedding"),
        context_progress=_step(shown, "contexts"),
        embed_first=request.embed_first,
    )


def _files(shown: Bars | None, paths: Sequence[str]) -> Progress | None:
    """Counts files, of which one may hold many documents. The folders are walked once more for
    the total, which costs little beside reading them."""
    if shown is None:
        return None
    from sourcebook import sources

    total = sum(isinstance(item, Path) for item in sources.find(paths))
    seen: set[str] = set()

    def looked_at(source: str) -> None:
        seen.add(source)
        shown.step("reading", len(seen), max(total, len(seen)))

    return looked_at


def _step(shown: Bars | None, name: str) -> Any:
    return partial(shown.step, name) if shown else None


def _nothing_read(outcome: Outcome) -> bool:
    """Everything that was given was skipped: the answer to "take this in" is no."""
    return bool(outcome.skipped) and not (outcome.nodes or outcome.unchanged or outcome.ended)


def _not_embedded(engine: Sourcebook, outcome: Outcome, waited: bool) -> str:
    """What has no vector though the command waited for it, and why; empty if all is well."""
    waiting = outcome.pending_vectors if waited else 0
    if not (waiting or outcome.failed_vectors):
        return ""
    texts = [
        *([count(waiting, "text still waits", "texts still wait")] if waiting else []),
        *([f"{outcome.failed_vectors:,} failed"] if outcome.failed_vectors else []),
    ]
    errors = "; ".join(dict.fromkeys(each.error for each in engine.failures(1)))
    advice = "`sourcebook status` shows more, full-text search finds them all the same"
    return f"{', '.join(texts)} ({errors}); {advice}" if errors else f"{', '.join(texts)}; {advice}"


# --- for people ----------------------------------------------------------------------------------


def _show(outcome: Outcome, out: Console) -> None:
    out.print(_summary(outcome))
    if outcome.unchanged:
        out.print(Text(f"unchanged: {count(outcome.unchanged, 'document')}"))
    if outcome.ended:
        out.print(Text(f"ended: {count(outcome.ended, 'document')} whose file is gone"))
    _show_files("skipped", outcome.skipped, out)
    _show_files("taken in with a warning", outcome.warnings, out)
    if outcome.pending_vectors:
        waiting = count(outcome.pending_vectors, "text waits", "texts wait")
        note(out, "pending", f"{waiting} for a vector; until then full-text search finds them")
    out.print(Text(_next(outcome), style="dim"))


def _summary(outcome: Outcome) -> Text:
    if not (outcome.nodes or outcome.ended):
        return Text("nothing has changed" if outcome.unchanged else "nothing was taken in")
    counts = outcome.to_dict()["counts"]
    parts = [count(number, kind) for kind, number in counts.items() if number]
    if outcome.passages:
        parts.append(count(outcome.passages, "new passage"))
    line = Text(f"revision {outcome.revision}", style="bold green")
    return line.append(f": {', '.join(parts)}", style="default") if parts else line


def _show_files(what: str, items: Sequence[Skipped], out: Console) -> None:
    if not items:
        return
    note(out, what, count(len(items), "file or record", "files or records"))
    for item in items[:_SHOWN]:
        line = Text(f"  {one_line(item.path)}: ").append(one_line(item.reason), style="dim")
        out.print(line, soft_wrap=True)
    more = len(items) - _SHOWN
    if more > 0:
        out.print(Text(f"  and {more:,} more; --json shows all", style="dim"))


def _next(outcome: Outcome) -> str:
    if outcome.pending_vectors:
        return "next: run `sourcebook worker` to embed what is pending"
    if _nothing_read(outcome):
        return "next: correct the files above, or name their --format"
    return 'next: sourcebook search "your question"'
