"""Search on PostgreSQL against the embedded store: the same commits in both, the same answers."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psycopg
import pytest

from sourcebook.bootstrap import open_store
from sourcebook.errors import InvalidInput
from sourcebook.hashing import digest
from sourcebook.model import Filter, Node, Passage, Scope, Space, Tree
from sourcebook.ports import Within
from sourcebook.querying.prepare import prepare
from sourcebook.stores.labels import View
from sourcebook.stores.postgres import dense_held, dense_index, dense_search
from sourcebook.stores.postgres.dense_held import HeldSets
from sourcebook.stores.postgres.postings_codec import NARROW, WIDE
from sourcebook.stores.postgres.search_lanes import derive, load
from sourcebook.stores.postgres.store import PostgresStore
from sourcebook.stores.sqlite import SqliteStore
from sourcebook.stores.writer import repository_of
from tests.postgres import empty

SCOPE = Scope("a", "b", "c")
READERS = [SCOPE, *(Scope("a", "b", "c", frozenset(roles)) for roles in ((), ("x",), ("y", "z")))]
SPACE = Space("s", "test", "random", 16, "1")
WORDS = "oak elm ash fir pine moss fern reed ivy bark root leaf the of ERR-42 getName".split()
NAMES = [f"n{number}é\u0001"[: 2 + number % 3] + str(number) for number in range(20)]
"""In an order by code points that is not that of a language."""


@dataclass
class Pair:
    embedded: SqliteStore
    server: PostgresStore
    heads: int = 0

    @property
    def both(self) -> tuple[SqliteStore, PostgresStore]:
        return self.embedded, self.server


@pytest.fixture
def pair(tmp_path: Path, postgres_url: str) -> Iterator[Pair]:
    server = PostgresStore.open(postgres_url, busy_timeout=5)
    empty(postgres_url)
    made = Pair(SqliteStore.open(f"sqlite:///{tmp_path / 's.db'}"), server)
    yield made
    for store in made.both:
        store.close()


def words(rng: random.Random, most: int) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(1, most)))


def document(rng: random.Random, name: str) -> Tree:
    """One chunk, or sections with chunks in them; maybe with labels."""
    metadata = {"colour": rng.choice(["red", "blue"])}
    if rng.random() < 0.4:
        metadata["visibility"] = rng.choice(["x", "y"])
    facets = (("colour", metadata["colour"]),)
    title = words(rng, 3)
    nodes, passages, text = [], [], ""

    def add(node: str, parent: str | None, kind: str, resolution: int, body: str) -> None:
        nodes.append(Node(node, name, kind, digest(node, body), digest(body), parent, len(nodes),  # type: ignore[arg-type]
                          title, f"{name}.txt", 0, 0, metadata=metadata))  # fmt: skip
        around = words(rng, 4) if resolution == 2 else ""
        passages.append(Passage(node, name, resolution, body, "", title, "", around=around,
                                facets=facets))  # fmt: skip

    if rng.random() < 0.5:
        add(name, None, "document", 2, words(rng, 12))
    else:
        add(name, None, "document", 0, words(rng, 6))
        for section in range(rng.randrange(1, 3)):
            add(f"{name}/{section}", name, "section", 1, words(rng, 6))
            for chunk in range(rng.randrange(1, 3)):
                add(f"{name}/{section}/{chunk}", f"{name}/{section}", "chunk", 2, words(rng, 12))
    return Tree(name, f"{name}.txt", text, "r", tuple(nodes), (), tuple(passages))


def revise(pair: Pair, rng: random.Random) -> None:
    chosen = rng.sample(NAMES, rng.randrange(1, 8))
    trees = [document(rng, name) if rng.random() < 0.8 else None for name in chosen]
    for store in pair.both:
        with store.commit(SCOPE) as writer:
            for name, tree in zip(chosen, trees, strict=True):
                if tree is not None:
                    writer.put(tree)
                else:
                    writer.end(name)
    pair.heads = writer.revision


def embed(pair: Pair, share: float = 1.0) -> None:
    """The same vectors in both, of the first texts by their hash."""
    for store in pair.both:
        store.register_space(SCOPE, SPACE)
        texts = sorted(store.pending(SCOPE, SPACE), key=lambda text: text.text_hash)
        hashes = [text.text_hash for text in texts][: int(len(texts) * share)]
        vectors = [unit(int(text_hash[:8], 16)) for text_hash in hashes]
        if hashes:
            store.put_vectors(SCOPE, SPACE, hashes, np.array(vectors))


def unit(seed: int) -> np.ndarray:
    vector = np.random.default_rng(seed).normal(size=SPACE.dimensions)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def ask(pair: Pair, rng: random.Random) -> None:
    """One question of a reader at a revision, of both stores."""
    scope, revision = rng.choice(READERS), rng.randrange(pair.heads + 1)
    filters = (Filter("colour", tuple(rng.sample(["red", "blue"], rng.randrange(1, 3)))),)
    places = [n.id for n in pair.embedded.nodes(SCOPE, revision)]
    parents = frozenset(rng.sample(places, min(3, len(places)))) if rng.random() < 0.3 else None
    within = Within(revision, rng.choice([0, 1, 2, 2]), rng.choice([(), filters]), parents)
    phrase = f'"{rng.choice(WORDS[:6])} {rng.choice(WORDS[:6])}" ' if rng.random() < 0.4 else ""
    query, vector, k = (
        prepare(phrase + words(rng, 5)),
        unit(rng.randrange(99)),
        rng.choice([1, 4, 50]),
    )
    asked = rng.choice([within, Within(revision, within.resolution)])
    told = []
    for store in pair.both:
        sparse = store.sparse_search(scope, query, k, within)
        dense = store.dense_search(scope, SPACE, vector, k, within).matches
        found = sorted({match.passage for match in (*sparse, *dense)})
        said = store.evidence(scope, SPACE, vector, query, found, asked)
        told.append([
            [match._replace(passage=0) for match in sparse],
            [match._replace(passage=0) for match in dense],
            sorted(map(repr, zip(said.cosine, said.lexical, said.vectors.tolist(), strict=True))),
            store.coverage(scope, SPACE, within),
        ])  # fmt: skip
    assert told[0] == told[1]


@pytest.mark.parametrize("seed", range(3))
def test_every_reader_is_told_the_same_at_every_revision(pair: Pair, seed: int) -> None:
    rng = random.Random(seed)
    for step in range(6):
        revise(pair, rng)
        if step in (2, 4):
            embed(pair, 0.7)
    embed(pair)
    for _ in range(60):
        ask(pair, rng)


def test_what_is_held_in_memory_follows_commits_vectors_and_retention(pair: Pair) -> None:
    rng = random.Random(7)
    for step in range(6):
        revise(pair, rng)
        embed(pair, 0.5)
        for _ in range(8):
            ask(pair, rng)
        if step == 4:
            for store in pair.both:
                store.create_baseline(SCOPE, "kept", 2)
                store.retain(SCOPE, 4)
            revise(pair, rng)
            embed(pair)
            break
    for revision in (2, 4, 5, pair.heads):
        within = Within(revision)
        matches = [s.sparse_search(SCOPE, prepare("oak moss fern"), 99, within) for s in pair.both]
        assert [m.node_id for m in matches[0]] == [m.node_id for m in matches[1]]
        assert [m.score for m in matches[0]] == [m.score for m in matches[1]]


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many vectors were not there for each answer from memory. Three vectors and more are held
    from the second question on, and read at once."""
    monkeypatch.setattr(dense_held, "_LEAST", 3)
    monkeypatch.setattr(dense_held, "_OFTEN", 1)
    monkeypatch.setattr(dense_held, "_REST", 0)
    monkeypatch.setattr(dense_held, "_thread", SimpleNamespace(submit=at_once))
    told: list[int] = []
    nearest = HeldSets.nearest

    def watched(*given: Any) -> Any:
        found = nearest(*given)
        if found is not None:
            told.append(len(found.missing))
        return found

    monkeypatch.setattr(HeldSets, "nearest", watched)
    return told


@pytest.mark.parametrize("kind", ["all vectors", "what a filter leaves", "little is told apart"])
@pytest.mark.parametrize("seed", range(2))
def test_answers_from_memory_are_those_of_the_database(
    pair: Pair, missing: list[int], kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    if kind == "what a filter leaves":
        pair.server._searcher._nearest.held = HeldSets(40 * (SPACE.dimensions + 20))
    if kind == "little is told apart":
        monkeypatch.setattr(dense_search, "_LEFT", 2)
    for _ in range(4):
        revise(pair, rng)
        embed(pair, 0.8)
        for question in range(24):
            for _ in range(3):
                ask(pair, random.Random(f"{seed} {question}"))
    assert missing.count(0) > 20


@pytest.mark.usefixtures("missing")
@pytest.mark.parametrize("left", [2, 1000])
def test_where_a_vector_is_gone_the_next_ones_are_told(
    pair: Pair, postgres_url: str, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    """As on a server that a vector has not come to yet, whoever compares what images leave."""
    monkeypatch.setattr(dense_search, "_LEFT", left)
    for store in pair.both:
        with store.commit(SCOPE) as writer:
            for n in range(30):
                writer.put(document(random.Random(n), f"d{n}"))
    embed(pair)
    asked = (SCOPE, SPACE, unit(1))
    nearest = [pair.server.dense_search(*asked, 10, Within(1)).matches for _ in range(2)][1]
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(
            "DELETE FROM sourcebook.embedding e USING sourcebook.passage p"
            " WHERE p.number = ANY (%s) AND e.text_hash = p.text_hash",
            ([match.passage for match in nearest[:5]],),
        )
    assert pair.server.dense_search(*asked, 5, Within(1)).matches == nearest[5:]


def test_what_is_not_in_memory_yet_is_asked_of_the_database(pair: Pair, missing: list[int]) -> None:
    rng = random.Random(1)
    small = [n for n in range(30, 60) if len(document(random.Random(n), "").passages) == 1]
    for new in (range(30), small[:1], range(60, 90)):
        for store in pair.both:
            with store.commit(SCOPE) as writer:
                for n in new:
                    writer.put(document(random.Random(n), f"d{n}"))
        embed(pair)
        pair.heads += 1
        for _ in range(4):
            given = (SCOPE, SPACE, unit(rng.randrange(99)), 999, Within(pair.heads))
            found = [store.dense_search(*given).matches for store in pair.both]
            assert [m[1:] for m in found[0]] == [m[1:] for m in found[1]]
    assert set(missing) > {0}
    assert max(missing) < 3


def test_a_lane_is_the_same_however_it_was_made(pair: Pair) -> None:
    """Also as long: a later revision, from which it is made, has passages that it does not show."""
    rng = random.Random(4)
    for _ in range(5):
        revise(pair, rng)
    with pair.server._primary.reading(SCOPE.tenant) as session:
        view = View(repository_of(session, SCOPE) or 0)
        for revision in (1, 2, 3):
            loaded = load(session, view, 2, revision)
            later = load(session, view, 2, pair.heads)
            derived = derive(session, later, view, 2, pair.heads, revision)
            assert derived.seen.tolist() == loaded.seen.tolist()


def at_once(work: Any) -> Future[None]:
    done: Future[None] = Future()
    done.set_result(work())
    return done


@pytest.mark.parametrize("free", [1, 16])
def test_vectors_compared_in_halves(pair: Pair, monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """At once where there is a second connection; where there is none nobody waits for it."""
    monkeypatch.setattr(dense_search, "_HALVED", 2)
    monkeypatch.setattr(pair.server._primary, "_free", threading.BoundedSemaphore(free))
    at_once: list[str] = []

    def submit(work: Any, *given: Any) -> Any:
        at_once.append("asked")
        return threads.submit(work, *given)

    with ThreadPoolExecutor(1) as threads:
        monkeypatch.setattr(dense_search, "_threads", SimpleNamespace(submit=submit))
        rng = random.Random(5)
        for _ in range(3):
            revise(pair, rng)
        embed(pair)
        for k in (1, 3, 50):
            for seed in range(4):
                given = (SCOPE, SPACE, unit(seed), k, Within(pair.heads))
                found = [store.dense_search(*given).matches for store in pair.both]
                assert [m.node_id for m in found[0]] == [m.node_id for m in found[1]]
                assert [m.score for m in found[0]] == [m.score for m in found[1]]
    assert bool(at_once) == (free > 1)


def test_postings_of_dropped_passages_are_gone(pair: Pair, postgres_url: str) -> None:
    rng = random.Random(3)
    for _ in range(4):
        revise(pair, rng)
    pair.server.retain(SCOPE, pair.heads)
    with psycopg.connect(postgres_url) as db:
        passages = {row[0] for row in db.execute("SELECT number FROM sourcebook.passage")}
        blocks = db.execute("SELECT wide, data FROM sourcebook.posting").fetchall()
    held = set()
    for wide, data in blocks:
        records = np.frombuffer(data, WIDE if wide else NARROW)
        held |= set(records["number"].tolist())
    assert held == passages


def test_many_vectors_are_found_by_the_index(
    pair: Pair, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small numbers stand for large ones: from 50 vectors on the index is used."""
    for module, name in (
        (dense_index, "EXACT"),
        (dense_search, "_FEW"),
        (dense_search, "_BALANCE"),
    ):
        monkeypatch.setattr(module, name, 50 if name == "EXACT" else 0)
    rng = random.Random(5)
    trees = [
        Tree(f"d{n}", "s", "", "r",
             (Node(f"d{n}", f"d{n}", "document", f"v{n}", "h", None, 0, "", "s", 0, 0),), (),
             (Passage(f"d{n}", f"d{n}", 2, f"{words(rng, 9)} {n}",
                      facets=(("part", str(n % 4)),)),))
        for n in range(600)
    ]  # fmt: skip
    for store in pair.both:
        with store.commit(SCOPE) as writer:
            for tree in trees:
                writer.put(tree)
    embed(pair)
    pair.server.tend(SCOPE)
    pair.server.tend(SCOPE)
    with psycopg.connect(postgres_url) as db:
        names = db.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE '%near%'")
        assert len(names.fetchall()) == 1
    asked: list[int] = []
    by_index = dense_search._by_index
    monkeypatch.setattr(
        dense_search, "_by_index", lambda *given: asked.append(given[4]) or by_index(*given)
    )
    for filters in ((), (Filter("part", ("1",)),)):
        for seed in range(20):
            within = Within(1, 2, filters)
            first, second = (
                s.dense_search(SCOPE, SPACE, unit(seed), 10, within) for s in pair.both
            )
            assert [m[1:] for m in first.matches] == [m[1:] for m in second.matches]
            assert (first.approximate, second.approximate) == (False, True)
    assert len(asked) == 40


@pytest.fixture
def owner(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        yield db
        db.execute("ALTER TABLE sourcebook.passage DROP COLUMN IF EXISTS words")


def test_ranking_by_the_databases_own_words(
    pair: Pair, owner: psycopg.Connection[Any], postgres_url: str
) -> None:
    rng = random.Random(11)
    for _ in range(3):
        revise(pair, rng)
    with closing(PostgresStore.open(postgres_url)):
        before = owner.execute("SELECT 1 FROM pg_class WHERE relname = 'passage_words'").fetchall()
    PostgresStore.open(postgres_url, by_words=True).close()
    with closing(PostgresStore.open(postgres_url, by_words=True)) as server:
        _compare_words(pair.embedded, server)
    assert before == []


def _compare_words(plain: SqliteStore, server: PostgresStore) -> None:
    found = server.sparse_search(SCOPE, prepare("oak fern"), 50, Within(2))
    embedded = plain.sparse_search(SCOPE, prepare("oak fern"), 50, Within(2))
    assert found
    assert {m.node_id for m in found} < {m.node_id for m in embedded}
    assert [m.score for m in found] == sorted((m.score for m in found), reverse=True)
    nodes = {n.id: n for n in server.nodes(SCOPE, 2, limit=999)}
    within = Within(2, 2, (Filter("colour", ("red",)),))
    red = server.sparse_search(SCOPE, prepare("oak fern"), 50, within)
    assert {m.node_id for m in red} == {
        m.node_id for m in found if nodes[m.node_id].metadata["colour"] == "red"
    }


def test_only_postgresql_has_its_ranking() -> None:
    with pytest.raises(InvalidInput, match="only a store on PostgreSQL ranks by ts_rank_cd"):
        open_store("sqlite:///x.db", full_text="ts_rank_cd")
