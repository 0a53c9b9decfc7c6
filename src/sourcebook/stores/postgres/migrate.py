"""A database of any age in, one with today's tables out: numbered steps under one lock.

All steps of an upgrade are one transaction. Row-level security and the rights of the application's
role are set after them, and again whenever they ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple

import psycopg
from psycopg import errors
from psycopg.sql import SQL, Identifier

from sourcebook.errors import StoreError, StoreReadOnly, StoreTooNew
from sourcebook.stores.migrate import steps_of

SCHEMA = "sourcebook"
ROLE = "sourcebook_app"
_LOCK = 5_026_735_412


class Prepared(NamedTuple):
    """What a store finds when it is opened."""

    vector_schema: str
    role: str | None
    """The role that transactions run as; None: as the user of the connection."""
    walled: bool
    """Whether row-level security holds for whoever that is."""
    read_only: bool


def steps() -> Mapping[int, str]:
    return steps_of(resources.files(__package__).joinpath("migrations"))


def prepare(db: psycopg.Connection[Any], name: str) -> Prepared:
    """Brings the tables to the newest version, or says why they cannot be. The connection is in
    autocommit mode."""
    (encoding,) = _row(db, "SELECT current_setting('server_encoding')")
    if encoding != "UTF8":
        raise StoreError(f"{name} has the encoding {encoding}; make a database with UTF8")
    (read_only,) = _row(
        db, "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool"
    )
    newest = max(steps())
    here = version(db)
    if here < newest:
        if read_only:
            raise StoreReadOnly(
                f"{name} has format {here} and must be upgraded to {newest}, but it can only be "
                "read; open the primary once"
            )
        here = _migrate(db, name, newest)
    if here > newest:
        raise StoreTooNew(
            f"{name} has format {here}, but this Sourcebook knows formats up to {newest}; "
            "upgrade with `pip install -U sourcebook`"
        )
    role = ROLE if _may_become(db) else None
    return Prepared(_vector_schema(db) or "public", role, _walled(db, role), read_only)


def version(db: psycopg.Connection[Any]) -> int:
    """0 where there are no tables yet."""
    (there,) = _row(db, f"SELECT to_regclass('{SCHEMA}.format') IS NOT NULL")
    return int(_row(db, f"SELECT version FROM {SCHEMA}.format")[0]) if there else 0


def _migrate(db: psycopg.Connection[Any], name: str, newest: int) -> int:
    """Asks for the version again behind the lock: another process may have been first."""
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        here = version(db)
        if here >= newest:
            return here
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        _need_vector(db, name)
        where = [Identifier(SCHEMA), Identifier(_vector_schema(db) or "public")]
        db.execute(SQL("SET LOCAL search_path = {}").format(SQL(", ").join(where)))
        for number, script in sorted(steps().items()):
            if number > here:
                db.execute(script.encode(), prepare=False)
        db.execute("CREATE TABLE IF NOT EXISTS format (version integer NOT NULL)")
        db.execute("DELETE FROM format")
        db.execute("INSERT INTO format VALUES (%s)", (newest,))
        walls = resources.files(__package__).joinpath("walls.sql").read_text("utf-8")
        db.execute(walls.encode(), prepare=False)
        _grant(db)
    return newest


def _need_vector(db: psycopg.Connection[Any], name: str) -> None:
    if _vector_schema(db) is not None:
        return
    try:
        with db.transaction():
            db.execute("CREATE EXTENSION vector")
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise StoreError(
            f"{name} has no pgvector; install it on the server "
            "(https://github.com/pgvector/pgvector) and try again"
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"the user of {name} may not make the extension pgvector; let an administrator run "
            "CREATE EXTENSION vector in this database once"
        ) from error


def _vector_schema(db: psycopg.Connection[Any]) -> str | None:
    row = db.execute(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    ).fetchone()
    return None if row is None else str(row[0])


def _grant(db: psycopg.Connection[Any]) -> None:
    """The application's role: it owns nothing, and cannot pass row-level security. Where this user
    may not make roles, an administrator can, and the next upgrade gives it its rights."""
    try:
        with db.transaction():
            if not _row(db, f"SELECT to_regrole('{ROLE}') IS NOT NULL")[0]:
                db.execute(f"CREATE ROLE {ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS")
                db.execute(f"GRANT {ROLE} TO CURRENT_USER")
    except (errors.InsufficientPrivilege, errors.DuplicateObject, errors.UniqueViolation):
        pass
    if _row(db, f"SELECT to_regrole('{ROLE}') IS NOT NULL")[0]:
        db.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO {ROLE}")
        tables = db.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
            "AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'format'"
        ).fetchall()
        for (table,) in tables:
            rights = SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}")
            db.execute(rights.format(Identifier(table), Identifier(ROLE)))
        db.execute(f"GRANT SELECT ON format TO {ROLE}")
        db.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {ROLE}")


def _may_become(db: psycopg.Connection[Any]) -> bool:
    (there,) = _row(db, f"SELECT to_regrole('{ROLE}') IS NOT NULL")
    right = "SET" if db.info.server_version >= 160000 else "MEMBER"
    return bool(there and _row(db, f"SELECT pg_has_role('{ROLE}', '{right}')")[0])


def _walled(db: psycopg.Connection[Any], role: str | None) -> bool:
    """The tables are walled for their owner too, but not for a superuser."""
    asked = (
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = coalesce(%s, current_user)"
    )
    row = db.execute(asked, (role,)).fetchone()
    return row is not None and not row[0]


def _row(db: psycopg.Connection[Any], statement: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = db.execute(statement.encode()).fetchone()
    if row is None:
        raise StoreError("the store's format is not known: its table is empty")
    return row
