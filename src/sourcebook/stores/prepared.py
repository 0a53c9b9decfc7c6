"""A tree in, the rows of its document out, in pieces of bounded size: worked out before a commit
begins, so that the commit holds the store's lock only while it writes.

What the database alone knows is left open: the numbers of terms and passages, and which rows are
there already. A piece numbers the terms by itself; `numbered` puts the store's numbers in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np

from sourcebook.hashing import digest
from sourcebook.model import Tree
from sourcebook.ports import Prepared
from sourcebook.stores.passages import (
    PassageColumns,
    PassageRow,
    check,
    labels_of_tree,
    passage_rows,
)
from sourcebook.stores.postings import BETWEEN_FIELDS, TERM, encode_counts, encode_tokens
from sourcebook.stores.rows import Row, link_row, node_row
from sourcebook.stores.vocabulary import TermNumbers

_ROWS = 1000
"""Of one kind in one piece."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Passages:
    """Some passages, with the terms of all of them."""

    rows: Sequence[PassageColumns]
    words: Sequence[str]
    """The distinct terms, in the order in which they were met: term n is the n-th."""
    counts: bytes
    """The tables of counts of all rows, one after another."""
    counts_each: Sequence[int]
    """How many bytes of them each row has."""
    tokens: bytes
    tokens_each: Sequence[int]

    def numbered(self, numbers: TermNumbers) -> Iterator[tuple[bytes, bytes]]:
        """The table of counts and the tokens of each row, with the store's numbers of terms."""
        ids = np.array([*numbers.of(self.words), BETWEEN_FIELDS], np.int32)
        table = np.frombuffer(self.counts, TERM).copy()
        table["term"] = ids[table["term"]]
        records = np.array(self.counts_each, np.int64) // TERM.itemsize
        owner = np.repeat(np.arange(len(records)), records)
        counts = table[np.lexsort((table["term"], owner))].tobytes()
        tokens = ids[np.frombuffer(self.tokens, "<i4")].astype("<i4").tobytes()
        cut = (_cut(counts, self.counts_each), _cut(tokens, self.tokens_each))
        return zip(*cut, strict=True)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of a document's rows."""

    nodes: Sequence[Row] = ()
    """Each with its recipe, if it is the document's own node, and its labels."""
    links: Sequence[Row] = ()
    passages: Passages | None = None


def prepare(tree: Tree) -> Prepared:
    """Its pieces are made as they are read. InvalidInput for a tree that cannot be stored."""
    check(tree)
    labels = labels_of_tree(tree)
    return Prepared(
        tree.element_id, tree.text, digest(tree.text), tree.recipe, labels, _pieces(tree, labels)
    )


def _pieces(tree: Tree, labels: str | None) -> Iterator[Piece]:
    nodes = ((*node_row(n), tree.recipe if n.parent_id is None else "", labels) for n in tree.nodes)
    links = dict.fromkeys(map(link_row, tree.links))
    passages = {row.digest: row for row in passage_rows(tree)}.values()
    if max(len(tree.nodes), len(links), len(passages)) <= _ROWS:
        yield Piece(list(nodes), list(links), _passages(list(passages)))
        return
    yield from (Piece(nodes=some) for some in _some(nodes))
    yield from (Piece(links=some) for some in _some(links))
    yield from (Piece(passages=_passages(some)) for some in _some(passages))


def _some(rows: Iterable[T]) -> Iterator[list[T]]:
    found = iter(rows)
    while some := list(islice(found, _ROWS)):
        yield some


def _passages(rows: list[PassageRow]) -> Passages | None:
    if not rows:
        return None
    numbers: dict[str, int] = {}
    counts, tokens = [], []
    for row in rows:
        fields = row.fields()
        for term in (t for f in fields for part in (f.terms, f.compounds) for t in part):
            numbers.setdefault(term, len(numbers))
        in_order = [[numbers[t] for t in f.terms] for f in fields]
        wholes = [[numbers[t] for t in f.compounds] for f in fields]
        counts.append(encode_counts(*(a + b for a, b in zip(in_order, wholes, strict=True))))
        tokens.append(encode_tokens(*in_order[:3]))
    columns = [row.columns() for row in rows]
    lengths = ([*map(len, counts)], [*map(len, tokens)])
    return Passages(
        columns, list(numbers), b"".join(counts), lengths[0], b"".join(tokens), lengths[1]
    )


def _cut(data: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for length in lengths:
        yield data[start : start + length]
        start += length
