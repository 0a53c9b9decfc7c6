"""JSON lines in, one document a row out, as they come: no more than one row is held at a time.

A row that cannot be used is reported with its line, and the rest goes on. Of the rows taken, a
short hash of each id is kept (some 60 bytes) so that a second row of the same id is noticed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import BinaryIO

from sourcebook.errors import UnreadableSource
from sourcebook.model import Document, Json, Skipped
from sourcebook.sources.binary import refuse_binary
from sourcebook.sources.decode import mark_of
from sourcebook.sources.raw import Raw
from sourcebook.sources.scrub import scrub, scrub_json
from sourcebook.sources.text import paragraphs

_MAX_ROW = 64 * 1024 * 1024
_MAX_REFUSED = 10_000
_SHOWN = 100
_SNIFF = 4096


class _BadRow(ValueError):
    """A row that cannot be taken in; the message says why."""


def read(raw: Raw) -> Iterator[Document | Skipped]:
    seen: set[int] = set()
    empty = True
    refused = 0
    for number, line in enumerate(_lines(raw.stream), 1):
        if not line.strip():
            continue
        empty = False
        try:
            yield _document(raw, line, number, seen)
        except _BadRow as bad:
            refused += 1
            if refused > _MAX_REFUSED + len(seen):
                raise UnreadableSource(
                    f"more than {_MAX_REFUSED:,} lines cannot be used, and hardly any can; "
                    f"the rest from line {number} on was not read"
                ) from None
            yield Skipped(raw.source, f"line {number}: {bad}")
    if empty:
        raise UnreadableSource("the file is empty")


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines as UTF-8. Of a line above the limit only the start comes, one byte too long."""
    readline = _line_reader(stream)
    while line := readline(_MAX_ROW + 1):
        yield line
        while len(line) > _MAX_ROW and line and not line.endswith(b"\n"):
            line = readline(_MAX_ROW + 1)


def _line_reader(stream: BinaryIO) -> Callable[[int], bytes]:
    head = stream.read(_SNIFF)
    mark, encoding = mark_of(head) or (b"", "utf-8")
    stream.seek(len(mark))
    if encoding == "utf-8":
        refuse_binary(head[len(mark) :])
        return stream.readline
    wide = io.TextIOWrapper(stream, encoding, errors="replace", newline="\n")
    return lambda limit: wide.readline(limit).encode("utf-8", errors="replace")


def _document(raw: Raw, line: bytes, number: int, seen: set[int]) -> Document:
    row = _row(line)
    element_id = _id(row) or f"{raw.source}:{number}"
    title = " ".join(_string(row, "title").split())
    text = _string(row, "text")
    text = text if text.strip() else title  # a row that is only a title is found by it
    if not text:
        raise _BadRow("there is no text")
    metadata = {**_metadata(row), **raw.metadata}
    key = int.from_bytes(blake2b(element_id.encode("utf-8"), digest_size=8).digest(), "big")
    if key in seen:
        raise _BadRow(f"the id {element_id[:_SHOWN]!r} was used before; the first row was kept")
    seen.add(key)
    blocks = tuple(paragraphs(text))
    return Document(element_id, title, text, raw.source, "jsonl", blocks, metadata)


def _row(line: bytes) -> dict[str, Json]:
    if len(line) > _MAX_ROW:
        raise _BadRow(f"it is longer than {_MAX_ROW // 1024 // 1024} MB")
    try:
        row = json.loads(line.rstrip(b"\r\n").decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _BadRow(f"not valid UTF-8 at byte {error.start} of the line") from None
    except json.JSONDecodeError as error:
        raise _BadRow(f"not valid JSON ({error.msg} at column {error.colno})") from None
    except (ValueError, RecursionError):  # a number of thousands of digits; brackets without end
        raise _BadRow("not usable JSON (a number too long, or nested too deeply)") from None
    if not isinstance(row, dict):
        raise _BadRow("not a JSON object")
    return row


def _id(row: dict[str, Json]) -> str:
    value = row.get("_id", row.get("id"))
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _BadRow("_id is neither a string nor a whole number")
    return scrub(str(value)).strip()


def _string(row: dict[str, Json], key: str) -> str:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise _BadRow(f"{key} is not a string")
    return scrub(value or "")


def _metadata(row: dict[str, Json]) -> dict[str, Json]:
    value = row.get("metadata")
    if value is not None and not isinstance(value, dict):
        raise _BadRow("metadata is not an object")
    try:
        return dict(scrub_json(value or {}))
    except ValueError as error:
        raise _BadRow(str(error)) from None
