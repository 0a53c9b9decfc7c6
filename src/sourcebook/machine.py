"""This machine in; checks of it out: limits, ports, room on the disk, and who may read and write a
store's file. Each says what was found and, where that is trouble, what to do.

Works without rights: what cannot be seen is not guessed.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import socket
import stat
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_FILES = 1024
"""Each connection is one, and a server has a few dozen beside."""
_MEMORY = 1_000_000_000
"""The model, the runtime and a small index have room in it."""
_SCARCE, _LITTLE = 100_000_000, 1_000_000_000
"""Bytes on the disk."""
_LISTENING = "0A"


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    status: Literal["ok", "warning", "failed", "skipped"]
    found: str
    advice: str = ""


# --- limits --------------------------------------------------------------------------------------


def limits() -> Check:
    files, memory = resource.getrlimit(resource.RLIMIT_NOFILE)[0], _memory()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    told = [f"{cores} cores", "any number of open files" if files < 0 else f"{files:,} open files"]
    if memory is not None:
        told.insert(1, f"{memory / 1e9:.1f} GB of memory")
    found = ", ".join(told)
    if 0 <= files < _FILES:
        return Check("limits", "warning", found, f"raise the open files with `ulimit -n {_FILES}`")
    if memory is not None and memory < _MEMORY:
        return Check("limits", "warning", found, "give it 1 GB of memory or more")
    return Check("limits", "ok", found)


def _memory() -> int | None:
    """What this process may use: of the machine, or of the group that it was put into."""
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    group = Path("/sys/fs/cgroup/memory.max")
    text = group.read_text().strip() if group.is_file() else "max"
    return min(pages, int(text)) if text.isdigit() else pages


# --- the store's file ----------------------------------------------------------------------------


def room(file: Path) -> Check:
    """Of the disk that holds the store, or will."""
    folder = next(parent for parent in file.parents if parent.is_dir())
    free = shutil.disk_usage(folder).free
    size = file.stat().st_size if file.exists() else 0
    found = f"{free / 1e9:,.1f} GB are free in {folder}; the store has {size / 1e9:,.1f} GB"
    advice = "make room on that disk, or move the store to another one with --store"
    if free < _SCARCE:
        return Check("room", "failed", found, advice)
    if free < max(_LITTLE, size):
        return Check("room", "warning", found, advice)
    return Check("room", "ok", found)


def permissions(file: Path) -> Check:
    """SQLite writes beside the file too."""
    for part in (file.parent, *_parts(file)):
        if not os.access(part, os.R_OK | os.W_OK):
            return Check(
                "permissions",
                "failed",
                f"{part} belongs to {_owner(part)} and cannot be written",
                f"run this as {_owner(part)}, or change the owner with `chown`",
            )
    told = f"{file} belongs to {_owner(file)}"
    if any(_mode(part) & stat.S_IWOTH for part in _parts(file)):
        told += ", and everybody may write to it"
        return Check("permissions", "warning", told, f"run `chmod 600 {file}*`")
    return Check("permissions", "ok", told)


def privacy(file: Path) -> Check:
    """Whoever can read the file needs no key."""
    if _mode(file.parent) & stat.S_IXOTH and any(_mode(p) & stat.S_IROTH for p in _parts(file)):
        told = f"everybody on this machine can read {file}, without a key"
        return Check("privacy", "warning", told, f"run `chmod 600 {file}*`")
    return Check("privacy", "ok", "other users of this machine cannot read the file")


def _parts(file: Path) -> list[Path]:
    return [each for end in ("", "-wal", "-shm") if (each := Path(f"{file}{end}")).exists()]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, NotImplementedError):
        return f"user {path.stat().st_uid}"


# --- ports ---------------------------------------------------------------------------------------


def ports(host: str, wanted: Mapping[str, int]) -> Iterator[Check]:
    """Of each surface by its option. What already runs there may be what is wanted."""
    for option, port in wanted.items():
        name = f"port {port}"
        problem = _bind(host, port)
        if problem is None:
            yield Check(name, "ok", f"free on {host}")
        elif problem != errno.EADDRINUSE:
            found = f"cannot be used on {host}: {os.strerror(problem)}"
            yield Check(name, "warning", found, f"choose another one with `serve {option}`")
        elif (version := _sourcebook(host, port)) is not None:
            yield Check(name, "ok", f"Sourcebook {version} answers on {host}")
        else:
            taken = f"taken on {host} by {_holder(port) or 'another program'}"
            yield Check(
                name, "warning", taken, f"choose another one with `serve {option}`, or end it"
            )


def _bind(host: str, port: int) -> int | None:
    """What the system says against it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(*found[:3]) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(found[4])
            sock.listen(1)
    except OSError as error:
        return error.errno or errno.EINVAL
    return None


def _sourcebook(host: str, port: int) -> str | None:
    """The version of one that answers there."""
    place = f"[{host}]" if ":" in host else host
    try:
        with urllib.request.urlopen(f"http://{place}:{port}/health", timeout=1) as answer:
            told = json.loads(answer.read(1000))
            return str(told["version"]) if told["status"] == "ok" else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _holder(port: int) -> str | None:
    """The program that listens, as far as Linux lets us see."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    for link in Path("/proc").glob("[0-9]*/fd/*") if sockets else ():
        try:
            if os.readlink(link) in sockets:
                process = link.parent.parent
                return f"{(process / 'comm').read_text().strip()} (process {process.name})"
        except OSError:
            continue
    return None


def _inodes(port: int) -> Iterator[str]:
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if not table.is_file():
            continue
        for line in table.read_text().splitlines()[1:]:
            row = line.split()
            if row[3] == _LISTENING and int(row[1].rpartition(":")[2], 16) == port:
                yield row[9]
