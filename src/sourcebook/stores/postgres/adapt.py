"""Values of ours in, values that PostgreSQL takes out, and back: text that may hold a NUL, vectors.

PostgreSQL's text holds no U+0000. It is written as U+0001 U+0001, and U+0001 as U+0001 U+0002: what
was different stays different, and in the same order of code points.
"""

from __future__ import annotations

import struct
from typing import Any

import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from sourcebook.ports import Vectors


def escaped(text: str) -> str:
    if "\0" in text or "\1" in text:
        return text.replace("\1", "\1\2").replace("\0", "\1\1")
    return text


def unescaped(text: str) -> str:
    if "\1" in text:
        return text.replace("\1\1", "\0").replace("\1\2", "\1")
    return text


class Vector:
    """A vector on its way into the database."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Vectors) -> None:
        self.numbers = numbers


class _TextDumper(Dumper):
    def dump(self, obj: str) -> bytes:
        return escaped(obj).encode()


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        return unescaped(str(data, "utf-8"))


class _VectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Vector) -> bytes:
        return struct.pack(">HH", len(obj.numbers), 0) + obj.numbers.astype(">f4").tobytes()


def prepare(db: psycopg.Connection[Any], vector: TypeInfo | None) -> None:
    """Teach a connection these values; `vector` is pgvector's type."""
    db.adapters.register_dumper(str, _TextDumper)
    db.adapters.register_loader("text", _TextLoader)
    if vector is not None:
        dumper = type("_Dumper", (_VectorDumper,), {"oid": vector.oid})
        db.adapters.register_dumper(Vector, dumper)
