"""What a score rests on: one record for every place in the text that counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sourcebook.model import Json


class Evidence(NamedTuple):
    """`words` is exactly `text[start:end]` of the scored text."""

    signal: str
    weight: float
    """Of the signal in authenticity; 0 for what concerns necessity or the stub type."""
    words: str
    start: int
    end: int

    def to_dict(self) -> dict[str, Json]:
        return self._asdict()


def specifics(evidence: Sequence[Evidence]) -> int:
    """How many different figures, dates and identifiers there are."""
    return len({found.words for found in evidence if found.signal in _SPECIFIC})


_SPECIFIC = frozenset({"number", "date", "identifier"})
