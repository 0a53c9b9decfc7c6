"""A file's name and first bytes in; the name of its format out, or why it has none here."""

from __future__ import annotations

import re
from pathlib import PurePath

from sourcebook.errors import UnreadableSource
from sourcebook.sources import code
from sourcebook.sources.binary import OLD_WORD, kind_of

_BY_EXTENSION = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mkd": "markdown",
    ".mdx": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "text",
    ".text": "text",
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".json": "export",
    ".zip": "export",
    ".archimate": "archimate",
}
_NOT_YET = {
    ".odt": "OpenDocument",
    ".rtf": "RTF",
    ".epub": "EPUB",
    ".pptx": "PowerPoint",
    ".ppt": "PowerPoint",
    ".xlsx": "Excel",
    ".xls": "Excel",
    ".svg": "SVG",
    ".ipynb": "Jupyter notebook",
    ".eml": "e-mail",
    ".mbox": "e-mail",
}
_ARCHIMATE = re.compile(
    rb"""["']http://www\.(?:opengroup\.org/xsd|archimatetool\.com|bolton\.ac\.uk)/archimate"""
)
_HTML_START = re.compile(rb"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html)\b", re.I | re.S)


def detect(name: str, head: bytes) -> str:
    """The format of a file. A name that says nothing is taken by its content, as text or HTML."""
    extension = PurePath(name).suffix.lower()
    if extension in _BY_EXTENSION:
        return _BY_EXTENSION[extension]
    if extension in code.EXTENSIONS:
        return "code"
    if extension in _NOT_YET:
        raise UnreadableSource(f"{_NOT_YET[extension]} files are not supported yet")
    if extension == ".xml":
        return _xml(head)
    if extension == ".doc":
        return _word(head)
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"PK\x03\x04") and b"word/" in head:
        return "docx"
    if kind := kind_of(head):
        raise UnreadableSource(f"binary content ({kind})")
    return "html" if _HTML_START.match(head.removeprefix(b"\xef\xbb\xbf")) else "text"


def _word(head: bytes) -> str:
    """A file named .doc may hold what a newer Word or a web page wrote."""
    if head.startswith(b"PK\x03\x04"):
        return "docx"
    if _HTML_START.match(head):
        return "html"
    raise UnreadableSource(OLD_WORD)


def _xml(head: bytes) -> str:
    """The only XML that is read; without zeros, UTF-16 is found as well."""
    if _ARCHIMATE.search(head.replace(b"\0", b"")):
        return "archimate"
    raise UnreadableSource("XML files are not supported, except for ArchiMate models")
