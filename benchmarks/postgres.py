"""Search on PostgreSQL with pgvector: speed, recall and plans, beside the plain way to do it.

    python benchmarks/postgres.py [--passages 100000] [--questions 100] [--url URL] [--json FILE]

Real text (windows of sentences of the SciFact abstracts, repeated with other sentences in them) and
real questions (its claims), with static vectors in 384 dimensions, taken in by one `ingest` and
embedded as a worker does it. What is timed is what the engine
does: both searches, their fusion, and the ten hits, cited; embedding the question is left out.
Filters keep 1 %, 10 % and all of the passages. The exact answer is that of a full scan in NumPy.
Each question is asked of ours and of the plain way in turn, so that both meet the same moments of
the machine.

Without --url a server of its own is started and thrown away; a database that --url names is filled
if it is empty, and else searched as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(1, str(Path(__file__).parents[1]))

import numpy as np
import psycopg
from _postgres_plain import READINGS, Plain
from search import (
    DIMENSIONS,
    FACETS,
    CachedVectors,
    TurnedStatic,
    document,
    hybrid,
    passages,
    questions,
    say,
)

from sourcebook.bootstrap import open_store
from sourcebook.chunking.fixed import FixedChunker
from sourcebook.config import Settings
from sourcebook.engine import Engine
from sourcebook.ingest import Request
from sourcebook.model import Document, Filter, Match, Scope
from sourcebook.ports import Neighbours, Within
from sourcebook.querying.prepare import prepare
from sourcebook.stores.postgres.dense_held import HeldSets
from sourcebook.stores.postgres.search_statements import STATEMENTS
from tests.postgres import temporary

TENANT, BENCH = "acme", "bench"
DISTINCT = 150_000
"""Passages that can be made without repeating a sentence's place."""
SERVER = (
    "shared_buffers=6GB", "work_mem=64MB", "max_wal_size=8GB", "checkpoint_timeout=30min",
    "random_page_cost=1.1", "effective_cache_size=12GB", "max_parallel_maintenance_workers=2",
    "jit=off",
)  # fmt: skip
KEPT: dict[str, tuple[str, str] | None] = {
    "1%": ("percent", "7"), "10%": ("tenth", "3"), "100%": ("all", "0"), "no filter": None,
}  # fmt: skip


SLOW = 10
"""Questions that the plain way is asked where it takes seconds for one."""


class Static(TurnedStatic):
    """Without token vectors, which only reranking needs."""

    def __init__(self) -> None:
        super().__init__()
        self.late = None  # type: ignore[assignment]


def documents(wanted: int) -> Iterator[Document]:
    """Real passages, then each again with a sentence of another one in it, until there are
    enough."""
    rng, real = random.Random(7), passages(min(wanted, DISTINCT))
    for number in range(1, wanted + 1):
        sentences = real[number % len(real)].split(". ")
        if number > len(real):
            other = rng.choice(real).split(". ")
            sentences[rng.randrange(len(sentences))] = rng.choice(other)
        yield document(number, ". ".join(sentences))


@contextmanager
def server(url: str | None) -> Iterator[str]:
    if url:
        yield url
        return
    with temporary(*SERVER) as started:
        yield started.url()


def connect(url: str, autocommit: bool = False) -> psycopg.Connection[Any]:
    """As the owner of the server, who sees all rows."""
    path = "-c search_path=sourcebook,public"
    return psycopg.connect(url, autocommit=autocommit, options=path)


def engine_on(url: str, embedder: Any, read_url: str | None = None) -> Engine:
    settings = Settings(store=url, tenant=TENANT, organization=BENCH, repository=BENCH)
    chunker = FixedChunker(embedder.count)
    store = open_store(url, read_url=read_url)
    return Engine(settings, store, embedder, lambda: chunker, Path(tempfile.gettempdir()))


def fill(url: str, engine: Engine, wanted: int) -> dict[str, object]:
    """Take the passages in, embed them, build the index of the vectors; nothing if there is
    something already."""
    if engine.resolve().revision:
        assert not engine.index_health().pending, "it was loaded in part; make the database anew"
        return {}
    say(f"taking in {wanted:,} passages")
    told: dict[str, object] = {}
    told["ingest_s"] = _seconds(lambda: engine.take_in(Request(documents(wanted)), wait=False))
    say("embedding them")
    told["embed_s"] = _seconds(engine.index)
    told["load_peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    say("building the index of the vectors")
    told["index_s"] = _seconds(lambda: engine.store.tend(engine.scope))
    with connect(url, autocommit=True) as db:
        say("vacuuming")
        db.execute("VACUUM ANALYZE")
        told["megabytes"] = dict(db.execute(_SIZES).fetchall())
    say(json.dumps(told))
    return told


def _seconds(call: Callable[[], object]) -> int:
    start = time.perf_counter()
    call()
    return round(time.perf_counter() - start)


_SIZES = """
SELECT regexp_replace(relname, '_[0-9]$', ''), round(pg_total_relation_size(oid) / 1e6)::int
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'sourcebook'::regnamespace
  AND pg_total_relation_size(oid) > 10e6
UNION ALL SELECT relname, round(pg_relation_size(oid) / 1e6)::int
FROM pg_class WHERE relname LIKE 'embedding\\_near%'
"""


def built(db: psycopg.Connection[Any]) -> Plain:
    """The plain way, with its table."""
    space = db.execute("SELECT number FROM space").fetchone()
    there = db.execute("SELECT to_regclass('knowledge_chunks')").fetchone()
    assert space is not None
    plain = Plain(db, TENANT, space[0], DIMENSIONS)
    if there is None or there[0] is None:
        say("building the plain table")
        plain.build()
    db.commit()
    return plain


_HOT = """
SELECT pg_prewarm(oid) FROM pg_class WHERE relkind IN ('r', 'i')
  AND relname ~ '^embedding_|^posting_|^knowledge_chunks'
"""


def bring_in(url: str) -> None:
    """Into memory what a server that has run for a while has there, for both ways."""
    with connect(url, autocommit=True) as db:
        db.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
        db.execute(_HOT)


class Truth:
    """Every passage's score for each question, and the nearest by a full scan."""

    def __init__(self, url: str, asked: np.ndarray) -> None:
        with connect(url) as db:
            (size,) = db.execute("SELECT max(number) FROM passage").fetchone() or (0,)
            self.scores = np.full((len(asked), size + 1), -2.0, np.float32)
            self.names = np.zeros(size + 1, np.int64)
            with db.cursor(name="vectors", binary=True) as cursor:
                cursor.execute(
                    "SELECT p.number, p.node_id, e.vector FROM passage p JOIN embedding e USING"
                    " (tenant, repository, text_hash) WHERE p.tenant = %s",
                    (TENANT,),
                )
                while rows := cursor.fetchmany(20_000):
                    numbers = [number for number, _, _ in rows]
                    self.names[numbers] = [int(name[1:]) for _, name, _ in rows]
                    data = b"".join(memoryview(vector)[4:] for _, _, vector in rows)
                    vectors = np.frombuffer(data, ">f4").reshape(len(rows), -1)
                    self.scores[:, numbers] = asked @ vectors.astype(np.float32).T

    def nearest(self, question: int, k: int, kept: tuple[str, str] | None) -> np.ndarray:
        scores = self.scores[question]
        numbers = np.arange(len(scores))
        if kept is not None:
            numbers = numbers[self.names % FACETS[kept[0]] == int(kept[1])]
        numbers = numbers[self.names[numbers] > 0]
        some = min(4 * k, len(numbers) - 1)
        best = numbers[np.argpartition(-scores[numbers], some)[: some + 1]]
        return best[np.lexsort((best, -scores[best]))][:k]


class ExactDense:
    """The store with the exact nearest, so that whole answers can be compared."""

    def __init__(self, store: Any, truth: Truth, by_vector: dict[bytes, int]) -> None:
        self._store, self._truth, self._by_vector = store, truth, by_vector

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def dense_search(self, scope: Scope, space: Any, vector: Any, k: int, within: Within) -> Any:
        question = self._by_vector[vector.tobytes()]
        kept = (within.filters[0].key, within.filters[0].values[0]) if within.filters else None
        numbers = self._truth.nearest(question, k, kept)
        scores = self._truth.scores[question]
        names = [f"p{name:06d}" for name in self._truth.names[numbers]]
        return Neighbours(
            [
                Match(int(number), name, name, float(scores[number]))
                for number, name in zip(numbers, names, strict=True)
            ]
        )


Calls = Mapping[str, tuple[Callable[[str], object], int]]
"""Each takes so many questions at most."""


def in_turn(calls: Calls, asked: Sequence[str]) -> dict[str, object]:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for at, text in enumerate(asked):
        for name, (call, most) in calls.items():
            if at < most:
                start = time.perf_counter()
                call(text)
                times[name].append((time.perf_counter() - start) * 1e3)
    told: dict[str, object] = {
        name: {f"p{p}": round(float(np.percentile(took, p)), 1) for p in (50, 95)}
        for name, took in times.items()
    }
    ours = times["hybrid"]
    for name, took in times.items():
        if name != "hybrid":
            ratio = np.median(took) / np.median(ours[: len(took)])
            told[f"times as fast as {name}"] = round(float(ratio), 2)
    return told


def filters(kept: tuple[str, str] | None) -> tuple[Filter, ...]:
    return (Filter(kept[0], (kept[1],)),) if kept else ()


def overlap(found: Sequence[Sequence[int]], true: Sequence[Sequence[int]]) -> float:
    shared = [len(set(a) & set(b)) / max(len(b), 1) for a, b in zip(found, true, strict=True)]
    return round(float(np.mean(shared)), 4)


def measure(
    engine: Engine, plain: Plain, truth: Truth, questions: Sequence[Sequence[str]]
) -> dict[str, object]:
    """Every filter is asked for while the vectors are in the database alone, and again when images
    of them have been brought into memory, of other questions each time."""
    others, some, asked = questions
    nearest = engine.store._searcher._nearest  # type: ignore[attr-defined]
    alone, in_memory = HeldSets(0), HeldSets()
    nearest.held = in_memory
    told: dict[str, Any] = {"into_memory_s": _bring_in_images(engine, nearest, others)}
    kinds = {"first questions": (alone, some), "in memory": (in_memory, asked)}
    keeps: dict[str, dict[str, object]] = {}
    for where, (sets, timed) in kinds.items():
        nearest.held = sets
        for label, kept in KEPT.items():
            say(f"searching, {label}, {where}")
            calls = _calls(engine, plain, kept, len(asked))
            in_turn(calls, others)
            keeps[f"{label}, {where}"] = in_turn(calls, timed)
    # Last, since what was asked before is answered from what is kept of it.
    for where, (sets, _) in kinds.items():
        nearest.held = sets
        for label, kept in KEPT.items():
            say(f"comparing, {label}, {where}")
            keeps[f"{label}, {where}"] |= _recalls(engine, truth, asked, kept)
    for label, kept in KEPT.items():
        true = [truth.nearest(n, 10, kept).tolist() for n in range(len(asked))]
        written = _calls(engine, plain, kept, len(asked))["plain, as written"][0]
        # Its vector part alone, for most questions; so this is that part's recall.
        found: Any = [written(text) for text in asked]
        for where in kinds:
            keeps[f"{label}, {where}"]["recall@10 plain, as written"] = overlap(found, true)
    return told | {"filter keeps": keeps}


def _bring_in_images(engine: Engine, nearest: Any, asked: Sequence[str]) -> float:
    """By asking until that begins; how long it takes."""
    for text in asked:  # in different seconds
        hybrid(engine)(text)
        if nearest.held.filling is not None:
            break
        time.sleep(1)
    start = time.perf_counter()
    assert nearest.held.filling is not None
    nearest.held.filling.result()
    assert nearest.held._held, "nothing was brought into memory"
    return round(time.perf_counter() - start, 1)


def _calls(engine: Engine, plain: Plain, kept: tuple[str, str] | None, every: int) -> Calls:
    embed = engine.embedder.embed_query

    def all_words(text: str) -> object:
        return plain.search("as written", text, embed(text).vector, kept)

    def one_word(text: str) -> object:
        return plain.search("one word is enough", text, embed(text).vector, kept)

    few = SLOW if kept in (None, KEPT["100%"]) else every
    return {
        "hybrid": (hybrid(engine, filters(kept)), every),
        "plain, one word is enough": (one_word, few),
        "plain, as written": (all_words, every),
    }


def _recalls(
    engine: Engine, truth: Truth, asked: Sequence[str], kept: tuple[str, str] | None
) -> dict[str, object]:
    """Of the nearest, and of whole answers, against those of a full scan."""
    store, space, ours = engine.store, engine.space, hybrid(engine, filters(kept))
    assert space is not None
    vectors = [engine.embedder.embed_query(text).vector for text in asked]
    within = Within(1, 2, filters(kept))
    found = [
        [
            match.passage
            for match in store.dense_search(engine.scope, space, vector, 100, within).matches
        ]
        for vector in vectors
    ]
    true = [truth.nearest(n, 10, kept).tolist() for n in range(len(asked))]
    answers = [_names(ours(text)) for text in asked]
    exact = ExactDense(store, truth, {v.tobytes(): n for n, v in enumerate(vectors)})
    engine.store = exact  # type: ignore[assignment]
    right = [_names(ours(text)) for text in asked]
    engine.store = store
    return {
        "recall@10 dense": overlap([each[:10] for each in found], true),
        "recall@10 hybrid": overlap(answers, right),
    }


def _names(hits: Any) -> list[int]:
    return [int(hit.node.id[1:]) for hit in hits]


def plans(db: psycopg.Connection[Any], plain: Plain, text: str, vector: np.ndarray) -> str:
    """Of the statements that do the work."""
    found = db.execute(
        "SELECT r.number, s.number, s.dimensions FROM repository r JOIN space s"
        " ON s.tenant = r.tenant AND s.repository = r.number"
    ).fetchone()
    assert found is not None
    repository, space, dimensions = found
    query = "[" + ",".join(map(repr, vector.tolist())) + "]"
    numbers = list(range(7, 1_000_000, 100))
    terms = [row[0] for row in db.execute("SELECT id FROM term LIMIT 8").fetchall()]
    values = {
        "tenant": TENANT, "repository": repository, "space": space, "query": query, "most": 145,
        "numbers": numbers, "part": 3, "terms": terms, "afters": [0] * len(terms),
    }  # fmt: skip
    nearest = STATEMENTS["nearest"].replace("<space>", str(space))
    statements = {
        "nearest by the index": nearest.replace("<dimensions>", str(dimensions)),
        "nearest of a list": STATEMENTS["nearest_of"],
        "postings": STATEMENTS["blocks"],
    }
    said = []
    db.execute(STATEMENTS["search_deeply"], {"deep": "400", "most": "80000"})
    for name, statement in statements.items():
        said += [f"--- {name}", *_explained(db, statement, values)]
    for reading in READINGS:
        values = plain.values(text, vector, "3")
        said += [f"--- the plain way, {reading}"]
        said += _explained(db, plain.statement(reading, "tenth"), values)
    return "\n".join(said)


def _explained(db: psycopg.Connection[Any], statement: str, values: dict[str, Any]) -> list[str]:
    rows = db.execute(f"EXPLAIN (ANALYZE, BUFFERS) {statement}", values).fetchall()
    return [f"{row[0][:150]}" for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--url")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    embedder = Static()
    count = given.questions
    some = [prepare(text).normalized for text in questions()[-3 * count :]]
    # How far the index is searched was chosen on `others`.
    more, others, asked = some[:count], some[count : 2 * count], some[2 * count :]
    result: dict[str, object] = {"passages": given.passages}
    with server(given.url) as url:
        cached = CachedVectors(embedder, some)
        engine = engine_on(url, cached)
        result |= fill(url, engine, given.passages)
        say("scanning all vectors for the exact answers")
        vectors = [cached.embed_query(text).vector for text in asked]
        truth = Truth(url, np.array(vectors))
        with connect(url) as db:
            plain = built(db)
            bring_in(url)
            start = time.perf_counter()
            hybrid(engine)(others[0])
            result["first_search_s"] = round(time.perf_counter() - start, 2)
            result |= measure(engine, plain, truth, (others, more, asked))
            result["process_peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            answered = plain.answered(asked)
            result["share of questions whose words are all in a passage"] = answered
            print(plans(db, plain, asked[0], vectors[0]))
        engine.close()
    print(json.dumps(result, indent=2))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
