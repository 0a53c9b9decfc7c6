"""What `doctor` says of the machine: limits, ports, room and permissions."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from sourcebook import machine
from sourcebook.machine import Check

HOST = "127.0.0.1"


def port_check(port: int, host: str = HOST) -> Check:
    return next(machine.ports(host, {"--port": port}))


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        sock.listen(1)
        yield sock.getsockname()[1]


def test_a_port_that_is_taken_names_who_has_it(listening: int) -> None:
    found = port_check(listening)
    assert (found.name, found.status) == (f"port {listening}", "warning")
    assert f"process {os.getpid()}" in found.found
    assert found.advice == "choose another one with `serve --port`, or end it"


def test_a_port_that_is_free(listening: int) -> None:
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port = sock.getsockname()[1]
    assert port_check(port) == Check(f"port {port}", "ok", f"free on {HOST}")


def test_an_address_of_another_machine() -> None:
    found = port_check(8080, "192.0.2.1")
    assert found.status == "warning"
    assert "cannot be used on 192.0.2.1" in found.found


class Answers(BaseHTTPRequestHandler):
    body = b'{"status": "ok", "version": "9.9.9"}'

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None: ...


class Odd(Answers):
    body = b'["ok"]'


@pytest.mark.parametrize(
    ("who", "status", "words"),
    [(Answers, "ok", "Sourcebook 9.9.9 answers on"), (Odd, "warning", "taken on")],
)
def test_a_server_of_ours_is_no_trouble(who: type[Answers], status: str, words: str) -> None:
    with HTTPServer((HOST, 0), who) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            found = port_check(server.server_port)
        finally:
            server.shutdown()
            thread.join()
    assert found.status == status
    assert words in found.found


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.parametrize(
    ("free", "size", "status"),
    [(2e9, 10, "ok"), (9e8, 10, "warning"), (5e7, 10, "failed"), (2e9, 3e9, "warning")],
)
def test_room_is_measured_where_the_store_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: float, size: float, status: str
) -> None:
    """A store wants its own size again to give room back; the file is mostly a hole."""
    file = tmp_path / "store.db"
    with file.open("wb") as made:
        made.truncate(int(size))
    asked: list[Path] = []

    def usage(folder: Path) -> Usage:
        asked.append(folder)
        return Usage(0, 0, int(free))

    monkeypatch.setattr(shutil, "disk_usage", usage)
    found = machine.room(file)
    assert (found.status, bool(found.advice)) == (status, status != "ok")
    machine.room(tmp_path / "not" / "yet" / "store.db")
    assert asked == [tmp_path, tmp_path]


def test_who_may_write_and_read_the_file(tmp_path: Path) -> None:
    file, beside = tmp_path / "store.db", tmp_path / "store.db-wal"
    for each in (file, beside):
        each.touch()
        each.chmod(0o600)
    tmp_path.chmod(0o755)
    assert machine.permissions(file).status == machine.privacy(file).status == "ok"
    beside.chmod(0o666)
    assert machine.permissions(file).status == "warning"
    assert machine.privacy(file).advice == f"run `chmod 600 {file}*`"
    tmp_path.chmod(0o700)
    assert machine.privacy(file).status == "ok"


def test_a_part_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a command that somebody else ran."""
    file, beside = tmp_path / "store.db", tmp_path / "store.db-wal"
    file.touch()
    beside.touch()
    monkeypatch.setattr(os, "access", lambda path, mode: path != beside)
    found = machine.permissions(file)
    assert found.status == "failed"
    assert found.found == f"{beside} belongs to {beside.owner()} and cannot be written"
    assert found.advice == f"run this as {beside.owner()}, or change the owner with `chown`"


def test_limits_that_are_low(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cores" in machine.limits().found
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    assert machine.limits().advice == "raise the open files with `ulimit -n 1024`"
    monkeypatch.setattr(resource, "getrlimit", lambda _: (-1, -1))
    monkeypatch.setattr(machine, "_memory", lambda: 500_000_000)
    found = machine.limits()
    assert (found.status, found.advice) == ("warning", "give it 1 GB of memory or more")
    assert "any number of open files" in found.found
