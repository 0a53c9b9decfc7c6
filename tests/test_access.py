"""Keys: what they open, and that nothing is told to those who have none."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook import access
from sourcebook.access import Grant, authenticate, create_key, parse_duration, readable, scope_for
from sourcebook.errors import Forbidden, InvalidInput, NotFound, SourcebookError, Unauthorized
from sourcebook.model import Caller, Scope
from sourcebook.stores import keys as stored_keys
from sourcebook.stores.sqlite import SqliteStore
from sourcebook.stores.statements import SqliteStatements
from tests.stores.conformance import put, tree

ACME = Scope("acme", "research", "papers")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "store.db", busy_timeout=5)
    yield opened
    opened.close()


def made(store: SqliteStore, name: str = "joe", **grant: Any) -> tuple[str, str]:
    """The id and the key."""
    key, text = create_key(store, ACME, Grant(name, **grant), NOW)
    return key.id, text


def caller(**changes: Any) -> Caller:
    return replace(Caller("acme", "research", None, None, "read", "k"), **changes)


# --- a key ---------------------------------------------------------------------------------------


def test_a_key_says_who_asks(store: SqliteStore) -> None:
    key_id, key = made(store, repositories=("b", "a"), roles=frozenset({"hr"}))
    assert authenticate(store, key, NOW) == Caller(
        "acme", "research", frozenset({"a", "b"}), frozenset({"hr"}), "read", key_id
    )


def test_a_key_has_256_random_bits_of_which_only_the_hash_is_kept(store: SqliteStore) -> None:
    made_keys = [made(store) for _ in range(20)]
    secrets = {key.split("_")[2] for _, key in made_keys}
    assert len(secrets) == len({key_id for key_id, _ in made_keys}) == 20
    assert all(len(bytes.fromhex(secret)) == 32 for secret in secrets)
    key_id, key = made_keys[0]
    assert store.key(key_id).hash == hashlib.sha256(key.split("_")[2].encode()).hexdigest()
    everything = b"".join(p.read_bytes() for p in store.path.parent.iterdir())
    assert not any(secret.encode() in everything for secret in secrets)


def test_a_key_is_shown_without_its_hash(store: SqliteStore) -> None:
    key_id, _ = made(store)
    known = store.key(key_id)
    assert known.hash not in repr(known)


def wrong_keys(store: SqliteStore) -> list[str]:
    good_id, good = made(store)
    other_id, other = made(store)
    secret, other_secret = good.split("_")[2], other.split("_")[2]
    gone_id, gone = made(store)
    store.revoke_key("acme", gone_id)
    short = made(store, lasts=timedelta(days=1))[1]
    return [
        "", "sb", "sb__", good[:-1], good + "0", good + "\n", " " + good, good.upper(),
        good.replace("sb", "SB"), f"sb_{good_id}_{store.key(good_id).hash}",
        f"sb_{good_id}_{other_secret}", f"sb_{other_id}_{secret}", f"sb_{'0' * 16}_{secret}",
        f"sb_{'0' * 16}_{'0' * 64}", f"sb_{good_id}_{'0' * 64}",
        "sb_' OR 1=1 --_x", "sb_" + "\u0660" * 16 + "_" + secret, "\ud800", "x" * 10_000_000,
        gone, short,
    ]  # fmt: skip


def test_every_key_that_does_not_hold_gets_one_and_the_same_answer(store: SqliteStore) -> None:
    later = NOW + timedelta(days=2)
    told = set()
    for key in wrong_keys(store):
        with pytest.raises(Unauthorized) as caught:
            authenticate(store, key, later)
        error = caught.value
        told.add((str(error), error.code, error.field, error.exit_status))
    assert told == {
        (
            "The key is not valid; ask whoever runs this Sourcebook for one that is.",
            "unauthorized",
            None,
            2,
        )
    }


@given(st.text(max_size=120))
def test_no_text_is_a_key_by_chance(text: str) -> None:
    class Empty:
        def key(self, _: str) -> None:
            return None

    with pytest.raises(Unauthorized):
        authenticate(Empty(), text)  # type: ignore[arg-type]


def test_a_key_expires_at_its_moment_and_not_before(store: SqliteStore) -> None:
    _, key = made(store, lasts=timedelta(hours=1))
    end = NOW + timedelta(hours=1)
    assert authenticate(store, key, end - timedelta(microseconds=1))
    with pytest.raises(Unauthorized):
        authenticate(store, key, end)


def test_a_key_is_revoked_while_it_is_used(store: SqliteStore, tmp_path: Path) -> None:
    """By another process, whose store has its own connections; from one request to the next."""
    key_id, key = made(store)
    assert authenticate(store, key, NOW)
    other = SqliteStore.open(tmp_path / "store.db")
    first = other.revoke_key("acme", key_id)
    with pytest.raises(Unauthorized):
        authenticate(store, key, NOW)
    assert other.revoke_key("acme", key_id).revoked_at == first.revoked_at
    other.close()


def test_secrets_are_compared_in_constant_time(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where there is no such key: whether an id exists must not show in the time."""
    compared: list[tuple[str, str]] = []
    real = hmac.compare_digest

    def watched(one: str, other: str) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(access.hmac, "compare_digest", watched)
    key_id, key = made(store)
    authenticate(store, key, NOW)
    with pytest.raises(Unauthorized):
        authenticate(store, f"sb_{'0' * 16}_{'1' * 64}", NOW)
    assert [len(one) == len(other) == 64 for one, other in compared] == [True, True]
    assert compared[0] == (store.key(key_id).hash,) * 2


@pytest.mark.parametrize(
    "name",
    ["", " joe", "\u3164", "joe ", "a\nb", "\x1b[31mred", "\u202ejoe", "\0", "x" * 201, "\u2028"],
)
def test_names_that_could_deceive_are_refused(store: SqliteStore, name: str) -> None:
    for grant in (
        Grant(name), Grant("a", repositories=(name,)), Grant("a", roles=frozenset({name}))
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as caught:
            create_key(store, ACME, grant)
        assert "control characters" in str(caught.value)
        assert str(caught.value).isprintable()
    assert store.keys("acme") == []


def test_half_a_character_is_refused_too(store: SqliteStore) -> None:
    with pytest.raises(InvalidInput):
        create_key(store, ACME, Grant("joe\ud800"))


def test_a_key_that_is_limited_to_roles_only_reads(store: SqliteStore) -> None:
    for rights in ("write", "admin"):
        with pytest.raises(InvalidInput, match="limited to roles"):
            create_key(store, ACME, Grant("joe", roles=frozenset(), rights=rights))
    with pytest.raises(InvalidInput, match="rights are"):
        create_key(store, ACME, Grant("joe", rights="root"))  # type: ignore[arg-type]


def test_durations() -> None:
    assert parse_duration("90d") == timedelta(days=90)
    assert parse_duration(" 2w ") == timedelta(weeks=2)
    assert parse_duration("45s") == timedelta(seconds=45)
    for text in ("", "d", "90", "-1d", "1.5h", "1y", "9" * 11 + "d", "\u0669d", "1d1d"):
        with pytest.raises(InvalidInput, match="90d"):
            parse_duration(text)


@pytest.mark.parametrize("text", ["0s", "36501d", "9999999999w"])
def test_a_life_is_neither_nothing_nor_for_ever(store: SqliteStore, text: str) -> None:
    with pytest.raises(InvalidInput, match="100 years"):
        create_key(store, ACME, Grant("joe", lasts=parse_duration(text)))


# --- what it opens -------------------------------------------------------------------------------


def test_a_repository_that_may_not_be_read_is_not_there(store: SqliteStore) -> None:
    put(store, tree("a", ["Red fox."]), scope=ACME)
    put(store, tree("a", ["Red fox."]), scope=replace(ACME, organization="sales"))
    put(store, tree("a", ["Red fox."]), scope=replace(ACME, tenant="umbrella"))
    limited = caller(repositories=frozenset({"other", "missing"}))

    def told(who: Caller, name: str, right: Any = "read") -> tuple[str, str, str | None]:
        with pytest.raises(NotFound) as caught:
            scope_for(store, who, name, right)
        return str(caught.value).replace(name, "NAME"), caught.value.code, caught.value.field

    hidden = told(limited, "papers")
    assert hidden == told(limited, "missing") == told(limited, "nothing")
    assert hidden == told(caller(), "missing")
    assert hidden == told(caller(tenant="nobody"), "papers")
    assert hidden == told(limited, "papers", "write")
    assert hidden == told(caller(repositories=frozenset()), "papers", "admin")
    for name in ("PAPERS", "papers ", "papers\0", "pap\u0435rs"):
        assert told(caller(), name)[1] == "not_found"


def test_names_are_compared_code_point_by_code_point(store: SqliteStore) -> None:
    for name in (COMPOSED, "Case"):
        put(store, tree("a", ["Red fox."]), scope=replace(ACME, repository=name))
    only = caller(repositories=frozenset({COMPOSED, "Case"}))
    assert scope_for(store, only, COMPOSED).repository == COMPOSED
    for name in (DECOMPOSED, "case", "CASE"):
        with pytest.raises(NotFound):
            scope_for(store, only, name)
        with pytest.raises(NotFound):
            readable(store, ACME, only, [name])
    put(store, tree("a", ["Secret."]), scope=replace(ACME, repository=DECOMPOSED))
    with pytest.raises(NotFound):
        scope_for(store, only, DECOMPOSED)
    assert [s.repository for s in readable(store, ACME, only, None)] == ["Case", COMPOSED]


def test_rights(store: SqliteStore) -> None:
    put(store, tree("a", ["Red fox."]), scope=ACME)
    allowed = {
        (has, wants)
        for has in ("read", "write", "admin")
        for wants in ("read", "write", "admin")
        if _may(store, has, wants)
    }
    assert allowed == {
        ("read", "read"), ("write", "read"), ("write", "write"),
        ("admin", "read"), ("admin", "write"), ("admin", "admin"),
    }  # fmt: skip


def _may(store: SqliteStore, has: Any, wants: Any) -> bool:
    try:
        scope_for(store, caller(rights=has), "papers", wants)
    except Forbidden:
        return False
    return True


def test_a_writer_may_name_a_new_repository_among_its_own(store: SqliteStore) -> None:
    writer = caller(rights="write", repositories=frozenset({"new"}))
    assert scope_for(store, writer, "new", "write") == replace(ACME, repository="new")
    with pytest.raises(NotFound):
        scope_for(store, writer, "new")


def test_a_scope_carries_the_roles(store: SqliteStore) -> None:
    put(store, tree("a", ["Red fox."]), scope=ACME)
    roles = frozenset({"hr"})
    assert scope_for(store, caller(roles=roles), "papers") == replace(ACME, roles=roles)
    assert readable(store, ACME, caller(roles=roles), None) == [replace(ACME, roles=roles)]
    assert readable(store, replace(ACME, roles=roles), None, None) == [replace(ACME, roles=roles)]


_NAMES = ("a", "b", "B", COMPOSED, DECOMPOSED)


@given(
    held=st.sets(st.tuples(st.sampled_from("xy"), st.sampled_from("mn"), st.sampled_from(_NAMES))),
    allowed=st.none() | st.frozensets(st.sampled_from(_NAMES)),
    asked=st.none() | st.lists(st.sampled_from(_NAMES), max_size=3),
)
def test_no_list_ever_holds_what_is_not_the_callers(
    held: set[tuple[str, str, str]], allowed: frozenset[str] | None, asked: list[str] | None
) -> None:
    class Held:
        def repositories(self, tenant: str | None = None) -> list[Scope]:
            return [Scope(*each) for each in sorted(held) if tenant in (None, each[0])]

    who = Caller("x", "m", allowed, None, "read", "k")
    mine = {n for t, o, n in held if (t, o) == ("x", "m") and (allowed is None or n in allowed)}
    try:
        found = readable(Held(), Scope("y", "n"), who, asked)  # type: ignore[arg-type]
    except NotFound:
        assert asked is not None
        assert not set(asked) <= mine
        return
    names = [scope.repository for scope in found]
    assert {(s.tenant, s.organization) for s in found} <= {("x", "m")}
    assert names == sorted(mine if asked is None else set(asked))
    assert set(names) <= mine


# --- when it was used ----------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(tmp_path: Path, clock: Clock) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "timed.db", clock=clock, busy_timeout=5)
    yield opened
    opened.close()


def used(store: SqliteStore) -> str | None:
    return store.keys("acme")[0].last_used_at


def test_the_last_use_is_written_once_a_minute(timed: SqliteStore, clock: Clock) -> None:
    _, key = made(timed)
    assert used(timed) is None
    seen = []
    for seconds in (0, 1, 59, 60, 61, 119, 121):
        clock.now = NOW + timedelta(seconds=seconds)
        authenticate(timed, key, clock.now)
        seen.append(used(timed))
    stamps = [None if s is None else datetime.fromisoformat(s) - NOW for s in seen]
    assert [s.total_seconds() for s in stamps if s is not None] == [0, 0, 0, 60, 60, 60, 121]


def test_within_a_minute_nobody_even_tries_to_write(
    timed: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_id, _ = made(timed)
    written: list[dict[str, datetime]] = []
    monkeypatch.setattr(timed._uses, "_write", written.append)
    for seconds in (0, 1, 59, 60, 61):
        clock.now = NOW + timedelta(seconds=seconds)
        timed.touch_key(key_id)
        timed._uses.flush()
    assert written == [{key_id: NOW}, {key_id: NOW + timedelta(seconds=60)}]


def test_two_processes_together_write_once_a_minute(
    timed: SqliteStore, clock: Clock, tmp_path: Path
) -> None:
    key_id, _ = made(timed)
    later = Clock()
    later.now = NOW + timedelta(seconds=30)
    other = SqliteStore.open(tmp_path / "timed.db", clock=later)
    timed.touch_key(key_id)
    assert used(timed) == "2026-03-01T12:00:00.000000+00:00"
    other.touch_key(key_id)
    assert used(other) == "2026-03-01T12:00:00.000000+00:00"
    other.close()


def test_many_threads_at_once_leave_one_use(timed: SqliteStore) -> None:
    _, key = made(timed)
    with ThreadPoolExecutor(16) as threads:
        callers = list(threads.map(lambda _: authenticate(timed, key, NOW), range(400)))
    assert len(set(callers)) == 1
    assert used(timed) == "2026-03-01T12:00:00.000000+00:00"
    assert timed._uses._waiting == {}


def test_a_use_waits_for_no_writer(timed: SqliteStore) -> None:
    """Somebody commits for a long time: whoever comes with a key is let in meanwhile."""
    _, key = made(timed)
    entered, leave = threading.Event(), threading.Event()

    def write() -> None:
        with timed.commit(ACME) as writer:
            writer.put(tree("a", ["Red fox."]))
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=write)
    thread.start()
    assert entered.wait(10)
    started = time.perf_counter()
    assert authenticate(timed, key, NOW)
    took = time.perf_counter() - started
    assert used(timed) is None  # it could not be written, and nobody was told so
    leave.set()
    thread.join()
    assert took < 1


def test_a_use_is_written_without_being_asked_for(timed: SqliteStore) -> None:
    _, key = made(timed)
    authenticate(timed, key, NOW)
    deadline = time.monotonic() + 10
    while stored_keys.of_tenant(SqliteStatements(timed.reader()), "acme")[0].last_used_at is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_store_that_cannot_be_written_still_lets_in(timed: SqliteStore, tmp_path: Path) -> None:
    key_id, key = made(timed)
    timed.close()
    reading = SqliteStore.open(f"sqlite:///{tmp_path}/timed.db?mode=ro")
    assert authenticate(reading, key, NOW).key_id == key_id
    reading.close()
    with pytest.raises(SourcebookError):
        authenticate(reading, key, NOW)
