"""Errors of the driver in, errors that say what to do out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from sourcebook import asker
from sourcebook.errors import (
    Conflict,
    InvalidInput,
    SourcebookError,
    StoreBusy,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)

_BUSY = (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)
_LOST = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.TooManyConnections,
    errors.IdleSessionTimeout,
    psycopg.InterfaceError,
)
_TOO_LONG = (errors.ProgramLimitExceeded, errors.NumericValueOutOfRange)


@contextmanager
def translating(name: str) -> Iterator[None]:
    """`name` is the store's, without a password."""
    try:
        yield
    except psycopg.Error as error:
        if isinstance(error, errors.QueryCanceled):
            asker.still_waits()
        raise translated(name, error) from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the text holds half of a character pair: {error}") from error


def translated(name: str, error: BaseException) -> SourcebookError:
    if isinstance(error, errors.InFailedSqlTransaction) and error.__context__ is not None:
        error = error.__context__  # what came before it broke the transaction
    state = getattr(error, "sqlstate", None)
    said = str(error).partition("\n")[0]
    if isinstance(error, SourcebookError):
        return error
    if isinstance(error, _BUSY):
        return StoreBusy(
            f"another process is writing to this repository of {name}; try again when it has "
            f"finished ({said})"
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreReadOnly(f"{name} can only be read: it is a replica, or set to read-only")
    if isinstance(error, errors.UniqueViolation):
        return Conflict(f"that is there already: {said}")
    if isinstance(error, _TOO_LONG):
        return InvalidInput(f"a name or a number is too long for PostgreSQL: {said}")
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(f"the user of {name} may not do that ({said}); see docs/operations.md")
    if isinstance(error, _LOST) or (isinstance(error, psycopg.OperationalError) and not state):
        return StoreUnavailable(
            f"{name} does not answer ({said}); check that the server runs, and the database, user "
            "and password of its URL"
        )
    return StoreError(f"cannot use the store {name}: {said}")
