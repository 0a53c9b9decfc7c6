"""A connection and a tenant in, a transaction out in which only that tenant's rows are there.

All that a transaction needs to know is said when it begins, in one message: whose it is, as which
role, how long it may wait. So it does not matter what the connection was used for before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import psycopg
from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from sourcebook import asker
from sourcebook.ports import Vectors
from sourcebook.stores.postgres import search
from sourcebook.stores.postgres.adapt import Vector
from sourcebook.stores.postgres.facets import Facets
from sourcebook.stores.postgres.statements import STATEMENTS
from sourcebook.stores.rows import Row
from sourcebook.stores.statements import Cursor, Facet, Values

_INDEXED_AT_ONCE = 16 << 20
"""Bytes of terms, those of some 20,000 short passages: postings are written in few large pieces.
Each fills up the last block of every term, and a transaction goes past all that it filled up
before."""
_EACH = 100
"""Bytes that a passage takes beside its terms."""
_FACETS_AT_ONCE = 20_000
_LONGEST_MS = 2**31 - 1
"""Of a time that PostgreSQL takes."""


class Manner(NamedTuple):
    """How the transactions of a store are begun."""

    schemas: tuple[str, ...]
    role: str | None
    """Whose rights are used; None: those of the connection's user."""
    statement_timeout_s: float
    lock_timeout_s: float


Another = Callable[[], AbstractContextManager["Session | None"]]


class Session:
    def __init__(self, db: psycopg.Connection[Any], tenant: str) -> None:
        self.db = db
        self.tenant = tenant
        self.repository = -1
        self.new_passages = self.last_passage = 0
        self.damaged: set[int] = set()
        """The numbers of vectors that were found damaged."""
        self.another: Another = nullcontext
        """For a part of the work that can be done beside; None where no connection is free."""
        self._to_index: list[tuple[int, int, bool, bytes]] = []
        self._bytes = 0
        self._facets = Facets()

    def run(self, name: str, values: Values) -> Cursor:
        return self.db.execute(STATEMENTS[name], self._given(values))

    def run_many(self, name: str, rows: Sequence[Row] | Sequence[Values]) -> int:
        """Rows that are tuples get the tenant before them; a statement that takes whole columns is
        run once."""
        if not rows:
            return 0
        statement = STATEMENTS[name]
        if "%(1)s" in statement:
            columns = zip(*rows, strict=True)
            values = {str(n): list(column) for n, column in enumerate(columns, 1)}
            return self.db.execute(statement, self._given(values)).rowcount
        with self.db.cursor() as cursor:
            cursor.executemany(statement, [self._row(row) for row in rows])
            return cursor.rowcount

    def _row(self, row: Row | Values) -> Row | Values:
        return self._given(row) if isinstance(row, Mapping) else (self.tenant, *row)

    def _given(self, values: Values) -> Values:
        return {"tenant": self.tenant, "repository": self.repository, **values}

    def take_back(self) -> None:
        self._forget()
        self._facets.clear()
        self.new_passages = self.last_passage = 0
        self.db.rollback()

    def array(self, items: Sequence[str]) -> object:
        return list(items)

    def vector(self, numbers: Vectors) -> object:
        return Vector(numbers)

    def items(self, column: Any) -> list[str]:
        return list(column)

    def numbers(self, column: Any) -> bytes:
        """As pgvector sends it: two 16-bit numbers, then big-endian floats."""
        return np.frombuffer(column, ">f4", offset=4).astype("<f4").tobytes()

    def index(
        self,
        repository: int,
        passages: Sequence[tuple[int, int, bool, bytes]],
        facets: Sequence[Facet],
    ) -> None:
        self.repository = repository
        self.new_passages += len(passages)
        self.last_passage = max([self.last_passage, *(number for number, *_ in passages)])
        self._to_index.extend(passages)
        self._facets.add(repository, facets)
        self._bytes += sum(len(terms) + _EACH for *_, terms in passages)
        if self._bytes >= _INDEXED_AT_ONCE:
            self._index()
        if self._facets.count >= _FACETS_AT_ONCE:
            self._facets.settle(self)

    def settle(self) -> None:
        """Write what waits to be written; the last thing before the end of the transaction."""
        self._index()
        self._facets.settle(self)

    def _index(self) -> None:
        if self._to_index:
            search.index_passages(self, self.repository, self._to_index)
            self._forget()

    def _forget(self) -> None:
        self._to_index.clear()
        self._bytes = 0

    def drop_from_index(self, repository: int) -> None:
        self.run("drop_facet_values", {"repository": repository})
        search.drop_passages(self, repository)


@contextmanager
def transaction(db: psycopg.Connection[Any], tenant: str | None) -> Iterator[Session]:
    """On a connection where it was begun. A block that has taken back by itself is left as it
    is."""
    session = Session(db, tenant or "")
    try:
        yield session
        session.settle()
        db.commit()
    except BaseException:
        if not db.closed:
            db.rollback()
        raise


def _longest(statement_s: float) -> str:
    """How long a statement may take: not beyond the time of who waits for it. 0 is no limit."""
    left = asker.remaining_s()
    if left is None or 0 < statement_s <= left:
        return f"{statement_s:g}s"
    return f"{min(max(int(left * 1000), 1), _LONGEST_MS)}ms"


def beginning(tenant: str | None, manner: Manner, *, read_only: bool) -> Composed:
    """The statements that begin it. No tenant is for what belongs to none in particular:
    repositories and keys."""
    whose = "sourcebook.all_tenants" if tenant is None else "sourcebook.tenant"
    settings = {
        whose: "on" if tenant is None else tenant,
        "statement_timeout": _longest(manner.statement_timeout_s if read_only else 0),
        "jit": "off",
        "lock_timeout": f"{max(int(manner.lock_timeout_s * 1000), 1)}ms",
    }
    path = SQL(", ").join(Identifier(schema) for schema in manner.schemas)
    parts: list[Composable] = [
        SQL("BEGIN READ ONLY") if read_only else SQL("BEGIN"),
        SQL("SET LOCAL search_path = {}").format(path),
    ]
    if manner.role is not None:
        parts.append(SQL("SET LOCAL ROLE {}").format(Identifier(manner.role)))
    for name, value in settings.items():
        chosen = SQL("SELECT set_config({}, {}, true)").format(Literal(name), Literal(value))
        parts.append(chosen)
    return SQL("; ").join(parts)
