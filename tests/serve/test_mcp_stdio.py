"""MCP as a program: nothing but messages on stdout, an answer to everything, and a clean end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sourcebook.serve.mcp_catalog import LISTED
from tests.serve.conftest import Cli
from tests.serve.mcp_world import World

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def program(store: Path, lines: list[str], wanted: int) -> tuple[list[Any], int, str]:
    """At least so many messages of its stdout; then its stdin is closed and the rest is read."""
    args = [sys.executable, "-m", "sourcebook", "--store", f"sqlite:///{store}", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(args, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write("".join(f"{line}\n" for line in lines))
        running.stdin.flush()
        said = [running.stdout.readline() for _ in range(wanted)]
        out, err = running.communicate(timeout=60)
    return [json.loads(line) for line in [*said, *out.splitlines()]], running.returncode, err


def message(id: Any, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def test_stdout_holds_messages_alone_and_the_end_is_clean(world: World) -> None:
    said, status, errors = program(
        world.store,
        [
            message(1, "initialize", HELLO),
            json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            message(2, "tools/call", {"name": "search", "arguments": {"query": "gate"}}),
            "this is no JSON",
            "[]",
            "{}",
            message(3, "no/such", {}),
            message(4, "tools/call", {"name": "nothing", "arguments": {}}),
            message(5, "ping", {}),
        ],
        8,
    )
    assert status == 0, errors
    answers = {each["id"]: each for each in said if each["id"] is not None}
    unread = [each["error"]["code"] for each in said if each["id"] is None]
    assert unread == [-32700, -32600, -32600]
    assert not answers[2]["result"].get("isError")
    assert answers[1]["result"]["protocolVersion"] == "2025-11-25"
    assert answers[1]["result"]["serverInfo"]["name"] == "sourcebook"
    assert "never" in answers[1]["result"]["instructions"].lower()
    assert answers[3]["error"]["code"] == -32601
    assert answers[4]["error"]["code"] == -32602
    assert answers[5]["result"] == {}
    assert "Traceback" not in errors


@pytest.mark.parametrize("old", ["2024-11-05", "2025-06-18"])
def test_older_revisions_are_spoken_too(world: World, old: str) -> None:
    hello = message(1, "initialize", HELLO | {"protocolVersion": old})
    (answer,), status, _ = program(world.store, [hello], 1)
    assert status == 0
    assert answer["result"]["protocolVersion"] == old


def test_a_store_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("this is no database " * 100)
    said, status, errors = program(tmp_path / "store.db", [], 0)
    assert (said, status) == ([], 3)
    assert errors.startswith("error: ")
    assert "Traceback" not in errors


def test_the_tools_can_be_printed(cli: Cli) -> None:
    ran = cli("mcp", "--json")
    assert ran.status == 0
    assert [tool["name"] for tool in ran.data["tools"]] == [tool.name for tool in LISTED]
    assert ran.data["tools"][0]["inputSchema"]["required"] == ["query"]
