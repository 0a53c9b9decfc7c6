"""Who may read what: a document's `visibility` in, a list of labels out; a reader's roles in, the
lists that they may read out.

Labels are compared as whole lists in SQL, so a lane, a count or a link asks one question of a row:
is its list among those that this reader may read?
"""

from __future__ import annotations

import json
from typing import NamedTuple

from sourcebook.model import Json, Metadata, Scope
from sourcebook.stores.rows import to_json
from sourcebook.stores.statements import Statements

KEY = "visibility"


class View(NamedTuple):
    """What one reader sees of a repository."""

    repository: int
    readable: str | None = None
    """A JSON list of lists of labels; None for who sees everything."""


def labels_of(metadata: Metadata) -> str | None:
    """Sorted, as JSON. What is not understood is readable by no role: a wall fails closed."""
    value = metadata.get(KEY)
    if value is None:
        return None
    items = value if isinstance(value, list | tuple) else [value]
    return to_json(sorted({label for item in items if (label := _label(item)) is not None}))


def labels_of_json(metadata: str) -> str | None:
    return labels_of(json.loads(metadata))


def _label(item: Json) -> str | None:
    if isinstance(item, bool):
        return "true" if item else "false"
    return str(item) if isinstance(item, str | int | float) else None


def view(db: Statements, repository: int, scope: Scope) -> View:
    """Asked anew each time: a commit may bring labels that were not there before."""
    if scope.roles is None:
        return View(repository)
    return View(repository, to_json(sorted(_readable(_known(db, repository), scope.roles))))


def lane_view(db: Statements, repository: int, scope: Scope) -> View:
    """The same for searching: readers from whom nothing is hidden share the owner's lanes."""
    known = [] if scope.roles is None else _known(db, repository)
    if scope.roles is None or len(readable := _readable(known, scope.roles)) == len(known):
        return View(repository)
    return View(repository, to_json(sorted(readable)))


def _known(db: Statements, repository: int) -> list[str]:
    return [row[0] for row in db.run("labels", {"repository": repository})]


def _readable(known: list[str], roles: frozenset[str]) -> list[str]:
    return [labels for labels in known if roles & set(json.loads(labels))]
