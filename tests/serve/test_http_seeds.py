"""The three routes of older programs, asked by curl with the questions of their own documents; the
answers must have the fields that those programs read."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.serve.running import Running, filled, running

HYBRID, AGENT = "/api/ucg/search/hybrid", "/api/ucg/search/agent"
ARC = "/webhook/arc-retrieval"
FENCES = "What is the maximum fence height allowed?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("seeds")
    with running(filled(folder), folder) as server:
        yield server


def asked(server: Running, path: str, body: Any) -> tuple[int, Any]:
    """By curl, or by httpx where there is none."""
    curl = shutil.which("curl")
    if curl is None:
        answer = httpx.post(server.url + path, json=body, timeout=60)
        return answer.status_code, answer.json()
    sent = ("-H", "Content-Type: application/json", "-d", json.dumps(body))
    words = [curl, "-s", *sent, "-w", "\n%{http_code}", server.url + path]
    out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    text, _, status = out.rpartition("\n")
    return int(status), json.loads(text)


def found(server: Running, path: str, body: Any) -> Any:
    status, answer = asked(server, path, body)
    assert status == 200, answer
    return answer


# --- /api/ucg/search/hybrid ----------------------------------------------------------------------


def test_hybrid_finds_words_and_meaning(server: Running) -> None:
    query = "quantum mechanics uncertainty principle"
    answer = found(server, HYBRID, {"query": query, "options": {"limit": 20}})
    assert set(answer) == {"query", "results", "total"}
    assert (answer["query"], answer["total"]) == (query, len(answer["results"]))
    first = answer["results"][0]
    fields = "id denseScore denseRank sparseScore sparseRank fusedScore node"
    assert set(first) == set(fields.split())
    assert "uncertainty principle" in first["node"]["text"]
    assert "Heisenberg" in first["node"]["text"]
    assert {"id", "title", "text", "word_count", "parent_node_id"} <= set(first["node"])
    assert first["node"]["word_count"] == len(first["node"]["text"].split())


def test_hybrid_scores_are_the_formula(server: Running) -> None:
    options = {"denseWeight": 0.7, "sparseWeight": 0.3, "fusionK": 10, "limit": 50}
    for given, k, dense, sparse in ((None, 60, 1.0, 1.0), (options, 10, 0.7, 0.3)):
        body = {"query": FENCES} | ({"options": given} if given else {})
        results = found(server, HYBRID, body)["results"]
        for result in results:
            ranks = ((dense, result["denseRank"]), (sparse, result["sparseRank"]))
            expected = sum(weight / (k + rank) for weight, rank in ranks if rank is not None)
            assert result["fusedScore"] == pytest.approx(expected, abs=1e-12)
            assert (result["denseScore"] is None) == (result["denseRank"] is None)
            assert (result["sparseScore"] is None) == (result["sparseRank"] is None)
        scores = [result["fusedScore"] for result in results]
        assert scores == sorted(scores, reverse=True)


def test_hybrid_limits(server: Running) -> None:
    two = found(server, HYBRID, {"query": FENCES, "options": {"limit": 2}})
    assert two["total"] == 2
    near = {"query": FENCES, "options": {"minDenseScore": 0.85, "limit": 100}}
    for result in found(server, HYBRID, near)["results"]:
        assert result["sparseRank"] is not None or result["denseScore"] >= 0.85
    assert found(server, HYBRID, near)["total"] < found(server, HYBRID, {"query": FENCES})["total"]


# --- /api/ucg/search/agent -----------------------------------------------------------------------


def test_agent_gives_what_passed_and_counts_the_rest(server: Running) -> None:
    options = {
        "targetCount": 20,
        "searchLimit": 100,
        "minQuality": 0.4,
        "minWordCount": 30,
        "expandContext": True,
        "rerank": False,
    }
    answer = found(server, AGENT, {"query": FENCES, "options": options})
    assert set(answer) == {"query", "results", "stats"}
    stats = answer["stats"]
    names = "totalSearched totalAccepted totalRejected rejectionReasons totalExpanded duration"
    assert set(stats) == set(names.split())
    assert stats["totalAccepted"] == len(answer["results"]) > 0
    assert stats["totalRejected"] == sum(stats["rejectionReasons"].values())
    assert stats["rejectionReasons"]["word-count-too-low"] > 0
    assert stats["totalExpanded"] == sum("context" in each for each in answer["results"])
    for result in answer["results"]:
        assert set(result) - {"context"} == {"node", "similarity", "quality"}
        assert result["quality"]["overall"] >= 0.4
        assert result["similarity"] is None or -1 <= result["similarity"] <= 1


def test_agent_shows_short_chunks_with_their_parent(server: Running) -> None:
    part = "Gate {0} of the orchard is kept by warden {0}, who counts the carts that pass. " * 12
    parts = [f"## Gate {n}\n\n{part.format(n)}" for n in range(8)]
    orchard = {"name": "orchard.md", "text": "# The orchard\n\n" + "\n\n".join(parts)}
    assert server.post("/v1/ingest", {"documents": [orchard], "wait": True}).status_code == 200
    options = {"minWordCount": 0, "minQuality": 0, "expandThreshold": 1000}
    body = {"query": "Who keeps gate 3 of the orchard?", "options": options}
    results = found(server, AGENT, body)["results"]
    expanded = [each for each in results if each.get("context")]
    assert expanded
    for each in expanded:
        assert each["context"]["parent"]["id"] == each["node"]["parent_node_id"]
        assert each["node"]["text"] in each["context"]["combinedText"]
    plain = {**options, "expandContext": False}
    answer = found(server, AGENT, {**body, "options": plain})
    assert answer["results"]
    assert answer["stats"]["totalExpanded"] == 0
    assert not any("context" in each for each in answer["results"])


def test_agent_leaves_stubs_out(server: Running) -> None:
    crumbs = {"name": "crumbs.md", "text": "Home > Fences > Rear line > Height"}
    assert server.post("/v1/ingest", {"documents": [crumbs], "wait": True}).status_code == 200
    gate = {"minWordCount": 0, "minQuality": 0, "targetCount": 100}
    body = {"query": "fences rear line height", "options": gate}
    stubs = {**gate, "excludeStubTypes": ["stub-breadcrumb"]}
    answer = found(server, AGENT, {**body, "options": stubs})
    for result in answer["results"]:
        assert result["quality"]["stub_type"] != "stub-breadcrumb"
    assert answer["stats"]["rejectionReasons"] == {"stub-type-stub-breadcrumb": 1}
    everything = found(server, AGENT, {**body, "options": {**gate, "excludeStubTypes": []}})
    kinds = {each["quality"]["stub_type"] for each in everything["results"]}
    assert "stub-breadcrumb" in kinds


# --- /webhook/arc-retrieval ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (FENCES, "six feet"),
        ("What colors can I paint my house?", "earth tones"),
        ("setback requirements", "twenty feet"),
    ],
)
def test_arc_answers_its_own_questions(server: Running, query: str, words: str) -> None:
    answer = found(server, ARC, {"query": query})
    assert answer["status"] in ("success", "low_confidence")
    assert answer["best_score"] == max(c["relevance_score"] or 0 for c in answer["chunks"])
    first = max(answer["chunks"], key=lambda chunk: chunk["relevance_score"] or 0)
    assert words in first["content"]
    assert first["document_type"] == "design_guidelines"
    assert first["is_binding"] is True
    fields = "id content document_name document_type section_hierarchy page_number is_binding"
    assert set(fields.split()) <= set(first)
    weights = answer["weights"]
    for chunk in answer["chunks"]:
        if chunk["hybrid_score"] is not None:
            both = (chunk["vector_score"] or 0, chunk["fts_score"] or 0)
            expected = weights["dense"] * both[0] + weights["sparse"] * both[1]
            assert chunk["hybrid_score"] == pytest.approx(expected)
            assert 0 <= both[1] <= 1
    assert "[SOURCE 1]" in answer["context"]
    assert "Binding: Yes" in answer["context"]


def test_arc_weighs_by_the_kind_of_question(server: Running) -> None:
    assert found(server, ARC, {"query": FENCES})["weights"] == {"dense": 0.7, "sparse": 0.3}
    term = found(server, ARC, {"query": "setback requirements"})["weights"]
    assert term == {"dense": 0.5, "sparse": 0.5}


def test_arc_knows_when_there_is_nothing(server: Running) -> None:
    query = "Who won the football cup in 1998?"
    answer = found(server, ARC, {"query": query})
    assert answer["status"] == "no_results"
    assert answer["message"] == "No relevant content found in governing documents"
    assert answer["query"] == query
    assert "chunks" not in answer


def test_arc_filters_and_budgets(server: Running) -> None:
    body = {"query": FENCES, "document_type": ["design_guidelines"], "max_chunks": 1}
    answer = found(server, ARC, body)
    assert [chunk["document_type"] for chunk in answer["chunks"]] == ["design_guidelines"]
    none = found(server, ARC, {"query": FENCES, "document_type": "ccr"})
    assert none["status"] == "no_results"
    small = found(server, ARC, {"query": FENCES, "token_budget": 20})
    assert small["chunks"] == []


# --- all three -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [HYBRID, AGENT, ARC])
def test_a_query_is_required(server: Running, path: str) -> None:
    for body in ({}, {"query": ""}, {"query": None}):
        status, answer = asked(server, path, body)
        assert (status, answer["error"]["message"]) == (400, "Query required")
    status, answer = asked(server, path, {"query": 5})
    assert (status, answer["error"]["field"]) == (422, "query")
    status, answer = asked(server, path, {"query": "a", "limit": 5})
    assert (status, answer["error"]["field"]) == (422, "limit")


@pytest.mark.parametrize("path", [HYBRID, AGENT, ARC])
def test_the_past_is_asked_like_the_present(server: Running, path: str) -> None:
    nothing = found(server, path, {"query": FENCES, "read_context": "revision:0"})
    assert not nothing.get("results", nothing.get("chunks"))
    status, _ = asked(server, path, {"query": FENCES, "read_context": "baseline:none"})
    assert status == 404
