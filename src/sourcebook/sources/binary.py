"""Bytes in; a refusal that names what they are when they are no text."""

from __future__ import annotations

from sourcebook.errors import UnreadableSource

_MAGIC = (
    (b"\x89PNG\r\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"II*\x00", "TIFF image"),
    (b"MM\x00*", "TIFF image"),
    (b"\x00\x00\x01\x00", "icon"),
    (b"OggS", "Ogg audio"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"\x1aE\xdf\xa3", "Matroska video"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\x00", "xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"Rar!\x1a", "RAR archive"),
    (b"\x28\xb5\x2f\xfd", "Zstandard archive"),
    (b"PK\x03\x04", "ZIP archive or Office document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office document"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"\x7fELF", "program"),
    (b"\xcf\xfa\xed\xfe", "program"),
    (b"\xca\xfe\xba\xbe", "program"),
    (b"MZ\x90\x00", "program"),
    (b"\x00asm", "WebAssembly program"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"PAR1", "Parquet table"),
    (b"\x93NUMPY", "NumPy array"),
)
_INSIDE = (
    (0, b"RIFF", 8, b"WEBP", "WebP image"),
    (0, b"RIFF", 8, b"WAVE", "WAV audio"),
    (0, b"RIFF", 8, b"AVI ", "AVI video"),
    (4, b"ftyp", 4, b"ftyp", "MPEG-4 media"),
    (257, b"ustar", 257, b"ustar", "tar archive"),
)
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\x0b\x0c\r\x1b") + b"\x7f"
_CONTROL_SHARE = 0.05

OLD_WORD = (
    "it is an old Word file (.doc); save it as .docx or PDF, for example with LibreOffice: "
    "`soffice --headless --convert-to docx file.doc`"
)


def refuse_binary(data: bytes) -> None:
    """Raise when the bytes hold a NUL or so many control characters that they are no text."""
    if data.startswith(b"%PDF-"):
        raise UnreadableSource("the content is a PDF; give the file the ending .pdf")
    zeros = data.count(0)
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if not zeros and controls <= _CONTROL_SHARE * len(data):
        return
    if zeros * 3 > len(data) and _zeros_alternate(data):
        raise UnreadableSource(
            "it looks like UTF-16 without a byte order mark; convert the file to UTF-8"
        )
    kind = kind_of(data)
    raise UnreadableSource(f"binary content ({kind})" if kind else "binary content")


def kind_of(data: bytes) -> str | None:
    """The common name of a binary format, from its first bytes."""
    for magic, name in _MAGIC:
        if data.startswith(magic):
            return name
    for at, first, then, second, name in _INSIDE:
        if data.startswith(first, at) and data.startswith(second, then):
            return name
    return None


def _zeros_alternate(data: bytes) -> bool:
    even, odd = data[::2].count(0), data[1::2].count(0)
    return min(even, odd) * 10 < max(even, odd)
