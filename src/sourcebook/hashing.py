"""Content addresses: the same content always has the same name."""

from __future__ import annotations

import hashlib
import json

from sourcebook.model import Json


def digest(*parts: Json) -> str:
    """32 hex digits that name these parts (strings, numbers, lists, maps), in this order."""
    data = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def text_hash(text: str) -> str:
    """SHA-256 of the UTF-8 text, as anyone can compute it: the hash in a citation."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
