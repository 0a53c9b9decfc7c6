"""Strings and JSON values in; out come values that any store and any encoder can hold.

JSON may spell lone surrogates and NUL, which UTF-8 and SQL databases cannot: each becomes U+FFFD,
one character for one, so that offsets stay.
"""

from __future__ import annotations

import math
import re

from sourcebook.model import Json

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_DEPTH = 64


def scrub(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)


def scrub_surrogates(text: str) -> str:
    """For text whose NUL characters are still to be judged: they tell of binary content."""
    return _SURROGATE.sub("\ufffd", text)


def scrub_json(value: Json, depth: int = 0) -> Json:
    """The same value with storable strings; numbers that JSON cannot write become null."""
    if depth > MAX_DEPTH:
        raise ValueError("the metadata is nested too deeply")
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [scrub_json(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {scrub(key): scrub_json(item, depth + 1) for key, item in value.items()}
    return value
