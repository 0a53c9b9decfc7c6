"""A store copied into another one, by way of a file or not: equal to the last row, or refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sourcebook import moving, portable
from sourcebook.errors import Conflict, InvalidInput, NotFound, StoreError
from sourcebook.model import ApiKey, PreparedQuery, ReadContext, Scope
from sourcebook.moving import Came, copy, described, pages, total
from sourcebook.ports import Asked, Spent, Store, Within
from sourcebook.stores.postgres.store import PostgresStore
from sourcebook.stores.sqlite import SqliteStore
from tests.postgres import empty
from tests.stores.conformance import (
    SCOPE,
    SPACE,
    bodies,
    everything,
    put,
    tree,
    units,
)

KEY = ApiKey("k1", "h", "joe", "acme", "research", ("papers",), frozenset({"a"}), "read", "2026")
ASKED = Asked("2026", "search", "red?", "h", 3, "hybrid", "late", "ok", 0.5, 3, 1, 1, 1, 9, 1.25)
STRANGE = replace(SCOPE, tenant="evil")


def written(store: Store) -> Store:
    """Three revisions, one of them dropped, in two repositories of two tenants."""
    put(store, tree("a", ["red fox", "nul \0 \1", "gone soon"], metadata={"visibility": "board"}))
    put(store, tree("a", ["red fox", "nul \0 \1"]), tree("b", ["blue sky"], context="above"))
    put(store, tree("c", ["green 漢字"]), message="third")
    put(store, tree("a", ["of another"]), scope=STRANGE)
    store.create_baseline(SCOPE, "v1", 2)
    store.publish(SCOPE, "v1")
    store.retain(SCOPE, 2)
    store.register_space(SCOPE, SPACE)
    todo = store.pending(SCOPE, SPACE)
    coded = [bytes([n]) * 84 for n in range(len(todo))]
    hashes = [each.text_hash for each in todo]
    spent = Spent("one", 1.5, 7, None)
    store.put_vectors(SCOPE, SPACE, hashes, units(len(todo)), coded, spent)
    store.put_quality(SCOPE, "q1", {store.nodes(SCOPE, 3)[0].version_id: {"overall": 0.25}})
    store.keep_generated(SCOPE, {"key": "an answer"})
    store.log_queries(SCOPE, [ASKED])
    store.query_log(SCOPE, None, 1)
    store.add_key(KEY)
    with store.commit(SCOPE, request_id="r1") as writer:
        writer.result = {"nothing": "changed"}
    return store


def digest(store: Store, scope: Scope) -> str:
    whole = described(store, scope)
    came = Came(whole.head)
    for table, page in pages(store, whole):
        came.add(table, page)
    return total(came.digests)


def answers(store: Store) -> dict[str, Any]:
    """What readers are told, but for the numbers of passages."""
    query = PreparedQuery("", "", ("red", "sky", "漢字"))
    found: dict[str, Any] = {}
    for revision in (2, 3):
        within = Within(revision)
        dense = store.dense_search(SCOPE, SPACE, units(1)[0], 9, within).matches
        sparse = store.sparse_search(SCOPE, query, 9, within)
        found[f"{revision}"] = (
            everything(store, revision),
            [(m.node_id, m.score) for m in dense],
            [(m.node_id, m.score) for m in sparse],
        )
    found["log"] = store.log(SCOPE)
    found["baselines"] = store.baselines(SCOPE)
    found["default"] = store.resolve(SCOPE, ReadContext("default"))
    found["request"] = store.request(SCOPE, "r1")
    found["keys"] = store.keys(None)
    found["asked"] = store.query_log(SCOPE, None, 9)
    found["spending"] = store.index_health(SCOPE, SPACE).spending
    found["repositories"] = store.repositories()
    return found


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "first.db")
    yield opened
    opened.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "second.db")
    yield opened
    opened.close()


@pytest.fixture
def server(postgres_url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore.open(postgres_url)
    empty(postgres_url)
    yield opened
    opened.close()


def test_there_and_back(file: SqliteStore, server: PostgresStore, other: SqliteStore) -> None:
    written(file)
    there = copy(file, server)
    assert [c.scope for c in there] == [SCOPE, STRANGE]
    assert answers(server) == answers(file)
    back = copy(server, other)
    assert answers(other) == answers(file)
    assert [c.digest for c in there] == [digest(file, scope) for scope in (SCOPE, STRANGE)]
    assert [c.digest for c in back] == [c.digest for c in there]
    (passages,) = file.reader().execute("SELECT count(*) FROM passage").fetchone()
    assert there[0].rows["passage"] + there[1].rows["passage"] == passages
    for store in (server, other):
        assert put(store, tree("d", ["red again"])) == 4
        assert "red again" in bodies(store, 4)
        assert store.sparse_search(SCOPE, PreparedQuery("", "", ("red",)), 9, Within(4))[0]


def test_a_copy_that_was_stopped_goes_on(
    file: SqliteStore, server: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(file)
    monkeypatch.setattr(moving, "_PAGE", 2)
    steps = 0

    class Stopped(Exception): ...

    def stop(scope: Scope, table: str, rows: int) -> None:
        nonlocal steps
        steps += 1
        if steps % 7 == 0:
            raise Stopped

    for tries in range(50):
        try:
            made = copy(file, server, stop)
            break
        except Stopped:
            assert server.repositories() == [] or tries
            put(file, tree("later", [f"while it is copied {tries}"]))
    else:
        pytest.fail("it does not come to an end")
    assert steps > 20
    assert made[-1].resumed
    assert server.resolve(SCOPE, ReadContext()).revision == 3
    assert everything(server, 3) == everything(file, 3)
    assert server.counts(SCOPE, 3) == file.counts(SCOPE, 3)


@pytest.mark.parametrize("target", ["other", "server"])
def test_nothing_is_seen_before_all_is_there(
    file: SqliteStore, target: str, request: pytest.FixtureRequest
) -> None:
    written(file)
    copied: Store = request.getfixturevalue(target)

    def look(scope: Scope, table: str, rows: int) -> None:
        assert copied.resolve(scope, ReadContext()).revision == 0
        assert bodies(copied, 0) == set()
        assert copied.log(scope) == []
        assert copied.baselines(scope) == []
        assert copied.resolve(scope, ReadContext("as_of", "9999-01-01")).revision == 0
        with pytest.raises(NotFound, match="no baseline"):
            copied.resolve(scope, ReadContext("baseline", "v1"))

    copy(file, copied, look)
    assert bodies(copied, 3) == bodies(file, 3)
    assert copied.log(SCOPE) == file.log(SCOPE)
    assert copied.baselines(SCOPE) == file.baselines(SCOPE)


def test_what_is_there_stays(file: SqliteStore, other: SqliteStore) -> None:
    written(file)
    assert len(copy(file, other)) == 2
    assert copy(file, other) == []
    put(other, tree("mine", ["written here"]))
    with pytest.raises(Conflict, match="is there already"):
        copy(file, other)


def test_a_copy_that_is_not_the_same_is_not_shown(file: SqliteStore, other: SqliteStore) -> None:
    written(file)

    def spoil(scope: Scope, table: str, rows: int) -> None:
        if table == "vector":
            with other._connections.transaction() as db:
                db.execute("UPDATE node SET title = 'wrong' WHERE element_id = 'b'")

    with pytest.raises(StoreError, match="node of 'b' does not match its checksum"):
        copy(file, other, spoil)
    assert other.repositories() == []


def test_a_file_and_back(
    file: SqliteStore, server: PostgresStore, other: SqliteStore, tmp_path: Path
) -> None:
    written(server)
    archive = tmp_path / "all.gz"
    dumped = portable.dump(server, archive)
    loaded = portable.load(archive, other)
    assert [(c.scope, c.digest) for c in loaded] == [(c.scope, c.digest) for c in dumped]
    assert answers(other) == answers(server)
    assert portable.load(archive, other) == []
    portable.load(archive, file)
    assert answers(file) == answers(server)


def test_a_load_that_was_stopped_goes_on(
    file: SqliteStore, other: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(file)
    archive = tmp_path / "all.gz"
    portable.dump(file, archive)
    monkeypatch.setattr(portable, "_PAGE", 2)
    steps = 0

    def stop(scope: Scope, table: str, rows: int) -> None:
        nonlocal steps
        steps += 1
        if steps % 9 == 0:
            raise KeyboardInterrupt

    made: list[moving.Copied] = []
    while not made:
        try:
            made = portable.load(archive, other, stop)
        except KeyboardInterrupt:
            assert steps < 500
    assert answers(other) == answers(file)


@pytest.mark.parametrize("harm", ["cut", "word", "row", "format", "plain"])
def test_a_damaged_archive_is_refused(
    file: SqliteStore, other: SqliteStore, tmp_path: Path, harm: str
) -> None:
    written(file)
    archive = tmp_path / "all.gz"
    portable.dump(file, archive)
    lines = gzip.decompress(archive.read_bytes()).decode().splitlines()
    data = archive.read_bytes()
    if harm == "cut":
        data = data[: len(data) // 2]
    elif harm == "plain":
        data = b"no archive"
    else:
        if harm == "word":
            at = next(n for n, line in enumerate(lines) if "blue sky" in line)
            lines[at] = lines[at].replace("blue sky", "blue sea")
        elif harm == "row":
            del lines[next(n for n, x in enumerate(lines) if json.loads(x).get("table") == "link")]
        else:
            lines[0] = '{"format": "sourcebook archive 99"}'
        data = gzip.compress("\n".join(lines).encode())
    archive.write_bytes(data)
    with pytest.raises(InvalidInput, match="archive"):
        portable.load(archive, other)
    assert SCOPE not in other.repositories()


def test_the_digest_of_rows_by_hand() -> None:
    from hashlib import sha256

    one = sha256(b'[1,"a",{"base64":"AA=="}]').hexdigest()
    two = sha256(f"{one}[2,null,[]]".encode()).hexdigest()
    rows = [moving.Moved((7,), (1, "a", b"\0")), moving.Moved((9,), (2, None, []))]
    assert moving.chained("", rows) == two
    assert moving.chained(moving.chained("", rows[:1]), rows[1:]) == two
