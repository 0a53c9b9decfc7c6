"""Passages written like a node, in a real index: never the node itself, by MaxSim, with bounds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sourcebook import Filter, ReadContext, Sourcebook
from sourcebook import similar as module
from sourcebook.errors import InvalidInput, ModelUnavailable, NotFound
from tests.town import TOWN, ids, opened, quick, write

PIERS = "# Harbours\n\n" + "\n\n".join(
    f"## Pier {n}\n\n"
    + f"The pier of town {n} is closed in winter because of ice and storms. Ships wait outside "
    f"until the pilot of town {n} comes aboard with the papers. " * 8
    for n in range(4)
)
FILES = {
    **TOWN,
    "fences-2.md": "Fences at the rear line are made of cedar or stone; none is higher than seven "
    "feet. The committee approves each design before work starts.",
    "piers.md": PIERS,
    "ships.md": "Ships wait outside the pier in winter until a pilot comes aboard.",
}


@pytest.fixture(scope="module")
def town(model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sourcebook]:
    with opened(tmp_path_factory.mktemp("town"), FILES) as sb:
        sb.create_baseline("first")
        yield sb


def at(name: str) -> str:
    return f"files/{name}"


def test_what_says_the_same_comes_first(town: Sourcebook) -> None:
    answer = town.similar(at("fences.md"), 3)
    assert ids(answer)[0] == "fences-2.md"
    assert answer.status == "ok"
    assert [hit.rank for hit in answer.results] == [1, 2, 3]
    scores = [hit.scores.rerank for hit in answer.results]
    assert scores == sorted(scores, key=lambda s: -(s or 0))
    assert {hit.relevance for hit in answer.results} == {None}  # nobody asked a question
    assert answer.degraded == ()


def test_scores_are_maxsim_with_the_tokens_of_the_node(town: Sourcebook) -> None:
    first = town.similar(at("fences.md"), 1).results[0]
    tokens = town.embedder.embed_query(TOWN["fences.md"]).tokens
    codec = town.embedder.late
    assert tokens is not None
    assert codec is not None
    [code] = town.embedder.embed_late([f"{first.context}\n{first.text}"])[1]
    expected = (tokens @ codec.vectors(code).T).max(axis=1).mean()
    assert first.scores.rerank == pytest.approx(float(expected), abs=1e-4)
    vector = town.embedder.embed([f"{first.context}\n{first.text}"])[0]
    asked = town.embedder.embed_query(TOWN["fences.md"]).vector
    assert first.scores.dense == pytest.approx(float(np.dot(vector, asked)), abs=1e-4)


@pytest.mark.parametrize("name", ["piers.md", "piers.md#harbours", "piers.md#harbours/pier-1"])
def test_a_node_is_not_like_itself_nor_like_what_is_inside_it(town: Sourcebook, name: str) -> None:
    node, text = town.get(at(name))
    answer = town.similar(node.id, 100)
    assert answer.results
    for hit in answer.results:
        same = hit.node.element_id == node.element_id
        assert not (same and node.start <= hit.node.start and hit.node.end <= node.end)
        assert hit.text not in text
    assert "ships.md" in ids(answer)
    inside = name.endswith("pier-1")
    assert ("piers.md" in ids(answer)) == inside  # the other sections are like it
    assert answer.candidates == len(answer.results)


def test_its_own_chunks_do_not_take_the_places_of_others(
    town: Sourcebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two candidates, both would be the document's own."""
    monkeypatch.setattr(module, "DEPTH", 2)
    answer = town.similar(at("piers.md"), 2)
    assert ids(answer)[0] == "ships.md"
    assert len(answer.results) == 2


def test_a_chunk_has_its_siblings(town: Sourcebook) -> None:
    chunk = next(node for node in town.list(kind="chunk") if "Pier 2" in node.section_path)
    answer = town.similar(chunk.id, 3)
    assert set(ids(answer)) == {"piers.md"}
    assert chunk.id not in {hit.node.id for hit in answer.results}


def test_filters_and_read_contexts(town: Sourcebook) -> None:
    only = (Filter("source", (at("pets.md"), at("pool.md"))),)
    assert set(ids(town.similar(at("fences.md"), filters=only))) == {"pets.md", "pool.md"}
    nobody = town.similar(at("fences.md"), filters=(Filter("source", ("nowhere",)),))
    assert (nobody.status, nobody.results) == ("no_results", [])
    assert "no other passage" in (nobody.warning or "")
    then = town.similar(at("fences.md"), read_context=ReadContext("baseline", "first"))
    assert then.read_context.baseline_id == "first"


def test_a_lone_document_has_nothing_like_it(town: Sourcebook, tmp_path: Path) -> None:
    alone = town.in_repository("alone")
    alone.root = tmp_path
    alone.ingest(write(tmp_path, {"one.md": TOWN["pets.md"]}))
    assert alone.similar("one.md").status == "no_results"


def test_more_than_there_are(town: Sourcebook) -> None:
    assert len(town.similar(at("pets.md"), 1000).results) == 12


def test_wrong_use(town: Sourcebook) -> None:
    for k in (0, 1001):
        with pytest.raises(InvalidInput, match="k must be from 1 to 1000"):
            town.similar(at("pets.md"), k)
    with pytest.raises(NotFound, match="there is no node"):
        town.similar("nowhere.md")


def test_a_model_without_token_vectors_says_what_to_do(tmp_path: Path) -> None:
    with quick(tmp_path, TOWN) as engine, pytest.raises(ModelUnavailable, match="gte-small"):
        engine.similar("files/pets.md")


def test_passages_without_token_vectors_are_left_out_and_said_so(
    town: Sourcebook, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "store.db") as copy:
        sqlite3.connect(town.store.path).backup(copy)  # type: ignore[attr-defined]
        copy.execute("DELETE FROM token_vectors")
    with Sourcebook.open(f"sqlite:///{tmp_path}/store.db") as sb:
        sb.embedder = town.embedder
        answer = sb.similar(at("fences.md"))
    assert answer.results == []
    [part] = answer.degraded
    assert part.part == "late"
    assert part.reason.startswith("12 passages have no token vectors")


def test_the_answer_is_the_schema_of_a_search(town: Sourcebook) -> None:
    told = town.similar(at("pets.md"), 1).to_dict()
    assert set(told) == set(town.search("pets", 1).to_dict())
    assert set(told["results"][0]) == set(town.search("pets", 1).to_dict()["results"][0])
    assert told["query"]["text"] == at("pets.md")
