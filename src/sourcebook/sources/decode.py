"""Bytes in, text out, or a clear refusal: a wrong guess would fill the index with mojibake.

A byte order mark decides; then valid UTF-8; then Windows-1252, but only for bytes that read like
Western text in it. Everything else is refused with the position of the first bad byte.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from sourcebook.errors import UnreadableSource
from sourcebook.sources.binary import refuse_binary

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ASCII = bytes(range(128))
_META_CHARSET = re.compile(
    rb"<meta\b[^>]{0,500}?\bcharset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w:.-]{1,40})", re.IGNORECASE
)
_META_WITHIN = 4096
_WEB_ENCODINGS = frozenset(
    """utf-8 cp866 cp874 cp932 cp949 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258
    iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13
    iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-roman mac-cyrillic shift_jis euc_jp
    iso2022_jp gb2312 gbk gb18030 big5 euc_kr""".split()
)
"""Python's names of what a page may declare (https://encoding.spec.whatwg.org); the lookup also
knows codecs that are not character encodings, which a page must not be able to call."""


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str


def decode(data: bytes) -> Decoded:
    """The text of a file; raises UnreadableSource when there is none to be had."""
    return _checked(_marked(data) or _unmarked(data), data)


def decode_html(data: bytes) -> Decoded:
    """As `decode`, but after a byte order mark a page's own declaration counts."""
    return _checked(_marked(data) or _declared(data) or _unmarked(data), data)


def mark_of(data: bytes) -> tuple[bytes, str] | None:
    """The byte order mark at the start and the encoding that it stands for."""
    return next((pair for pair in _MARKS if data.startswith(pair[0])), None)


def _checked(decoded: Decoded, data: bytes) -> Decoded:
    if not decoded.text.strip():
        raise UnreadableSource("the file is empty")
    if "\0" in decoded.text:  # only wide encodings get here: for the others the bytes were checked
        refuse_binary(data)
        raise UnreadableSource("binary content")
    return decoded


def _marked(data: bytes) -> Decoded | None:
    mark = mark_of(data)
    if mark is None:
        return None
    mark_bytes, encoding = mark
    if encoding == "utf-8":
        refuse_binary(data[len(mark_bytes) :])
    try:
        return Decoded(data[len(mark_bytes) :].decode(encoding), encoding)
    except UnicodeDecodeError as error:
        raise _invalid(encoding, error.start + len(mark_bytes)) from None


def _unmarked(data: bytes) -> Decoded:
    refuse_binary(data)
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        if _reads_like_cp1252(data):
            return Decoded(data.decode("cp1252"), "cp1252")
        raise _invalid("utf-8", error.start) from None


def _declared(data: bytes) -> Decoded | None:
    refuse_binary(data)
    found = _META_CHARSET.search(data[:_META_WITHIN])
    if found is None:
        return None
    try:
        encoding = codecs.lookup(found[1].decode("ascii")).name
        if encoding in ("ascii", "iso8859-1", "iso8859-9"):  # as every browser reads these labels
            encoding = "cp1254" if encoding == "iso8859-9" else "cp1252"
        return Decoded(data.decode(encoding), encoding) if encoding in _WEB_ENCODINGS else None
    except (LookupError, UnicodeError):  # an unknown name, or a declaration that is not true
        return None


def _invalid(encoding: str, position: int) -> UnreadableSource:
    name = encoding.upper()
    return UnreadableSource(f"not valid {name} at byte {position}; convert the file to UTF-8")


def _reads_like_cp1252(data: bytes) -> bool:
    """Few high bytes, all of them defined, hardly any that make whole UTF-8 characters (those
    tell of damaged UTF-8), and not mostly capitals after small letters (as in `cafÃ`)."""
    high = data.translate(None, _ASCII)
    if len(high) > 2 and len(high) > 0.3 * len(data):
        return False
    lenient = data.decode("utf-8", errors="ignore")
    whole = len(lenient) - (len(data) - len(high))
    broken = len(data) - len(lenient.encode("utf-8"))
    if whole * 4 > broken or _is_cut_off(data):
        return False
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    odd = len(re.findall(r"(?<=[a-z])[À-ÖØ-Þ]", text))
    return odd * 2 <= broken


def _is_cut_off(data: bytes) -> bool:
    """Whether UTF-8 simply stops inside its last character. One last byte after a letter may be
    a word's end in Windows-1252 (`café`); it is not when it opens a typical UTF-8 sequence."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end != len(data) or "unexpected end" not in error.reason:
            return False
        tail = data[error.start :]
        word_end = len(tail) == 1 and tail[0] >= 0xE0 and tail != b"\xe2"
        return not (word_end and data[error.start - 1 : error.start].isalpha())
    return False
