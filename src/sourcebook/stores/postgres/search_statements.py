"""Statements of `search.sql` in, their rows out: tuples, or whole columns of integers as arrays.

A column of a million numbers is read by a binary COPY, whose rows of fixed width NumPy takes as
they are: far faster than a million tuples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import psycopg

from sourcebook.stores.labels import View
from sourcebook.stores.queries import parse

Columns = npt.NDArray[np.int64]
Values = Mapping[str, object]
_NONE: Values = {}
_PARAMETER = re.compile(r"(?<!:):(\w+)")
_HEADER, _TRAILER = 19, 2
"""Bytes before and behind the rows of a binary COPY."""


class Session(Protocol):
    """A transaction of one tenant."""

    @property
    def db(self) -> psycopg.Connection[Any]: ...
    @property
    def tenant(self) -> str: ...


def _load() -> dict[str, str]:
    text = resources.files(__package__).joinpath("search.sql").read_text("utf-8")
    return {name: _PARAMETER.sub(r"%(\1)s", body) for name, body in parse(text).items()}


STATEMENTS = _load()


def run(
    session: Session, name: str, repository: int, values: Values = _NONE, *, binary: bool = False
) -> list[tuple[Any, ...]]:
    given = {"tenant": session.tenant, "repository": repository, **values}
    with session.db.cursor(binary=binary) as cursor:
        return cursor.execute(STATEMENTS[name], given).fetchall()


def stream(
    session: Session, name: str, repository: int, size: int
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows some at a time, as they were when the first were asked for."""
    given = {"tenant": session.tenant, "repository": repository}
    with session.db.cursor(name=name, binary=True) as cursor:
        cursor.execute(STATEMENTS[name], given)
        while rows := cursor.fetchmany(size):
            yield rows


def change(session: Session, name: str, repository: int, values: Values) -> None:
    given = {"tenant": session.tenant, "repository": repository, **values}
    session.db.execute(STATEMENTS[name], given)


def integers(
    session: Session, name: str, repository: int, values: Values = _NONE, types: str = "i4"
) -> list[Columns]:
    """The columns of a statement, whose PostgreSQL types are integer ("i4") or bigint ("i8")."""
    given = {"tenant": session.tenant, "repository": repository, **values}
    statement = f"COPY ({STATEMENTS[name]}) TO STDOUT (FORMAT BINARY)"
    with session.db.cursor() as cursor, cursor.copy(statement, given) as copy:
        data = b"".join(copy)
    names = types.split()
    row = [("columns", ">i2")]
    for name in names:
        row += [(f"bytes{len(row)}", ">i4"), (f"value{len(row)}", f">{name}")]
    rows = np.frombuffer(data[_HEADER:-_TRAILER], np.dtype(row))
    return [rows[name].astype(np.int64) for name, _ in row if name.startswith("value")]


def readable(view: View) -> list[str] | None:
    """The lists of labels that a reader may read, as an array."""
    return None if view.readable is None else json.loads(view.readable)
