"""What PostgreSQL search computes beside the database: blocks of postings, ranks, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.stores.bm25 import best as best_of_all
from sourcebook.stores.postgres import dense_held
from sourcebook.stores.postgres.dense_held import Held, HeldSets, Near, SetKey, Wanted
from sourcebook.stores.postgres.dense_images import Images
from sourcebook.stores.postgres.dense_numbers import VectorNumbers
from sourcebook.stores.postgres.dense_read import cosines
from sourcebook.stores.postgres.postings_codec import LENGTH, NARROW, WIDE, read
from sourcebook.stores.postgres.postings_write import Block, Tail, _cut, _groups
from sourcebook.stores.postgres.search_cache import Cache
from sourcebook.stores.postgres.search_rank import best, exact_first
from sourcebook.stores.postings import encode_counts


def test_a_passage_weighs_what_its_fields_weigh() -> None:
    narrow = np.array([(7, 1, 2, 3, 4), (9, 0, 0, 0, 10)], NARROW).tobytes()
    wide = np.array([(12, 0, 0, 300, 0)], WIDE).tobytes()
    postings = read([(False, narrow), (True, wide)])
    assert postings.numbers.tolist() == [7, 9, 12]
    # 2 x 1 + 1 x 2 + 1 x 3 + 0.3 x 4; only around: 0.3 x 10, negative; 300.
    assert postings.frequencies.tolist() == pytest.approx([8.2, -3.0, 300.0])


def test_new_passages_become_one_block_a_term() -> None:
    first = encode_counts([5], [], [5, 8], [])
    second = encode_counts([], [], [8] * 256, [5])
    lengths, five, eight = _groups(np.array([3, 4], np.int32), [first, second])
    assert np.frombuffer(lengths.data, LENGTH).tolist() == [
        (3, pytest.approx(2 + 1 + 1)),
        (4, pytest.approx(256.3)),
    ]
    assert (five.term, five.first, five.last, five.wide) == (5, 3, 4, False)
    assert np.frombuffer(five.data, NARROW).tolist() == [(3, 1, 0, 1, 0), (4, 0, 0, 0, 1)]
    assert (eight.term, eight.wide) == (8, True)
    assert np.frombuffer(eight.data, WIDE).tolist() == [(3, 0, 0, 1, 0), (4, 0, 0, 256, 0)]


def test_a_passage_without_words_has_a_length_alone() -> None:
    (lengths,) = _groups(np.array([3], np.int32), [encode_counts([], [], [], [])])
    assert np.frombuffer(lengths.data, LENGTH).tolist() == [(3, 0.0)]


@given(st.integers(1, 1000), st.integers(0, 2500), st.booleans(), st.booleans())
def test_a_group_is_cut_into_blocks_that_fit(
    size: int, filled: int, wide: bool, tail_wide: bool
) -> None:
    records = np.zeros(size, WIDE if wide else NARROW)
    records["number"] = np.arange(100, 100 + size)
    group = Block(1, 100, 99 + size, wide, records.tobytes())
    appended, *blocks = _cut(group, Tail(1, tail_wide, filled))
    assert b"".join(block.data for block in (appended, *blocks)) == group.data
    assert not appended.data or (wide == tail_wide and filled + len(appended.data) <= 1920)
    for block in blocks:
        numbers = np.frombuffer(block.data, records.dtype)["number"]
        assert 0 < len(block.data) <= 1920
        assert (block.first, block.last) == (numbers[0], numbers[-1])


scores = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5]), max_size=30).map(
    lambda values: np.array(values, np.float32)
)


@given(scores, st.integers(0, 12))
def test_the_best_hold_those_of_the_embedded_store(values: np.ndarray, k: int) -> None:
    found = best(values, k)
    expected = best_of_all(values, k) if k else []
    assert set(expected) <= set(found.tolist())
    lowest = min((values[row] for row in expected), default=0)
    assert all(values[row] >= lowest > 0 for row in found)


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([0.0, 1.0, 2.0])), max_size=20),
       st.integers(0, 8))  # fmt: skip
def test_what_holds_a_phrase_comes_by_phrases_then_score(
    held: list[tuple[int, float]], k: int
) -> None:
    exact = np.array([count for count, _ in held], np.int64)
    values = np.array([score for _, score in held], np.float32)
    found = set(exact_first(np.arange(len(held)), exact, values, k).tolist())
    order = sorted(range(len(held)), key=lambda row: (-exact[row], -values[row], row))[:k]
    assert set(order) <= found
    last = held[order[-1]] if order else (9, 9.0)
    assert all(held[row] >= last for row in found)


def test_what_was_used_longest_ago_goes_first() -> None:
    """Each takes 500 bytes beside its size."""
    cache: Cache[str, bytes] = Cache(1010, len)
    for name in "ab":
        cache.put(name, b"1234")
    assert cache.get("a") == b"1234"
    cache.put("c", b"1234")
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (b"1234", None, b"1234")
    cache.put("a", b"1234567")
    assert (cache.get("c"), cache.get("a")) == (None, b"1234567")


def test_passages_that_share_a_vector() -> None:
    numbers = VectorNumbers(np.array([-1, 50, 40, 50, -1, 60]), 3, 2)
    passages, places = numbers.passages(np.array([50, 41, 40]))
    assert passages.tolist() == [1, 3, 2]
    assert places.tolist() == [0, 0, 2]


def test_a_row_of_zeros_has_no_cosine() -> None:
    vectors = np.array([[1, 0], [0, 0], [0.6, 0.8]], np.float32)
    found = cosines(np.array([0, 1], np.float32), vectors)
    assert found[0] == 0
    assert np.isnan(found[1])
    assert found[2] == float(np.float32(0.8))


class Database:
    """Vectors by their numbers, and what was read of them."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = vectors
        self.all = np.arange(len(vectors))
        self.read: list[list[int]] = []
        self.fails = False
        self.then: Callable[[], None] = lambda: None

    @contextmanager
    def another(self) -> Iterator[Database]:
        if self.fails:
            raise psycopg.OperationalError("gone")
        yield self

    def of(self, session: Database, wanted: np.ndarray) -> np.ndarray:
        self.read.append(wanted.tolist())
        self.then()
        return self.vectors[wanted]


class Clock:
    """A second passes at each look."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.step = 1

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(dense_held, "time", found)
    return found


def units(count: int) -> np.ndarray:
    vectors = np.random.default_rng(1).normal(size=(count, 8))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def ask(
    sets: HeldSets, database: Database, wanted: np.ndarray, k: int = 3, key: str = "red"
) -> Near | None:
    """The vectors are those of passages of the same numbers. Waits for what is being read."""
    query = database.vectors[0]
    part = SetKey("place", None if key == "all" else key)
    asked = Wanted(part, lambda: wanted, len(wanted), len(query), database.all)
    found = sets.nearest(database.another, asked, database.of, query, k, wanted)  # type: ignore[arg-type]
    if sets.filling is not None:
        sets.filling.result()
    return found


def often(sets: HeldSets, database: Database, wanted: np.ndarray, key: str = "red") -> None:
    for _ in range(8):
        ask(sets, database, wanted, key=key)


def exact(database: Database, wanted: np.ndarray) -> set[int]:
    """The three nearest."""
    scores = database.vectors[wanted].astype(np.float64) @ database.vectors[0]
    return set(wanted[np.argsort(-scores)][:3].tolist())


def near(found: Near, least: int = 3) -> set[int]:
    """What is left to compare, which is not much more."""
    assert least <= len(found.passages) <= 10 * least
    return set(found.passages.tolist())


def test_vectors_are_read_when_they_are_asked_for_often(clock: Clock) -> None:
    database, sets = Database(units(3000)), HeldSets()
    wanted = np.arange(0, 3000, 2)
    for _ in range(7):
        assert ask(sets, database, wanted) is None
    assert database.read == []
    clock.now += 700  # Those were long ago.
    for _ in range(7):
        assert ask(sets, database, wanted) is None
    assert database.read == []
    assert ask(sets, database, wanted) is None
    assert database.read == [wanted.tolist()]
    for some in (wanted, wanted[100:1200]):
        found = ask(sets, database, some)
        assert found is not None
        assert near(found) >= exact(database, some)
        assert len(found.missing) == 0
    assert len(database.read) == 1


def test_the_parts_of_a_question_count_once(clock: Clock) -> None:
    database, sets = Database(units(2000)), HeldSets()
    clock.step = 0
    for second in range(7):
        clock.now += second
        for _ in range(9):
            assert ask(sets, database, np.arange(2000)) is None
    assert database.read == []


def test_what_is_in_use_is_not_thrown_out_for_another_set(clock: Clock) -> None:
    database, sets = Database(units(4000)), HeldSets(3000 * (8 + 20))
    often(sets, database, np.arange(2000), key="red")
    assert ask(sets, database, np.arange(2000), key="red") is not None
    clock.now += 100
    often(sets, database, np.arange(2000, 4000), key="blue")
    assert ask(sets, database, np.arange(2000), key="red") is not None
    assert len(database.read) == 1
    clock.now += 700
    often(sets, database, np.arange(2000, 4000), key="blue")
    assert ask(sets, database, np.arange(2000, 4000), key="blue") is not None
    assert ask(sets, database, np.arange(2000), key="red") is None


def test_what_is_new_is_told_and_only_that_is_read(clock: Clock) -> None:
    database, sets = Database(units(3000)), HeldSets()
    often(sets, database, np.arange(500, 2000))
    more = np.arange(250, 2250)
    found = ask(sets, database, more)
    assert found is not None
    assert found.missing.tolist() == [*range(250, 500), *range(2000, 2250)]
    assert near(found) >= exact(database, np.arange(500, 2000))
    assert ask(sets, database, np.arange(3000)) is None  # Too many are missing.
    clock.now += 1000
    often(sets, database, more)
    assert database.read[1:] == [found.missing.tolist()]
    for some in (more, np.arange(500, 2000)):
        found = ask(sets, database, some)
        assert found is not None
        assert len(found.missing) == 0
        assert near(found) >= exact(database, some)


@pytest.mark.parametrize(("most", "kept"), [(1 << 20, 2900), (1900 * (8 + 20), 1600)])
def test_what_other_revisions_show_is_kept_if_it_fits(clock: Clock, most: int, kept: int) -> None:
    database, sets = Database(units(3000)), HeldSets(most)
    often(sets, database, np.arange(1500))
    clock.now += 1000
    often(sets, database, np.arange(1300, 2900))
    found = ask(sets, database, np.arange(2900)) if kept == 2900 else None
    assert (found is not None) == (kept == 2900)
    assert sum(len(held.numbers) for held in sets._held.values()) == kept


def test_what_no_revision_shows_any_more_goes(clock: Clock) -> None:
    database, sets = Database(units(4000)), HeldSets()
    often(sets, database, np.arange(2500))
    clock.now += 1000
    often(sets, database, np.arange(2000, 3100))
    (held,) = sets._held.values()
    assert held.numbers.tolist() == list(range(2000, 3100))


def test_all_that_are_as_near_as_the_last_are_told(clock: Clock) -> None:
    vectors = units(4000)
    vectors[1000:1100] = vectors[0]
    database, sets = Database(vectors), HeldSets()
    often(sets, database, np.arange(4000))
    found = ask(sets, database, np.arange(4000), k=5)
    assert found is not None
    assert near(found, 101) >= {0, *range(1000, 1100)}


def test_reading_takes_a_tenth_of_the_time_at_most(clock: Clock) -> None:
    database, sets = Database(units(2000)), HeldSets()
    wanted = np.arange(2000)
    often(sets, database, wanted)
    assert len(database.read) == 1
    started = clock.now
    clock.step = 0
    for second in range(9):
        clock.now = started + second
        ask(sets, database, wanted, key="blue")
    assert len(database.read) == 1
    clock.now = started + 10
    ask(sets, database, wanted, key="blue")
    assert len(database.read) == 2


def test_what_does_not_fit_is_not_held(clock: Clock) -> None:
    database, sets = Database(units(2000)), HeldSets(1500 * (8 + 20))
    often(sets, database, np.arange(2000))
    assert database.read == []
    often(sets, database, np.arange(1200))
    assert ask(sets, database, np.arange(1200)) is not None
    clock.now += 1000
    often(sets, database, np.arange(1000), key="blue")
    assert ask(sets, database, np.arange(1000), key="blue") is not None
    assert ask(sets, database, np.arange(1200)) is None


def test_a_database_that_is_gone_is_asked_later(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    database, sets = Database(units(2000)), HeldSets()
    database.fails = True
    often(sets, database, np.arange(2000))
    assert "could not be brought into memory: gone" in caplog.text
    database.fails = False
    ask(sets, database, np.arange(2000))
    assert database.read == []  # Not at once.
    clock.now += 1000
    often(sets, database, np.arange(2000))
    assert ask(sets, database, np.arange(2000)) is not None


def test_a_vector_that_is_gone_is_not_held(clock: Clock) -> None:
    vectors = units(2000)
    vectors[7] = 0
    database, sets = Database(vectors), HeldSets()
    often(sets, database, np.arange(2000))
    found = ask(sets, database, np.arange(2000))
    assert found is not None
    assert found.missing.tolist() == [7]


def test_where_all_vectors_are_gone_nothing_is_held(clock: Clock) -> None:
    database, sets = Database(np.zeros((2000, 8), np.float32)), HeldSets()
    often(sets, database, np.arange(2000))
    assert len(database.read) == 1
    assert ask(sets, database, np.arange(2000)) is None


def test_reading_ends_when_the_store_is_closed(clock: Clock) -> None:
    database, sets = Database(units(30_000)), HeldSets()
    database.then = sets.close
    often(sets, database, np.arange(30_000))
    assert [len(part) for part in database.read] == [10_000]
    assert ask(sets, database, np.arange(30_000)) is None
    assert len(database.read) == 1


@given(st.lists(st.integers(-1, 40), max_size=30), st.lists(st.integers(-1, 40), max_size=30))
def test_where_vectors_are_is_looked_up_for_what_is_new(first: list[int], then: list[int]) -> None:
    for again in (None, "red"):
        held = Held(np.arange(0, 40, 2), Images.blank(np.zeros(2, np.float32), 20))
        for of in (np.array(some, np.int64) for some in (first, then, first + then)):
            asked = Wanted(SetKey("place", again), np.empty, 20, 2, of)
            found = held.places(asked, np.arange(len(of)))
            expected = [n // 2 if n % 2 == 0 and n < 40 else -1 for n in of.tolist()]
            assert found.tolist() == expected
            assert held.size == 20 * (2 + 20) + 4 * (len(of) if again is None else 0)


def test_all_vectors_take_the_place_of_those_that_filters_left(clock: Clock) -> None:
    room = 4200 * (8 + 20) + 4 * 4000
    database, sets = Database(units(4000)), HeldSets(room)
    often(sets, database, np.arange(2000), key="red")
    assert ask(sets, database, np.arange(2000), key="red") is not None
    clock.now += 100
    often(sets, database, np.arange(4000), key="all")
    assert ask(sets, database, np.arange(4000), key="all") is not None
    assert [key.again for key in sets._held] == [None]


def test_what_is_held_is_used_also_where_there_is_no_room_for_more(clock: Clock) -> None:
    room = 2200 * (8 + 20) + 4 * 4000
    database, sets = Database(units(4000)), HeldSets(room)
    often(sets, database, np.arange(2000), key="all")
    clock.now += 100
    often(sets, database, np.arange(2500), key="all")
    found = ask(sets, database, np.arange(2500), key="all")
    assert found is not None
    assert found.missing.tolist() == list(range(2000, 2500))
    assert len(database.read) == 1


def test_what_was_not_used_for_longest_goes(clock: Clock) -> None:
    database, sets = Database(units(4000)), HeldSets(3500 * (8 + 20))
    for key in ("red", "blue", "green"):
        often(sets, database, np.arange(1000), key=key)
        clock.now += 100
    assert ask(sets, database, np.arange(1000), key="red") is not None
    assert ask(sets, database, np.arange(999), key="red") is None  # Few; touches nothing.
    clock.now += 590  # Only that one is in use.
    often(sets, database, np.arange(1000), key="white")
    assert {str(key.again) for key in sets._held} >= {"red", "white"}
    assert "blue" not in {str(key.again) for key in sets._held}
