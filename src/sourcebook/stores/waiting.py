"""Rows of a commit that wait to be written together: one by one each would be a message."""

from __future__ import annotations

from dataclasses import dataclass, field

from sourcebook.stores.prepared import Passages
from sourcebook.stores.rows import Row

_AT_ONCE = 1000
"""Rows, or documents, that wait."""
_CHARACTERS = 4_000_000
"""Of these documents."""


@dataclass(slots=True)
class Waiting:
    """Rows that end, new ones, and the documents that they are of."""

    documents: set[str] = field(default_factory=set)
    ended: dict[str, list[int]] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    characters: int = 0
    nodes: list[Row] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    links: list[Row] = field(default_factory=list)
    passages: list[tuple[Passages, set[str]]] = field(default_factory=list)
    """Each with the digests of those that are new."""
    new_passages: int = 0

    @property
    def many(self) -> bool:
        rows = len(self.nodes) + len(self.links) + self.new_passages
        rows += sum(map(len, self.ended.values()))
        return max(rows, len(self.documents)) >= _AT_ONCE or self.characters >= _CHARACTERS
