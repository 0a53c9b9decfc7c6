"""Metadata of new passages in, rows that filters find them by out: many documents' at a time.

A pair of key and value has a number. Where a repository is new the planner knows nothing of its
tables and may read all of one for every row that is joined with it; so pairs are looked up with one
pass at most for all of them, and only those that are not new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import md5
from itertools import islice

from sourcebook.stores.postgres.adapt import escaped
from sourcebook.stores.statements import Facet, Statements

_KNOWN = 100_000
"""Pairs whose numbers are remembered."""

Pair = tuple[str, str]


class Facets:
    """Of one transaction."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[Facet]] = {}
        self._known: dict[tuple[int, Pair], int] = {}

    def add(self, repository: int, facets: Sequence[Facet]) -> None:
        self._waiting.setdefault(repository, []).extend(facets)

    @property
    def count(self) -> int:
        """Those that wait."""
        return sum(map(len, self._waiting.values()))

    def clear(self) -> None:
        self._waiting.clear()
        self._known.clear()

    def settle(self, db: Statements) -> None:
        """Write what waits."""
        for repository, rows in self._waiting.items():
            pairs = list(dict.fromkeys((key, value) for key, value, _ in rows))
            numbers = self._numbers(db, repository, pairs)
            facets = [
                (repository, numbers[key, value], passage)
                for key, value, passage in rows
                if (key, value) in numbers
            ]
            db.run_many("add_facet", facets)
        self._waiting.clear()

    def _numbers(self, db: Statements, repository: int, pairs: list[Pair]) -> Mapping[Pair, int]:
        """None for a pair that was made to have the hash of another one: no filter finds it."""
        numbers = {}
        for pair in pairs:
            if number := self._known.pop((repository, pair), None):
                numbers[pair] = self._known[repository, pair] = number  # the last to be forgotten
        new = [pair for pair in pairs if pair not in numbers]
        if not new:
            return numbers
        keys, values = map(list, zip(*new, strict=True))
        given = {"repository": repository, "keys": keys, "values": values}
        added = db.run("add_facet_value", given)
        numbers.update(((key, value), number) for number, key, value in added.fetchall())
        there = [pair for pair in new if pair not in numbers]
        if there:
            keys, values = map(list, zip(*there, strict=True))
            hashes = {"keys": _hashes(keys), "values": _hashes(values)}
            found = db.run("facet_values", {"repository": repository, **hashes}).fetchall()
            numbers.update(((key, value), number) for number, key, value in found)
        self._known.update(((repository, p), numbers[p]) for p in new if p in numbers)
        for oldest in list(islice(self._known, max(len(self._known) - _KNOWN, 0))):
            del self._known[oldest]
        return numbers


def _hashes(texts: Iterable[str]) -> list[str]:
    """As the database computes them of what it holds; they are an index's keys, no protection."""
    different = dict.fromkeys(texts)
    return [md5(escaped(t).encode(), usedforsecurity=False).hexdigest() for t in different]
