"""Changes of API keys that could not wait for a long write: in files beside the store, in the
folder STORE-keys, until the next write transaction takes them into the store.

SQLite lets one writer in at a time, and a large commit takes seconds. A key that must be revoked
cannot wait so long. Each change is one file that is written whole, counts from then on for every
process that uses the store, and says the same however often it is taken in. Who reads looks here
first and into the store second: a file goes only when the store has what it says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from sourcebook.errors import StoreError
from sourcebook.model import ApiKey
from sourcebook.private_files import make_private_folder, private_opener
from sourcebook.stores.rows import to_json


class PendingKeys:
    def __init__(self, store: Path) -> None:
        self._folder = store.with_name(store.name + "-keys")

    def keep(self, key: ApiKey) -> None:
        """The key as it is from now on. One that is revoked has a file of its own: the change that
        made it may be taken in at the same time."""
        ending = "created" if key.revoked_at is None else "revoked"
        data = {**asdict(key), "roles": None if key.roles is None else sorted(key.roles)}
        path = self._folder / f"{key.id}.{ending}.json"
        new = self._folder / f"{uuid4().hex}.tmp"
        while True:
            make_private_folder(self._folder)
            try:
                with open(new, "x", encoding="utf-8", opener=private_opener) as file:
                    json.dump(data, file)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(new, path)
            except FileNotFoundError:  # another process has just removed the empty folder
                continue
            _sync(self._folder)
            _sync(self._folder.parent)
            return

    def read(self) -> dict[Path, ApiKey]:
        """All changes, each with its file."""
        try:
            paths = sorted(self._folder.glob("*.json"))
        except FileNotFoundError:
            return {}
        return dict(self._readable(paths))

    def of(self, key_id: str) -> list[ApiKey]:
        """The changes of one key."""
        if not self._folder.exists():
            return []
        paths = [self._folder / f"{key_id}.{ending}.json" for ending in ("created", "revoked")]
        return [key for _, key in self._readable(paths)]

    def forget(self, paths: Sequence[Path]) -> None:
        """What the store has by now."""
        if not paths:
            return
        for path in paths:
            path.unlink(missing_ok=True)
        try:
            self._folder.rmdir()
        except OSError:  # another change has come, or another process was faster
            return

    @staticmethod
    def _readable(paths: list[Path]) -> Iterator[tuple[Path, ApiKey]]:
        for path in paths:
            try:
                data = json.loads(path.read_text(encoding="utf-8"))
            except FileNotFoundError:  # taken into the store meanwhile
                continue
            except (OSError, ValueError) as error:
                raise StoreError(f"cannot read {path}, which holds a change of a key") from error
            yield path, _key(data)


def _key(data: dict[str, Any]) -> ApiKey:
    repositories, roles = data.pop("repositories"), data.pop("roles")
    return ApiKey(
        **data,
        repositories=None if repositories is None else tuple(repositories),
        roles=None if roles is None else frozenset(roles),
    )


def listed(key: ApiKey) -> dict[str, str | None]:
    """The lists of a key as a row keeps them."""
    return {
        "repositories": None if key.repositories is None else to_json(list(key.repositories)),
        "roles": None if key.roles is None else to_json(sorted(key.roles)),
    }


def together(stored: ApiKey | None, pending: list[ApiKey]) -> ApiKey | None:
    """A key as the store has it, with the changes that wait. The first revocation stays."""
    found = stored
    for key in pending:
        found = found or key
        if found.revoked_at is None and key.revoked_at is not None:
            found = replace(found, revoked_at=key.revoked_at)
    return found


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
