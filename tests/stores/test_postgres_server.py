"""What only a server can do: walls inside the database, many writers, connections that are lost."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from hashlib import md5
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

from sourcebook.bootstrap import open_store, shown
from sourcebook.errors import (
    Conflict,
    InvalidInput,
    StoreBusy,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
)
from sourcebook.model import Filter, PreparedQuery
from sourcebook.moving import copy
from sourcebook.ports import Within
from sourcebook.rating import rate
from sourcebook.stores import live
from sourcebook.stores.postgres import store as module
from sourcebook.stores.postgres.adapt import escaped, unescaped
from sourcebook.stores.postgres.migrate import ROLE, steps
from sourcebook.stores.postgres.session import Session
from sourcebook.stores.postgres.statements import STATEMENTS
from sourcebook.stores.postgres.store import PostgresStore
from sourcebook.stores.queries import QUERIES
from sourcebook.stores.sqlite import SqliteStore
from sourcebook.testing.embedding import WordEmbedder
from sourcebook.testing.surface import make_engine
from tests.postgres import empty
from tests.stores.conformance import OTHER, SCOPE, SPACE, bodies, head, put, tree, units
from tests.stores.leases import Clock, LeaseConformance

STRANGER = replace(SCOPE, tenant="evil")
OF_SEARCH = {
    "terms_of",
    "lane",
    "lane_columns",
    "lane_difference",
    "facet",
    "tokens",
    "vectors",
    "space_dimensions",
    "whole_space",
}
"""Of the embedded store's search: PostgreSQL's has statements of its own."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(postgres_url: str, clock: Clock) -> Iterator[PostgresStore]:
    opened = PostgresStore.open(postgres_url, busy_timeout=5, clock=clock)
    empty(postgres_url)
    yield opened
    opened.close()


def as_role(url: str, tenant: str | None, statement: str) -> list[tuple[Any, ...]]:
    """As the application's role, in a transaction of that tenant."""
    with psycopg.connect(url) as db:
        db.execute(f"SET search_path = sourcebook, public; SET ROLE {ROLE}".encode())
        if tenant is not None:
            db.execute("SELECT set_config('sourcebook.tenant', %s, true)", (tenant,))
        return db.execute(statement.encode()).fetchall()


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as db:
        rows = db.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'sourcebook'::regnamespace "
            "AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'format'"
        ).fetchall()
    return sorted(row[0] for row in rows)


class TestPostgresLeases(LeaseConformance, share=0.1):
    pass


def test_workers_that_claim_at_once_never_hold_the_same_text(postgres_url: str) -> None:
    """A claim of an earlier worker has run out for half of them."""
    stores = [PostgresStore.open(postgres_url, busy_timeout=20) for _ in range(6)]
    empty(postgres_url)
    put(stores[0], tree("a", [f"text {n}" for n in range(120)]))
    stores[0].register_space(SCOPE, SPACE)
    assert len(stores[0].claim(SCOPE, SPACE, "dead", 60, 0.001)) == 60
    ready = threading.Barrier(len(stores))

    def work(number: int) -> list[str]:
        ready.wait()
        held: list[str] = []
        while found := stores[number].claim(SCOPE, SPACE, f"w{number}", 7, 60):
            held += [text.text_hash for text in found]
        return held

    with ThreadPoolExecutor(len(stores)) as pool:
        held = [key for part in pool.map(work, range(len(stores))) for key in part]
    assert len(held) == len(set(held)) == 120
    for each in stores:
        each.close()


# --- walls ---------------------------------------------------------------------------------------


def test_a_query_without_where_sees_one_tenant_and_none_without_a_name(
    store: PostgresStore, postgres_url: str
) -> None:
    assert store.walled
    for scope, word in ((SCOPE, "ours"), (STRANGER, "theirs")):
        put(store, tree("a", [word]), scope=scope)
        store.register_space(scope, SPACE)
        (todo,) = store.pending(scope, SPACE)
        store.put_vectors(scope, SPACE, [todo.text_hash], units(1))
    filled = [t for t in tables(postgres_url) if _count(postgres_url, t) > 0]
    assert {"node", "passage", "embedding", "posting", "facet", "content", "space"} <= set(filled)
    for table in filled:
        seen = as_role(postgres_url, "acme", f"SELECT DISTINCT tenant FROM {table}")
        assert seen == [("acme",)], table
        assert as_role(postgres_url, None, f"SELECT 1 FROM {table}") == [], table
        assert as_role(postgres_url, "", f"SELECT 1 FROM {table}") == [], table
    assert bodies(store, 1) == {"ours"}


def _count(url: str, table: str) -> int:
    with psycopg.connect(url) as db:
        row = db.execute(f"SELECT count(*) FROM sourcebook.{table}".encode()).fetchone()
    return 0 if row is None else int(row[0])


def test_every_table_is_walled_and_the_role_cannot_pass(
    store: PostgresStore, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as db:
        walled = db.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relrowsecurity AND c.relforcerowsecurity "
            "AND c.relnamespace = 'sourcebook'::regnamespace AND NOT c.relispartition"
        ).fetchall()
        assert sorted(row[0] for row in walled) == tables(postgres_url)
        role = "SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = %s"
        assert db.execute(role, (ROLE,)).fetchone() == (False, False, False)
        owned = "SELECT count(*) FROM pg_class WHERE relowner = %s::regrole"
        assert db.execute(owned, (ROLE,)).fetchone() == (0,)


def test_a_row_of_another_tenant_cannot_be_written(store: PostgresStore, postgres_url: str) -> None:
    put(store, tree("a", ["ours"]))
    row = "INSERT INTO label VALUES ('evil', 1, 'x') RETURNING 1"
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        as_role(postgres_url, "acme", row)
    moved = "UPDATE node SET tenant = 'evil' RETURNING 1"
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        as_role(postgres_url, "acme", moved)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
        as_role(postgres_url, "acme", "SELECT 1 FROM node_0")


def test_keys_and_repositories_are_told_across_tenants_only_where_that_is_said(
    store: PostgresStore, postgres_url: str
) -> None:
    put(store, tree("a", ["x"]))
    put(store, tree("a", ["x"]), scope=STRANGER)
    assert [s.tenant for s in store.repositories()] == ["acme", "evil"]
    assert [s.tenant for s in store.repositories("evil")] == ["evil"]
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        told = "SELECT set_config('sourcebook.all_tenants', 'on', true)"
        as_role(postgres_url, "acme", f"{told}; UPDATE repository SET head = 9 RETURNING 1")


def test_a_user_who_may_make_no_role_is_walled_all_the_same(postgres_url: str) -> None:
    name = "sourcebook_plain"
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"CREATE ROLE {name} LOGIN")
        db.execute(f"CREATE DATABASE {name} OWNER {name}")
        plain = psycopg.conninfo.make_conninfo(postgres_url, dbname=name)
        with psycopg.connect(plain, autocommit=True) as own:
            own.execute("CREATE EXTENSION vector")
        try:
            opened = PostgresStore.open(psycopg.conninfo.make_conninfo(plain, user=name))
            put(opened, tree("a", ["ours"]))
            put(opened, tree("a", ["theirs"]), scope=STRANGER)
            assert opened.walled
            with opened._primary.reading("acme") as session:
                assert session.db.execute("SELECT tenant FROM passage").fetchall() == [("acme",)]
                assert session.db.execute("SELECT current_user").fetchone() == (name,)
            opened.close()
        finally:
            db.execute(f"DROP DATABASE {name} (FORCE)")
            db.execute(f"DROP ROLE {name}")


def test_a_user_with_the_rights_of_the_role_alone_can_do_the_work(
    store: PostgresStore, postgres_url: str
) -> None:
    """It owns nothing: what only the owner may do is left to the owner."""
    name = "sourcebook_login"
    put(store, tree("a", ["first"]))
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"CREATE ROLE {name} LOGIN IN ROLE {ROLE}")
        try:
            opened = PostgresStore.open(psycopg.conninfo.make_conninfo(postgres_url, user=name))
            assert opened.walled
            assert put(opened, tree("b", ["second"])) == 2
            assert bodies(opened, 2) == {"first", "second"}
            opened.register_space(SCOPE, SPACE)
            opened.tend(SCOPE)
            opened.vacuum()
            assert opened.storage()["bytes"] > 0
            opened.close()
        finally:
            db.execute(f"DROP ROLE {name}")


# --- writers -------------------------------------------------------------------------------------


def test_writers_wait_for_those_of_their_own_repository_alone(
    store: PostgresStore, postgres_url: str
) -> None:
    second = PostgresStore.open(postgres_url, busy_timeout=0.2)
    put(store, tree("z", ["before"]))
    with store.commit(SCOPE) as writer:
        writer.put(tree("a", ["first"]))
        assert put(second, tree("a", ["other"]), scope=OTHER) == 1
        assert put(second, tree("a", ["other"]), scope=STRANGER) == 1
        with pytest.raises(StoreBusy, match="another process is writing"):
            put(second, tree("b", ["second"]))
        second.register_space(OTHER, SPACE)
        assert head(second) == 1
    assert put(second, tree("b", ["second"])) == 3
    second.close()


def test_many_threads_make_a_serial_history(store: PostgresStore) -> None:
    def write(number: int) -> int:
        scope = (SCOPE, OTHER)[number % 2]
        return put(store, tree(f"d{number}", [f"word{number}"]), scope=scope)

    with ThreadPoolExecutor(8) as pool:
        made = sorted(pool.map(write, range(16)))
    assert made == sorted([*range(1, 9)] * 2)
    assert len(bodies(store, 8)) == 8


KILLED = """
import sys
from sourcebook.stores.postgres.store import PostgresStore
from tests.stores.conformance import SCOPE, put, tree
store = PostgresStore.open(sys.argv[1])
for n in range(10_000):
    made = tree("a", [f"{n} {m}" for m in range(n % 5 + 1)]), tree("b", [str(n)])
    print(put(store, *made), flush=True)
"""


def test_a_writer_that_is_killed_leaves_whole_revisions(
    store: PostgresStore, postgres_url: str
) -> None:
    for delay in (0.0, 0.013):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, postgres_url], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(5)]
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        told += [int(line) for line in child.stdout.read().split()]
        child.wait()
        assert told[-1] <= head(store) <= told[-1] + 1
        for revision in range(told[0], head(store) + 1):
            texts = sorted(bodies(store, revision))
            number = int(texts[0].split()[0])
            parts = {f"{number} {m}" for m in range(number % 5 + 1)}
            assert set(texts) == parts | {str(number)}
        assert put(store, tree("c", [f"after {delay}"])) == head(store)
        with store.commit(SCOPE) as writer:
            for element in ("a", "b", "c"):
                writer.end(element)


# --- connections ---------------------------------------------------------------------------------


def cut(url: str) -> None:
    """All connections of others to this database."""
    with psycopg.connect(url) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )


def test_a_connection_that_was_lost_is_made_anew(store: PostgresStore, postgres_url: str) -> None:
    put(store, tree("a", ["kept"]))
    with pytest.raises(StoreUnavailable, match="does not answer"), store.commit(SCOPE) as writer:
        writer.put(tree("b", ["lost"]))
        cut(postgres_url)
        writer.put(tree("c", ["lost too"]))
    assert head(store) == 1
    cut(postgres_url)
    assert bodies(store, 1) == {"kept"}
    assert put(store, tree("b", ["again"])) == 2


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    url = "postgresql://joe:secret@127.0.0.1:1/books"
    with pytest.raises(StoreUnavailable, match="127.0.0.1:1/books") as caught:
        open_store(url)
    assert "secret" not in str(caught.value)
    assert shown(url) == "postgresql://…@127.0.0.1:1/books"
    with pytest.raises(InvalidInput, match="postgresql://host/database") as refused:
        open_store("mysql://joe:secret@host/x")
    assert "secret" not in str(refused.value)


def test_a_database_that_is_not_there_is_named(postgres_url: str) -> None:
    url = make_conninfo(postgres_url, dbname="no_such_books")
    with pytest.raises(StoreUnavailable, match=r"no_such_books.* check .*the database, user"):
        PostgresStore.open(url)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that are run."""
    names: list[str] = []
    for name in ("run", "run_many"):
        real = getattr(Session, name)

        def counted(self: Session, statement: str, values: Any, real: Any = real) -> Any:
            names.append(statement)
            return real(self, statement, values)

        monkeypatch.setattr(Session, name, counted)
    return names


@pytest.fixture
def estimates(store: PostgresStore, postgres_url: str) -> Iterator[Callable[[str], int]]:
    """How many rows of tables the planner knows of: of none, at first."""
    with psycopg.connect(postgres_url, autocommit=True) as db:
        for table in ("passage", "node", "posting", "facet_value"):
            db.execute(f"TRUNCATE sourcebook.{table} CASCADE".encode())

        def known(tables: str) -> int:
            asked = (
                "SELECT sum(greatest(c.reltuples, 0))::int FROM pg_class c "
                "WHERE c.relkind = 'r' AND c.relname ~ %s"
            )
            (rows,) = db.execute(asked, (f"^({tables})(_[0-9])?$",)).fetchone() or (0,)
            return int(rows)

        yield known


def test_after_a_large_commit_the_planner_knows_of_it(
    store: PostgresStore, estimates: Callable[[str], int]
) -> None:
    put(store, *(tree(f"d{n}", [f"word{n}"]) for n in range(1000)))
    known = estimates("passage|node|posting|facet_value")
    assert known >= 1000 + 2000 + 1000 + 1001, "passages, nodes, terms, pairs"


def test_a_large_copy_is_known_to_the_planner_too(
    store: PostgresStore, estimates: Callable[[str], int], tmp_path: Path
) -> None:
    file = SqliteStore.open(tmp_path / "s.db")
    put(file, *(tree(f"d{n}", [f"word{n}"]) for n in range(1100)))
    copy(file, store)
    assert estimates("passage") >= 500
    file.close()


def test_the_planner_hears_of_a_repository_that_is_small_among_others(
    store: PostgresStore, postgres_url: str
) -> None:
    """Or it would take it for empty: all that is common was heard of."""
    put(store, *(tree(f"d{n}", [f"word{n} {m}" for m in range(700)]) for n in range(10)))
    for size in (300, 300):  # in commits that are small
        with store.commit(OTHER) as writer:
            for n in range(size):
                writer.put(tree(f"e{size}{n}{writer.revision}", [f"verb{n}"]))
    with psycopg.connect(postgres_url, options="-c search_path=sourcebook,public") as db:
        row = db.execute("SELECT max(number) FROM repository").fetchone()
        assert row is not None
        values = {"tenant": OTHER.tenant, "repository": row[0], "space": 1, "hashes": ["a", "b"]}
        plan = db.execute(f"EXPLAIN {STATEMENTS['claimed_texts']}".encode(), values).fetchall()
    assert "Filter: (text_hash" not in str(plan), "\n".join(line for (line,) in plan)


def test_a_locked_table_does_not_keep_the_planner_from_the_others(
    store: PostgresStore, postgres_url: str, estimates: Callable[[str], int]
) -> None:
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE sourcebook.facet_value IN SHARE UPDATE EXCLUSIVE MODE")
        put(store, *(tree(f"d{n}", [f"word{n}"]) for n in range(1000)))
        assert estimates("passage") >= 1000


def test_a_value_with_the_hash_of_another_one_stops_nobody(store: PostgresStore) -> None:
    known = "TEXTCOLLBYfGiJUETHQ4h{}cKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak"
    same = known.format("A"), known.format("E")
    assert len({md5(each.encode(), usedforsecurity=False).digest() for each in same}) == 1
    for n, value in enumerate(same):
        made = tree(f"d{n}", ["owl"])
        passages = tuple(replace(p, facets=(("tag", value),)) for p in made.passages)
        put(store, replace(made, passages=passages))
    query = PreparedQuery("", "", ("owl",))
    assert head(store) == 2
    assert len(store.sparse_search(SCOPE, query, 9, Within(2))) == 2
    found = [
        [m.element_id for m in store.sparse_search(SCOPE, query, 9, Within(2, filters=(wanted,)))]
        for wanted in (Filter("tag", (value,)) for value in same)
    ]
    assert found == [["d0"], []]


def test_quality_reads_a_document_once(store: PostgresStore, said: list[str]) -> None:
    put(store, tree("long", [f"Part {n} of a long text." for n in range(500)]))
    assert rate(store, SCOPE) == 501
    assert said.count("contents") == 1


def test_a_commit_is_made_whatever_becomes_of_what_the_planner_is_told(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise psycopg.errors.NumericValueOutOfRange("no")

    monkeypatch.setattr(module, "learn_sizes", fails)
    assert put(store, *(tree(f"d{n}", [f"word{n}"]) for n in range(1000))) == 1
    assert head(store) == 1


def test_messages_to_the_server_do_not_grow_with_documents(
    store: PostgresStore, tmp_path: Path, said: list[str]
) -> None:
    engine = make_engine(store, {"words": WordEmbedder()})
    lines = (json.dumps({"_id": f"d{n}", "text": f"Owl {n} hunts at night."}) for n in range(200))
    (tmp_path / "owls.jsonl").write_text("\n".join(lines))
    engine.ingest(tmp_path / "owls.jsonl", wait=False)
    assert len(said) < 60, Counter(said).most_common(5)
    first = len(said)
    (tmp_path / "owls.jsonl").write_text(
        (tmp_path / "owls.jsonl").read_text().replace("Owl", "Bat")
    )
    engine.ingest(tmp_path / "owls.jsonl", wait=False)
    assert len(said) - first < 60 + 3 * 200, "what was live of each is asked for"


def test_a_large_first_commit_asks_once_what_was_live(
    store: PostgresStore, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_MANY", 100)
    engine = make_engine(store, {"words": WordEmbedder()})
    lines = (json.dumps({"_id": f"d{n}", "text": f"Owl {n} hunts at night."}) for n in range(1000))
    (tmp_path / "owls.jsonl").write_text("\n".join(lines))
    engine.ingest(tmp_path / "owls.jsonl", wait=False)
    assert said.count("live_before") == 1
    batches = 4  # each is also compared with the store before the commit begins
    assert said.count("current") <= 2 + batches


def test_a_worker_wakes_when_somebody_commits(store: PostgresStore, postgres_url: str) -> None:
    other = PostgresStore.open(postgres_url)
    put(other, tree("a", ["first"]))
    stop = threading.Event()
    store.wait_for_work(0.01, stop)
    with ThreadPoolExecutor(1) as pool:
        start = time.monotonic()
        waiting = pool.submit(store.wait_for_work, 30, stop)
        time.sleep(0.1)
        put(other, tree("b", ["second"]))
        waiting.result()
        assert time.monotonic() - start < 10
        put(other, tree("c", ["told while nobody waits"]))
        store.wait_for_work(30, stop)
        assert time.monotonic() - start < 20
    stop.set()
    store.wait_for_work(30, stop)
    assert time.monotonic() - start < 20
    other.close()


# --- tables --------------------------------------------------------------------------------------


def test_a_newer_store_is_refused(store: PostgresStore, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("UPDATE sourcebook.format SET version = 99")
        try:
            with pytest.raises(StoreTooNew, match="format 99"):
                PostgresStore.open(postgres_url)
        finally:
            db.execute("UPDATE sourcebook.format SET version = %s", (max(steps()),))


def test_two_that_open_a_new_database_make_its_tables_once(postgres_url: str) -> None:
    name = "sourcebook_new"
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
        try:
            url = psycopg.conninfo.make_conninfo(postgres_url, dbname=name)
            with ThreadPoolExecutor(3) as pool:
                opened = list(pool.map(lambda _: PostgresStore.open(url), range(3)))
            assert [put(each, tree(f"d{n}", ["x"])) for n, each in enumerate(opened)] == [1, 2, 3]
            for each in opened:
                each.close()
        finally:
            db.execute(f"DROP DATABASE {name} (FORCE)")


def test_every_statement_has_its_twin() -> None:
    ours = {"alone", "add_facet_value", "facet_values", "drop_facet_values"}
    assert set(STATEMENTS) - ours == set(QUERIES) - OF_SEARCH


def test_what_an_index_entry_cannot_hold(store: PostgresStore) -> None:
    """A value that a filter matches may be long, a name may not."""
    long = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(5000))
    made = tree("a", ["words"])
    passage = replace(made.passages[0], facets=(("abstract", long),))
    put(store, replace(made, passages=(passage,)))
    with pytest.raises(InvalidInput, match="too long"):
        put(store, tree(long, ["words"]))
    assert head(store) == 1


def test_a_request_id_of_two_at_once_is_carried_out_once(store: PostgresStore) -> None:
    def write(number: int) -> object:
        try:
            with store.commit(SCOPE, request_id="same") as writer:
                writer.put(tree("a", [str(number)]))
        except Conflict as error:
            return error
        return writer.revision

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(write, range(4)))
    assert sum(isinstance(each, int) for each in made) == 1


def test_a_closed_store_says_so(postgres_url: str) -> None:
    opened = PostgresStore.open(postgres_url)
    opened.close()
    with pytest.raises(StoreError):
        head(opened)


@given(st.text("\0\1\2\3a", max_size=6), st.text("\0\1\2\3a", max_size=6))
def test_what_stands_for_a_nul_keeps_texts_apart_and_in_order(one: str, two: str) -> None:
    assert unescaped(escaped(one)) == one
    assert "\0" not in escaped(one)
    assert (escaped(one) < escaped(two)) == (one < two)


def test_tenants_that_differ_in_a_nul_are_two(store: PostgresStore, tmp_path: Path) -> None:
    """No new tenant is called so, but one may come from a store that is older."""
    older = SqliteStore.open(tmp_path / "older.db")
    put(older, tree("a", ["odd"]))
    with closing(sqlite3.connect(tmp_path / "older.db")) as db, db:
        db.execute("UPDATE repository SET tenant = ?", ("acme\0",))
    copy(older, store)
    older.close()
    put(store, tree("a", ["ours"]))
    assert bodies(store, 1) == {"ours"}
    assert [s.tenant for s in store.repositories()] == ["acme", "acme\0"]


def test_what_the_store_takes(store: PostgresStore) -> None:
    put(store, tree("a", ["red fox"] * 1 + [f"word{n}" for n in range(50)]))
    told = store.storage()
    tables = {each["table"]: each for each in told["tables"]}
    assert told["kind"] == "postgresql"
    assert {"passage", "posting", "embedding", "node"} <= tables.keys()
    assert tables["passage"]["bytes"] >= 8192 < tables["passage"]["index_bytes"]
    assert told["bytes"] == sum(t["bytes"] + t["index_bytes"] for t in told["tables"])
    assert told["slow"] is None


def test_a_search_goes_on_where_the_server_gives_no_second_connection(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = store._primary
    with pool.reading("a") as session:
        monkeypatch.setattr(pool, "_take", lambda: None)

        def refused() -> None:
            raise psycopg.OperationalError("sorry, too many clients already")

        monkeypatch.setattr(pool, "connect", refused)
        with session.another() as other:
            assert other is None
        monkeypatch.undo()
        with session.another() as other:
            assert other is not None
            assert (other.tenant, other.db is session.db) == ("a", False)
            assert other.db.execute("SELECT current_setting('sourcebook.tenant')").fetchone() == (
                "a",
            )
