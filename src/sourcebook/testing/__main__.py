"""`python -m sourcebook.testing --worlds N`: the isolation kit on SQLite stores in a new folder, or
on new databases of a PostgreSQL server, where readers ask the engine or a surface.

Ends with status 1 where something leaked.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import cast

from sourcebook.bootstrap import open_store, scratch_store
from sourcebook.ports import Store
from sourcebook.testing import isolation
from sourcebook.testing.isolation import Report, Surface

_EVERY = 100
"""Worlds between two lines of progress."""
_SURFACES = {
    "engine": "sourcebook.testing.surface:EngineSurface",
    "http": "sourcebook.serve.surfaces:HttpSurface",
    "mcp": "sourcebook.serve.surfaces:McpSurface",
    "grpc": "sourcebook.serve.surfaces:GrpcSurface",
}
"""By name, since surfaces stand above the kit."""


def main() -> int:
    given = _arguments()
    with (
        tempfile.TemporaryDirectory(prefix="isolation-", dir=given.folder) as folder,
        ExitStack() as databases,
    ):
        names = count()

        def opens() -> Surface:
            if given.store:
                store = databases.enter_context(scratch_store(given.store))
            else:
                store = open_store(f"sqlite:///{Path(folder, f'{next(names)}.db')}")
            made: Surface = given.surface(store)
            return made

        first = {"first": given.first, "most_leaks": given.most_leaks}
        report = isolation.run(opens, given.worlds, given.seed, **first, progress=_progress)
    for leak in report.leaks:
        print(leak)
    print(_summary(report))
    return 0 if report.ok else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m sourcebook.testing", description="Try the walls of the store in many worlds."
    )
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument("--most-leaks", type=int, default=20, help="end when so many were found")
    parser.add_argument("--folder", help="where stores are made; a memory disk is fastest")
    parser.add_argument(
        "--store",
        metavar="URL",
        help="a PostgreSQL server instead, whose user may make databases: they go at the end",
    )
    parser.add_argument(
        "--surface",
        type=_surface,
        default="engine",
        metavar="NAME",
        help="where readers ask: engine, http, mcp, grpc, or a class of yours, as module:Class",
    )
    return parser.parse_args()


def _surface(name: str) -> Callable[[Store], Surface]:
    module, _, made = _SURFACES.get(name, name).partition(":")
    try:
        return cast(Callable[[Store], Surface], getattr(import_module(module), made))
    except (ImportError, AttributeError, ValueError):
        known = ", ".join(_SURFACES)
        raise argparse.ArgumentTypeError(
            f"there is no surface {name!r}; use {known} or module:Class"
        ) from None


def _progress(report: Report) -> None:
    if report.worlds % _EVERY == 0:
        print(_summary(report), file=sys.stderr, flush=True)


def _summary(report: Report) -> str:
    return (
        f"{report.worlds:,} worlds, {report.observations:,} answers compared, "
        f"{len(report.leaks)} leaks, {report.seconds:,.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
