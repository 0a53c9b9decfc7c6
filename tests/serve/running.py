"""A real server for tests: `sourcebook serve` in a process of its own, on a free port, over a small
real corpus that the real model has embedded."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from sourcebook.access import Grant
from tests.town import TOWN, opened

RULES = {
    **TOWN,
    "guidelines.md": "---\ndocument_type: design_guidelines\nis_binding: true\n---\n"
    "# Design guidelines\n\n## Fencing\n\n"
    "The maximum fence height allowed in a backyard is six feet. Fences in front of a house are no "
    "higher than three feet, and their colour is that of the house. A fence that faces a path is "
    "set back by two feet, and the committee looks at each drawing before anything is built.\n\n"
    "## Colors\n\n"
    "Houses are painted in muted earth tones. The committee keeps a list of approved colors, and "
    "an owner who wants another color asks for it with a sample before any paint is bought.\n\n"
    "## Setback requirements\n\n"
    "The setback requirements are twenty feet from the street and ten feet from each neighbour. "
    "Sheds stand at least five feet from the rear line of the lot, whatever their height is.\n",
    "physics.md": "# Lecture notes\n\nThe uncertainty principle of quantum mechanics says that "
    "position and momentum cannot both be known exactly. Heisenberg found it in 1927, and it "
    "follows from the wave function, whose spread in place and in momentum trade against each "
    "other whatever apparatus is used to look at them.\n",
}
"""The town, and texts that the questions of the older programs are about."""
READY_S = 120.0
"""It takes two seconds, but for a machine that does much else."""


@dataclass(slots=True)
class Running:
    url: str
    process: subprocess.Popen[str]
    log: Path
    addresses: dict[str, Any]

    def client(self, key: str | None = None, **options: Any) -> httpx.Client:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **options)

    def post(self, path: str, body: Any, key: str | None = None) -> httpx.Response:
        with self.client(key) as client:
            return client.post(path, json=body)

    def get(self, path: str, key: str | None = None, **options: Any) -> httpx.Response:
        with self.client(key) as client:
            return client.get(path, **options)

    def lines(self, event: str = "request") -> list[dict[str, Any]]:
        """What the server has logged; of a line that it is writing nothing."""
        whole = self.log.read_text().rpartition("\n")[0]
        told = [json.loads(line) for line in whole.splitlines()]
        return [line for line in told if line["event"] == event]

    def logged(self, **wanted: Any) -> dict[str, Any]:
        """The first request logged with these values: it may come just after the answer."""

        def found() -> list[dict[str, Any]]:
            return [line for line in self.lines() if wanted.items() <= line.items()]

        until(lambda: bool(found()))
        return found()[0]

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(90)


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.01)


def filled(folder: Path, **settings: Any) -> str:
    """A store with the corpus in it; returns its URL."""
    opened(folder, RULES, **settings).close()
    return f"sqlite:///{folder / 'store.db'}"


def copied(store: str, folder: Path) -> str:
    """The same store elsewhere, for a test that changes it."""
    shutil.copy(store.removeprefix("sqlite:///"), folder / "store.db")
    return f"sqlite:///{folder / 'store.db'}"


def key_for(store: str, name: str = "test", tenant: str = "default", **grant: Any) -> str:
    from sourcebook import Sourcebook

    with Sourcebook.open(store, tenant=tenant) as sb:
        return sb.create_key(Grant(name, **grant))[1]


def command(store: str, *options: str) -> list[str]:
    ports = () if "--port" in options else ("--port", "0")
    grpc = () if "--grpc-port" in options else ("--no-grpc",)
    return [sys.executable, "-m", "sourcebook", "--store", store, "serve", *ports, *grpc, *options]


@contextmanager
def running(
    store: str, folder: Path, *options: str, env: Mapping[str, str] = {}, ready: bool = True
) -> Iterator[Running]:
    log = folder / f"serve-{time.monotonic_ns()}.log"
    with log.open("w") as err:
        process = subprocess.Popen(
            command(store, *options, "--json"),
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            cwd=folder,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **env},
        )
    try:
        addresses = _addresses(process, log)
        server = Running(addresses["http"], process, log, addresses)
        if ready:
            until_ready(server)
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def until_ready(server: Running) -> None:
    started = time.monotonic()
    while time.monotonic() - started < READY_S:
        if server.get("/ready").status_code == 200:
            return
        time.sleep(0.05)
    raise AssertionError(f"not ready after {READY_S} s: {server.log.read_text()}")


def _addresses(process: subprocess.Popen[str], log: Path) -> dict[str, Any]:
    assert process.stdout
    text = ""
    for line in process.stdout:
        text += line
        try:
            found: dict[str, Any] = json.loads(text)
        except ValueError:
            continue
        return found
    raise AssertionError(f"the server ended: {text} {log.read_text()}")
