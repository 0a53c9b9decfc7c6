"""Who is let in over HTTP: by its own key, from pages and by names that are known; and that calls
can be left, followed and made side by side."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp import Client

from sourcebook.access import Grant
from sourcebook.serve.door import Bounds, Door
from sourcebook.serve.mcp_catalog import TOOLS
from sourcebook.serve.mcp_server import ERROR
from tests.serve import mcp_world
from tests.serve.mcp_clients import CURRENT, PREVIOUS, ask, call, on_http, serving
from tests.serve.mcp_world import SECRET, World
from tests.serve.running import running

QUESTION = {"query": "When does the gate of the mill close?"}
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "semanticSearch": QUESTION,
    "getContext": QUESTION,
    "getNode": {"node_id": "notes/rules.md"},
    "listBaselines": {},
    "getIndexHealth": {},
    "search": QUESTION,
    "fetch": {"id": "notes/rules.md"},
}


@pytest.fixture(scope="module")
def door(world: World) -> Iterator[Door]:
    with mcp_world.door(world.store, keys=True) as made:
        yield made


@pytest.fixture(scope="module")
def address(door: Door) -> Iterator[str]:
    with serving(door) as url:
        yield url


def wrong_keys(world: World) -> list[str | None]:
    known = world.key
    changed = known[:-1] + ("0" if known[-1] != "0" else "1")
    return [None, "x", known[:-1], changed, f"{known} x"]


# --- keys ----------------------------------------------------------------------------------------


def test_every_tool_answers_who_has_a_key(address: str, world: World) -> None:
    assert set(ARGUMENTS) == set(TOOLS)

    async def work(client: Client) -> list[bool]:
        return [
            (await client.call_tool(name, arguments)).is_error
            for name, arguments in ARGUMENTS.items()
        ]

    assert ask(on_http(address, world.key), work) == [False] * len(TOOLS)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT"])
@pytest.mark.parametrize("path", ["", "/", "/sse", "/../v1"])
def test_without_a_right_key_nothing_is_told(
    address: str, world: World, method: str, path: str
) -> None:
    said = set()
    for key in wrong_keys(world):
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        body = json.dumps(HELLO) if method == "POST" else None
        answer = httpx2.request(method, address + path, headers=JSON | headers, content=body)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        said.add(answer.text)
    assert len(said) == 1
    assert "sb_" not in said.pop()


@pytest.mark.parametrize("given", ["Basic dTpw", "Bearer", "sb_key", "bearer"])
def test_another_form_of_authorization_is_a_wrong_key(address: str, given: str) -> None:
    answer = httpx2.post(address, headers=JSON | {"authorization": given}, json=HELLO)
    assert answer.status_code == 401


def test_a_key_of_another_tenant_sees_nothing_of_ours(address: str, world: World) -> None:
    """It is a good key of its own tenant, and sees that alone."""

    async def work(client: Client) -> list[Any]:
        return [await client.call_tool(name, given) for name, given in ARGUMENTS.items()]

    ours = [result.model_dump_json() for result in ask(on_http(address, world.key), work)]
    theirs = [result.model_dump_json() for result in ask(on_http(address, world.other), work)]
    for told in theirs:
        assert "o'clock" not in told
        assert "spring" not in told
        assert "larkfield" not in told.lower()
    assert any("o'clock" in told for told in ours)
    assert not any(SECRET in told for told in ours)
    found = call(on_http(address, world.other), "search", query="safe").structured_content
    assert [hit["id"] for hit in found["results"]] == ["elsewhere/safe.md"]
    hidden = call(on_http(address, world.other), "getNode", node_id="notes/rules.md")
    nowhere = call(on_http(address, world.other), "getNode", node_id="notes/nobody.md")
    said = [each.meta[ERROR]["message"] for each in (hidden, nowhere)]
    assert said[0].replace("rules", "nobody") == said[1]


def test_each_call_is_made_with_its_own_key(address: str, world: World) -> None:
    question = {"query": "What does the miller earn?"}
    for mode in (CURRENT, PREVIOUS):
        reader = call(on_http(address, world.key, mode), "semanticSearch", **question)
        board = call(on_http(address, world.board, mode), "semanticSearch", **question)
        assert "3,141" not in reader.model_dump_json()
        assert "3,141" in board.structured_content["results"][0]["text"]


def test_a_session_belongs_to_its_key(address: str, world: World) -> None:
    def post(key: str, message: dict[str, Any], **headers: str) -> httpx2.Response:
        given = JSON | {"authorization": f"Bearer {key}", **headers}
        return httpx2.post(address, headers=given, json=message)

    begun = post(world.key, HELLO)
    session = {"mcp-session-id": begun.headers["mcp-session-id"]}
    assert post(world.key, LIST, **session).status_code == 200
    assert post(world.board, LIST, **session).status_code == 404
    assert post(world.other, LIST, **session).status_code == 404


def test_there_is_no_stream_to_listen_to(address: str, world: World) -> None:
    given = {"authorization": f"Bearer {world.key}", "accept": "text/event-stream"}
    answer = httpx2.get(address, headers=given)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST, DELETE")


@pytest.mark.parametrize("mode", [CURRENT, PREVIOUS])
def test_a_key_that_is_revoked_ends_at_once(address: str, door: Door, mode: str) -> None:
    made, key = door.engine.create_key(Grant("short"))

    async def work(client: Client) -> tuple[bool, str]:
        before = await client.call_tool("search", QUESTION)
        door.engine.revoke_key(made.id)
        try:
            after = await client.call_tool("search", QUESTION)
        except Exception as error:  # noqa: BLE001  a transport error of the client's choice
            return before.is_error, repr(error)
        return before.is_error, after.model_dump_json()

    failed, after = ask(on_http(address, key, mode), work)
    assert not failed
    assert "o'clock" not in after


# --- pages and names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1.evil.example"}, 403),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"origin": "http://localhost:5173"}, 200),
        ({}, 200),
    ],
)
def test_pages_and_names_from_elsewhere_are_refused(
    address: str, world: World, headers: dict[str, str], status: int
) -> None:
    given = JSON | {"authorization": f"Bearer {world.key}"} | headers
    assert httpx2.post(address, headers=given, json=HELLO).status_code == status
    current = given | {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    answer = httpx2.post(address, headers=current, json=LIST)
    assert answer.status_code == (400 if status == 200 else status)


def test_a_request_that_is_too_large_is_refused(address: str, world: World) -> None:
    given = JSON | {"authorization": f"Bearer {world.key}"}
    body = json.dumps({**HELLO, "params": {"x": "y" * 1_100_000}})
    assert httpx2.post(address, headers=given, content=body).status_code == 413


# --- side by side, left, followed ----------------------------------------------------------------


def test_clients_side_by_side_get_their_own_answers(address: str, world: World) -> None:
    async def one(key: str, mode: str, said: list[str]) -> None:
        async with on_http(address, key, mode) as client:
            for _ in range(5):
                found = await client.call_tool(
                    "semanticSearch", {"query": "What does the miller earn?", "top_k": 3}
                )
                said.append(json.dumps(found.structured_content["results"]))

    async def main() -> list[list[str]]:
        answers: list[list[str]] = [[], [], [], []]
        whose = [(world.key, CURRENT), (world.board, CURRENT)]
        whose += [(world.key, PREVIOUS), (world.board, PREVIOUS)]
        async with anyio.create_task_group() as tasks:
            for (key, mode), said in zip(whose, answers, strict=True):
                tasks.start_soon(one, key, mode, said)
        return answers

    reader, board, reader_before, board_before = anyio.run(main)
    assert len(reader) == len(board) == 5
    assert set(reader) == set(reader_before)
    assert set(board) == set(board_before)
    assert len(set(reader)) == len(set(board)) == 1
    assert "3,141" in board[0]
    assert "3,141" not in reader[0]


@pytest.fixture
def narrow(world: World) -> Iterator[tuple[Door, str]]:
    """A door with one turn, which the test takes."""
    bounds = Bounds(running=1, waiting=4, per_tenant_share=1, per_key_share=1)
    with mcp_world.door(world.store, keys=True, bounds=bounds) as made, serving(made) as url:
        yield made, url


@pytest.mark.parametrize("mode", [CURRENT, PREVIOUS])
def test_a_call_that_is_cancelled_leaves_the_line(
    narrow: tuple[Door, str], world: World, mode: str
) -> None:
    door, url = narrow

    async def work(client: Client) -> tuple[int, int]:
        with door.turns.turn():
            with anyio.move_on_after(1.0) as scope:
                await client.call_tool("search", QUESTION)
            assert scope.cancelled_caught
            waited = await _until(lambda: door.turns.waiting == 0)
            in_flight = door.turns.in_flight
        answer = await client.call_tool("search", QUESTION)
        assert not answer.is_error
        return waited, in_flight

    assert ask(on_http(url, world.key, mode), work) == (True, 1)
    assert (door.turns.waiting, door.turns.in_flight) == (0, 0)


async def _until(holds: Any) -> bool:
    for _ in range(100):
        if holds():
            return True
        await anyio.sleep(0.05)
    return False


@pytest.mark.parametrize("mode", [CURRENT, PREVIOUS])
def test_a_long_call_tells_its_progress(narrow: tuple[Door, str], world: World, mode: str) -> None:
    door, url = narrow
    told: list[float] = []
    taken, free = threading.Event(), threading.Event()

    def hold() -> None:
        with door.turns.turn():
            taken.set()
            free.wait(20)

    async def seen(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if len(told) == 2:
            free.set()

    async def work(client: Client) -> Any:
        return await client.call_tool("search", QUESTION, progress_callback=seen)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()
    answer = ask(on_http(url, world.key, mode), work)
    holder.join()
    assert not answer.is_error
    assert told[:2] == [1, 2]


def test_a_door_that_is_full_says_so_at_once(narrow: tuple[Door, str], world: World) -> None:
    door, url = narrow

    async def main() -> tuple[list[str | None], float]:
        codes: list[str | None] = []

        async def one(client: Client) -> None:
            result = await client.call_tool("search", QUESTION)
            codes.append(result.meta[ERROR]["code"] if result.is_error else None)

        async with on_http(url, world.key) as client:
            await client.list_tools()
            started = time.monotonic()
            with door.turns.turn():
                async with anyio.create_task_group() as tasks:
                    for _ in range(5):
                        tasks.start_soon(one, client)
                    assert await _until(lambda: codes)
                    took = time.monotonic() - started
                    tasks.cancel_scope.cancel()
        return codes, took

    codes, took = anyio.run(main)
    assert codes == ["overloaded"]
    assert took < 5


# --- beside everything else ----------------------------------------------------------------------


def test_who_asks_before_the_server_is_ready_is_answered(world: World, tmp_path: Path) -> None:
    with running(f"sqlite:///{world.store}", tmp_path, ready=False) as server:
        url = server.addresses["mcp"]
        assert httpx2.post(url, headers=JSON, json=HELLO, timeout=60).status_code == 401
        found = call(on_http(url, world.key), "semanticSearch", **QUESTION)
        assert "ten o'clock" in found.structured_content["results"][0]["text"]
        assert server.end() == 0


def test_the_whole_server_has_it_at_mcp(world: World, tmp_path: Path) -> None:
    """And ends in time while a client is there."""
    with running(f"sqlite:///{world.store}", tmp_path) as server:
        url = server.addresses["mcp"]
        assert httpx2.post(url, headers=JSON, json=HELLO).status_code == 401
        for mode in (CURRENT, PREVIOUS):
            found = call(on_http(url, world.key, mode), "semanticSearch", **QUESTION)
            assert "ten o'clock" in found.structured_content["results"][0]["text"]
        given = {"authorization": f"Bearer {world.key}", "origin": "https://evil.example"}
        assert httpx2.post(url, headers=JSON | given, json=HELLO).status_code == 403

        async def work(client: Client) -> tuple[int, float]:
            await client.call_tool("search", QUESTION)
            started = time.monotonic()
            status = await anyio.to_thread.run_sync(server.end)
            return status, time.monotonic() - started

        status, took = ask(on_http(url, world.key, PREVIOUS), work)
        assert status == 0
        assert took < 25  # after 30 s what still runs is given up
    assert not any(world.key in line for line in server.log.read_text().splitlines())
