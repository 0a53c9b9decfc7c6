"""The passages of a tree in, their rows out: hashes, ancestors and index terms of each.

All that depends on the tree alone is worked out here, before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sourcebook.analysis import ANALYZER_VERSION, Analyzed, analyze
from sourcebook.errors import InvalidInput
from sourcebook.hashing import digest
from sourcebook.model import Passage, Tree
from sourcebook.stores import checksums
from sourcebook.stores.labels import labels_of
from sourcebook.stores.rows import Row, to_json

_short = lru_cache(maxsize=4096)(analyze)
"""Titles and headings come back with every passage of a document."""


class PassageColumns(NamedTuple):
    """A passage as it is stored, but for its terms; small and plain, since many wait in a file."""

    node_id: str
    element_id: str
    resolution: int
    ancestors: tuple[str, ...]
    digest: str
    text_hash: str
    texts: tuple[str, str, str, str]
    """Title, heading, context and body."""
    summary: int
    length: int
    labels: str | None
    facets: tuple[tuple[str, str], ...]

    @property
    def whole(self) -> bool:
        """Whether it is all of its document."""
        return self.node_id == self.element_id

    def row(self, counts: bytes, tokens: bytes, ancestors: object) -> Row:
        """In the order of the statement `add_passage`; `ancestors` as the store keeps a list."""
        place = (self.node_id, self.element_id, self.resolution, ancestors)
        names = (self.text_hash, self.digest, *self.texts)
        return (*place, *names, self.summary, self.length, counts, tokens, self.labels)


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A passage with what it is called by."""

    passage: Passage
    ancestors: tuple[str, ...]
    digest: str
    labels: str | None = None

    def fields(self) -> tuple[Analyzed, ...]:
        """In the order of postings.FIELDS."""
        p = self.passage
        return _short(p.title), _short(p.heading), analyze(p.body), analyze(p.around)

    def columns(self) -> PassageColumns:
        p = self.passage
        text = p.embedded_text
        return PassageColumns(
            p.node_id,
            p.element_id,
            p.resolution,
            self.ancestors,
            self.digest,
            digest(text),
            (p.title, p.heading, p.context, p.body),
            int(p.summary),
            _bytes(text),
            self.labels,
            tuple(dict.fromkeys(p.facets)),
        )


def _bytes(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the text holds half of a character pair: {error}") from error


def passage_checksums(columns: Row, ancestors: Sequence[str], born: int) -> tuple[int, int]:
    """Of the columns that `PassageColumns.row` gives: the checksum of the words, and of what
    full-text search reads."""
    node_id, element_id, resolution, _, text_hash, *words = columns
    *words, terms, tokens, labels = words
    named = (node_id, element_id, resolution, text_hash, *words, labels, born)
    return (
        checksums.of_columns(named, bytes(tokens)),
        checksums.of_terms(node_id, element_id, to_json(list(ancestors)), text_hash, bytes(terms)),
    )


def passage_rows(tree: Tree) -> list[PassageRow]:
    """The digest covers all that makes a passage what it is, and the analysis that indexed it."""
    lines, labels = _ancestors(tree), labels_of_tree(tree)
    return [
        PassageRow(p, lines[p.node_id], _name(p, lines[p.node_id], labels), labels)
        for p in tree.passages
    ]


def labels_of_tree(tree: Tree) -> str | None:
    """Those of the document hold for all its parts: they show each other's words."""
    return next((labels_of(n.metadata) for n in tree.nodes if n.parent_id is None), None)


def _name(p: Passage, ancestors: tuple[str, ...], labels: str | None) -> str:
    return digest(
        ANALYZER_VERSION,
        p.node_id,
        p.resolution,
        p.title,
        p.heading,
        p.context,
        p.body,
        p.summary,
        p.around,
        sorted(set(p.facets)),
        ancestors,
        *([] if labels is None else [labels]),
    )


def check(tree: Tree) -> None:
    """A tree that cannot be stored whole is refused before anything of it is."""
    ids = {node.id for node in tree.nodes}
    owners = {n.element_id for n in tree.nodes} | {p.element_id for p in tree.passages}
    problem = (
        (not ids and "has no nodes")
        or (len(ids) < len(tree.nodes) and "has two nodes with one id")
        or (owners != {tree.element_id} and "holds parts of another one")
        or (sum(n.parent_id is None for n in tree.nodes) != 1 and "needs one node without parent")
        or (any(p.node_id not in ids for p in tree.passages) and "has a passage without node")
        or (any(n.end > len(tree.text) for n in tree.nodes) and "has offsets beyond its text")
    )
    if problem:
        raise InvalidInput(f"the document {tree.element_id} {problem}")


def _ancestors(tree: Tree) -> Mapping[str, tuple[str, ...]]:
    """Of each node: the ids from the document down to the node itself."""
    parents = {node.id: node.parent_id for node in tree.nodes}
    lines: dict[str, tuple[str, ...]] = {}
    for node in tree.nodes:
        above: list[str] = []
        at: str | None = node.id
        while at is not None and at not in lines:
            if at not in parents or len(above) > len(parents):
                raise InvalidInput(f"the document {tree.element_id} has a broken parent at {at}")
            above.append(at)
            at = parents[at]
        line = lines[at] if at is not None else ()
        for step in reversed(above):
            line = lines[step] = (*line, step)
    return lines
