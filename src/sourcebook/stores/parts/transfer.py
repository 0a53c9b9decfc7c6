"""A repository's rows out, as every store tells them, and into another store: its history, vectors
and what people said, but no claims and failures, which are of the moment.

Rows of a table come in pages, each behind the key of the one before it, as of one revision. They go
in the same order into a repository that shows nothing until `finish_copy`; how far it has come is
written in the same transaction as the rows, so a copy goes on where it was stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from sourcebook.errors import Conflict
from sourcebook.model import ApiKey, Scope, Space
from sourcebook.ports import Moved
from sourcebook.stores import history, keys, spaces
from sourcebook.stores.parts.core import UNKNOWN
from sourcebook.stores.parts.past import Past
from sourcebook.stores.rows import Row, to_json
from sourcebook.stores.statements import Statements
from sourcebook.stores.writer import repository_of

_STATE = "sourcebook copy \u2026"
"""The request under which it is written how far a copy has come."""
_KEYS = {"dropped_version": 3, "quality": 2, "vector": 2}
"""How many columns the key of a table has, where it is not one."""
_ANCESTORS, _TERMS, _RESOLUTION = 3, 12, 2
"""Columns of a passage."""


class Transfer(Past):
    def export(
        self, scope: Scope, table: str, after: Sequence[object], head: int, limit: int
    ) -> list[Moved]:
        """The rows of a table behind that key; those of vectors are of the key's space."""
        named = dict(zip("abc", after, strict=False))
        with self._reading(scope) as (db, repository):
            values = {"repository": repository, "head": head, "limit": limit, "state": _STATE}
            found = db.run(f"export_{table}", {**values, **named}).fetchall()
            width = _KEYS.get(table, 1)
            told = [tuple(row[width:]) for row in found]
            if table in _TELLERS:
                told = _TELLERS[table](db, repository, [tuple(row) for row in found])
        return [Moved(tuple(row[:width]), rest) for row, rest in zip(found, told, strict=True)]

    def copied(self, scope: Scope) -> Mapping[str, object] | None:
        """How far a copy into this repository has come; None if there is none. Conflict where the
        repository has a history of its own."""
        with self._reading(scope) as (db, repository):
            if history.head(db, repository):
                raise Conflict(
                    f"the repository {scope.repository!r} of {scope.tenant!r} is there already; "
                    "copy into a store that does not have it"
                )
        return self.request(scope, _STATE)

    def take_in(
        self, scope: Scope, table: str, rows: Sequence[Row], state: Mapping[str, object]
    ) -> None:
        """One transaction, with how far it has come then."""
        with self._writing(scope, alone=True) as db:
            db.repository = repository = repository_of(db, scope, make=True, copied=True) or UNKNOWN
            _TAKERS.get(table, _take)(db, table, repository, rows)
            kept = {"repository": repository, "state": _STATE, "result": to_json(dict(state))}
            db.run("keep_copy_state", kept)

    def finish_copy(self, scope: Scope, head: int, published: str | None) -> None:
        """From now on readers see it."""
        with self._writing(scope, alone=True) as db:
            repository = repository_of(db, scope, make=True, copied=True) or UNKNOWN
            values = {"repository": repository, "head": head, "published": published}
            if db.run("finish_copy", values).rowcount != 1:
                raise Conflict(f"somebody has written to {scope.repository!r} while it was copied")
            db.run("end_copy_state", {"repository": repository, "state": _STATE})

    def take_in_key(self, key: ApiKey) -> None:
        """As it is; one that is there already stays."""
        with self._transaction(key.tenant) as db:
            db.run("import_key", {**asdict(key), **keys.listed(key)})


# --- rows out ------------------------------------------------------------------------------------

Teller = Callable[[Statements, int, list[Row]], list[Row]]


def _vectors(db: Statements, repository: int, found: list[Row]) -> list[Row]:
    return [(row[2], row[3], db.numbers(row[4]), row[5]) for row in found]


def _passages(db: Statements, repository: int, found: list[Row]) -> list[Row]:
    """With their facets behind them."""
    values = {"repository": repository, "rows": [row[0] for row in found]}
    facets: dict[int, list[list[str]]] = {row[0]: [] for row in found}
    for passage, key, value in db.run("export_facets", values):
        facets[passage].append([key, value])
    return [(*row[1:4], db.items(row[4]), *row[5:], sorted(facets[row[0]])) for row in found]


_TELLERS: dict[str, Teller] = {"vector": _vectors, "passage": _passages}


# --- rows in -------------------------------------------------------------------------------------

Taker = Callable[[Statements, str, int, Sequence[Row]], None]


def _take(db: Statements, table: str, repository: int, rows: Sequence[Row]) -> None:
    db.run_many(f"import_{table}", [(repository, *row) for row in rows])


def _take_known(db: Statements, table: str, repository: int, rows: Sequence[Row]) -> None:
    """By the statement that writes them otherwise."""
    name = {
        "term": "add_term",
        "generated": "keep_generated",
        "quality": "add_quality",
        "query_log": "log_query",
    }[table]
    db.run_many(name, [(repository, *row) for row in rows])


def _take_passages(db: Statements, table: str, repository: int, rows: Sequence[Row]) -> None:
    """Numbered anew, in the same order."""
    given = db.run("copied_passage", {"repository": repository}).fetchone()
    numbered = list(enumerate(rows, int(given[0]) + 1))
    passages: list[Row] = []
    for number, row in numbered:
        ancestors = db.array(row[_ANCESTORS])
        before, after = row[:_ANCESTORS], row[_ANCESTORS + 1 : -1]
        passages.append((repository, number, *before, ancestors, *after))
    db.run_many("import_passage", passages)
    facets = [(key, value, n) for n, row in numbered for key, value in row[-1]]
    parts = [(n, row[_RESOLUTION], row[0] == row[1], row[_TERMS]) for n, row in numbered]
    db.index(repository, parts, facets)


def _take_spaces(db: Statements, table: str, repository: int, rows: Sequence[Row]) -> None:
    names = ("id", "provider", "model", "dimensions", "chunker", "state")
    for row in rows:
        db.run("add_space", {"repository": repository, **dict(zip(names, row, strict=True))})


def _take_vectors(db: Statements, table: str, repository: int, rows: Sequence[Row]) -> None:
    """Of one space."""
    space = _space_rows(db, repository)[rows[0][0]]
    vectors = [
        {"space": space, "text_hash": row[1], "data": db.vector(np.frombuffer(row[2], "<f4"))}
        for row in rows
    ]
    added = db.run_many("add_vector", vectors)
    db.run("count_vectors", {"repository": repository, "space": space, "added": added})
    coded = [{"space": space, "text_hash": r[1], "data": r[3]} for r in rows if r[3] is not None]
    db.run_many("add_token_vectors", coded)


def _take_usage(db: Statements, table: str, repository: int, rows: Sequence[Row]) -> None:
    known = _space_rows(db, repository)
    names = ("at", "worker", "texts", "tokens", "seconds", "cost")
    told = [{"space": known[row[0]], **dict(zip(names, row[1:], strict=True))} for row in rows]
    db.run_many("import_usage", told)


def _space_rows(db: Statements, repository: int) -> dict[str, int]:
    found: dict[int, Space] = spaces.spaces(db, repository)
    return {space.id: row for row, space in found.items()}


_TAKERS: dict[str, Taker] = {
    "term": _take_known,
    "generated": _take_known,
    "quality": _take_known,
    "query_log": _take_known,
    "passage": _take_passages,
    "space": _take_spaces,
    "vector": _take_vectors,
    "usage": _take_usage,
}
