"""A server under load: 64 clients for a minute over 100,000 passages. Is every answer right?

    python benchmarks/load.py [--passages 100000] [--clients 64] [--seconds 60] [--json FILE]
                              [--store FILE]

`sourcebook serve` in a process of its own, with the real model for every question; the passages'
vectors are those of the static model (see search.py), so that the store is made in minutes: what
is measured is the server. Each answer is compared, whole, with what one client got before. Beside
it, in the same run, stands a naive server: one thread that embeds and searches for one request
after the other, asked by one client. Answers are not cached on either side, unless it says so.

Then the server is killed (SIGKILL) under load and started again on the same store. Ends with status
1 if an answer was wrong, missing or an error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from search import TurnedStatic, document, engine_over, passages, questions, say

from sourcebook import Sourcebook
from sourcebook.ingest import Request

UNCACHED = {"SOURCEBOOK_SEARCH__CACHE": "false"}
KILLS = 5
OWN = ("timings_ms", "cached")
"""What differs between two answers to the same question."""
READY_S = 120


def make_store(path: Path, number: int) -> None:
    embedder = TurnedStatic()
    embedder.provider = "local"
    engine = engine_over(path, embedder)
    engine.take_in(Request(document(n, t) for n, t in enumerate(passages(number))))
    engine.close()


# --- servers -------------------------------------------------------------------------------------


@dataclass
class Served:
    process: subprocess.Popen[str]
    port: int
    ready_s: float

    def cpu_s(self) -> float:
        """Processor time that it has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def serving(store: Path, env: dict[str, str]) -> Iterator[Served]:
    """`sourcebook serve`, once it says that it is ready."""
    words = ["--store", f"sqlite:///{store}", "serve", "--port", "0", "--no-grpc", "--json"]
    with started([sys.executable, "-m", "sourcebook", *words], env) as (process, start):
        assert process.stdout
        port = int(json.loads(_document(process))["http"].rpartition(":")[2])
        while not _ready(port):
            assert time.perf_counter() - start < READY_S
            time.sleep(0.02)
        yield Served(process, port, time.perf_counter() - start)


@contextmanager
def naive(store: Path) -> Iterator[Served]:
    with started([sys.executable, __file__, "--naive", str(store)], {}) as (process, start):
        assert process.stdout
        port = int(process.stdout.readline())
        yield Served(process, port, time.perf_counter() - start)


@contextmanager
def started(
    command: list[str], env: dict[str, str]
) -> Iterator[tuple[subprocess.Popen[str], float]]:
    start = time.perf_counter()
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **env}
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=env, **out) as process:
        try:
            yield process, start
        finally:
            process.kill()


def _document(process: subprocess.Popen[str]) -> str:
    """The addresses, which are told on several lines."""
    assert process.stdout
    text = ""
    while "}" not in text:
        line = process.stdout.readline()
        assert line, "the server ended"
        text += line
    return text


def _ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5):
            return True
    except OSError:
        return False


def serve_naively(store: Path) -> None:
    """One request after the other; each is embedded and searched on its own."""
    with Sourcebook.open(f"sqlite:///{store}") as book:

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                answer = book.search(json.loads(body)["query"], cache=False)
                told = [[hit.node.id, hit.text, hit.scores.fused] for hit in answer.results]
                data = json.dumps(told).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        book.search("warm", cache=False)
        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            print(server.server_port, flush=True)
            server.serve_forever()


# --- clients -------------------------------------------------------------------------------------


@dataclass
class Told:
    """What clients saw: the time of each answer, and what was no right answer."""

    times: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    broken: int = 0
    seconds: float = 0.0

    def summary(self) -> dict[str, float]:
        cut = statistics.quantiles(self.times, n=100) if len(self.times) > 1 else [0.0] * 99
        return {
            "answers": len(self.times),
            "per_second": round(len(self.times) / self.seconds, 1),
            "p50_ms": round(cut[49] * 1e3, 1),
            "p95_ms": round(cut[94] * 1e3, 1),
            "p99_ms": round(cut[98] * 1e3, 1),
            "wrong": len(self.wrong),
            "broken": self.broken,
        }


async def ask(stream: tuple[Any, Any], text: str) -> tuple[int, bytes]:
    reader, writer = stream
    body = json.dumps({"query": text}).encode()
    head = (
        "POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().splitlines()
    length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length"))
    return int(lines[0].split()[1]), await reader.readexactly(length)


async def client(
    port: int, asked: Sequence[str], right: dict[str, Any] | None, end: float, told: Told
) -> None:
    stream = await asyncio.open_connection("127.0.0.1", port)
    at = 0
    try:
        while time.perf_counter() < end:
            text = asked[at % len(asked)]
            at += 1
            start = time.perf_counter()
            status, body = await ask(stream, text)
            told.times.append(time.perf_counter() - start)
            if status != 200 or (right is not None and plain(body) != right[text]):
                told.wrong.append(f"{status} {text}")
    except (OSError, asyncio.IncompleteReadError):
        told.broken += 1
    finally:
        stream[1].close()


def plain(body: bytes) -> Any:
    """An answer without what is its own."""
    document = json.loads(body)
    for name in OWN:
        document.get("stats", {}).pop(name, None)
    return document


def load(
    served: Served, clients: int, seconds: float, asked: Sequence[str], right: dict[str, Any] | None
) -> tuple[Told, list[float]]:
    """What the clients saw, and the server's memory, second by second. Each client begins with
    another question, so that they do not ask the same at the same time."""
    told, memory = Told(), []
    start = time.perf_counter()

    async def watch() -> None:
        while time.perf_counter() - start < seconds:
            memory.append(served.megabytes())
            await asyncio.sleep(1)

    async def run() -> None:
        end = start + seconds
        shifted = [asked[n * len(asked) // clients :] for n in range(clients)]
        await asyncio.gather(
            watch(),
            *(client(served.port, [*own, *asked], right, end, told) for own in shifted),
        )

    asyncio.run(run())
    told.seconds = time.perf_counter() - start
    return told, memory


def alone(served: Served, asked: Sequence[str]) -> dict[str, Any]:
    """The answer to each question, asked one after the other."""

    async def run() -> dict[str, Any]:
        stream = await asyncio.open_connection("127.0.0.1", served.port)
        right = {}
        for text in asked:
            status, body = await ask(stream, text)
            assert status == 200, body
            right[text] = plain(body)
        stream[1].close()
        return right

    return asyncio.run(run())


# --- the run -------------------------------------------------------------------------------------


def measured(store: Path, asked: Sequence[str], given: argparse.Namespace) -> dict[str, Any]:
    result: dict[str, Any] = {}
    say("a naive server, one client")
    with naive(store) as served:
        slow = load(served, 1, min(given.seconds, 20), asked, None)[0]
    result["naive server, 1 client"] = slow.summary()
    for name, env in (("", UNCACHED), (", answers cached", {})):
        with serving(store, env) as served:
            result.setdefault("ready_s", round(served.ready_s, 2))
            say(f"the answers of one client{name}")
            right = alone(served, asked)
            say(f"{given.clients} clients for {given.seconds} s{name}")
            used = served.cpu_s()
            told, memory = load(served, given.clients, given.seconds, asked, right)
            used = served.cpu_s() - used
        rate = told.summary()["per_second"]
        third = max(len(memory) // 3, 1)
        result[f"{given.clients} clients{name}"] = told.summary() | {
            "cores_busy": round(used / told.seconds, 2),
            "cpu_ms_per_answer": round(used / max(len(told.times), 1) * 1e3, 2),
            "memory_mb": [round(memory[0]), round(memory[-1])],
            "memory, last third / first": round(
                statistics.mean(memory[-third:]) / statistics.mean(memory[:third]), 3
            ),
            "times the naive server": round(rate / slow.summary()["per_second"], 2),
        }
    answered, ready = [], []
    for _ in range(KILLS):
        say("killed under load, started again")
        with serving(store, UNCACHED) as served:
            os.set_blocking(served.process.stdout.fileno(), False)
            answered.append(asyncio.run(_killed(served, asked)))
        with serving(store, UNCACHED) as served:
            ready.append(round(served.ready_s, 2))
            same = alone(served, asked[:50]) == {text: right[text] for text in asked[:50]}
            assert same, "other answers than before"
    result["after SIGKILL"] = {"answered_before": answered, "ready_s": ready, "same_answers": True}
    return result


async def _killed(served: Served, asked: Sequence[str]) -> int:
    told = Told()
    end = time.perf_counter() + 10
    clients = [
        asyncio.create_task(client(served.port, asked[n:], None, end, told)) for n in range(16)
    ]
    await asyncio.sleep(2)
    served.process.send_signal(signal.SIGKILL)
    await asyncio.gather(*clients)
    return len(told.times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--store", type=Path, help="made there if it is not there, and kept")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--naive", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.naive:
        serve_naively(given.naive)
        return
    asked = questions()[:300]
    with tempfile.TemporaryDirectory() as folder:
        store = given.store or Path(folder) / "load.db"
        if not store.exists():
            say(f"taking in {given.passages:,} passages")
            make_store(store, given.passages)
        result = {"passages": given.passages, **measured(store, asked, given)}
    print(json.dumps(result, indent=2))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n")
    loads = [value for name, value in result.items() if "clients" in name]
    wrong = any(each["wrong"] or each["broken"] for each in loads)
    sys.exit(wrong or not result["after SIGKILL"]["same_answers"])


if __name__ == "__main__":
    main()
