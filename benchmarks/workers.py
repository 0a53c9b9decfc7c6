"""Workers that are killed at random: is every passage embedded, and none twice without need?

    python benchmarks/workers.py [--passages 50000] [--workers 20] [--json FILE]

Real processes run the loop of `sourcebook worker` over one store, with the static boundary model as
a service that takes its time. They are killed (SIGKILL) at random and started again until every
passage has its vector. Every call of the model is logged before it is made, by hash of the text, so
what was embedded twice can be compared with the leases that the killed ones held. All the time
another process asks real questions and checks the answers against an exact scan: what is declared
missing, that scores are right, and that nothing nearer with a vector was left out. Ends with
status 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
from search import document, passages, questions

from sourcebook.bootstrap import BOUNDARY_MODEL
from sourcebook.chunking.fixed import FixedChunker
from sourcebook.config import Settings
from sourcebook.engine import Engine
from sourcebook.hashing import digest
from sourcebook.indexing import Pace
from sourcebook.ingest import Request
from sourcebook.models.install import locate
from sourcebook.models.static import StaticModel
from sourcebook.ports import EmbeddedQuery, Usage
from sourcebook.querying.answer import Answer
from sourcebook.stores.sqlite import SqliteStore
from sourcebook.worker import Worker

CLOSE, FOUND = 1e-5, 10
DECLARED = re.compile(r"(\d+) of (\d+) passages have no vector yet")


class Service:
    """The static model, with a log of what it was asked and the time that a service takes."""

    provider, model, dimensions, max_tokens, late = "bench", BOUNDARY_MODEL, 256, 510, None
    usage = Usage()

    def __init__(self, log: Path | None = None, latency_s: float = 0.0) -> None:
        self._log = log
        self._latency_s = latency_s

    @cached_property
    def _model(self) -> StaticModel:
        return StaticModel(locate(BOUNDARY_MODEL))

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self._log:
            with self._log.open("a") as log:
                log.write("".join(f"{digest(text)}\n" for text in texts))
        time.sleep(self._latency_s * random.uniform(0.5, 1.5))
        vectors = self._model.embed(texts)
        vectors[~vectors.any(axis=1), 0] = 1.0
        return vectors

    def embed_query(self, text: str) -> EmbeddedQuery:
        return EmbeddedQuery(self.embed([text])[0])


def engine_over(path: Path, service: Service) -> Engine:
    chunker = FixedChunker(service.count)
    store = SqliteStore.open(path, busy_timeout=60)
    return Engine(Settings(), store, service, lambda: chunker, path.parent)


# --- a worker ------------------------------------------------------------------------------------


def work(path: Path, name: str, pace: Pace, latency_s: float) -> None:
    engine = engine_over(path, Service(path.parent / f"{name}.log", latency_s))
    worker = Worker(lambda: [engine], pace, name=name)
    signal.signal(signal.SIGTERM, lambda *_: worker.stop.set())
    worker.run()


class Workers:
    """Processes that are started, killed and started again."""

    def __init__(self, start: Callable[[str], BaseProcess], path: Path, number: int) -> None:
        self._start, self._path = start, path
        self._running = [start(f"w{n:04d}") for n in range(number)]
        self.kills = 0
        self.expired: Counter[str] = Counter()
        """How often the lease on a text was left to run out."""

    def kill_one(self) -> None:
        """One of those that hold something, if there is one. What it held at the end is read when
        it is certainly dead."""
        with closing(sqlite3.connect(self._path, timeout=60)) as db:
            at_work = {row[0] for row in db.execute("SELECT DISTINCT worker FROM claim")}
            places = [n for n, each in enumerate(self._running) if each.name in at_work]
            if not places:
                return
            place = random.choice(places)
            process = self._running[place]
            process.kill()
            process.join()
            rows = db.execute("SELECT text_hash FROM claim WHERE worker = ?", (process.name,))
            self.expired.update(row[0] for row in rows.fetchall())
        self.kills += 1
        self._running[place] = self._start(f"w{len(self._running) + self.kills:04d}")

    def stop(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            process.join(120)
        if {process.exitcode for process in self._running} - {0, -signal.SIGTERM}:
            raise SystemExit("a worker that was asked to stop ended with an error")

    def embedded(self) -> Counter[str]:
        """How often each text was handed to the model."""
        logs = self._path.parent.glob("w*.log")
        return Counter(line for log in logs for line in log.read_text().split())


# --- whoever searches meanwhile ------------------------------------------------------------------


class Searcher:
    """Asks, and compares every answer with what it declares."""

    def __init__(self, path: Path, texts: Sequence[str]) -> None:
        self._engine = engine_over(path, Service())
        self._vectors = self._engine.embedder.embed(texts).astype(np.float64)
        rows = self._engine.store.reader().execute("SELECT element_id, text_hash FROM passage")
        self._rows = {text_hash: int(element[1:]) for element, text_hash in rows}
        self.asked, self.degraded, self.complete = 0, 0, 0
        self.wrong: list[str] = []

    def ask(self, question: str, mode: str) -> None:
        before = self._present()
        answer = self._engine.search(question, FOUND, mode=mode, rerank="none", cache=False)
        after = self._present()
        self.asked += 1
        self.wrong += [f"{question}: {what}" for what in self._check(answer, mode, before, after)]

    def _present(self) -> np.ndarray:
        """Which passages have a vector now."""
        found = self._engine.store.reader().execute(
            "SELECT text_hash FROM vector INDEXED BY vector_key"
        )
        mask = np.zeros(len(self._vectors), bool)
        mask[[self._rows[row[0]] for row in found]] = True
        return mask

    def _check(
        self, answer: Answer, mode: str, before: np.ndarray, after: np.ndarray
    ) -> Iterator[str]:
        declared = [DECLARED.fullmatch(d.reason) for d in answer.degraded if d.part == "dense"]
        missing = int(declared[0][1]) if declared and declared[0] else 0
        if declared:
            self.degraded += 1
        else:
            self.complete += 1
        if not before.sum() <= len(self._vectors) - missing <= after.sum():
            yield f"declared {missing} missing, {(~before).sum()} before, {(~after).sum()} after"
        if not answer.parts:
            yield from self._check_scores(answer, mode, before, after)

    def _check_scores(
        self, answer: Answer, mode: str, before: np.ndarray, after: np.ndarray
    ) -> Iterator[str]:
        query = self._engine.embedder.embed_query(answer.query.normalized).vector
        true = self._vectors @ query.astype(np.float64)
        scored = {
            int(hit.node.element_id[1:]): hit.scores.dense
            for hit in answer.results
            if hit.scores.dense is not None
        }
        for row, score in scored.items():
            if abs(true[row] - score) > CLOSE or not after[row]:
                yield f"passage {row} has the score {score}, not {true[row]}"
        if mode == "dense":
            least = min(scored.values()) if len(scored) == FOUND else -1.0
            nearer = np.flatnonzero(before & (true > least + CLOSE))
            if left_out := set(nearer.tolist()) - set(scored):
                yield f"{len(left_out)} nearer passages were left out"


def search(path: Path, texts: Sequence[str], seen: Connection) -> None:
    """Until SIGTERM; then what was seen is sent."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    searcher, asked = Searcher(path, texts), questions()
    while not stop.is_set():
        searcher.ask(random.choice(asked), random.choice(["dense", "hybrid"]))
    seen.send(
        {name: getattr(searcher, name) for name in ("asked", "degraded", "complete", "wrong")}
    )


# --- all of it -----------------------------------------------------------------------------------


def run(folder: Path, given: argparse.Namespace) -> dict[str, object]:
    processes = multiprocessing.get_context(given.start)
    texts, path = passages(given.passages), folder / "store.db"
    with engine_over(path, Service()) as engine:
        engine.take_in(Request(document(n, t) for n, t in enumerate(texts)), wait=False)
    pace = Pace(given.batch, given.lease)

    def start(name: str) -> BaseProcess:
        made = (path, name, pace, given.latency)
        process = processes.Process(target=work, args=made, name=name, daemon=True)
        process.start()
        return process

    seen, there = processes.Pipe(duplex=False)
    searcher = processes.Process(target=search, args=(path, texts, there), daemon=True)
    searcher.start()
    begun = time.perf_counter()
    workers = Workers(start, path, given.workers)
    while waiting := left(path):
        passed = time.perf_counter() - begun
        print(f"{passed:.0f} s: {waiting} left, {workers.kills} kills", file=sys.stderr, flush=True)
        time.sleep(random.expovariate(1 / given.kill_every))
        if workers.kills < given.kills and waiting > given.workers * given.batch // 2:
            workers.kill_one()
    seconds = time.perf_counter() - begun
    time.sleep(given.complete)
    workers.stop()
    searcher.terminate()
    return {
        "passages": len(texts),
        "workers": given.workers,
        "kills": workers.kills,
        "seconds": round(seconds, 1),
        **vectors_in(path, texts),
        **embedded_twice(workers),
        "searches": seen.recv(),
    }


def left(path: Path) -> int:
    """Without a connection that stays open: processes are forked here."""
    with engine_over(path, Service()) as engine:
        return engine.lag()[0]


def vectors_in(path: Path, texts: Sequence[str]) -> dict[str, int]:
    """Every text has one vector, and it is its own."""
    with engine_over(path, Service()) as engine:
        rows = engine.store.reader().execute("SELECT text_hash, data FROM vector").fetchall()
        vectors, failed = engine.embedder.embed(texts), engine.lag()[1]
    known = {digest(text): vector for text, vector in zip(texts, vectors, strict=True)}
    own = sum(np.allclose(np.frombuffer(data, "<f4"), known[key], atol=CLOSE) for key, data in rows)
    return {"vectors": len(rows), "vectors_right": own, "failed": failed}


def embedded_twice(workers: Workers) -> dict[str, int]:
    """`without_need`: calls for a text that no lease explains."""
    calls = workers.embedded()
    again = {key: number - 1 for key, number in calls.items() if number > 1}
    return {
        "embedded": sum(calls.values()),
        "embedded_again": sum(again.values()),
        "leases_expired": sum(workers.expired.values()),
        "without_need": sum(max(n - workers.expired[key], 0) for key, n in again.items()),
    }


def is_right(result: dict[str, object]) -> bool:
    seen = result["searches"]
    assert isinstance(seen, dict)
    return (
        result["passages"] == result["vectors"] == result["vectors_right"]
        and result["without_need"] == result["failed"] == 0
        and not seen["wrong"]
        and seen["degraded"] > 0
        and seen["complete"] > 0
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lease", type=float, default=15.0, help="seconds")
    parser.add_argument("--latency", type=float, default=0.5, help="seconds that a call takes")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--kill-every", type=float, default=0.7, help="seconds, on average")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--complete", type=float, default=10.0, help="seconds of search behind it")
    parser.add_argument("--start", choices=["fork", "spawn"], default="fork")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        result = run(Path(folder), given)
    print(json.dumps(result, indent=2))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n")
    if not is_right(result):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
