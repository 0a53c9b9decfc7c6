"""A real gRPC server on a real port, and a real client of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc

from sourcebook.access import Grant, create_key
from sourcebook.engine import Engine
from sourcebook.model import Scope
from sourcebook.serve.door import Bounds, Door
from sourcebook.serve.grpc_server import ERROR_KEY, SERVICE, Listening, start_grpc
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb
from sourcebook.serve.proto.sourcebook.v1.semantic_query_pb2_grpc import SemanticQueryServiceStub

METHODS = [method.name for method in SERVICE.methods]


@dataclass(frozen=True, slots=True)
class Client:
    door: Door
    server: Listening
    channel: grpc.Channel
    stub: Any

    @property
    def engine(self) -> Engine:
        return self.door.engine

    def ask(self, method: str, request: Any = None, key: str | None = None, **given: Any) -> Any:
        """The answer; of a stream the list of its messages."""
        bearer = () if key is None else (("authorization", f"Bearer {key}"),)
        message = requests(method)() if request is None else request
        options = {"metadata": bearer, "timeout": 20} | given
        found = getattr(self.stub, method)(message, **options)
        return list(found) if method == "SearchStream" else found

    def raw(self, method: str, data: bytes) -> Any:
        """Bytes as they are, and bytes back."""
        path = f"/{SERVICE.full_name}/{method}"
        if method == "SearchStream":
            return list(self.channel.unary_stream(path)(data, timeout=20))
        return self.channel.unary_unary(path)(data, timeout=20)

    def questions(self) -> int:
        """That were answered, by the query log."""
        found = self.engine.status()["queries"]["count"]
        assert isinstance(found, int)
        return found


def requests(method: str) -> Any:
    """The class of a method's request."""
    return getattr(pb, SERVICE.methods_by_name[method].input_type.name)


@contextmanager
def serving(
    engine: Engine, *, keys: bool = False, bounds: Bounds | None = None, **options: Any
) -> Iterator[Client]:
    door = Door(engine, keys=keys, bounds=bounds or Bounds())
    server = start_grpc(door, "127.0.0.1:0", **options)
    try:
        with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            yield Client(door, server, channel, SemanticQueryServiceStub(channel))
    finally:
        server.stop(0).wait()


def error_of(error: grpc.RpcError) -> Any:
    """The JSON beside a status."""
    return json.loads(dict(error.trailing_metadata())[ERROR_KEY])["error"]


def key_for(engine: Engine, scope: Scope, rights: Any = "read", **grant: Any) -> tuple[str, str]:
    """The id and the key."""
    made, key = create_key(engine.store, scope, Grant("test", rights=rights, **grant))
    return made.id, key
