"""A store in, one that the isolation kit can ask over HTTP, MCP or gRPC out: a real server on a
free port of this machine, and real clients of it.

What a surface does not offer is told as nothing, always.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import grpc
import httpx
import httpx2
import uvicorn
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from sourcebook.model import Json
from sourcebook.ports import Store
from sourcebook.serve.door import Door
from sourcebook.serve.grpc_messages import to_dict
from sourcebook.serve.grpc_server import ERROR_KEY, start_grpc
from sourcebook.serve.metrics import Metrics
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb
from sourcebook.serve.proto.sourcebook.v1.semantic_query_pb2_grpc import SemanticQueryServiceStub
from sourcebook.serve.ready import Readiness
from sourcebook.serve.rest import Rest
from sourcebook.serve.server import bound, whole_app
from sourcebook.testing.surface import EngineSurface, Request

Fields = dict[str, Any]
_NAMES = {"version": "version_id", "opinion": "judgment"}
"""What the wire calls otherwise."""
_OWN = ("resolution", "cache", "gated", "evidence")
"""Arguments that the engine alone knows."""
_READS = ("search", "across", "agent", "context", "similar", "list", "get", "links")
"""What the engine reads at head unless told otherwise; some surfaces read what is published."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:\+00:00|Z)")
_LOCAL = "127.0.0.1"


class Served(EngineSurface):
    """One door for all readers; each comes with its key."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._stack = ExitStack()
        self._door = Door(self.owner, keys=True)

    def close(self) -> None:
        self._stack.close()
        super().close()


class HttpSurface(Served):
    def __init__(self, store: Store) -> None:
        super().__init__(store)
        address = self._stack.enter_context(listening(self._door))
        self._client = self._stack.enter_context(httpx.Client(base_url=address, timeout=60))

    def told(self, key: str, request: Request) -> dict[str, Json]:
        asked = _http(request)
        if asked is None:
            return {}
        answer = self._client.request(headers={"authorization": f"Bearer {key}"}, **asked)
        return {
            "status": answer.status_code,
            "headers": sorted(answer.headers),
            "answer": answer.json(),
        }


class McpSurface(Served):
    """One client, which shows the key of whoever asks: nothing is kept between calls."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._address = self._stack.enter_context(listening(self._door)) + "/mcp"
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._web = httpx2.AsyncClient(timeout=60)
        self._client: Client | None = None

    def told(self, key: str, request: Request) -> dict[str, Json]:
        tool = _TOOLS.get(request.action)
        if tool is None:
            return {}
        self._web.headers["authorization"] = f"Bearer {key}"
        given = _TOOL_FIELDS[request.action](_fields(request))
        found: Any = self._portal.call(self._connected().call_tool, tool, given)
        texts = [_TIME.sub("<time>", each.text) for each in found.content]
        where = "message" if found.is_error else "texts"  # an error may say again what was asked
        return {where: texts, "meta": found.meta, "answer": found.structured_content}

    def _connected(self) -> Client:
        if self._client is None:
            client = Client(streamable_http_client(self._address, http_client=self._web))
            held = self._portal.wrap_async_context_manager(client)
            self._client = self._stack.enter_context(held)
        return self._client


class GrpcSurface(Served):
    def __init__(self, store: Store) -> None:
        super().__init__(store)
        server = start_grpc(self._door, f"{_LOCAL}:0")
        self._stack.callback(lambda: server.stop(0).wait())
        channel = grpc.insecure_channel(f"{_LOCAL}:{server.port}")
        stub: Any = SemanticQueryServiceStub
        self._stub = stub(self._stack.enter_context(channel))

    def told(self, key: str, request: Request) -> dict[str, Json]:
        if request.action not in _METHODS:
            return {}
        name, kind = _METHODS[request.action]
        metadata = (("authorization", f"Bearer {key}"),)
        try:
            found = getattr(self._stub, name)(_message(kind, request), metadata=metadata)
        except grpc.RpcError as error:
            told = dict(error.trailing_metadata())[ERROR_KEY]
            return {"status": error.code().name, "answer": json.loads(told)}
        return {"status": "OK", "answer": to_dict(found)}


@contextmanager
def listening(door: Door) -> Iterator[str]:
    """HTTP and MCP as `serve` offers them, in a thread; the address is given."""
    with bound(_LOCAL, 0) as sock, ThreadPoolExecutor(8, "http") as pool:
        rest = Rest(
            door, door.engine.settings.serve, Metrics(door.turns), Readiness(door.engine), pool
        )
        app = replace(whole_app(rest, frozenset({_LOCAL})), logs=False)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            yield f"http://{_LOCAL}:{sock.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


# --- a request of the kit as each surface takes it -----------------------------------------------

_POSTS = {
    "search": "search",
    "across": "search",
    "agent": "agent",
    "context": "context",
    "similar": "similar",
    "verify": "verify",
    "judge": "feedback",
}
_GETS = {
    "list": "nodes",
    "get": "nodes/{node_id}",
    "links": "links/{node_id}",
    "status": "health/index",
    "log": "revisions",
    "baselines": "baselines",
}
_TOOLS = {
    "search": "semanticSearch",
    "context": "getContext",
    "get": "getNode",
    "links": "getNode",
    "baselines": "listBaselines",
    "status": "getIndexHealth",
}
_METHODS: Mapping[str, tuple[str, Any]] = {
    "search": ("Search", pb.SearchRequest),
    "across": ("Search", pb.SearchRequest),
    "context": ("GetContext", pb.GetContextRequest),
    "status": ("GetIndexHealth", pb.GetIndexHealthRequest),
}


def _fields(request: Request) -> Fields:
    """Under the names of the wire."""
    given = {
        _NAMES.get(name, name): value
        for name, value in request.arguments.items()
        if value is not None and name not in _OWN
    }
    if request.action in _READS:
        given.setdefault("read_context", "head")
    if request.action == "across":
        given.setdefault("repositories", "*")
    if "citation" in given:  # which names the repository
        return given
    return {**given, "repository": request.repository}


def _http(request: Request) -> Fields | None:
    given = _fields(request)
    if request.action == "publish":
        path = f"/v1/baselines/{quote(given.pop('baseline'), safe='')}/publish"
        return {"method": "POST", "url": path, "json": given}
    if request.action in _POSTS:
        return {"method": "POST", "url": f"/v1/{_POSTS[request.action]}", "json": given}
    if request.action not in _GETS:
        return None
    path = _GETS[request.action].format(node_id=quote(str(given.pop("node_id", "")), safe=""))
    filters = [
        ("filter", f"{name}={value}")
        for name, values in given.pop("filters", {}).items()
        for value in values
    ]
    return {"method": "GET", "url": f"/v1/{path}", "params": [*given.items(), *filters]}


def _searched(given: Fields) -> Fields:
    taken = {"query": "query", "k": "top_k", **_READ, "filters": "filters"}
    return {taken[name]: value for name, value in given.items() if name in taken}


def _taking(*names: str, **more: Json) -> Callable[[Fields], Fields]:
    taken = {*names, *_READ}
    return lambda given: {name: given[name] for name in given if name in taken} | more


_READ = {"read_context": "read_context", "repository": "repository"}
_TOOL_FIELDS: Mapping[str, Callable[[Fields], Fields]] = {
    "search": _searched,
    "context": _taking("query", "max_tokens", "filters"),
    "get": _taking("node_id", "version_id"),
    "links": _taking("node_id", include_relationships=True),
    "baselines": _taking(),
    "status": _taking(),
}


def _message(kind: Any, request: Request) -> Any:
    known = kind.DESCRIPTOR.fields_by_name
    given = {name: value for name, value in _fields(request).items() if name in known}
    if "filters" in given:
        pairs = given["filters"].items()
        given["filters"] = {name: pb.Values(values=values) for name, values in pairs}
    if "repositories" in given:
        names = given["repositories"]
        given["repositories"] = {"all": True} if names == "*" else {"names": names}
    if "read_context" in given:
        given["read_context"] = _read_context(given["read_context"])
    return kind(**given)


def _read_context(text: str) -> pb.ReadContext:
    name, _, value = text.partition(":")
    if name == "revision":
        return pb.ReadContext(revision=int(value))
    if name == "baseline":
        return pb.ReadContext(baseline_id=value)
    return pb.ReadContext(as_of=value) if name == "as-of" else pb.ReadContext(selector=name)
