"""`keys` on a real store: shown once, kept as a hash, gone when revoked."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcebook.access import authenticate
from sourcebook.errors import Unauthorized
from sourcebook.stores.sqlite import SqliteStore
from tests.serve.conftest import Cli

STORE = ".sourcebook/sourcebook.db"


def test_a_key_is_shown_exactly_once(folder: Path, cli: Cli) -> None:
    made = cli("keys", "create", "helpdesk", "--expires-in", "90d")
    assert made.status == 0
    key = made.out.split()[0]
    store = SqliteStore.open(STORE)
    assert authenticate(store, key).rights == "read"
    known = store.keys("default")[0]
    store.close()
    for args in (("keys", "list"), ("keys", "list", "--json"), ("status", "--json")):
        shown = cli(*args)
        assert (shown.status, shown.err) == (0, "")
        for hidden in (key, key.split("_")[2], known.hash):
            assert hidden not in shown.out
    assert f"until {known.expires_at[:10]}" in cli("keys", "list").out


def test_json_has_what_the_key_opens(folder: Path, cli: Cli) -> None:
    args = ("--repository", "b", "--repository", "a", "--role", "hr", "--json")
    made = cli("--tenant", "acme", "keys", "create", "joe", *args).data
    key = made.pop("key")
    assert key.startswith(f"sb_{made['id']}_")
    assert made | {"created_at": ""} == {
        "id": key.split("_")[1],
        "name": "joe",
        "tenant": "acme",
        "organization": "default",
        "repositories": ["a", "b"],
        "roles": ["hr"],
        "rights": "read",
        "created_at": "",
        "expires_at": None,
        "revoked_at": None,
        "last_used_at": None,
        "valid": True,
    }
    assert cli("--tenant", "acme", "keys", "list", "--json").data == {"keys": [made]}
    assert cli("keys", "list", "--json").data == {"keys": []}
    assert cli("keys", "create", "all", "--json").data["roles"] is None
    assert cli("keys", "create", "none", "--no-roles", "--json").data["roles"] == []


def test_a_repository_that_is_not_there_yet_is_said(folder: Path, cli: Cli) -> None:
    made = cli("keys", "create", "joe", "--repository", "default", "--repository", "defualt")
    assert "no repository 'defualt' yet" in made.out
    assert "'default'" not in made.out


def test_revoking_ends_it_and_no_other_tenant_can(folder: Path, cli: Cli) -> None:
    made = cli("keys", "create", "joe", "--json").data
    foreign = cli("--tenant", "acme", "keys", "revoke", made["id"], "--json")
    unknown = cli("--tenant", "acme", "keys", "revoke", "0" * 16, "--json")
    assert foreign.status == unknown.status == 1
    told = [each.data["error"]["message"] for each in (foreign, unknown)]
    assert told[0].replace(made["id"], "ID") == told[1].replace("0" * 16, "ID")
    assert cli("keys", "revoke", made["id"]).status == 0
    (known,) = cli("keys", "list", "--json").data["keys"]
    assert known["revoked_at"]
    assert not known["valid"]
    assert "revoked" in cli("keys", "list").out
    store = SqliteStore.open(STORE)
    with pytest.raises(Unauthorized):
        authenticate(store, made["key"])
    store.close()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("a\nb",), "control characters"),
        (("\x1b[2J",), "control characters"),
        (("joe", "--rights", "root"), "root"),
        (("joe", "--expires-in", "soon"), "90d"),
        (("joe", "--expires-in", "0d"), "100 years"),
        (("joe", "--role", "hr", "--no-roles"), "not both"),
        (("joe", "--role", "hr", "--rights", "write"), "limited to roles"),
        (("joe", "--repository", ""), "1 to 200"),
        ((), "NAME"),
    ],
)
def test_wrong_use_is_one_sentence(
    folder: Path, cli: Cli, args: tuple[str, ...], words: str
) -> None:
    refused = cli("keys", "create", *args)
    assert (refused.status, refused.out) == (2, "")
    assert words in refused.err
    assert refused.err.count("\n") == 1
    assert "\x1b" not in refused.err
    assert cli("keys", "list", "--json").data == {"keys": []}
