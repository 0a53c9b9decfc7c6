"""Items in; as many whole ones out as an answer may hold, and a cursor for the next page.

What counts is the size of the answer as it travels, where a letter outside of ASCII may take six
bytes. A cursor names the revision, so a later page continues the same list whatever is written
meanwhile, and the question, so it cannot be used for another one.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcebook.errors import InvalidInput
from sourcebook.hashing import digest

BOUND = 64_000
"""Bytes of an answer: about what agents' clients take without cutting it themselves."""
ROOM = 8_000
"""Of these for what is said once an answer."""
LARGEST_ITEM = 24_000
_KEPT = ("node_id", "element_id", "version_id", "repository_id", "citation", "read_context")
_PARAGRAPH, _LINE, _WORD = "\n\n", "\n", " "


def size(value: Any) -> int:
    """Bytes on the longest way that it may travel."""
    return len(json.dumps(value))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins."""

    skip: int = 0
    at: str | None = None
    """The revision or version that the first page was read at."""


def cursor(place: Place, question: Mapping[str, Any]) -> str:
    told = json.dumps([place.skip, place.at, _code(question)], separators=(",", ":"))
    return base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")


def place(given: str | None, question: Mapping[str, Any]) -> Place:
    if given is None:
        return Place()
    try:
        padded = given.encode("ascii") + b"=" * (-len(given) % 4)
        skip, at, code = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        known = type(skip) is int and 0 <= skip < 2**53 and isinstance(at, str | None)
    except (UnicodeError, binascii.Error, ValueError, TypeError, RecursionError):
        known, code = False, None
    if not known or code != _code(question):
        raise InvalidInput(
            "this cursor belongs to no such question; repeat the arguments of the answer that it "
            "came with, or leave it out",
            field="cursor",
        )
    return Place(skip, at)


def _code(question: Mapping[str, Any]) -> str:
    return digest("cursor", json.dumps(question, sort_keys=True))[:16]


def fitting(costs: Sequence[int], room: int) -> int:
    """How many of the items, from the first one, have room together."""
    used = 0
    for number, cost in enumerate(costs):
        used += cost
        if used > room:
            return number
    return len(costs)


def shortened(item: Mapping[str, Any], most: int = LARGEST_ITEM) -> dict[str, Any]:
    """The item, with its longest parts cut until it is small enough; `shortened` names them."""
    made, cut = dict(item), set[str]()
    while size(made) > most:
        name = max((key for key in made if key not in _KEPT), key=lambda key: size(made[key]))
        value = made[name]
        if not isinstance(value, str | list | dict) or not value:
            break
        made[name] = _half(value)
        cut.add(name)
    return {**made, "shortened": sorted(cut)}


def _half(value: str | list[Any] | dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return dict(list(value.items())[: len(value) // 2])
    return value[: len(value) // 2]


def piece_end(text: str, start: int, room: int) -> int:
    """Where a piece of a long text ends: after a paragraph, else a line, else a word, where one
    ends in the second half of what has room."""
    used, end = 0, start
    while end < len(text) and used < room:
        used += size(text[end]) - 2
        end += 1
    if end == len(text):
        return end
    half = start + (end - start) // 2
    for gap in (_PARAGRAPH, _LINE, _WORD):
        found = text.rfind(gap, half, end)
        if found >= half:
            return found + len(gap)
    return max(end, start + 1)
