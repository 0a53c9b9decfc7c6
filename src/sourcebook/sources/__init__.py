"""Files, folders and streams in; parsed documents with exact offsets out.

`find` gives the files, `read` and `read_text` the documents in one of them. What cannot be taken
in comes out as a `Skipped` with its reason, in its place; nothing inside a file raises.
A new format is a module with a `read` function, a row in FORMATS and its extension in `detect`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from sourcebook.errors import InvalidInput, UnreadableSource
from sourcebook.model import Document, Metadata, Skipped
from sourcebook.sources import (
    archimate,
    code,
    docx,
    export,
    html,
    jsonl,
    markdown,
    pdf,
    text,
    transcript,
)
from sourcebook.sources.detect import detect
from sourcebook.sources.raw import Raw
from sourcebook.sources.scrub import scrub_surrogates
from sourcebook.sources.walk import find

__all__ = ["FORMATS", "find", "read", "read_text"]

Reader = Callable[[Raw], Iterator[Document | Skipped]]
FORMATS: Mapping[str, Reader] = MappingProxyType(
    {
        "text": text.read,
        "markdown": markdown.read,
        "html": html.read,
        "code": code.read,
        "jsonl": jsonl.read,
        "pdf": pdf.read,
        "docx": docx.read,
        "export": export.read,
        "chatgpt": export.read_chatgpt,
        "claude": export.read_claude,
        "transcript": transcript.read,
        "archimate": archimate.read,
    }
)
_NOTHING: Metadata = MappingProxyType({})
_SNIFF = 4096


def read(
    path: Path, *, source: str, format: str | None = None, metadata: Metadata = _NOTHING
) -> Iterator[Document | Skipped]:
    """The documents of one file, one at a time; the file is open only while they are taken."""
    _check_format(format)
    return _read_file(Path(path), source, format, metadata)


def read_text(
    text_or_bytes: str | bytes,
    *,
    source: str,
    format: str | None = None,
    metadata: Metadata = _NOTHING,
) -> Iterator[Document | Skipped]:
    """The documents of a text that is no file, as from standard input."""
    _check_format(format)
    data = text_or_bytes
    if isinstance(data, str):  # marked as UTF-8, so that no declaration in it is believed
        data = b"\xef\xbb\xbf" + scrub_surrogates(data).removeprefix("\ufeff").encode("utf-8")
    return _guarded(Raw(source, io.BytesIO(data), metadata), format)


def _check_format(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        known = ", ".join(FORMATS)
        raise InvalidInput(f"there is no format {format!r}; choose one of {known}", field="format")


def _read_file(
    path: Path, source: str, format: str | None, metadata: Metadata
) -> Iterator[Document | Skipped]:
    try:
        with path.open("rb") as stream:
            yield from _guarded(Raw(source, stream, metadata), format)
    except OSError as error:
        yield Skipped(source, f"the file cannot be read: {error.strerror or error}")


def _guarded(raw: Raw, format: str | None) -> Iterator[Document | Skipped]:
    try:
        yield from _reader(raw, format)(raw)
    except UnreadableSource as error:
        yield Skipped(raw.source, str(error))


def _reader(raw: Raw, format: str | None) -> Reader:
    """A text may turn out to be a transcript, unless somebody said that it is plain text."""
    name = format or _detect(raw)
    return transcript.read_if_clear if name == "text" and not format else FORMATS[name]


def _detect(raw: Raw) -> str:
    head = raw.stream.read(_SNIFF)
    raw.stream.seek(0)
    return detect(raw.source, head)
