"""A repository's rows out, as every store tells them, and into another store: its history, vectors
and what people said, but no claims and failures, which are of the moment.

Rows of a table come in pages, each behind the key of the one before it, as of one revision. They go
in the same order into a repository that shows nothing until `finish_copy`; how far it has come is
written in the same transaction as the rows, so a copy goes on where it was stopped.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from sourcebook.errors import Conflict, Damaged
from sourcebook.model import ApiKey, DamagedPart, Scope, Space
from sourcebook.ports import Examined, Moved
from sourcebook.stores import checksums, history, spaces
from sourcebook.stores.parts.core import UNKNOWN
from sourcebook.stores.parts.past import Past
from sourcebook.stores.passages import passage_checksums
from sourcebook.stores.pending_keys import listed
from sourcebook.stores.repair import sound_passage
from sourcebook.stores.rows import CONTENT, Row, to_json
from sourcebook.stores.statements import Statements
from sourcebook.stores.writer import repository_of

_STATE = "sourcebook copy \u2026"
"""The request under which it is written how far a copy has come."""
_KEYS = {"dropped_version": 3, "quality": 2, "vector": 2}
"""How many columns the key of a table has, where it is not one."""
_PAGE = 500
_ALL = 2**31 - 2
"""A revision that no repository reaches."""
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
            for part in _damaged(db, repository, table, [tuple(row) for row in found]):
                raise _refused(part)
            told = [tuple(row[width:]) for row in found]
            if table in _TELLERS:
                told = _TELLERS[table](db, repository, [tuple(row) for row in found])
        return [Moved(tuple(row[:width]), rest) for row, rest in zip(found, told, strict=True)]

    def examine(self, scope: Scope, sample: int | None = None) -> Examined:
        """Compare everything with its checksum, or of each table so many rows from a random place
        on."""
        rows, damaged = 0, dict[DamagedPart, None]()
        with self._reading(scope) as (db, repository):
            (last,) = db.run("last_rows", {"repository": repository}).fetchone()
            known = [space.id for space in spaces.spaces(db, repository).values()]
        anywhere = secrets.token_hex(16) if sample else ""
        start = secrets.randbelow(last + 1) if sample else 0
        starts: list[tuple[str, tuple[object, ...]]] = [("content", (anywhere,))]
        starts += [("node", (start,)), ("passage", (start,))]
        starts += [("vector", (space, anywhere)) for space in known]
        for table, after in starts:
            for found, wrong in self._pages(scope, table, after, sample):
                rows += found
                damaged |= dict.fromkeys(wrong)
        return Examined(rows, tuple(damaged))

    def _pages(
        self, scope: Scope, table: str, after: tuple[object, ...], sample: int | None
    ) -> Iterator[tuple[int, list[DamagedPart]]]:
        """How many rows a page has, and what of it is damaged."""
        width = _KEYS.get(table, 1)
        while True:
            named = dict(zip("abc", after, strict=False))
            with self._reading(scope) as (db, repository):
                asked = {"repository": repository, "head": _ALL, "limit": sample or _PAGE}
                found = db.run(f"export_{table}", {**asked, "state": _STATE, **named}).fetchall()
                rows = [tuple(row) for row in found]
                wrong = _damaged(db, repository, table, rows)
            if sample and not rows and after[-1]:  # the random place is behind the last row
                after = (*after[:-1], type(after[-1])())
                continue
            yield len(rows), wrong
            if not rows or sample:
                return
            after = rows[-1][:width]

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
            db.run("import_key", {**asdict(key), **listed(key)})


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
    return [(*row[1:4], db.items(row[4]), *row[5:-2], sorted(facets[row[0]])) for row in found]


_TELLERS: dict[str, Teller] = {
    "node": lambda db, repository, found: [row[1:-1] for row in found],
    "vector": _vectors,
    "passage": _passages,
}


# --- damage --------------------------------------------------------------------------------------

Checker = Callable[[Statements, int, Row], DamagedPart | None]


def _check_content(db: Statements, repository: int, row: Row) -> DamagedPart | None:
    _, name, text = row
    if checksums.says(name, text):
        return None
    of = db.run("element_of_content", {"repository": repository, "hash": name}).fetchone()
    return DamagedPart("" if of is None else of[0], "text")


def _check_node(db: Statements, repository: int, row: Row) -> DamagedPart | None:
    *_, content, labels, born, _, checksum = row
    columns = (*row[1 : 1 + CONTENT], content, labels, born)
    sound = checksums.matches(checksum, checksums.of_columns(columns))
    return None if sound else DamagedPart(row[2], "node")


def _check_passage(db: Statements, repository: int, row: Row) -> DamagedPart | None:
    sound = sound_passage(db, (*row[1:17], *row[18:]))
    return None if sound else DamagedPart(row[2], "passage")


def _check_vector(db: Statements, repository: int, row: Row) -> DamagedPart | None:
    _, text_hash, _, _, data, tokens, of_data, of_tokens = row
    part = None
    if not checksums.matches(of_data, checksums.of_bytes(db.numbers(data))):
        part = "vector"
    elif tokens is not None and not checksums.matches(of_tokens, checksums.of_bytes(tokens)):
        part = "token vectors"
    if part is None:
        return None
    asked = {"repository": repository, "hashes": [text_hash]}
    of = db.run("elements_of_texts", asked).fetchone()
    return DamagedPart("" if of is None else of[0], part)


_CHECKERS: dict[str, Checker] = {
    "content": _check_content,
    "node": _check_node,
    "passage": _check_passage,
    "vector": _check_vector,
}


def _damaged(db: Statements, repository: int, table: str, found: list[Row]) -> list[DamagedPart]:
    checker = _CHECKERS.get(table)
    if checker is None:
        return []
    return [part for row in found if (part := checker(db, repository, row)) is not None]


def _refused(part: DamagedPart) -> Damaged:
    return Damaged(
        f"the stored {part.part} of {part.element_id!r} does not match its checksum, and damage is "
        "not carried on; ingest the original file again, or restore the store from a backup"
    )


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
    if table == "quality":
        rows = [(*row, checksums.of_columns(row)) for row in rows]
    db.run_many(name, [(repository, *row) for row in rows])


def _take_nodes(db: Statements, table: str, repository: int, rows: Sequence[Row]) -> None:
    checked = []
    for row in rows:
        columns = (*row[:CONTENT], *row[CONTENT + 1 : CONTENT + 4])
        checked.append((repository, *row, checksums.of_columns(columns)))
    db.run_many("import_node", checked)


def _take_passages(db: Statements, table: str, repository: int, rows: Sequence[Row]) -> None:
    """Numbered anew, in the same order."""
    given = db.run("copied_passage", {"repository": repository}).fetchone()
    numbered = list(enumerate(rows, int(given[0]) + 1))
    passages: list[Row] = []
    for number, row in numbered:
        ancestors = db.array(row[_ANCESTORS])
        before, after = row[:_ANCESTORS], row[_ANCESTORS + 1 : -1]
        sums = passage_checksums(row[:15], row[_ANCESTORS], row[15])
        passages.append((repository, number, *before, ancestors, *after, *sums))
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
    vectors = [spaces.vector_row(db, space, row[1], np.frombuffer(row[2], "<f4")) for row in rows]
    added = db.run_many("add_vector", vectors)
    db.run("count_vectors", {"repository": repository, "space": space, "added": added})
    coded = [spaces.tokens_row(space, r[1], r[3]) for r in rows if r[3] is not None]
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
    "node": _take_nodes,
    "passage": _take_passages,
    "space": _take_spaces,
    "vector": _take_vectors,
    "usage": _take_usage,
}
