"""A document that was open and is labelled now: a reader without the role gets none of its words
from any operation of the server that takes a version or a citation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from sourcebook import Sourcebook
from sourcebook.access import Grant, authenticate
from tests.serve.mcp_clients import call, on_http
from tests.serve.running import Running, running

WORDS = "The mill is sold for 4,711 crowns."
OPEN = f"# Offer\n\n{WORDS}\n"
CLOSED = "---\nvisibility: board\n---\n# Offer\n\nThe mill is not sold at all.\n"


@dataclass(frozen=True)
class World:
    server: Running
    store: str
    node: str
    version: str
    citation: dict[str, Any]
    staff: str
    board: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("labels")
    file = folder / "files/offer.md"
    file.parent.mkdir()
    store = f"sqlite:///{folder / 'store.db'}"
    with Sourcebook.open(store) as sb:
        file.write_text(OPEN)
        sb.ingest(file.parent)
        hit = sb.search("what is the mill sold for?").to_dict()["results"][0]
        file.write_text(OPEN.replace("sold", "given away"))
        sb.ingest(file.parent)
        file.write_text(CLOSED)
        sb.ingest(file.parent)
        staff = sb.create_key(Grant("staff", roles=frozenset({"staff"})))[1]
        board = sb.create_key(Grant("board", roles=frozenset({"board"})))[1]
    with running(store, folder) as server:
        old = (hit["node_id"], hit["version_id"], hit["citation"])
        yield World(server, store, *old, staff, board)


def test_http_shows_an_old_version_to_who_may_read_the_document_today(world: World) -> None:
    def read(key: str, version: str) -> Any:
        where = {"version_id": version}
        return world.server.get(f"/v1/nodes/{world.node}", key, params=where).json()

    assert WORDS in read(world.board, world.version)["text"]
    hidden, unknown = read(world.staff, world.version), read(world.staff, "f" * 20)
    assert hidden["error"]["code"] == "not_found"
    assert str(hidden).replace(world.version, "f" * 20) == str(unknown)


def test_http_verifies_it_for_them_alone(world: World) -> None:
    def verify(key: str, version: str) -> Any:
        citation = {**world.citation, "version_id": version}
        return world.server.post("/v1/verify", {"citation": citation}, key).json()

    assert verify(world.board, world.version)["valid"]
    hidden, unknown = verify(world.staff, world.version), verify(world.staff, "f" * 20)
    assert (hidden["valid"], hidden["text"]) == (False, None)
    assert str(hidden).replace(world.version, "f" * 20) == str(unknown)


def test_mcp_shows_it_to_them_alone(world: World) -> None:
    asked = {"node_id": world.node, "version_id": world.version}
    address = f"{world.server.url}/mcp"
    assert WORDS in str(call(on_http(address, world.board), "getNode", **asked))
    assert "4,711" not in str(call(on_http(address, world.staff), "getNode", **asked))
    assert "4,711" not in str(call(on_http(address, world.staff), "fetch", id=world.node))


def test_a_difference_shows_its_lines_to_them_alone(world: World) -> None:
    with Sourcebook.open(world.store) as sb:
        staff, board = (
            sb.as_caller(authenticate(sb.store, key), "default")
            for key in (world.staff, world.board)
        )
        assert "4,711" in str(board.diff("1", "2").documents)
        told = staff.diff("1", "2")
    assert told.documents == ()
    assert "4,711" not in str(told.to_dict())
