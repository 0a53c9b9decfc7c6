"""Questions through the whole pipeline on small real indexes: typed outcomes, bounds, parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sourcebook import Filter, Sourcebook
from sourcebook.engine import Engine
from sourcebook.errors import InvalidInput
from sourcebook.model import CHUNK, DOCUMENT, SECTION
from sourcebook.ports import Neighbours, Within
from sourcebook.querying.answer import Options
from sourcebook.querying.prepare import prepare
from sourcebook.querying.recall import recall
from tests.town import FENCE, OFF_TOPIC, TOWN, ids, opened, quick, searches, write

MANUAL = "# Harbour manual\n\n" + "\n\n".join(
    f"## {title}\n\n"
    + " ".join(
        f"{subject} {verb} when the {thing} of pier {n} is {state}."
        for n in range(1, 9)
        for verb in ("waits", "reports")
    )
    for title, subject, thing, state in (
        ("Pilots", "A pilot", "signal", "red"),
        ("Cranes", "The crane driver", "wind", "strong"),
        ("Ice", "The breaker", "water", "frozen"),
        ("Customs", "The officer", "cargo", "sealed"),
    )
)
"""Long enough to have sections and chunks of its own."""
OFTEN = {
    "long.md": "# Gates\n\n"
    + "\n\n".join(f"## Gate {n}\n\n" + "green gate " * 40 for n in range(60)),
    "other.md": "One more gate, painted long ago.",
    "third.md": "A gate of iron stands by the sea.",
}
"""One document that fills every list, and two more."""


@pytest.fixture(scope="module")
def town(model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sourcebook]:
    with opened(tmp_path_factory.mktemp("town"), {**TOWN, "manual.md": MANUAL}) as sb:
        yield sb


@pytest.fixture(scope="module")
def often(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with quick(tmp_path_factory.mktemp("often"), OFTEN) as engine:
        yield engine


def parts(answer: Any) -> set[str]:
    return {each.part for each in answer.degraded}


# --- outcomes ------------------------------------------------------------------------------------


def test_ok(town: Sourcebook) -> None:
    answer = town.search(FENCE)
    assert (answer.status, answer.warning) == ("ok", None)
    assert ids(answer)[0] == "fences.md"
    assert answer.results[0].relevance is not None
    assert [hit.rank for hit in answer.results] == list(range(1, len(answer.results) + 1))
    assert all(0 <= (hit.relevance or 0) <= 1 for hit in answer.results)


def test_low_confidence_names_the_best_relevance(town: Sourcebook) -> None:
    answer = town.search(OFF_TOPIC)
    best = max(hit.relevance or 0 for hit in answer.results)
    assert answer.status == "low_confidence"
    assert f"relevance of {best:.2f}" in (answer.warning or "")
    assert len(answer.results) == 10  # they are shown all the same


@pytest.mark.parametrize(
    ("query", "options", "words"),
    [
        ("???", {}, "no words to search for"),
        ("zyzzyva", {"mode": "sparse"}, "no passage matches"),
        (FENCE, {"filters": (Filter("source", ("nowhere",)),)}, "no passage matches"),
        (OFF_TOPIC, {"min_relevance": 1.0}, "were refused"),
    ],
)
def test_no_results_and_why(
    town: Sourcebook, query: str, options: dict[str, Any], words: str
) -> None:
    answer = town.search(query, **options)
    assert answer.status == "no_results"
    assert answer.results == []
    assert words in (answer.warning or "")


def test_an_empty_repository(town: Sourcebook) -> None:
    for mode in ("hybrid", "sparse"):
        answer = town.in_repository("empty").search(FENCE, mode=mode)
        assert answer.status == "no_results"
        assert "sourcebook ingest" in (answer.warning or "")
        assert answer.degraded == ()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"k": 0}, "k"),
        ({"k": 1001}, "k"),
        ({"mode": "best"}, "mode"),
        ({"fusion": "sum"}, "fusion"),
        ({"rerank": "best"}, "rerank"),
        ({"per_document": 0}, "per_document"),
        ({"min_relevance": -0.1}, "min_relevance"),
        ({"min_relevance": float("nan")}, "min_relevance"),
    ],
)
def test_options_that_cannot_be(town: Sourcebook, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        town.search(FENCE, **options)
    assert error.value.field == field


# --- least relevance -----------------------------------------------------------------------------


def test_min_relevance_keeps_what_is_relevant_enough(town: Sourcebook) -> None:
    everything = town.search(FENCE, 100)
    least = sorted(hit.relevance or 0 for hit in everything.results)[-3]
    answer = town.search(FENCE, 100, min_relevance=least)
    assert ids(answer) == ids(everything)[:3]
    refused = len(everything.results) - 3
    assert answer.to_dict()["stats"]["rejected"] == {"relevance-too-low": refused}
    assert all(r.relevance is not None and r.relevance < least for r in answer.rejected)


def test_what_was_not_judged_is_not_relevant_enough(often: Engine) -> None:
    """Only the first ten are judged; with a least relevance the others do not count."""
    options = {"mode": "sparse", "depth": 10, "cache": False}
    answer = often.search("green gate", 5, min_relevance=1.0, **options)
    assert (answer.status, answer.results) == ("no_results", [])
    assert {each.reason for each in answer.rejected} == {"relevance-too-low"}
    assert len(answer.rejected) == 10


def test_hits_that_nobody_judged_are_nothing_to_be_sure_of(often: Engine) -> None:
    """Two are judged and refused for their words; what another list found comes after them."""
    answer = often.agent("gate by the sea", 1, depth=2, min_quality=0, min_words=20)
    assert len(answer.rejected) == 2
    assert [hit.relevance for hit in answer.results] == [None]
    assert answer.status == "low_confidence"
    assert "no passage could be judged" in (answer.warning or "")


# --- few passages, many hits ---------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2])
def test_one_passage_or_two(town: Sourcebook, tmp_path: Path, count: int) -> None:
    few = town.in_repository(f"few-{count}")
    few.ingest(write(tmp_path, dict(list(TOWN.items())[:count])))
    for rerank in ("local", "late", "none"):
        for fusion in ("rrf", "weighted"):
            answer = few.search(FENCE, rerank=rerank, fusion=fusion)
            assert answer.status == "ok"
            assert ids(answer)[0] == "fences.md"
            assert len(answer.results) == count
            assert answer.degraded == ()
        assert few.search(OFF_TOPIC, rerank=rerank).status == "low_confidence"


def test_a_filter_that_leaves_one(town: Sourcebook) -> None:
    only = (Filter("element_id", (town.search("dogs", 1).results[0].node.element_id,)),)
    answer = town.search(FENCE, filters=only)
    assert ids(answer) == ["pets.md"]
    assert answer.status == "low_confidence"
    assert town.search("How many dogs may I keep?", filters=only).status == "ok"


def test_more_hits_than_there_are_passages(town: Sourcebook) -> None:
    answer = town.search(FENCE, 1000)
    assert len(answer.results) == answer.candidates
    assert len({hit.node.id for hit in answer.results}) == answer.candidates
    assert all(hit.relevance is not None for hit in answer.results)
    assert ids(town.search(FENCE, 3)) == ids(answer)[:3]


def test_all_that_is_returned_is_judged(often: Engine) -> None:
    answer = often.search("gate", 50, mode="sparse", depth=5)
    assert len(answer.results) == 50
    assert all(hit.relevance is not None for hit in answer.results)
    assert all(hit.scores.adjusted is not None for hit in answer.results)


def test_a_document_that_fills_every_list_does_not_hide_the_others(often: Engine) -> None:
    plain = often.search("green gate", 10, mode="sparse", depth=10)
    assert set(ids(plain)) == {"long.md"}
    answer = often.search("green gate", 3, mode="sparse", depth=10, per_document=1)
    assert sorted(ids(answer)) == sorted(OFTEN)
    assert ids(answer)[0] == "long.md"
    assert all(hit.relevance is not None for hit in answer.results)
    two = often.search("green gate", 4, mode="sparse", depth=10, per_document=2)
    assert sorted(ids(two)) == ["long.md", "long.md", "other.md", "third.md"]


def test_looking_deeper_ends_where_there_is_no_more(often: Engine) -> None:
    answer = often.search("green gate", 1000, mode="sparse", depth=1, per_document=1)
    assert sorted(ids(answer)) == sorted(OFTEN)


@pytest.mark.parametrize("resolution", [DOCUMENT, SECTION, CHUNK])
def test_every_resolution_is_judged(town: Sourcebook, resolution: int) -> None:
    answer = town.search("When does a pilot wait?", resolution=resolution)
    assert answer.degraded == ()
    assert ids(answer)[0] == "manual.md"
    assert all(hit.relevance is not None for hit in answer.results)


# --- an embedder that was not calibrated ---------------------------------------------------------


def test_an_embedder_that_was_not_calibrated_says_so(often: Engine) -> None:
    answer = often.search("green gate")
    assert "relevance" in parts(answer)
    [reason] = [each.reason for each in answer.degraded if each.part == "relevance"]
    assert "words was not calibrated" in reason
    assert all(hit.relevance is not None and hit.relevance <= 0.6 for hit in answer.results)
    assert ids(answer) == ids(often.search("green gate", rerank="none"))
    assert "relevance" not in parts(often.search("green gate", mode="sparse"))


# --- weights and types ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "kind", "weights"),
    [
        (FENCE, "general", {"dense": 0.7, "sparse": 0.3}),
        ("cedar fences", "terminology", {"dense": 0.5, "sparse": 0.5}),
        ("What does lead mean?", "definition", {"dense": 0.8, "sparse": 0.2}),
        ("Where are fences mentioned?", "location", {"dense": 0.4, "sparse": 0.6}),
    ],
)
def test_the_weights_that_were_used_are_told(
    town: Sourcebook, query: str, kind: str, weights: dict[str, float]
) -> None:
    told = town.search(query, fusion="weighted", rerank="none").to_dict()["query"]
    assert (told["type"], told["weights"]) == (kind, weights)


def test_a_weighted_sum_adds_up(town: Sourcebook) -> None:
    answer = town.search(FENCE, 1000, fusion="weighted", rerank="none")
    dense = [hit.scores.dense or 0 for hit in answer.results]
    low, high = min(dense), max(dense)
    best = max(hit.scores.sparse or 0 for hit in answer.results)
    for hit in answer.results:
        share = ((hit.scores.dense or 0) - low) / (high - low)
        expected = 0.7 * share + 0.3 * (hit.scores.sparse or 0) / best
        assert hit.scores.fused == pytest.approx(expected)
        assert hit.scores.staged is None


# --- staged search -------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 5, 100])
@pytest.mark.parametrize("query", [FENCE, "strong wind", "frozen water at the pier", OFF_TOPIC])
def test_staged_search_loses_nothing_that_flat_search_finds(
    town: Sourcebook, query: str, depth: int
) -> None:
    asked, prepared = searches(town), prepare(query)
    within = Within(town.resolve().revision)

    def found(staged: float) -> dict[str, Any]:
        options = Options(weights={"staged": staged})
        made = recall(asked, prepared, options, depth, within)
        return {"lists": set(made.lists), "passages": {f.passage for f in made.fused}}

    flat, both = found(0.0), found(1.0)
    assert "staged" in both["lists"]
    assert "staged" not in flat["lists"]
    assert flat["passages"] <= both["passages"]


def test_staged_search_says_where_an_index_answered(
    town: Sourcebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    exactly = town.store.dense_search

    def sections_roughly(*given: Any) -> Neighbours:
        return exactly(*given)._replace(approximate=given[4].resolution == SECTION)

    monkeypatch.setattr(town.store, "dense_search", sections_roughly)
    (told,) = town.search(FENCE, cache=False).degraded
    assert (told.part, told.reason.partition(":")[0]) == ("staged", "approximate")


# --- compound questions --------------------------------------------------------------------------

COMPOUND = "How high may a fence be, and when is the pool open?"


def test_a_compound_question_is_asked_in_its_parts(town: Sourcebook) -> None:
    answer = town.search(COMPOUND)
    assert answer.to_dict()["query"]["parts"] == [
        "How high may a fence be?",
        "When is the pool open?",
    ]
    assert set(ids(answer)[:2]) == {"fences.md", "pool.md"}
    alone = {
        hit.node.id: hit.relevance for part in answer.parts for hit in town.search(part, 1).results
    }
    told = {hit.node.id: hit.relevance for hit in answer.results}
    whole = {hit.node.id: hit.relevance for hit in town.search(COMPOUND, split=False).results}
    for node, relevance in alone.items():
        assert (told[node] or 0) >= (whole[node] or 0)
        assert (told[node] or 0) > 0.5 * (relevance or 0)
    assert answer.status == "ok"


def test_a_passage_for_the_second_part_alone_is_found_and_relevant(town: Sourcebook) -> None:
    query = "How do I repair a violin string, and when are the bins put out?"
    answer = town.search(query)
    assert len(answer.parts) == 2
    assert ids(answer)[0] == "waste.md"
    assert answer.status == "ok"
    hit = answer.results[0]
    assert hit.scores.dense_rank is not None
    for rerank in ("late", "none", "llm"):
        other = town.search(query, rerank=rerank)
        relevance = {h.node.id: h.relevance for h in other.results}[hit.node.id]
        assert other.status == "ok"
        assert relevance is not None
        if rerank != "none":  # which knows no token vectors
            assert relevance == pytest.approx(hit.relevance)


def test_a_simple_question_has_no_parts(town: Sourcebook) -> None:
    assert town.search(FENCE).parts == ()
    assert town.search(COMPOUND, split=False).parts == ()


# --- agents --------------------------------------------------------------------------------------


def test_an_agent_is_told_what_was_refused_and_why(town: Sourcebook) -> None:
    answer = town.agent(FENCE, 100, min_words=22, min_quality=0)
    stats = answer.to_dict()["stats"]
    assert set(stats["rejected"]) == {"word-count-too-low"}
    assert sum(stats["rejected"].values()) == len(answer.rejected) > 0
    assert stats["accepted"] == len(answer.results) > 0
    assert len(answer.rejected) + len(answer.results) == stats["candidates"]
    gone = {each.node_id for each in answer.rejected}
    assert gone.isdisjoint(hit.node.id for hit in answer.results)
    refused = answer.to_dict()["rejected"][0]
    assert set(refused) == {"node_id", "element_id", "reason", "relevance"}


def test_a_short_passage_is_shown_with_what_stands_around_it(town: Sourcebook) -> None:
    answer = town.agent("frozen water", 1, min_words=10_000)
    assert answer.status == "no_results"
    most = max(len(hit.text.split()) for hit in town.search("frozen water", 3).results)
    wide = town.agent("frozen water", 3, min_words=most + 1, min_quality=0, exclude_stubs=())
    assert wide.results
    for hit in wide.results:
        assert hit.text in hit.expanded
        assert len(hit.expanded.split()) > most
    assert wide.to_dict()["results"][0]["expanded"] == wide.results[0].expanded


def test_the_gates_of_an_agent_come_from_the_settings(tmp_path: Path) -> None:
    with quick(tmp_path, TOWN, quality={"min_words": 10_000}) as engine:
        assert engine.agent("fences", mode="sparse").status == "no_results"
        assert engine.agent("fences", mode="sparse", min_words=0, min_quality=0).results
        assert engine.search("fences", mode="sparse").results


def test_an_agent_does_not_read_the_whole_index(often: Engine) -> None:
    """What the gates refuse is not made up for from ever deeper lists."""
    answer = often.agent("green gate", 2, mode="sparse", depth=5, min_words=10_000)
    assert answer.status == "no_results"
    assert answer.candidates <= 5
    assert "5 best passages were refused" in (answer.warning or "")


# --- the log -------------------------------------------------------------------------------------


def test_searches_agents_and_contexts_are_told_apart_in_the_log(tmp_path: Path) -> None:
    with quick(tmp_path, TOWN) as engine:
        engine.search("fences", mode="sparse", rerank="none")
        engine.search("fences", mode="sparse", rerank="none")  # from the cache, but it was asked
        engine.agent("fences")
        engine.context("fences")
    with quick(tmp_path, {}) as again:
        rows = again.store.query_log(again.scope, since=None, limit=10)
    assert [(row.kind, row.mode, row.rerank) for row in rows[::-1]] == [
        ("search", "sparse", "none"),
        ("search", "sparse", "none"),
        ("agent", "hybrid", "local"),
        ("context", "hybrid", "local"),
    ]
    assert len({row.text_hash for row in rows}) == 1


def test_options_have_defaults_that_pass() -> None:
    Options().check()
    replace(Options(), min_relevance=1.0, k=1000).check()
