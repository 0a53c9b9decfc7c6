"""The query log: what is kept of a question, for how long, for whom; and what a summary says."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.config import load
from sourcebook.engine import Engine
from sourcebook.model import Citation, Hit, Node, PreparedQuery, Resolved, Scope, Scores
from sourcebook.monitor import asked, summarise
from sourcebook.ports import Asked
from sourcebook.retrieve import Answer
from sourcebook.serve.cli import run
from sourcebook.stores import query_log
from sourcebook.stores.aside import SqliteAside
from sourcebook.stores.query_log import QueryLog
from sourcebook.stores.sqlite import SqliteStore
from tests.stores.conformance import OTHER, SCOPE, head, put, tree

NODE = Node("n", "e", "chunk", "v", "h", None, 0, "t", "s.md", 0, 1)
CITATION = Citation("papers", "e", "v", 0, 1, "x")
ROW = Asked("2026-01-01T00:00:00.000000+00:00", "search", "owls", "h1", 3, "hybrid", "none", "ok",
            0.5, 2, 1, 1, 0, 40, 12.0)  # fmt: skip


def hit(relevance: float | None = None, **scores: int) -> Hit:
    return Hit(1, NODE, 2, "text", "", Scores(**scores), CITATION, relevance)


def answer(*hits: Hit, text: str = "Owls?", status: str = "ok") -> Answer:
    return Answer(
        status=status,  # type: ignore[arg-type]
        query=PreparedQuery(text, text.lower(), ("owl",)),
        query_type="general",
        weights={},
        read_context=Resolved("head", 7),
        results=list(hits),
        candidates=90,
        timings_ms={"dense": 1.5, "total": 20.25},
    )


def rows(count: int, **changes: object) -> list[Asked]:
    return [ROW._replace(text=f"q{n}", **changes) for n in range(count)]


def texts(store: SqliteStore, scope: Scope = SCOPE, limit: int = 1000) -> list[str | None]:
    return [row.text for row in store.query_log(scope, None, limit)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "s.db", busy_timeout=5)
    put(opened, tree("a", ["Owls hunt mice."]))
    put(opened, tree("a", ["Robins sing."]), scope=OTHER)
    yield opened
    opened.close()


# --- the row about an answer ---------------------------------------------------------------------


def test_a_row_says_by_what_each_hit_was_found() -> None:
    hits = [
        hit(0.8, dense_rank=1, sparse_rank=4),
        hit(0.7, staged_rank=2, sparse_rank=1),
        hit(0.6, dense_rank=2, staged_rank=1),
        hit(0.5, sparse_rank=2),
        hit(0.4),
    ]
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    row = asked(answer(*hits), "agent", "hybrid", "local", moment=moment)
    assert row == Asked(
        "2026-03-01T12:00:00.000000+00:00", "agent", "Owls?", row.text_hash, 7, "hybrid", "local",
        "ok", 0.8, 5, 2, 1, 1, 90, 20.25,
    )  # fmt: skip


def test_a_row_may_leave_out_the_words_but_knows_equal_questions() -> None:
    plain = asked(answer(hit(), text="Owls?"), "search", "dense", "none", keep_text=False)
    again = asked(answer(text="OWLS?", status="no_results"), "search", "dense", "none")
    other = asked(answer(text="Robins?"), "search", "dense", "none")
    assert (plain.text, plain.relevance) == (None, None)
    assert again.text == "OWLS?"
    assert plain.text_hash == again.text_hash != other.text_hash
    assert "owl" not in str(plain).lower()


@pytest.mark.parametrize("text", ["half \ud83d pair", "nul \0 inside", "x" * 5000, "", "'; DROP--"])
def test_any_words_can_be_kept(store: SqliteStore, text: str) -> None:
    store.log_queries(SCOPE, [asked(answer(text=text), "search", "hybrid", "none")])
    (kept,) = texts(store)
    assert kept is not None
    assert kept == text.replace("\ud83d", "?")[:1000]
    assert store.queries_dropped == 0


# --- what the store keeps ------------------------------------------------------------------------


def test_rows_come_back_as_they_were_newest_first(store: SqliteStore) -> None:
    early = ROW._replace(text=None, relevance=None)
    late = ROW._replace(at="2026-02-01T00:00:00.000000+00:00", status="low_confidence")
    store.log_queries(SCOPE, [early])
    store.log_queries(SCOPE, [late])
    assert store.query_log(SCOPE, None, 10) == [late, early]
    assert store.query_log(SCOPE, None, 1) == [late]
    assert store.query_log(SCOPE, "2026-01-15T00:00:00.000000+00:00", 10) == [late]


def test_no_row_is_read_across_scopes(store: SqliteStore) -> None:
    store.log_queries(SCOPE, rows(2))
    store.log_queries(OTHER, [ROW._replace(text="theirs")])
    assert texts(store) == ["q1", "q0"]
    assert texts(store, OTHER) == ["theirs"]
    for stranger in (
        replace(SCOPE, tenant="evil"),
        replace(SCOPE, organization="evil"),
        replace(SCOPE, repository="evil"),
    ):
        assert texts(store, stranger) == []


def test_a_question_to_nobody_makes_no_repository(store: SqliteStore) -> None:
    before = store.reader().execute("SELECT count(*) FROM repository").fetchone()
    store.log_queries(Scope("nobody"), rows(3))
    assert texts(store, Scope("nobody")) == []
    assert store.reader().execute("SELECT count(*) FROM repository").fetchone() == before


def test_only_the_newest_are_kept_of_each_repository(store: SqliteStore) -> None:
    log = QueryLog(SqliteAside(store._connections), kept=5)
    log.add(OTHER, rows(4))
    for start in range(0, 12, 3):
        log.add(SCOPE, [ROW._replace(text=str(n)) for n in range(start, start + 3)])
        log.flush()
    log.close()
    assert texts(store) == ["11", "10", "9", "8", "7"]
    assert len(texts(store, OTHER)) == 4
    assert query_log.KEPT == 100_000


def test_rows_are_written_without_being_asked_for(store: SqliteStore) -> None:
    log = QueryLog(SqliteAside(store._connections), every_s=0.05)
    log.add(SCOPE, rows(1))
    assert store.reader().execute("SELECT count(*) FROM query_log").fetchone() == (0,)
    until = time.monotonic() + 5
    while texts(store) != ["q0"]:
        assert time.monotonic() < until
        time.sleep(0.01)
    log.close()


def test_closing_writes_what_waits(store: SqliteStore, tmp_path: Path) -> None:
    with closing(SqliteStore.open(tmp_path / "s.db")) as other:
        other.log_queries(SCOPE, rows(3))
    assert len(texts(store)) == 3
    other.log_queries(SCOPE, rows(2))
    assert other.queries_dropped == 2


def test_an_answer_does_not_wait_for_a_writer_and_no_row_is_lost(store: SqliteStore) -> None:
    with store.commit(SCOPE) as writer:
        writer.put(tree("b", ["Cats sleep."]))
        started = time.perf_counter()
        store.log_queries(SCOPE, rows(3))
        assert time.perf_counter() - started < 1
        assert texts(store) == []
        assert time.perf_counter() - started < 2
    assert texts(store) == ["q2", "q1", "q0"]
    assert store.queries_dropped == 0


def test_a_store_that_is_busy_when_it_is_closed_drops_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(SqliteStore.open(path)) as writing, closing(SqliteStore.open(path)) as asking:
        put(writing, tree("a", ["Owls."]))
        with writing.commit(SCOPE) as writer:
            writer.put(tree("b", ["Cats."]))
            asking.log_queries(SCOPE, rows(3))
            started = time.perf_counter()
            asking.close()
            assert time.perf_counter() - started < 2
        assert asking.queries_dropped == 3
        assert texts(writing) == []
        assert head(writing) == 2


def test_what_waits_is_bounded_and_the_oldest_goes_first(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_log, "MOST_WAITING", 4)
    with store.commit(SCOPE) as writer:
        writer.put(tree("b", ["Cats."]))
        store.log_queries(SCOPE, rows(3))
        store._queries.flush()
        store.log_queries(SCOPE, rows(3))
        assert store.queries_dropped == 2
    assert texts(store) == ["q2", "q1", "q0", "q2"]


def test_a_read_only_store_answers_and_drops(store: SqliteStore, tmp_path: Path) -> None:
    with closing(SqliteStore.open(f"sqlite:///{tmp_path}/s.db?mode=ro")) as reading:
        reading.log_queries(SCOPE, rows(2))
        assert texts(reading) == []
        assert reading.queries_dropped == 2


def test_a_log_that_cannot_be_written_is_no_error(store: SqliteStore) -> None:
    store._connections._writing.execute("DROP TABLE query_log")
    store.log_queries(SCOPE, rows(2))
    store._queries.flush()
    assert store.queries_dropped == 2


def test_many_threads_ask_beside_a_writer(store: SqliteStore) -> None:
    def ask(number: int) -> None:
        for each in range(50):
            store.log_queries(SCOPE, [ROW._replace(text=f"{number}-{each}")])
            if each % 10 == 0:
                store.query_log(SCOPE, None, 5)

    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(ask, n) for n in range(8)]
        for number in range(20):
            put(store, tree("w", [f"word{number}"]))
        for each in waiting:
            each.result()
    assert len(set(texts(store))) == 400
    assert store.queries_dropped == 0
    assert head(store) == 21


def test_a_log_changes_no_revision_and_no_answer(store: SqliteStore) -> None:
    tables = ("revision", "node", "passage", "link", "content", "term", "vector", "repository")

    def state() -> list[object]:
        db = store.reader()
        return [db.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in tables]

    before = state()
    store.log_queries(SCOPE, rows(100))
    assert len(texts(store)) == 100
    assert state() == before


def ask_for_ever(path: Path) -> None:
    store = SqliteStore.open(path)
    store._queries = QueryLog(SqliteAside(store._connections), every_s=0.001, kept=50)
    while True:
        store.log_queries(SCOPE, rows(7))
        time.sleep(0.0005)


def test_a_kill_leaves_a_sound_file(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(SqliteStore.open(path)) as store:
        put(store, tree("a", ["Owls."]))
    fork = multiprocessing.get_context("fork")
    for wait in (0.1, 0.15, 0.2, 0.25):
        child = fork.Process(target=ask_for_ever, args=(path,))
        child.start()
        time.sleep(wait)
        child.kill()
        child.join()
    with closing(SqliteStore.open(path)) as store:
        db = store.reader()
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert 0 < len(texts(store)) <= 50
        assert (head(store), put(store, tree("b", ["Cats."]))) == (1, 2)


def test_a_thread_that_cannot_be_had_is_no_error(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Timer, "start", refuse)
        store.log_queries(SCOPE, rows(1))
    assert texts(store) == ["q0"]


# --- the summary ---------------------------------------------------------------------------------


def test_a_summary_by_hand() -> None:
    made = [
        ROW._replace(at="2026-01-03", relevance=0.9, latency_ms=10, results=4, found_by_both=3,
                     dense_only=1, sparse_only=0),
        ROW._replace(at="2026-01-01", relevance=0.7, latency_ms=20, results=2, found_by_both=0,
                     dense_only=1, sparse_only=1, rerank="local"),
        ROW._replace(at="2026-01-02", text="mice", text_hash="h2", status="no_results",
                     relevance=None, latency_ms=30, results=0, found_by_both=0, dense_only=0),
        ROW._replace(text=None, text_hash="h3", status="low_confidence", relevance=0.2,
                     latency_ms=40, results=2, found_by_both=2, dense_only=0, kind="context"),
    ]  # fmt: skip
    summary = summarise(made)
    assert summary["count"] == 4
    assert (summary["since"], summary["until"]) == ("2026-01-01", "2026-01-03")
    assert summary["kinds"] == {"context": 1, "search": 3}
    assert summary["status"] == {"ok": 0.5, "low_confidence": 0.25, "no_results": 0.25}
    assert summary["sources"] == {"both": 0.625, "dense_only": 0.25, "sparse_only": 0.125}
    # 0.2, 0.7, 0.9: a tenth of the way from the first to the last is 0.2 + 0.2 × 0.5
    assert summary["relevance"] == {"mean": 0.6, "p10": 0.3, "p50": 0.7}
    assert summary["latency_ms"] == {"p50": 25.0, "p95": 38.5, "p99": 39.7}
    assert summary["latency_ms_by_rerank"] == {
        "local": {"count": 1, "p50": 20.0, "p95": 20.0, "p99": 20.0},
        "none": {"count": 3, "p50": 30.0, "p95": 39.0, "p99": 39.8},
    }
    assert summary["hot"][0] == {"query": "owls", "text_hash": "h1", "count": 2, "relevance": 0.8}
    assert [q["query"] for q in summary["hot"]] == ["owls", "mice", None]
    mice = {"query": "mice", "text_hash": "h2", "count": 1, "relevance": None}
    assert summary["no_results"] == {"count": 1, "queries": [mice]}
    assert summary["low_confidence"]["count"] == 1
    assert summary["low_confidence"]["queries"][0]["relevance"] == 0.2


def test_a_summary_of_nothing_has_the_same_shape() -> None:
    nothing, something = summarise([]), summarise([ROW])
    assert set(nothing) == set(something)
    assert (nothing["count"], nothing["hot"]) == (0, [])
    assert set(nothing["sources"].values()) == {None}
    assert set(nothing["relevance"].values()) == {None}
    assert set(nothing["latency_ms"].values()) == {None}


@given(
    st.lists(
        st.builds(
            lambda name, status, latency, relevance: ROW._replace(
                text_hash=name, status=status, latency_ms=latency, relevance=relevance
            ),
            st.sampled_from("abcdefghijklmno"),
            st.sampled_from(["ok", "low_confidence", "no_results"]),
            st.floats(0, 1e5),
            st.none() | st.floats(0, 1),
        )
    )
)
def test_a_summary_is_json_within_bounds_whatever_the_order(made: list[Asked]) -> None:
    summary = summarise(made)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summarise(made[::-1]) == summary
    if made:
        assert sum(summary["status"].values()) == pytest.approx(1, abs=1e-3)
        times = [row.latency_ms for row in made]
        assert min(times) - 0.01 <= summary["latency_ms"]["p50"] <= summary["latency_ms"]["p99"]
        assert summary["latency_ms"]["p99"] <= max(times) + 0.01
    assert len(summary["hot"]) <= 10
    counts = [q["count"] for q in summary["hot"]]
    assert counts == sorted(counts, reverse=True)


# --- through the engine and the command line -----------------------------------------------------


def engine_on(store: SqliteStore, **monitoring: bool) -> Engine:
    """Without models: `record` and `status` need none."""
    names = {"tenant": SCOPE.tenant, "organization": SCOPE.organization}
    settings = load(None, repository=SCOPE.repository, monitoring=monitoring, **names)
    return Engine(settings, store, None, None, Path("."))  # type: ignore[arg-type]


def test_the_engine_records_what_was_asked(store: SqliteStore) -> None:
    engine_on(store).record(answer(hit(0.7, dense_rank=1)), kind="agent", mode="dense")
    (row,) = store.query_log(SCOPE, None, 10)
    assert (row.text, row.kind, row.mode, row.relevance) == ("Owls?", "agent", "dense", 0.7)


def test_the_log_can_be_turned_off_and_the_words_left_out(store: SqliteStore) -> None:
    engine_on(store, log=False).record(answer(hit()))
    engine_on(store).unlogged().record(answer(hit()))
    assert texts(store) == []
    engine_on(store, query_text=False).record(answer(hit()))
    assert texts(store) == [None]
    with sqlite3.connect(store.path) as db:
        assert "Owls?" not in str(db.execute("SELECT * FROM query_log").fetchall())
    db.close()


def test_status_shows_how_questions_were_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCEBOOK_STORE", "sqlite:///s.db")
    monkeypatch.setenv("COLUMNS", "100")
    scope = Scope()
    with closing(SqliteStore.open("s.db")) as store:
        put(store, tree("a", ["Owls hunt mice."]), scope=scope)
        assert run(["status"]) == 0
        assert "questions        none yet" in capfd.readouterr().out
        store.log_queries(scope, [
            *rows(2, text_hash="same"),
            ROW._replace(text="\x1b[2J evil", text_hash="e", status="low_confidence"),
            ROW._replace(text="unicorns", text_hash="u", status="no_results", relevance=None,
                         results=0, found_by_both=0, dense_only=0, rerank="local"),
        ])  # fmt: skip
        store.query_log(scope, None, 1)
    assert run(["status"]) == 0
    out = capfd.readouterr().out
    for words in (
        "4 since 2026-01-01 00:00 UTC",
        "ok 50%, low confidence 25%, no results 25%",
        "both 50%, dense only 50%, sparse only 0%",
        "of the first hit: mean 0.50, p10 0.50, p50 0.50",
        "p50 12, p95 12, p99 12",
        "… local",
        "unicorns",
        "␛[2J evil",
    ):
        assert words in out
    assert "\x1b[2J" not in out
    assert run(["status", "--json"]) == 0
    queries = json.loads(capfd.readouterr().out)["queries"]
    assert (queries["count"], queries["logged"], queries["dropped"]) == (4, True, 0)
    monkeypatch.setenv("SOURCEBOOK_MONITORING__LOG", "false")
    assert run(["status", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["queries"]["logged"] is False
    monkeypatch.setenv("SOURCEBOOK_REPOSITORY", "other")
    assert run(["status"]) == 0
    assert "questions        not logged" in capfd.readouterr().out
