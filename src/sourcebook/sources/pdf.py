"""A PDF in; one document out: its text in reading order, a page number on every block.

PDFium reads the file in a process of its own (`pdf_program`) with limits on time and memory, so
that no file can end or block the caller. The text is made here: offsets point into it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sourcebook.errors import UnreadableSource
from sourcebook.model import Block, Document, Skipped
from sourcebook.sources.decode import Decoded
from sourcebook.sources.layout import Line, Run, page_lines, without_running_lines
from sourcebook.sources.numbering import numbered
from sourcebook.sources.pdf_headings import Mark, body_size, with_pdf_headings
from sourcebook.sources.pdf_paragraphs import Piece, pieces
from sourcebook.sources.raw import Raw
from sourcebook.sources.scrub import scrub

_PROGRAM = Path(__file__).with_name("pdf_program.py")
_SECONDS = 7
_SECONDS_PER_MEGABYTE = 2
_LISTED = 10
_TITLE_SIZE = 1.3
_NO_TITLE = re.compile(
    r"(?i)untitled.*|\(?anonymous\)?|microsoft word.*|.*\.(?:docx?|pdf|indd|tex|rtf)"
)
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")
_BROKEN = "the PDF is damaged or cut off; open it in a viewer and save or print it to a new PDF"


@dataclass(frozen=True, slots=True)
class _Read:
    """What the program said: about the file, and the pages that it came to."""

    pages: int
    about: dict[str, str]
    outline: tuple[Mark, ...]
    runs: list[list[Run]]
    heights: list[float]


def read(raw: Raw) -> Iterator[Document | Skipped]:
    found = _run(raw)
    lines = [page_lines(runs, number) for number, runs in enumerate(found.runs, start=1)]
    made = pieces(without_running_lines(lines, found.heights)) or pieces(lines)
    if not made:
        raise UnreadableSource(_no_text(found))
    text, blocks = _text(made)
    blocks = with_pdf_headings(text, blocks, made, found.outline)
    own: dict[str, Any] = {"pages": found.pages, **_about(found.about)}
    title = _title(found.about.get("Title", ""), blocks, made)
    yield raw.document(Decoded(text, "utf-8"), format="pdf", title=title, blocks=blocks, own=own)
    yield from _warnings(raw.source, found, lines)


def _no_text(found: _Read) -> str:
    count = f"{found.pages} page{'s' if found.pages != 1 else ''}"
    if found.pages > len(found.runs):
        return "the PDF takes too long to read or is too large; split it or print it to a new PDF"
    return (
        f"the PDF holds only images, no text ({count}); run OCR on it, for example "
        "`ocrmypdf in.pdf out.pdf`, and ingest the result"
    )


def _run(raw: Raw) -> _Read:
    """The PDF as the program reads it."""
    with tempfile.TemporaryFile(buffering=0) as source, tempfile.TemporaryFile() as result:
        shutil.copyfileobj(raw.stream, source)
        size = source.tell()
        source.seek(0)
        head = source.read(1024)
        if not head.strip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"):
            raise UnreadableSource("the file is empty")
        if b"%PDF-" not in head:
            raise UnreadableSource("the file is no PDF: it does not begin with %PDF")
        source.seek(0)
        _call(source, result, max(_SECONDS, _SECONDS_PER_MEGABYTE * (size >> 20)))
        result.seek(0)
        return _parsed(result)


def _call(source: IO[bytes], result: IO[bytes], seconds: int) -> None:
    """Runs the program; what it has said until it ends, or is ended, is in `result`."""
    # -P: modules beside the program, such as html.py, must not hide those of the library.
    command = [sys.executable, "-P", str(_PROGRAM), str(seconds)]
    with subprocess.Popen(
        command, stdin=source, stdout=result, stderr=subprocess.DEVNULL, close_fds=True
    ) as process:
        try:
            process.wait(timeout=seconds + 2)
        except subprocess.TimeoutExpired:
            process.kill()


def _parsed(result: IO[bytes]) -> _Read:
    about = _record(result.readline())
    if about.get("error") == "password":
        raise UnreadableSource(
            "the PDF is encrypted; remove its password, for example "
            "`qpdf --decrypt --password=… in.pdf out.pdf`, and ingest the result"
        )
    if not about.get("pages"):
        raise UnreadableSource(_BROKEN)
    runs: list[list[Run]] = []
    heights: list[float] = []
    for line in result:
        page = _record(line)
        if not page:
            break
        runs.append([Run(scrub(words), *place) for words, *place in page["runs"]])
        heights.append(page["size"][1])
    outline = tuple(Mark(level, scrub(title), page) for level, title, page in about["outline"])
    texts = {key: scrub(value).strip() for key, value in about["about"].items()}
    return _Read(about["pages"], texts, outline, runs, heights)


def _record(line: bytes) -> dict[str, Any]:
    """One line of the program's; the last one may be cut off."""
    try:
        value = json.loads(line, parse_constant=lambda _: 0.0)  # NaN and the infinities
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(made: Sequence[Piece]) -> tuple[str, list[Block]]:
    """The pieces a blank line apart, and a block for each."""
    blocks: list[Block] = []
    start = 0
    for piece in made:
        end = start + len(piece.text)
        blocks.append(Block(piece.kind, start, end, page=piece.page))  # type: ignore[arg-type]
        start = end + 2
    return "\n\n".join(piece.text for piece in made), blocks


def _title(stated: str, blocks: Sequence[Block], made: Sequence[Piece]) -> str:
    """What the file calls itself, if that is a title; else the largest words of the first page;
    else the first heading."""
    stated = " ".join(stated.split())
    if 3 <= len(stated) <= 300 and not _NO_TITLE.fullmatch(stated):
        return stated
    first = [piece for piece in made if piece.page == 1 and len(piece.text) <= 150]
    largest = max(first, key=lambda piece: piece.size, default=None)
    if largest and largest.size >= _TITLE_SIZE * body_size(made) and not numbered(largest.text):
        return " ".join(largest.text.split())
    return next((block.title for block in blocks if block.kind == "heading"), "")


def _about(about: dict[str, str]) -> dict[str, str]:
    own = {}
    author = " ".join(about.get("Author", "").split())
    if author and not _NO_TITLE.fullmatch(author):
        own["author"] = author
    if date := _DATE.match(about.get("CreationDate", "")):
        own["created"] = "-".join(part for part in date.groups() if part)
    return own


def _warnings(source: str, found: _Read, lines: Sequence[list[Line]]) -> Iterator[Skipped]:
    empty = [str(number) for number, page in enumerate(lines, start=1) if not page]
    if empty:
        more = f" and {len(empty) - _LISTED} more" if len(empty) > _LISTED else ""
        pages = f"page{'s' if len(empty) > 1 else ''} {', '.join(empty[:_LISTED])}{more}"
        yield Skipped(
            source,
            f"no text on {pages}, perhaps images: OCR, for example `ocrmypdf --skip-text`, "
            "makes them readable",
            taken=True,
        )
    if len(lines) < found.pages:
        reason = (
            f"only the first {len(lines)} of {found.pages} pages were read: the rest takes too "
            "long or is too large; split the PDF"
        )
        yield Skipped(source, reason, taken=True)
