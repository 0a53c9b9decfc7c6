"""`search`, `agent` and `similar` with options: JSON of one schema, mistakes in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli
from .test_cli_errors import check

QUESTION = "how much may a hotel cost?"
TOP = {"status", "warning", "degraded", "query", "read_context", "results", "stats"}
HIT = {
    "rank", "element_id", "node_id", "version_id", "repository_id", "title", "kind", "resolution",
    "text", "context", "section_path", "page", "start", "end", "source", "relevance", "scores",
    "adjustments", "quality", "metadata", "citation",
}  # fmt: skip
CITATION = {"repository_id", "element_id", "version_id", "start", "end", "text_hash"}


def shaped(data: Any) -> list[Any]:
    """The hits of an answer that has the shape of the contract."""
    assert set(data) >= TOP
    assert data["status"] in ("ok", "low_confidence", "no_results")
    assert set(data["query"]) >= {"text", "normalized", "type", "weights"}
    assert set(data["stats"]) >= {"candidates", "accepted", "rejected", "timings_ms"}
    assert data["stats"]["accepted"] == len(data["results"])
    for rank, hit in enumerate(data["results"], start=1):
        assert set(hit) >= HIT
        assert set(hit["citation"]) == CITATION
        assert hit["rank"] == rank
    return list(data["results"])


@pytest.mark.parametrize(
    ("fusion", "rerank"), [("rrf", "late"), ("weighted", "local"), ("weighted", "none")]
)
def test_every_fusion_and_every_reranker(folder: Path, cli: Cli, fusion: str, rerank: str) -> None:
    ran = cli("search", QUESTION, "--fusion", fusion, "--rerank", rerank, "--json")
    first, second = shaped(ran.data)
    assert ran.status == 0
    assert ran.data["degraded"] == []
    assert first["element_id"] == "notes/travel.md"
    assert 0 <= second["relevance"] <= first["relevance"] <= 1
    assert (first["scores"]["rerank"] is None) == (rerank == "none")
    weights = ran.data["query"]["weights"]
    if fusion == "weighted":
        assert weights == {"dense": 0.7, "sparse": 0.3}
        assert first["scores"]["fused"] == pytest.approx(1.0)
    else:
        assert {"dense", "sparse"} <= set(weights)


def test_a_language_model_that_is_not_there_is_said_and_is_no_failure(
    folder: Path, cli: Cli
) -> None:
    asked = ("search", QUESTION, "--rerank", "llm", "--mode", "sparse")
    ran = cli(*asked, "--json")
    assert ran.status == 0
    assert [part["part"] for part in ran.data["degraded"]] == ["rerank"]
    assert shaped(ran.data)[0]["scores"]["rerank"] is None
    out = " ".join(cli(*asked).out.split())
    assert "degraded: rerank: no language model is configured" in out


def test_the_reranker_of_the_settings(folder: Path, cli: Cli) -> None:
    (folder / "sourcebook.toml").write_text('[search]\nrerank = "none"\n')
    asked = ("search", QUESTION, "--mode", "sparse", "--json")
    assert cli(*asked).data["results"][0]["scores"]["rerank"] is None
    given = cli(*asked, "--rerank", "local").data
    assert given["results"][0]["scores"]["rerank"] is not None


def test_min_relevance_leaves_out_and_counts(folder: Path, cli: Cli) -> None:
    asked = ("search", "how much may a hotel cost a week?", "--mode", "sparse", "--json")
    everything = shaped(cli(*asked).data)
    least = str((everything[0]["relevance"] + everything[1]["relevance"]) / 2)
    data = cli(*asked, "--min-relevance", least).data
    assert [hit["node_id"] for hit in shaped(data)] == [everything[0]["node_id"]]
    assert data["stats"]["rejected"] == {"relevance-too-low": 1}
    assert data["rejected"][0]["node_id"] == everything[1]["node_id"]
    ran = cli(*asked, "--min-relevance", "1")
    assert (ran.status, ran.data["status"], ran.data["results"]) == (0, "no_results", [])


def test_an_agent_says_what_it_refused(folder: Path, cli: Cli) -> None:
    data = cli("agent", QUESTION, "--min-words", "1000", "--json").data
    assert shaped(data) == []
    assert data["status"] == "no_results"
    assert data["stats"]["rejected"] == {"word-count-too-low": 2}
    passed = cli("agent", QUESTION, "--min-words", "1", "--min-quality", "0", "-k", "1", "--json")
    assert [hit["element_id"] for hit in shaped(passed.data)] == ["notes/travel.md"]
    assert passed.data["stats"]["rejected"] == {}


def test_similar_passages(folder: Path, cli: Cli) -> None:
    ran = cli("similar", "notes/leave.md", "--json")
    hits = shaped(ran.data)
    assert [hit["element_id"] for hit in hits] == ["notes/travel.md"]
    assert hits[0]["relevance"] is None
    assert hits[0]["scores"]["rerank"] is not None
    only = cli("similar", "notes/leave.md", "--filter", "department=people", "--json")
    assert (only.status, only.data["status"]) == (0, "no_results")


WRONG: list[tuple[tuple[str, ...], int, str]] = [
    (("search", "x", "--fusion", "sum"), 2, "'rrf', 'weighted'"),
    (("search", "x", "--rerank", "best"), 2, "'none', 'local', 'late', 'llm'"),
    (("search", "x", "--min-relevance", "1.5"), 2, "min_relevance must be from 0 to 1"),
    (("search", "x", "--min-relevance", "-1"), 2, "min_relevance must be from 0 to 1"),
    (("search", "x", "--min-relevance", "nan"), 2, "min_relevance must be from 0 to 1"),
    (("search", "x", "--min-relevance", "high"), 2, "--min-relevance"),
    (("search", "x", "--resolution", "word"), 2, "'document', 'section', 'chunk'"),
    (("agent",), 2, "Missing argument 'QUERY'"),
    (("agent", " "), 2, "the query is empty"),
    (("agent", "x", "-k", "0"), 2, "k must be from 1 to 1000"),
    (("agent", "x", "--min-quality", "2"), 2, "min_quality must be from 0 to 1"),
    (("agent", "x", "--min-quality", "nan"), 2, "min_quality must be from 0 to 1"),
    (("agent", "x", "--min-words", "-1"), 2, "min_words must be 0 or more"),
    (("agent", "x", "--min-words", "few"), 2, "--min-words"),
    (("agent", "x", "--mode", "dense"), 2, "--mode"),
    (("similar",), 2, "Missing argument 'NODE_ID'"),
    (("similar", "nowhere.md"), 1, "there is no node 'nowhere.md'"),
    (("similar", "notes/leave.md", "-k", "0"), 2, "k must be from 1 to 1000"),
    (("similar", "notes/leave.md", "--filter", "people"), 2, "--filter takes KEY=VALUE"),
    (("similar", "notes/leave.md", "--read-context", "baseline:Q9"), 1, "no baseline 'Q9'"),
]


@pytest.mark.parametrize(("args", "status", "words"), WRONG, ids=lambda value: str(value)[:60])
def test_wrong_use_is_one_sentence(
    folder: Path, cli: Cli, args: tuple[str, ...], status: int, words: str
) -> None:
    check(cli(*args), status, words)
    with_json = cli(*args, "--json")
    check(with_json, status, words)
    assert set(with_json.data["error"]) == {"code", "message", "field", "suggestions"}
