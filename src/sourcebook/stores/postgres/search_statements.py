"""Statements of `search.sql` in, their rows out: tuples, or whole columns of integers as arrays.

A column of a million numbers comes as one value, packed by the database, which NumPy takes as it
is: far faster than a million rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from importlib import resources
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from sourcebook.stores.labels import View
from sourcebook.stores.queries import parse

Columns = npt.NDArray[np.int64]
Values = Mapping[str, object]
_NONE: Values = {}
_PARAMETER = re.compile(r"(?<!:):(\w+)")


class Session(Protocol):
    """A transaction of one tenant."""

    @property
    def db(self) -> psycopg.Connection[Any]: ...
    @property
    def tenant(self) -> str: ...
    @property
    def damaged(self) -> set[int]:
        """The numbers of vectors that were found damaged."""
        ...

    def another(self) -> AbstractContextManager[Session | None]:
        """Of the same tenant, for work beside this one; None where there is none to be had."""
        ...


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
    session: Session, name: str, repository: int, values: Values = _NONE, types: str = "int4"
) -> list[Columns]:
    """The columns of a statement, which are of these types."""
    kinds = types.split()
    names = [f"c{at}" for at in range(len(kinds))]
    packed = " || ".join(f"{kind}send(w.{of})" for kind, of in zip(kinds, names, strict=True))
    statement = f"SELECT string_agg({packed}, '') FROM ({STATEMENTS[name]}) w({', '.join(names)})"
    given = {"tenant": session.tenant, "repository": repository, **values}
    with session.db.cursor(binary=True) as cursor:
        # Planned for these values: what a plan for any would read is far more.
        ((data,),) = cursor.execute(statement, given, prepare=False).fetchall()
    row = np.dtype([(of, f">i{kind[-1]}") for kind, of in zip(kinds, names, strict=True)])
    rows = np.frombuffer(data or b"", row)
    return [rows[of].astype(np.int64) for of in names]


class Packed(NamedTuple):
    """Integers as a parameter of type bigint[]: far faster than a list of a thousand of them."""

    numbers: npt.NDArray[Any]


class _PackedDumper(Dumper):
    """An array as PostgreSQL reads it: a head, then the length of each item and the item."""

    format = Format.BINARY
    oid = psycopg.adapters.types["int8"].array_oid

    def dump(self, obj: Packed) -> bytes:
        items = np.empty(len(obj.numbers), [("bytes", ">i4"), ("value", ">i8")])
        items["bytes"], items["value"] = 8, obj.numbers
        head = (1, 0, psycopg.adapters.types["int8"].oid, len(items), 1)
        return np.array(head, ">i4").tobytes() + items.tobytes()


psycopg.adapters.register_dumper(Packed, _PackedDumper)


def readable(view: View) -> list[str] | None:
    """The lists of labels that a reader may read, as an array."""
    return None if view.readable is None else json.loads(view.readable)
