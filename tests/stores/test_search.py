"""Search at any revision, however its lanes came about, against plain Python."""

from __future__ import annotations

import random
from collections import Counter
from math import log
from pathlib import Path

import numpy as np
import pytest

from sourcebook.analysis import analyze
from sourcebook.hashing import digest
from sourcebook.model import Filter, Match, Node, Passage, Scope, Space, Tree
from sourcebook.ports import Within
from sourcebook.querying.prepare import prepare
from sourcebook.stores import lanes
from sourcebook.stores.bm25 import K1, TITLE_WEIGHT, B
from sourcebook.stores.sqlite import SqliteStore

SCOPE, OTHER = Scope("a", "b", "c"), Scope("z", "b", "c")
SPACE = Space("s", "test", "random", 16, "1")
WORDS = "oak elm ash fir pine moss fern reed ivy bark root leaf the of ERR-42 getName".split()


def tree(name: str, title: str, body: str, colour: str) -> Tree:
    node = Node(name, name, "document", digest(name, body), digest(body, title, colour), None, 0,
                title, f"{name}.txt", 0, len(body), metadata={"colour": colour})  # fmt: skip
    facets = (("colour", colour),)
    passage = Passage(name, name, 2, body, title, title, facets=facets)
    return Tree(name, f"{name}.txt", body, "r", (node,), (), (passage,))


@pytest.fixture(autouse=True)
def read_in_many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "_STEP", 200)


class World:
    """A store with a history, and what every revision of it shows, in plain Python."""

    def __init__(self, path: Path, seed: int, revisions: int = 12) -> None:
        self.path = path
        self.rng = random.Random(seed)
        self.store = SqliteStore.open(f"sqlite:///{path}")
        self.live: dict[str, Passage] = {}
        self.seen: list[dict[str, Passage]] = [{}]
        for _ in range(revisions):
            self._revise()
        self.store.register_space(SCOPE, SPACE)
        self.vectors = {}
        for pending in self.store.pending(SCOPE, SPACE):
            vector = np.random.default_rng(int(pending.text_hash[:8], 16)).normal(size=16)
            self.vectors[pending.text] = (vector / np.linalg.norm(vector)).astype(np.float32)
            self.store.put_vectors(
                SCOPE, SPACE, [pending.text_hash], self.vectors[pending.text][None]
            )

    def _revise(self) -> None:
        rng = self.rng
        with self.store.commit(SCOPE) as writer:
            for name in {f"n{rng.randrange(25)}" for _ in range(rng.randrange(1, 9))}:
                if name in self.live and rng.random() < 0.3:
                    writer.end(name)
                    del self.live[name]
                else:
                    body = " ".join(rng.choices(WORDS, k=rng.randrange(1, 15)))
                    title = " ".join(rng.choices(WORDS, k=rng.randrange(0, 3)))
                    made = tree(name, title, body, rng.choice(["red", "blue"]))
                    writer.put(made)
                    self.live[name] = made.passages[0]
        if writer.revision == len(self.seen):
            self.seen.append(dict(self.live))

    def visible(self, revision: int, colour: str | None) -> dict[str, Passage]:
        shown = self.seen[revision]
        return {n: p for n, p in shown.items() if colour is None or p.facets[0][1] == colour}

    def dense(self, vector: np.ndarray, revision: int, colour: str | None) -> list[str]:
        scores = {
            n: float((self.vectors[p.embedded_text].astype(float) * vector.astype(float)).sum())
            for n, p in self.visible(revision, colour).items()
        }
        return sorted(scores, key=lambda n: (-scores[n], n))

    def sparse(self, text: str, revision: int, colour: str | None) -> dict[str, float]:
        """BM25 as the formula says, with the statistics of all that the revision shows."""
        counts, lengths = {}, {}
        for name, p in self.seen[revision].items():
            tally: Counter[str] = Counter()
            for field, weight in ((p.title, TITLE_WEIGHT), (p.body, 1.0)):
                found = analyze(field)
                for term in (*found.terms, *found.compounds):
                    tally[term] += weight  # type: ignore[assignment]
            counts[name], lengths[name] = tally, sum(tally.values())
        average = sum(lengths.values()) / max(len(lengths), 1)
        scores: dict[str, float] = {}
        for name in self.visible(revision, colour):
            norm = K1 * (1 - B + B * lengths[name] / average)
            total = 0.0
            for term in prepare(text).terms:
                holders = sum(term in c for c in counts.values())
                frequency = counts[name][term]
                if frequency:
                    idf = log(1 + (len(counts) - holders + 0.5) / (holders + 0.5))
                    total += idf * frequency * (K1 + 1) / (frequency + norm)
            if total:
                scores[name] = total
        return scores


def names(matches: list[Match]) -> list[str]:
    return [m.node_id for m in matches]


def filters(colour: str | None) -> tuple[Filter, ...]:
    return (Filter("colour", (colour,)),) if colour else ()


@pytest.mark.parametrize("seed", range(6))
def test_every_revision_in_any_order(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path / "w.db", seed)
    rng = random.Random(seed + 100)
    asked = [(r, c) for r in range(len(world.seen)) for c in (None, "red", "blue")]
    rng.shuffle(asked)
    for revision, colour in asked:
        within = Within(revision, 2, filters(colour))
        text = " ".join(rng.choices(WORDS, k=4))
        vector = np.random.default_rng(rng.randrange(2**31)).normal(size=16).astype(np.float32)
        found = world.store.dense_search(SCOPE, SPACE, vector, 100, within).matches
        assert names(found) == world.dense(vector, revision, colour)
        expected = world.sparse(text, revision, colour)
        matches = world.store.sparse_search(SCOPE, prepare(text), 100, within)
        assert {m.node_id: m.score for m in matches} == pytest.approx(expected, rel=1e-5)
        fresh = SqliteStore.open(f"sqlite:///{world.path}")
        assert fresh.sparse_search(SCOPE, prepare(text), 100, within) == matches
        assert fresh.dense_search(SCOPE, SPACE, vector, 100, within).matches == found
        fresh.close()


def test_the_file_is_mapped_and_held_only_while_an_index_is_read(tmp_path: Path) -> None:
    world = World(tmp_path / "w.db", 1)
    said: list[str] = []
    db = world.store.reader()
    db.set_trace_callback(said.append)
    world.store.dense_search(SCOPE, SPACE, np.ones(16, np.float32), 5, Within(12, 2))
    db.set_trace_callback(None)
    assert said.count("BEGIN") == said.count("COMMIT") == 2  # the lane, and its vectors
    assert not db.in_transaction
    assert db.execute("PRAGMA mmap_size").fetchone() == (0,)


@pytest.mark.parametrize("seed", range(3))
def test_phrases_and_identifiers_come_first(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path / "w.db", seed)
    last = len(world.seen) - 1
    for first in WORDS[:8]:
        for second in WORDS[:8]:
            text = f'"{first} {second}" moss'
            matches = world.store.sparse_search(SCOPE, prepare(text), 100, Within(last))
            holders = {
                n
                for n, p in world.seen[last].items()
                if any(f" {first} {second} " in f" {field} " for field in (p.title, p.body))
            }
            assert {m.node_id for m in matches if m.exact} == holders
            assert set(names(matches)[: len(holders)]) == holders
    matches = world.store.sparse_search(SCOPE, prepare("err-42"), 100, Within(last))
    holders = {n for n, p in world.seen[last].items() if "ERR-42" in f"{p.title} {p.body}"}
    assert set(names(matches)) == {m.node_id for m in matches if m.exact} == holders


def test_a_filter_returns_all_that_exists_up_to_k(tmp_path: Path) -> None:
    store = SqliteStore.open(f"sqlite:///{tmp_path}/w.db")
    with store.commit(SCOPE) as writer:
        for n in range(400):
            writer.put(tree(f"n{n:03}", "", f"oak number {n}", "red" if n % 40 == 0 else "blue"))
    within = Within(1, 2, filters("red"))
    found = store.sparse_search(SCOPE, prepare("oak"), 7, within)
    assert len(found) == 7
    assert len(store.sparse_search(SCOPE, prepare("oak"), 100, within)) == 10
    nothing = Within(1, 2, (Filter("colour", ("red",)), Filter("colour", ("blue",))))
    assert store.sparse_search(SCOPE, prepare("oak"), 100, nothing) == []


def test_another_tenant_sees_nothing(tmp_path: Path) -> None:
    world = World(tmp_path / "w.db", 1)
    last = len(world.seen) - 1
    assert world.store.sparse_search(OTHER, prepare("oak elm ash"), 10, Within(last)) == []
    vector = np.ones(16, np.float32)
    assert world.store.dense_search(OTHER, SPACE, vector, 10, Within(last)).matches == []


def test_vectors_that_come_later_are_seen(tmp_path: Path) -> None:
    store = SqliteStore.open(f"sqlite:///{tmp_path}/w.db")
    with store.commit(SCOPE) as writer:
        writer.put(tree("a", "", "oak", "red"))
        writer.put(tree("b", "", "elm", "red"))
    store.register_space(SCOPE, SPACE)
    vector = np.eye(16, dtype=np.float32)[0]
    for known in (0, 1, 2):
        assert len(store.dense_search(SCOPE, SPACE, vector, 5, Within(1)).matches) == known
        assert store.coverage(SCOPE, SPACE, Within(1)).vectors == known
        if todo := store.pending(SCOPE, SPACE):
            store.put_vectors(SCOPE, SPACE, [todo[0].text_hash], vector[None])


@pytest.mark.parametrize("text", ['"', "*", "(", "NEAR", "AND OR NOT", "a" * 10_000, '"" "x', "%_"])
def test_no_query_is_special(tmp_path: Path, text: str) -> None:
    world = World(tmp_path / "w.db", 2, revisions=3)
    world.store.sparse_search(SCOPE, prepare(text), 10, Within(len(world.seen) - 1))
