"""What the page asks beside answers: numbers worked out by hand, and every reason why something is
not among the hits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.engine import Engine
from sourcebook.errors import NotFound
from sourcebook.ports import Asked
from sourcebook.serve import insight, wire
from sourcebook.serve.explaining import explain
from sourcebook.serve.operations import preview, search
from tests import town
from tests.serve.running import until


def row(second: int, status: str = "ok", ms: float = 10.0) -> Asked:
    at = f"2026-01-01T00:00:{second:02d}.000000+00:00"
    return Asked(at, "search", "q", "h", 1, "hybrid", "local", status, 0.5, 1, 1, 0, 0, 5, ms)


def test_questions_fall_into_equal_spans_of_time() -> None:
    rows = [row(0, ms=1), row(9, ms=3), row(10, "no_results", 5), row(40, "low_confidence", 8)]
    told = insight.chart(rows, 4)
    assert (told["count"], told["since"][17:19], told["until"][17:19]) == (4, "00", "40")
    assert [bucket["count"] for bucket in told["buckets"]] == [2, 1, 0, 1]
    assert [bucket["at"][17:19] for bucket in told["buckets"]] == ["00", "10", "20", "30"]
    assert [bucket["no_results"] for bucket in told["buckets"]] == [0, 1, 0, 0]
    assert told["buckets"][0]["p50_ms"] in (1, 2, 3)
    assert told["buckets"][2]["p95_ms"] is None


def test_one_moment_and_none_at_all() -> None:
    assert insight.chart([], 3)["buckets"] == []
    told = insight.chart([row(5), row(5)], 3)
    assert [bucket["count"] for bucket in told["buckets"]] == [2, 0, 0]


@given(st.lists(st.integers(0, 59), min_size=1, max_size=50), st.integers(1, 30))
def test_no_question_is_lost_or_counted_twice(seconds: list[int], buckets: int) -> None:
    told = insight.chart([row(each) for each in seconds], buckets)
    assert len(told["buckets"]) == buckets
    assert sum(bucket["count"] for bucket in told["buckets"]) == len(seconds)
    assert sum(bucket["ok"] for bucket in told["buckets"]) == len(seconds)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("insight")
    made = town.quick(folder, town.TOWN)
    (folder / "files" / "pets.md").write_text("Each home may keep three dogs.\n")
    (folder / "files" / "bees.md").write_text("Bees are kept behind the orchard.\n")
    made.ingest(folder / "files")
    yield made
    made.close()


def explained(engine: Engine, query: str, **more: Any) -> dict[str, Any]:
    return explain(engine, wire.Explain(query=query, **more), "head")


@pytest.mark.parametrize(
    ("name", "more", "stage", "words"),
    [
        ("files/fences.md", {"min_words": 1}, "here", "in place 1"),
        ("files/pool.md", {"k": 1, "min_words": 1}, "outranked", "places 1 to 1 are shown"),
        ("files/fences.md", {"min_words": 9999}, "refused", "word-count-too-low"),
        ("files/fences.md", {"filters": {"source": "files/pets.md"}}, "filtered", "source ="),
        ("files/bees.md", {"read_context": "revision:1"}, "elsewhere", "came with revision 2"),
        ("files/none.md", {}, "elsewhere", "nothing of that name"),
    ],
)
def test_every_reason_has_its_words(
    engine: Engine, name: str, more: dict[str, Any], stage: str, words: str
) -> None:
    told = explained(engine, town.FENCE, node_id=name, **more)["absent"]
    assert told["stage"] == stage
    assert words in told["reason"]


def test_the_funnel_only_gets_narrower_and_its_parts_add_up(engine: Engine) -> None:
    told = explained(engine, town.FENCE, min_relevance=0.3, k=3)
    counts = {stage["stage"]: stage["count"] for stage in told["funnel"]}
    assert counts["fused"] <= counts["dense"] + counts["sparse"]
    assert counts["fused"] >= counts["judged"] >= counts["checked"] >= counts["passed"]
    fates = [each["fate"] for each in told["candidates"]]
    assert fates.count("passed") == counts["passed"]
    assert fates.count("refused") == sum(told["rejected"].values())
    assert counts["checked"] == fates.count("passed") + fates.count("refused")
    assert [each["rank"] for each in told["candidates"]] == list(range(1, len(fates) + 1))


def test_nothing_found_is_explained_too(engine: Engine) -> None:
    told = explained(engine, "…")
    assert told["status"] == "no_results"
    assert [stage["count"] for stage in told["funnel"]] == [0] * 7


def test_a_node_is_compared_with_itself_at_another_time(engine: Engine) -> None:
    asked = wire.Diff(old="revision:1", new="head", node_id="files/pets.md")
    [document] = insight.difference(engine, asked, "head")["documents"]
    assert "+Each home may keep three dogs." in document["diff"].splitlines()
    whole = insight.difference(engine, wire.Diff(old="revision:1"), "head")
    assert whole["counts"]["nodes"] == {"added": 1, "removed": 0, "changed": 1}
    assert [node["id"] for node in whole["nodes"]["added"]] == ["files/bees.md"]
    with pytest.raises(NotFound, match="at either"):
        insight.difference(engine, wire.Diff(old="head", node_id="files/none.md"), "head")


def test_what_is_being_typed_is_not_logged(engine: Engine) -> None:
    def logged() -> list[str | None]:
        return [each.text for each in engine.store.query_log(engine.scope, None, 100)]

    typed = preview(engine, wire.Search(query="fences alo", k=2), "head")
    meant = search(engine, wire.Search(query="fences along", k=2), "head")
    assert typed.keys() == meant.keys()
    until(lambda: "fences along" in logged())
    assert "fences alo" not in logged()


def test_spaces_tell_how_far_they_are(engine: Engine, tmp_path: Path) -> None:
    [space] = insight.spaces(engine, wire.Here(), "head")["spaces"]
    assert (space["pending"], space["failed"], space["state"]) == (0, 0, "active")
    assert space["passages"] == 8
