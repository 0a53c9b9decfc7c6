"""From paths to files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sourcebook.errors import InvalidInput
from sourcebook.model import Skipped
from sourcebook.sources import find


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def names(folder: Path, *asked: str) -> list[str]:
    found = find([folder / name for name in asked or ("",)])
    return [
        f"skipped {Path(item.path).name}: {item.reason}"
        if isinstance(item, Skipped)
        else item.relative_to(folder).as_posix()
        for item in found
    ]


def test_folders_are_walked_in_order(tmp_path: Path) -> None:
    put(tmp_path, "b.md", "a/z.md", "a/b/c.md", "a.md", "C.md", "ä.md")
    assert names(tmp_path) == ["C.md", "a/b/c.md", "a/z.md", "a.md", "b.md", "ä.md"]


def test_what_nobody_wrote_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, ".hidden", ".git/x", "node_modules/x.md", "__pycache__/x", "s.db", "s.db-wal")
    put(tmp_path, "uv.lock", "package-lock.json", "~$a.docx", "kept.md", "sub/.env")
    assert names(tmp_path) == ["kept.md"]


def test_what_is_asked_for_by_name_is_taken(tmp_path: Path) -> None:
    put(tmp_path, ".notes/a.md", ".b.md")
    assert names(tmp_path, ".b.md", ".notes") == [".b.md", ".notes/a.md"]


def test_a_file_comes_once(tmp_path: Path) -> None:
    put(tmp_path, "a/x.md", "a/y.md")
    assert names(tmp_path, "a/y.md", "a", "a/x.md") == ["a/y.md", "a/x.md"]


def test_a_missing_path_stops_before_anything_is_read(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    with pytest.raises(InvalidInput, match="gone.md does not exist"):
        find([tmp_path / "a.md", tmp_path / "gone.md"])


def test_circles_of_links_end(tmp_path: Path) -> None:
    put(tmp_path, "a/x.md", "b/y.md")
    (tmp_path / "a/up").symlink_to(tmp_path)
    (tmp_path / "b/a").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to("self")
    assert names(tmp_path) == [
        "a/x.md",
        "b/y.md",
        "skipped self: the file cannot be read: Too many levels of symbolic links",
    ]


def test_what_is_no_file_is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    assert names(tmp_path) == [
        "skipped broken: the file cannot be read: No such file or directory",
        "skipped caf?.md: the file's name is not valid UTF-8; rename it",
        "skipped pipe: not a regular file",
    ]
