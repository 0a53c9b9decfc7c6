"""Who may ask what over gRPC: every method of the schema, so that a new one cannot be forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from sourcebook.model import Scope
from sourcebook.serve.door import Bounds
from sourcebook.serve.failures import KINDS, OURS
from sourcebook.serve.grpc_server import ASKS
from sourcebook.serve.operations import OPERATIONS
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb
from tests import town

from .grpc_client import METHODS, Client, error_of, key_for, requests, serving

HOME, NEIGHBOUR = Scope("default", "default", "default"), Scope("beta", "default", "default")
SECRET = "The vault of the mill opens with the word quicksilver."
BAD = "sb_" + "0" * 16 + "_" + "0" * 64


@dataclass(frozen=True, slots=True)
class Keys:
    read: str
    admin: str
    revoked: str
    other_tenant: str
    other_repository: str


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("access")
    engine = town.quick(folder, town.TOWN)
    engine.in_scope(NEIGHBOUR).ingest(town.write(folder / "beta", {"vault.md": SECRET}))
    with serving(engine, keys=True) as made:
        yield made
    engine.close()


@pytest.fixture(scope="module")
def keys(client: Client) -> Keys:
    engine = client.engine
    gone, revoked = key_for(engine, HOME, "admin")
    engine.revoke_key(gone)
    return Keys(
        read=key_for(engine, HOME)[1],
        admin=key_for(engine, HOME, "admin")[1],
        revoked=revoked,
        other_tenant=key_for(engine, NEIGHBOUR, "admin")[1],
        other_repository=key_for(engine, HOME, "admin", repositories=("elsewhere",))[1],
    )


def refused(client: Client, method: str, request: Any = None, **given: Any) -> Any:
    with pytest.raises(grpc.RpcError) as caught:
        client.ask(method, request, **given)
    return caught.value


def full(method: str, **fields: Any) -> Message:
    """A request that would be answered."""
    asks = {"query": town.FENCE} if "query" in requests(method).DESCRIPTOR.fields_by_name else {}
    made: Message = requests(method)(**asks, **fields)
    return made


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("who", ["no", "bad", "revoked", "empty", "no words"])
@pytest.mark.parametrize("complete", [True, False])
def test_without_a_good_key_nothing_is_told(
    client: Client, keys: Keys, method: str, who: str, complete: bool
) -> None:
    known = {"no": None, "bad": BAD, "revoked": keys.revoked, "empty": "", "no words": "x y"}
    error = refused(client, method, full(method) if complete else None, key=known[who])
    assert error.code() is grpc.StatusCode.UNAUTHENTICATED
    assert error_of(error)["code"] == "unauthorized"
    assert error.details() == error_of(error)["message"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("header", ["Basic abc", "Bearer", "{key}", "Bearer{key}", "Bearer {key}x"])
def test_a_header_that_is_no_bearer_key_is_a_wrong_key(
    client: Client, keys: Keys, method: str, header: str
) -> None:
    sent = (("authorization", header.format(key=keys.admin)),)
    error = refused(client, method, full(method), metadata=sent)
    assert error.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("method", METHODS)
def test_who_has_no_key_is_not_told_what_is_wrong_with_a_request(
    client: Client, method: str
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        client.raw(method, b"\xff\xff")
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_two_keys_are_none(client: Client, keys: Keys) -> None:
    both = (("authorization", f"Bearer {keys.admin}"), ("authorization", f"Bearer {BAD}"))
    error = refused(client, "Search", full("Search"), metadata=both)
    assert error.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("method", METHODS)
def test_a_header_that_cannot_be_read_is_refused_even_where_no_key_is_needed(
    tmp_path: Path, method: str
) -> None:
    """Otherwise a key with a slip of the pen would be the owner's."""
    with town.quick(tmp_path, {"a.md": "A."}) as engine, serving(engine) as client:
        assert client.ask(method, full(method)) is not None
        for header in (f"Bearer {BAD}", BAD, "Bearer", "Basic abc", ""):
            error = refused(client, method, full(method), metadata=(("authorization", header),))
            assert error.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("method", METHODS)
def test_a_key_does_what_its_rights_allow(client: Client, keys: Keys, method: str) -> None:
    assert client.ask(method, full(method), key=keys.admin) is not None
    if OPERATIONS[ASKS[method]].right == "read":
        assert client.ask(method, full(method), key=keys.read) is not None
        return
    error = refused(client, method, full(method), key=keys.read)
    assert error.code() is grpc.StatusCode.PERMISSION_DENIED
    assert error_of(error)["code"] == "forbidden"


def test_only_reindex_changes_anything() -> None:
    assert [m for m in METHODS if OPERATIONS[ASKS[m]].right != "read"] == ["Reindex"]


@pytest.mark.parametrize("method", METHODS)
def test_a_repository_that_a_key_may_not_read_is_not_there(
    client: Client, keys: Keys, method: str
) -> None:
    hidden = refused(client, method, full(method), key=keys.other_repository)
    absent = refused(client, method, full(method, repository="none"), key=keys.other_repository)
    assert hidden.code() is absent.code() is grpc.StatusCode.NOT_FOUND
    assert hidden.details().replace("default", "none") == absent.details()


@pytest.mark.parametrize("method", METHODS)
def test_tenants_do_not_see_each_other(client: Client, keys: Keys, method: str) -> None:
    """Both call their repository "default"."""
    vault = "Which word opens the vault of the mill?"
    asks = {"query": vault} if "query" in requests(method).DESCRIPTOR.fields_by_name else {}
    ours = str(client.ask(method, requests(method)(**asks), key=keys.admin))
    theirs = str(client.ask(method, requests(method)(**asks), key=keys.other_tenant))
    assert "quicksilver" not in ours
    assert "fence" not in theirs.lower()
    if asks:
        assert "quicksilver" in theirs


def test_across_repositories_a_key_sees_its_own(client: Client, keys: Keys) -> None:
    asked = pb.SearchRequest(query="vault", repositories=pb.Repositories(all=True))
    ours = client.ask("Search", asked, key=keys.read)
    theirs = client.ask("Search", asked, key=keys.other_tenant)
    assert "quicksilver" not in str(ours)
    assert [hit.text for hit in theirs.results] == [SECRET]


def test_a_key_that_asks_too_often_is_told_so(tmp_path: Path) -> None:
    with town.quick(tmp_path, town.TOWN) as engine:
        key = key_for(engine, HOME)[1]
        with serving(engine, keys=True, bounds=Bounds(per_key_per_minute=2)) as client:
            for _ in range(2):
                client.ask("GetIndexHealth", key=key)
            error = refused(client, "GetIndexHealth", key=key)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error_of(error)["code"] == "rate_limited"


def test_every_kind_of_error_has_a_status() -> None:
    for kind in (*KINDS.values(), OURS):
        assert grpc.StatusCode[kind.grpc] is not grpc.StatusCode.OK
