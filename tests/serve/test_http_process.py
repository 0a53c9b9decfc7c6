"""The server as a process: how it starts, what it does when there is too much to do, and how it
ends. Slow requests are real ones: many texts to embed."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from sourcebook import Sourcebook
from sourcebook.serve.server import begin_no_more
from tests.serve.running import (
    Running,
    command,
    copied,
    filled,
    key_for,
    running,
    until,
    until_ready,
)
from tests.town import FENCE

QUESTION = {"query": FENCE, "k": 3}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return filled(tmp_path_factory.mktemp("process"))


def slow(name: str, texts: int = 40) -> dict[str, Any]:
    """A request that takes some seconds: as many texts to embed, and none seen before."""
    words = " ".join(f"{name} {n}" for n in range(30))
    documents = [{"name": f"{name}-{n}.md", "text": f"Number {n}. {words}"} for n in range(texts)]
    return {"documents": documents, "wait": True}


def gauge(server: Running, name: str) -> float:
    text = server.get("/metrics").text
    return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def run(store: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = command(store, *options)
    return subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=folder)


# --- how it starts -------------------------------------------------------------------------------


def test_addresses_are_printed(store: str, tmp_path: Path) -> None:
    with running(store, tmp_path, "--grpc-port", "0") as server:
        assert server.addresses["http"].startswith("http://127.0.0.1:")
        assert server.addresses["mcp"] == server.addresses["http"] + "/mcp"
        host, _, port = server.addresses["grpc"].rpartition(":")
        socket.create_connection((host, int(port))).close()
        assert server.end() == 0


def test_a_taken_port_is_one_sentence(store: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run(store, tmp_path, "--port", str(port))
    assert ran.returncode == 3
    assert f"port {port} on 127.0.0.1 is taken" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) <= 2
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_other_machines_need_keys(store: str, tmp_path: Path, host: str) -> None:
    ran = run(store, tmp_path, "--host", host)
    assert ran.returncode == 2
    assert "sourcebook keys create" in ran.stderr.replace("\n", " ")


def test_with_a_key_it_listens_everywhere_and_asks_for_it(store: str, tmp_path: Path) -> None:
    store = copied(store, tmp_path)
    key = key_for(store, tenant="another")
    with running(store, tmp_path, "--host", "0.0.0.0") as server:
        assert server.get("/v1/nodes").status_code == 401
        assert server.get("/v1/nodes", key).status_code == 404  # another tenant's: not there


def test_keys_can_be_required_before_there_is_one(store: str, tmp_path: Path) -> None:
    required = {"SOURCEBOOK_SERVE__REQUIRE_KEYS": "true"}
    with running(store, tmp_path, env=required) as server:
        assert server.get("/v1/nodes").status_code == 401


def test_questions_are_logged_only_if_asked_for(store: str, tmp_path: Path) -> None:
    with running(store, tmp_path, env={"SOURCEBOOK_SERVE__LOG_QUERIES": "true"}) as server:
        server.post("/v1/search", QUESTION)
        server.logged(query=FENCE)


# --- too much ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def narrow(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One request at a time, two that may wait."""
    folder = tmp_path_factory.mktemp("narrow")
    env = {"SOURCEBOOK_SERVE__RUNNING": "1", "SOURCEBOOK_SERVE__WAITING": "2"}
    with running(copied(store, folder), folder, env=env) as server:
        yield server


def test_too_many_are_told_so_at_once(narrow: Running) -> None:
    with ThreadPoolExecutor(8) as pool:
        busy = pool.submit(narrow.post, "/v1/ingest", slow("overload"))
        until(lambda: gauge(narrow, "sourcebook_in_flight") == 1)
        waiting = [pool.submit(narrow.post, "/v1/search", QUESTION) for _ in range(2)]
        until(lambda: gauge(narrow, "sourcebook_waiting") == 2)
        for _ in range(5):
            answer = narrow.post("/v1/search", QUESTION)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["error"]["code"] == "overloaded"
        assert not busy.done(), "it was not slow enough to test anything"
        assert narrow.get("/health").status_code == 200
        assert busy.result().status_code == 200
        assert [each.result().status_code for each in waiting] == [200, 200]


def test_who_hangs_up_gives_its_place_away(narrow: Running) -> None:
    name = 'sourcebook_outcomes_total{operation="search",outcome="ok"}'
    assert narrow.post("/v1/search", QUESTION).status_code == 200
    before = gauge(narrow, name)
    with ThreadPoolExecutor(8) as pool:
        busy = pool.submit(narrow.post, "/v1/ingest", slow("hang-up"))
        until(lambda: gauge(narrow, "sourcebook_in_flight") == 1)
        calls = [_send(narrow, "/v1/search", b'{"query": "fence"}') for _ in range(2)]
        until(lambda: gauge(narrow, "sourcebook_waiting") == 2)
        assert narrow.post("/v1/search", QUESTION).status_code == 503
        for call in calls:
            call.close()
        until(lambda: gauge(narrow, "sourcebook_waiting") == 0)
        assert not busy.done(), "it was not slow enough to test anything"
        late = pool.submit(narrow.post, "/v1/search", QUESTION)
        assert busy.result().status_code == 200
        assert late.result().status_code == 200
    assert gauge(narrow, name) == before + 1, "who hung up was answered all the same"
    until(lambda: sum(line["status"] == 499 for line in narrow.lines()) == 2)


def _send(server: Running, path: str, body: bytes, length: int | None = None) -> socket.socket:
    where = urlsplit(server.url)
    sock = socket.create_connection((where.hostname or "", where.port or 0), timeout=60)
    head = f"POST {path} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
    sock.sendall(f"{head}Content-Length: {length or len(body)}\r\n\r\n".encode() + body)
    return sock


def test_what_takes_too_long_is_given_up(store: str, tmp_path: Path) -> None:
    env = {"SOURCEBOOK_SERVE__TIMEOUT_S": "0.5"}
    with running(copied(store, tmp_path), tmp_path, env=env) as server:
        answer = server.post("/v1/ingest", slow("timeout"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "timeout")
        assert server.get("/health").status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(store: str, tmp_path: Path) -> None:
    env = {"SOURCEBOOK_SERVE__TIMEOUT_S": "0.5"}
    with (
        running(store, tmp_path, env=env) as server,
        _send(server, "/v1/search", b"{", length=9) as sock,
    ):
        assert b" 504 " in sock.recv(100)


def test_a_key_that_asks_too_often_is_slowed_down(store: str, tmp_path: Path) -> None:
    store = copied(store, tmp_path)
    key = key_for(store)
    env = {"SOURCEBOOK_SERVE__PER_KEY_PER_MINUTE": "5"}
    with running(store, tmp_path, env=env) as server:
        statuses = [server.get("/v1/baselines", key).status_code for _ in range(8)]
        assert statuses[:5] == [200] * 5
        assert 429 in statuses[5:]


# --- how it ends ---------------------------------------------------------------------------------


class Load:
    """Clients that ask without a pause until there is nobody to ask."""

    def __init__(self, server: Running, clients: int) -> None:
        self.answered: list[int] = []
        self.broken: list[str] = []
        self._server, self._lock = server, threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self, number: int) -> None:
        asked = 0
        while True:
            asked += 1
            question = {"query": f"{FENCE} {number} {asked}", "k": 3}
            try:
                answer = httpx.post(f"{self._server.url}/v1/search", json=question, timeout=60)
            except httpx.ConnectError:
                return
            except httpx.TransportError as error:
                with self._lock:
                    self.broken.append(repr(error))
                return
            with self._lock:
                self.answered.append(answer.status_code)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


def test_sigterm_under_load_answers_all_that_was_accepted(store: str, tmp_path: Path) -> None:
    store = copied(store, tmp_path)
    with running(store, tmp_path) as server:
        load = Load(server, 8)
        until(lambda: len(load.answered) > 20)
        with ThreadPoolExecutor(1) as pool:
            long = pool.submit(server.post, "/v1/ingest", slow("sigterm", 20))
            until(lambda: gauge(server, "sourcebook_http_in_flight") >= 8)
            assert server.end(signal.SIGTERM) == 0
            load.join()
            assert long.result().status_code == 200
        assert set(load.answered) == {200}
        assert load.broken == []
        asked = ("/v1/search", "/v1/ingest")
        logged = [line for line in server.lines() if line["route"] in asked]
        assert len(logged) == len(load.answered) + 1
        assert not server.lines("error")
    with Sourcebook.open(store) as sb:
        assert sb.get("sigterm-19.md")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a filter of the kernel")
def test_who_has_connected_is_still_taken_when_nothing_new_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        where = listening.getsockname()
        with socket.create_connection(where) as early:
            begin_no_more(listening)
            with pytest.raises(TimeoutError):
                socket.create_connection(where, timeout=0.2)
            early.sendall(b"asked")
            taken, _ = listening.accept()
            with taken:
                assert taken.recv(5) == b"asked"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(where)


def test_a_server_can_be_ended_while_it_loads(store: str, tmp_path: Path) -> None:
    with running(store, tmp_path, ready=False) as server:
        assert server.end() == 0
    assert "terminate" not in server.log.read_text()


def test_sigkill_under_load_loses_nothing(store: str, tmp_path: Path) -> None:
    store = copied(store, tmp_path)
    committed = []
    with running(store, tmp_path) as server:
        load = Load(server, 4)
        for number in range(20):
            body = {"documents": [{"name": f"k{number}.md", "text": f"Kept {number}."}]}
            committed.append(server.post("/v1/ingest", body).json()["revision"])
        server.end(signal.SIGKILL)
        load.join()
    assert committed == list(range(2, 22))
    with running(store, tmp_path, ready=False) as again:
        until_ready(again)
        assert again.get("/v1/revisions").json()["revisions"][0]["number"] == 21
        for number in range(20):
            assert again.get(f"/v1/nodes/k{number}.md").json()["text"] == f"Kept {number}."
        assert again.post("/v1/search", QUESTION).json()["results"]


def test_sigterm_does_not_wait_for_what_takes_too_long(store: str, tmp_path: Path) -> None:
    """Such as a document that is chunked, scored and embedded for minutes: it is told to stop."""
    store = copied(store, tmp_path)
    heavy = {"documents": [{"name": "heavy.md", "text": "###### a\n" * 49_000}], "wait": True}
    short = {"SOURCEBOOK_SERVE__SHUTDOWN_S": "1"}
    with running(store, tmp_path, env=short) as server, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.post, "/v1/ingest", heavy)
        until(lambda: gauge(server, "sourcebook_http_in_flight") >= 2)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(15)
        with pytest.raises((httpx.TransportError, AssertionError)):
            assert asked.result().status_code == 200


def test_a_document_of_too_many_headings_is_refused(store: str, tmp_path: Path) -> None:
    with running(copied(store, tmp_path), tmp_path) as server:
        document = {"name": "many.html", "text": "<h1>a</h1>" * 50_001}
        answer = server.post("/v1/ingest", {"documents": [document]})
        assert answer.status_code == 422
        assert "the most is 50,000" in answer.json()["error"]["message"]
