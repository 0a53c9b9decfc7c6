"""Create files and folders that only their owner can read, whatever the umask.

The mode is set by the call that creates the file, so that there is no moment in which others can
open it. What exists already keeps the mode that its owner gave it.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_FILE, _FOLDER = 0o600, 0o700
_CREATING = threading.Lock()


def private_opener(path: str, flags: int) -> int:
    """The `opener` of `open()` for a file that others should not read."""
    return os.open(path, flags, _FILE)


def make_private_folder(folder: Path) -> None:
    folder.mkdir(mode=_FOLDER, parents=True, exist_ok=True)


def replace_private(path: Path) -> BinaryIO:
    """A new file in place of one that may be left from an interrupted run."""
    path.unlink(missing_ok=True)
    return open(path, "xb", opener=private_opener)


def create_private(path: Path) -> None:
    """An empty file, unless there is one. SQLite gives the files beside a database its mode.

    Closing a file releases all locks that the process has on it, so no other thread may open the
    database between creation and closing: each calls this first and waits here.
    """
    target = os.path.realpath(path)
    with _CREATING:
        if not os.path.exists(target):
            with suppress(FileExistsError):  # another process was faster
                os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE))
