"""Which reader a file gets, and what the reader is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcebook.errors import InvalidInput
from sourcebook.model import Document, Skipped
from sourcebook.sources import FORMATS, read, read_text

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def only(tmp_path: Path, name: str, data: bytes, **options: str) -> Document | Skipped:
    (tmp_path / name).write_bytes(data)
    (found,) = read(tmp_path / name, source=f"notes/{name}", **options)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("a.md", b"# x", "markdown"),
        ("A.MARKDOWN", b"x", "markdown"),
        ("a.htm", b"<p>x", "html"),
        ("a.ndjson", b'{"text": "x"}', "jsonl"),
        ("a.txt", b"<html>x", "text"),
        ("a.py", b"x = 1", "code"),
        ("README", b"x", "text"),
        ("page", b" <!DOCTYPE html><p>x", "html"),
        ("page.unknown", b"\xef\xbb\xbf<!-- c --><html>x", "html"),
    ],
)
def test_the_format_follows_name_then_content(
    tmp_path: Path, name: str, data: bytes, format: str
) -> None:
    found = only(tmp_path, name, data)
    assert isinstance(found, Document)
    assert found.format == format
    assert found.source == f"notes/{name}"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.md", PNG, "binary content (PNG image)"),
        ("a.png", PNG, "binary content (PNG image)"),
        ("a.jsonl", PNG, "binary content (PNG image)"),
        (
            "a.pdf",
            b"%PDF-1.7",
            "the PDF is damaged or cut off; open it in a viewer and save or print it to a new PDF",
        ),
        (
            "a",
            b"%PDF-1.7",
            "the PDF is damaged or cut off; open it in a viewer and save or print it to a new PDF",
        ),
        (
            "a.docx",
            b"PK\x03\x04",
            "the Word file is damaged or cut off; open it in Word or LibreOffice and save it again",
        ),
        ("a.json", b"[]", "there are no conversations"),
        ("a.xml", b"<model/>", "XML files are not supported, except for ArchiMate models"),
        ("a.archimate", b"<x/>", "the XML is not an ArchiMate model but <x>; only these are read"),
        ("a.txt", b"", "the file is empty"),
        ("a.txt", b"caf\xc3", "not valid UTF-8 at byte 3; convert the file to UTF-8"),
    ],
)
def test_what_cannot_be_taken_is_reported(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    assert only(tmp_path, name, data) == Skipped(f"notes/{name}", reason)


def test_a_given_format_outranks_the_name(tmp_path: Path) -> None:
    found = only(tmp_path, "a.xml", b"<model/>", format="text")
    assert isinstance(found, Document)
    assert found.text == "<model/>"


def test_an_unknown_format_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match="there is no format 'word'; choose one of text, markdown"
    ):
        read(tmp_path / "a", source="a", format="word")
    with pytest.raises(InvalidInput):
        read_text("a", source="-", format="word")


def test_the_encoding_is_told_when_it_is_not_utf8(tmp_path: Path) -> None:
    found = only(tmp_path, "a.txt", "Größe".encode("cp1252"))
    assert isinstance(found, Document)
    assert (found.text, found.metadata) == ("Größe", {"encoding": "cp1252"})


def test_a_file_that_is_gone_or_a_folder_is_reported(tmp_path: Path) -> None:
    assert list(read(tmp_path / "gone", source="gone")) == [
        Skipped("gone", "the file cannot be read: No such file or directory")
    ]
    assert list(read(tmp_path, source="d")) == [
        Skipped("d", "the file cannot be read: Is a directory")
    ]


def test_standard_input_as_bytes_or_text() -> None:
    for data in ("a\ud800\n", b"a\xef\xbf\xbd\n"):
        (found,) = read_text(data, source="-", format="text", metadata={"k": 1})
        assert isinstance(found, Document)
        assert (found.text, found.element_id, found.metadata) == ("a\ufffd\n", "-", {"k": 1})


def test_a_nul_in_given_text_is_binary() -> None:
    assert list(read_text("a\0b", source="-", format="text")) == [Skipped("-", "binary content")]


def test_the_formats_a_user_may_name() -> None:
    chats = {"export", "chatgpt", "claude", "transcript"}
    files = {"text", "markdown", "html", "code", "jsonl", "pdf", "docx", "archimate"}
    assert set(FORMATS) == files | chats
