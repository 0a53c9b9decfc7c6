"""Whatever arrives, the server lives and answers with a status that means something."""

from __future__ import annotations

import os
import random
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb
from tests import town

from .grpc_client import METHODS, Client, error_of, requests, serving

SEED = int(os.environ.get("SOURCEBOOK_FUZZ_SEED", "6"))
EACH = 300
"""Of each method and kind; all of it takes some seconds."""
MEANT = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNAVAILABLE,
}
WORDS = [
    "",
    " ",
    "fence",
    town.FENCE,
    '"rear line"',
    "* OR NEAR(",
    "\x00",
    "a\x00b",
    "😀" * 50,
    "\u202e\u0000",
    "x" * 10_001,
    "default",
    "head",
    "published",
    "none",
    "hybrid",
    "dense",
    "sparse",
    "rrf",
    "baseline",
    "as_of",
    "2026-01-31T12:00:00Z",
    "9999-99-99",
    "../../etc/passwd",
    "'; DROP TABLE nodes; --",
]
NUMBERS = [0, 1, -1, 2, 7, 1000, 1001, 2**31, 2**63 - 1, -(2**63)]
DOUBLES = [0.0, 1.0, -0.0, 0.5, -1.0, 1e308, float("inf"), float("-inf"), float("nan"), 5e-324]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with (
        town.quick(tmp_path_factory.mktemp("fuzz"), town.TOWN) as engine,
        serving(engine) as made,
    ):
        yield made
        assert made.door.turns.in_flight == 0
        found = made.ask("Search", pb.SearchRequest(query=town.FENCE, k=1))
        assert found.results[0].element_id == "files/fences.md"


def tried(client: Client, method: str, data: bytes) -> grpc.StatusCode:
    try:
        client.raw(method, data)
    except grpc.RpcError as error:
        told = error_of(error)
        assert told["code"] != "internal", data
        assert told["message"]
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            assert told["code"] == "model_unavailable", "only of the space of a re-index"
        return error.code()
    return grpc.StatusCode.OK


def all_tried(client: Client, method: str, given: list[bytes]) -> Counter[grpc.StatusCode]:
    started = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        codes = Counter(pool.map(lambda data: tried(client, method, data), given))
    assert codes.keys() <= MEANT, codes
    assert time.monotonic() - started < 30
    return codes


@pytest.mark.parametrize("method", METHODS)
def test_random_bytes(client: Client, method: str) -> None:
    dice = random.Random(f"{SEED} {method}")
    given = [dice.randbytes(dice.choice([1, 2, 5, 20, 200, 5000])) for _ in range(EACH)]
    codes = all_tried(client, method, given)
    assert codes[grpc.StatusCode.INVALID_ARGUMENT] > EACH * 0.9


@pytest.mark.parametrize("method", METHODS)
def test_random_messages(client: Client, method: str) -> None:
    dice = random.Random(f"{SEED} {method} messages")
    given = [whole(dice, method).SerializeToString() for _ in range(EACH)]
    codes = all_tried(client, method, given)
    assert codes[grpc.StatusCode.OK] > 0
    assert sum(codes.values()) == EACH


@pytest.mark.parametrize("method", METHODS)
def test_messages_with_a_few_bytes_changed(client: Client, method: str) -> None:
    dice = random.Random(f"{SEED} {method} changed")
    given = []
    for _ in range(EACH):
        data = bytearray(whole(dice, method).SerializeToString() or b"\x0a\x00")
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        given.append(bytes(data[: dice.choice([len(data), len(data), dice.randrange(len(data))])]))
    all_tried(client, method, given)


def test_bytes_that_are_no_grpc_at_all(client: Client) -> None:
    dice = random.Random(SEED)
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    for number in range(60):
        with socket.create_connection(("127.0.0.1", client.server.port), timeout=5) as sock:
            noise = dice.randbytes(dice.choice([1, 9, 100, 20_000]))
            sock.sendall((b"", preface, b"GET / HTTP/1.1\r\n\r\n")[number % 3] + noise)
    assert client.ask("GetIndexHealth").revision == 1


# --- messages ------------------------------------------------------------------------------------


def whole(dice: random.Random, method: str) -> Message:
    made: Message = requests(method)()
    fill(dice, made, often=dice.random())
    if dice.random() < 0.5 and "query" in made.DESCRIPTOR.fields_by_name:
        made.query = town.FENCE  # type: ignore[attr-defined]
    return made


def fill(dice: random.Random, message: Message, often: float) -> None:
    for field in message.DESCRIPTOR.fields:
        if dice.random() > often:
            continue
        target = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for _ in range(dice.randint(0, 3)):
                fill(dice, target[dice.choice(WORDS)], often)
        elif field.message_type is not None:
            target.SetInParent()
            fill(dice, target, often)
        elif field.is_repeated:
            target.extend(value(dice, field) for _ in range(dice.randint(0, 4)))
        else:
            setattr(message, field.name, value(dice, field))


def value(dice: random.Random, field: Any) -> Any:
    kinds = {
        field.TYPE_STRING: WORDS,
        field.TYPE_INT64: NUMBERS,
        field.TYPE_DOUBLE: DOUBLES,
        field.TYPE_BOOL: [True, False],
    }
    return dice.choice(kinds[field.type])
