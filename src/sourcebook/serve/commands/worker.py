"""`worker`: a process that embeds what has no vector yet, until it is stopped."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput
from sourcebook.serve.options import Json, chosen
from sourcebook.serve.progress import Bars, bars
from sourcebook.serve.render import count, error_console, note, one_line
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from sourcebook import Sourcebook
    from sourcebook.engine import Engine
    from sourcebook.indexing import Batch, Indexer
    from sourcebook.model import Scope
    from sourcebook.worker import Report, Worker

_COUNTED_EVERY_S = 2.0
"""How often a bar asks how much is left."""


def worker(
    ctx: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="End when nothing is left; status 1 if some failed.")
    ] = False,
    lease: Annotated[
        float,
        typer.Option(metavar="S", help="Seconds until others take over what a dead worker held."),
    ] = 120.0,
    batch: Annotated[
        int, typer.Option(metavar="N", help="Texts embedded and stored at a time.")
    ] = 256,
    all_repositories: Annotated[
        bool, typer.Option("--all-repositories", help="Every repository of the tenant.")
    ] = False,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Every repository of the store.")
    ] = False,
    as_json: Json = False,
) -> Reply:
    """Embed what has no vector yet, side by side with other workers, until stopped."""
    _check(lease, batch)
    from sourcebook.indexing import Pace
    from sourcebook.worker import Worker

    with chosen(ctx).open() as engine, bars() as shown:
        stop = threading.Event()
        engines = partial(_engines, engine, all_repositories, all_tenants)
        work = Worker(engines, Pace(batch=batch, lease_s=lease), _report(shown, engines), stop)
        if not (all_repositories or all_tenants):
            engine.indexers(work.name)
        with _stopped_by_signals(stop):
            work.run(once=once)
        data = _summary(work, engines())
    missing = data["failed"] or data["pending"]
    return Reply(data, partial(_show, data), as_json, 1 if once and missing else 0)


def _check(lease: float, batch: int) -> None:
    if not lease >= 1:
        raise InvalidInput("--lease takes seconds, at least 1", field="lease")
    if batch < 1:
        raise InvalidInput("--batch takes a number of texts, at least 1", field="batch")


def _engines(engine: Sourcebook, all_repositories: bool, all_tenants: bool) -> Sequence[Engine]:
    if not (all_repositories or all_tenants):
        return [engine]
    scopes = engine.store.repositories(None if all_tenants else engine.scope.tenant)
    return [engine.in_scope(scope) for scope in scopes]


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """The first signal lets the batch be finished; the second one does not wait for it."""

    def asked(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {name: signal.signal(name, asked) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        """What was claimed was given back."""
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _summary(work: Worker, engines: Sequence[Engine]) -> dict[str, Any]:
    lags = [engine.lag() for engine in engines]
    return {
        "worker": work.name,
        "batches": work.batches,
        "stored": work.stored,
        "failed_attempts": work.failed,
        "pending": sum(pending for pending, _ in lags),
        "failed": sum(failed for _, failed in lags),
    }


# --- for people, and for logs --------------------------------------------------------------------


def _report(shown: Bars | None, engines: Any) -> Report:
    """A bar on a terminal, else one JSON line a batch on stderr."""
    from sourcebook.worker import Report

    class Bar(Report):
        done, total, asked = 0, 0, -_COUNTED_EVERY_S

        def batch(self, indexer: Indexer, batch: Batch) -> None:
            assert shown is not None
            self.done += batch.stored
            if time.monotonic() - self.asked > _COUNTED_EVERY_S:
                self.asked = time.monotonic()
                self.total = self.done + sum(engine.lag()[0] for engine in engines())
            shown.step("embedding", self.done, max(self.total, self.done))

        def trouble(self, scope: Scope, error: str) -> None:
            assert shown is not None
            shown.say(one_line(f"{scope.repository}: {error}"))

    class Lines(Report):
        def batch(self, indexer: Indexer, batch: Batch) -> None:
            told = {
                "texts": batch.claimed,
                "stored": batch.stored,
                "failed": batch.failed,
                "seconds": round(batch.seconds, 3),
                "tokens": batch.tokens,
                "cost": batch.cost,
            }
            place = _place(indexer.scope) | {"space": indexer.space.id, "worker": indexer.worker}
            _line("batch", place | told | ({"error": batch.error} if batch.error else {}))

        def trouble(self, scope: Scope, error: str) -> None:
            _line("trouble", _place(scope) | {"error": error})

    return Bar() if shown else Lines()


def _place(scope: Scope) -> dict[str, Any]:
    return {"tenant": scope.tenant, "repository": scope.repository}


def _line(event: str, told: dict[str, Any]) -> None:
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    print(json.dumps({"at": at, "event": event, **told}), file=sys.stderr, flush=True)


def _show(data: dict[str, Any], out: Console) -> None:
    out.print(Text(f"embedded {count(data['stored'], 'text')}"))
    if data["pending"]:
        waiting = count(data["pending"], "text still waits", "texts still wait")
        note(error_console(), "pending", f"{waiting} for a vector")
    if data["failed"]:
        texts = count(data["failed"], "text")
        advice = "`sourcebook status` lists them, `sourcebook reindex --failed` tries them again"
        note(error_console(), "failed", f"{texts} could not be embedded; {advice}")
