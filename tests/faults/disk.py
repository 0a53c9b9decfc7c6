"""A disk that fails on demand, below the SQLite library that Python itself is linked with.

SQLite's file layer makes its system calls through a table that a program may change
(https://www.sqlite.org/c3ref/vfs.html, xSetSystemCall). `Disk` puts Python functions there: they
count the calls on files below one folder, let the chosen one fail with a real `errno`, or record
all of them, so that every state which a power cut could leave behind can be built afterwards. A
sync is no system call of that table, so the method of each opened file is replaced.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

Operation = Literal["write", "sync", "truncate", "create", "unlink"]
Kind = Literal["EIO", "ENOSPC", "EROFS", "short"]
KINDS: tuple[Kind, ...] = ("EIO", "ENOSPC", "EROFS", "short")
FAILING: frozenset[Operation] = frozenset({"write", "sync", "truncate", "create"})
_IOERR_FSYNC, _OK = 10 | (4 << 8), 0
_SHARED_MEMORY = "-shm"


@dataclass(frozen=True, slots=True)
class Fault:
    """The n-th operation fails; with `lasting` all later ones do, too."""

    nth: int
    kind: Kind
    lasting: bool = False
    operations: frozenset[Operation] = FAILING
    growing: bool = False
    """Only writes behind the end of a file fail, as on a full disk."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded operation. A mark is what the program noted between two of them."""

    operation: str
    path: str = ""
    offset: int = 0
    data: bytes = b""
    mark: Any = None


@dataclass(slots=True)
class Disk:
    """What happens to SQLite's files below `folder`. Use it in a `with` block, one at a time."""

    folder: Path
    fault: Fault | None = None
    record: bool = False
    count: int = 0
    """Operations so far that could have failed."""
    failed: int = 0
    log: list[Entry] = field(default_factory=list)
    _short: bool = False
    _created: set[str] = field(default_factory=set)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __enter__(self) -> Self:
        self.folder = self.folder.resolve()
        hooks().install(self)
        return self

    def __exit__(self, *_: object) -> None:
        hooks().install(None)

    def arm(self, fault: Fault | None) -> None:
        """Count from here, and fail as said."""
        with self._lock:
            self.fault, self.count, self.failed, self._short = fault, 0, 0, False
            self._created.clear()

    @contextmanager
    def failing(self, fault: Fault) -> Iterator[None]:
        self.arm(fault)
        try:
            yield
        finally:
            self.fault = None

    def mark(self, value: Any) -> None:
        """Note in the record that something has happened here."""
        self._note(Entry("mark", mark=value))

    # --- called by the hooks -------------------------------------------------------------------

    def concerns(self, path: str) -> bool:
        return path.startswith(f"{self.folder}{os.sep}")

    def is_new(self, path: str) -> bool:
        """Whether there is no such file, or an empty one that the store has just created."""
        if not os.path.exists(path):
            return True
        return path not in self._created and os.path.getsize(path) == 0

    def error(self, operation: Operation, *, grows: bool = True) -> int:
        """The errno that this operation fails with, 0 if it succeeds, -1 for a short write."""
        with self._lock:
            fault = self.fault
            if fault is None or operation not in fault.operations:
                return 0
            if fault.growing and operation == "write" and not grows:
                return 0
            self.count += 1
            if self._short:
                self._short = False
                return errno.ENOSPC
            if self.count != fault.nth and not (fault.lasting and self.count > fault.nth):
                return 0
            self.failed += 1
            if fault.kind != "short":
                return int(getattr(errno, fault.kind))
            if operation == "write" and not self.failed > 1:
                self._short = True
                return -1
            return errno.ENOSPC

    def _note(self, entry: Entry) -> None:
        if self.record:
            with self._lock:
                self.log.append(entry)

    def wrote(self, path: str, offset: int, data: bytes) -> None:
        if not path.endswith(_SHARED_MEMORY):
            self._note(Entry("write", path, offset, data))

    def did(self, operation: str, path: str, offset: int = 0) -> None:
        if operation == "create":
            self._created.add(path)
        if not path.endswith(_SHARED_MEMORY):
            self._note(Entry(operation, path, offset))


# --- below Python --------------------------------------------------------------------------------

_Pointer, _Int, _Long, _Text = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_char_p
_OPEN_CALL = ctypes.CFUNCTYPE(_Int, _Text, _Int, _Int, use_errno=True)
_WRITE_AT = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, _Int, _Pointer, ctypes.c_size_t, _Long, use_errno=True
)
_TRUNCATE = ctypes.CFUNCTYPE(_Int, _Int, _Long, use_errno=True)
_UNLINK = ctypes.CFUNCTYPE(_Int, _Text, use_errno=True)
_DIRECTORY = ctypes.CFUNCTYPE(_Int, _Text, ctypes.POINTER(_Int))
_OPEN_FILE = ctypes.CFUNCTYPE(_Int, _Pointer, _Pointer, _Pointer, _Int, _Pointer)
_SYNC = ctypes.CFUNCTYPE(_Int, _Pointer, _Int)
_SET_CALL = ctypes.CFUNCTYPE(_Int, _Pointer, _Text, _Pointer)
_GET_CALL = ctypes.CFUNCTYPE(_Pointer, _Pointer, _Text)


class _Vfs(ctypes.Structure):
    """sqlite3_vfs, version 3."""

    _fields_ = (
        ("version", _Int),
        ("file_size", _Int),
        ("longest_path", _Int),
        ("next", _Pointer),
        ("name", _Text),
        ("data", _Pointer),
        ("open", _Pointer),
        *((f"unused_{n}", _Pointer) for n in range(12)),
        ("set_call", _Pointer),
        ("get_call", _Pointer),
        ("next_call", _Pointer),
    )


class _Methods(ctypes.Structure):
    """sqlite3_io_methods, version 3."""

    _fields_ = (
        ("version", _Int),
        ("close", _Pointer),
        ("read", _Pointer),
        ("write", _Pointer),
        ("truncate", _Pointer),
        ("sync", _Pointer),
        *((f"unused_{n}", _Pointer) for n in range(13)),
    )


@cache
def library() -> ctypes.CDLL | None:
    """The SQLite that Python's own module uses; None where it is linked into it statically."""
    try:
        found = ctypes.CDLL(_sqlite3.__file__)
        found.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    except (AttributeError, OSError):
        return None
    return found


@cache
def why_not() -> str:
    """Why faults cannot be injected here; empty if they can."""
    found = library()
    if found is None:
        return "this Python links SQLite statically, so its file layer cannot be reached"
    vfs = found.sqlite3_vfs_find(None).contents
    if vfs.version < 3 or vfs.name != b"unix":
        return f"SQLite's file layer is {vfs.name!r}; the hooks know the one of Unix systems"
    return ""


@cache
def hooks() -> _Hooks:
    return _Hooks()


class _Hooks:
    """Python functions in SQLite's table of system calls. They stay in memory for ever: files that
    were opened through them keep pointers to them."""

    def __init__(self) -> None:
        if why_not():
            raise RuntimeError(why_not())
        found = library()
        assert found is not None
        self.disk: Disk | None = None
        self.vfs = found.sqlite3_vfs_find(None)
        self.default_open = self.vfs.contents.open
        self._paths: dict[int, str] = {}
        self._methods: dict[int, tuple[_Methods, Any]] = {}
        self._open_file = _OPEN_FILE(self.open_file)
        self._calls = {
            b"open": _OPEN_CALL(self.open),
            b"pwrite": _WRITE_AT(self.write),
            b"pwrite64": _WRITE_AT(self.write),
            b"ftruncate": _TRUNCATE(self.truncate),
            b"unlink": _UNLINK(self.unlink),
        }
        get = _GET_CALL(self.vfs.contents.get_call)
        self._default_directory = _DIRECTORY(get(self.vfs_address, b"openDirectory"))
        self._calls[b"openDirectory"] = _DIRECTORY(self.open_directory)

    @property
    def vfs_address(self) -> int:
        return ctypes.addressof(self.vfs.contents)

    def install(self, disk: Disk | None) -> None:
        self.disk = disk
        vfs, set_call = self.vfs.contents, _SET_CALL(self.vfs.contents.set_call)
        for name, function in self._calls.items():
            set_call(self.vfs_address, name, ctypes.cast(function, _Pointer) if disk else None)
        vfs.open = ctypes.cast(self._open_file, _Pointer).value if disk else self.default_open

    # --- system calls --------------------------------------------------------------------------

    def _below(self, path: str) -> Disk | None:
        return self.disk if self.disk and self.disk.concerns(path) else None

    def open(self, name: bytes, flags: int, mode: int) -> int:
        path = os.fsdecode(name)
        disk = self._below(path)
        new = disk is not None and bool(flags & os.O_CREAT) and disk.is_new(path)
        if disk and new and (failure := disk.error("create")):
            return _fail(failure if failure > 0 else errno.ENOSPC)
        try:
            handle = os.open(path, flags, mode)
        except OSError as error:
            return _fail(error.errno)
        if disk and new:
            disk.did("create", path)
        return handle

    def write(self, handle: int, data: int, size: int, offset: int) -> int:
        path = os.readlink(f"/proc/self/fd/{handle}")
        disk, content = self._below(path), ctypes.string_at(data, size)
        if disk:
            grows = offset + size > os.fstat(handle).st_size
            failure = disk.error("write", grows=grows)
            if failure > 0:
                return _fail(failure)
            if failure < 0:
                content = content[: max(size // 2, 1)] if size > 1 else b""
                if not content:
                    return _fail(errno.ENOSPC)
        try:
            written = os.pwrite(handle, content, offset)
        except OSError as error:
            return _fail(error.errno)
        if disk:
            disk.wrote(path, offset, content[:written])
        return written

    def truncate(self, handle: int, size: int) -> int:
        path = os.readlink(f"/proc/self/fd/{handle}")
        disk = self._below(path)
        if disk and (failure := disk.error("truncate")):
            return _fail(failure if failure > 0 else errno.EIO)
        try:
            os.ftruncate(handle, size)
        except OSError as error:
            return _fail(error.errno)
        if disk:
            disk.did("truncate", path, size)
        return 0

    def unlink(self, name: bytes) -> int:
        path = os.fsdecode(name)
        disk = self._below(path)
        if disk and (failure := disk.error("unlink")):
            return _fail(failure if failure > 0 else errno.EIO)
        try:
            os.unlink(path)
        except OSError as error:
            return _fail(error.errno)
        if disk:
            disk.did("unlink", path)
        return 0

    def open_directory(self, name: bytes, handle: Any) -> int:
        """SQLite opens a directory only in order to sync it."""
        path = os.path.dirname(os.fsdecode(name))
        if self.disk and self.disk.concerns(f"{path}{os.sep}"):
            self.disk.did("sync directory", path)
        return int(self._default_directory(name, handle))

    # --- opened files --------------------------------------------------------------------------

    def open_file(self, vfs: int, name: int | None, file: int, flags: int, out: int) -> int:
        """SQLite keeps the very pointer to the name, so it is passed on as it is."""
        code = int(_OPEN_FILE(self.default_open)(vfs, name, file, flags, out))
        address = _Pointer.from_address(file).value
        if code == _OK and address and name:
            self._paths[file] = os.fsdecode(ctypes.string_at(name))
            _Pointer.from_address(file).value = ctypes.addressof(self._with_sync(address))
        return code

    def _with_sync(self, address: int) -> _Methods:
        """A copy of the methods in which a sync comes here first."""
        if address not in self._methods:
            methods = _Methods.from_buffer_copy(_Methods.from_address(address))
            default = _SYNC(methods.sync)

            def sync(file: int, flags: int) -> int:
                path = self._paths.get(file, "")
                disk = self._below(path)
                if disk and disk.error("sync"):
                    return _IOERR_FSYNC
                code = int(default(file, flags))
                if disk and code == _OK:
                    disk.did("sync", path)
                return code

            hook = _SYNC(sync)
            methods.sync = ctypes.cast(hook, _Pointer).value
            self._methods[address] = (methods, hook)
        return self._methods[address][0]


def _fail(number: int | None) -> int:
    ctypes.set_errno(number or errno.EIO)
    return -1


def files_of(path: Path) -> Sequence[Path]:
    """The store's file and what SQLite puts beside it."""
    return [path.with_name(path.name + end) for end in ("", "-wal", "-shm", "-journal")]
