"""Bounded in number and time, for any thread; and a key with all that an answer depends on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from sourcebook.engine import Engine
from sourcebook.model import SECTION, Factors, Filter, ReadContext, Scope
from sourcebook.querying.cache import Cache
from sourcebook.querying.gate import Gate
from sourcebook.retrieve import Answer, Caches, Options, search
from tests.town import FENCE, TOWN, quick, searches, write

# --- the cache itself ----------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_value_is_held_for_its_time_and_not_longer() -> None:
    clock = Clock()
    cache: Cache[str] = Cache(10, 60, clock)
    assert cache.get("a") is None
    cache.put("a", "one")
    clock.now = 59.9
    assert cache.get("a") == "one"
    clock.now = 60.0
    assert cache.get("a") is None
    assert len(cache) == 0


def test_reading_does_not_prolong_it_but_writing_does() -> None:
    clock = Clock()
    cache: Cache[str] = Cache(10, 60, clock)
    cache.put("a", "one")
    clock.now = 50
    assert cache.get("a") == "one"
    cache.put("a", "two")
    clock.now = 100
    assert cache.get("a") == "two"


def test_the_one_that_was_not_used_longest_goes_first() -> None:
    cache: Cache[int] = Cache(2, 60, Clock())
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert len(cache) == 2


def test_the_times_and_sizes_of_the_specification() -> None:
    caches, clock = Caches.make(), Clock()
    for cache, seconds in ((caches.questions, 3600), (caches.answers, 300)):
        cache._clock = clock
        clock.now = 0
        values: Cache[Any] = cache
        for number in range(3000):
            values.put(number, number)
        assert len(cache) <= 2048
        clock.now = seconds - 1
        assert values.get(2999) == 2999
        clock.now = seconds
        assert values.get(2999) is None


def test_threads() -> None:
    cache: Cache[int] = Cache(50, 60)
    wrong: list[object] = []

    def work(start: int) -> None:
        for number in range(start, start + 2000):
            cache.put(number % 100, number % 100)
            found = cache.get((number * 7) % 100)
            if found not in (None, (number * 7) % 100):
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(n * 13,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(cache) <= 50


# --- answers -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with quick(tmp_path_factory.mktemp("cache"), TOWN) as made:
        made.create_baseline("first")
        yield made


SPARSE = Options(mode="sparse")
"""Full-text search alone is calibrated for every embedder, so its answers are complete."""
OTHERS: dict[str, object] = {
    "k": 3,
    "mode": "hybrid",
    "fusion": "weighted",
    "rerank": "none",
    "filters": (Filter("source", ("files/pets.md",)),),
    "read_context": ReadContext("baseline", "first"),
    "per_document": 1,
    "resolution": SECTION,
    "min_relevance": 0.1,
    "gate": Gate(min_quality=0, min_words=0),
    "split": False,
    "split_by_model": True,
    "cache": False,
    "depth": 50,
    "rrf_k": 10,
    "weights": {"sparse": 0.5},
    "factors": Factors(binding=2.0),
}
"""Another value of each option. A new option needs one here, and a place in the key."""


def test_every_option_is_part_of_the_key(engine: Engine) -> None:
    assert set(OTHERS) == {each.name for each in fields(Options)}
    asked = replace(searches(engine), space=None)
    cache: Cache[Answer] = Cache(100, 300)
    search(asked, FENCE, SPARSE, None, cache)
    for name, other in OTHERS.items():
        options = replace(SPARSE, **{name: other})
        first, again = (search(asked, FENCE, options, None, cache) for _ in range(2))
        assert "cached" not in first.timings_ms, name
        assert ("cached" in again.timings_ms) == (not first.degraded), name
    assert len(cache) == len(OTHERS)  # one is degraded: there is nothing to compare vectors with


def test_filters_and_gates_inside_options_count_too(engine: Engine) -> None:
    asked = replace(searches(engine), space=None)
    cache: Cache[Answer] = Cache(100, 300)
    several = [
        replace(SPARSE, gate=Gate(min_quality=0, min_words=words, exclude_stubs=stubs))
        for words in (0, 1)
        for stubs in ((), ("index",))
    ] + [replace(SPARSE, filters=(Filter("source", (name,)),)) for name in ("a", "b")]
    for options in several:
        assert "cached" not in search(asked, FENCE, options, None, cache).timings_ms
    assert len(cache) == len(several)


def test_whose_data_it_is_is_part_of_the_key(engine: Engine) -> None:
    cache: Cache[Answer] = Cache(100, 300)
    asked = replace(searches(engine), space=None)
    ours = search(asked, FENCE, SPARSE, None, cache)
    assert ours.results
    for field in ("tenant", "organization", "repository"):
        scope = replace(Scope(), **{field: "another"})
        theirs = search(replace(asked, scope=scope), FENCE, SPARSE, None, cache)
        assert theirs.results == []
        assert theirs.status == "no_results"
    assert search(asked, FENCE, SPARSE, None, cache).results == ours.results


def test_the_space_and_the_embedder_are_part_of_the_key(engine: Engine) -> None:
    cache: Cache[Answer] = Cache(100, 300)
    asked = replace(searches(engine), space=None)
    search(asked, FENCE, SPARSE, None, cache)
    search(searches(engine), FENCE, SPARSE, None, cache)
    other = type("Other", (type(engine.embedder),), {"model": "other"})()
    search(replace(asked, embedder=other), FENCE, SPARSE, None, cache)
    assert len(cache) == 3


def test_the_words_of_the_question_are_part_of_the_key(engine: Engine) -> None:
    cache: Cache[Answer] = Cache(100, 300)
    asked = replace(searches(engine), space=None)
    for text in (FENCE, FENCE.upper(), FENCE + "?"):
        found = search(asked, text, SPARSE, None, cache)
        assert found.query.text == text
    assert len(cache) == 3


def test_a_kept_answer_is_the_fresh_one_but_for_its_timings(engine: Engine) -> None:
    fresh = engine.search(FENCE, mode="sparse", cache=False).to_dict()
    first = engine.search(FENCE, mode="sparse").to_dict()
    kept = engine.search(FENCE, mode="sparse").to_dict()
    assert set(kept["stats"].pop("timings_ms")) == {"cached", "total"}
    for each in (fresh, first):
        assert "cached" not in each["stats"].pop("timings_ms")
        assert each == kept


def test_nobody_can_change_what_is_kept(engine: Engine) -> None:
    expected = engine.search("dogs", mode="sparse").to_dict()["results"]
    assert expected
    engine.search("dogs", mode="sparse").results.clear()
    engine.search("dogs", mode="sparse").results.reverse()
    assert engine.search("dogs", mode="sparse").to_dict()["results"] == expected


def test_an_answer_that_lacks_something_is_not_kept(engine: Engine) -> None:
    """This embedder is not calibrated, so what it says is degraded."""
    for _ in range(2):
        answer = engine.search(FENCE)
        assert [each.part for each in answer.degraded] == ["late", "relevance"]
        assert "cached" not in answer.timings_ms


def test_questions_without_hits_are_kept(engine: Engine) -> None:
    for _ in range(2):
        answer = engine.search("zyzzyva", mode="sparse")
        assert answer.status == "no_results"
    assert "cached" in answer.timings_ms


def test_an_answer_after_an_ingest_is_new(tmp_path: Path) -> None:
    with quick(tmp_path, TOWN) as engine:
        engine.create_baseline("before")
        before = engine.search("gates", mode="sparse")
        assert before.status == "no_results"
        write(tmp_path / "files", {"gates.md": "Gates are painted green."})
        engine.ingest(tmp_path / "files")
        after = engine.search("gates", mode="sparse")
        assert "cached" not in after.timings_ms
        assert [hit.text for hit in after.results] == ["Gates are painted green."]
        then = engine.search("gates", mode="sparse", read_context=ReadContext("baseline", "before"))
        assert then.status == "no_results"
        assert then.read_context.revision == before.read_context.revision


def test_another_repository_of_the_same_store(tmp_path: Path) -> None:
    with quick(tmp_path, TOWN) as engine:
        assert engine.search("dogs", mode="sparse").results
        other = engine.in_repository("other")
        assert other.search("dogs", mode="sparse").results == []
        other.ingest(write(tmp_path / "others", {"dogs.md": "Dogs bark."}))
        assert [h.text for h in other.search("dogs", mode="sparse").results] == ["Dogs bark."]
        assert "cached" in engine.search("dogs", mode="sparse").timings_ms


def test_long_answers_are_not_kept(tmp_path: Path) -> None:
    many = {f"{n}.md": f"Gate number {n} is green." for n in range(120)}
    with quick(tmp_path, many) as engine:
        for _ in range(2):
            answer = engine.search("green gate", 120, mode="sparse")
            assert len(answer.results) == 120
            assert "cached" not in answer.timings_ms


def test_many_threads_get_the_same_answer(engine: Engine) -> None:
    expected = engine.search("street", mode="sparse", cache=False).to_dict()["results"]
    wrong: list[Any] = []

    def ask() -> None:
        for _ in range(10):
            found = engine.search("street", mode="sparse").to_dict()["results"]
            if found != expected:
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert expected
