"""Which bytes become which text, and which are refused."""

from __future__ import annotations

import pytest

from sourcebook.errors import UnreadableSource
from sourcebook.sources.decode import decode, decode_html

TEXT = "Größe – naïve café, 10 €\r\nzweite Zeile\n"
LONG_UTF8 = "Die Bürger zahlen für Strom und Wärme; das Öl ist übrig. " * 40


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode("utf-8"), "utf-8"),
        (b"\xef\xbb\xbf" + TEXT.encode("utf-8"), "utf-8"),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16-be"),
        (b"\xff\xfe\x00\x00" + TEXT.encode("utf-32-le"), "utf-32-le"),
        (b"\x00\x00\xfe\xff" + TEXT.encode("utf-32-be"), "utf-32-be"),
        (TEXT.encode("cp1252"), "cp1252"),
    ],
)
def test_encodings(data: bytes, encoding: str) -> None:
    decoded = decode(data)
    assert decoded.text == TEXT
    assert decoded.encoding == encoding


@pytest.mark.parametrize(
    "text", ["café", "Résumé", "été", "“Quoted” – and dashes…", "über", "10 €\n"]
)
def test_short_western_text_is_windows_1252(text: str) -> None:
    assert decode(text.encode("cp1252")).text == text


def test_only_the_first_mark_is_a_mark() -> None:
    assert decode(b"\xef\xbb\xbf\xef\xbb\xbfa").text == "\ufeffa"


@pytest.mark.parametrize(
    ("data", "position"),
    [
        ("Ein schönes Café".encode()[:-1], 16),  # cut inside its last character
        (b"plain words and then a caf\xc3", 26),
        (b"an opening quote \xe2\x80", 17),
        (LONG_UTF8.encode()[:100] + b"\xff" + LONG_UTF8.encode()[100:], 100),
        (LONG_UTF8.encode()[:100] + b"\xe9" + LONG_UTF8.encode()[100:], 100),
        ("5 €, 6 €, 7 € – ".encode() * 9 + b"\xe9 5" + b" words" * 99, 216),
        (b"a\x81b\x8dc and more words", 1),  # not defined in Windows-1252
        ("Привет, как дела? Хорошо, спасибо".encode("cp1251"), 0),
        ("日本語のテキストです".encode("shift_jis"), 0),
        (b"Caf\xc3 and d\xc3j\xc3 vu in pieces", 3),
    ],
)
def test_what_is_neither_is_refused_with_its_position(data: bytes, position: int) -> None:
    with pytest.raises(UnreadableSource, match=f"not valid UTF-8 at byte {position}; convert"):
        decode(data)


def test_a_broken_wide_encoding_is_named() -> None:
    with pytest.raises(UnreadableSource, match="not valid UTF-16-LE at byte 4; convert"):
        decode(b"\xff\xfea\x00\x00\xd8b\x00")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", r"^binary content \(PNG image\)$"),
        (b"PK\x03\x04\x14\x00\x06\x00", r"^binary content \(ZIP archive or Office document\)$"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", r"^binary content \(WebP image\)$"),
        (b"SQLite format 3\x00rest", r"^binary content \(SQLite database\)$"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "^the content is a PDF; give the file the ending .pdf$"),
        (b"words\x00and more words", "^binary content$"),
        (b"\x01\x02\x03\x04 few words", "^binary content$"),
        ("plain words in two bytes each".encode("utf-16-le"), "UTF-16 without a byte order mark"),
    ],
)
def test_binary_content_is_named(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableSource, match=reason):
        decode(data)


def test_a_stray_control_character_does_not_make_text_binary() -> None:
    assert decode(b"page one\x0cpage two \x1b[1m with many more words \x07").encoding == "utf-8"


@pytest.mark.parametrize(
    ("declaration", "python", "text"),
    [
        ("<meta charset=windows-1251>", "cp1251", "Привет"),
        ('<meta charset="koi8-r">', "koi8-r", "Привет"),
        ("<meta charset='Shift_JIS'>", "shift_jis", "日本語"),
        (
            "<META http-equiv=Content-Type content='text/html; charset=iso-8859-1'>",
            "cp1252",
            "10 €",
        ),
        ("<meta charset=utf-8>", "utf-8", "Größe"),
        ("<meta charset=nonsense>", "utf-8", "Größe"),
        ("<meta charset=utf-7>", "utf-8", "1 +AGE- 2"),
        ("<meta charset=shift_jis>", "utf-8", "Größe – a declaration that is not true: é"),
    ],
)
def test_a_page_declares_its_encoding(declaration: str, python: str, text: str) -> None:
    decoded = decode_html((declaration + text).encode(python))
    assert decoded.text == declaration + text


def test_a_mark_outranks_a_page_s_declaration() -> None:
    data = b"\xef\xbb\xbf<meta charset=windows-1251>" + "é".encode()
    assert decode_html(data).text.endswith("é")
