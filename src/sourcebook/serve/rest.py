"""A door in, an HTTP application out: each route of routes.py asks the door in a thread, and every
error leaves as the same JSON.

The event loop only moves bytes. What parses, searches and writes JSON runs in the pool, and a
request whose asker has gone, or whose time is up, is not started any more, or stopped between two
stages.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import starlette.routing
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from sourcebook import __version__, access
from sourcebook.config import Serve
from sourcebook.engine import Engine
from sourcebook.errors import SourcebookError, Unauthorized
from sourcebook.serve import access_log, failures, page
from sourcebook.serve.asking import bearer, fields
from sourcebook.serve.door import Asked, Door, Visit
from sourcebook.serve.metrics import CONTENT_TYPE, Metrics
from sourcebook.serve.openapi import document
from sourcebook.serve.ready import Readiness
from sourcebook.serve.routes import ROUTES, Route
from sourcebook.serve.tracing import span

GONE = 499
"""The status in the log of a request whose asker went away; nobody receives it."""
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Rest:
    """What the routes share."""

    door: Door
    settings: Serve
    metrics: Metrics
    ready: Readiness
    pool: Executor

    def app(self, **given: Any) -> FastAPI:
        """`given` is for FastAPI, such as its lifespan."""
        app = FastAPI(
            title="Sourcebook",
            version=__version__,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            exception_handlers={HTTPException: _no_route},
            **given,
        )
        for path, file in page.FILES.items():
            self._add(app, "GET", path, partial(_page, file))
        for route in ROUTES:
            self._add(app, route.method, route.path, partial(self.answer, route))
        self._add(app, "GET", "/health", self.health)
        self._add(app, "GET", "/ready", self.readiness)
        self._add(app, "GET", "/metrics", self.measured)
        app.openapi = document  # type: ignore[method-assign]
        return app

    @staticmethod
    def _add(app: FastAPI, method: str, path: str, endpoint: Endpoint) -> None:
        async def safe(request: Request) -> Response:
            try:
                return await endpoint(request)
            except Exception as error:  # noqa: BLE001  the edge of the program
                return failed(request, error)

        where = path.replace("{id}", "{id:path}")
        app.add_api_route(where, safe, methods=[method], include_in_schema=False)

    # --- operations ----------------------------------------------------------------------------

    async def answer(self, route: Route, request: Request) -> Response:
        access_log.note(request.scope, operation=route.name)
        key = bearer(request.headers)
        if key is None and self.door.asks_for_keys:
            raise Unauthorized
        if self._full():
            raise failures.Overloaded
        visit = Visit(time.monotonic() + self.settings.timeout_s)
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                body = await request.body()
                work = partial(self._work, route, request, body, key, visit)
                made = await _unless_gone(request, self.pool.submit(work))
        except TimeoutError:
            raise failures.OutOfTime from None
        except ClientDisconnect:
            made = None
        finally:
            visit.leave()
        if made is None:
            return Response(status_code=GONE)
        return Response(made, media_type="application/json")

    def _full(self) -> bool:
        turns, bounds = self.door.turns, self.door.turns.bounds
        return turns.in_flight >= bounds.running and turns.waiting >= bounds.waiting

    def _work(
        self, route: Route, request: Request, body: bytes, key: str | None, visit: Visit
    ) -> bytes:
        def given() -> dict[str, Any]:
            parts = (request.headers, request.query_params, request.path_params)
            found = fields(route, body, *parts)
            if self.settings.log_queries and isinstance(found.get("query"), str):
                access_log.note(request.scope, query=found["query"])
            return found

        typed = route.method == "POST"
        asked = Asked(route.name, route.operation, given, key, route.otherwise, strict=typed)
        with span(route.name, request.headers):
            return encoded(self.door.answer(asked, visit))

    # --- the process ---------------------------------------------------------------------------

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def readiness(self, request: Request) -> Response:
        problem = await asyncio.to_thread(self.ready.problem)
        if problem is not None:
            raise NotReady(problem)
        return JSONResponse({"status": "ready", "model": self.door.engine.embedder.model})

    async def measured(self, request: Request) -> Response:
        key = bearer(request.headers)
        caches = self.door.engine.cache_counts
        text = await asyncio.to_thread(lambda: self.metrics.text(self._engines(key), caches()))
        return Response(text, media_type=CONTENT_TYPE)

    def _engines(self, key: str | None) -> Iterable[Engine]:
        """Of all repositories that the key administers; without keys, of the whole store."""
        door, engine = self.door, self.door.engine
        caller = door.admit(key)
        access.require(caller, "admin")
        if caller is None:
            return [engine.in_scope(scope) for scope in engine.store.repositories()]
        scopes = access.readable(engine.store, engine.scope, caller, None)
        return [engine.as_caller(caller, scope.repository) for scope in scopes]


async def _page(file: page.File, request: Request) -> Response:
    return file.answer(request)


class NotReady(SourcebookError):
    """The store or the model is not there yet."""

    code = "not_ready"
    exit_status = 3


failures.KINDS.setdefault(NotReady, failures.Kind(503, "UNAVAILABLE"))


def encoded(answer: dict[str, Any]) -> bytes:
    """Half of a character, as an odd file name may hold, leaves as JSON's escape for it."""
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def failed(request: Request, error: Exception) -> Response:
    kind = failures.kind_of(error)
    headers = {}
    if kind.http == 401:
        headers["www-authenticate"] = "Bearer"
    if kind.http in (429, 503):
        headers["retry-after"] = "1"
    if kind == failures.OURS:
        access_log.trouble(request.scope, error)
    else:
        access_log.note(request.scope, error=getattr(error, "code", None))
    body = encoded(failures.document(error))
    return Response(body, kind.http, headers, media_type="application/json")


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        answer = failed(request, failures.WrongMethod())
        answer.headers["allow"] = ", ".join(sorted(_methods(request)))
        return answer
    return failed(request, failures.NoRoute())


def _methods(request: Request) -> set[str]:
    """What this address takes, by any of its routes."""
    routes = [each for each in request.app.routes if isinstance(each, starlette.routing.Route)]
    here = [each for each in routes if each.matches(request.scope)[0] != Match.NONE]
    return {method for each in here for method in each.methods or ()}


async def _unless_gone(request: Request, work: Future[bytes]) -> bytes | None:
    """What the work gives; None once nobody waits for it."""
    done = asyncio.wrap_future(work)
    done.add_done_callback(lambda made: made.cancelled() or made.exception())
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        wanted: set[asyncio.Future[Any]] = {done, gone}
        await asyncio.wait(wanted, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
    return done.result() if done.done() else None


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
