"""A server in, a new and empty database on it out, gone at the end: for tests of a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from sourcebook.stores.postgres.failures import translating
from sourcebook.stores.postgres.pool import shown


@contextmanager
def scratch(url: str) -> Iterator[str]:
    """The user of the URL must be allowed to make databases."""
    name = Identifier(f"sourcebook_scratch_{uuid4().hex[:12]}")
    with translating(shown(url)), psycopg.connect(url, autocommit=True) as db:
        made = SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0")
        db.execute(made.format(name))
        try:
            yield make_conninfo(url, dbname=name.as_string().strip('"'))
        finally:
            db.execute(SQL("DROP DATABASE {} (FORCE)").format(name))
