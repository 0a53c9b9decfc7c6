"""Checksums of stored rows: computed by the commit that writes a row, compared by every read of it.

A checksum is a CRC-32, which notices every changed byte and every burst of up to four. It guards
against damage, not against somebody who can write to the store and so can write checksums too. The
text of a document is also named by a 128-bit hash of it, and a passage by one of its words.

Rows that were written before there were checksums have none (NULL), which matches anything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from zlib import crc32

from sourcebook.hashing import digest
from sourcebook.model import Passage

Column = str | int | None


def of_columns(columns: Sequence[Column], data: bytes = b"") -> int:
    """The checksum of some columns, and of a blob behind them."""
    written = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return crc32(data, crc32(written.encode("utf-8", "surrogatepass")))


def of_terms(
    node_id: str, element_id: str, ancestors: str, text_hash: str, terms: bytes | memoryview
) -> int:
    """The checksum of what full-text search reads of a passage; `ancestors` is a JSON list."""
    names = f"{node_id}\0{element_id}\0{ancestors}\0{text_hash}"
    return crc32(terms, crc32(names.encode("utf-8", "surrogatepass")))


def of_bytes(data: bytes | memoryview) -> int:
    """The checksum of a vector, little-endian, or of coded token vectors."""
    return crc32(data)


def matches(stored: int | None, computed: int) -> bool:
    return stored is None or stored == computed


def says(name: str, text: str) -> bool:
    """Whether a text is the one that its name, a hash of it, was made from."""
    return digest(text) == name


def embeds(text_hash: str, context: str, body: str) -> bool:
    """Whether a passage's words are those that its vector was made for."""
    return says(text_hash, Passage("", "", 0, body, context).embedded_text)
