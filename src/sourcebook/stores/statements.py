"""The seam between what a store does and the database below it: a name and values in, rows out.

What the stores do is written once, over named statements; a database brings its own SQL under the
same names (`sqlite.sql`, `postgres.sql`) and its own way to pass a list or a vector.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from sourcebook.ports import Vectors
from sourcebook.stores.queries import QUERIES
from sourcebook.stores.rows import Row, to_json

Values = Mapping[str, object]
Facet = tuple[str, str, int]
"""A key, a value and the passage that has them."""


class Cursor(Protocol):
    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Statements(Protocol):
    """An open connection, or transaction, that runs named statements."""

    repository: int
    """Filled in where values do not name one."""

    def run(self, name: str, values: Values) -> Cursor:
        """Values that the statement does not name are left aside; a list is one value."""
        ...

    def run_many(self, name: str, rows: Sequence[Row] | Sequence[Values]) -> int:
        """Once for every row; how many rows of the store changed."""
        ...

    def take_back(self) -> None:
        """Undo all of the transaction and end it."""
        ...

    def array(self, items: Sequence[str]) -> object:
        """A list as a column holds it."""
        ...

    def vector(self, numbers: Vectors) -> object:
        """A vector as a column holds it."""
        ...

    def items(self, column: Any) -> list[str]:
        """What `array` made a column of."""
        ...

    def numbers(self, column: Any) -> bytes:
        """Of a vector as a statement gives it: little-endian float32."""
        ...

    def index(
        self,
        repository: int,
        passages: Sequence[tuple[int, int, bool, bytes]],
        facets: Sequence[Facet],
    ) -> None:
        """Called in a commit with its new passages: (number, resolution, whether it is all of its
        document, table of terms), and what filters find them by. For indexes beside the rows."""
        ...

    def drop_from_index(self, repository: int) -> None:
        """Called by retention, after passages were deleted."""
        ...


class SqliteStatements:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.repository = -1

    def run(self, name: str, values: Values) -> Cursor:
        """A list goes in as JSON."""
        given = {k: json.dumps(v) if isinstance(v, list) else v for k, v in values.items()}
        given.setdefault("repository", self.repository)
        return self.connection.execute(QUERIES[name], given)

    def run_many(self, name: str, rows: Sequence[Row] | Sequence[Values]) -> int:
        before = self.connection.total_changes
        self.connection.executemany(QUERIES[name], rows)
        return self.connection.total_changes - before

    def take_back(self) -> None:
        self.connection.execute("ROLLBACK")

    def array(self, items: Sequence[str]) -> object:
        return to_json(list(items))

    def vector(self, numbers: Vectors) -> object:
        """Little-endian, so that a store can move between machines."""
        return numbers.astype("<f4").tobytes()

    def items(self, column: Any) -> list[str]:
        found: list[str] = json.loads(column)
        return found

    def numbers(self, column: Any) -> bytes:
        return bytes(column)

    def index(
        self,
        repository: int,
        passages: Sequence[tuple[int, int, bool, bytes]],
        facets: Sequence[Facet],
    ) -> None:
        """Lanes are made from the rows themselves."""
        self.run_many("add_facet", [(repository, *facet) for facet in facets])

    def drop_from_index(self, repository: int) -> None: ...
