"""`eval`: a test collection in, retrieval quality out, mode by mode."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput
from sourcebook.serve.options import Json, chosen
from sourcebook.serve.progress import bars
from sourcebook.serve.render import one_line, table
from sourcebook.serve.reply import Reply


def evaluate(
    ctx: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", show_default=False, help="A BEIR folder.")
    ],
    run: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the default ranking as a TREC run.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the measures.")
    ] = None,
    modes: Annotated[
        str, typer.Option(metavar="M,…", help="Which modes to measure.")
    ] = "dense,sparse,hybrid,default",
    as_json: Json = False,
) -> Reply:
    """Measure retrieval quality on a test collection."""
    from sourcebook import evaluation

    wanted = [mode.strip() for mode in modes.split(",") if mode.strip()]
    _check(wanted, run, plot)
    with chosen(ctx).open() as engine, bars() as shown:
        result = evaluation.evaluate(
            engine, path, modes=wanted, run=run, progress=shown.step if shown else None
        )
    if plot is not None:
        evaluation.plot(result, plot)
    return Reply(result, partial(_show, result, run, plot), as_json)


def _check(modes: list[str], run: Path | None, plot: Path | None) -> None:
    """Before the long work, what would fail after it."""
    if not modes:
        raise InvalidInput("--modes names no mode; for example dense,sparse", field="modes")
    if run is not None and "default" not in modes:
        raise InvalidInput("--run writes the ranking of `default`; add it to --modes", field="run")
    for file in (run, plot):
        if file is not None and not file.absolute().parent.is_dir():
            raise InvalidInput(f"there is no folder for {file}; make it first", field="run")


def _show(result: dict[str, Any], run: Path | None, plot: Path | None, out: Console) -> None:
    out.print(Text(one_line(f"{result['dataset']}: {result['queries']:,} queries"), style="bold"))
    modes = result["modes"]
    names = list(next(iter(modes.values())))
    table(out, ("mode", *names), [(mode, *measured.values()) for mode, measured in modes.items()])
    for file in (run, plot):
        if file is not None:
            out.print(Text(f"written: {one_line(str(file))}", style="dim"), soft_wrap=True)
