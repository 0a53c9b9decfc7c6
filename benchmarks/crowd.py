"""Many processes on one PostgreSQL store: is every revision there, once, and does nobody get stuck?

    python -m benchmarks.crowd [--seconds 120] [--store URL]

8 writers on 4 repositories, 4 workers that embed, 8 readers. Every writer says which revisions it
made; in the end each repository must have exactly these, one after the other, and no text without a
vector. A reader reads a revision twice, some time apart: both must be the same. Without --store a
server is started for it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

# `make bench` runs it by its path.
sys.path.insert(1, str(Path(__file__).parents[1]))

import numpy as np

from sourcebook.errors import StoreBusy
from sourcebook.model import PreparedQuery, ReadContext, Scope, Space
from sourcebook.ports import Within
from sourcebook.stores.postgres.scratch import scratch
from sourcebook.stores.postgres.store import PostgresStore
from tests.postgres import temporary
from tests.stores.conformance import tree

WRITERS, WORKERS, READERS = 8, 4, 8
SCOPES = [Scope(tenant, "bench", name) for tenant in ("one", "two") for name in ("red", "blue")]
SPACE = Space("crowd", "local", "tiny", 16, "1")
WORDS = "fox sky red blue whale runs green early lamp stone river".split()


def write(store: PostgresStore, dice: random.Random, told: Counter[str]) -> Any:
    scope = dice.choice(SCOPES)
    name = f"d{dice.randrange(20)}"
    parts = [" ".join(dice.choices(WORDS, k=12)) for _ in range(dice.randrange(1, 6))]
    with store.commit(scope) as writer:
        born = writer.put(tree(name, list(dict.fromkeys(parts))))
    told["commits"] += 1
    return (SCOPES.index(scope), writer.revision) if any(born.values()) else None


def work(store: PostgresStore, dice: random.Random, told: Counter[str]) -> Any:
    scope = dice.choice(SCOPES)
    found = store.claim(scope, SPACE, f"w{id(store)}", 16, 30)
    if found:
        vectors = np.random.default_rng(dice.randrange(9999)).normal(size=(len(found), 16))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        store.put_vectors(scope, SPACE, [p.text_hash for p in found], vectors.astype("f4"))
        told["vectors"] += len(found)
    return None


def read(store: PostgresStore, dice: random.Random, told: Counter[str]) -> Any:
    """The same revision twice, with others writing in between."""
    scope = dice.choice(SCOPES)
    revision = store.resolve(scope, ReadContext()).revision
    first, again = (_seen(store, scope, revision) for _ in range(2))
    told["reads"] += 1
    told["reads that moved"] += first != again
    return None


def _seen(store: PostgresStore, scope: Scope, revision: int) -> Any:
    query = PreparedQuery("", "", ("fox", "river"))
    found = store.sparse_search(scope, query, 10, Within(revision))
    return found, store.counts(scope, revision), [n.id for n in store.nodes(scope, revision)]


def process(
    url: str, step: Callable[..., Any], seed: int, seconds: float, all_up: Any, out: Any
) -> None:
    store, dice, told, made = PostgresStore.open(url), random.Random(seed), Counter[str](), []
    all_up.wait(300)
    until = time.time() + seconds
    while time.time() < until:
        try:
            made.append(step(store, dice, told))
        except StoreBusy as error:
            told["deadlocks" if "deadlock" in str(error) else "busy"] += 1
    store.close()
    out.put((told, [each for each in made if each is not None]))


def crowd(url: str, seconds: float) -> dict[str, Any]:
    store = PostgresStore.open(url)
    for scope in SCOPES:
        store.register_space(scope, SPACE)
    context = multiprocessing.get_context("spawn")
    out: Any = context.Queue()
    steps = [write] * WRITERS + [work] * WORKERS + [read] * READERS
    all_up = context.Barrier(len(steps))
    others = [
        context.Process(target=process, args=(url, step, seed, seconds, all_up, out))
        for seed, step in enumerate(steps)
    ]
    for other in others:
        other.start()
    total, made = Counter[str](), defaultdict[int, Counter[int]](Counter)
    for _ in others:
        told, revisions = out.get(timeout=seconds + 400)
        total.update(told)
        for scope_number, revision in revisions:
            made[scope_number][revision] += 1
    for other in others:
        other.join()
    dice, told = random.Random(0), Counter[str]()
    while any(store.count_pending(scope, SPACE) for scope in SCOPES):
        work(store, dice, told)
    histories = {}
    for number, scope in enumerate(SCOPES):
        revisions = [r.number for r in reversed(store.log(scope))]
        assert revisions == list(range(1, len(revisions) + 1)), "the history is not serial"
        lost = set(made[number]) - set(revisions)
        assert not lost, f"lost revisions {sorted(lost)} of {scope}"
        twice = [r for r, times in made[number].items() if times > 1]
        assert not twice, f"two made revisions {twice} of {scope}"
        assert set(made[number]) == set(revisions), "a revision that nobody made"
        histories[f"{scope.tenant}/{scope.repository}"] = len(revisions)
    store.close()
    return {"seconds": seconds, **total, "revisions": histories}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--store", metavar="URL")
    given = parser.parse_args()
    if given.store:
        with scratch(given.store) as url:
            told = crowd(url, given.seconds)
    else:
        with temporary("max_connections=300") as server:
            told = crowd(server.url(), given.seconds)
    json.dump(told, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
