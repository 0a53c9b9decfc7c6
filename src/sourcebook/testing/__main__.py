"""`python -m sourcebook.testing --worlds N`: the isolation kit on SQLite stores in a new folder.

Ends with status 1 where something leaked.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from itertools import count
from pathlib import Path

from sourcebook.bootstrap import open_store
from sourcebook.testing import isolation
from sourcebook.testing.isolation import EngineSurface, Report

_EVERY = 100
"""Worlds between two lines of progress."""


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="isolation-", dir=given.folder) as folder:
        names = count()

        def opens() -> EngineSurface:
            return EngineSurface(open_store(f"sqlite:///{Path(folder, f'{next(names)}.db')}"))

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
    return parser.parse_args()


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
