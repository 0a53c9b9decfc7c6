"""Parts die while questions are asked: every answer stays typed, says what is missing, invents no
score, and is whole again when the part is back."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sourcebook import Sourcebook, asker
from sourcebook.errors import ModelUnavailable, StoreError
from sourcebook.model import CHUNK, Scope, Space
from sourcebook.models.chat import ChatModel
from sourcebook.models.http import Limits
from sourcebook.models.local import LocalEmbedder
from sourcebook.ports import Neighbours, Vectors, Within
from sourcebook.querying import search as searches
from sourcebook.retrieve import Answer, Caches
from tests.models.server import FAILURES, ChatServer
from tests.town import FENCE, OFF_TOPIC, TOWN, ids, opened, passage_of, score

QUESTIONS = [FENCE, "How many dogs may I keep?", "When is the pool open?", OFF_TOPIC, "cedar",
             "How high may a fence be, and when is the pool open?"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("town")
    opened(made, TOWN).close()
    return made


@pytest.fixture(scope="module")
def embedder(model_dir: Path) -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def town(folder: Path, embedder: LocalEmbedder, tmp_path: Path) -> Iterator[Sourcebook]:
    """A copy of the index, with the embedder that the other tests have loaded."""
    shutil.copy(folder / "store.db", tmp_path / "store.db")
    with Sourcebook.open(f"sqlite:///{tmp_path}/store.db") as sb:
        sb.embedder = embedder
        yield sb


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        running.answer = lambda body: score(body, len(passage_of(body)[1]) / 1000)
        yield running


def model(server: ChatServer, **limits: Any) -> ChatModel:
    return ChatModel(server.url, "tiny", timeout_s=limits.pop("timeout_s", 2.0),
                     limits=replace(Limits(first_wait_s=0.001), **limits))  # fmt: skip


@contextmanager
def without_model(sb: Sourcebook, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A new process where the model's files are gone."""
    alive = sb.embedder
    with monkeypatch.context() as patch:
        patch.setenv("SOURCEBOOK_MODELS", str(folder / "nowhere"))
        sb.embedder = LocalEmbedder()
        yield
    sb.embedder = alive


def told(answer: Answer) -> list[dict[str, Any]]:
    """The hits without what their timing or the cache could change."""
    return [dict(hit) for hit in answer.to_dict()["results"]]


def parts(answer: Answer) -> list[str]:
    return [each.part for each in answer.degraded]


def typed(answer: Answer) -> None:
    assert answer.status in ("ok", "low_confidence", "no_results")
    assert (answer.warning is None) == (answer.status == "ok")
    assert all(each.part and each.reason for each in answer.degraded)
    json.dumps(answer.to_dict(), allow_nan=False)


# --- the embedder --------------------------------------------------------------------------------


def test_a_store_that_fails_beside_the_embedder_is_not_hidden_by_it(
    town: Sourcebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(town.store, "sparse_search", failing)
    with pytest.raises(StoreError, match="the disk is gone"):
        town.search(FENCE)
    with without_model(town, tmp_path, monkeypatch), pytest.raises(StoreError, match="disk"):
        town.search(FENCE)


def test_who_left_does_not_wait_for_a_search_that_has_not_begun(
    town: Sourcebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages: list[int] = []

    def left() -> None:
        stages.append(len(stages))
        if len(stages) > 1:  # while the question was embedded
            raise TimeoutError("gone")

    def never(*_: object) -> None:
        raise StoreError("searched for nobody")

    monkeypatch.setattr(town.store, "sparse_search", never)
    go_on = threading.Event()
    with ThreadPoolExecutor(1) as busy:
        monkeypatch.setattr(searches, "_threads", busy)
        busy.submit(go_on.wait)
        try:
            with asker.known_by(left), pytest.raises(TimeoutError, match="gone"):
                town.search(FENCE)
        finally:
            go_on.set()


def test_what_an_index_of_vectors_misses_is_found_by_its_words(
    town: Sourcebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer says that it may lack something, and is not kept for who asks again."""
    whole, nearest = town.search(FENCE), town.search(FENCE, mode="dense", cache=False)
    exactly = town.store.dense_search

    def missing(scope: Scope, space: Space, vector: Vectors, k: int, within: Within) -> Neighbours:
        found = exactly(scope, space, vector, k, within)
        flat = within.resolution == CHUNK and within.parents is None
        return Neighbours(found.matches[1:], approximate=True) if flat else found

    with monkeypatch.context() as patch:
        patch.setattr(town.store, "dense_search", missing)
        for _ in range(2):
            answer = town.search(FENCE + " ")
            assert answer.degraded == (searches.APPROXIMATE,)
            assert told(answer) == told(whole)
        alone = town.search(FENCE, mode="dense")
        assert alone.degraded == (searches.APPROXIMATE,)
        assert nearest.results[0].node.id not in [hit.node.id for hit in alone.results]
    assert not town.search(FENCE + " ").degraded


@pytest.mark.parametrize("rerank", ["local", "late", "none"])
def test_without_the_embedder_full_text_search_answers(
    town: Sourcebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rerank: str
) -> None:
    sparse = [town.search(q, mode="sparse", rerank=rerank) for q in QUESTIONS]
    with without_model(town, tmp_path, monkeypatch):
        for query, expected in zip(QUESTIONS, sparse, strict=True):
            answer = town.search(query, rerank=rerank)
            typed(answer)
            assert parts(answer)[0] == "dense"
            assert "not installed" in answer.degraded[0].reason
            assert told(answer) == told(expected)
            assert answer.status == expected.status
            for hit in answer.results:
                assert (hit.scores.dense, hit.scores.dense_rank) == (None, None)
                assert (hit.scores.staged, hit.scores.combined) == (None, None)
                assert hit.relevance is not None
                if rerank != "local":
                    assert hit.scores.rerank is None
            if rerank == "late":
                assert "late" in parts(answer)


def test_dense_search_alone_is_an_error_that_says_what_to_do(
    town: Sourcebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with without_model(town, tmp_path, monkeypatch):
        with pytest.raises(ModelUnavailable, match="sourcebook model install"):
            town.search(FENCE, mode="dense")
        with pytest.raises(ModelUnavailable):
            town.similar(town.list()[0].id)


def test_the_embedder_comes_back_and_answers_are_whole_again(
    town: Sourcebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [town.search(q, cache=False) for q in QUESTIONS]
    for _ in range(2):
        with without_model(town, tmp_path, monkeypatch):
            assert all("dense" in parts(town.search(q)) for q in QUESTIONS)
            assert all("cached" not in town.search(q).timings_ms for q in QUESTIONS)
        for query, expected in zip(QUESTIONS, whole, strict=True):
            answer = town.search(query)
            assert answer.degraded == ()
            assert told(answer) == told(expected)
        town._caches = Caches.make()


def test_a_question_that_was_embedded_before_is_still_answered_by_its_vector(
    town: Sourcebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.search(FENCE)
    with without_model(town, tmp_path, monkeypatch):
        answer = town.search(FENCE, 3)
        typed(answer)
        assert ids(answer)[0] == "fences.md"
        assert answer.results[0].scores.dense is not None
        assert parts(answer) == ["late"]


# --- token vectors -------------------------------------------------------------------------------


def test_without_token_vectors_the_fit_without_maxsim_orders(
    town: Sourcebook, tmp_path: Path
) -> None:
    whole = town.search(FENCE)
    with sqlite3.connect(tmp_path / "store.db") as db:
        db.execute("DELETE FROM token_vectors WHERE text_hash IN "
                   "(SELECT text_hash FROM token_vectors LIMIT 1)")  # fmt: skip
    for rerank in ("local", "late"):
        answer = town.search(FENCE, rerank=rerank, cache=False)
        typed(answer)
        assert parts(answer) == ["late"]
        assert answer.degraded[0].reason.startswith(f"1 of {len(TOWN)} candidates have no token")
        plain = town.search(FENCE, rerank="none", cache=False)
        assert {h.node.id: h.relevance for h in answer.results} == {
            h.node.id: h.relevance for h in plain.results
        }
        relevance = [hit.relevance or 0 for hit in answer.results]
        if rerank == "local":
            assert relevance == sorted(relevance, reverse=True)
        else:
            assert ids(answer) == ids(plain)
            assert {hit.scores.rerank for hit in answer.results} == {None}
    assert ids(whole)[0] == ids(answer)[0]


def test_passages_that_are_not_embedded_yet_are_found_and_said_so(
    town: Sourcebook, tmp_path: Path
) -> None:
    (tmp_path / "gates.md").write_text("Gates in fences are painted green.\n")
    town.ingest(tmp_path / "gates.md", wait=False)
    answer = town.search("gates in fences")
    typed(answer)
    assert parts(answer) == ["dense"]
    assert answer.degraded[0].reason.startswith(f"1 of {len(TOWN) + 1} passages")
    hit = next(h for h in answer.results if h.node.element_id == "gates.md")
    assert hit.scores.dense is None
    assert hit.relevance is not None
    assert "cached" not in town.search("gates in fences").timings_ms
    town.index()
    assert town.search("gates in fences").degraded == ()


# --- the language model --------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [*FAILURES, "hang up"])
def test_whatever_the_reranker_answers_the_fused_order_is_kept(
    town: Sourcebook, server: ChatServer, failure: str
) -> None:
    town.judge = model(server, tries=1)
    server.always = failure
    plain, answer = town.search(FENCE, rerank="none"), town.search(FENCE, rerank="llm")
    typed(answer)
    assert ids(answer) == ids(plain)
    assert parts(answer) == ["rerank"]
    assert {hit.scores.rerank for hit in answer.results} == {None}
    local = {hit.node.id: hit.relevance for hit in town.search(FENCE).results}
    assert {hit.node.id: hit.relevance for hit in answer.results} == local


@pytest.mark.parametrize(
    "content",
    ['{"id": "x", "score": 1}', '{"score": 1}', '{"id": null, "score": NaN}', "[1]", "yes"],
)
def test_a_reranker_that_lies_about_one_passage_is_not_believed(
    town: Sourcebook, server: ChatServer, content: str
) -> None:
    honest = server.answer
    server.answer = lambda body: content if "dogs" in passage_of(body)[1] else honest(body)
    town.judge = model(server)
    answer = town.search(FENCE, rerank="llm")
    assert parts(answer) == ["rerank"]
    assert ids(answer) == ids(town.search(FENCE, rerank="none"))
    assert {hit.scores.rerank for hit in answer.results} == {None}


def test_a_service_that_hangs_costs_one_timeout(town: Sourcebook, server: ChatServer) -> None:
    town.judge = model(server, timeout_s=0.4)
    server.always = "hang"
    plain = ids(town.search(FENCE, rerank="none"))
    started = time.monotonic()
    assert ids(town.search(FENCE, rerank="llm")) == plain
    assert 0.3 < time.monotonic() - started < 10
    ended()
    seen = len(server.requests)
    started = time.monotonic()
    for number in range(5):
        answer = town.search(f"{FENCE} {number}", rerank="llm")
        assert parts(answer) == ["rerank"]
        assert "left alone" in answer.degraded[0].reason
    assert time.monotonic() - started < 5 * 0.4
    assert len(server.requests) == seen


def test_a_service_that_is_back_is_asked_again(town: Sourcebook, server: ChatServer) -> None:
    now = [0.0]
    town.judge = ChatModel(
        server.url, "tiny", limits=Limits(tries=1, failures=3), clock=lambda: now[0]
    )
    server.always = "html"
    assert parts(town.search(FENCE, rerank="llm")) == ["rerank"]
    ended()
    server.always = None
    assert parts(town.search(FENCE, rerank="llm")) == ["rerank"]
    now[0] = 31.0
    answer = town.search(FENCE, rerank="llm")
    if answer.degraded:  # one request goes first to try; while it is under way, others wait
        ended()
        answer = town.search(FENCE, rerank="llm")
    assert answer.degraded == ()
    assert all(hit.scores.rerank is not None for hit in answer.results)
    assert "cached" in town.search(FENCE, rerank="llm").timings_ms


# --- both ----------------------------------------------------------------------------------------


def test_embedder_and_reranker_die_and_come_back_during_a_run_of_questions(
    town: Sourcebook, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.judge = model(server, tries=1, failures=10_000)
    expected = {
        ("dense", "rerank"): {q: town.search(q, mode="sparse", rerank="none") for q in QUESTIONS},
        ("dense",): {q: town.search(q, mode="sparse", rerank="llm") for q in QUESTIONS},
        ("rerank",): {q: town.search(q, rerank="none") for q in QUESTIONS},
        (): {q: town.search(q, rerank="llm") for q in QUESTIONS},
    }
    for lost in ((), ("dense",), ("dense", "rerank"), ("rerank",), ()):
        town._caches = Caches.make()
        server.always = "503" if "rerank" in lost else None
        if "dense" in lost:
            with without_model(town, tmp_path, monkeypatch):
                answers = {q: town.search(q, rerank="llm") for q in QUESTIONS}
        else:
            answers = {q: town.search(q, rerank="llm") for q in QUESTIONS}
        for query, answer in answers.items():
            typed(answer)
            right = expected[lost][query]
            if right.results:  # with nothing found there is nothing to ask a model about
                assert parts(answer) == list(lost)
            assert ids(answer) == ids(right)
            assert [h.scores.rerank for h in answer.results] == [
                h.scores.rerank for h in right.results
            ]
            if lost != ("rerank",):  # `none` reads no token vectors, so it may be less sure
                assert answer.status == right.status


def test_many_questions_while_the_reranker_dies(town: Sourcebook, server: ChatServer) -> None:
    town.judge = model(server, tries=1)
    plain = ids(town.search(FENCE, rerank="none"))
    found: list[Answer] = []

    def ask(number: int) -> None:
        if number == 3:
            server.always = "hang up"
        found.append(town.search(FENCE, rerank="llm", cache=False))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for answer in found:
        typed(answer)
        scores = [hit.scores.rerank for hit in answer.results]
        if answer.degraded:
            assert (parts(answer), ids(answer)) == (["rerank"], plain)
            assert set(scores) == {None}
        else:
            assert scores == sorted(scores, key=lambda s: -(s or 0))


def ended() -> None:
    """Wait until no request of a round is under way."""
    for thread in threading.enumerate():
        if thread.name == "sourcebook-ask":
            thread.join(5)
