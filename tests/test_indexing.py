"""Missing vectors are filled whatever a model does: complete, or with every failure listed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sourcebook.errors import InvalidInput, ModelUnavailable, TextRefused
from sourcebook.hashing import digest
from sourcebook.indexing import Indexer, Pace, fill
from sourcebook.model import Scope, Space
from sourcebook.ports import Backoff, EmbeddedQuery, Usage, Vectors
from sourcebook.stores.sqlite import SqliteStore
from tests.stores.conformance import SCOPE, SPACE, put, tree

QUICK = Pace(
    batch=8,
    lease_s=5,
    backoff=Backoff(first_s=0.001, factor=2, attempts=3),
    first_pause_s=0.001,
    longest_pause_s=0.002,
)


def vector_of(text: str) -> Vectors:
    """Different texts have different ones."""
    seed = int(digest(text)[:8], 16)
    vector = np.random.default_rng(seed).normal(size=SPACE.dimensions)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


class Model:
    """Knows its vectors by heart; `spoil` may raise, or change what it gives."""

    provider, model, dimensions, max_tokens, late = "local", "tiny", SPACE.dimensions, 100, None

    def __init__(self, spoil: Callable[[Sequence[str], Vectors], Vectors] | None = None) -> None:
        self.spoil = spoil or (lambda texts, vectors: vectors)
        self.calls: list[list[str]] = []
        self.usage = Usage()

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        made = self.spoil(texts, np.array([vector_of(text) for text in texts]))
        old, tokens = self.usage, sum(self.count(texts))
        self.usage = Usage(old.requests + 1, old.texts, old.tokens + tokens, old.cost + 0.5)
        return made

    def embed_late(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        raise NotImplementedError

    def embed_query(self, text: str) -> EmbeddedQuery:
        return EmbeddedQuery(vector_of(text))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "s.db")
    yield opened
    opened.close()


def texts_in(store: SqliteStore, number: int, scope: Scope = SCOPE) -> list[str]:
    """So many different texts, of the same length."""
    put(store, tree("a", [f"text {n:03d}" for n in range(number)]), scope=scope)
    store.register_space(scope, SPACE)
    return [each.text for each in store.pending(scope, SPACE)]


def stored(store: SqliteStore) -> dict[str, bytes]:
    """Every vector by its text."""
    rows = store.reader().execute(
        "SELECT DISTINCT p.body, v.data FROM vector v JOIN passage p ON p.text_hash = v.text_hash"
    )
    return dict(rows.fetchall())


def check_all_is_right(store: SqliteStore, missing: set[str]) -> None:
    """Every text has its own vector, or is listed with an error; nothing is held any more."""
    made = stored(store)
    assert all(data == vector_of(text).tobytes() for text, data in made.items())
    waiting = {each.text for each in store.pending(SCOPE, SPACE)}
    assert waiting == missing
    assert waiting.isdisjoint(made)
    assert store.index_health(SCOPE, SPACE).claimed == 0


def listed(store: SqliteStore) -> dict[str, str]:
    return {each.text: each.error for each in store.failures(SCOPE, SPACE, 1000)}


# --- when all goes well --------------------------------------------------------------------------


def test_everything_is_embedded_once_and_paid_for(store: SqliteStore) -> None:
    texts = texts_in(store, 20)
    model, heard = Model(), []
    assert fill(store, model, SCOPE, SPACE, lambda *n: heard.append(n), QUICK) == 20
    assert [text for call in model.calls for text in call] == texts
    assert [len(call) for call in model.calls] == [8, 8, 4]
    assert heard == [(8, 20), (16, 20), (20, 20)]
    check_all_is_right(store, set())
    (paid,) = store.index_health(SCOPE, SPACE).spending
    assert (paid.texts, paid.tokens, paid.cost) == (20, 40, 1.5)
    assert fill(store, model, SCOPE, SPACE, pace=QUICK) == 0
    assert len(model.calls) == 3


def test_two_that_wait_share_the_work(store: SqliteStore) -> None:
    texts = texts_in(store, 200)

    def slowly(texts: Sequence[str], vectors: Vectors) -> Vectors:
        time.sleep(0.002)
        return vectors

    model = Model(slowly)
    both = [
        threading.Thread(target=fill, args=(store, model, SCOPE, SPACE, None, QUICK))
        for _ in range(2)
    ]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert sorted(text for call in model.calls for text in call) == sorted(texts)
    check_all_is_right(store, set())


def test_a_slow_model_keeps_its_lease(store: SqliteStore) -> None:
    """One call takes longer than the lease; nobody takes its texts over."""
    texts_in(store, 3)
    pace = Pace(lease_s=0.3)
    inside, go = threading.Event(), threading.Event()

    def held(texts: Sequence[str], vectors: Vectors) -> Vectors:
        inside.set()
        assert go.wait(5)
        return vectors

    slow = threading.Thread(target=Indexer(store, Model(held), SCOPE, SPACE, pace=pace).step)
    slow.start()
    assert inside.wait(5)
    time.sleep(0.7)
    assert store.claim(SCOPE, SPACE, "other", 9, 60) == []
    go.set()
    slow.join()
    check_all_is_right(store, set())


def test_what_a_dead_worker_held_is_taken_over(store: SqliteStore) -> None:
    texts_in(store, 3)
    assert len(store.claim(SCOPE, SPACE, "dead", 2, 0.4)) == 2
    start = time.monotonic()
    assert fill(store, Model(), SCOPE, SPACE, pace=QUICK) == 3
    assert time.monotonic() - start >= 0.3
    check_all_is_right(store, set())


def test_an_interrupted_batch_is_given_back(store: SqliteStore) -> None:
    texts_in(store, 3)

    def interrupted(texts: Sequence[str], vectors: Vectors) -> Vectors:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Indexer(store, Model(interrupted), SCOPE, SPACE, pace=QUICK).step()
    assert store.index_health(SCOPE, SPACE).claimed == 0
    assert listed(store) == {}
    assert fill(store, Model(), SCOPE, SPACE, pace=QUICK) == 3


# --- when one text is to blame -------------------------------------------------------------------


@pytest.mark.parametrize("error", [TextRefused("too rude"), InvalidInput("too long")])
def test_a_text_that_is_refused_stops_no_other(store: SqliteStore, error: Exception) -> None:
    texts = texts_in(store, 16)
    bad = {texts[3], texts[13]}

    def refuse(texts: Sequence[str], vectors: Vectors) -> Vectors:
        if bad & set(texts):
            raise error
        return vectors

    model = Model(refuse)
    assert fill(store, model, SCOPE, SPACE, pace=QUICK) == 14
    check_all_is_right(store, bad)
    assert listed(store) == dict.fromkeys(bad, str(error))
    assert store.index_health(SCOPE, SPACE).failed == 2
    assert sum([texts[3]] == call for call in model.calls) == 1
    assert len(model.calls) == 2 * 7
    assert fill(store, model, SCOPE, SPACE, pace=QUICK) == 0
    assert store.retry_failed(SCOPE, SPACE) == 2
    assert fill(store, Model(), SCOPE, SPACE, pace=QUICK) == 2
    check_all_is_right(store, set())


def test_a_text_that_makes_a_library_fail_is_found(store: SqliteStore) -> None:
    texts = texts_in(store, 8)

    def crash(texts: Sequence[str], vectors: Vectors) -> Vectors:
        if "text 005" in texts:
            raise RuntimeError("shape mismatch in node 17")
        return vectors

    assert fill(store, Model(crash), SCOPE, SPACE, pace=QUICK) == 7
    check_all_is_right(store, {"text 005"})
    assert listed(store) == {"text 005": "RuntimeError: shape mismatch in node 17"}
    assert len(texts) == 8


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf, 2.0])
def test_a_vector_that_is_none_is_a_failure(store: SqliteStore, bad: float) -> None:
    texts = texts_in(store, 8)

    def spoil(texts: Sequence[str], vectors: Vectors) -> Vectors:
        return np.array(
            [v * bad if t == "text 002" else v for t, v in zip(texts, vectors, strict=True)]
        )

    assert fill(store, Model(spoil), SCOPE, SPACE, pace=QUICK) == 7
    check_all_is_right(store, {"text 002"})
    assert "tiny gave a vector of length" in listed(store)["text 002"]
    assert len(texts) == 8


# --- when the model is to blame ------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(8, 3), (7, 4), (8, 5), (32,), (0, 4)])
def test_vectors_of_another_shape_are_never_stored(
    store: SqliteStore, shape: tuple[int, ...]
) -> None:
    texts = texts_in(store, 8)
    model = Model(lambda texts, vectors: np.full(shape, 0.5, np.float32))
    assert fill(store, model, SCOPE, SPACE, pace=QUICK) == 0
    check_all_is_right(store, set(texts))
    assert set(listed(store)) == set(texts)
    assert {each.dead for each in store.failures(SCOPE, SPACE, 99)} == {False}
    assert store.index_health(SCOPE, SPACE).retrying == 8


def test_a_model_that_does_not_answer_is_given_up_after_a_while(store: SqliteStore) -> None:
    """Where much is left, not every text is tried: those that were are listed, the rest waits."""
    texts = texts_in(store, 100)

    def down(texts: Sequence[str], vectors: Vectors) -> Vectors:
        raise ModelUnavailable("nobody listens at 11434")

    model = Model(down)
    assert fill(store, model, SCOPE, SPACE, pace=QUICK) == 0
    assert len(model.calls) == QUICK.patience
    check_all_is_right(store, set(texts))
    tried = {text for call in model.calls for text in call}
    assert set(listed(store)) == tried
    assert set(listed(store).values()) == {"nobody listens at 11434"}
    time.sleep(0.02)
    assert fill(store, Model(), SCOPE, SPACE, pace=QUICK) == 100
    check_all_is_right(store, set())


def test_no_text_is_given_up_because_a_service_is_down(store: SqliteStore) -> None:
    texts = texts_in(store, 20)

    def down(texts: Sequence[str], vectors: Vectors) -> Vectors:
        raise ModelUnavailable("nobody listens")

    for _ in range(4):
        fill(store, Model(down), SCOPE, SPACE, pace=QUICK)
    health = store.index_health(SCOPE, SPACE)
    assert (health.failed, health.pending) == (0, 20)
    assert fill(store, Model(), SCOPE, SPACE, pace=QUICK) == 20
    check_all_is_right(store, set())
    assert len(texts) == 20


def test_a_text_that_brings_the_service_down_is_found(store: SqliteStore) -> None:
    """What failed comes back in smaller pieces, so that the others get their vectors."""
    texts_in(store, 40)

    def poisoned(texts: Sequence[str], vectors: Vectors) -> Vectors:
        if "text 013" in texts:
            raise ModelUnavailable("502")
        return vectors

    model = Model(poisoned)
    fill(store, model, SCOPE, SPACE, pace=QUICK)
    check_all_is_right(store, {"text 013"})
    assert listed(store) == {"text 013": "502"}


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from("ok 500 refuse shape zero nan crash".split()), max_size=40))
def test_whatever_a_model_does_it_ends_complete_or_with_every_failure_listed(
    tmp_path_factory: pytest.TempPathFactory, script: list[str]
) -> None:
    store = SqliteStore.open(tmp_path_factory.mktemp("any") / "s.db")
    texts = texts_in(store, 20)
    replies = iter(script)

    def scripted(texts: Sequence[str], vectors: Vectors) -> Vectors:
        match next(replies, "ok"):
            case "500":
                raise ModelUnavailable("500")
            case "refuse":
                raise TextRefused("one of these")
            case "crash":
                raise RuntimeError("odd")
            case "shape":
                return vectors[:, :3]
            case "zero":
                vectors[0] = 0
            case "nan":
                vectors[-1, 2] = np.nan
        return vectors

    try:
        fill(store, Model(scripted), SCOPE, SPACE, pace=QUICK)
        health = store.index_health(SCOPE, SPACE)
        missing = {each.text for each in store.pending(SCOPE, SPACE)}
        check_all_is_right(store, missing)
        assert len(stored(store)) + len(missing) == len(texts)
        assert len(missing) == health.pending + health.failed
        if not health.pending:
            assert set(listed(store)) == missing
    finally:
        store.close()


def test_spaces_are_not_mixed(store: SqliteStore) -> None:
    """A model of other dimensions fills nothing of a space that is not its own."""
    texts = texts_in(store, 4)
    wide = Space("wide", "local", "wide", 8, "1")
    store.register_space(SCOPE, wide)
    fill(store, Model(), SCOPE, wide, pace=QUICK)
    assert store.count_pending(SCOPE, wide) == 4
    assert fill(store, Model(), SCOPE, SPACE, pace=QUICK) == 4
    check_all_is_right(store, set())
    assert len(texts) == 4


def test_pauses_grow_and_are_bounded() -> None:
    pace = Pace(first_pause_s=1, longest_pause_s=60)
    assert [pace.pause_s(n) for n in range(9)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert pace.pause_s(100_000) == 60
