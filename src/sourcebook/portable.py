"""A store in, one file out, and back: USE CASE dump and load.

The file is lines of JSON, packed with gzip: its format, then each repository with its rows and
their digest, then the API keys (of which only hashes are kept), then the end. It is written and
read as a stream, and belongs to no database.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from sourcebook.errors import InvalidInput
from sourcebook.model import ApiKey, ReadContext, Scope
from sourcebook.moving import (
    Came,
    Copied,
    Page,
    Progress,
    Whole,
    described,
    pages,
    take_in,
    total,
    written,
)
from sourcebook.ports import Moved, Store
from sourcebook.private_files import replace_private

FORMAT = "sourcebook archive 1"
_PAGE = 500


def dump(source: Store, file: Path, progress: Progress | None = None) -> list[Copied]:
    """Everything. The file is there under its name when it is whole; only its owner can read it."""
    part = file.with_name(file.name + ".part")
    with (
        replace_private(part) as raw,
        gzip.open(raw, "wt", encoding="utf-8", compresslevel=6) as out,
    ):
        _line(out, {"format": FORMAT})
        made = [_dump(source, scope, out, progress) for scope in source.repositories()]
        for key in source.keys(None):
            roles = None if key.roles is None else sorted(key.roles)
            _line(out, {"key": {**asdict(key), "roles": roles}})
        _line(out, {"end": len(made)})
    part.replace(file)
    return made


def _dump(source: Store, scope: Scope, out: IO[str], progress: Progress | None) -> Copied:
    whole, came = described(source, scope), Came(0)
    names = [scope.tenant, scope.organization, scope.repository]
    _line(out, {"repository": names, "head": whole.head, "published": whole.published})
    for table, page in pages(source, whole):
        came.add(table, page)
        for moved in page:
            _line(out, {"table": table, "key": moved.key, "row": moved.row})
        if progress:
            progress(scope, table, came.rows[table])
    _line(out, {"digests": came.digests})
    return Copied(scope, whole.head, came.rows, total(came.digests))


def _line(out: IO[str], value: Any) -> None:
    out.write(written(value) + "\n")


def load(file: Path, target: Store, progress: Progress | None = None) -> list[Copied]:
    """Into a store that does not have these repositories, or only a part of them by an earlier load
    of this file."""
    made = []
    with _Lines(file) as lines:
        if lines.next().get("format") != FORMAT:
            raise InvalidInput(f"{file} is not a Sourcebook archive that this version can read")
        while "repository" in (line := lines.next()):
            whole = Whole(Scope(*line["repository"]), int(line["head"]), line["published"])
            if copied := _load(lines, whole, target, progress):
                made.append(copied)
        while "key" in line:
            target.take_in_key(_key(line["key"]))
            line = lines.next()
    return made


def _load(lines: _Lines, whole: Whole, target: Store, progress: Progress | None) -> Copied | None:
    if target.resolve(whole.scope, ReadContext()).revision == whole.head:
        for _ in lines.pages(None):
            """It was loaded before."""
        return None
    came = Came.of(target.copied(whole.scope), whole.head)
    return take_in(target, whole, came, lines.pages(came), progress, lambda: lines.digests)


def _key(told: dict[str, Any]) -> ApiKey:
    told["roles"] = None if told["roles"] is None else frozenset(told["roles"])
    told["repositories"] = None if told["repositories"] is None else tuple(told["repositories"])
    return ApiKey(**told)


class _Lines:
    """The lines of an archive, one by one."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.digests: dict[str, str] = {}

    def __enter__(self) -> _Lines:
        try:
            self._lines = gzip.open(self._file, "rt", encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"{self._file} cannot be read: {error.strerror}") from error
        return self

    def __exit__(self, *error: object) -> None:
        self._lines.close()

    def next(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
            value = json.loads(line, object_hook=_unpacked) if line else None
        except (OSError, EOFError, ValueError) as error:
            raise InvalidInput(f"{self._file} is not a whole archive: {error}") from error
        if not isinstance(value, dict):
            raise InvalidInput(f"{self._file} is not a whole archive: it ends too early")
        return value

    def pages(self, came: Came | None) -> Iterator[Page]:
        """The rows of one repository, from where a load has come to."""
        reached = came is None or not came.table
        place = ("", ()) if came is None else (came.table, tuple(came.key))
        table, page = "", list[Moved]()
        while "row" in (line := self.next()):
            moved = Moved(tuple(line["key"]), tuple(line["row"]))
            if not reached:
                reached = (line["table"], moved.key) == place
                continue
            split = line["table"] == "vector" and page and page[-1].key[0] != moved.key[0]
            if page and (line["table"] != table or len(page) >= _PAGE or split):
                yield table, page
                page = []
            table = line["table"]
            page.append(moved)
        if page:
            yield table, page
        self.digests = line["digests"]


def _unpacked(value: dict[str, Any]) -> Any:
    return b64decode(value["base64"]) if set(value) == {"base64"} else value
