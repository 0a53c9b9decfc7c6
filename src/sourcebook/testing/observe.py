"""What two sides of a world told a reader in, leaks out: where they differ, and words of others.

Wall-clock times are the one thing that two sides cannot have in common. They are left out by name,
and nothing else is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from sourcebook.model import Json
from sourcebook.testing.surface import Request, to_json
from sourcebook.testing.worlds import CANARY, Reader

MOMENTS = frozenset(
    "at created_at last_used_at expires_at revoked_at since until as_of next_try".split()
)
"""Fields that tell when: what is there becomes `<time>`, or the revision that was made then."""
DURATIONS = frozenset(("timings_ms", "latency_ms", "latency_ms_by_rerank", "oldest_pending_s"))
"""Fields that tell how long: numbers in them become 0. Which parts were timed stays: whether
something came out of a cache may not depend on others."""
RATES = frozenset(("vectors_per_s", "seconds"))
ECHOES = frozenset(("query", "message", "reason", "differences", "note"))
"""Fields that may say again what was asked."""


Kind = Literal["differs", "foreign", "another time", "crash"]
"""Other than in a world without what is hidden; a word of others; a word of the reader's own, but
of another revision than the one that was asked for; no answer at all."""


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that a reader saw and should not have."""

    kind: Kind
    world: int
    reader: Reader
    request: Request
    where: str
    """The place in the answer."""
    seen: str
    instead: str
    """What a world without it gives."""

    def __str__(self) -> str:
        asked = f"{self.request.action} {to_json(dict(self.request.arguments))}"
        return (
            f"world {self.world}: {self.kind} at {self.where or 'the top'}\n"
            f"  asked in {self.request.repository}: {asked[:400]}\n"
            f"  by: {self.reader}\n"
            f"  seen:    {self.seen[:400]}\n"
            f"  instead: {self.instead[:400]}"
        )


def plain(told: str, moments: Mapping[str, str], ids: Mapping[str, str]) -> Json:
    """Without times. `moments` names the times of revisions, `ids` the ids of keys."""
    for written, name in (*moments.items(), *ids.items()):
        told = told.replace(written, name)
    return _plain(json.loads(told))


def _plain(value: Json, name: str = "") -> Json:
    if isinstance(value, dict):
        if name in DURATIONS:
            return {key: _plain(each, name) for key, each in value.items()}
        return {key: _plain(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if name in MOMENTS and isinstance(value, str) and not value.startswith("<"):
        return "<time>"
    timed = name in DURATIONS or name in RATES
    return 0 if timed and isinstance(value, int | float) else value


def difference(one: Json, other: Json, where: str = "") -> tuple[str, Json, Json] | None:
    """The first place where they differ, and what each has there."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(f"{where}.{key}", one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(f"{where}[{n}]", *two) for n, two in enumerate(zip(one, other, strict=True))]
    else:
        same = type(one) is type(other) and one == other
        return None if same else (where, one, other)
    return next((found for pair in pairs if (found := difference(*_turned(pair)))), None)


def _turned(pair: tuple[str, Json, Json]) -> tuple[Json, Json, str]:
    return pair[1], pair[2], pair[0]


def foreign(told: Json, own: frozenset[str], said: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Canaries that are not the reader's, and where they stand. `said` are those of questions,
    which may come again where questions do: there only the other side tells."""
    for where, name, text in _strings(told):
        allowed = own | said if name in ECHOES else own
        for word in CANARY.findall(text):
            if word not in allowed:
                yield where, word


def _strings(value: Json, where: str = "", name: str = "") -> Iterator[tuple[str, str, str]]:
    """Every text with its place; what is below an echo is one as well."""
    if isinstance(value, str):
        yield where, name, value
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _strings(each, f"{where}[{number}]", name)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield where, name, key
            yield from _strings(each, f"{where}.{key}", name if name in ECHOES else key)
