"""Who hangs up, or whose time is up, has its work stopped between two stages, on every surface."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import grpc
import httpx
import pytest

from sourcebook import asker, contexts, ingest, retrieve
from sourcebook.engine import Engine
from sourcebook.ports import EmbeddedQuery
from sourcebook.serve.door import Door
from sourcebook.serve.failures import OutOfTime
from sourcebook.serve.grpc_server import start_grpc
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb
from sourcebook.serve.proto.sourcebook.v1.semantic_query_pb2_grpc import SemanticQueryServiceStub
from sourcebook.serve.surfaces import listening
from sourcebook.serve.turns import Visit
from tests import town
from tests.serve import mcp_clients
from tests.serve.running import until

RULES = {**town.TOWN, "rules.md": "---\nis_binding: true\n---\nFences are of wood or of stone."}


class Slow(town.WordEmbedder):
    """Embeds a question only when it is let go."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()

    def embed_query(self, text: str) -> EmbeddedQuery:
        self.asked.set()
        assert self.go.wait(30)
        return super().embed_query(text)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with town.quick(tmp_path, RULES, search={"cache": False}) as made:
        yield made


# --- stages --------------------------------------------------------------------------------------


class Gone(Exception):
    """Of this test alone."""


def leaves_at(number: int) -> Callable[[], None]:
    """Somebody who is gone when asked for so many times."""
    left = [number]

    def check() -> None:
        left[0] -= 1
        if not left[0]:
            raise Gone

    return check


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stages that were run, in their order."""
    seen: list[str] = []

    def watch(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def watched(*given: Any, **named: Any) -> Any:
            seen.append(name)
            return real(*given, **named)

        monkeypatch.setattr(owner, name, watched)

    for owner, name in (
        (retrieve, "recall"),
        (retrieve.Searches, "_dense"),
        (retrieve, "judge"),
        (retrieve.Question, "_adjust"),
        (retrieve, "gate"),
        (contexts, "Gatherer"),
    ):
        watch(owner, name)
    return seen


STAGES = ["recall", "_dense", "judge", "_adjust", "gate", "Gatherer"]


@pytest.mark.parametrize("number", range(1, 7))
def test_a_stage_is_not_begun_for_nobody(engine: Engine, ran: list[str], number: int) -> None:
    with pytest.raises(Gone), asker.known_by(leaves_at(number)):
        engine.context(town.FENCE)
    assert ran == STAGES[: number - 1]


def test_all_stages_run_for_somebody(engine: Engine, ran: list[str]) -> None:
    with asker.known_by(lambda: None):
        engine.context(town.FENCE)
    assert ran == STAGES
    engine.context(town.FENCE)
    assert ran == STAGES * 2


def test_several_repositories_are_left_together(engine: Engine, ran: list[str]) -> None:
    """They are searched in other threads."""
    with pytest.raises(Gone), asker.known_by(leaves_at(1)):
        engine.search_across(town.FENCE)
    assert ran == []


def test_nothing_is_committed_for_nobody(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_BATCH_DOCUMENTS", 1)
    folder = town.write(tmp_path / "more", {"one.md": "One word.", "two.md": "Two words."})
    with pytest.raises(Gone), asker.known_by(leaves_at(2)):
        engine.ingest(folder)
    assert engine.resolve().revision == 1
    with asker.known_by(lambda: None):
        assert engine.ingest(folder).revision == 2


# --- surfaces ------------------------------------------------------------------------------------

PATIENCE_S = 0.5


@contextmanager
def left_http(door: Door) -> Iterator[None]:
    """A client has asked and gone; the server is still there."""
    with listening(door) as url:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/v1/search", json={"query": town.FENCE}, timeout=PATIENCE_S)
        yield


@contextmanager
def left_mcp(door: Door) -> Iterator[None]:
    async def main(url: str) -> bool:
        async with mcp_clients.on_http(url) as client:
            with anyio.move_on_after(PATIENCE_S) as scope:
                await client.call_tool("semanticSearch", {"query": town.FENCE})
            return scope.cancelled_caught

    with mcp_clients.serving(door) as url:
        assert anyio.run(main, url)
        yield


@contextmanager
def left_grpc(door: Door) -> Iterator[None]:
    server = start_grpc(door, "127.0.0.1:0")
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        stub: Any = SemanticQueryServiceStub(channel)
        with pytest.raises(grpc.RpcError) as refused:
            stub.Search(pb.SearchRequest(query=town.FENCE), timeout=PATIENCE_S)
        assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        yield
    server.stop(0).wait()


@pytest.mark.parametrize("left", [left_http, left_mcp, left_grpc])
def test_who_leaves_while_it_is_answered_ends_it(
    engine: Engine,
    ran: list[str],
    left: Callable[[Door], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard, leave = threading.Event(), Visit.leave

    def hears(visit: Visit) -> None:
        leave(visit)
        heard.set()

    monkeypatch.setattr(Visit, "leave", hears)
    slow = engine.embedder = Slow()
    door, told = Door(engine, keys=False), list[BaseException | None]()
    door.watch = lambda name, seconds, answer, error: told.append(error)
    with left(door):
        assert slow.asked.is_set()
        assert door.turns.in_flight == 1
        assert heard.wait(10)  # The server hears of it a moment after the client has gone.
        slow.go.set()
        until(lambda: bool(told))
    assert [type(error) for error in told] == [OutOfTime]
    assert ran == ["recall"]
    assert door.turns.in_flight == 0
