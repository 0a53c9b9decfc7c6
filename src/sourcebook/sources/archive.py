"""A zip file in; the members that a reader wants out, as streams, within bounds.

Nothing is unpacked to disk, so names inside a zip are only ever names. What a zip declares is
checked before anything is read, and reading never gives more than was declared.
"""

from __future__ import annotations

import io
import lzma
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, BinaryIO

from sourcebook.errors import UnreadableSource

MAX_ENTRIES = 100_000
MAX_WANTED = 10_000
MAX_TOTAL = 2 * 1024**3
MAX_RATIO = 200
SMALL = 50 * 1024**2
"""Up to this size nobody asks how well a zip was packed."""

_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The others unpack without a bound on memory, and no program of ours writes them."""
DAMAGE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    LookupError,
    OSError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""What the zip library is known to raise for bytes that are no sound zip file."""


def everything(_name: str) -> bool:
    return True


class Archive:
    """An open zip file: the names wanted of it, and how many others it holds by their ending."""

    def __init__(self, file: zipfile.ZipFile, wanted: Callable[[str], bool], size: int) -> None:
        self._file = file
        infos = [info for info in file.infolist() if not info.filename.endswith("/")]
        chosen = {info.filename: info for info in infos if wanted(info.filename)}
        self._chosen = chosen
        self.names = list(chosen)
        self.others = Counter(
            PurePosixPath(info.filename).suffix.lower()
            for info in infos
            if info.filename not in chosen and not info.filename.startswith("__MACOSX/")
        )
        _check_bounds(list(chosen.values()), size)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """One member's bytes; raises UnreadableSource where it is damaged."""
        with _guard():
            member = self._file.open(self._chosen[name])
        with member:
            yield io.BufferedReader(_Guarded(member))

    def read(self, name: str) -> bytes:
        with self.open(name) as member:
            return member.read()


def open_archive(stream: BinaryIO, wanted: Callable[[str], bool] = everything) -> Archive:
    """The zip file in a stream; raises UnreadableSource when it is none or not safe to read."""
    with _guard():
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        file = zipfile.ZipFile(stream)
    if len(file.filelist) > MAX_ENTRIES:
        raise UnreadableSource(
            f"the zip file holds more than {MAX_ENTRIES:,} files; give it in smaller parts"
        )
    return Archive(file, wanted, size)


def is_plain(info: zipfile.ZipInfo) -> bool:
    """Whether a member is packed as every program can."""
    return info.compress_type in _PACKINGS


def is_bomb(info: zipfile.ZipInfo, small: int) -> bool:
    """Whether a member above a size was packed better than any honest text."""
    return info.file_size > small and info.file_size > MAX_RATIO * max(1, info.compress_size)


def _check_bounds(infos: list[zipfile.ZipInfo], size: int) -> None:
    if any(info.flag_bits & 1 for info in infos):
        raise UnreadableSource(
            "the zip file is protected by a password; unpack it and give the files inside"
        )
    if not all(map(is_plain, infos)):
        raise UnreadableSource(
            "the zip file is packed in an unusual way; unpack it and give the files inside"
        )
    if len(infos) > MAX_WANTED:
        raise UnreadableSource(
            f"the zip file holds more than {MAX_WANTED:,} files to read; give it in smaller parts"
        )
    total = sum(info.file_size for info in infos)
    if total > MAX_TOTAL:
        raise UnreadableSource(
            f"the zip file unpacks to more than {MAX_TOTAL // 1024**3} GB; "
            "unpack it and give the files inside"
        )
    if total > SMALL and total > MAX_RATIO * size:
        raise UnreadableSource(
            f"the zip file unpacks to more than {MAX_RATIO} times its size, "
            "as only a harmful one does; unpack it yourself if you trust it"
        )


class _Guarded(io.RawIOBase):
    """A member whose damage is told in one sentence, whenever it is met."""

    def __init__(self, member: IO[bytes]) -> None:
        self._member = member

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        with _guard():
            data = self._member.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def _guard() -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        raise UnreadableSource(
            f"the zip file is damaged or of a kind that cannot be read ({_short(error)}); "
            "download it again, or unpack it and give the files inside"
        ) from None


def _short(error: BaseException) -> str:
    words = " ".join(str(error).split())
    return words[:100].encode("utf-8", "replace").decode("utf-8") or type(error).__name__
