"""Random messages and random arguments: never a crash, always an answer, and errors with a name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sourcebook.serve.mcp_catalog import TOOLS
from sourcebook.serve.mcp_pages import Place, cursor
from sourcebook.serve.mcp_server import ERROR
from tests.serve import mcp_world
from tests.serve.mcp_clients import serving
from tests.serve.mcp_world import World

BOUNDED = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
METHODS = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen/",
    "logging/setLevel",
    "notifications/initialized",
    "notifications/cancelled",
    "completion/complete",
]
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
names = [name for tool in TOOLS.values() for name in tool.arguments.model_fields]
likely = st.sampled_from(
    [
        "gate",
        "notes/rules.md",
        "",
        0,
        1,
        10_000,
        0.5,
        {"layer": "business"},
        {"layer": "x"},
        {"baseline_id": "spring"},
        {"revision": 1},
        {"revision": 99},
        {"as_of": "never"},
        "baseline:spring",
        "\ud800",
        "\0",
        cursor(Place(3, "1"), {}),
    ]
)
arguments = st.dictionaries(st.sampled_from(names) | st.text(), likely | values, max_size=5)
calls = st.fixed_dictionaries(
    {"name": st.sampled_from([*TOOLS, "nothing"]), "arguments": arguments | values}
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | values,
        "id": st.integers() | st.text() | values,
        "method": st.sampled_from(METHODS) | st.text(),
        "params": calls | values,
    },
)


@pytest.fixture(scope="module")
def address(world: World) -> Iterator[str]:
    with mcp_world.door(world.store, keys=False) as door, serving(door) as url:
        yield url


@pytest.fixture(scope="module")
def web(address: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=address, timeout=30) as client:
        yield client


def told(answer: httpx2.Response) -> Any:
    """The one message of a response, whatever it came as."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
        return json.loads(lines[-1])
    return json.loads(answer.text)


def check(message: Any) -> None:
    """A result, or an error with a code and a sentence; never one that is our own fault."""
    assert ("result" in message) != ("error" in message)
    if "error" in message:
        assert isinstance(message["error"]["code"], int)
        assert message["error"]["code"] != -32603
        assert message["error"]["message"]
        return
    result = message["result"]
    if result.get("isError"):
        assert "structuredContent" not in result
        error = result["_meta"][ERROR]
        assert error["code"] in ("invalid_input", "not_found")
        assert error["message"]


@BOUNDED
@given(name=st.sampled_from(list(TOOLS)), arguments=arguments)
def test_random_arguments(web: httpx2.Client, name: str, arguments: dict[str, Any]) -> None:
    params = {"name": name, "arguments": arguments, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": name}
    answer = web.post("", headers=JSON | headers, content=json.dumps(message))
    assert answer.status_code in (200, 400)
    check(told(answer))


@BOUNDED
@given(skip=st.integers(), at=st.none() | st.text() | st.just("1") | st.integers())
def test_made_up_cursors(web: httpx2.Client, skip: int, at: Any) -> None:
    question = {
        "query": "gate",
        "top_k": 10,
        "min_score": 0.0,
        "filters": {"layer": None, "element_type": None, "capability": None},
        "read_context": None,
        "repository": None,
    }
    made = cursor(Place(skip, at), question)
    params = {
        "name": "semanticSearch",
        "arguments": {"query": "gate", "cursor": made},
        "_meta": META,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "mcp-protocol-version": VERSION,
        "mcp-method": "tools/call",
        "mcp-name": "semanticSearch",
    }
    result = told(web.post("", headers=JSON | headers, content=json.dumps(message)))
    check(result)
    if skip < 0 or isinstance(at, int):
        assert result["result"]["_meta"][ERROR]["field"] == "cursor"


@BOUNDED
@given(
    body=messages.map(json.dumps) | values.map(json.dumps) | st.text() | st.binary(),
    version=st.sampled_from([None, VERSION, "2025-11-25", "1999-01-01"]),
    session=st.booleans(),
)
def test_random_messages_over_http(
    web: httpx2.Client, body: str | bytes, version: str | None, session: bool
) -> None:
    headers = dict(JSON)
    if version:
        headers["mcp-protocol-version"] = version
    if session:
        headers["mcp-session-id"] = "0" * 32
    content = body.encode("utf-8", "replace") if isinstance(body, str) else body
    with web.stream("POST", "", headers=headers, content=content) as answer:
        assert answer.status_code < 500
        if answer.status_code != 202:
            answer.read()
            check(told(answer))


# --- the program ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(world: World) -> Iterator[subprocess.Popen[str]]:
    args = [sys.executable, "-m", "sourcebook", "--store", f"sqlite:///{world.store}", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(args, stdin=pipe, stdout=pipe, text=True, encoding="utf-8") as running:
        yield running
        assert running.poll() is None, "it has ended"
        assert running.stdin is not None
        running.stdin.close()
        assert running.wait(30) == 0


numbers = count(1)


@BOUNDED
@given(line=messages.map(json.dumps) | values.map(json.dumps) | st.text())
def test_random_lines_on_stdio(program: subprocess.Popen[str], line: str) -> None:
    assert program.stdin is not None
    assert program.stdout is not None
    line = " ".join(line.encode("utf-8", "replace").decode().split())
    ping = {"jsonrpc": "2.0", "id": f"ping-{next(numbers)}", "method": "ping", "params": {}}
    program.stdin.write(f"{line}\n{json.dumps(ping)}\n")
    program.stdin.flush()
    while True:
        message = json.loads(program.stdout.readline())
        check(message)
        if message["id"] == ping["id"]:
            return
