"""The bytes of a .docx file in; the XML trees of its parts out, or a clear refusal.

Sizes are bounded before and while something is unpacked, entities are never expanded, and the
parser's own limits on depth and length stay on.
"""

from __future__ import annotations

import io
import zipfile

from lxml import etree

from sourcebook.errors import UnreadableSource
from sourcebook.sources.archive import DAMAGE, is_bomb, is_plain
from sourcebook.sources.binary import OLD_WORD

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
_TRANSITIONAL = W[1:-1].encode()
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PART = 24 << 20
"""The most that one part may unpack to; a book of a thousand pages is some 10 MB."""
_SMALL = 4 << 20
_TAGS = 1_000_000
_PARTS = 5_000
_ENTITIES = "the Word file declares XML entities, as no word processor does; save it again in one"
_BOMB = "the Word file unpacks to far more than a text does; open it in Word and save it again"
_BROKEN = "the Word file is damaged or cut off; open it in Word or LibreOffice and save it again"


class Package:
    def __init__(self, data: bytes) -> None:
        if not data.strip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"):
            raise UnreadableSource("the file is empty")
        if data.startswith(_OLE):
            raise UnreadableSource(
                f"either it has a password, which must be removed, or {OLD_WORD}"
            )
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            names = self._zip.namelist()
        except DAMAGE:
            raise UnreadableSource(_BROKEN) from None
        if len(names) > _PARTS:
            raise UnreadableSource("the Word file has too many parts; save it again as .docx")
        self._names = frozenset(names)

    def part(self, name: str) -> etree._Element | None:
        """The root of a part, or None where the file has no such part."""
        if name not in self._names:
            return None
        return _tree(self._bytes(name))

    def main(self) -> etree._Element:
        """The document's own text."""
        root = self.part("word/document.xml")
        if root is None:
            raise UnreadableSource("the file is no Word document: it has no word/document.xml")
        return root

    def _bytes(self, name: str) -> bytes:
        try:
            info = self._zip.getinfo(name)
            if not is_plain(info):
                raise UnreadableSource(_BROKEN)
            if is_bomb(info, _SMALL):
                raise UnreadableSource(_BOMB)
            if info.file_size <= _PART:
                with self._zip.open(info) as part:
                    data = part.read(_PART + 1)
                if len(data) <= _PART and data.count(b"<") <= _TAGS:
                    return data
        except DAMAGE:
            raise UnreadableSource(_BROKEN) from None
        raise UnreadableSource(
            f"the Word file is too large: {name} unpacks to more than {_PART >> 20} MB or "
            f"{_TAGS:,} tags; split it"
        )


def _tree(data: bytes) -> etree._Element:
    if b"<!DOCTYPE" in data:
        raise UnreadableSource(_ENTITIES)
    data = data.replace(_STRICT, _TRANSITIONAL)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise UnreadableSource(_BROKEN) from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise UnreadableSource(_ENTITIES)
    return root
