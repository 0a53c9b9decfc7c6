"""Keys are made, revoked and listed while a long commit holds the store's only write lock."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sourcebook import access
from sourcebook.access import Grant
from sourcebook.errors import Conflict, NotFound, Unauthorized
from sourcebook.model import Scope
from sourcebook.stores.sqlite import SqliteStore

SCOPE = Scope("acme", "o", "r")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def folder(path: Path) -> Path:
    return path.with_name("store.db-keys")


def test_a_key_is_revoked_at_once_while_a_commit_runs(path: Path) -> None:
    server, other = SqliteStore.open(path), SqliteStore.open(path)
    key, secret = access.create_key(server, SCOPE, Grant("k"))
    with server.commit(SCOPE):
        started = time.monotonic()
        revoked = other.revoke_key("acme", key.id)
        assert time.monotonic() - started < 5  # a commit is waited for twice as long
        assert revoked.revoked_at
        assert folder(path).stat().st_mode & 0o777 == 0o700
        for store in (server, other):
            with pytest.raises(Unauthorized):
                access.authenticate(store, secret)
            assert [each.revoked_at for each in store.keys("acme")] == [revoked.revoked_at]
        assert other.revoke_key("acme", key.id) == revoked
    access.create_key(other, SCOPE, Grant("l"))
    assert not folder(path).exists()
    assert other.key(key.id) == revoked


def test_a_key_is_made_and_revoked_while_a_commit_runs(path: Path) -> None:
    server, other = SqliteStore.open(path), SqliteStore.open(path)
    with server.commit(SCOPE):
        key, secret = access.create_key(other, SCOPE, Grant("k", roles=frozenset({"staff"})))
        assert access.authenticate(server, secret).key_id == key.id
        with pytest.raises(Conflict):
            other.add_key(key)
        with pytest.raises(NotFound):
            other.revoke_key("elsewhere", key.id)
        revoked = server.revoke_key("acme", key.id)
        assert server.keys("elsewhere") == []
    again = SqliteStore.open(path)
    assert again.key(key.id) == revoked
    access.create_key(again, SCOPE, Grant("l"))
    assert not folder(path).exists()
    assert {each.id for each in again.keys(None)} > {key.id}
    assert again.key(key.id) == revoked


def test_what_is_taken_in_twice_says_the_same(path: Path) -> None:
    """A process was killed between its commit and the removal of the file."""
    store = SqliteStore.open(path)
    key, _ = access.create_key(store, SCOPE, Grant("k"))
    revoked = store.revoke_key("acme", key.id)
    store._connections.pending_keys.keep(revoked)
    access.create_key(store, SCOPE, Grant("l"))
    assert store.key(key.id) == revoked
    assert len(store.keys(None)) == 2


def test_a_change_is_taken_in_by_the_commit_that_it_did_not_wait_for(path: Path) -> None:
    server, other = SqliteStore.open(path), SqliteStore.open(path)
    key, _ = access.create_key(server, SCOPE, Grant("k"))
    with server._connections.transaction():
        other.revoke_key("acme", key.id)
        assert folder(path).exists()
    assert not folder(path).exists()
    assert server.key(key.id).revoked_at  # type: ignore[union-attr]
