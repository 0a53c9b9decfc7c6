"""What holds texts or keys can be read by its owner alone, whatever the umask; modes that somebody
chose are left alone."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sourcebook.portable import dump
from sourcebook.private_files import private_opener
from sourcebook.stores.sqlite import SqliteStore


@pytest.fixture(params=[0o022, 0o000, 0o077], ids=oct, autouse=True)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_store_and_folder_are_made_for_their_owner(tmp_path: Path) -> None:
    file = tmp_path / "new" / ".sourcebook" / "store.db"
    with closing(SqliteStore.open(file)) as store:
        store.keys(None)
        parts = sorted(file.parent.iterdir())
        assert [part.name for part in parts] == ["store.db", "store.db-shm", "store.db-wal"]
        assert {mode(part) for part in parts} == {0o600}
    assert mode(file.parent) == 0o700


def test_no_connection_is_opened_before_the_file_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, seen, connect = tmp_path / "store.db", [], sqlite3.connect

    def watched(place: str, **options: Any) -> sqlite3.Connection:
        if place.startswith("file:"):
            seen.append(mode(file) if file.exists() else None)
        return connect(place, **options)

    monkeypatch.setattr(sqlite3, "connect", watched)
    SqliteStore.open(file).close()
    assert set(seen) == {0o600}


def test_a_store_behind_a_link_is_private_too(tmp_path: Path) -> None:
    link, file = tmp_path / "link.db", tmp_path / "store.db"
    link.symlink_to(file)
    SqliteStore.open(link).close()
    assert mode(file) == 0o600


def test_modes_that_the_owner_chose_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    SqliteStore.open(file).close()
    file.chmod(0o640)
    tmp_path.chmod(0o750)
    with closing(SqliteStore.open(file)) as store:
        store.keys(None)
        assert {mode(part) for part in tmp_path.iterdir()} == {0o640}
    assert mode(tmp_path) == 0o750


def test_a_dump_is_private_even_where_a_part_of_an_older_one_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, part = tmp_path / "all.gz", tmp_path / "all.gz.part"
    part.touch(0o666)
    seen = []
    with closing(SqliteStore.open(tmp_path / "store.db")) as store:
        repositories = store.repositories

        def watched() -> Any:
            seen.append(mode(part))
            return repositories()

        monkeypatch.setattr(store, "repositories", watched)
        dump(store, file)
    assert seen == [0o600]
    assert mode(file) == 0o600
    assert not part.exists()


def test_other_new_files_are_private_and_existing_ones_keep_their_mode(tmp_path: Path) -> None:
    new, existing = tmp_path / "new", tmp_path / "existing"
    existing.touch()
    existing.chmod(0o664)
    for file in (new, existing):
        with open(file, "w", opener=private_opener) as out:
            out.write("text")
    assert (mode(new), mode(existing)) == (0o600, 0o664)
