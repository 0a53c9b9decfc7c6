"""A path or URL in, connections out: one a thread for reading, one for writing behind a lock.

SQLite in WAL mode lets many readers work beside one writer. Driver errors leave this module as
errors that say what to do.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from sourcebook import asker
from sourcebook.errors import (
    InvalidInput,
    SourcebookError,
    StoreBusy,
    StoreError,
    StoreReadOnly,
)
from sourcebook.private_files import create_private, make_private_folder
from sourcebook.stores.migrate import migrate, steps
from sourcebook.stores.pending_keys import PendingKeys, listed
from sourcebook.stores.queries import QUERIES

_SCHEME = "sqlite:///"
_WRITING_KB, _READING_KB = 65_536, 4096
"""Of pages in memory. A server has a reader a thread; what one does not hold the system does."""


_LOOK_EVERY = 100_000
"""Steps of SQLite's machine, a few milliseconds: then it is looked whether somebody still waits for
the statement, and it is interrupted if nobody does."""


NEEDED = "use a Python whose SQLite is 3.38 or later, with JSON"


@cache
def sqlite_suits() -> bool:
    """Whether this SQLite returns the rows that it changed, knows JSON, and puts blobs together
    whole, bytes of 0 among them."""
    try:
        with sqlite3.connect(":memory:") as db:
            db.execute("CREATE TABLE t (b BLOB)")
            added = db.execute(
                "INSERT INTO t VALUES (x'00ff'), (x''), (x'0001') RETURNING length(b)"
            )
            lengths = [row[0] for row in added]
            query = "SELECT json_group_array(length(b)), CAST(group_concat(b, '') AS BLOB) FROM t"
            told, joined = db.execute(query).fetchone()
    except sqlite3.Error:
        return False
    return bool(lengths == json.loads(told) == [2, 0, 2] and joined == b"\x00\xff\x00\x01")


@dataclass(frozen=True, slots=True)
class Location:
    path: Path
    read_only: bool = False

    @classmethod
    def parse(cls, where: str | Path) -> Location:
        """`sqlite:///relative.db`, `sqlite:////absolute.db`, either with `?mode=ro`, or a path."""
        if isinstance(where, Path) or "://" not in where:
            return cls(_path(str(where)))
        if not where.startswith(_SCHEME):
            raise InvalidInput(f"not a SQLite store: {where}; write sqlite:///path/to/store.db")
        path, _, query = where.removeprefix(_SCHEME).partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        mode = options.pop("mode", "rw")
        if options or mode not in ("ro", "rw"):
            raise InvalidInput(f"unknown option in {where}; only ?mode=ro or ?mode=rw is possible")
        return cls(_path(unquote(path)), mode == "ro")


def _path(text: str) -> Path:
    if not text or ":memory:" in text or "\0" in text:
        raise InvalidInput(
            "a store is a file: write a path such as sqlite:///sourcebook.db; "
            "a store in memory is not possible"
        )
    return Path(text).expanduser().absolute()


class Connections:
    """All connections of one store. Reading ones are of their thread and go with it."""

    def __init__(self, location: Location, timeout: float) -> None:
        self.path = location.path
        self.pending_keys = PendingKeys(self.path)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._local = threading.local()
        self._handles: weakref.WeakSet[_Handle] = weakref.WeakSet()
        self._closed = False
        if not sqlite_suits():
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; {NEEDED}")
        with self.translating(), self._opening():
            self.read_only = location.read_only or not _writable(self.path)
            self._options = self._find_options()
            self._writing = self._open()
            self._prepare(self._writing)

    # --- reading -------------------------------------------------------------------------------

    def reader(self) -> sqlite3.Connection:
        """This thread's connection for reading."""
        handle: _Handle | None = getattr(self._local, "handle", None)
        if self._closed:
            raise StoreError(f"the store {self.path} is closed")
        if handle is None:
            connection = self._open()
            connection.execute("PRAGMA query_only = ON")
            connection.execute(f"PRAGMA cache_size = {-_READING_KB}")
            handle = self._local.handle = _Handle(connection)
            self._handles.add(handle)
        return handle.connection

    # --- writing -------------------------------------------------------------------------------

    @contextmanager
    def transaction(self, patience_s: float | None = None) -> Iterator[sqlite3.Connection]:
        """One write transaction: all of it or nothing. A block that rolled back by itself is left
        as it is. Who comes second waits, no longer than `patience_s`, then gets StoreBusy."""
        patience_s = self._timeout if patience_s is None else min(patience_s, self._timeout)
        if self.read_only:
            raise StoreReadOnly(
                f"{self.path} is read-only; make the file and its folder writable, "
                "or choose another --store"
            )
        if not self._lock.acquire(timeout=max(patience_s, 0)):
            raise self._busy()
        try:
            with self.translating():
                yield from self._transaction(patience_s)
        finally:
            self._lock.release()

    def _transaction(self, patience_s: float) -> Iterator[sqlite3.Connection]:
        if self._closed:
            raise StoreError(f"the store {self.path} is closed")
        db = self._writing
        db.execute(f"PRAGMA busy_timeout = {int(max(patience_s, 0) * 1000)}")
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            if db.in_transaction:
                taken = self._take_in_keys(db)
                db.execute("COMMIT")
                self.pending_keys.forget(taken)
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _take_in_keys(self, db: sqlite3.Connection) -> list[Path]:
        """Changes of keys that did not wait for this transaction, or an earlier one."""
        pending = self.pending_keys.read()
        for key in pending.values():
            db.execute(QUERIES["import_key"], {**asdict(key), **listed(key)})
            values = {"tenant": key.tenant, "id": key.id, "at": key.revoked_at}
            db.execute(QUERIES["revoke_key"], values)
        return list(pending)

    def vacuum(self) -> None:
        """Write the file anew without its empty pages. Readers go on with what they see."""
        with self.transaction() as db:
            db.execute("ROLLBACK")
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Waits for an open commit; reads that still run in other threads fail."""
        if not self._lock.acquire(timeout=max(self._timeout, 0)):
            raise self._busy()
        try:
            self._closed = True
            for handle in list(self._handles):
                handle.connection.close()
            self._writing.close()
        finally:
            self._lock.release()

    # --- opening -------------------------------------------------------------------------------

    def _find_options(self) -> str:
        if not self.read_only:
            make_private_folder(self.path.parent)
            create_private(self.path)
            return "mode=rwc"
        if not self.path.exists():
            raise StoreError(f"there is no store at {self.path}")
        return "mode=ro" if self._readable("mode=ro") else self._immutable()

    def _readable(self, options: str) -> bool:
        """Whether SQLite can read with these options. In a folder that is not writable it cannot
        make the shared-memory file that WAL needs."""
        db = self._connect(options)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            if _primary(error) in _NO_SHARED_MEMORY:
                return False
            raise
        finally:
            db.close()
        return True

    def _immutable(self) -> str:
        """Reads the file as it lies. That would miss what is still in the log."""
        log = self.path.with_name(self.path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise StoreReadOnly(
                f"{self.path} has commits in {log.name} that cannot be read without write access; "
                "open it once where its folder is writable"
            )
        return "mode=ro&immutable=1"

    def _connect(self, options: str) -> sqlite3.Connection:
        db = sqlite3.connect(
            f"{self.path.as_uri()}?{options}",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        db.set_progress_handler(asker.gone, _LOOK_EVERY)
        return db

    def _open(self) -> sqlite3.Connection:
        db = self._connect(self._options)
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA cache_size = {-_WRITING_KB}")
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Looks before it changes anything: the file may belong to another program."""
        try:
            migrate(db, str(self.path), read_only=self.read_only, to=steps())
            if not self.read_only:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA journal_size_limit = 67108864")
        except BaseException:
            db.close()
            raise

    # --- errors --------------------------------------------------------------------------------

    @contextmanager
    def translating(self) -> Iterator[None]:
        """Driver errors out as errors of ours."""
        try:
            yield
        except sqlite3.Error as error:
            if _primary(error) == sqlite3.SQLITE_INTERRUPT:
                asker.still_waits()
            raise self._translated(error) from error
        except UnicodeEncodeError as error:
            raise InvalidInput(f"the text holds half of a character pair: {error}") from error

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Folders that may not be entered or made."""
        try:
            yield
        except OSError as error:
            raise StoreError(f"cannot open the store {self.path}: {error.strerror}") from error

    def _translated(self, error: sqlite3.Error) -> SourcebookError:
        code = _primary(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return self._busy()
        if code == sqlite3.SQLITE_READONLY:
            return StoreReadOnly(f"{self.path} is read-only; make it writable and try again")
        reason = _REASONS.get(code, f"SQLite says: {error}")
        return StoreError(f"cannot use the store {self.path}: {reason}")

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"another process is writing to {self.path}; try again when it has finished "
            f"(waited {self._timeout:g} s)"
        )


class _Handle:
    """Can be referred to weakly, which a sqlite3.Connection cannot: a thread that ends takes its
    connection with it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection


_NO_SHARED_MEMORY = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_REASONS = {
    sqlite3.SQLITE_NOTADB: "it is not a SQLite database",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup",
    sqlite3.SQLITE_FULL: "the disk is full; nothing was committed",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_IOERR: "reading or writing the file failed; check the disk",
}


def _primary(error: sqlite3.Error) -> int:
    """The error's main code without the detail in its upper bits; 0 where SQLite gave none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _writable(path: Path) -> bool:
    """Of a store that is there: the log lies beside it, so its folder must be writable too."""
    return not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
