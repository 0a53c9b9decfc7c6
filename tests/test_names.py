"""Which names a new tenant, organization or repository may have; old ones stay readable."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from sourcebook.access import Grant, create_key
from sourcebook.errors import InvalidInput
from sourcebook.model import Scope
from sourcebook.moving import copy
from sourcebook.names import LONGEST, check_name
from sourcebook.serve.cli import run
from sourcebook.stores.sqlite import SqliteStore
from tests.stores.conformance import put, tree

BAD = {
    "nothing": "",
    "blanks": "   ",
    "a blank before": " a",
    "a blank after": "a ",
    "NUL": "a\0b",
    "a new line": "a\nb",
    "a carriage return": "a\rb",
    "escape": "\x1b[31mred",
    "C1": "a\x85b",
    "right to left": "a\u202eb",
    "isolate": "a\u2066b",
    "zero width": "a\u200bb",
    "joiner": "a\u200db",
    "byte order": "\ufeffa",
    "soft hyphen": "a\u00adb",
    "no-break space": "a\u00a0b",
    "line separator": "a\u2028b",
    "Hangul filler": "\u3164",
    "another filler": "a\u115fb",
    "Braille blank": "\u2800",
    "variation": "a\ufe0fb",
    "a tag": "a\U000e0041b",
    "half a character": "a\ud800",
    "private": "a\ue000",
    "too long": "a" * (LONGEST + 1),
}


@pytest.mark.parametrize("name", BAD.values(), ids=BAD)
def test_a_name_that_cannot_be_seen_whole_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="1 to 200 characters") as caught:
        check_name(name, "repository")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a", "eval-my set", "Büro №7", "帳簿", "a" * LONGEST, "x/y:z@1"])
def test_other_names_are_accepted(name: str) -> None:
    check_name(name, "repository")


def test_no_category_of_invisible_characters_is_accepted() -> None:
    accepted = [
        chr(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        and _accepts(f"a{chr(code)}b")
    ]
    assert accepted == []


def _accepts(name: str) -> bool:
    try:
        check_name(name, "repository")
    except InvalidInput:
        return False
    return True


@pytest.fixture
def odd(tmp_path: Path) -> SqliteStore:
    """A store from before names were checked."""
    file = tmp_path / "old.db"
    with closing(SqliteStore.open(file)) as store:
        put(store, tree("a", ["red"]), scope=Scope("acme", "research", "papers"))
    with sqlite3.connect(file) as db:
        db.execute("UPDATE repository SET name = ?", ("two\nlines",))
    db.close()
    return SqliteStore.open(file)


def test_a_store_that_has_such_a_name_already_stays_usable(
    odd: SqliteStore, tmp_path: Path
) -> None:
    scope = Scope("acme", "research", "two\nlines")
    assert odd.repositories() == [scope]
    assert [node.id for node in odd.nodes(scope, 1, kind="document")] == ["a"]
    assert put(odd, tree("b", ["blue"]), scope=scope) == 2
    with closing(SqliteStore.open(tmp_path / "new.db")) as other:
        copy(odd, other)
        assert other.repositories() == [scope]
    with pytest.raises(InvalidInput):
        put(odd, tree("b", ["blue"]), scope=replace(scope, repository="three\nlines"))
    odd.close()


@pytest.mark.parametrize("part", ["tenant", "organization"])
def test_a_key_is_not_made_for_such_a_tenant(tmp_path: Path, part: str) -> None:
    with closing(SqliteStore.open(tmp_path / "s.db")) as store:
        with pytest.raises(InvalidInput, match=part):
            create_key(store, replace(Scope("acme", "research"), **{part: "a\nb"}), Grant("joe"))
        assert store.keys(None) == []


@pytest.mark.parametrize("option", ["--tenant", "--repository"])
def test_the_command_line_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    (tmp_path / "a.md").write_text("# Fences\n\nSix feet.\n")
    store = f"sqlite:///{tmp_path / 's.db'}"
    words = ["--store", store, option, "a\nb", "ingest", str(tmp_path / "a.md"), "--json"]
    assert run(words) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["field"] == option.removeprefix("--")
    assert "1 to 200 characters" in error["message"]
