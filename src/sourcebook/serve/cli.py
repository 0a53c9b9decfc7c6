"""The command line: words in, a reply on stdout, an exit status out. Thin over the engine.

Exit status: 0 done, 1 the answer is no, 2 wrong use, 3 the store or a service cannot be reached.
An error is one sentence on stderr and, with --json, also a document on stdout; never a traceback.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from sourcebook import __version__
from sourcebook.errors import InvalidInput, SourcebookError
from sourcebook.serve.commands import (
    context,
    doctor,
    evaluate,
    feedback,
    history,
    ingest,
    keys,
    mcp,
    models,
    move,
    nodes,
    reindex,
    retain,
    search,
    serve,
    status,
    worker,
)
from sourcebook.serve.options import Chosen
from sourcebook.serve.render import error_console, one_line
from sourcebook.serve.reply import Reply, describe, error_document, write_json

INTERRUPTED = 130
_GLOBAL = ("--store", "--tenant", "--repository", "--config")

app = typer.Typer(
    name="sourcebook",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"sourcebook {__version__}")
        raise typer.Exit


@app.callback()
def choose(
    ctx: typer.Context,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", help="sqlite:///path/file.db; also SOURCEBOOK_STORE."),
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="T", help="Also SOURCEBOOK_TENANT.")] = None,
    repository: Annotated[
        str | None, typer.Option(metavar="R", help="Also SOURCEBOOK_REPOSITORY.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: sourcebook.toml, if it is there.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Retrieval whose answers cite exact words in exact versions."""
    ctx.obj = Chosen(store, tenant, repository, config)


app.command("ingest")(ingest.ingest)
app.command("search")(search.search)
app.command("agent")(search.agent)
app.command("context")(context.context)
app.command("similar")(search.similar)
app.command("get")(nodes.get)
app.command("list")(nodes.list_nodes)
app.command("links")(nodes.links)
app.command("log")(history.log)
app.add_typer(history.baseline, name="baseline")
app.command("verify")(history.verify)
app.command("retain")(retain.retain)
app.command("copy")(move.copy)
app.command("dump")(move.dump)
app.command("load")(move.load)
app.command("status")(status.status)
app.command("worker")(worker.worker)
app.command("serve")(serve.serve)
app.command("reindex")(reindex.reindex)
app.command("doctor")(doctor.doctor)
app.command("eval")(evaluate.evaluate)
app.command("mcp")(mcp.mcp)
app.add_typer(feedback.feedback, name="feedback")
app.add_typer(keys.keys, name="keys")
app.add_typer(models.model, name="model")


def main() -> int:
    """The console script. Sums of vectors run in one thread: the work is shared out above them, and
    threads below that wait for each other cost many times more on a busy machine. Read by NumPy
    when a command first imports it."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return run(sys.argv[1:])


@cache
def _program() -> Any:
    """Made once: it costs more than most commands do."""
    return typer.main.get_command(app)


def run(args: Sequence[str]) -> int:
    """One command line in, its exit status out; what it has to say is on stdout and stderr."""
    try:
        try:
            return _finish(_program()(list(args), standalone_mode=False, prog_name="sourcebook"))
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the edge of the program
            return _fail(error, _wants_json(args))
    except BrokenPipeError:
        return _leave_quietly()


def _finish(result: Any) -> int:
    """Typer gives what the command returned, or the status of an early exit."""
    if isinstance(result, Reply):
        return result.emit()
    if result == INTERRUPTED:
        raise KeyboardInterrupt
    return int(result or 0)


def _fail(error: BaseException, as_json: bool) -> int:
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        error_console().print("interrupted; what was committed is kept")
        return INTERRUPTED
    document, status = _explain(error)
    message = document["error"]["message"]
    if message:
        error_console().print(f"error: {one_line(message)}")
    if os.environ.get("SOURCEBOOK_DEBUG"):
        traceback.print_exception(error)
    if as_json:
        write_json(document)
        sys.stdout.flush()
    return status


def _explain(error: BaseException) -> tuple[dict[str, Any], int]:
    """The error as a document, and its exit status."""
    if isinstance(error, SourcebookError):
        return describe(error), error.exit_status
    if isinstance(error, typer.TyperException):
        message, suggestions = _usage(error)
        code, field = ("usage", None)
        if isinstance(error, typer.BadParameter):  # a value, as any surface may refuse one
            code, field = InvalidInput.code, getattr(error.param, "name", None)
        return error_document(code, message, field, suggestions), 2
    if isinstance(error, OSError):
        name = f": {error.filename}" if error.filename else ""
        message = f"the system refused: {error.strerror or error}{name}"
        return error_document("system_error", message, None, []), 3
    kind = type(error).__name__
    message = f"unexpected error: {kind}: {error}; please report it"
    return error_document("unexpected", message, None, []), 3


def _usage(error: typer.TyperException) -> tuple[str, list[str]]:
    """What was wrong in the words typed, as one sentence that says what to do."""
    message = error.format_message().rstrip(".")
    option = getattr(error, "option_name", "")
    if option in _GLOBAL:
        return f"{option} stands before the command: sourcebook {option} … COMMAND", [option]
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "sourcebook"
    nearest = re.findall(r"'([^']+)'", message.partition("Did you mean")[2])
    suggestions = [*nearest, *(getattr(error, "possibilities", None) or ())]
    link = " " if message.endswith("?") else "; "
    return f"{message}{link}`{path} --help` shows what is possible" if message else "", suggestions


def _wants_json(args: Sequence[str]) -> bool:
    """A command line that is wrong is not parsed, so the wish is read from the words themselves."""
    words = list(args)
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _leave_quietly() -> int:
    """The reader of a pipe has seen enough. Python would complain once more when it closes stdout,
    unless that leads nowhere by then."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return 0
