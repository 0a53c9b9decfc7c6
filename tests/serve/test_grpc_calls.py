"""How calls begin and end: deadlines, overload, sizes, errors, health, reflection, stopping."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from sourcebook.engine import Engine
from sourcebook.errors import InvalidInput
from sourcebook.serve.door import Bounds, Door
from sourcebook.serve.failures import CannotListen
from sourcebook.serve.grpc_aside import MOST_STREAMS
from sourcebook.serve.grpc_server import SERVICE, is_local, start_grpc
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb
from sourcebook.stores.sqlite import SqliteStore
from tests import town

from .grpc_client import METHODS, Client, error_of, serving
from .running import until

ASKED = pb.SearchRequest(query=town.FENCE, k=3)
SMALL = Bounds(running=1, waiting=2)
HEALTH = health_pb2.HealthCheckResponse


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with town.quick(tmp_path, town.TOWN) as made:
        yield made


@pytest.fixture
def client(engine: Engine) -> Iterator[Client]:
    with serving(engine, bounds=SMALL) as made:
        yield made


@contextmanager
def busy(client: Client) -> Iterator[None]:
    """All turns taken, as by other requests."""
    with ExitStack() as stack:
        for _ in range(client.door.turns.bounds.running):
            stack.enter_context(client.door.turns.turn())
        yield


def waiting(client: Client, number: int) -> None:
    until(lambda: client.door.turns.waiting == number)


# --- deadlines and cancellation ------------------------------------------------------------------


def test_a_call_whose_time_is_over_does_not_start(client: Client) -> None:
    before, started = client.questions(), time.monotonic()
    with busy(client):
        with pytest.raises(grpc.RpcError) as caught:
            client.stub.Search(ASKED, timeout=0.2)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert 0.2 <= time.monotonic() - started < 10
        waiting(client, 0)
    assert client.ask("Search", ASKED).results
    assert client.questions() == before + 1


def test_a_deadline_that_is_far_away_changes_nothing(client: Client) -> None:
    future = None
    with busy(client):
        future = client.stub.Search.future(ASKED, timeout=20)
        waiting(client, 1)
    assert future.result(10).results


@pytest.mark.parametrize("method", ["Search", "SearchStream"])
def test_who_cancels_gives_up_the_place_at_once(client: Client, method: str) -> None:
    before = client.questions()
    with busy(client):
        call = (
            client.stub.SearchStream(ASKED, timeout=20)
            if method == "SearchStream"
            else client.stub.Search.future(ASKED, timeout=20)
        )
        waiting(client, 1)
        call.cancel()
        waiting(client, 0)
    assert client.questions() == before


def test_a_client_that_is_gone_gives_up_the_place(client: Client) -> None:
    before = client.questions()
    with busy(client):
        channel = grpc.insecure_channel(f"127.0.0.1:{client.server.port}")
        call = channel.unary_unary(f"/{SERVICE.full_name}/Search").future(ASKED.SerializeToString())
        waiting(client, 1)
        channel.close()
        waiting(client, 0)
        assert call.code() is grpc.StatusCode.CANCELLED
    assert client.questions() == before


# --- overload ------------------------------------------------------------------------------------


def test_too_many_are_told_so_at_once_and_the_others_are_answered(client: Client) -> None:
    with busy(client):
        first = [client.stub.Search.future(ASKED, timeout=20) for _ in range(SMALL.waiting)]
        waiting(client, SMALL.waiting)
        started = time.monotonic()
        for _ in range(20):
            with pytest.raises(grpc.RpcError) as caught:
                client.ask("Search", ASKED)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert error_of(caught.value)["code"] == "overloaded"
        assert time.monotonic() - started < 10
        assert health(client) == HEALTH.SERVING
    assert [len(future.result(10).results) for future in first] == [3, 3]


def test_a_flood_is_answered_or_refused_and_leaves_nothing_behind(client: Client) -> None:
    calls = [client.stub.Search.future(ASKED, timeout=20) for _ in range(300)]
    codes = {call.code() for call in calls}
    assert codes <= {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert grpc.StatusCode.OK in codes
    until(lambda: client.door.turns.in_flight == 0)
    assert client.ask("Search", ASKED).results


def test_many_clients_get_the_answer_of_one(engine: Engine) -> None:
    queries = [*town.TOWN.values(), town.FENCE, town.OFF_TOPIC]
    with serving(engine) as client:
        alone = {query: found(client, query) for query in queries}
        asked = queries * 6
        together: list[Any] = [None] * len(asked)

        def ask(place: int) -> None:
            together[place] = found(client, asked[place])

        threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(asked))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert together == [alone[query] for query in asked]


def found(client: Client, query: str) -> list[tuple[str, float]]:
    hits = client.ask("Search", pb.SearchRequest(query=query)).results
    return [(hit.node_id, hit.relevance) for hit in hits]


# --- sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_request_that_is_too_large_is_refused(engine: Engine, packed: grpc.Compression) -> None:
    """Before it is read, and however small it was on its way."""
    with serving(engine, max_message=20_000) as client:
        for size in (20_000, 3_000_000):
            with pytest.raises(grpc.RpcError) as caught:
                client.ask("Search", pb.SearchRequest(query="x" * size), compression=packed)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "larger than" in caught.value.details()
        with pytest.raises(grpc.RpcError) as caught:
            client.ask("Search", pb.SearchRequest(query="x" * 19_000), compression=packed)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_an_answer_that_is_too_large_says_what_to_do_and_can_be_streamed(engine: Engine) -> None:
    asked = pb.SearchRequest(query=town.FENCE, k=7)
    with serving(engine, max_message=2000) as client:
        with pytest.raises(grpc.RpcError) as caught:
            client.ask("Search", asked)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert error_of(caught.value)["code"] == "too_large"
        assert "SearchStream" in caught.value.details()
        assert len(client.ask("SearchStream", asked)) == 9


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (pb.SearchRequest(), "query"),
        (pb.SearchRequest(query=" "), "query"),
        (pb.SearchRequest(query="x", k=0), "k"),
        (pb.SearchRequest(query="x", k=-(2**63)), "k"),
        (pb.SearchRequest(query="x", mode="magic"), "mode"),
        (pb.SearchRequest(query="x", min_relevance=float("nan")), "min_relevance"),
        (pb.SearchRequest(query="x", read_context=pb.ReadContext(as_of="soon")), "as_of"),
        (
            pb.SearchRequest(query="x", repositories=pb.Repositories(names=["a"], all=True)),
            "repositories",
        ),
    ],
)
def test_what_is_wrong_is_named(client: Client, request_: Any, field: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        client.ask("Search", request_)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    told = error_of(caught.value)
    assert (told["code"], told["field"]) == ("invalid_input", field)
    assert told["message"] == caught.value.details()
    assert told["message"]


def test_a_long_name_does_not_break_the_error_that_speaks_of_it(client: Client) -> None:
    asked = pb.SearchRequest(query="x", filters={"ä" * 100_000: pb.Values(values=["y"])})
    with pytest.raises(grpc.RpcError) as caught:
        client.ask("Search", asked)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert len(caught.value.details().encode()) in range(990, 1001)
    assert error_of(caught.value)["field"].startswith("filters.ä")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\xff\xff\xff", "these bytes are no"),
        (pb.SearchRequest(query="x").SerializeToString() + b"\xf8\x07\x01", "no field number 127"),
        (b"\x4a\x02\x78\x01", "ReadContext has no field number 15"),
        (b"\x32\x06\x12\x04\x0a\x00\x10\x01", "Values has no field number 2"),
    ],
)
def test_what_the_schema_does_not_know_is_refused(client: Client, data: bytes, told: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        client.raw("Search", data)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert told in caught.value.details()


def test_our_own_fault_is_told_as_such_without_a_word_of_what_it_was(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(client.engine.embedder, "embed_query", broken, raising=False)
    monkeypatch.setattr(type(client.engine), "search", broken)
    for method in ("Search", "SearchStream"):
        with pytest.raises(grpc.RpcError) as caught:
            client.ask(method, ASKED)
        assert caught.value.code() is grpc.StatusCode.INTERNAL
        assert error_of(caught.value)["code"] == "internal"
        assert "hunter2" not in str(caught.value)
    assert "Search failed" in caplog.text


def test_a_method_that_is_not_there_says_so(client: Client) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        client.raw("Forget", b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


# --- health and reflection -----------------------------------------------------------------------


def health(client: Client, service: str = "") -> Any:
    stub = health_pb2_grpc.HealthStub(client.channel)
    return stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=5).status


def test_health_is_that_of_the_store(tmp_path: Path) -> None:
    engine = town.quick(tmp_path, {"a.md": "A."})
    with serving(engine, keys=True) as client:
        assert health(client) == health(client, SERVICE.full_name) == HEALTH.SERVING
        with pytest.raises(grpc.RpcError) as caught:
            health(client, "some.Other")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        engine.close()
        assert health(client) == health(client, SERVICE.full_name) == HEALTH.NOT_SERVING


def reflected(client: Client, **asked: Any) -> Any:
    stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
    request = reflection_pb2.ServerReflectionRequest(**asked)
    [found] = stub.ServerReflectionInfo(iter([request]), timeout=5)
    return found


def test_reflection_lists_the_service_and_gives_its_schema(client: Client) -> None:
    listed = reflected(client, list_services="").list_services_response.service
    assert {each.name for each in listed} >= {SERVICE.full_name, "grpc.health.v1.Health"}
    given = reflected(client, file_containing_symbol=SERVICE.full_name).file_descriptor_response
    files = [FileDescriptorProto.FromString(data) for data in given.file_descriptor_proto]
    [service] = [each for file in files for each in file.service]
    assert [method.name for method in service.method] == METHODS


def test_streams_that_nobody_ends_do_not_take_all_threads(client: Client) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
    end = threading.Event()

    def nothing() -> Iterator[Any]:
        end.wait(20)
        yield from ()

    calls = [stub.ServerReflectionInfo(nothing(), timeout=20) for _ in range(MOST_STREAMS + 20)]
    until(lambda: sum(call.done() for call in calls) == 20)
    codes = {call.code() for call in calls if call.done()}
    assert codes == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert client.ask("Search", ASKED).results
    end.set()
    until(lambda: all(call.done() for call in calls))
    assert reflected(client, list_services="").list_services_response.service


# --- starting and stopping -----------------------------------------------------------------------


def test_what_was_accepted_is_answered_before_the_end(engine: Engine) -> None:
    with serving(engine, bounds=SMALL) as client:
        with busy(client):
            calls = [client.stub.Search.future(ASKED, timeout=20) for _ in range(SMALL.waiting)]
            waiting(client, SMALL.waiting)
            stopped = client.server.stop(10)
            other = grpc.insecure_channel(f"127.0.0.1:{client.server.port}")
            with other, pytest.raises(grpc.RpcError) as caught:
                other.unary_unary(f"/{SERVICE.full_name}/Search")(b"", timeout=5)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
            assert not stopped.is_set()
        assert [len(call.result(10).results) for call in calls] == [3, 3]
        assert stopped.wait(5)


def test_a_stop_under_load_answers_or_refuses_in_words(engine: Engine) -> None:
    """Never a bare CANCELLED, and no question is worked on whose answer does not arrive."""
    told: list[str | None] = []

    def ask(port: int) -> None:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            search = channel.unary_unary(f"/{SERVICE.full_name}/Search")
            while True:
                try:
                    search(ASKED.SerializeToString(), timeout=20)
                    told.append(None)
                except grpc.RpcError as error:
                    told.append(error.code().name + " " + error_of(error)["code"])
                    return

    with serving(engine) as client:
        before = client.questions()
        threads = [threading.Thread(target=ask, args=(client.server.port,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        until(lambda: len(told) > 20)
        assert client.server.stop(10).wait(10)
        for thread in threads:
            thread.join(20)
        assert client.questions() - before == told.count(None)
    assert set(told) == {None, "UNAVAILABLE stopping"}


def test_a_second_stop_can_be_shorter(engine: Engine) -> None:
    with serving(engine, bounds=SMALL) as client, busy(client):
        call = client.stub.Search.future(ASKED, timeout=20)
        waiting(client, 1)
        first = client.server.stop(20)
        assert not first.wait(0.3)
        assert client.server.stop(0).wait(5)
        assert first.wait(5)
        assert call.code() is not grpc.StatusCode.OK


def test_a_stop_does_not_wait_for_those_who_only_watch(engine: Engine) -> None:
    with serving(engine) as client:
        watch = health_pb2_grpc.HealthStub(client.channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == HEALTH.SERVING
        started = time.monotonic()
        assert client.server.stop(20).wait(10)
        assert time.monotonic() - started < 5
        assert client.server.wait_for_termination(1) is False  # it ended, and not by the timeout


def test_no_keys_means_this_machine_alone(engine: Engine) -> None:
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0", ":0"):
        with pytest.raises(InvalidInput, match="no keys"):
            start_grpc(Door(engine, keys=False), address)
    with_keys = start_grpc(Door(engine, keys=True), "0.0.0.0:0")
    assert with_keys.port
    with_keys.stop(0).wait()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"])
def test_addresses_of_this_machine(address: str) -> None:
    assert is_local(address)


def test_a_port_that_is_taken_is_refused_in_a_sentence(engine: Engine) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"127.0.0.1:{port}"):
            start_grpc(Door(engine, keys=False), f"127.0.0.1:{port}")
    with serving(engine) as client, pytest.raises(CannotListen, match="--grpc-port"):
        start_grpc(Door(engine, keys=False), f"127.0.0.1:{client.server.port}")


def test_a_socket_in_the_file_system_is_local(engine: Engine, tmp_path: Path) -> None:
    where = f"unix:{tmp_path / 's'}"
    server = start_grpc(Door(engine, keys=False), where)
    with grpc.insecure_channel(where) as channel:
        data = channel.unary_unary(f"/{SERVICE.full_name}/GetIndexHealth")(b"", timeout=5)
    assert pb.GetIndexHealthResponse.FromString(data).revision == 1
    server.stop(0).wait()


def test_the_store_stays_open_when_the_server_stops(tmp_path: Path) -> None:
    engine = town.quick(tmp_path, {"a.md": "A."})
    with serving(engine):
        pass
    assert isinstance(engine.store, SqliteStore)
    assert engine.status()["revision"] == 1
    engine.close()
