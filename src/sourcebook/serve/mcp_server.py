"""A door in; a server of the Model Context Protocol out, for stdio and for HTTP alike.

Each call runs in a thread of its own, as the caller whose key came with it. Who cancels while the
call waits for its turn has it taken out of the line; what already runs ends after its stage.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio import to_thread
from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from sourcebook import __version__
from sourcebook.errors import SourcebookError
from sourcebook.serve import mcp_resources
from sourcebook.serve.door import Door, parse
from sourcebook.serve.failures import OURS, OutOfTime, document, kind_of
from sourcebook.serve.mcp_catalog import INSTRUCTIONS, LISTED, TOOLS
from sourcebook.serve.mcp_text import error_text
from sourcebook.serve.mcp_tools import Ask
from sourcebook.serve.turns import Visit

Asked = ServerRequestContext[Any, Any]
KeyOf = Callable[[Asked], str | None]
Answer = TypeVar("Answer")
ERROR = "sourcebook/error"
"""Where the metadata of a result that is an error has its JSON."""
_PROGRESS_EVERY_S = 1.0
_log = logging.getLogger(__name__)


class Call:
    """One call's way through the door, which its caller may leave."""

    def __init__(self, door: Door, key: str | None) -> None:
        self._door, self._key = door, key
        self._visit: Visit | None = None
        self._left = False
        self._lock = threading.Lock()

    def __call__(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._left:
                raise OutOfTime
            visit = self._visit = Visit()
        return self._door.call(name, given, key=self._key, otherwise="default", visit=visit)

    def leave(self) -> None:
        with self._lock:
            self._left = True
            if self._visit is not None:
                self._visit.leave()


class Handlers:
    def __init__(self, door: Door, key_of: KeyOf) -> None:
        self._door, self._key_of = door, key_of
        bounds = door.turns.bounds
        # More threads than turns and places to wait, so that the door itself says when it is full.
        self._threads = anyio.CapacityLimiter(bounds.running + bounds.waiting + 8)

    async def list_tools(
        self, asked: Asked, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=LISTED)

    async def call_tool(
        self, asked: Asked, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            raise MCPError(types.INVALID_PARAMS, f"there is no such tool; there are {known}")

        def run(ask: Ask) -> types.CallToolResult:
            given = parse(tool.arguments, params.arguments or {}, strict=True)
            said = tool.run(ask, given)
            return types.CallToolResult(
                content=_content(said.text), structured_content=_sendable(said.content)
            )

        try:
            return await self._in_thread(asked, run)
        except Exception as error:  # noqa: BLE001  the edge: every failure is told in one form
            return _refusal(_told(error))

    async def list_resources(
        self, asked: Asked, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        return await self._or_error(asked, lambda ask: mcp_resources.listed(ask, cursor))

    async def list_templates(
        self, asked: Asked, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=mcp_resources.TEMPLATES)

    async def read_resource(
        self, asked: Asked, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._or_error(asked, lambda ask: mcp_resources.read(ask, uri))
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=_sendable(text))
        return types.ReadResourceResult(contents=[contents])

    async def _or_error(self, asked: Asked, work: Callable[[Ask], Answer]) -> Answer:
        try:
            return await self._in_thread(asked, work)
        except Exception as error:  # noqa: BLE001  the edge: every failure is told in one form
            told = _told(error)
            code = types.INTERNAL_ERROR if kind_of(error).http >= 500 else types.INVALID_PARAMS
            raise MCPError(code, error_text(told), told["error"]) from None

    async def _in_thread(self, asked: Asked, work: Callable[[Ask], Answer]) -> Answer:
        call = Call(self._door, self._key_of(asked))
        done: list[Answer] = []
        failed: list[Exception] = []
        longest = self._door.engine.settings.serve.timeout_s
        with anyio.move_on_after(longest):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_tell_progress, asked)
                try:
                    run = partial(to_thread.run_sync, abandon_on_cancel=True, limiter=self._threads)
                    done.append(await run(work, call))
                except Exception as error:  # noqa: BLE001  raised again, outside of the group
                    failed.append(error)
                finally:
                    call.leave()
                    tasks.cancel_scope.cancel()
        if not done:
            raise failed[0] if failed else OutOfTime
        return done[0]


async def _tell_progress(asked: Asked) -> None:
    """Every second, to who asked for it: an embedding service or a first question may take some."""
    seconds = 0
    while True:
        await anyio.sleep(_PROGRESS_EVERY_S)
        seconds += 1
        await asked.session.report_progress(seconds, None, f"working for {seconds} s")


def _told(error: Exception) -> dict[str, Any]:
    if not isinstance(error, SourcebookError) or kind_of(error) == OURS:
        _log.error("a call failed", exc_info=error)
    return document(error)


def _refusal(told: dict[str, Any]) -> types.CallToolResult:
    """Clients hold structured content against the tool's schema, whatever the answer is, so an
    error is told beside it."""
    return types.CallToolResult(
        content=_content(error_text(told)), is_error=True, meta={ERROR: _sendable(told["error"])}
    )


def _content(text: str) -> list[types.ContentBlock]:
    return [types.TextContent(type="text", text=_sendable(text))]


def _sendable(value: Any) -> Any:
    """Half characters, as odd file names have them, cannot be sent."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_sendable(key): _sendable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_sendable(each) for each in value]
    return value


def make_server(door: Door, key_of: KeyOf) -> Server[Any]:
    """`key_of` says with which key a request came."""
    handlers = Handlers(door, key_of)
    return Server(
        "sourcebook",
        version=__version__,
        title="Sourcebook",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )
