"""Paths in; the files to be read out, folders walked in sorted order.

A path that is not there stops everything before the first file is read; whatever turns up inside
a folder never does.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from sourcebook.errors import InvalidInput
from sourcebook.model import Skipped

_IGNORED_NAMES = frozenset(
    """node_modules __pycache__ package-lock.json npm-shrinkwrap.json pnpm-lock.yaml bun.lockb
    go.sum Thumbs.db""".split()
)
_IGNORED_ENDINGS = (
    *(".db", ".db-wal", ".db-shm", ".db-journal", ".sqlite", ".sqlite3"),
    *(".lock", ".pyc"),
)


def find(paths: Sequence[str | Path]) -> Iterator[Path | Skipped]:
    """Every file of the given files and folders, once."""
    asked = [Path(path) for path in paths]
    for path in asked:
        _check_exists(path)
    return _walk_all(asked)


def _check_exists(path: Path) -> None:
    try:
        path.stat()
    except (OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            raise InvalidInput(f"{path} cannot be read: permission denied") from None
        raise InvalidInput(f"{path} does not exist") from None


def _walk_all(paths: Sequence[Path]) -> Iterator[Path | Skipped]:
    seen: set[str] = set()
    for path in paths:
        found = _walk(path) if path.is_dir() else iter([path])
        for item in found:
            key = os.path.abspath(item) if isinstance(item, Path) else item.path
            if key not in seen:
                seen.add(key)
                yield item if isinstance(item, Skipped) else _regular(item)


def _walk(top: Path) -> Iterator[Path | Skipped]:
    """Depth first, without recursion. Each real folder is entered once, so that a
    circle of links comes to an end."""
    todo = [top]
    entered: set[tuple[int, int]] = set()
    while todo:
        path = todo.pop()
        try:
            if not path.is_dir():
                yield path
                continue
            identity = (path.stat().st_dev, path.stat().st_ino)
            if identity not in entered:
                entered.add(identity)
                names = filter(_is_wanted, os.listdir(path))
                todo += [path / name for name in sorted(names, reverse=True)]
        except OSError as error:
            yield Skipped(_printable(path), f"the folder cannot be read: {error.strerror}")


def _is_wanted(name: str) -> bool:
    hidden = name.startswith((".", "~$"))
    return not (hidden or name in _IGNORED_NAMES or name.endswith(_IGNORED_ENDINGS))


def _regular(path: Path) -> Path | Skipped:
    """Pipes and devices would never end; a name that is not UTF-8 could not be stored."""
    name = _printable(path)
    if name != str(path):
        return Skipped(name, "the file's name is not valid UTF-8; rename it")
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Skipped(name, f"the file cannot be read: {error.strerror}")
    return path if stat.S_ISREG(mode) else Skipped(name, "not a regular file")


def _printable(path: Path) -> str:
    return str(path).encode("utf-8", errors="replace").decode("utf-8")
