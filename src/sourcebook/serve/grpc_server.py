"""A door in, `sourcebook.v1.SemanticQueryService` on a port out, with health and reflection.

A call carries its key as metadata `authorization: Bearer KEY`. An error is a status of failures.py
with one sentence; its JSON, the same as on other surfaces, is in the trailing metadata
`sourcebook-error-bin`.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, NoReturn

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sourcebook.errors import InvalidInput, SourcebookError, Unauthorized
from sourcebook.serve import failures
from sourcebook.serve.door import Asked, Door, Visit
from sourcebook.serve.grpc_aside import MOST_STREAMS, Streams, add_aside
from sourcebook.serve.grpc_listening import Calls, Listening
from sourcebook.serve.grpc_messages import Json, fill, part_of, read
from sourcebook.serve.operations import OPERATIONS
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb

SERVICE = pb.DESCRIPTOR.services_by_name["SemanticQueryService"]
ASKS: Mapping[str, str] = MappingProxyType(
    {
        "Search": "search",
        "SearchStream": "search",
        "GetContext": "context",
        "Reindex": "reindex",
        "GetIndexHealth": "health",
    }
)
"""The operation of each method."""
ADDRESS = "127.0.0.1:50051"
MAX_MESSAGE = 4 * 1024 * 1024
"""Bytes, both ways: what clients accept without being told otherwise."""
ERROR_KEY = "sourcebook-error-bin"
_SPARE = 16
"""Threads beside those that answer or wait, to refuse what is too much, and for health."""
_LONGEST = {"message": 1000, "field": 200}
"""Bytes: all metadata together has room for some thousand."""
_LOG = logging.getLogger(__name__)


class Service:
    """Every method of the schema over the door."""

    def __init__(self, door: Door, calls: Calls, max_message: int) -> None:
        self._door, self._calls, self._max_message = door, calls, max_message

    def handlers(self) -> grpc.GenericRpcHandler:
        """Requests arrive as bytes: what is no message must be told as an error of the caller."""
        made = {method.name: self._handler(method) for method in SERVICE.methods}
        return grpc.method_handlers_generic_handler(SERVICE.full_name, made)

    def _handler(self, method: MethodDescriptor) -> grpc.RpcMethodHandler:
        if method.server_streaming:

            def stream(data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
                yield from self._parts(method, data, context)

            return grpc.unary_stream_rpc_method_handler(stream)

        def answer(data: bytes, context: grpc.ServicerContext) -> bytes:
            return next(self._parts(method, data, context))

        return grpc.unary_unary_rpc_method_handler(answer)

    def _parts(
        self, method: MethodDescriptor, data: bytes, context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        try:
            answer = self._ask(method, data, context)
            for message in messages(method, answer):
                yield self._bytes(message)
        except SourcebookError as error:
            refuse(context, error)
        except Exception as error:  # noqa: BLE001  the edge of the program
            _LOG.exception("%s failed", method.name)
            refuse(context, error)

    def _ask(self, method: MethodDescriptor, data: bytes, context: grpc.ServicerContext) -> Json:
        self._calls.begin(context)
        key = key_of(context.invocation_metadata())
        visit = Visit(deadline_of(context))
        if not context.add_callback(visit.leave):
            visit.leave()
        name, kind = ASKS[method.name], GetMessageClass(method.input_type)
        asked = Asked(name, OPERATIONS[name], lambda: read(kind, data), key, "default")
        return self._door.answer(asked, visit)

    def _bytes(self, message: Message) -> bytes:
        made: bytes = message.SerializeToString()
        if len(made) > self._max_message:
            raise failures.TooLarge(
                f"the answer has {len(made):,} bytes, more than the {self._max_message:,} that one "
                "message may have; ask for less, or use SearchStream"
            )
        return made


def messages(method: MethodDescriptor, answer: Json) -> Iterator[Message]:
    """The answer as the messages that the method sends."""
    made = GetMessageClass(method.output_type)()
    if not method.server_streaming:
        fill(made, answer)
        yield made
        return
    yield _part("header", answer)
    for hit in answer["results"]:
        yield _part("hit", hit)
    yield _part("trailer", answer)


def _part(name: str, given: Json) -> Message:
    made = pb.SearchStreamResponse()
    inner = getattr(made, name)
    inner.SetInParent()
    (fill if name == "hit" else part_of)(inner, given)
    return made


def key_of(metadata: Iterable[tuple[str, str]]) -> str | None:
    """None where none was sent; one that cannot be read is as wrong as one that is not known."""
    found = [value for name, value in metadata if name == "authorization"]
    if not found:
        return None
    scheme, _, key = found[0].partition(" ")
    if len(found) > 1 or scheme.lower() != "bearer":
        raise Unauthorized
    return key.strip()


def deadline_of(context: grpc.ServicerContext) -> float | None:
    left = context.time_remaining()
    return None if left is None else time.monotonic() + left


def refuse(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    told: Any = failures.document(error)["error"]
    short = told | {name: _cut(told[name], most) for name, most in _LONGEST.items()}
    data = json.dumps({"error": short}, ensure_ascii=False).encode()
    context.set_trailing_metadata(((ERROR_KEY, data),))
    context.abort(grpc.StatusCode[failures.kind_of(error).grpc], short["message"])
    raise AssertionError("abort does not return")


def _cut(text: str | None, most: int) -> str | None:
    """Whole characters; half of one, as in an odd name, is left out."""
    return text and text.encode("utf-8", "ignore")[:most].decode("utf-8", "ignore")


def start_grpc(door: Door, address: str = ADDRESS, *, max_message: int = MAX_MESSAGE) -> Listening:
    """Serve until `stop`. Port 0 takes a free one; `port` of what is returned says which."""
    if not door.keys and not is_local(address):
        raise InvalidInput(
            f"{address} can be reached from outside, and no keys are asked for; listen on "
            "127.0.0.1, or make keys first: `sourcebook keys create NAME`",
            field="address",
        )
    bounds = door.turns.bounds
    most = bounds.running + bounds.waiting + MOST_STREAMS + _SPARE
    server = grpc.server(
        ThreadPoolExecutor(most, "sourcebook-grpc"),
        options=[
            ("grpc.max_receive_message_length", max_message),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),
        ],
        maximum_concurrent_rpcs=most,
    )
    calls, streams = Calls(), Streams()
    server.add_generic_rpc_handlers((Service(door, calls, max_message).handlers(),))
    health = add_aside(server, door, SERVICE.full_name, streams)
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise failures.CannotListen(
            f"cannot listen on {address}; choose another one for gRPC, with --grpc-port"
        ) from error
    server.start()
    return Listening(server, port, calls, health, streams)


def is_local(address: str) -> bool:
    """Whether only programs of this machine can connect."""
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
