"""A primary and a streaming replica: do reads scale, and what is left when the primary dies?

    python benchmarks/replica.py [--passages 100000] [--seconds 20] [--json FILE]

Two clusters on this machine, each held to a core of its own as if it were a machine of its own. Two
processes ask real questions, first both of the primary, then one of each; no images of vectors are
made, so that the database does most of the work. Then both ask the replica, at a revision that they
knew before, while a writer commits to the primary, which is ended without warning and started again
in the middle. Every answer is compared with the one that the primary gave at first; every revision
that the writer was told of must be there in the end, one after the other, on both.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(1, str(Path(__file__).parents[1]))

import psycopg
from search import CachedVectors, questions, say

from postgres import BENCH, SERVER, TENANT, Static, engine_on, fill
from sourcebook.bootstrap import open_store
from sourcebook.errors import StoreError
from sourcebook.model import Scope
from sourcebook.ports import Within
from sourcebook.querying.answer import Options
from sourcebook.querying.prepare import prepare
from sourcebook.querying.recall import recall
from sourcebook.querying.search import Searches
from sourcebook.stores.postgres.dense_held import HeldSets
from tests.postgres import FAST, Server, replica, temporary
from tests.stores.conformance import tree

ASKED = 300
"""More than a process keeps full-text scores of."""
LIVE = Scope(TENANT, BENCH, "live")


def opened(url: str, read_url: str | None) -> Callable[[str], list[str]]:
    """What asks a question at the revision that is head now."""
    cached = CachedVectors(Static(), questions()[:ASKED])
    engine = engine_on(url, cached, read_url)
    engine.store._searcher._nearest.held = HeldSets(0)  # type: ignore[attr-defined]
    searches = Searches(engine.store, cached, engine.scope, engine.space)
    within = Within(engine.resolve().revision)
    ours = engine.settings.search
    options = Options(rerank="none", depth=ours.depth, rrf_k=ours.rrf_k)

    def ask(text: str) -> list[str]:
        found = recall(searches, prepare(text), options, ours.depth, within)
        return [hit.node_id for hit in found.fused[:10]]

    return ask


def read(url: str, read_url: str | None, right: Any, seconds: float, all_up: Any, out: Any) -> None:
    """How many questions were answered, and how many of them wrongly."""
    ask = opened(url, read_url)
    ask(questions()[0])
    all_up.wait(300)
    until, answers, wrong = time.time() + seconds, 0, 0
    while time.time() < until:
        at = answers % ASKED
        wrong += ask(questions()[at]) != right[at]
        answers += 1
    out.put((answers, wrong))


def write(url: str, _: None, __: Any, seconds: float, all_up: Any, out: Any) -> None:
    """The revisions that were made, and how often the primary was not there."""
    store = open_store(url)
    all_up.wait(300)
    until, made, refused = time.time() + seconds, [], 0
    while time.time() < until:
        try:
            with store.commit(LIVE) as writer:
                for part in range(20):
                    name = f"d{len(made)}-{refused}-{part}"
                    writer.put(tree(name, [f"The {name} was written at {time.time()}"]))
            made.append(writer.revision)
        except StoreError:
            refused += 1
            time.sleep(0.2)
    out.put((made, refused))


def side_by_side(
    work: list[tuple[Callable[..., None], str, str | None]],
    right: list[list[str]],
    seconds: float,
    meanwhile: Callable[[], None] = lambda: None,
) -> list[Any]:
    """What each process has to say."""
    context = multiprocessing.get_context("spawn")
    all_up = context.Barrier(len(work) + 1)
    outs = [context.Queue() for _ in work]
    others = [
        context.Process(target=does, args=(url, read_url, right, seconds, all_up, out))
        for (does, url, read_url), out in zip(work, outs, strict=True)
    ]
    for other in others:
        other.start()
    all_up.wait(300)
    meanwhile()
    told = [out.get(timeout=seconds + 60) for out in outs]
    for other in others:
        other.join()
    return told


def pin(server: Server, core: int) -> None:
    """The server and what it starts from now on."""
    (first, *_) = (server.data / "postmaster.pid").read_text().splitlines()
    os.sched_setaffinity(int(first), {core})


def measure(primary: Server, follower: Server, seconds: float) -> dict[str, Any]:
    url, near = primary.url(), follower.url()
    ask = opened(url, None)
    right = [ask(text) for text in questions()[:ASKED]]
    rates: dict[str, float] = {}
    wrong = 0
    for name, second in (("both of the primary", None), ("one of each", near)):
        say(f"asking, {name}")
        before = transactions(near)
        told = side_by_side([(read, url, None), (read, url, second)], right, seconds)
        rates[name] = round(sum(answers for answers, _ in told) / seconds, 1)
        wrong += sum(bad for _, bad in told)
        by_replica = transactions(near) - before
    assert by_replica > told[1][0], "the replica was not asked"
    say("killing the primary while somebody writes")

    def kill() -> None:
        time.sleep(seconds / 3)
        primary.stop("immediate")
        time.sleep(seconds / 10)
        primary.start(*FAST, *SERVER)
        pin(primary, 0)

    work = [(read, url, near), (read, url, near), (write, url, None)]
    *readers, (made, refused) = side_by_side(work, right, seconds, kill)
    return {
        "answers a second": rates,
        "times as many with a replica": round(
            rates["one of each"] / rates["both of the primary"], 2
        ),
        "answers beside the kill": sum(answers for answers, _ in readers),
        "wrong answers": wrong + sum(bad for _, bad in readers),
        "commits told": len(made),
        "commits refused": refused,
        "commits lost": lost(url, near, made),
    }


def transactions(url: str) -> int:
    """That the server has carried out."""
    with psycopg.connect(url) as db:
        row = db.execute("SELECT sum(xact_commit)::bigint FROM pg_stat_database").fetchone()
    assert row is not None
    return int(row[0])


def lost(url: str, near: str, made: list[int]) -> int:
    """Of the revisions that were told, how many one of the servers lacks."""
    with_head = open_store(url)
    numbers = [revision.number for revision in reversed(with_head.log(LIVE))]
    assert numbers == list(range(1, len(numbers) + 1)), "the history is not serial"
    follower = open_store(near)
    for _ in range(300):
        there = [revision.number for revision in follower.log(LIVE)]
        if len(there) == len(numbers):
            break
        time.sleep(0.1)
    return len(set(made) - set(numbers)) + len(set(numbers) - set(there))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with temporary(*SERVER) as primary:
        engine = engine_on(primary.url(), Static())
        fill(primary.url(), engine, given.passages)
        engine.close()
        with replica(primary, *SERVER) as follower:
            pin(primary, 0)
            pin(follower, min(1, (os.cpu_count() or 1) - 1))
            result = measure(primary, follower, given.seconds)
    print(json.dumps(result, indent=2))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
