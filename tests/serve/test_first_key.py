"""A server that began without keys asks for one as soon as the first is made, wherever that is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from sourcebook.access import Grant
from sourcebook.errors import Unauthorized
from sourcebook.serve.door import Door
from sourcebook.serve.grpc_server import start_grpc
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb
from sourcebook.serve.proto.sourcebook.v1.semantic_query_pb2_grpc import SemanticQueryServiceStub
from sourcebook.serve.server import make_door
from sourcebook.serve.surfaces import listening
from sourcebook.stores.sqlite import SqliteStore
from tests import town
from tests.serve import mcp_clients


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with town.quick(tmp_path, town.TOWN) as engine:
        yield make_door(engine, "127.0.0.1")


def first_key(folder: Path) -> str:
    """Made elsewhere: through a connection of its own."""
    with town.quick(folder, town.TOWN) as other:
        return other.create_key(Grant("first", rights="admin"))[1]


def test_all_surfaces_ask_for_it(door: Door, tmp_path: Path) -> None:
    question = {"query": town.FENCE}
    server = start_grpc(door, "127.0.0.1:0")
    with (
        listening(door) as url,
        httpx.Client(base_url=url) as web,
        grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel,
    ):
        stub: Any = SemanticQueryServiceStub(channel)

        def asked(key: str | None = None) -> list[object]:
            headers = {"authorization": f"Bearer {key}"} if key else {}
            return [
                web.post("/v1/search", json=question, headers=headers).status_code,
                web.get("/metrics", headers=headers).status_code,
                web.post("/mcp", json={}, headers=headers).status_code == 401,
                called(stub, tuple(headers.items())),
            ]

        open_to_all: list[object] = [200, 200, False, grpc.StatusCode.OK]
        closed: list[object] = [401, 401, True, grpc.StatusCode.UNAUTHENTICATED]
        assert asked() == open_to_all
        key = first_key(tmp_path)
        assert asked() == closed
        assert asked(key) == open_to_all
        found = mcp_clients.call(mcp_clients.on_http(f"{url}/mcp", key), "listBaselines")
        assert found.structured_content["baselines"] == []
    server.stop(0).wait()


def called(stub: Any, metadata: tuple[tuple[str, str], ...]) -> grpc.StatusCode:
    try:
        stub.Search(pb.SearchRequest(query=town.FENCE), metadata=metadata, timeout=20)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def test_it_stays_so_and_the_store_is_asked_no_more(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (door.keys, door.asks_for_keys) == (False, None)
    first_key(tmp_path)
    assert (door.keys, door.asks_for_keys) == (True, True)
    monkeypatch.setattr(SqliteStore, "keys", None)
    with pytest.raises(Unauthorized):
        door.admit(None)


def test_who_starts_a_program_on_stdio_owns_the_store(door: Door, tmp_path: Path) -> None:
    ours = Door(door.engine, keys=False)
    first_key(tmp_path)
    assert ours.keys is False
    assert ours.admit(None) is None
