"""gRPC of `sourcebook serve`, a process of its own, and how it ends under load."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from pathlib import Path

import grpc
import pytest

from sourcebook import Sourcebook
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb
from sourcebook.serve.proto.sourcebook.v1.semantic_query_pb2_grpc import SemanticQueryServiceStub
from tests.serve.running import filled, running
from tests.town import FENCE


@pytest.fixture
def store(tmp_path: Path) -> str:
    return filled(tmp_path)


def test_sigterm_under_load_answers_all_that_was_started(store: str, tmp_path: Path) -> None:
    """As many answers arrive as questions were asked of the store: the query log counts them."""
    before = asked(store)
    codes: Counter[grpc.StatusCode] = Counter()
    with running(store, tmp_path, "--grpc-port", "0") as server:

        def ask(number: int) -> None:
            with grpc.insecure_channel(server.addresses["grpc"]) as channel:
                service = SemanticQueryServiceStub(channel)
                while True:
                    question = pb.SearchRequest(query=f"{FENCE} {number}", k=3)
                    try:
                        assert len(service.Search(question, timeout=60).results) == 3
                        codes[grpc.StatusCode.OK] += 1
                    except grpc.RpcError as error:
                        codes[error.code()] += 1
                        return

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 60
        while codes[grpc.StatusCode.OK] < 50:
            assert time.monotonic() < end, codes
            time.sleep(0.01)
        assert server.end(signal.SIGTERM) == 0
        for thread in threads:
            thread.join(60)
    assert codes.keys() == {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
    assert asked(store) - before == codes[grpc.StatusCode.OK]


def asked(store: str) -> int:
    with Sourcebook.open(store) as sb:
        found = sb.status()["queries"]["count"]
        assert isinstance(found, int)
        return found
